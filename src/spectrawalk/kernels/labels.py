"""The two-stage labels, down the density order."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spectrawalk.kernels.tree import NONE, Tree, enter, leaves, nearest_lower

MOST_FREQUENT, FIRST_MOST_FREQUENT, MAJORITY = 0, 1, 2
"""Rules of consensus: the most frequent label, none if two are; the first of those; over half."""


@njit(cache=True)
def _consensus(
    votes: NDArray[np.int64],
    image: NDArray[np.int32],
    row: int,
    col: int,
    radius: int,
    own: int,
    rule: int,
) -> int:
    """Label that the window around a pixel agrees on, -1 where it agrees on none.

    The pixel itself does not vote, unless it comes with a provisional label `own` >= 0.
    """
    votes[:] = 0
    cast = 0
    for r in range(max(0, row - radius), min(image.shape[0], row + radius + 1)):
        for c in range(max(0, col - radius), min(image.shape[1], col + radius + 1)):
            if image[r, c] >= 0 and not (r == row and c == col):
                votes[image[r, c]] += 1
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
    tree: Tree,
    parent: NDArray[np.int64],
    mode_ranks: NDArray[np.int64],
    image_shape: tuple[int, int],
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
    tree : Tree
        Over the diffusion coordinates.
    parent : (n,)
        Rank of the diffusion-nearest denser point.
    mode_ranks : (K,)
        Ranks of the modes; the mode number is the label.
    image_shape : (int, int)
        Rows and columns of the image...
    rows, cols : (n,)
        ...and the place of each point in it.
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
    # The same labels where they lie, so that those of a window are near each other in memory.
    image = np.full(image_shape, -1, dtype=np.int32)
    for label in range(len(mode_ranks)):
        rank = mode_ranks[label]
        labels[rank] = image[rows[rank], cols[rank]] = label
    votes = np.zeros(len(mode_ranks), dtype=np.int64)
    leaf = leaves(tree)
    place = np.empty(n, dtype=np.int64)
    place[tree.rank] = np.arange(n)
    lowest = np.full(len(tree.start), NONE)

    for rank in range(n):
        if labels[rank] >= 0:
            enter(tree, lowest, leaf[rank], rank)
            continue
        source = parent[rank]
        if labels[source] < 0:
            if wait_for_parent:
                continue
            source, _ = nearest_lower(tree, lowest, labels, tree.points[place[rank]], rank)
        spectral = labels[source]
        if radius > 0:
            own = spectral if own_vote else -1
            agreed = _consensus(votes, image, rows[rank], cols[rank], radius, own, stage1_rule)
            if agreed >= 0 and agreed != spectral:
                continue
        labels[rank] = image[rows[rank], cols[rank]] = spectral
        enter(tree, lowest, leaf[rank], rank)

    for rank in range(n):
        if labels[rank] >= 0:
            continue
        # All denser points have their label by now, the nearest of them included.
        spectral = labels[parent[rank]]
        agreed = _consensus(votes, image, rows[rank], cols[rank], radius, -1, MAJORITY)
        label = agreed if agreed >= 0 else spectral
        labels[rank] = image[rows[rank], cols[rank]] = label
    return labels
