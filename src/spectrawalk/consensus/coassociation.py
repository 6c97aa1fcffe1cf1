"""Consensus of the runs by co-association (evidence accumulation; Fred and Jain, 2005).

The co-association of two pixels is the share of runs that put them into one cluster. Pixels with
nearly the same labels in all runs form small groups. The groups are merged by average linkage of
their co-association until K clusters remain. Then each pixel moves to the cluster with which it
has the largest mean co-association.

References
----------
A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE
Transactions on Pattern Analysis and Machine Intelligence 27, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.confidence import coassociation_margin
from spectrawalk.srdl.numbering import number_by_size
from spectrawalk.threads import one_thread

GROUPS_PER_CLUSTER = 12
"""Largest number of small groups, per cluster wanted."""

SAME_GROUP = 15 / 16
"""Co-association from which on two pixels belong to the same small group."""

REASSIGNMENTS = 2
"""Rounds in which pixels move to the cluster of largest co-association; later ones move few."""


class ConsensusLabels(NamedTuple):
    """Consensus of the base clusterings of an ensemble."""

    labels: NDArray[np.int32]
    """Clusters 0..K-1, shape (n,)."""
    confidence: NDArray[np.float32]
    """In 0..1, shape (n,): see :func:`spectrawalk.consensus.confidence.coassociation_margin`."""


def consensus_of(runs: Sequence[NDArray[np.integer]], n_clusters: int) -> ConsensusLabels:
    """Combine the labels of several runs into one clustering.

    Parameters
    ----------
    runs : list of ndarray of int, shape (n,)
        Labels of each run, from 0.
    n_clusters : int

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 0, 0]), np.array([0, 0, 0, 1, 1])]
    >>> consensus = consensus_of(runs, 2)
    >>> consensus.labels.tolist(), int(consensus.confidence.argmin())
    ([1, 1, 0, 0, 0], 2)
    """
    indicators = indicator_matrix(runs)
    with one_thread():
        group = small_groups(indicators, GROUPS_PER_CLUSTER * n_clusters)
        similarity = _similarity(indicators, group)
        merged = reassign(
            indicators, merge_groups(similarity, np.bincount(group), n_clusters)[group]
        )
        labels, _ = number_by_size(merged)
        return ConsensusLabels(labels, coassociation_margin(runs, labels))


def indicator_matrix(runs: Sequence[NDArray[np.integer]]) -> NDArray[np.float32]:
    """Binary indicator matrix of all clusters of all runs, shape (n, clusters of all runs).

    It is scaled so that the inner product of two rows is the co-association of the two pixels.
    """
    columns = [run[:, None] == np.arange(run.max() + 1) for run in runs]
    return np.concatenate(columns, axis=1).astype(np.float32) / np.float32(np.sqrt(len(runs)))


def small_groups(indicators: NDArray[np.float32], wanted: int) -> NDArray[np.intp]:
    """Group pixels that have nearly the same labels in all runs; at most `wanted` groups.

    The most frequent rows, each different enough from those before it, are the group centres. Each
    other row joins the centre with the largest co-association.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])]
    >>> indicators = indicator_matrix(runs)
    >>> small_groups(indicators, 2).tolist(), small_groups(indicators, 3).tolist()
    ([1, 1, 0, 0, 0, 0], [1, 1, 2, 0, 0, 0])
    """
    index, first, count = distinct_rows(indicators > 0)
    rows = indicators[first]
    centers: list[int] = []
    for row in np.argsort(-count, kind="stable"):
        if len(centers) == wanted:
            break
        if not centers or (rows[centers] @ rows[row]).max() < SAME_GROUP - 1e-3:
            centers.append(int(row))
    nearest = (rows @ rows[centers].T).argmax(axis=1)
    return nearest[index]


def distinct_rows(
    rows: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct rows in lexicographic order.

    NumPy's `unique` sorts whole rows, which is 20 times slower.

    Returns
    -------
    number : ndarray of int, shape (n,)
        Number of each row.
    first, count : ndarray of int, shape (distinct rows,)
        Index of the first occurrence of each distinct row, and how often it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> number, first, count = distinct_rows(np.array([[1, 1], [0, 1], [1, 1]], dtype=bool))
    >>> number.tolist(), first.tolist(), count.tolist()
    ([1, 0, 1], [1, 0], [1, 2])
    """
    width = -(-rows.shape[1] // 64) * 8
    packed = np.zeros((len(rows), width), dtype=np.uint8)
    packed[:, : -(-rows.shape[1] // 8)] = np.packbits(rows, axis=1)
    number = np.zeros(len(rows), dtype=np.intp)
    for word in packed.view(">u8").T:  # 64 columns, the first one in the highest bit
        _, value = np.unique(word, return_inverse=True)
        _, number = np.unique(number * (int(value.max()) + 1) + value, return_inverse=True)
    _, first, count = np.unique(number, return_index=True, return_counts=True)
    return number, first, count


def group_means(
    indicators: NDArray[np.float32], group: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Number of pixels of each group, and its mean row."""
    size = np.bincount(group)
    sums = np.stack([np.bincount(group, column, minlength=len(size)) for column in indicators.T])
    return size, sums.T / size[:, None]


def _similarity(indicators: NDArray[np.float32], group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Mean co-association of the pixels of two groups, shape (groups, groups)."""
    _, means = group_means(indicators, group)
    return means @ means.T


def coassociation(indicators: NDArray[np.float32], group: NDArray[np.intp]) -> NDArray[np.float32]:
    """Mean co-association of each pixel with the pixels of each group, shape (n, groups)."""
    _, means = group_means(indicators, group)
    return indicators @ means.T.astype(np.float32)


def merge_groups(
    similarity: NDArray[np.float64], size: NDArray[np.intp], n_clusters: int
) -> NDArray[np.intp]:
    """Merge the most similar groups until `n_clusters` remain (average linkage).

    Parameters
    ----------
    similarity : ndarray of shape (groups, groups)
        Mean co-association of the pixels of two groups.
    size : ndarray of shape (groups,)
        Number of pixels of each group.

    Returns
    -------
    ndarray of int, shape (groups,)
        Number of each group's cluster.

    Examples
    --------
    >>> import numpy as np
    >>> similarity = np.array([[1.0, 0.1, 0.8], [0.1, 1.0, 0.3], [0.8, 0.3, 1.0]])
    >>> merge_groups(similarity, np.array([5, 5, 5]), 2).tolist()
    [0, 1, 0]
    """
    similarity, weight = similarity.copy(), size.astype(float)
    np.fill_diagonal(similarity, -np.inf)
    cluster = np.arange(len(size))
    for _ in range(len(size) - n_clusters):
        kept, dropped = sorted(np.unravel_index(similarity.argmax(), similarity.shape))
        total = weight[kept] + weight[dropped]
        mean = (weight[kept] * similarity[kept] + weight[dropped] * similarity[dropped]) / total
        similarity[kept], similarity[:, kept] = mean, mean
        similarity[dropped], similarity[:, dropped] = -np.inf, -np.inf
        similarity[kept, kept] = -np.inf
        weight[kept] = total
        cluster[cluster == dropped] = kept
    return np.unique(cluster, return_inverse=True)[1]


def reassign(indicators: NDArray[np.float32], cluster: NDArray[np.intp]) -> NDArray[np.intp]:
    """Move each pixel to the cluster with which it has the largest mean co-association.

    A small difference can decide which cluster a whole group joins. The pixels, taken one by one,
    depend less on it.
    """
    for _ in range(REASSIGNMENTS):
        shares = coassociation(indicators, cluster)
        moved = shares.argmax(axis=1)
        if len(np.unique(moved)) < shares.shape[1]:
            break
        cluster = moved
    return cluster
