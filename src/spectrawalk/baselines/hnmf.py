"""HNMF: hierarchical rank-two non-negative matrix factorisation (Gillis, Kuang and Park, 2015)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from spectrawalk.baselines.base import Baseline
from spectrawalk.errors import ConvergenceError, DataError, StructureError
from spectrawalk.parameters import check_number

NEGATIVE_SHARE = 0.01
"""Negative values up to this share of the data's norm are noise, and set to zero."""

TOLERANCE = 1e-6
"""The factorisation is done when a round lowers its error by less than this share of the norm."""

MAX_ITER = 1000
"""Rounds within which a factorisation must converge; scenes need tens."""

THRESHOLDS = np.linspace(0, 1, 1001)[1:-1]
"""Shares of the first endmember at which a cluster may be cut."""


class HNMF(Baseline):
    """Hierarchical clustering by rank-two non-negative matrix factorisation.

    From one cluster of all pixels, again and again the cluster is split whose split lowers the
    error of one-endmember-per-cluster most, until there are K. A split writes the spectra as
    mixtures of two endmembers and cuts where the first one's share separates the pixels into
    parts that are balanced and have few pixels near the cut.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        What it is fed. Default ``"band"``, each band to unit length: nearest to the paper's row on
        the Indian Pines subset, and it gives the paper's row on Salinas A.
    margin : float
        Half-width, in shares of the first endmember, of the strip around a cut that should be
        thinly populated.
    random_state : ignored
        There is no chance in the method.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import HNMF
    >>> soil, water = np.array([1.0, 2.0, 3.0]), np.array([3.0, 0.5, 0.1])
    >>> share = np.array([[0.9, 1.0, 0.95], [0.1, 0.0, 0.05]])[:, :, None]
    >>> HNMF(2).fit_predict(share * soil + (1 - share) * water)
    array([[0, 0, 0],
           [1, 1, 1]], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "band",
        margin: float = 0.05,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.margin = margin
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.intp]:
        margin = check_number("margin", self.margin)
        X = _without_negatives(X)
        labels = np.zeros(len(X), dtype=np.intp)
        leaves = [_plan_split(X, np.arange(len(X)), margin)]
        for new in range(1, n_clusters):
            best = max(range(new), key=lambda leaf: leaves[leaf].gain)
            split = leaves[best]
            if split.gain == -np.inf:
                raise StructureError(
                    f"HNMF can tell only {new} clusters apart where n_clusters={n_clusters}: the "
                    "spectra of each differ in brightness only; ask for fewer clusters."
                )
            labels[split.second] = new
            leaves[best] = _plan_split(X, split.first, margin)
            leaves.append(_plan_split(X, split.second, margin))
        return labels


def _without_negatives(X: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = np.maximum(X, 0.0)
    share = np.linalg.norm(positive - X) / np.linalg.norm(X)
    if share > NEGATIVE_SHARE:
        raise DataError(
            f"Negative values in data passed to HNMF: they make up {share:.0%} of the norm, and "
            "the method needs spectra that are not negative; give radiance or reflectance."
        )
    return positive


class Split(NamedTuple):
    """How a cluster would be split, as pixel numbers, and what it would gain."""

    gain: float
    """By how much the squared error of one endmember per cluster falls; -inf if no split is."""
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def _plan_split(X: NDArray[np.float64], members: NDArray[np.intp], margin: float) -> Split:
    inside = X[members]
    share = first_share(inside) if len(members) > 1 else np.zeros(1)
    threshold = best_threshold(share, margin)
    if threshold is None:
        return Split(-np.inf, members, members[:0])
    low = share <= threshold
    # The best single endmember explains the leading squared singular value.
    gain = _explained(inside[low]) + _explained(inside[~low]) - _explained(inside)
    return Split(gain, members[~low], members[low])


def _explained(X: NDArray[np.float64]) -> float:
    bands = X.shape[1]
    return float(eigh(X.T @ X, eigvals_only=True, subset_by_index=(bands - 1, bands - 1))[0])


def best_threshold(share: NDArray[np.float64], margin: float) -> float | None:
    """Cut shares in [0, 1] so that the parts are balanced and few lie near the cut.

    Minimises -log(F (1 - F)) + exp(G), where F is the part of the pixels below the threshold and
    G the density of pixels within `margin` of it (1 for evenly spread shares). None if all shares
    are on one side of every threshold.

    Examples
    --------
    >>> import numpy as np
    >>> 0.2 < best_threshold(np.array([0.1, 0.1, 0.2, 0.8, 0.9]), 0.05) < 0.8
    True
    """
    ordered = np.sort(share)

    def part_up_to(value: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.searchsorted(ordered, value, side="right") / len(ordered)

    below = part_up_to(THRESHOLDS)
    possible = (below > 0) & (below < 1)
    if not possible.any():
        return None
    thresholds, below = THRESHOLDS[possible], below[possible]
    low, high = np.maximum(thresholds - margin, 0), np.minimum(thresholds + margin, 1)
    crowd = (part_up_to(high) - part_up_to(low)) / (high - low)
    return float(thresholds[np.argmin(np.exp(crowd) - np.log(below * (1 - below)))])


def first_share(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the first of two endmembers in each spectrum, by rank-two NMF.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Not negative.

    Returns
    -------
    share : ndarray of shape (n,)
        Between 0 and 1.
    """
    endmembers = _extreme_pair(X)
    norm = np.linalg.norm(X)
    error = np.inf
    for _ in range(MAX_ITER):
        amounts = two_variable_nnls(endmembers, X)
        endmembers = two_variable_nnls(amounts.T, X.T).T
        before, error = error, float(np.linalg.norm(X - amounts @ endmembers))
        if before - error <= TOLERANCE * norm:
            break
    else:
        raise ConvergenceError(
            f"the rank-two factorisation of HNMF did not converge in {MAX_ITER} rounds; scale "
            "the spectra another way with normalize."
        )
    amounts = amounts * np.linalg.norm(endmembers, axis=1)
    total = amounts.sum(axis=1)
    return np.divide(amounts[:, 0], total, out=np.zeros(len(X)), where=total > 0)


