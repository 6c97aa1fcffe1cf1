"""Spectrally nearest neighbours among all pixels, and among those of another group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.kernels.selection import SINGLE, offer, sort_heap, squared_distance
from spectrawalk.kernels.tree import DEPTH, Tree, box_distance

BLOCK = 64
"""Pixels whose spectra are compared with as many others in one matrix product."""


def parts(tree: Tree, largest: int) -> NDArray[np.int64]:
    """Nodes of at most `largest` points whose parents have more: together they hold every point."""
    size = tree.stop - tree.start
    above = np.where(tree.parent < 0, largest + 1, size[tree.parent])
    return np.flatnonzero(((size <= largest) | (tree.child < 0)) & (above > largest))


@njit(cache=True, nogil=True, error_model="numpy")
def global_neighbors(
    tree: Tree,
    X: NDArray[np.float64],
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    slack: float,
    budget: int,
    nodes: NDArray[np.int64],
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Find the nearest spectra among all pixels, for the pixels of some nodes of a tree.

    The tree stands on a few leading coordinates, in which no distance is larger than the true one.
    For all pixels of a node together, the other nodes are visited from the nearest outwards until
    the nearest left is farther away than the worst neighbour kept: the result is then exact. As in
    windows, products in single precision bound the distances.

    Parameters
    ----------
    tree : Tree
        Over projections of the spectra onto orthonormal directions; the rank is the pixel's number.
    X : (n, bands)
        Spectra.
    single, squares : (n, bands), (n,)
        As from ``selection.to_single``, in the order of the tree and in its units.
    slack : float
        Bound on the rounding error of a distance between leading coordinates.
    budget : int
        Pixels looked at, at most: what is nearest among them is then taken for the result.
    nodes : (m,)
        As from :func:`parts`.
    index, d2 : (n, k)
        Filled in for their pixels: neighbours and squared distances, nearest first.
    start, stop : int
        Which of the nodes to work on.
    """
    k, room = index.shape[1], 4 * index.shape[1] + 4 * BLOCK
    bound = np.float32((X.shape[1] + 16) * SINGLE)
    # Of each pixel: the k lowest upper bounds so far, the candidates that they leave, and how many
    # neighbours were settled already.
    uppers = np.empty((BLOCK, k), np.float32)
    found, lowers = np.empty((BLOCK, room), np.int32), np.empty((BLOCK, room), np.float32)
    sizes, settled = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    queue, gaps = np.empty(len(tree.start) + 2, np.int64), np.empty(len(tree.start) + 2)
    for job in range(start, stop):
        home = nodes[job]
        begin, own = tree.start[home], tree.stop[home] - tree.start[home]
        for one in range(own):
            sizes[one] = settled[one] = 0
            for place in range(k):
                uppers[one, place] = np.inf
        limit = np.float32(np.inf)
        queue[0], gaps[0] = 0, 0.0
        waiting, seen = 1, 0
        while waiting > 0 and seen < budget:
            node = queue[0]
            if gaps[0] > (np.sqrt(limit) * (1 + 1e-6) + slack) ** 2:
                break
            waiting = take_nearest(queue, gaps, waiting)
            first, last, child = tree.start[node], tree.stop[node], tree.child[node]
            if child >= 0 and last - first > BLOCK:
                for either in range(child, child + 2):
                    waiting = put(queue, gaps, waiting, either, _box_gap(tree, home, either))
                continue
            seen += last - first
            products = np.dot(single[begin : begin + own], single[first:last].T)
            limit = np.float32(0)
            for one in range(own):
                square, highest = squares[begin + one], uppers[one]
                for other in range(first, last):
                    both = square + squares[other]
                    middle = both - 2 * products[one, other - first]
                    if middle - bound * both <= highest[0] and other != begin + one:
                        found[one, sizes[one]] = other
                        lowers[one, sizes[one]] = middle - bound * both
                        sizes[one] += 1
                        _replace_largest(highest, middle + bound * both)
                if sizes[one] + BLOCK > room:
                    sizes[one] = discard(found[one], lowers[one], sizes[one], highest[0])
                    if sizes[one] + BLOCK > room:  # very many as near as each other
                        pixel = tree.rank[begin + one]
                        settled[one] = _settle(
                            tree.rank, X, pixel, found[one], sizes[one], d2, index, settled[one]
                        )
                        sizes[one] = 0
                limit = max(limit, highest[0])
        for one in range(own):
            pixel, most = tree.rank[begin + one], uppers[one, 0] + np.float32(1e-30)
            size = discard(found[one], lowers[one], sizes[one], most)
            size = _settle(tree.rank, X, pixel, found[one], size, d2, index, settled[one])
            sort_heap(d2[pixel], index[pixel], size)


@njit(cache=True)
def _settle(
    rank: NDArray[np.int64],
    X: NDArray[np.float64],
    pixel: int,
    found: NDArray[np.int32],
    count: int,
    d2: NDArray[np.float64],
    index: NDArray[np.int32],
    size: int,
) -> int:
    """Sum the distances to some candidates in full, and keep the nearest; return how many."""
    for place in range(count):
        other = rank[found[place]]
        distance = squared_distance(X[pixel], X[other])
        size = offer(d2[pixel], index[pixel], size, distance, other)
    return size


