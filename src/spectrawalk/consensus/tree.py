"""One nested tree of all clusterings, from the co-association of the base clusterings.

The co-association of two pixels is the weighted share of runs that put them into one cluster (Fred
and Jain, 2005). Pixels with nearly the same labels in all runs form small groups. The groups are
merged by average linkage of their co-association, small ones a little earlier than large ones. Then
every pixel descends from the root: at each split it goes to the side with which it has the larger
mean co-association. So the clusterings are nested: from k to k + 1 clusters, one cluster is split
and no other pixel changes.

References
----------
A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE
Transactions on Pattern Analysis and Machine Intelligence 27, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.coassociation import group_means, indicator_matrix, small_groups
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.threads import one_thread

GROUPS = 250
"""Largest number of small groups that are merged."""

LARGEST_CUT = 64
"""Largest number of clusters that the tree is cut into."""

SIZE_POWER = 0.1
"""Power of the harmonic mean of the sizes by which the cost of a merge is multiplied. Without it, a
few outliers become a cluster before two large clusters are separated."""

SAMPLE = 20_000
"""Largest number of pixels, spread evenly over the image, that the groups are formed of. All
pixels descend."""


class ClusterTree(NamedTuple):
    """A hierarchy of clusterings. Cluster j > 0 first appears in the cut into j + 1 clusters."""

    leaf: NDArray[np.int32]
    """Cluster of each pixel in the finest cut, shape (n,)."""
    parent: NDArray[np.int32]
    """Cluster from which each cluster is split, shape (clusters,); 0 for cluster 0."""
    height: NDArray[np.float64]
    """1 - mean co-association of the two sides of the split at which each cluster appears, not
    larger than those before; shape (clusters,). 1 for cluster 0."""

    @property
    def n_leaves(self) -> int:
        """Largest number of clusters."""
        return len(self.parent)

    def ancestors(self, n_clusters: int) -> NDArray[np.int32]:
        """Cluster, in the cut into `n_clusters`, of each cluster of the finest cut."""
        cluster = np.arange(self.n_leaves, dtype=np.int32)
        for j in range(n_clusters, self.n_leaves):
            # Parents have smaller numbers, so the parent's own ancestor is already known.
            cluster[j] = cluster[self.parent[j]]
        return cluster

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Labels 0..k-1 of the clustering into k clusters, shape (n,).

        A cluster keeps its number as long as it is not the smaller part of a split.
        """
        return self.ancestors(n_clusters)[self.leaf]

    def linkage(self) -> NDArray[np.float64]:
        """Return the tree in the layout of :func:`scipy.cluster.hierarchy.linkage`.

        Its observations are the clusters of the finest cut.
        """
        size = np.ones(self.n_leaves)
        number = np.arange(self.n_leaves)
        rows = np.empty((self.n_leaves - 1, 4))
        for row, j in enumerate(range(self.n_leaves - 1, 0, -1)):
            kept = self.parent[j]
            size[kept] += size[j]
            rows[row] = (*sorted((number[kept], number[j])), self.height[j], size[kept])
            number[kept] = self.n_leaves + row
        return rows


class Descent(NamedTuple):
    """How a pixel finds its leaf, from its labels in all runs."""

    parent: NDArray[np.int32]
    """Cluster from which each cluster is split, shape (clusters,); as in the tree."""
    first: NDArray[np.intp]
    """Column of label 0 of each run, and the number of columns; shape (runs + 1,)."""
    towards: NDArray[np.float64]
    """How much each label of each run is in favour of the new cluster of each split, shape
    (clusters, columns). A pixel of the parent goes there if the sum over its labels is above 0."""


def cluster_tree(
    runs: NDArray[np.integer], weights: NDArray[np.float64], seed: int = 0
) -> tuple[ClusterTree, Descent]:
    """Build the tree.

    Parameters
    ----------
    runs : ndarray of int, shape (runs, n)
        Labels of each run, from 0.
    weights : ndarray of shape (runs,)
        How much each run counts; the sum is 1.
    seed : int
        Seed of the sample that the groups of a large image are formed of.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 1, 2]])
    >>> tree, _ = cluster_tree(runs, np.full(3, 1 / 3))
    >>> tree.cut(2).tolist(), tree.cut(3).tolist()
    ([1, 1, 0, 0, 0], [1, 1, 2, 0, 0])
    """
    drawn = draw_pixels(runs.shape[1], SAMPLE, seed)
    numbers = runs.max(axis=1).astype(np.intp) + 1
    indicators = indicator_matrix(list(runs[:, drawn]), numbers.tolist())
    with one_thread():
        group = np.unique(small_groups(indicators, GROUPS), return_inverse=True)[1]
        scale = np.repeat(np.sqrt(weights * len(weights)), numbers)
        size, means = group_means(indicators, group)
        merges = merge_order(means * scale, size)
    return _descend(runs, weights, means * np.sqrt(len(weights)), size, merges)


