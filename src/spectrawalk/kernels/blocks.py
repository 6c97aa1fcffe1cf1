"""Products of a sparse matrix and of tall blocks of vectors, the same on any number of threads."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

CHUNK = 512
"""Rows of a block handled together: partial sums are formed per chunk, whatever the threads."""

SMALL = 20_000
"""Blocks with fewer rows stay on one thread: others would be waited for longer than they help."""


@njit(cache=True, error_model="numpy")
def _walk_row(
    row: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weight: NDArray[np.float64],
    scale: NDArray[np.float64],
    block: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Row of S times a block, where S = diag(scale) W diag(scale)."""
    for column in range(len(sums)):
        sums[column] = 0.0
    for entry in range(indptr[row], indptr[row + 1]):
        other = indices[entry]
        share = weight[entry] * scale[other]
        for column in range(len(sums)):
            sums[column] += share * block[other, column]
    for column in range(len(sums)):
        sums[column] *= scale[row]


@njit(cache=True, error_model="numpy")
def _walk_alone(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weight: NDArray[np.float64],
    scale: NDArray[np.float64],
    block: NDArray[np.float64],
    out: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    for row in range(start, stop):
        _walk_row(row, indptr, indices, weight, scale, block, out[row])


@njit(cache=True, parallel=True, error_model="numpy")
def _walk_together(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weight: NDArray[np.float64],
    scale: NDArray[np.float64],
    block: NDArray[np.float64],
    out: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    for job in prange(stop - start):
        row = start + job
        _walk_row(row, indptr, indices, weight, scale, block, out[row])


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
    """Multiply S = diag(scale) W diag(scale) by a block (n, m), for the rows `start` to `stop`."""
    way = _walk_alone if len(scale) < SMALL else _walk_together
    way(indptr, indices, weight, scale, block, out, start, stop)


@njit(cache=True, parallel=True)
def _gram_parts(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    n = len(left)
    parts = np.empty(((n + CHUNK - 1) // CHUNK, left.shape[1], right.shape[1]))
    for chunk in prange(len(parts)):
        rows = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, n))
        np.dot(left[rows].T, right[rows], parts[chunk])
    return parts


def gram(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inner products of the columns of two tall blocks: ``left.T @ right``."""
    if len(left) < SMALL:
        return left.T @ right
    return _gram_parts(left, right).sum(axis=0)


@njit(cache=True, parallel=True)
def _combine(block: NDArray[np.float64], mixture: NDArray[np.float64]) -> NDArray[np.float64]:
    n = len(block)
    out = np.empty((n, mixture.shape[1]))
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        rows = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, n))
        np.dot(block[rows], mixture, out[rows])
    return out


def combine(block: NDArray[np.float64], mixture: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mix the columns of a tall block: ``block @ mixture``."""
    mixture = np.ascontiguousarray(mixture)
    return block @ mixture if len(block) < SMALL else _combine(block, mixture)


@njit(cache=True, parallel=True)
def _subtract_mixture(
    target: NDArray[np.float64], block: NDArray[np.float64], mixture: NDArray[np.float64]
) -> None:
    n = len(block)
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        rows = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, n))
        target[rows] -= np.dot(block[rows], mixture)


def subtract_mixture(
    target: NDArray[np.float64], block: NDArray[np.float64], mixture: NDArray[np.float64]
) -> None:
    """Take a mixture of a block's columns from a tall block: ``target -= block @ mixture``."""
    if len(block) < SMALL:
        target -= block @ mixture
    else:
        _subtract_mixture(target, block, mixture)


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
