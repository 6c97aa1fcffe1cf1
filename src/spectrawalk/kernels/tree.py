"""A kd-tree over points with ranks: for the nearest spectra, and for the nearest denser pixels.

Every node knows the lowest rank below it, so that a search for denser points passes over whole
parts of the tree that hold none. Ranks may also be entered one by one, for searches among the
points that have been labelled so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit

LEAF = 16
"""Points in a leaf, at most."""

NONE = np.iinfo(np.int64).max
"""Lowest rank below a node that holds no point to be found."""

DEPTH = 128
"""Room for the nodes still to visit: a balanced tree is far less deep."""

_STEP = 50_000_000
"""Coordinates that are looked at in a step while a tree is built: about half a second."""


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


def build_tree(coordinates: NDArray[np.float64]) -> Tree:
    """Build the tree over points (n, m) whose rank is their row."""
    n, m = coordinates.shape
    room = 4 * (n // LEAF + 1) + 1
    points, rank = np.array(coordinates, dtype=np.float64, order="C"), np.arange(n, dtype=np.int64)
    start, stop = np.zeros(room, np.int64), np.full(room, n, np.int64)
    child, parent = np.full(room, -1, np.int64), np.full(room, -1, np.int64)
    low, high = np.full((room, m), np.inf), np.full((room, m), -np.inf)
    node, count = 0, 1
    while node < count:  # a step at a time, so that Ctrl-C is heard
        node, count = _grow(
            points, rank, start, stop, child, parent, low, high, node, count, _STEP // m
        )
    nodes = (start, stop, child, parent, low, high)
    return Tree(points, rank, *(each[:count].copy() for each in nodes))


def ranked(tree: Tree, ranking: NDArray[np.intp]) -> Tree:
    """Give the points of a tree other ranks: ``ranking[i]`` is the row of the point of rank i."""
    rank = np.empty(len(ranking), np.int64)
    rank[ranking] = np.arange(len(ranking))
    return tree._replace(rank=rank[tree.rank])


@njit(cache=True, nogil=True)
def _grow(
    points: NDArray[np.float64],
    rank: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    child: NDArray[np.int64],
    parent: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    node: int,
    count: int,
    most: int,
) -> tuple[int, int]:
    """Finish the nodes from `node` on, until `most` points were looked at or none is left.

    The points themselves are moved with every split, so that those of a node lie side by side in
    memory.

    Returns
    -------
    node, count : int
        The next node to finish, and how many nodes there are by now.
    """
    # Nodes come level by level, and those of a level differ by one point at most.
    m, largest = points.shape[1], stop[node] - start[node] + 1
    order, values = np.empty(largest, np.int64), np.empty(largest)
    moved, moved_rank = np.empty((largest, m)), np.empty(largest, np.int64)
    while node < count and most > 0:
        first, size = start[node], stop[node] - start[node]
        most -= size
        lower, upper = low[node], high[node]
        for position in range(first, first + size):
            point = points[position]
            for d in range(m):
                lower[d], upper[d] = min(lower[d], point[d]), max(upper[d], point[d])
        if size > LEAF:
            widest, middle = 0, size // 2
            for d in range(1, m):
                if upper[d] - lower[d] > upper[widest] - lower[widest]:
                    widest = d
            for place in range(size):
                order[place], values[place] = place, points[first + place, widest]
            _halve(values, order, 0, size, middle)
            for place in range(size):
                moved_rank[place] = rank[first + order[place]]
                source, target = points[first + order[place]], moved[place]
                for d in range(m):
                    target[d] = source[d]
            for place in range(size):
                rank[first + place] = moved_rank[place]
                source, target = moved[place], points[first + place]
                for d in range(m):
                    target[d] = source[d]
            child[node] = count
            for side in range(2):
                parent[count] = node
                start[count] = first + middle * side
                stop[count] = first + (size if side else middle)
                count += 1
        node += 1
    return node, count


@njit(cache=True, nogil=True)
def lowest_ranks(tree: Tree) -> NDArray[np.int64]:
    """Lowest rank below each node."""
    lowest = np.empty(len(tree.start), np.int64)
    for node in range(len(tree.start) - 1, -1, -1):
        lowest[node] = NONE
        if tree.child[node] < 0:
            for position in range(tree.start[node], tree.stop[node]):
                lowest[node] = min(lowest[node], tree.rank[position])
        else:
            left = tree.child[node]
            lowest[node] = min(lowest[left], lowest[left + 1])
    return lowest


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_denser(
    tree: Tree,
    lowest: NDArray[np.int64],
    everyone: NDArray[np.int32],
    parent: NDArray[np.int64],
    d2: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Nearest point of lower rank, for the points at the places `start` to `stop` of the tree.

    Parameters
    ----------
    lowest : (nodes,)
        As from :func:`lowest_ranks`.
    everyone : (n,)
        Zeros: every point may be found.
    parent, d2 : (n,)
        By rank, filled in for those points: the rank of the nearest (ties: the lowest) and its
        squared distance; -1 and infinity for rank 0.
    """
    for place in range(start, stop):
        rank = tree.rank[place]
        parent[rank], d2[rank] = nearest_lower(tree, lowest, everyone, tree.points[place], rank)


