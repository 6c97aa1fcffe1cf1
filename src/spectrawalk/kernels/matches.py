"""Nearest known spectrum of new spectra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.kernels.neighbors import discard, put, take_nearest
from spectrawalk.kernels.tree import Tree

BLOCK = 64
"""Spectra that are compared with as many others in one matrix product."""

_ROOM = 8 * BLOCK
"""Candidates kept of a new spectrum until their distances are summed in full."""

_ROUNDING = 2.0**-23

_SLACK = 1e-12
"""Rounding error of leading coordinates, as a share of the length of spectra."""


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_known(
    tree: Tree,
    known: NDArray[np.float32],
    halves: NDArray[np.float32],
    longest: float,
    group: NDArray[np.int32],
    shared: NDArray[np.int32],
    new_tree: Tree,
    new: NDArray[np.float32],
    lengths: NDArray[np.float64],
    avoid: NDArray[np.int32],
    limit: float,
    nodes: NDArray[np.int64],
    index: NDArray[np.int64],
    d2: NDArray[np.float64],
    start: int,
    stop: int,
) -> None:
    """Find the nearest known spectrum of each new one, for the new ones of some nodes of a tree.

    Both trees stand on the same few orthonormal directions, in which no distance is larger than the
    true one. For all new spectra of a node together, the nodes of known ones are visited from the
    nearest outwards until the nearest left is too far away. A matrix product in single precision
    rules out all candidates but those that its rounding error cannot tell from the nearest; among
    these the distances are summed in double precision, so that the result is exact.

    Parameters
    ----------
    tree : Tree
        Over the known spectra; the rank is a spectrum's number.
    known, halves : (n, bands), (n,)
        Known spectra and half their squared lengths, in the order of the tree.
    longest : float
        Longest of their lengths.
    group, shared : (n,), (nodes,)
        Group of each known spectrum by its number, and as from ``neighbors.shared_groups``.
    new_tree : Tree
        Over the new spectra.
    new, lengths, avoid : (m, bands), (m,), (m,)
        New spectra, their lengths, and the group that none is to be found in, -1 to allow all; in
        the order of their tree.
    limit : float
        Distance beyond which no known spectrum need be found.
    nodes : ndarray
        Nodes of `new_tree` with at most :data:`BLOCK` spectra, as from ``neighbors.parts``.
    index, d2 : (m,)
        Filled in, in the order of the new spectra's tree: number of the nearest (ties: the
        smallest) and the squared distance; -1 and infinity where there is none.
    start, stop : int
        Which of the nodes to work on.
    """
    found, values = np.empty((BLOCK, _ROOM), np.int32), np.empty((BLOCK, _ROOM), np.float32)
    sizes, least = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.float32)
    errors = np.empty(BLOCK, np.float32)
    queue, gaps = np.empty(len(tree.start) + 2, np.int64), np.empty(len(tree.start) + 2)
    for job in range(start, stop):
        home = nodes[job]
        begin, own = new_tree.start[home], new_tree.stop[home] - new_tree.start[home]
        same, slack = avoid[begin], 0.0
        for one in range(own):
            length = lengths[begin + one]
            index[begin + one], d2[begin + one] = -1, np.inf
            sizes[one], least[one] = 0, np.inf
            errors[one] = 2 * (known.shape[1] + 8) * _ROUNDING * longest * (length + longest)
            slack = max(slack, _SLACK * (length + longest))
            if avoid[begin + one] != same:
                same = np.int32(-1)
        limit_gap = (limit * (1 + 1e-9) + slack) ** 2
        farthest = limit_gap
        queue[0], gaps[0] = 0, 0.0
        waiting = 1
        while waiting > 0 and gaps[0] <= farthest:
            node = queue[0]
            waiting = take_nearest(queue, gaps, waiting)
            if same >= 0 and shared[node] == same:
                continue
            first, last, child = tree.start[node], tree.stop[node], tree.child[node]
            if child >= 0 and last - first > BLOCK:
                for either in range(child, child + 2):
                    gap = 0.0
                    for d in range(tree.low.shape[1]):
                        apart = max(
                            tree.low[either, d] - new_tree.high[home, d],
                            new_tree.low[home, d] - tree.high[either, d],
                        )
                        gap += max(apart, 0.0) ** 2
                    waiting = put(queue, gaps, waiting, either, gap)
                continue
            products = np.dot(new[begin : begin + own], known[first:last].T)
            farthest = 0.0
            for one in range(own):
                no = avoid[begin + one]
                for other in range(first, last):
                    value = halves[other] - products[one, other - first]
                    if value <= least[one] + errors[one] and (
                        no < 0 or group[tree.rank[other]] != no
                    ):
                        found[one, sizes[one]], values[one, sizes[one]] = other, value
                        sizes[one] += 1
                        least[one] = min(least[one], value)
                if sizes[one] + BLOCK > _ROOM:
                    most = least[one] + errors[one]
                    sizes[one] = discard(found[one], values[one], sizes[one], most)
                    if sizes[one] + BLOCK > _ROOM:  # very many as near as each other
                        _settle(
                            tree.rank, known, new, begin + one, found[one], sizes[one], index, d2
                        )
                        sizes[one] = 0
                # |x - y|^2 = |x|^2 + 2 (|y|^2 / 2 - x y), with the product's error on top.
                square = lengths[begin + one] ** 2 + 2 * (np.float64(least[one]) + errors[one])
                farthest = max(farthest, (np.sqrt(max(square, 0.0)) * (1 + 1e-9) + slack) ** 2)
            farthest = min(farthest, limit_gap)
        for one in range(own):
            most = least[one] + errors[one]
            size = discard(found[one], values[one], sizes[one], most)
            _settle(tree.rank, known, new, begin + one, found[one], size, index, d2)


@njit(cache=True)
def _settle(
    rank: NDArray[np.int64],
    known: NDArray[np.float32],
    new: NDArray[np.float32],
    one: int,
    found: NDArray[np.int32],
    count: int,
    index: NDArray[np.int64],
    d2: NDArray[np.float64],
) -> None:
    """Sum the distances to some candidates in full, and keep the nearest."""
    for place in range(count):
        other = rank[found[place]]
        total = 0.0
        for band in range(known.shape[1]):
            difference = np.float64(new[one, band]) - np.float64(known[found[place], band])
            total += difference * difference
        if total < d2[one] or (total == d2[one] and (index[one] < 0 or other < index[one])):
            d2[one], index[one] = total, other
