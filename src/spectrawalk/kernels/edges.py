"""From lists of neighbours to the rows of a sparse matrix, without large arrays on the way."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spectrawalk.kernels.selection import places_by_value


@njit(cache=True)
def incoming(
    index: NDArray[np.int32], positions: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Group the entries of the neighbour lists (n, k) by the pixel that they name.

    Parameters
    ----------
    index : (n, k)
        Neighbours, -1 for none.
    positions : (n * k,)
        Room for the result, of a type that holds n * k.

    Returns
    -------
    start : (n + 1,)
        Where each pixel's group begins.
    positions : (at most n * k,)
        Place of each entry in the flattened lists; those of a group in increasing order.
    """
    n, k = index.shape
    start = np.zeros(n + 1, np.int64)
    for pixel in range(n):
        for place in range(k):
            if index[pixel, place] >= 0:
                start[index[pixel, place] + 1] += 1
    start = np.cumsum(start)
    free = start[:-1].copy()
    for pixel in range(n):
        for place in range(k):
            other = index[pixel, place]
            if other >= 0:
                positions[free[other]] = pixel * k + place
                free[other] += 1
    return start, positions[: start[-1]]


@njit(cache=True)
def _row(
    pixel: int,
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    start: NDArray[np.int64],
    positions: NDArray[np.integer],
    columns: NDArray[np.int32],
    squares: NDArray[np.float64],
) -> int:
    """Union of a pixel's own neighbours and those that name it, by increasing index; its size."""
    k = index.shape[1]
    own = np.empty(k, np.int32)
    places_by_value(index[pixel], k, own)
    mine = 0
    while mine < k and index[pixel, own[mine]] < 0:
        mine += 1
    theirs, size = start[pixel], 0
    while mine < k or theirs < start[pixel + 1]:
        source = -1 if theirs == start[pixel + 1] else positions[theirs] // k
        if mine < k and (source < 0 or index[pixel, own[mine]] <= source):
            columns[size] = index[pixel, own[mine]]
            squares[size] = d2[pixel, own[mine]]
            theirs += columns[size] == source
            mine += 1
        else:
            columns[size] = source
            squares[size] = d2[source, positions[theirs] % k]
            theirs += 1
        size += 1
    return size


@njit(cache=True, parallel=True)
def count_edges(
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    start: NDArray[np.int64],
    positions: NDArray[np.integer],
    begin: int,
    end: int,
) -> NDArray[np.int64]:
    """Number of edges, in either direction, of the pixels from `begin` to `end`.

    Parameters
    ----------
    index, d2 : (n, k)
        Neighbours and their squared distances.
    start, positions
        As from :func:`incoming`; all zero and empty to take each pixel's own neighbours only.
    """
    counts = np.empty(end - begin, np.int64)
    for job in prange(end - begin):
        pixel = begin + job
        room = index.shape[1] + start[pixel + 1] - start[pixel]
        counts[job] = _row(
            pixel, index, d2, start, positions, np.empty(room, np.int32), np.empty(room)
        )
    return counts


@njit(cache=True, error_model="numpy")
def _weight(d2: float, scale: float, other_scale: float) -> float:
    """Weight exp(-d^2 / (s_i s_j)) of an edge, for any scales that are numbers."""
    d = np.sqrt(d2)
    exponent = (d / scale) * (d / other_scale)
    # Infinity times zero: one end is far beyond its scale, the other one's larger still.
    return 0.0 if np.isnan(exponent) else np.exp(-exponent)


@njit(cache=True, error_model="numpy")
def weigh(
    d2: NDArray[np.float64], scales: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Weigh some edges between the pixels `ends`, shape (2, edges)."""
    weights = np.empty(len(d2))
    for edge in range(len(d2)):
        weights[edge] = _weight(d2[edge], scales[ends[0, edge]], scales[ends[1, edge]])
    return weights


@njit(cache=True, parallel=True, error_model="numpy")
def fill_edges(
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    scales: NDArray[np.float64],
    start: NDArray[np.int64],
    positions: NDArray[np.integer],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
) -> None:
    """Fill in the columns and weights exp(-d^2 / (s_i s_j)) of a sparse matrix's rows."""
    for job in prange(end - begin):
        pixel = begin + job
        row = slice(indptr[pixel], indptr[pixel + 1])
        room = index.shape[1] + start[pixel + 1] - start[pixel]
        columns, squares = np.empty(room, np.int32), np.empty(room)
        size = _row(pixel, index, d2, start, positions, columns, squares)
        indices[row] = columns[:size]
        for edge in range(size):
            squares[edge] = _weight(squares[edge], scales[pixel], scales[columns[edge]])
        weights[row] = squares[:size]


@njit(cache=True)
def connected(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Weakly connected component of each pixel, numbered by their first pixels.

    Every pixel points to another of its component, in the end to the first; an edge between two
    components makes the later first one point to the earlier.
    """
    n = len(indptr) - 1
    first = np.arange(n).astype(np.int32)
    for pixel in range(n):
        for entry in range(indptr[pixel], indptr[pixel + 1]):
            one, other = pixel, indices[entry]
            while first[one] != one:
                first[one] = first[first[one]]
                one = first[one]
            while first[other] != other:
                first[other] = first[first[other]]
                other = first[other]
            first[max(one, other)] = min(one, other)
    count = 0
    component = np.empty(n, np.int32)
    for pixel in range(n):
        if first[pixel] == pixel:
            component[pixel] = count
            count += 1
        else:
            component[pixel] = component[first[pixel]]
    return component
