"""Greedy choice of the edges that make entropy-rate superpixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit


@njit(cache=True, nogil=True)
def _entropy(p: float) -> float:
    """Return -p log p; 0 for what rounding has put below 0."""
    return -p * np.log(p) if p > 0 else 0.0


@njit(cache=True, nogil=True)
def _root(parent: NDArray[np.int32], pixel: int) -> int:
    """First pixel of the region of `pixel`; shortens the way for the next search."""
    while parent[pixel] != pixel:
        parent[pixel] = parent[parent[pixel]]
        pixel = parent[pixel]
    return pixel


@njit(cache=True, nogil=True)
def _gain(
    edge: int,
    ends: NDArray[np.int32],
    weights: NDArray[np.float64],
    degree: NDArray[np.float64],
    stay: NDArray[np.float64],
    total: float,
    balance: float,
    size_a: int,
    size_b: int,
) -> float:
    """What an edge adds to entropy rate and balance, if it joins regions of these sizes."""
    gain = 0.0
    for side in range(2):
        pixel = ends[edge, side]
        moves = weights[edge] / degree[pixel]
        change = _entropy(moves) + _entropy(stay[pixel] - moves) - _entropy(stay[pixel])
        gain += degree[pixel] / total * change
    n = len(stay)
    a, b = size_a / n, size_b / n
    return gain + balance * (_entropy(a + b) - _entropy(a) - _entropy(b) + 1)


@njit(cache=True, nogil=True)
def first_gains(
    ends: NDArray[np.int32],
    weights: NDArray[np.float64],
    degree: NDArray[np.float64],
    total: float,
    balance: float,
) -> NDArray[np.float64]:
    """Gain of each edge while no other is chosen, shape (edges,)."""
    stay, gains = np.ones(len(degree)), np.empty(len(weights))
    for edge in range(len(weights)):
        gains[edge] = _gain(edge, ends, weights, degree, stay, total, balance, 1, 1)
    return gains


@njit(cache=True, nogil=True)
def _before(gains: NDArray[np.float64], heap: NDArray[np.int64], first: int, second: int) -> bool:
    """Whether an entry of the heap has the larger gain, or of equal gains the smaller edge."""
    one, other = heap[first], heap[second]
    return gains[one] > gains[other] or (gains[one] == gains[other] and one < other)


@njit(cache=True, nogil=True)
def _sink(gains: NDArray[np.float64], heap: NDArray[np.int64], length: int) -> None:
    """Move the first entry of the heap down to where it belongs."""
    place = 0
    while True:
        best, left = place, 2 * place + 1
        if left < length and _before(gains, heap, left, best):
            best = left
        if left + 1 < length and _before(gains, heap, left + 1, best):
            best = left + 1
        if best == place:
            return
        heap[place], heap[best] = heap[best], heap[place]
        place = best


@njit(cache=True, nogil=True)
def join_regions(
    ends: NDArray[np.int32],
    weights: NDArray[np.float64],
    degree: NDArray[np.float64],
    total: float,
    balance: float,
    gains: NDArray[np.float64],
    heap: NDArray[np.int64],
    length: int,
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    stay: NDArray[np.float64],
    joins: int,
) -> tuple[int, int]:
    """Choose the edge of the largest gain, so many times or until no edge is left.

    An edge inside a region is dropped. Gains only fall while edges are chosen, so that the old gain
    of an edge is an upper bound: only the gain of the first edge of the heap is computed anew, and
    the edge is chosen if it is still the first.

    Parameters
    ----------
    ends : (edges, 2)
        Adjacent pixels.
    weights : (edges,)
    degree : (n,)
        Sum of the weights of a pixel's edges.
    total : float
        Sum of all degrees.
    balance : float
        Weight of the balance between the sizes of the regions.
    gains, heap : (edges,)
        Upper bounds of the gains, and the edges as a heap: each of a larger gain than those below.
    length : int
        Entries of the heap.
    parent, size, stay : (n,)
        The regions as a forest, the size of the region at each root, and each pixel's probability
        to stay where it is. Changed in place, as are `gains` and `heap`.
    joins : int

    Returns
    -------
    length, joined : int
        Entries of the heap that are left, and edges that were chosen.
    """
    joined = 0
    while joined < joins and length > 0:
        edge = heap[0]
        a, b = _root(parent, ends[edge, 0]), _root(parent, ends[edge, 1])
        if a != b:
            gain = _gain(edge, ends, weights, degree, stay, total, balance, size[a], size[b])
            if gain < gains[edge]:
                gains[edge] = gain
                _sink(gains, heap, length)
                if heap[0] != edge:
                    continue
            for side in range(2):
                pixel = ends[edge, side]
                stay[pixel] -= weights[edge] / degree[pixel]
            if size[a] < size[b]:
                a, b = b, a
            parent[b] = a
            size[a] += size[b]
            joined += 1
        length -= 1
        heap[0] = heap[length]
        _sink(gains, heap, length)
    return length, joined
