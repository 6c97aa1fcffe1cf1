"""How sure a label is: the margin between the two nearest modes in diffusion distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

_AT_ONCE = 4_000_000  # distances held in memory: 32 MB


def mode_margin(
    coordinates: NDArray[np.float64], modes: NDArray[np.floating]
) -> NDArray[np.float32]:
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
    >>> mode_margin(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), modes).round(3).tolist()
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


def confidence_image(
    coordinates: NDArray[np.float64], modes: NDArray[np.integer]
) -> NDArray[np.float32]:
    """Margin of every pixel of an image (see :func:`mode_margin`).

    Parameters
    ----------
    coordinates : ndarray of shape (rows, cols, M)
        ``coordinates_`` of a fit.
    modes : ndarray of int, shape (K,)
        ``modes_`` of a fit: flat image indices.

    Returns
    -------
    ndarray of float32, shape (rows, cols)
        NaN where masked.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([[[0.0], [1.0], [np.nan], [4.0]]])
    >>> confidence_image(line, np.array([0, 3])).round(2).tolist()
    [[1.0, 0.6700000166893005, nan, 1.0]]
    """
    table = coordinates.reshape(-1, coordinates.shape[-1])
    return mode_margin(table, table[modes]).reshape(coordinates.shape[:-1])


class Reliability(NamedTuple):
    """How often labels are right, over how sure they are, in groups of as many pixels."""

    confidence: NDArray[np.float64]
    """Mean confidence of each group, from the least sure to the surest."""
    accuracy: NDArray[np.float64]
    """Share of its labels that are right."""


def reliability(
    ground_truth: ArrayLike,
    labels: ArrayLike,
    confidence: ArrayLike,
    matching: Mapping[int, int],
    groups: int = 10,
) -> Reliability:
    """Share of right labels over the confidence, where there is ground truth.

    Parameters
    ----------
    ground_truth : array of int
        Class of each pixel, 0 where unknown.
    labels, confidence : array, same shape
        Cluster of each pixel, and how sure that is.
    matching : mapping of int to int
        Class of each cluster that has one, as in :class:`spectrawalk.Scores`.
    groups : int
        At most this many.

    Examples
    --------
    >>> curve = reliability([1, 1, 2, 0], [0, 1, 1, 1], [0.9, 0.2, 0.8, 0.1], {0: 1, 1: 2}, 3)
    >>> curve.confidence.tolist(), curve.accuracy.tolist()
    ([0.2, 0.8, 0.9], [0.0, 1.0, 1.0])
    """
    truth, found, sure = np.asarray(ground_truth), np.asarray(labels), np.asarray(confidence)
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
