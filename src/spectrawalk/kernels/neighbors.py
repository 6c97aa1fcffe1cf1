"""Spectrally nearest neighbours: inside a spatial window, or among all pixels."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spectrawalk.kernels.tree import Tree, box_distance

TILE = 32
"""Pixels of a row handled together: the sums of all their shifts fit the first-level cache."""


@njit(cache=True, inline="always")
def _comes_after(d2: float, index: int, other_d2: float, other_index: int) -> bool:
    """Whether a neighbour ranks behind another: farther, or as far with a larger index."""
    return d2 > other_d2 or (d2 == other_d2 and index > other_index)


@njit(cache=True)
def _sift_down(d2: NDArray, index: NDArray, start: int, size: int) -> None:
    """Restore the max-heap on (d2, index) below `start`."""
    parent = start
    while True:
        child = 2 * parent + 1
        if child >= size:
            return
        if child + 1 < size and _comes_after(
            d2[child + 1], index[child + 1], d2[child], index[child]
        ):
            child += 1
        if not _comes_after(d2[child], index[child], d2[parent], index[parent]):
            return
        d2[parent], d2[child] = d2[child], d2[parent]
        index[parent], index[child] = index[child], index[parent]
        parent = child


@njit(cache=True)
def _offer(d2: NDArray, index: NDArray, size: int, new_d2: float, new_index: int) -> int:
    """Offer a candidate to the bounded heap of the nearest so far; return its new size.

    Candidates may come in any order: the result is the same.
    """
    k = len(d2)
    if size < k:
        d2[size] = new_d2
        index[size] = new_index
        size += 1
        if size == k:
            for start in range(k // 2 - 1, -1, -1):
                _sift_down(d2, index, start, k)
    elif _comes_after(d2[0], index[0], new_d2, new_index):
        d2[0] = new_d2
        index[0] = new_index
        _sift_down(d2, index, 0, k)
    return size


@njit(cache=True)
def _sort_heap(d2: NDArray, index: NDArray, size: int) -> None:
    """Sort the first `size` neighbours by (d2, index), in place."""
    if size < len(d2):  # never filled, so never made a heap
        for start in range(size // 2 - 1, -1, -1):
            _sift_down(d2, index, start, size)
    for last in range(size - 1, 0, -1):
        d2[0], d2[last] = d2[last], d2[0]
        index[0], index[last] = index[last], index[0]
        _sift_down(d2, index, 0, last)


@njit(cache=True, parallel=True, error_model="numpy")
def window_neighbors(
    planes: NDArray[np.float64],
    number: NDArray[np.int32],
    reach: int,
    row_start: int,
    row_stop: int,
    radius: int,
    disk: bool,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra in each pixel's window, for the pixels of some rows.

    Parameters
    ----------
    planes : (rows, bands, reach + tiles * TILE + reach)
        Spectra, with the columns last so that a run of pixels is contiguous in every band, and
        padded left and right so that every window of every tile lies inside.
    number : (rows, reach + tiles * TILE + reach)
        Number of each valid pixel in C order, -1 where masked or padding.
    reach : int
        Half-width of the window in columns, no more than the image has.
    row_start, row_stop : int
        Rows to work on.
    radius : int
        Half-width of the window in rows.
    disk : bool
        A disk of that radius instead of the square.
    index, d2 : (n, k)
        Filled in for the pixels of those rows: neighbours and squared distances, nearest first;
        -1 and infinity beyond the last one.
    """
    rows, bands, width = planes.shape
    k = index.shape[1]
    tiles = (width - 2 * reach) // TILE
    for job in prange((row_stop - row_start) * tiles):
        row = row_start + job // tiles
        first = reach + (job % tiles) * TILE
        pixels = number[row, first : first + TILE]
        if pixels.max() < 0:
            continue
        sums = np.empty((2 * reach + 1, TILE))
        sizes = np.zeros(TILE, dtype=np.int64)
        for other in range(max(0, row - radius), min(rows, row + radius + 1)):
            nearby = number[other, first - reach : first + reach + TILE]
            if nearby.max() < 0:
                continue
            sums[:] = 0.0
            for band in range(bands):
                here = planes[row, band, first : first + TILE]
                for shift in range(2 * reach + 1):
                    left = first - reach + shift
                    there = planes[other, band, left : left + TILE]
                    line = sums[shift]
                    for lane in range(TILE):
                        difference = here[lane] - there[lane]
                        line[lane] += difference * difference
            for shift in range(2 * reach + 1):
                if disk and (shift - reach) ** 2 + (other - row) ** 2 > radius * radius:
                    continue
                for lane in range(TILE):
                    pixel, candidate = pixels[lane], nearby[lane + shift]
                    if pixel >= 0 and candidate >= 0 and pixel != candidate:
                        sizes[lane] = _offer(
                            d2[pixel], index[pixel], sizes[lane], sums[shift, lane], candidate
                        )
        for lane in range(TILE):
            pixel = pixels[lane]
            if pixel >= 0:
                _sort_heap(d2[pixel], index[pixel], sizes[lane])
                index[pixel, sizes[lane] : k] = -1
                d2[pixel, sizes[lane] : k] = np.inf


