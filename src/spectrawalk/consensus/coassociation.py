"""What a family of runs agrees on: groups that the runs keep together, joined by how often they do.

Two pixels are as similar as the share of runs that put them into one cluster. Pixels that nearly
all runs treat alike form small groups; these are joined by average linkage of that similarity until
K clusters remain. Then each pixel may move to the cluster that it is tied to most.
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
"""Small groups, per cluster wanted."""

ALIKE = 15 / 16
"""Pixels that this share of the runs puts into one cluster are not told apart by groups."""

BESIDE = 0.15
"""Vote of runs of another kind, of all, where groups are joined."""

SETTLING = 2
"""How often pixels move to the cluster that they are tied to most: afterwards hardly any does."""


class Agreement(NamedTuple):
    """The consensus of a family."""

    labels: NDArray[np.int32]
    """Clusters 0..K-1, shape (n,)."""
    confidence: NDArray[np.float32]
    """In 0..1, shape (n,): how much more the runs tie a pixel to its cluster than to the next."""


def consensus_of(
    runs: Sequence[NDArray[np.integer]],
    n_clusters: int,
    beside: Sequence[NDArray[np.integer]] = (),
) -> Agreement:
    """Find the clusters that the runs agree on.

    Parameters
    ----------
    runs : list of ndarray of int, shape (n,)
        Labels from 0 of each run.
    n_clusters : int
    beside : list of ndarray of int, shape (n,), optional
        Labels of other runs, which have a small vote on the groups to join, and no other.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 0, 0]), np.array([0, 0, 0, 1, 1])]
    >>> agreement = consensus_of(runs, 2)
    >>> agreement.labels.tolist(), int(agreement.confidence.argmin())
    ([1, 1, 0, 0, 0], 2)
    """
    stacked = stack_labels(runs)
    with one_thread():
        group = small_groups(stacked, GROUPS_PER_CLUSTER * n_clusters)
        similarity = _similarity(stacked, group)
        if beside:
            other = _similarity(stack_labels(beside), group)
            similarity = (1 - BESIDE) * similarity + BESIDE * other
        joined = settle(stacked, join_groups(similarity, np.bincount(group), n_clusters)[group])
        labels, _ = number_by_size(joined)
        return Agreement(labels, coassociation_margin(runs, labels))


def stack_labels(runs: Sequence[NDArray[np.integer]]) -> NDArray[np.float32]:
    """Indicators of all clusters of all runs, shape (n, clusters in all).

    The product of two rows is the share of runs that put the two pixels into one cluster.
    """
    columns = [run[:, None] == np.arange(run.max() + 1) for run in runs]
    return np.concatenate(columns, axis=1).astype(np.float32) / np.float32(np.sqrt(len(runs)))


def small_groups(stacked: NDArray[np.float32], wanted: int) -> NDArray[np.intp]:
    """Number the groups of pixels that the runs treat nearly alike, at most `wanted` of them.

    The most frequent ways to be labelled, each unlike those before it, lead the groups.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])]
    >>> small_groups(stack_labels(runs), 2).tolist(), small_groups(stack_labels(runs), 3).tolist()
    ([1, 1, 0, 0, 0, 0], [1, 1, 2, 0, 0, 0])
    """
    index, first, count = distinct_rows(stacked > 0)
    rows = stacked[first]
    leaders: list[int] = []
    for row in np.argsort(-count, kind="stable"):
        if len(leaders) == wanted:
            break
        if not leaders or (rows[leaders] @ rows[row]).max() < ALIKE - 1e-3:
            leaders.append(int(row))
    nearest = (rows @ rows[leaders].T).argmax(axis=1)
    return nearest[index]


def distinct_rows(
    rows: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct rows in their order; NumPy's `unique` sorts whole rows, 20 times slower.

    Returns
    -------
    number : ndarray of int, shape (n,)
        Of each row.
    first, count : ndarray of int, shape (distinct rows,)
        Where each one occurs first, and how often.

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
    stacked: NDArray[np.float32], group: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Size of each group and its mean row."""
    size = np.bincount(group)
    sums = np.stack([np.bincount(group, column, minlength=len(size)) for column in stacked.T])
    return size, sums.T / size[:, None]


def _similarity(stacked: NDArray[np.float32], group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Share of runs that put pixels of two groups into one cluster, shape (groups, groups)."""
    _, middle = group_means(stacked, group)
    return middle @ middle.T


def ties(stacked: NDArray[np.float32], group: NDArray[np.intp]) -> NDArray[np.float32]:
    """Share of runs that tie each pixel to those of each group on average, shape (n, groups)."""
    _, middle = group_means(stacked, group)
    return stacked @ middle.T.astype(np.float32)


def join_groups(
    similarity: NDArray[np.float64], size: NDArray[np.intp], n_clusters: int
) -> NDArray[np.intp]:
    """Join the most similar groups until `n_clusters` remain: average linkage.

    Parameters
    ----------
    similarity : ndarray of shape (groups, groups)
        Mean similarity between the pixels of two groups.
    size : ndarray of shape (groups,)
        Pixels of each.

    Returns
    -------
    ndarray of int, shape (groups,)
        Number of each group's cluster.

    Examples
    --------
    >>> import numpy as np
    >>> alike = np.array([[1.0, 0.1, 0.8], [0.1, 1.0, 0.3], [0.8, 0.3, 1.0]])
    >>> join_groups(alike, np.array([5, 5, 5]), 2).tolist()
    [0, 1, 0]
    """
    similarity, weight = similarity.copy(), size.astype(float)
    np.fill_diagonal(similarity, -np.inf)
    cluster = np.arange(len(size))
    for _ in range(len(size) - n_clusters):
        kept, gone = sorted(np.unravel_index(similarity.argmax(), similarity.shape))
        total = weight[kept] + weight[gone]
        mean = (weight[kept] * similarity[kept] + weight[gone] * similarity[gone]) / total
        similarity[kept], similarity[:, kept] = mean, mean
        similarity[gone], similarity[:, gone] = -np.inf, -np.inf
        similarity[kept, kept] = -np.inf
        weight[kept] = total
        cluster[cluster == gone] = kept
    return np.unique(cluster, return_inverse=True)[1]


def settle(stacked: NDArray[np.float32], cluster: NDArray[np.intp]) -> NDArray[np.intp]:
    """Move each pixel to the cluster that the runs tie it to most.

    Groups on the fence join one cluster or another by next to nothing; their pixels one by one do
    not hang on it.
    """
    for _ in range(SETTLING):
        tie = ties(stacked, cluster)
        moved = tie.argmax(axis=1)
        if len(np.unique(moved)) < tie.shape[1]:
            break
        cluster = moved
    return cluster
