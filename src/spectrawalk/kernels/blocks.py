"""Products of a sparse matrix and of tall blocks of vectors, the same on any number of threads."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

CHUNK = 512
"""Rows of a block handled together: partial sums are formed per chunk, whatever the threads."""

Columns = tuple[int, int]
"""Some neighbouring columns of a block: the first, and the one after the last."""

LANES = 16
"""Columns of a block that a processor works on together."""


@njit(cache=True, parallel=True, error_model="numpy", fastmath={"contract"})
def walk(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weight: NDArray[np.float64],
    scale: NDArray[np.float64],
    block: NDArray[np.float64],
    out: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Multiply S = diag(scale) W diag(scale) by a block (n, m), for the rows `start` to `stop`.

    Fastest if m is a multiple of :data:`LANES`.
    """
    for job in prange(stop - start):
        row = start + job
        sums = out[row]
        for column in range(len(sums)):
            sums[column] = 0.0
        first, last = indptr[row], indptr[row + 1]
        fours = last - (last - first) % 4
        for entry in range(first, fours, 4):  # four at a time: sums are fetched and stored once
            a, b, c, d = indices[entry], indices[entry + 1], indices[entry + 2], indices[entry + 3]
            of_a, of_b = weight[entry] * scale[a], weight[entry + 1] * scale[b]
            of_c, of_d = weight[entry + 2] * scale[c], weight[entry + 3] * scale[d]
            for column in range(len(sums)):
                sums[column] += (of_a * block[a, column] + of_b * block[b, column]) + (
                    of_c * block[c, column] + of_d * block[d, column]
                )
        for entry in range(fours, last):
            other = indices[entry]
            share = weight[entry] * scale[other]
            for column in range(len(sums)):
                sums[column] += share * block[other, column]
        for column in range(len(sums)):
            sums[column] *= scale[row]


@njit(cache=True, parallel=True)
def _gram_parts(
    left: NDArray[np.float64],
    left_from: int,
    left_to: int,
    right: NDArray[np.float64],
    right_from: int,
    right_to: int,
) -> NDArray[np.float64]:
    n = len(left)
    parts = np.empty(((n + CHUNK - 1) // CHUNK, left_to - left_from, right_to - right_from))
    for chunk in prange(len(parts)):
        rows = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, n))
        first = left[rows, left_from:left_to].copy()
        np.dot(first.T, right[rows, right_from:right_to].copy(), parts[chunk])
    return parts


def gram(
    left: NDArray[np.float64], left_columns: Columns, right: NDArray[np.float64], columns: Columns
) -> NDArray[np.float64]:
    """Inner products of some columns of two tall blocks."""
    return _gram_parts(left, *left_columns, right, *columns).sum(axis=0)


@njit(cache=True, parallel=True)
def _mix(
    block: NDArray[np.float64], column: int, stop: int, mixture: NDArray[np.float64], place: int
) -> None:
    n = len(block)
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        rows = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, n))
        mixed = np.dot(block[rows, column:stop].copy(), mixture)
        block[rows, place : place + mixture.shape[1]] = mixed


def mix(
    block: NDArray[np.float64], columns: Columns, mixture: NDArray[np.float64], place: int
) -> None:
    """Put mixtures of a tall block's columns into the columns from `place` on."""
    _mix(block, *columns, np.ascontiguousarray(mixture), place)


@njit(cache=True, parallel=True)
def _residual_parts(
    basis: NDArray[np.float64],
    place: int,
    images: NDArray[np.float64],
    values: NDArray[np.float64],
    residual: NDArray[np.float64],
) -> NDArray[np.float64]:
    n, m = residual.shape
    parts = np.zeros(((n + CHUNK - 1) // CHUNK, m))
    for chunk in prange(len(parts)):
        for row in range(chunk * CHUNK, min((chunk + 1) * CHUNK, n)):
            for column in range(m):
                rest = images[row, column] - values[column] * basis[row, place + column]
                residual[row, column] = rest
                parts[chunk, column] += rest * rest
    return parts


def residuals(
    basis: NDArray[np.float64],
    place: int,
    images: NDArray[np.float64],
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the images of eigenvectors differ from multiples of them by, and how much.

    The eigenvectors are the columns of `basis` from `place` on, their images the first columns of
    `images`, their eigenvalues `values`.
    """
    residual = np.empty((len(basis), len(values)))
    parts = _residual_parts(basis, place, images, values, residual)
    return residual, np.sqrt(parts.sum(axis=0))


@njit(cache=True)
def aggregate(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weight: NDArray[np.float64],
    strong: float,
) -> NDArray[np.int64]:
    """Divide the pixels of a graph into groups of a pixel and its strongly tied neighbours.

    A tie is strong if it weighs at least `strong` times its pixel's heaviest one. A pixel whose
    strong neighbours are all free begins a group with them; the rest join the group to which most
    of their strong weight goes.

    Returns
    -------
    group : (n,)
        Number of each pixel's group, from 0.
    """
    n = len(indptr) - 1
    group = np.full(n, -1, np.int64)
    least = np.zeros(n)
    count = 0
    for pixel in range(n):
        for entry in range(indptr[pixel], indptr[pixel + 1]):
            least[pixel] = max(least[pixel], strong * weight[entry])
    for pixel in range(n):
        free = group[pixel] < 0
        for entry in range(indptr[pixel], indptr[pixel + 1]):
            if not free:
                break
            free = weight[entry] < least[pixel] or group[indices[entry]] < 0
        if free:
            group[pixel] = count
            for entry in range(indptr[pixel], indptr[pixel + 1]):
                if weight[entry] >= least[pixel]:
                    group[indices[entry]] = count
            count += 1
    begun = group.copy()
    votes = np.zeros(count)
    for pixel in range(n):
        if begun[pixel] >= 0:
            continue
        best = -1
        for entry in range(indptr[pixel], indptr[pixel + 1]):
            other = begun[indices[entry]]
            if other >= 0 and weight[entry] >= least[pixel]:
                votes[other] += weight[entry]
                if best < 0 or votes[other] > votes[best]:
                    best = other
        for entry in range(indptr[pixel], indptr[pixel + 1]):
            other = begun[indices[entry]]
            if other >= 0:
                votes[other] = 0.0
        group[pixel] = best
    return group
