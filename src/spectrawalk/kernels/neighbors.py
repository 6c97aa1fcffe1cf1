"""Spectrally nearest neighbours: inside a spatial window, or among all pixels."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

TILE = 64
"""Pixels handled together: their spectra fit the second-level cache, their sums the first."""

WINDOW_TILE = 32
"""The same inside a window, where every pixel of the tile has a sum for every shift."""


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
    planes : (rows, bands, reach + tiles * WINDOW_TILE + reach)
        Spectra, with the columns last so that a run of pixels is contiguous in every band, and
        padded left and right so that every window of every tile lies inside.
    number : (rows, reach + tiles * WINDOW_TILE + reach)
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
    tiles = (width - 2 * reach) // WINDOW_TILE
    for job in prange((row_stop - row_start) * tiles):
        row = row_start + job // tiles
        first = reach + (job % tiles) * WINDOW_TILE
        pixels = number[row, first : first + WINDOW_TILE]
        if pixels.max() < 0:
            continue
        sums = np.empty((2 * reach + 1, WINDOW_TILE))
        sizes = np.zeros(WINDOW_TILE, dtype=np.int64)
        for other in range(max(0, row - radius), min(rows, row + radius + 1)):
            nearby = number[other, first - reach : first + reach + WINDOW_TILE]
            if nearby.max() < 0:
                continue
            sums[:] = 0.0
            for band in range(bands):
                here = planes[row, band, first : first + WINDOW_TILE]
                for shift in range(2 * reach + 1):
                    left = first - reach + shift
                    there = planes[other, band, left : left + WINDOW_TILE]
                    line = sums[shift]
                    for lane in range(WINDOW_TILE):
                        difference = here[lane] - there[lane]
                        line[lane] += difference * difference
            for shift in range(2 * reach + 1):
                if disk and (shift - reach) ** 2 + (other - row) ** 2 > radius * radius:
                    continue
                for lane in range(WINDOW_TILE):
                    pixel, candidate = pixels[lane], nearby[lane + shift]
                    if pixel >= 0 and candidate >= 0 and pixel != candidate:
                        sizes[lane] = _offer(
                            d2[pixel], index[pixel], sizes[lane], sums[shift, lane], candidate
                        )
        for lane in range(WINDOW_TILE):
            pixel = pixels[lane]
            if pixel >= 0:
                _sort_heap(d2[pixel], index[pixel], sizes[lane])
                index[pixel, sizes[lane] : k] = -1
                d2[pixel, sizes[lane] : k] = np.inf


@njit(cache=True, inline="always")
def _tile_distances(spectrum: NDArray, tile: NDArray, sums: NDArray) -> None:
    """Squared distances from one spectrum to the TILE spectra of a tile (bands, TILE)."""
    for lane in range(TILE):
        sums[lane] = 0.0
    for band in range(len(spectrum)):
        value = spectrum[band]
        line = tile[band]
        for lane in range(TILE):
            difference = value - line[lane]
            sums[lane] += difference * difference


@njit(cache=True, parallel=True, error_model="numpy")
def global_neighbors(
    X: NDArray[np.float64],
    leads: NDArray[np.float64],
    tiles: NDArray[np.float64],
    pixel_at: NDArray[np.int32],
    slack: float,
    start: int,
    stop: int,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
) -> None:
    """Find the nearest spectra among all pixels, for the pixels at places `start` to `stop`.

    The pixels stand in the order of their first leading coordinate, so that the search goes
    outwards from a pixel's own place and ends where that coordinate alone is too far away. Between,
    the distance in the few leading coordinates, which is never larger than the true one, rules out
    most candidates; only for the rest is the true distance summed.

    Parameters
    ----------
    X : (n, bands)
        Spectra in that order.
    leads : (n, q)
        Their leading coordinates: projections onto orthonormal directions.
    tiles : (ceil(n / TILE), q, TILE)
        The same, a tile of pixels at a time.
    pixel_at : (n,)
        Number of the pixel at each place.
    slack : float
        Bound on the rounding error of a distance between leading coordinates.
    start, stop : int
        Places to work on.
    index, d2 : (n, k)
        Filled in for those pixels: neighbours and squared distances, nearest first.
    """
    n, bands = X.shape
    k = index.shape[1]
    for job in prange(stop - start):
        place = start + job
        pixel, here, spectrum = pixel_at[place], leads[place, 0], X[place]
        near, near_d2 = index[pixel], d2[pixel]
        sums = np.empty(TILE)
        size, limit = 0, np.inf
        left, right = place // TILE - 1, place // TILE
        while True:
            # The tile beside those seen so far whose first coordinate comes nearest.
            left_gap = here - leads[left * TILE + TILE - 1, 0] if left >= 0 else np.inf
            right_gap = max(leads[right * TILE, 0] - here, 0.0) if right < len(tiles) else np.inf
            gap = min(left_gap, right_gap)
            if gap * gap > limit or gap == np.inf:
                break
            if right_gap <= left_gap:
                t = right
                right += 1
            else:
                t = left
                left -= 1
            _tile_distances(leads[place], tiles[t], sums)
            for lane in range(min(TILE, n - t * TILE)):
                other = t * TILE + lane
                if sums[lane] > limit or other == place:
                    continue
                total = 0.0
                for band in range(bands):
                    difference = spectrum[band] - X[other, band]
                    total += difference * difference
                size = _offer(near_d2, near, size, total, pixel_at[other])
                if size == k:
                    limit = (np.sqrt(near_d2[0]) * (1 + 1e-9) + slack) ** 2
        _sort_heap(near_d2, near, size)


@njit(cache=True, parallel=True, error_model="numpy")
def distance_sums(
    X: NDArray[np.float64], tiles: NDArray[np.float64], start: int, stop: int
) -> NDArray[np.float64]:
    """Sum of the distances from each pixel from `start` to `stop` to all later pixels."""
    n = len(X)
    totals = np.empty(stop - start)
    for job in prange(stop - start):
        pixel = start + job
        sums = np.empty(TILE)
        total = 0.0
        for t in range(pixel // TILE, len(tiles)):
            _tile_distances(X[pixel], tiles[t], sums)
            for lane in range(max(0, pixel + 1 - t * TILE), min(TILE, n - t * TILE)):
                total += np.sqrt(sums[lane])
        totals[job] = total
    return totals


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