def _extreme_pair(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two spectra at the ends of the data, as the best plane through zero shows them.

    The longest one, then the one that stands out most from the line through it.
    """
    bands = X.shape[1]
    _, plane = eigh(X.T @ X, subset_by_index=(bands - 2, bands - 1))
    flat = X @ plane
    longest = flat[np.argmax(np.square(flat).sum(axis=1))]
    across = flat @ np.array([-longest[1], longest[0]])
    widest = flat[np.argmax(np.abs(across))]
    return np.maximum(np.stack([longest, widest]) @ plane.T, 0.0)


def two_variable_nnls(basis: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Non-negative least squares with two variables, in closed form.

    Parameters
    ----------
    basis : ndarray of shape (2, bands)
    X : ndarray of shape (n, bands)

    Returns
    -------
    amounts : ndarray of shape (n, 2)
        The nearest ``amounts @ basis`` to X with no negative amount.
    """
    gram = basis @ basis.T
    toward = X @ basis.T
    own = np.where(np.diag(gram) > 0, np.diag(gram), 1.0)
    # Either both amounts are positive, and the normal equations give them; or one is zero, and
    # the better of the two single fits is the answer.
    alone = np.maximum(toward, 0) / own
    better = np.square(alone) * own
    first = better[:, 0] >= better[:, 1]
    amounts = np.where(np.column_stack([first, ~first]), alone, 0.0)
    determinant = gram[0, 0] * gram[1, 1] - gram[0, 1] ** 2
    if determinant > 1e-12 * gram[0, 0] * gram[1, 1]:
        cofactors = np.array([[gram[1, 1], -gram[0, 1]], [-gram[0, 1], gram[0, 0]]])
        both = toward @ cofactors / determinant
        inside = (both >= 0).all(axis=1)
        amounts[inside] = both[inside]
    return amounts
