"""Spectrally nearest neighbours inside a spatial window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.kernels.selection import SINGLE, enough, sort_by_distance, squared_distance

TILE = 8
"""Rows and columns of pixels whose windows are compared in one matrix product."""


@njit(cache=True, nogil=True, error_model="numpy")
def window_neighbors(
    X: NDArray[np.float64],
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    number: NDArray[np.int32],
    radius: int,
    disk: bool,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Find the nearest spectra in each pixel's window, for the pixels of some tiles.

    One product in single precision gives all distances with a bound on their errors. Only the
    candidates that the bounds leave have their distance summed in full, so the result is exact.

    Parameters
    ----------
    X : (n, bands)
        Spectra.
    single, squares : (m, bands), (m,)
        As from ``selection.to_single``, of the pixels from `offset` on that the windows reach.
    number : (rows, cols)
        Number of each valid pixel in C order, -1 where masked.
    radius : int
        Half-width of the window.
    disk : bool
        A disk of that radius instead of the square.
    index, d2 : (n, k)
        Filled in for the pixels of those tiles: neighbours and squared distances, nearest first;
        -1 and infinity beyond the last one.
    start, stop : int
        Tiles to work on, numbered row by row.
    """
    across = (number.shape[1] + TILE - 1) // TILE
    tile = np.empty(TILE * TILE, np.int32)
    height = min(TILE + 2 * radius, number.shape[0])
    width = min(TILE + 2 * radius, number.shape[1])
    begin, candidates = np.empty((height, width + 1), np.int32), np.empty(height * width, np.int32)
    for job in range(start, stop):
        row, col = job // across * TILE, job % across * TILE
        size = _valid_pixels(number, row, row + TILE, col, col + TILE, tile, begin)
        if size == 0:
            continue
        top, left = max(0, row - radius), max(0, col - radius)
        count = _valid_pixels(
            number, top, row + TILE + radius, left, col + TILE + radius, candidates, begin
        )
        near, kept = _candidates(
            single, squares, offset, number, row, col, radius, disk,
            index.shape[1], tile[:size], candidates[:count], begin,
        )  # fmt: skip
        _settle(X, tile[:size], candidates[:count], near, kept, index, d2)


@njit(cache=True)
def _valid_pixels(
    number: NDArray[np.int32],
    top: int,
    bottom: int,
    left: int,
    right: int,
    pixels: NDArray[np.int32],
    begin: NDArray[np.int32],
) -> int:
    """List the valid pixels of a part of the image, and where each row and column begins in it."""
    count = 0
    for row in range(top, min(bottom, number.shape[0])):
        last = min(right, number.shape[1])
        for col in range(left, last):
            begin[row - top, col - left] = count
            if number[row, col] >= 0:
                pixels[count] = number[row, col]
                count += 1
        begin[row - top, last - left] = count
    return count


@njit(cache=True)
def _rows(
    single: NDArray[np.float32], pixels: NDArray[np.int32], offset: int
) -> NDArray[np.float32]:
    """Spectra of some pixels, side by side in memory."""
    rows = np.empty((len(pixels), single.shape[1]), np.float32)
    for place in range(len(pixels)):
        spectrum, row = single[pixels[place] - offset], rows[place]
        for band in range(len(row)):
            row[band] = spectrum[band]
    return rows


@njit(cache=True, error_model="numpy")
def _candidates(
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    offset: int,
    number: NDArray[np.int32],
    row: int,
    col: int,
    radius: int,
    disk: bool,
    k: int,
    tile: NDArray[np.int32],
    candidates: NDArray[np.int32],
    begin: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """List which candidates, by their place, may be among the k nearest of each pixel of a tile.

    Returns
    -------
    near : (pixels of the tile, most)
    kept : (pixels of the tile,)
        How many there are of each.
    """
    top, left = max(0, row - radius), max(0, col - radius)
    right = min(number.shape[1], col + TILE + radius)
    count = len(candidates)
    products = np.dot(_rows(single, tile, offset), _rows(single, candidates, offset).T)
    lengths = np.empty(count, np.float32)
    for place in range(count):
        lengths[place] = squares[candidates[place] - offset]
    bound = np.float32((single.shape[1] + 16) * SINGLE)
    most = min(count, (2 * radius + 1) ** 2)
    highest, lowest = np.empty(most, np.float32), np.empty(most, np.float32)
    found = np.empty(most, np.int32)
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
                first = begin[other_row - top, max(left, j - reach) - left]
                last = begin[other_row - top, min(j + reach + 1, right) - left]
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
    return near, kept


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
    by = np.empty((len(candidates), n), np.int32)
    slot = np.empty((len(candidates), n), np.int32)
    most = 0
    for own in range(n):
        most = max(most, kept[own])
        for place in range(kept[own]):
            candidate = near[own, place]
            by[candidate, wanted[candidate]] = own
            slot[candidate, wanted[candidate]] = place
            wanted[candidate] += 1
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
        for place in range(size):
            index[pixel, place], d2[pixel, place] = nearest[place], nearest_d2[place]
        for place in range(size, k):
            index[pixel, place], d2[pixel, place] = -1, np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_outside(
    X: NDArray[np.float64],
    number: NDArray[np.int32],
    rows: NDArray[np.int32],
    cols: NDArray[np.int32],
    group: NDArray[np.int32],
    pixels: NDArray[np.int64],
    radius: int,
    index: NDArray[np.int64],
    d2: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
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
    index, d2 : (m,)
        Filled in from `start` to `stop`: the nearest one (ties: smallest number) and its squared
        distance; -1 and infinity where the window holds no other group.
    """
    image_rows, image_cols = number.shape
    for job in range(start, stop):
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