@njit(cache=True, error_model="numpy")
def _box_gap(tree: Tree, node: int, other: int) -> float:
    """Squared distance between the boxes of two nodes."""
    total = 0.0
    for d in range(tree.low.shape[1]):
        gap = max(tree.low[other, d] - tree.high[node, d], tree.low[node, d] - tree.high[other, d])
        total += max(gap, 0.0) ** 2
    return total


@njit(cache=True)
def _replace_largest(heap: NDArray[np.float32], value: float) -> None:
    """Put a value in the place of the largest, which a max-heap has first, if it is smaller."""
    if value >= heap[0]:
        return
    place = 0
    while True:
        below = 2 * place + 1
        if below >= len(heap):
            break
        if below + 1 < len(heap) and heap[below + 1] > heap[below]:
            below += 1
        if heap[below] <= value:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = value


@njit(cache=True)
def discard(found: NDArray, lowers: NDArray, size: int, limit: float) -> int:
    """Remove the candidates whose lower bound is above the limit; return how many are left."""
    kept = 0
    for place in range(size):
        if lowers[place] <= limit:
            found[kept], lowers[kept] = found[place], lowers[place]
            kept += 1
    return kept


@njit(cache=True)
def put(nodes: NDArray, bounds: NDArray, size: int, node: int, bound: float) -> int:
    """Put a node into the queue, whose first one is the nearest; return the queue's new size."""
    place = size
    while place > 0 and bounds[(place - 1) // 2] > bound:
        above = (place - 1) // 2
        nodes[place], bounds[place] = nodes[above], bounds[above]
        place = above
    nodes[place], bounds[place] = node, bound
    return size + 1


@njit(cache=True)
def take_nearest(nodes: NDArray, bounds: NDArray, size: int) -> int:
    """Take the first node out of the queue; return the queue's new size."""
    size -= 1
    node, bound = nodes[size], bounds[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and bounds[below + 1] < bounds[below]:
            below += 1
        if bounds[below] >= bound:
            break
        nodes[place], bounds[place] = nodes[below], bounds[below]
        place = below
    nodes[place], bounds[place] = node, bound
    return size


@njit(cache=True, nogil=True)
def shared_groups(tree: Tree, group: NDArray[np.int32]) -> NDArray[np.int32]:
    """Group of all the points below each node, -1 where there are several."""
    shared = np.empty(len(tree.start), np.int32)
    for node in range(len(tree.start) - 1, -1, -1):
        if tree.child[node] < 0:
            shared[node] = group[tree.rank[tree.start[node]]]
            for position in range(tree.start[node] + 1, tree.stop[node]):
                if group[tree.rank[position]] != shared[node]:
                    shared[node] = -1
        else:
            left = tree.child[node]
            shared[node] = shared[left] if shared[left] == shared[left + 1] else -1
    return shared


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_outside(
    tree: Tree,
    X: NDArray[np.float64],
    group: NDArray[np.int32],
    shared: NDArray[np.int32],
    scale: float,
    slack: float,
    places: NDArray[np.int64],
    limits: NDArray[np.float64],
    index: NDArray[np.int64],
    d2: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Nearest spectrum of another group among all pixels, if it is not farther than a limit.

    Parameters
    ----------
    tree : Tree
        As for :func:`global_neighbors`.
    X : (n, bands)
        Spectra.
    group : (n,)
        Group that each pixel belongs to.
    shared : (nodes,)
        As from :func:`shared_groups`.
    scale, slack : float
        What spectra were multiplied with in the tree, and the rounding error of its distances.
    places : (m,)
        Where the pixels to search for lie in the tree.
    limits : (m,)
        Squared distance beyond which no pixel is of interest.
    index, d2 : (m,)
        Filled in from `start` to `stop`: the nearest one (ties: smallest number) and its squared
        distance; -1 and infinity where there is none within the limit.
    """
    nodes, gaps = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    for job in range(start, stop):
        point, pixel = tree.points[places[job]], tree.rank[places[job]]
        nodes[0], gaps[0] = 0, 0.0
        waiting, best, best_index = 1, limits[job], -1
        farthest = _farthest_gap(best, scale, slack)
        while waiting > 0:
            waiting -= 1
            node = nodes[waiting]
            if gaps[waiting] > farthest or shared[node] == group[pixel]:
                continue
            left = tree.child[node]
            if left >= 0:
                left_gap = box_distance(tree, left, point)
                right_gap = box_distance(tree, left + 1, point)
                # The nearer one is put on top, so that it is searched first.
                nearer = 0 if left_gap <= right_gap else 1
                nodes[waiting], gaps[waiting] = left + 1 - nearer, max(left_gap, right_gap)
                nodes[waiting + 1], gaps[waiting + 1] = left + nearer, min(left_gap, right_gap)
                waiting += 2
                continue
            for position in range(tree.start[node], tree.stop[node]):
                other = tree.rank[position]
                if group[other] == group[pixel]:
                    continue
                total = 0.0
                for band in range(X.shape[1]):
                    difference = X[pixel, band] - X[other, band]
                    total += difference * difference
                    if total > best:
                        break
                if total < best or (total == best and (best_index < 0 or other < best_index)):
                    best, best_index = total, other
                    farthest = _farthest_gap(best, scale, slack)
        found = best_index >= 0 and best < np.inf
        index[job], d2[job] = (best_index, best) if found else (-1, np.inf)


@njit(cache=True)
def _farthest_gap(d2: float, scale: float, slack: float) -> float:
    """Squared distance in the tree beyond which none is as small as `d2`."""
    return (np.sqrt(d2) * scale * (1 + 1e-9) + slack) ** 2