def farthest(points: NDArray[np.float64], point: NDArray[np.float64]) -> float:
    """Largest squared distance from a point to any of `points`, summed as the others are."""
    total = np.zeros(len(points))
    for d in range(len(point)):
        total += np.square(points[:, d] - point[d])
    return float(total.max())


@njit(cache=True, nogil=True, error_model="numpy")
def nearest(tree: Tree, points: NDArray[np.float64], index: NDArray[np.int64]) -> None:
    """Find the nearest points of the tree, nearest first, ties by rank.

    Parameters
    ----------
    points : (n, m)
        Where to search. Rows that follow each other should be near each other: what was found for
        one bounds the search for the next.
    index : (n, k)
        Filled in with ranks; k is at most the number of points of the tree.
    """
    n, m = points.shape
    k = index.shape[1]
    place_of = np.empty(len(tree.rank), np.int64)
    for place in range(len(tree.rank)):
        place_of[tree.rank[place]] = place
    nodes, bounds = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    found, d2 = np.empty(k, np.int64), np.empty(k)
    for i in range(n):
        point = points[i]
        limit = np.inf
        if i > 0:
            limit = 0.0
            for j in range(k):
                total = 0.0
                for d in range(m):
                    difference = point[d] - tree.points[place_of[index[i - 1, j]], d]
                    total += difference * difference
                limit = max(limit, total)
        count = 0
        nodes[0], bounds[0] = 0, 0.0
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = nodes[waiting]
            if bounds[waiting] > limit:
                continue
            left = tree.child[node]
            if left >= 0:
                left_bound = box_distance(tree, left, point)
                right_bound = box_distance(tree, left + 1, point)
                nearer = 0 if left_bound <= right_bound else 1
                farther_bound = max(left_bound, right_bound)
                if farther_bound <= limit:
                    nodes[waiting], bounds[waiting] = left + 1 - nearer, farther_bound
                    waiting += 1
                nodes[waiting], bounds[waiting] = left + nearer, min(left_bound, right_bound)
                waiting += 1
                continue
            for place in range(tree.start[node], tree.stop[node]):
                total = 0.0
                for d in range(m):
                    difference = point[d] - tree.points[place, d]
                    total += difference * difference
                if total > limit:
                    continue
                rank = tree.rank[place]
                if count == k and total == d2[k - 1] and rank > found[k - 1]:
                    continue
                at = min(count, k - 1)
                while at > 0 and (
                    d2[at - 1] > total or (d2[at - 1] == total and found[at - 1] > rank)
                ):
                    d2[at], found[at] = d2[at - 1], found[at - 1]
                    at -= 1
                d2[at], found[at] = total, rank
                count = min(count + 1, k)
                if count == k:
                    limit = d2[k - 1]
        for j in range(k):
            index[i, j] = found[j]
