"""Confidence of each label: the margin between a pixel's own cluster and the next one.

SpectraWalk compares how much its clusters overlap with those of the runs (`overlap_margin`). What
follows is for the automatic mode.

Two margins are combined. The co-association margin compares the share of runs that put the pixel
together with the pixels of its own cluster and of the next one. The voting margin compares the
shares of runs that give the pixel its own label and the next one, after the clusters of each run
are matched with the labels one to one. Votes find whole fields with a wrong label, which
co-association does not: a field that a run separates from the rest of its cluster still has a high
co-association with its own pixels, but it loses the votes for a label that it shares with others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

VOTE_WEIGHT = 2 / 3
"""Weight of the voting margin; the rest is the weight of the co-association margin."""

FINEST = 2
"""Runs with more clusters than this times the labels are left out: they split every cluster."""

_AT_ONCE = 2**16  # pixels whose confidence is computed at a time

Runs = Sequence[NDArray[np.integer]]
"""Labels of some runs, from 0, each of shape (n,)."""


def confidence_of(kinds: Sequence[Runs], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Confidence of each label, 0 to 1: weighted mean of the two margins.

    Parameters
    ----------
    kinds : list of lists of ndarray of int, shape (n,)
        Labels of the runs of each kind. All kinds have the same weight in the vote, whatever their
        number of runs, because runs of one kind tend to make the same errors.
    labels : ndarray of int, shape (n,)
        Clusters 0..K-1.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([0, 0, 1, 1])
    >>> confidence = confidence_of([[labels, 1 - labels], [np.array([0, 0, 0, 1])]], labels)
    >>> np.round(100 * confidence).tolist()
    [94.0, 94.0, 17.0, 94.0]
    """
    votes = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.float32)
    for runs in kinds:
        votes += vote_shares(runs, labels) / len(kinds)
    by_coassociation = coassociation_margin([run for runs in kinds for run in runs], labels)
    return np.clip(
        VOTE_WEIGHT * _margin(votes, labels) + (1 - VOTE_WEIGHT) * by_coassociation, 0.0, 1.0
    )


def coassociation_margin(runs: Runs, labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Margin in mean co-association between a pixel's own cluster and the next one.

    The co-association of two pixels is the share of runs that put them into one cluster (Fred and
    Jain, 2005).

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


def overlap_margin(
    runs: NDArray[np.integer], weights: NDArray[np.float64], labels: NDArray[np.integer]
) -> NDArray[np.float32]:
    """Confidence of each label: margin in overlap between a pixel's own cluster and the next one.

    The overlap is the squared Jaccard index of the label's cluster and the cluster that a run puts
    the pixel in; the index is the number of common pixels over the number of pixels of either one
    (Hennig, 2007). It is averaged over the runs that have at most twice as many clusters as there
    are labels. Co-association, the numerator alone, does not notice when a run joins two clusters.
    The square makes runs count little that have no such cluster at all.

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
    [69.0, 69.0, 31.0, 62.0]
    """
    numbers = runs.max(axis=1).astype(np.intp) + 1
    near = np.flatnonzero(numbers <= max(FINEST * (int(labels.max()) + 1), numbers.min()))
    share = weights[near] / weights[near].sum()
    overlap = []  # of each run, with a row for each of its clusters
    for run, weight in zip(runs[near], share, strict=True):
        both = _shared_pixels(run, labels)
        either = both.sum(axis=1, keepdims=True) + both.sum(axis=0) - both
        index = both / np.maximum(either, 1)
        overlap.append((weight * index**2).astype(np.float32))
    margin = np.empty(len(labels), dtype=np.float32)
    for start in range(0, len(labels), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        score = np.zeros((len(labels[some]), int(labels.max()) + 1), dtype=np.float32)
        for run, table in zip(runs[near], overlap, strict=True):
            score += table[run[some]]
        margin[some] = _margin(score, labels[some])
    return np.clip(margin, 0.0, 1.0)


def vote_shares(runs: Runs, labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Share of the runs that give each pixel each label, shape (n, K).

    The clusters of a run are matched with the labels one to one, such that they agree on as many
    pixels as possible. A cluster without a match does not vote.

    Examples
    --------
    >>> import numpy as np
    >>> split = np.array([0, 0, 1, 2])  # 0 and 2 are matched, 1 is not
    >>> vote_shares([split], np.array([0, 0, 0, 1])).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    votes = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.float32)
    for run in runs:
        shared = _shared_pixels(run, labels)
        matched = np.zeros(shared.shape, dtype=np.float32)
        matched[linear_sum_assignment(shared, maximize=True)] = 1 / len(runs)
        votes += matched[run]
    return votes


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
