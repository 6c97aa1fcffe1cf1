"""Spectrally nearest neighbours inside a spatial window."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spectrawalk.kernels.selection import SINGLE, enough, sort_by_distance, squared_distance

TILE = 8
"""Rows and columns of pixels whose windows are compared in one matrix product."""


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
        As from ``selection.to_single``, of the pixels from `offset` on that the windows reach.
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
    k, bands = index.shape[1], X.shape[1]
    bound = np.float32((bands + 16) * SINGLE)
    most = min(count, (2 * radius + 1) ** 2)
    highest, lowest = np.empty((2, most), np.float32)
    found = np.empty(most, np.int32)
    # Of each pixel of the tile: its candidates, by their place in the list, and how many.
    near = np.empty((len(tile), most), np.int32)
    kept = np.zeros(len(tile), np.int32)
    own = -1
    for i in range(row, min(row + TILE, number.shape[0])):
        for j in range(col, min(col + TILE, number.shape[1])):
            pixel = number[i, j]
            if pixel < 0:
                continue
            own += 1
            square = squares[pixel - offset]
            size = 0
            for other_row in range(max(top, i - radius), min(number.shape[0], i + radius + 1)):
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
                    found[size + step] = first + step
                size += last - first
            limit = np.float32(np.inf)
            if size > k + 1:  # the pixel itself is among them
                limit = enough(highest, size, k + 1) + np.float32(1e-30)
            for candidate in range(size):
                place = found[candidate]
                near[own, kept[own]] = place
                kept[own] += (lowest[candidate] <= limit) & (candidates[place] != pixel)
    _settle(X, tile, candidates, near, kept, index, d2)


@njit(cache=True)
def _settle(
    X: NDArray[np.float64],
    tile: NDArray[np.int32],
    candidates: NDArray[np.int32],
    near: NDArray[np.int32],
    kept: NDArray[np.int32],
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Sum the distances between the pixels of a tile and their candidates in full, and sort them.

    Candidate by candidate: each spectrum is read from memory once for all pixels that want it.
    """
    n, k = len(tile), index.shape[1]
    wanted = np.zeros(len(candidates), np.int32)
    by, slot = np.empty((2, len(candidates), n), np.int32)
    for own in range(n):
        for place in range(kept[own]):
            candidate = near[own, place]
            by[candidate, wanted[candidate]] = own
            slot[candidate, wanted[candidate]] = place
            wanted[candidate] += 1
    most = kept.max()
    distance = np.empty((n, most))
    for candidate in range(len(candidates)):
        spectrum = X[candidates[candidate]]
        for place in range(wanted[candidate]):
            own = by[candidate, place]
            distance[own, slot[candidate, place]] = squared_distance(X[tile[own]], spectrum)

    keys, places = np.empty(most, np.float32), np.empty(most, np.int32)
    nearest_d2, nearest = np.empty(most), np.empty(most, np.int32)
    for own in range(n):
        for place in range(kept[own]):
            near[own, place] = candidates[near[own, place]]
        sort_by_distance(distance[own], near[own], kept[own], keys, places, nearest_d2, nearest)
        pixel, size = tile[own], min(kept[own], k)
        index[pixel, :size], index[pixel, size:] = nearest[:size], -1
        d2[pixel, :size], d2[pixel, size:] = nearest_d2[:size], np.inf


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
