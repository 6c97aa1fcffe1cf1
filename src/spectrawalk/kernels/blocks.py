"""Products of a sparse matrix and of tall blocks of vectors, the same on any number of threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.threads import run_blocks, split

CHUNK = 512
"""Rows of a block handled together: partial sums are formed per chunk, whatever the threads."""

Columns = tuple[int, int]
"""Some neighbouring columns of a block: the first, and the one after the last."""

LANES = 16
"""Columns of a block that a processor works on together."""

_LEAST_CHUNKS = 8
"""Chunks that are worth the while of a thread."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
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
    for row in range(start, stop):
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


def _chunks(n: int) -> int:
    return (n + CHUNK - 1) // CHUNK


def gram(
    left: NDArray[np.float64], left_columns: Columns, right: NDArray[np.float64], columns: Columns
) -> NDArray[np.float64]:
    """Inner products of some columns of two tall blocks."""
    first, second = left[:, slice(*left_columns)], right[:, slice(*columns)]
    parts = np.empty((_chunks(len(left)), first.shape[1], second.shape[1]))

    def multiply(start: int, stop: int) -> None:
        for chunk in range(start, stop):
            rows = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
            np.matmul(first[rows].T, second[rows], out=parts[chunk])

    run_blocks(multiply, split(0, len(parts), _LEAST_CHUNKS))
    return parts.sum(axis=0)


def mix(
    block: NDArray[np.float64], columns: Columns, mixture: NDArray[np.float64], place: int
) -> None:
    """Put mixtures of a tall block's columns into the columns from `place` on."""
    mixture = np.ascontiguousarray(mixture)
    source, target = block[:, slice(*columns)], block[:, place : place + mixture.shape[1]]

    def multiply(start: int, stop: int) -> None:
        for chunk in range(start, stop):
            rows = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
            target[rows] = source[rows] @ mixture

    run_blocks(multiply, split(0, _chunks(len(block)), _LEAST_CHUNKS))


@njit(cache=True, nogil=True)
def _residual_parts(
    basis: NDArray[np.float64],
    place: int,
    images: NDArray[np.float64],
    values: NDArray[np.float64],
    residual: NDArray[np.float64],
    parts: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Fill in the residuals of the rows of some chunks, and the sums of their squares."""
    n, m = residual.shape
    for chunk in range(start, stop):
        for column in range(m):
            parts[chunk, column] = 0.0
        for row in range(chunk * CHUNK, min((chunk + 1) * CHUNK, n)):
            for column in range(m):
                rest = images[row, column] - values[column] * basis[row, place + column]
                residual[row, column] = rest
                parts[chunk, column] += rest * rest


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
    parts = np.empty((_chunks(len(basis)), len(values)))

    def some(start: int, stop: int) -> None:
        _residual_parts(basis, place, images, values, residual, parts, start, stop)

    run_blocks(some, split(0, len(parts), _LEAST_CHUNKS))
    return residual, np.sqrt(parts.sum(axis=0))


@njit(cache=True, nogil=True)
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
    group, begun = np.empty(n, np.int64), np.empty(n, np.int64)
    least = np.zeros(n)
    count = 0
    for pixel in range(n):
        group[pixel] = -1
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
    for pixel in range(n):
        begun[pixel] = group[pixel]
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
