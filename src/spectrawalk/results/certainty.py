"""How certain labels are: the confidence of SpectraWalk, or the margin of other labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

_AT_ONCE = 4_000_000  # distances held in memory: 32 MB


class Certainty(NamedTuple):
    """How certain each label of an image is.

    A confidence and a margin cannot be compared, so each is called by its own name.
    """

    name: str
    """``"confidence"`` or ``"margin"``."""
    meaning: str
    """What it is, in a few words."""
    image: NDArray[np.floating]
    """In 0..1, shape (rows, cols); NaN where masked."""


def confidence(image: NDArray[np.floating]) -> Certainty:
    """Confidence of the labels of SpectraWalk: the agreement of its runs.

    Examples
    --------
    >>> import numpy as np
    >>> confidence(np.ones((1, 1))).meaning
    'agreement of the runs: 0 where they support the next cluster just as much, 1 where all agree'
    """
    meaning = (
        "agreement of the runs: 0 where they support the next cluster just as much, 1 where all "
        "agree"
    )
    return Certainty("confidence", meaning, image)


def mode_margin(coordinates: NDArray[np.float64], modes: NDArray[np.integer]) -> Certainty:
    """Margin of the labels of a single run, by distances to the modes (see :func:`margin_of`).

    Parameters
    ----------
    coordinates : ndarray of shape (rows, cols, M)
        ``coordinates_`` of a fit.
    modes : ndarray of int, shape (K,)
        ``modes_`` of a fit: flat image indices.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([[[0.0], [1.0], [np.nan], [4.0]]])
    >>> mode_margin(line, np.array([0, 3])).image.round(2).tolist()
    [[1.0, 0.6700000166893005, nan, 1.0]]
    """
    table = coordinates.reshape(-1, coordinates.shape[-1])
    image = margin_of(table, table[modes]).reshape(coordinates.shape[:-1])
    meaning = "how much nearer the nearest mode is than the second: 0 half-way, 1 at a mode"
    return Certainty("margin", meaning, image)


def prediction_margin(image: NDArray[np.floating]) -> Certainty:
    """Margin of predicted labels, by distances to the spectra of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> prediction_margin(np.ones((1, 1))).name
    'margin'
    """
    meaning = (
        "how much nearer its cluster is than the next one: 0 half-way, 1 at a spectrum of the fit"
    )
    return Certainty("margin", meaning, image)


def margin_of(coordinates: NDArray[np.float64], modes: NDArray[np.floating]) -> NDArray[np.float32]:
    """Margin between the two nearest modes, ``1 - d_1 / d_2``, of each pixel.

    1 on a mode, 0 half-way between two. It looks at the modes alone: a pixel that took its label
    from its denser neighbours may have a small margin in the midst of a large cluster.

    Parameters
    ----------
    coordinates : ndarray of shape (n, M)
        Diffusion coordinates; NaN where there is no pixel.
    modes : ndarray of shape (K, M)
        Those of the modes.

    Returns
    -------
    ndarray of float32, shape (n,)
        In 0..1, NaN where the coordinates are. With a single mode 1: there is nothing to choose.

    Examples
    --------
    >>> import numpy as np
    >>> modes = np.array([[0.0, 0.0], [4.0, 0.0]])
    >>> margin_of(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), modes).round(3).tolist()
    [1.0, 0.6669999957084656, 0.0]
    """
    margin = np.empty(len(coordinates), dtype=np.float32)
    if len(modes) < 2:
        margin[:] = np.where(np.isnan(coordinates).any(axis=1), np.nan, 1.0)
        return margin
    step = max(1, _AT_ONCE // len(modes))
    for start in range(0, len(coordinates), step):
        part = slice(start, start + step)
        distances = np.partition(cdist(coordinates[part], modes), 1, axis=1)
        nearest, second = distances[:, 0], distances[:, 1]
        # Two modes in one place leave no doubt about the distance, but all about the label.
        ratio = np.divide(nearest, second, out=np.ones_like(nearest), where=second != 0)
        margin[part] = 1 - ratio
    return margin


class Reliability(NamedTuple):
    """How often labels are right, over how certain they are, in groups of as many pixels."""

    certainty: NDArray[np.float64]
    """Mean confidence or margin of each group, the smallest first."""
    accuracy: NDArray[np.float64]
    """Share of its labels that are right."""


def reliability(
    ground_truth: ArrayLike,
    labels: ArrayLike,
    certainty: ArrayLike,
    matching: Mapping[int, int],
    groups: int = 10,
) -> Reliability:
    """Share of right labels over the confidence or margin, where there is ground truth.

    Parameters
    ----------
    ground_truth : array of int
        Class of each pixel, 0 where unknown.
    labels, certainty : array, same shape
        Cluster of each pixel, and its confidence or margin.
    matching : mapping of int to int
        Class of each cluster that has one, as in :class:`spectrawalk.Scores`.
    groups : int
        At most this many.

    Examples
    --------
    >>> curve = reliability([1, 1, 2, 0], [0, 1, 1, 1], [0.9, 0.2, 0.8, 0.1], {0: 1, 1: 2}, 3)
    >>> curve.certainty.tolist(), curve.accuracy.tolist()
    ([0.2, 0.8, 0.9], [0.0, 1.0, 1.0])
    """
    truth, found, sure = np.asarray(ground_truth), np.asarray(labels), np.asarray(certainty)
    known = (truth > 0) & (found >= 0) & np.isfinite(sure)
    right = np.zeros(truth.shape, dtype=bool)
    for cluster, matched in matching.items():
        right |= (found == cluster) & (truth == matched)
    sure, right = sure[known], right[known]
    order = np.argsort(sure, kind="stable")
    parts = np.array_split(order, min(groups, len(order))) if len(order) else []
    return Reliability(
        np.array([sure[part].mean(dtype=np.float64) for part in parts]),
        np.array([right[part].mean() for part in parts]),
    )