class Merge(NamedTuple):
    """One merge of two groups, each of which may consist of groups merged before."""

    kept: int
    dropped: int
    similarity: float
    """Mean co-association of their pixels."""


def merge_order(means: NDArray[np.float64], size: NDArray[np.intp]) -> list[Merge]:
    """Merge groups by average linkage until one is left.

    Parameters
    ----------
    means : ndarray of shape (groups, columns)
        Mean rows of the weighted indicator matrix: their products are mean co-associations.
    size : ndarray of shape (groups,)

    Examples
    --------
    >>> import numpy as np
    >>> merges = merge_order(np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.3]]), np.array([5, 5, 5]))
    >>> [(merge.kept, merge.dropped, round(merge.similarity, 2)) for merge in merges]
    [(0, 2, 0.8), (0, 1, 0.15)]
    """
    weight = size.astype(float)
    similarity = means @ means.T

    def costs(i: int) -> NDArray[np.float64]:
        mean_size = weight[i] * weight / np.maximum(weight[i] + weight, 1e-300)
        row = (1 - similarity[i]) * mean_size**SIZE_POWER
        row[weight == 0] = np.inf
        row[i] = np.inf
        return row

    cost = np.stack([costs(i) for i in range(len(size))])
    merges = []
    for _ in range(len(size) - 1):
        kept, dropped = sorted(int(i) for i in np.unravel_index(cost.argmin(), cost.shape))
        merges.append(Merge(kept, dropped, float(similarity[kept, dropped])))
        total = weight[kept] + weight[dropped]
        row = (weight[kept] * similarity[kept] + weight[dropped] * similarity[dropped]) / total
        similarity[kept], similarity[:, kept] = row, row
        weight[kept], weight[dropped] = total, 0.0
        cost[dropped], cost[:, dropped] = np.inf, np.inf
        cost[kept] = costs(kept)
        cost[:, kept] = cost[kept]
    return merges


def _descend(
    runs: NDArray[np.integer],
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    size: NDArray[np.intp],
    merges: list[Merge],
) -> tuple[ClusterTree, Descent]:
    """Assign every pixel to a cluster of the tree, from the root down.

    `means` are the shares of each group's pixels that are in each cluster of each run.
    """
    n_groups = len(size)
    first = np.concatenate([[0], np.cumsum(runs.max(axis=1).astype(np.intp) + 1)])
    sides, mean, n_pixels = [], list(means), list(size)  # of the nodes, the groups first
    node = np.arange(n_groups)
    for merge in merges:
        pair = int(node[merge.kept]), int(node[merge.dropped])
        node[merge.kept] = len(mean)
        share = n_pixels[pair[0]] / (n_pixels[pair[0]] + n_pixels[pair[1]])
        mean.append(share * mean[pair[0]] + (1 - share) * mean[pair[1]])
        n_pixels.append(n_pixels[pair[0]] + n_pixels[pair[1]])
        sides.append(pair)

    label = np.zeros(runs.shape[1], dtype=np.int32)
    cluster_of = {len(mean) - 1: 0}  # clusters that may still be split, by node
    parent, height, towards_new = [0], [1.0], [np.zeros(first[-1])]
    columns = np.repeat(weights, np.diff(first))
    for split in range(len(merges) - 1, -1, -1):
        if len(parent) == LARGEST_CUT:
            break
        cluster = cluster_of.pop(n_groups + split, None)
        if cluster is None:  # no pixel went to this side
            continue
        one, other = sides[split]
        inside = np.flatnonzero(label == cluster)
        difference = mean[other] - mean[one]
        towards = np.zeros(len(inside))
        for run, weight, start in zip(runs, weights, first[:-1], strict=True):
            towards += weight * difference[start:][run[inside]]
        goes = towards > 0
        n_other = np.count_nonzero(goes)
        if n_other in (0, len(inside)):
            cluster_of[other if n_other else one] = cluster
            continue
        if 2 * n_other > len(inside):  # the larger side keeps the number
            one, other, goes, difference = other, one, ~goes, -difference
        cluster_of[one], cluster_of[other] = cluster, len(parent)
        label[inside[goes]] = len(parent)
        parent.append(cluster)
        height.append(min(height[-1], 1 - merges[split].similarity))
        towards_new.append(columns * difference)
    parents = np.array(parent, dtype=np.int32)
    descent = Descent(parents, first, np.stack(towards_new))
    return ClusterTree(label, parents, np.array(height)), descent
