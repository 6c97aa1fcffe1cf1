"""Distances, and the nearest among many: what searches in windows and in the whole image share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.threads import run_blocks, split

SINGLE = 2.0**-24
"""Rounding error of single precision."""

_MOST_HALVINGS = 24

_LEAST_SPECTRA = 1_000
"""Spectra that are worth the while of a thread."""


@njit(cache=True, fastmath={"reassoc", "nsz"})
def squared_distance(x: NDArray, y: NDArray) -> float:
    """Sum the squared differences, several bands at once.

    The compiler may choose the order of the sum, but chooses it once: a pair of spectra has the
    same distance both ways, whatever its place in the image and on any number of threads.
    """
    total = 0.0
    for band in range(len(x)):
        difference = x[band] - y[band]
        total += difference * difference
    return total


def to_single(
    X: NDArray[np.float64], pixels: NDArray[np.int64], middle: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Some spectra in single precision, relative to a middle one and scaled, and their squares."""
    single = np.empty((len(pixels), X.shape[1]), np.float32)
    squares = np.empty(len(pixels), np.float32)

    def some(start: int, stop: int) -> None:
        _to_single(X, pixels, middle, scale, single, squares, start, stop)

    run_blocks(some, split(0, len(pixels), _LEAST_SPECTRA))
    return single, squares


@njit(cache=True, nogil=True, error_model="numpy")
def _to_single(
    X: NDArray[np.float64],
    pixels: NDArray[np.int64],
    middle: NDArray[np.float64],
    scale: float,
    single: NDArray[np.float32],
    squares: NDArray[np.float32],
    start: int,
    stop: int,
) -> None:
    for place in range(start, stop):
        total, spectrum, row = 0.0, X[pixels[place]], single[place]
        for band in range(len(row)):
            value = (spectrum[band] - middle[band]) * scale
            row[band] = value
            total += value * value
        squares[place] = total


@njit(cache=True)
def places_by_value(values: NDArray, size: int, places: NDArray[np.int32]) -> None:
    """Fill in the places of the first `size` values by increasing value, equal ones as they come.

    Each is put where the number of those before it says: quadratic, but the machine counts several
    at once, which is faster than a cleverer sort up to hundreds.
    """
    for one in range(size):
        value = values[one]
        before = np.int32(0)
        for other in range(one):
            before += np.int32(values[other] <= value)
        for other in range(one + 1, size):
            before += np.int32(values[other] < value)
        places[before] = one


@njit(cache=True)
def sort_by_distance(
    d2: NDArray[np.float64],
    index: NDArray[np.int32],
    size: int,
    keys: NDArray[np.float32],
    places: NDArray[np.int32],
    sorted_d2: NDArray[np.float64],
    sorted_index: NDArray[np.int32],
) -> None:
    """Sort neighbours by (distance, index), of which the indices must be increasing.

    First in single precision, of which a machine compares twice as many at once; then those that
    are equal in it.
    """
    for one in range(size):
        keys[one] = d2[one]
    places_by_value(keys, size, places)
    for place in range(size):
        value, number = d2[places[place]], index[places[place]]
        below = place
        while below > 0 and sorted_d2[below - 1] > value:
            sorted_d2[below], sorted_index[below] = sorted_d2[below - 1], sorted_index[below - 1]
            below -= 1
        sorted_d2[below], sorted_index[below] = value, number


@njit(cache=True)
def enough(values: NDArray[np.float32], size: int, k: int) -> np.float32:
    """A limit that at least k of the first `size` values do not exceed, and few more than k.

    By halving the range of the values: to count them is quicker than to sort them.
    """
    low, high = values[0], values[0]
    for place in range(1, size):
        low, high = min(low, values[place]), max(high, values[place])
    for _ in range(_MOST_HALVINGS):
        middle = low + (high - low) * np.float32(0.5)
        if not low < middle < high:
            break
        below = np.int32(0)
        for place in range(size):
            below += np.int32(values[place] <= middle)
        if below < k:
            low = middle
            continue
        high = middle
        if below <= k + k // 16:
            break
    return high


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
def offer(d2: NDArray, index: NDArray, size: int, new_d2: float, new_index: int) -> int:
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
def sort_heap(d2: NDArray, index: NDArray, size: int) -> None:
    """Sort the first `size` neighbours by (d2, index), in place."""
    if size < len(d2):  # never filled, so never made a heap
        for start in range(size // 2 - 1, -1, -1):
            _sift_down(d2, index, start, size)
    for last in range(size - 1, 0, -1):
        d2[0], d2[last] = d2[last], d2[0]
        index[0], index[last] = index[last], index[0]
        _sift_down(d2, index, 0, last)