@njit(cache=True, inline="always")
def _squared_distance(x: NDArray, y: NDArray) -> float:
    """Sum the squared differences in eight lanes of fixed order, which the machine adds at once."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = len(x) - len(x) % 8
    for b in range(0, whole, 8):
        d0, d1, d2, d3 = x[b] - y[b], x[b + 1] - y[b + 1], x[b + 2] - y[b + 2], x[b + 3] - y[b + 3]
        b += 4
        d4, d5, d6, d7 = x[b] - y[b], x[b + 1] - y[b + 1], x[b + 2] - y[b + 2], x[b + 3] - y[b + 3]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
        s4 += d4 * d4
        s5 += d5 * d5
        s6 += d6 * d6
        s7 += d7 * d7
    for b in range(whole, len(x)):
        s0 += (x[b] - y[b]) * (x[b] - y[b])
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(cache=True, parallel=True, error_model="numpy")
def global_neighbors(
    tree: Tree,
    X: NDArray[np.float64],
    slack: float,
    budget: int,
    start: int,
    stop: int,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra among all pixels, for the pixels at places `start` to `stop`.

    The tree stands on a few leading coordinates, in which no distance is larger than the true one.
    Its nodes are visited from the nearest outwards, until the nearest left is farther away than the
    worst neighbour kept: the result is then exact.

    Parameters
    ----------
    tree : Tree
        Over projections of the spectra onto orthonormal directions; the rank is the pixel's number.
    X : (n, bands)
        Spectra in the order of the tree.
    slack : float
        Bound on the rounding error of a distance between leading coordinates.
    budget : int
        Pixels looked at, at most: what is nearest among them is then taken for the result.
    start, stop : int
        Places in the tree to work on.
    index, d2 : (n, k)
        Filled in for those pixels: neighbours and squared distances, nearest first.
    """
    ranks = tree.rank
    for job in prange(stop - start):
        pixel = ranks[start + job]
        _search(tree, X, slack, budget, start + job, index[pixel], d2[pixel])


@njit(cache=True, error_model="numpy")
def _search(
    tree: Tree,
    X: NDArray[np.float64],
    slack: float,
    budget: int,
    place: int,
    near: NDArray[np.int32],
    near_d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra of the pixel at one place; see :func:`global_neighbors`.

    A function of its own, since the queue grows: memory that is taken anew inside a parallel loop
    is not given back before its end.
    """
    lead = tree.points[place]
    nodes, bounds = np.zeros(256, np.int64), np.zeros(256)
    waiting, size, seen, limit = 1, 0, 0, np.inf
    while waiting > 0 and bounds[0] <= limit and seen < budget:
        node = nodes[0]
        waiting = _take_nearest(nodes, bounds, waiting)
        child = tree.child[node]
        if child >= 0:
            if waiting + 2 > len(nodes):
                nodes = np.concatenate((nodes, np.zeros_like(nodes)))
                bounds = np.concatenate((bounds, np.zeros_like(bounds)))
            for either in range(child, child + 2):
                bound = box_distance(tree, either, lead)
                if bound <= limit:
                    waiting = _put(nodes, bounds, waiting, either, bound)
            continue
        for other in range(tree.start[node], tree.stop[node]):
            if other == place:
                continue
            seen += 1
            bound = 0.0
            for d in range(len(lead)):
                difference = lead[d] - tree.points[other, d]
                bound += difference * difference
            if bound <= limit:
                distance = _squared_distance(X[place], X[other])
                size = _offer(near_d2, near, size, distance, tree.rank[other])
                if size == len(near):
                    limit = (np.sqrt(near_d2[0]) * (1 + 1e-9) + slack) ** 2
    _sort_heap(near_d2, near, size)


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


@njit(cache=True, parallel=True, error_model="numpy")
def nearest_outside(
    X: NDArray[np.float64],
    number: NDArray[np.int32],
    rows: NDArray[np.int32],
    cols: NDArray[np.int32],
    group: NDArray[np.int32],
    pixels: NDArray[np.int64],
    radius: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nearest spectrum of another group in the square window around each of some pixels.

    Parameters
    ----------
    X : (n, bands)
    number : (image rows, image cols)
        Number of each valid pixel, -1 where masked.
    rows, cols, group : (n,)
        Place of each valid pixel and the group it belongs to.
    pixels : (m,)
        The pixels to search for.
    radius : int
        Half-width of the window.

    Returns
    -------
    index : (m,)
        The nearest one (ties: smallest number), -1 where the window holds no other group.
    d2 : (m,)
        Its squared distance, infinite where there is none.
    """
    image_rows, image_cols = number.shape
    index = np.full(len(pixels), -1, dtype=np.int64)
    d2 = np.full(len(pixels), np.inf)
    for job in prange(len(pixels)):
        pixel = pixels[job]
        best, best_index = np.inf, -1
        top, bottom = max(0, rows[pixel] - radius), min(image_rows, rows[pixel] + radius + 1)
        left, right = max(0, cols[pixel] - radius), min(image_cols, cols[pixel] + radius + 1)
        for row in range(top, bottom):
            for col in range(left, right):
                candidate = number[row, col]
                if candidate < 0 or group[candidate] == group[pixel]:
                    continue
                total = 0.0
                for band in range(X.shape[1]):
                    difference = X[pixel, band] - X[candidate, band]
                    total += difference * difference
                    if total >= best:
                        break
                if total < best:
                    best, best_index = total, candidate
        index[job] = best_index
        d2[job] = best
    return index, d2
