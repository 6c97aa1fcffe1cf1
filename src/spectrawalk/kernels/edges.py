"""From lists of neighbours to the rows of a sparse matrix, without large arrays on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.kernels.selection import places_by_value


@njit(cache=True, nogil=True)
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
    # Shifted by one place, so that filling in moves each begin to where it belongs.
    start = np.zeros(n + 2, np.int64)
    for pixel in range(n):
        for place in range(k):
            if index[pixel, place] >= 0:
                start[index[pixel, place] + 2] += 1
    for pixel in range(n):
        start[pixel + 2] += start[pixel + 1]
    for pixel in range(n):
        for place in range(k):
            other = index[pixel, place]
            if other >= 0:
                positions[start[other + 1]] = pixel * k + place
                start[other + 1] += 1
    return start[: n + 1], positions[: start[n]]


@njit(cache=True, nogil=True, error_model="numpy")
def count_edges(
    index: NDArray[np.int32],
    start: NDArray[np.int64],
    positions: NDArray[np.integer],
    counts: NDArray[np.int64],
    begin: int,
    end: int,
) -> None:
    """Count the edges, in either direction, of the pixels from `begin` to `end`.

    Parameters
    ----------
    index : (n, k)
        Neighbours.
    start, positions
        As from :func:`incoming`; all zero and empty to take each pixel's own neighbours only.
    counts : (n,)
        Filled in for those pixels.
    """
    n, k = index.shape
    named_by = np.zeros(n, np.int32)  # 1 + the last pixel that named it
    for pixel in range(begin, end):
        count = start[pixel + 1] - start[pixel]
        for place in range(k):
            if index[pixel, place] >= 0:
                named_by[index[pixel, place]] = pixel + 1
                count += 1
        for entry in range(start[pixel], start[pixel + 1]):
            if named_by[positions[entry] // k] == pixel + 1:
                count -= 1
        counts[pixel] = count


@njit(cache=True, error_model="numpy")
def _weight(d2: float, scale: float, other_scale: float) -> float:
    """Weight exp(-d^2 / (s_i s_j)) of an edge, for any scales that are numbers."""
    d = np.sqrt(d2)
    exponent = (d / scale) * (d / other_scale)
    # Infinity times zero: one end is far beyond its scale, the other one's larger still.
    return 0.0 if np.isnan(exponent) else np.exp(-exponent)


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(
    d2: NDArray[np.float64], scales: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Weigh some edges between the pixels `ends`, shape (2, edges)."""
    weights = np.empty(len(d2))
    for edge in range(len(d2)):
        weights[edge] = _weight(d2[edge], scales[ends[0, edge]], scales[ends[1, edge]])
    return weights


@njit(cache=True, nogil=True, error_model="numpy")
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
    """Fill in the columns and weights exp(-d^2 / (s_i s_j)) of a sparse matrix's rows.

    A row is the union of a pixel's own neighbours and those that name it, by increasing index.
    """
    k = index.shape[1]
    own = np.empty(k, np.int32)
    for pixel in range(begin, end):
        places_by_value(index[pixel], k, own)
        mine = 0
        while mine < k and index[pixel, own[mine]] < 0:
            mine += 1
        theirs, edge = start[pixel], indptr[pixel]
        while mine < k or theirs < start[pixel + 1]:
            source = -1 if theirs == start[pixel + 1] else positions[theirs] // k
            if mine < k and (source < 0 or index[pixel, own[mine]] <= source):
                other, square = index[pixel, own[mine]], d2[pixel, own[mine]]
                theirs += other == source
                mine += 1
            else:
                other, square = source, d2[source, positions[theirs] % k]
                theirs += 1
            indices[edge] = other
            weights[edge] = _weight(square, scales[pixel], scales[other])
            edge += 1


@njit(cache=True, nogil=True)
def connected(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Weakly connected component of each pixel, numbered by their first pixels.

    Every pixel points to another of its component, in the end to the first; an edge between two
    components makes the later first one point to the earlier.
    """
    n = len(indptr) - 1
    first, component = np.empty(n, np.int32), np.empty(n, np.int32)
    for pixel in range(n):
        first[pixel] = pixel
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
    for pixel in range(n):
        if first[pixel] == pixel:
            component[pixel] = count
            count += 1
        else:
            component[pixel] = component[first[pixel]]
    return component
