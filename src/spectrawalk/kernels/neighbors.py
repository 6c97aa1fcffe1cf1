"""Spectrally nearest neighbours among all pixels, and among those of another group."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spectrawalk.kernels.selection import SINGLE, offer, sort_heap, squared_distance
from spectrawalk.kernels.tree import DEPTH, Tree, box_distance

BLOCK = 64
"""Pixels whose spectra are compared with as many others in one matrix product."""


@njit(cache=True)
def parts(tree: Tree, largest: int) -> NDArray[np.int64]:
    """Nodes of at most `largest` points whose parents have more: together they hold every point."""
    chosen = np.empty(len(tree.start), np.int64)
    count = 0
    for node in range(len(tree.start)):
        above = tree.parent[node]
        small = tree.stop[node] - tree.start[node] <= largest or tree.child[node] < 0
        if small and (above < 0 or tree.stop[above] - tree.start[above] > largest):
            chosen[count] = node
            count += 1
    return chosen[:count]


@njit(cache=True, parallel=True, error_model="numpy")
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
) -> None:
    """Find the nearest spectra among all pixels, for the pixels of some nodes of a tree.

    The tree stands on a few leading coordinates, in which no distance is larger than the true one.
    For all pixels of a node together, the other nodes are visited from the nearest outwards until
    the nearest left is farther away than the worst neighbour kept: the result is then exact.

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
        Nodes to work on, as from :func:`parts`.
    index, d2 : (n, k)
        Filled in for their pixels: neighbours and squared distances, nearest first.
    """
    for job in prange(len(nodes)):
        _search(tree, X, single, squares, slack, budget, nodes[job], index, d2)


@njit(cache=True, error_model="numpy")
def _search(
    tree: Tree,
    X: NDArray[np.float64],
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    slack: float,
    budget: int,
    home: int,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra of the pixels of one node; see :func:`global_neighbors`.

    As in windows, products in single precision bound the distances. A function of
    its own, since lists grow: memory that is taken anew inside a parallel loop is not given back
    before its end.
    """
    begin, end = tree.start[home], tree.stop[home]
    own, k = single[begin:end], index.shape[1]
    bound = np.float32((X.shape[1] + 16) * SINGLE)
    # Of each pixel: the k lowest upper bounds so far, and the candidates that they leave.
    uppers, limit = np.full((end - begin, k), np.inf, np.float32), np.float32(np.inf)
    found = np.empty((end - begin, 4 * k + 4 * BLOCK), np.int32)
    lowers = np.empty(found.shape, np.float32)
    sizes = np.zeros(end - begin, np.int64)
    nodes, gaps = np.zeros(256, np.int64), np.zeros(256)
    waiting, seen = 1, 0
    while waiting > 0 and seen < budget:
        node, gap = nodes[0], gaps[0]
        if gap > (np.sqrt(limit) * (1 + 1e-6) + slack) ** 2:
            break
        waiting = _take_nearest(nodes, gaps, waiting)
        start, stop, child = tree.start[node], tree.stop[node], tree.child[node]
        if child >= 0 and stop - start > BLOCK:
            if waiting + 2 > len(nodes):
                nodes = np.concatenate((nodes, np.zeros_like(nodes)))
                gaps = np.concatenate((gaps, np.zeros_like(gaps)))
            for either in range(child, child + 2):
                waiting = _put(nodes, gaps, waiting, either, _box_gap(tree, home, either))
            continue
        seen += stop - start
        products = np.dot(own, single[start:stop].T)
        limit = np.float32(0)
        for one in range(end - begin):
            square, highest = squares[begin + one], uppers[one]
            for other in range(start, stop):
                both = square + squares[other]
                middle = both - 2 * products[one, other - start]
                if middle - bound * both <= highest[0] and other != begin + one:
                    found[one, sizes[one]] = other
                    lowers[one, sizes[one]] = middle - bound * both
                    sizes[one] += 1
                    _replace_largest(highest, middle + bound * both)
            if sizes[one] + BLOCK > found.shape[1]:
                sizes[one] = _discard(found[one], lowers[one], sizes[one], highest[0])
                if sizes[one] + BLOCK > found.shape[1]:  # very many as near as each other
                    found = np.concatenate((found, np.empty_like(found)), axis=1)
                    lowers = np.concatenate((lowers, np.empty_like(lowers)), axis=1)
            limit = max(limit, highest[0])
    for one in range(end - begin):
        pixel, size = tree.rank[begin + one], 0
        for place in range(sizes[one]):
            if lowers[one, place] <= uppers[one, 0] + np.float32(1e-30):
                other = tree.rank[found[one, place]]
                distance = squared_distance(X[pixel], X[other])
                size = offer(d2[pixel], index[pixel], size, distance, other)
        sort_heap(d2[pixel], index[pixel], size)


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
def _discard(found: NDArray, lowers: NDArray, size: int, limit: float) -> int:
    """Remove the candidates whose lower bound is above the limit; return how many are left."""
    kept = 0
    for place in range(size):
        if lowers[place] <= limit:
            found[kept], lowers[kept] = found[place], lowers[place]
            kept += 1
    return kept


@njit(cache=True)
def _put(nodes: NDArray, bounds: NDArray, size: int, node: int, bound: float) -> int:
    """Put a node into the queue, whose first one is the nearest; return the queue's new size."""
    place = size
    while place > 0 and bounds[(place - 1) // 2] > bound:
        above = (place - 1) // 2
        nodes[place], bounds[place] = nodes[above], bounds[above]
        place = above
    nodes[place], bounds[place] = node, bound
    return size + 1


@njit(cache=True)
def _take_nearest(nodes: NDArray, bounds: NDArray, size: int) -> int:
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


@njit(cache=True)
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


@njit(cache=True, parallel=True, error_model="numpy")
def nearest_outside(
    tree: Tree,
    X: NDArray[np.float64],
    group: NDArray[np.int32],
    shared: NDArray[np.int32],
    scale: float,
    slack: float,
    places: NDArray[np.int64],
    limits: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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

    Returns
    -------
    index : (m,)
        The nearest one (ties: smallest number), -1 where there is none within the limit.
    d2 : (m,)
        Its squared distance, infinite where there is none.
    """
    index, d2 = np.empty(len(places), np.int64), np.empty(len(places))
    for job in prange(len(places)):
        index[job], d2[job] = _nearest_outside(
            tree, X, group, shared, scale, slack, places[job], limits[job]
        )
    return index, d2


@njit(cache=True, error_model="numpy")
def _nearest_outside(
    tree: Tree,
    X: NDArray[np.float64],
    group: NDArray[np.int32],
    shared: NDArray[np.int32],
    scale: float,
    slack: float,
    place: int,
    limit: float,
) -> tuple[int, float]:
    """Find the nearest spectrum of another group for one pixel; see :func:`nearest_outside`."""
    point, pixel = tree.points[place], tree.rank[place]
    nodes, gaps = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    nodes[0], gaps[0] = 0, 0.0
    waiting, best, best_index = 1, limit, -1
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
    if best_index < 0 or best == np.inf:
        return -1, np.inf
    return best_index, best


@njit(cache=True)
def _farthest_gap(d2: float, scale: float, slack: float) -> float:
    """Squared distance in the tree beyond which none is as small as `d2`."""
    return (np.sqrt(d2) * scale * (1 + 1e-9) + slack) ** 2
