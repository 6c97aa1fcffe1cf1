"""A kd-tree over points with ranks: for the nearest spectra, and for the nearest denser pixels.

Every node knows the lowest rank below it, so that a search for denser points passes over whole
parts of the tree that hold none. Ranks may also be entered one by one, for searches among the
points that have been labelled so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

LEAF = 16
"""Points in a leaf, at most."""

NONE = np.iinfo(np.int64).max
"""Lowest rank below a node that holds no point to be found."""

DEPTH = 128
"""Room for the nodes still to visit: a balanced tree is far less deep."""


class Tree(NamedTuple):
    """Points in the order of the leaves, and the nodes above them, the root first."""

    points: NDArray[np.float64]
    """(n, m): coordinates."""
    rank: NDArray[np.int64]
    """(n,): rank of each of them."""
    start: NDArray[np.int64]
    """(nodes,): first point of each node."""
    stop: NDArray[np.int64]
    """(nodes,): and the one behind its last."""
    child: NDArray[np.int64]
    """(nodes,): first of its two children, which lie side by side; -1 for a leaf."""
    parent: NDArray[np.int64]
    """(nodes,): the node above; -1 for the root."""
    low: NDArray[np.float64]
    """(nodes, m): lower corner of the box around its points."""
    high: NDArray[np.float64]
    """(nodes, m): upper corner."""


@njit(cache=True)
def _halve(values: NDArray, order: NDArray, start: int, stop: int, middle: int) -> None:
    """Reorder a range so that what is before `middle` is not above what is behind it."""
    low, high = start, stop - 1
    while low < high:
        pivot = values[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True)
def build_tree(coordinates: NDArray[np.float64]) -> Tree:
    """Build the tree over points (n, m) whose rank is their row.

    The points themselves are moved with every split, so that those of a node lie side by side in
    memory.
    """
    n, m = coordinates.shape
    room = 4 * (n // LEAF + 1) + 1
    start, stop = np.zeros(room, np.int64), np.zeros(room, np.int64)
    child, parent = np.full(room, -1, np.int64), np.full(room, -1, np.int64)
    low, high = np.full((room, m), np.inf), np.full((room, m), -np.inf)
    points, rank = coordinates.copy(), np.arange(n)
    stop[0] = n
    count, node = 1, 0
    while node < count:
        first, last = start[node], stop[node]
        for position in range(first, last):
            for d in range(m):
                low[node, d] = min(low[node, d], points[position, d])
                high[node, d] = max(high[node, d], points[position, d])
        if last - first > LEAF:
            widest = np.argmax(high[node] - low[node])
            order, middle = np.arange(last - first), (last - first) // 2
            _halve(points[first:last, widest].copy(), order, 0, last - first, middle)
            points[first:last] = points[first:last][order]
            rank[first:last] = rank[first:last][order]
            child[node] = count
            for side in range(2):
                parent[count] = node
                start[count] = first + middle * side
                stop[count] = last if side else first + middle
                count += 1
        node += 1
    return Tree(
        points,
        rank,
        start[:count].copy(),
        stop[:count].copy(),
        child[:count].copy(),
        parent[:count].copy(),
        low[:count].copy(),
        high[:count].copy(),
    )


@njit(cache=True)
def lowest_ranks(tree: Tree) -> NDArray[np.int64]:
    """Lowest rank below each node."""
    lowest = np.full(len(tree.start), NONE)
    for node in range(len(tree.start) - 1, -1, -1):
        if tree.child[node] < 0:
            lowest[node] = tree.rank[tree.start[node] : tree.stop[node]].min()
        else:
            left = tree.child[node]
            lowest[node] = min(lowest[left], lowest[left + 1])
    return lowest


@njit(cache=True)
def leaves(tree: Tree) -> NDArray[np.int64]:
    """Leaf of each point, by rank."""
    leaf = np.empty(len(tree.rank), np.int64)
    for node in range(len(tree.start)):
        if tree.child[node] < 0:
            for position in range(tree.start[node], tree.stop[node]):
                leaf[tree.rank[position]] = node
    return leaf


@njit(cache=True)
def enter(tree: Tree, lowest: NDArray[np.int64], leaf: int, rank: int) -> None:
    """Make a point findable: tell the nodes above it its rank, where it is their lowest."""
    node = leaf
    while node >= 0 and lowest[node] > rank:
        lowest[node] = rank
        node = tree.parent[node]


@njit(cache=True, error_model="numpy")
def box_distance(tree: Tree, node: int, point: NDArray[np.float64]) -> float:
    """Squared distance to a node's box, summed as a distance is, so that it is never above one."""
    total = 0.0
    for d in range(len(point)):
        gap = max(tree.low[node, d] - point[d], point[d] - tree.high[node, d], 0.0)
        total += gap * gap
    return total


@njit(cache=True, error_model="numpy")
def nearest_lower(
    tree: Tree,
    lowest: NDArray[np.int64],
    findable: NDArray[np.int32],
    point: NDArray[np.float64],
    rank: int,
) -> tuple[int, float]:
    """Nearest findable point of lower rank than `rank`: its rank (ties: the lowest), and d2.

    Parameters
    ----------
    lowest : (nodes,)
        Lowest rank of a findable point below each node.
    findable : (n,)
        By rank: not negative where a point may be found.
    """
    nodes, bounds = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    nodes[0], bounds[0] = 0, 0.0
    waiting = 1
    best, best_rank = np.inf, -1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if bounds[waiting] > best or lowest[node] >= rank:
            continue
        left = tree.child[node]
        if left >= 0:
            left_bound = box_distance(tree, left, point)
            right_bound = box_distance(tree, left + 1, point)
            # The nearer one is put on top, so that it is searched first.
            nearer = 0 if left_bound <= right_bound else 1
            nodes[waiting], bounds[waiting] = left + 1 - nearer, max(left_bound, right_bound)
            nodes[waiting + 1], bounds[waiting + 1] = left + nearer, min(left_bound, right_bound)
            waiting += 2
            continue
        for position in range(tree.start[node], tree.stop[node]):
            other = tree.rank[position]
            if other >= rank or findable[other] < 0:
                continue
            total = 0.0
            for d in range(len(point)):
                difference = point[d] - tree.points[position, d]
                total += difference * difference
            if total < best or (total == best and other < best_rank):
                best, best_rank = total, other
    return best_rank, best


@njit(cache=True, parallel=True, error_model="numpy")
def nearest_denser(
    tree: Tree, lowest: NDArray[np.int64], start: int, stop: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Nearest point of lower rank, for the points at the places `start` to `stop` of the tree.

    Returns
    -------
    parent : (stop - start,)
        Its rank (ties: the lowest); -1 for rank 0.
    d2 : (stop - start,)
        Its squared distance; for rank 0 the largest squared distance to any point.
    """
    points, ranks = tree.points, tree.rank
    everyone = np.zeros(len(ranks), np.int32)
    parent = np.empty(stop - start, np.int64)
    d2 = np.empty(stop - start)
    for job in prange(stop - start):
        point, rank = points[start + job], ranks[start + job]
        parent[job], d2[job] = nearest_lower(tree, lowest, everyone, point, rank)
        if rank == 0:
            d2[job] = _farthest(points, point)
    return parent, d2, ranks[start:stop]


@njit(cache=True)
def _farthest(points: NDArray[np.float64], point: NDArray[np.float64]) -> float:
    """Largest squared distance from a point to any of `points`."""
    farthest = 0.0
    for other in range(len(points)):
        total = 0.0
        for d in range(len(point)):
            difference = point[d] - points[other, d]
            total += difference * difference
        farthest = max(farthest, total)
    return farthest
