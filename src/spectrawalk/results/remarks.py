"""Sentences about a result: how clear the number of clusters was, and what may be amiss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.results.captions import count
from spectrawalk.results.model import FittedModel, ManyTimes, TreeModel
from spectrawalk.srdl.modes import find_modes

_CLEAR = 1.5  # a drop this many times the next one speaks for itself
_NEARLY_ALL = 0.9  # of the pixels in one cluster
_VERY_FEW = 5  # pixels in a cluster


def explain_choice(model: FittedModel | TreeModel) -> str:
    """Say how the number of clusters was found, or which numbers the runs of SpectraWalk support.

    Nothing for a single run with a given number.
    """
    if isinstance(model, TreeModel):
        return f"agreement of the runs: {model.verdict_}"
    if isinstance(model, ManyTimes):
        return explain_time(model.time, model.n_clusters_per_time_, model.total_variation_)
    if model.n_clusters != "auto":
        return ""
    scores = model.mode_score_[np.isfinite(model.mode_score_)]
    ratios = find_modes(scores, model.n_clusters_, model.max_clusters).ratios
    return explain_number(ratios, model.n_clusters_, model.max_clusters)


def explain_time(
    time: float, numbers: NDArray[np.integer], total_variation: NDArray[np.float64]
) -> str:
    """Say how the diffusion time of M-SRDL was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> explain_time(2, np.array([6, 3, 3, 1]), np.array([2.0, 1.2, 1.4, np.nan]))
    'of the 3 times that gave 3 to 6 clusters, time 2 was chosen: its clusters differ least from \
those of the others'
    >>> explain_time(1, np.array([6, 1]), np.array([0.0, np.nan]))
    'time 1 was chosen, the only one that gave 6 clusters'
    """
    counted = numbers[np.isfinite(total_variation)]
    fewest, most = int(counted.min()), int(counted.max())
    number = count(most, "cluster") if fewest == most else f"{fewest} to {most} clusters"
    if len(counted) == 1:
        return f"time {time:g} was chosen, the only one that gave {number}"
    return (
        f"of the {count(len(counted), 'time')} that gave {number}, time {time:g} was chosen: its "
        "clusters differ least from those of the others"
    )


def explain_number(ratios: NDArray[np.float64], n_clusters: int, max_clusters: int) -> str:
    """Say how clear the choice of K was.

    Parameters
    ----------
    ratios : ndarray
        D_(K) / D_(K+1) for K = 1, 2, ..., as in :class:`spectrawalk.srdl.modes.Modes`.
    n_clusters : int
        K as it was chosen.
    max_clusters : int
        Upper end of the search.

    Examples
    --------
    >>> import numpy as np
    >>> explain_number(np.array([1.1, 1.2, 6.0]), 3, 30)
    'the number of clusters was chosen: 3, the largest drop of D_t from K = 2 to 30: 6.00-fold; the runner-up is 2 with 1.20-fold'
    """  # noqa: E501
    drops = {K: float(ratio) for K, ratio in enumerate(ratios[1:max_clusters], start=2)}
    chosen = f"the number of clusters was chosen: {n_clusters}"
    if n_clusters not in drops:
        return f"{chosen}, all that are distinct"
    best = drops.pop(n_clusters)
    told = f"{chosen}, the largest drop of D_t from K = 2 to {max_clusters}: {best:.2f}-fold"
    if not drops:
        return told
    runner_up = max(drops, key=lambda K: drops[K])
    told += f"; the runner-up is {runner_up} with {drops[runner_up]:.2f}-fold"
    if best < _CLEAR * drops[runner_up]:
        told += f": not a clear choice, so look at n_clusters={runner_up} too"
    return told


def find_doubts(model: FittedModel | TreeModel, sizes: NDArray[np.intp]) -> list[str]:
    """Sentences about what may be amiss with a result, and what to try.

    `sizes` are the pixels of each cluster.
    """
    advice = f"try other values than {_named(model)}"
    doubts = []
    if len(sizes) > 1 and sizes.max() > _NEARLY_ALL * sizes.sum():
        share = f"{sizes.max() / sizes.sum():.1%}"
        doubts.append(f"cluster {sizes.argmax() + 1} holds {share} of the pixels: {advice}")
    tiny = int(np.count_nonzero(sizes < _VERY_FEW))
    if tiny:
        verb = "has" if tiny == 1 else "have"
        doubts.append(f"{count(tiny, 'cluster')} {verb} fewer than {_VERY_FEW} pixels: {advice}")
    if isinstance(model, TreeModel):
        return doubts
    if model.n_components_ > 1 and model.components == "bridge":
        doubts.append(
            f"the graph has {model.n_components_:,} components, which were joined at their most "
            "similar pixels"
        )
    if not model.exact_density_:
        doubts.append("the density is approximate because the scene is large; labels hardly change")
    return doubts


def _named(model: FittedModel | TreeModel) -> str:
    """The parameters on which clusters depend most, with their values."""
    number = f"n_clusters={model.n_clusters_}"
    if isinstance(model, TreeModel):
        return f"detail={model.detail_:.2f} and {number}"
    if model.radius is None:
        return f"n_neighbors={model.n_neighbors} and {number}"
    return f"radius={model.radius} and {number}"
