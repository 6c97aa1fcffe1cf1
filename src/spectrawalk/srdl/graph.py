"""Algorithm 1, graph: weights between neighbours, and the components they form."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk import progress
from spectrawalk.errors import GraphError
from spectrawalk.kernels import edges
from spectrawalk.srdl.numbering import number_by_size
from spectrawalk.threads import run_blocks, split

SELF_TUNING_NEIGHBOR = 7
"""Which neighbour's distance is a pixel's own scale in self-tuning weights."""

_LEAST_ROWS = 500
"""Rows of the matrix that are worth the while of a thread."""


def local_scales(
    d2: NDArray[np.float64], sigma: float | str, factor: float = 1.0
) -> NDArray[np.float64]:
    """Scale s_i of each pixel; an edge then weighs exp(-d^2 / (s_i s_j)).

    Parameters
    ----------
    d2 : ndarray of shape (n, k)
        Squared neighbour distances, infinite where there is no neighbour.
    sigma : float, "mean" or "self-tuning"
        One scale for all, as in the paper; the mean neighbour distance; or each pixel's distance
        to its 7th neighbour.
    factor : float
        Multiplies the two adaptive choices.
    """
    n = len(d2)
    if not isinstance(sigma, str):
        return np.full(n, float(sigma))
    present = np.isfinite(d2)
    distance = np.sqrt(np.where(present, d2, 0.0))
    counts = present.sum(axis=1)
    mean = distance.sum() / max(int(counts.sum()), 1)
    if mean == 0:
        raise GraphError(
            f"sigma={sigma!r} cannot be set: all neighbour distances are 0; give sigma a number, "
            "or tell identical pixels apart with jitter."
        )
    if sigma == "mean":
        return np.full(n, factor * mean)
    own = distance[np.arange(n), np.minimum(counts, SELF_TUNING_NEIGHBOR) - 1]
    # Among many identical pixels the 7th distance can be 0, which would cut all other edges.
    return factor * np.where((counts > 0) & (own > 0), own, mean)


def weight_matrix(
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    scales: NDArray[np.float64],
    symmetrize: str | None = "max",
) -> csr_array:
    """Weights ``W(x, y) = exp(-|x - y|^2 / sigma^2)`` of the neighbour graph.

    Parameters
    ----------
    index, d2 : ndarray of shape (n, k)
        Neighbours as from :func:`spectrawalk.srdl.neighbors.window_neighbors`.
    scales : ndarray of shape (n,)
        As from :func:`local_scales`.
    symmetrize : {"max", None}
        Union of the edges of both directions, or each pixel's own edges only.
    """
    n, k = index.shape
    start, positions = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    if symmetrize == "max":
        # A pair has one distance, so that the larger of two weights is the one that there is.
        room = np.empty(n * k, dtype=np.int32 if n * k < 2**31 else np.int64)
        start, positions = edges.incoming(index, room)
    indptr = np.zeros(n + 1, dtype=np.int64)
    count = partial(edges.count_edges, index, start, positions, indptr[1:])
    steps = progress.ranges(n, 200 * k)
    for begin, end in steps:
        run_blocks(count, split(begin, end, _LEAST_ROWS))
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.int32)
    weights = np.empty(indptr[-1])
    fill = partial(edges.fill_edges, index, d2, scales, start, positions, indptr, indices, weights)
    for begin, end in steps:
        run_blocks(fill, split(begin, end, _LEAST_ROWS))
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)  # SciPy gives both arrays the wider type of the two
    W = csr_array((weights, indices, indptr), shape=(n, n))
    if not weights.all():
        _check_weights(W, d2, scales)
        W.eliminate_zeros()
    return W


def _check_weights(W: csr_array, d2: NDArray[np.float64], scales: NDArray[np.float64]) -> None:
    lost = np.count_nonzero((W.sum(axis=1) == 0) & np.isfinite(d2).any(axis=1))
    if lost:
        typical = float(np.sqrt(np.median(d2[np.isfinite(d2)])))
        raise GraphError(
            f"the weights of all edges underflow to 0 at {lost} of {len(d2)} pixels: sigma="
            f"{np.median(scales):.3g} is far below the typical neighbour distance {typical:.3g}; "
            "give a larger sigma, or normalize='pixel'."
        )


def entries(W: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Row starts, columns and values, in the types that the kernels are compiled for."""
    return W.indptr.astype(np.int64, copy=False), W.indices.astype(np.int32, copy=False), W.data


def component_numbers(W: csr_array) -> NDArray[np.int32]:
    """Weakly connected component of each pixel, 0 for the largest, then by decreasing size."""
    indptr, indices, _ = entries(W)
    return number_by_size(edges.connected(indptr, indices))[0]
