"""Confidence of each label: how well the runs agree with a pixel's own cluster and the next one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FINEST = 2
"""Runs with more clusters than this times the labels are left out: they split every cluster."""

_AT_ONCE = 2**16  # pixels whose confidence is computed at a time


def overlap_margin(
    runs: NDArray[np.integer], weights: NDArray[np.float64], labels: NDArray[np.integer]
) -> NDArray[np.float32]:
    """Confidence of each label: margin in overlap between a pixel's own cluster and the next one.

    The overlap is the Jaccard index of the label's cluster and the cluster that a run puts the
    pixel in: the number of common pixels over the number of pixels of either one (Hennig, 2007).
    It is averaged over the runs that have at most twice as many clusters as there are labels.
    Co-association, the numerator alone, does not notice when a run joins two clusters.

    Parameters
    ----------
    runs : ndarray of int, shape (runs, n)
        Labels of each run, from 0.
    weights : ndarray of shape (runs,)
        How much each run counts; the sum is 1.
    labels : ndarray of int, shape (n,)
        Clusters 0..K-1.

    Returns
    -------
    ndarray of float32, shape (n,)
        From 0 to 1: 1 where all runs have exactly this cluster.

    References
    ----------
    C. Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics & Data
    Analysis 52, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> margin = overlap_margin(runs, np.array([0.5, 0.5]), np.array([0, 0, 1, 1]))
    >>> (100 * margin).round().tolist()
    [71.0, 71.0, 29.0, 75.0]
    """
    return Overlaps.of(runs, weights, labels).margin(labels)


class Overlaps(NamedTuple):
    """Overlap of each label's cluster with the clusters of the runs; see :func:`overlap_margin`."""

    runs: list[NDArray[np.integer]]
    """Labels of each run that counts."""
    tables: list[NDArray[np.float32]]
    """Weighted overlap of each cluster of each run with each label, shape (clusters, labels)."""
    numbers: list[int]
    """Number of each run that counts, among all of them."""

    @classmethod
    def of(
        cls, runs: NDArray[np.integer], weights: NDArray[np.float64], labels: NDArray[np.integer]
    ) -> Overlaps:
        """Compute the overlaps; parameters as in :func:`overlap_margin`."""
        found = runs.max(axis=1).astype(np.intp) + 1
        near = np.flatnonzero(found <= max(FINEST * (int(labels.max()) + 1), found.min()))
        share = weights[near] / weights[near].sum()
        tables = []
        for run, weight in zip(runs[near], share, strict=True):
            both = _shared_pixels(run, labels)
            either = both.sum(axis=1, keepdims=True) + both.sum(axis=0) - both
            index = both / np.maximum(either, 1)
            tables.append((weight * index).astype(np.float32))
        return cls([runs[i] for i in near], tables, near.tolist())  # views, which take no memory

    def scores(self, pixels: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Overlap of some pixels with each label, shape (pixels, labels)."""
        score = np.zeros((len(self.runs[0][pixels]), self.tables[0].shape[1]), dtype=np.float32)
        for run, table in zip(self.runs, self.tables, strict=True):
            score += table[run[pixels]]
        return score

    def margin(self, labels: NDArray[np.integer]) -> NDArray[np.float32]:
        """Confidence of each label, shape (n,)."""
        margin = np.empty(len(labels), dtype=np.float32)
        for start in range(0, len(labels), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            margin[some] = _margin(self.scores(some), labels[some])
        return np.clip(margin, 0.0, 1.0)


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
