"""Down the density order: the nearest denser pixel, and the two-stage labels."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

TILE = 64

MOST_FREQUENT, FIRST_MOST_FREQUENT, MAJORITY = 0, 1, 2
"""Rules of consensus: the most frequent label, none if two are; the first of those; over half."""


@njit(cache=True, parallel=True, error_model="numpy")
def nearest_denser(
    tiles: NDArray[np.float64], n: int, start: int, stop: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nearest earlier point, for the points from `start` to `stop` of a ranking.

    Parameters
    ----------
    tiles : (ceil(n / TILE), M, TILE)
        Diffusion coordinates in the order of decreasing density, a tile of pixels at a time.
    n : int
        Number of points.
    start, stop : int
        Ranks to work on.

    Returns
    -------
    parent : (stop - start,)
        Rank of the nearest denser point (ties: the densest); -1 for rank 0.
    d2 : (stop - start,)
        Its squared distance; for rank 0 the largest squared distance to any point.
    """
    size = tiles.shape[1]
    parent = np.full(stop - start, -1, dtype=np.int64)
    d2 = np.zeros(stop - start)
    for job in prange(stop - start):
        rank = start + job
        point = tiles[rank // TILE, :, rank % TILE].copy()
        sums = np.empty(TILE)
        limit = rank if rank > 0 else n
        best, best_rank, farthest = np.inf, -1, 0.0
        for t in range((limit + TILE - 1) // TILE):
            sums[:] = 0.0
            for m in range(size):
                value = point[m]
                line = tiles[t, m]
                for lane in range(TILE):
                    difference = value - line[lane]
                    sums[lane] += difference * difference
            for lane in range(min(TILE, limit - t * TILE)):
                if sums[lane] < best:
                    best, best_rank = sums[lane], t * TILE + lane
                farthest = max(farthest, sums[lane])
        if rank == 0:
            d2[job] = farthest
        else:
            parent[job] = best_rank
            d2[job] = best
    return parent, d2


@njit(cache=True)
def _nearest_labelled(
    coordinates: NDArray[np.float64], labels: NDArray[np.int32], rank: int
) -> int:
    """Rank of the nearest denser point that has a label (ties: the densest)."""
    best, best_rank = np.inf, -1
    for other in range(rank):
        if labels[other] < 0:
            continue
        total = 0.0
        for m in range(coordinates.shape[1]):
            difference = coordinates[rank, m] - coordinates[other, m]
            total += difference * difference
            if total >= best:
                break
        if total < best:
            best, best_rank = total, other
    return best_rank


@njit(cache=True)
def _consensus(
    votes: NDArray[np.int64],
    rank_at: NDArray[np.int32],
    row: int,
    col: int,
    radius: int,
    labels: NDArray[np.int32],
    own: int,
    rule: int,
) -> int:
    """Label that the window around a pixel agrees on, -1 where it agrees on none.

    The pixel itself does not vote, unless it comes with a provisional label `own` >= 0.
    """
    votes[:] = 0
    cast = 0
    for r in range(max(0, row - radius), min(rank_at.shape[0], row + radius + 1)):
        for c in range(max(0, col - radius), min(rank_at.shape[1], col + radius + 1)):
            other = rank_at[r, c]
            if other >= 0 and labels[other] >= 0 and not (r == row and c == col):
                votes[labels[other]] += 1
                cast += 1
    if own >= 0:
        votes[own] += 1
        cast += 1
    if cast == 0:
        return -1
    winner = int(np.argmax(votes))
    most = votes[winner]
    if rule == MAJORITY:
        return winner if 2 * most > cast else -1
    if rule == FIRST_MOST_FREQUENT:
        return winner
    for label in range(winner + 1, len(votes)):
        if votes[label] == most:
            return -1
    return winner


@njit(cache=True)
def two_stage_labels(
    coordinates: NDArray[np.float64],
    parent: NDArray[np.int64],
    mode_ranks: NDArray[np.int64],
    rank_at: NDArray[np.int32],
    rows: NDArray[np.int32],
    cols: NDArray[np.int32],
    radius: int,
    stage1_rule: int,
    wait_for_parent: bool,
    own_vote: bool,
) -> NDArray[np.int32]:
    """Label all points down the density order (Algorithm 3).

    Everything is in the order of decreasing density, rank 0 being the densest point, which must
    be a mode.

    Parameters
    ----------
    coordinates : (n, M)
        Diffusion coordinates.
    parent : (n,)
        Rank of the diffusion-nearest denser point.
    mode_ranks : (K,)
        Ranks of the modes; the mode number is the label.
    rank_at : (image rows, image cols)
        Rank of the pixel there, -1 where masked.
    rows, cols : (n,)
        Place of each point.
    radius : int
        Half-width of the consensus window; 0 for no consensus.
    stage1_rule : int
        Rule of consensus in stage 1; stage 2 asks for a majority.
    wait_for_parent : bool
        In stage 1, a point whose nearest denser point is open stays open too, instead of turning
        to the nearest labelled one.
    own_vote : bool
        In stage 1, the point's provisional label votes in its own consensus.
    """
    n = len(parent)
    labels = np.full(n, -1, dtype=np.int32)
    for label in range(len(mode_ranks)):
        labels[mode_ranks[label]] = label
    votes = np.zeros(len(mode_ranks), dtype=np.int64)

    for rank in range(n):
        if labels[rank] >= 0:
            continue
        source = parent[rank]
        if labels[source] < 0:
            if wait_for_parent:
                continue
            source = _nearest_labelled(coordinates, labels, rank)
        spectral = labels[source]
        if radius > 0:
            own = spectral if own_vote else -1
            agreed = _consensus(
                votes, rank_at, rows[rank], cols[rank], radius, labels, own, stage1_rule
            )
            if agreed >= 0 and agreed != spectral:
                continue
        labels[rank] = spectral

    for rank in range(n):
        if labels[rank] >= 0:
            continue
        # All denser points have their label by now, the nearest of them included.
        spectral = labels[parent[rank]]
        agreed = _consensus(votes, rank_at, rows[rank], cols[rank], radius, labels, -1, MAJORITY)
        labels[rank] = agreed if agreed >= 0 else spectral
    return labels
