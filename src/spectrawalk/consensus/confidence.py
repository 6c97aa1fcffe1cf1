"""Confidence of each label: the margin between a pixel's own cluster and the next one.

The margin is in co-association, the share of runs that put two pixels into one cluster (Fred and
Jain, 2005).

References
----------
A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE
Transactions on Pattern Analysis and Machine Intelligence 27, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Runs = Sequence[NDArray[np.integer]]
"""Labels of some runs, from 0, each of shape (n,)."""


def coassociation_margin(runs: Runs, labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Margin in mean co-association between a pixel's own cluster and the next one.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])]
    >>> coassociation_margin(runs, np.array([0, 0, 1, 1])).tolist()
    [0.75, 0.75, 0.25, 0.75]
    """
    return weighted_margin(np.stack(runs), np.full(len(runs), 1 / len(runs)), labels)


def weighted_margin(
    runs: NDArray[np.integer], weights: NDArray[np.float64], labels: NDArray[np.integer]
) -> NDArray[np.float32]:
    """Margin in weighted mean co-association between a pixel's own cluster and the next one.

    Parameters
    ----------
    runs : ndarray of int, shape (runs, n)
        Labels of each run, from 0.
    weights : ndarray of shape (runs,)
        How much each run counts; the sum is 1.
    labels : ndarray of int, shape (n,)
        Clusters 0..K-1.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> weighted_margin(runs, np.array([0.5, 0.5]), np.array([0, 0, 1, 1])).tolist()
    [0.75, 0.75, 0.25, 0.75]
    """
    coassociation = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.float32)
    for run, weight in zip(runs, weights, strict=True):
        shared = _shared_pixels(run, labels)
        coassociation += (weight * shared / shared.sum(axis=0)).astype(np.float32)[run]
    return np.clip(_margin(coassociation, labels), 0.0, 1.0)


def _shared_pixels(run: NDArray[np.integer], labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Number of pixels with each pair of cluster and label, shape (clusters, labels)."""
    n_labels = int(labels.max()) + 1
    both = run.astype(np.intp) * n_labels + labels
    shared = np.bincount(both, minlength=(int(run.max()) + 1) * n_labels)
    return shared.reshape(-1, n_labels)


def _margin(score: NDArray[np.float32], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Score of a pixel's own label minus the next highest one; may be negative."""
    rows = np.arange(len(labels))
    others = score.copy()
    others[rows, labels] = -np.inf
    return score[rows, labels] - np.maximum(others.max(axis=1), 0.0)
