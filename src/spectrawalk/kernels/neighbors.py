"""Spectrally nearest neighbours: inside a spatial window, or among all pixels."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spectrawalk.kernels.tree import Tree

TILE = 8
"""Rows and columns of pixels whose windows are compared in one matrix product."""

BLOCK = 64
"""Pixels whose spectra are compared with as many others in one matrix product."""

_SINGLE = 2.0**-24
"""Rounding error of single precision."""


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


@njit(cache=True, fastmath={"reassoc", "nsz"})
def _squared_distance(x: NDArray, y: NDArray) -> float:
    """Sum the squared differences, several bands at once.

    The compiler may choose the order of the sum, but chooses it once: a pair of spectra has the
    same distance both ways, whatever its place in the image and on any number of threads.
    """
    total = 0.0
    for band in range(len(x)):
        difference = x[band] - y[band]
        total += difference * difference
    return total


@njit(cache=True)
def _kth_smallest(values: NDArray, size: int, k: int) -> float:
    """Value of the k-th smallest (from 0) of the first `size` values, which it reorders."""
    low, high = 0, size
    while high - low > 1:
        first, middle, last = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(first, middle), min(max(first, middle), last))
        # Swaps without a condition: a processor cannot foresee how the values compare.
        below = low
        for place in range(low, high):
            value = values[place]
            values[place], values[below] = values[below], value
            below += value < pivot
        if k < below:
            high = below
            continue
        equal = below
        for place in range(below, high):
            value = values[place]
            values[place], values[equal] = values[equal], value
            equal += value == pivot
        if k < equal:
            return pivot
        low = equal
    return values[k]


@njit(cache=True)
def _sort_by_distance(
    d2: NDArray, index: NDArray, size: int, sorted_d2: NDArray, sorted_index: NDArray
) -> None:
    """Sort neighbours by (distance, index), of which the indices must be increasing.

    Each is put in the place given by the number of those before it: quadratic, but in a loop that
    the machine runs several steps of at once, which is faster than a cleverer sort up to hundreds.
    """
    for one in range(size):
        value = d2[one]
        place = 0
        for other in range(one):
            place += d2[other] <= value
        for other in range(one + 1, size):
            place += d2[other] < value
        sorted_d2[place], sorted_index[place] = value, index[one]


@njit(cache=True, parallel=True, error_model="numpy")
def to_single(
    X: NDArray[np.float64], pixels: NDArray[np.int64], middle: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Some spectra in single precision, relative to a middle one and scaled, and their squares."""
    single = np.empty((len(pixels), X.shape[1]), np.float32)
    squares = np.empty(len(pixels), np.float32)
    for place in prange(len(pixels)):
        total = 0.0
        for band in range(X.shape[1]):
            value = (X[pixels[place], band] - middle[band]) * scale
            single[place, band] = value
            total += value * value
        squares[place] = total
    return single, squares


@njit(cache=True, parallel=True, error_model="numpy")
def window_neighbors(
    X: NDArray[np.float64],
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    number: NDArray[np.int32],
    start: int,
    stop: int,
    radius: int,
    disk: bool,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra in each pixel's window, for the pixels of some rows of tiles.

    Parameters
    ----------
    X : (n, bands)
        Spectra.
    single, squares : (m, bands), (m,)
        As from :func:`to_single`, of the pixels from `offset` on that the windows reach.
    number : (rows, cols)
        Number of each valid pixel in C order, -1 where masked.
    start, stop : int
        Rows of tiles to work on.
    radius : int
        Half-width of the window.
    disk : bool
        A disk of that radius instead of the square.
    index, d2 : (n, k)
        Filled in for the pixels of those tiles: neighbours and squared distances, nearest first;
        -1 and infinity beyond the last one.
    """
    across = (number.shape[1] + TILE - 1) // TILE
    for job in prange((stop - start) * across):
        row, col = (start + job // across) * TILE, (job % across) * TILE
        if number[row : row + TILE, col : col + TILE].max() >= 0:
            _tile_neighbors(X, single, squares, offset, number, row, col, radius, disk, index, d2)


@njit(cache=True, error_model="numpy")
def _tile_neighbors(
    X: NDArray[np.float64],
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    number: NDArray[np.int32],
    row: int,
    col: int,
    radius: int,
    disk: bool,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra of the pixels of the tile whose first one is at (row, col).

    One product in single precision gives all distances with a bound on their errors. Only the
    candidates that the bounds leave have their distance summed in full, so the result is exact.
    """
    top, left = max(0, row - radius), max(0, col - radius)
    around = number[top : row + TILE + radius, left : col + TILE + radius]
    candidates, begin = _valid_pixels(around)
    count = len(candidates)
    tile, _ = _valid_pixels(number[row : row + TILE, col : col + TILE])
    products = np.dot(_rows(single, tile, offset), _rows(single, candidates, offset).T)

    lengths = np.empty(count, np.float32)
    for place in range(count):
        lengths[place] = squares[candidates[place] - offset]
    k = index.shape[1]
    bound = np.float32((X.shape[1] + 16) * _SINGLE)
    highest, lowest, sorting = np.empty((3, count), np.float32)
    found, near, nearest = np.empty((3, count), np.int32)
    distance, nearest_distance = np.empty((2, count))
    own = -1
    for i in range(row, min(row + TILE, number.shape[0])):
        for j in range(col, min(col + TILE, number.shape[1])):
            pixel = number[i, j]
            if pixel < 0:
                continue
            own += 1
            square = squares[pixel - offset]
            size = 0
            for other_row in range(top, min(number.shape[0], i + radius + 1)):
                if other_row < i - radius:
                    continue
                reach = radius
                if disk:
                    reach = int(np.sqrt(radius * radius - (other_row - i) ** 2 + 0.5))
                line = begin[other_row - top]
                first = line[max(0, j - reach - left)]
                last = line[min(j + reach + 1 - left, len(line) - 1)]
                for step in range(last - first):
                    both = square + lengths[first + step]
                    middle = both - 2 * products[own, first + step]
                    highest[size + step] = middle + bound * both
                    lowest[size + step] = middle - bound * both
                    found[size + step] = candidates[first + step]
                size += last - first
            limit = np.float32(np.inf)
            if size > k + 1:  # the pixel itself is among them
                sorting[:size] = highest[:size]
                limit = _kth_smallest(sorting, size, k) + np.float32(1e-30)
            kept = 0
            for candidate in range(size):
                near[kept] = found[candidate]
                kept += (lowest[candidate] <= limit) & (found[candidate] != pixel)
            for candidate in range(kept):
                distance[candidate] = _squared_distance(X[pixel], X[near[candidate]])
            _sort_by_distance(distance, near, kept, nearest_distance, nearest)
            kept = min(kept, k)
            index[pixel, :kept], index[pixel, kept:] = nearest[:kept], -1
            d2[pixel, :kept], d2[pixel, kept:] = nearest_distance[:kept], np.inf


@njit(cache=True)
def _valid_pixels(number: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """List the valid pixels of a part of the image, and where each row and column begins in it."""
    begin = np.empty((number.shape[0], number.shape[1] + 1), np.int32)
    pixels = np.empty(number.size, np.int32)
    count = 0
    for row in range(number.shape[0]):
        for col in range(number.shape[1]):
            begin[row, col] = count
            if number[row, col] >= 0:
                pixels[count] = number[row, col]
                count += 1
        begin[row, -1] = count
    return pixels[:count], begin


@njit(cache=True)
def _rows(
    single: NDArray[np.float32], pixels: NDArray[np.int32], offset: int
) -> NDArray[np.float32]:
    """Spectra of some pixels, side by side in memory."""
    rows = np.empty((len(pixels), single.shape[1]), np.float32)
    for place in range(len(pixels)):
        rows[place] = single[pixels[place] - offset]
    return rows


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
        As from :func:`to_single`, in the order of the tree and in its units.
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

    As in :func:`_tile_neighbors`, products in single precision bound the distances. A function of
    its own, since lists grow: memory that is taken anew inside a parallel loop is not given back
    before its end.
    """
    begin, end = tree.start[home], tree.stop[home]
    own, k = single[begin:end], index.shape[1]
    bound = np.float32((X.shape[1] + 16) * _SINGLE)
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
                distance = _squared_distance(X[pixel], X[other])
                size = _offer(d2[pixel], index[pixel], size, distance, other)
        _sort_heap(d2[pixel], index[pixel], size)


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
