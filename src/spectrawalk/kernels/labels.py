"""The two-stage labels, down the density order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit
from spectrawalk.kernels.tree import Tree, enter, nearest_lower

MOST_FREQUENT, FIRST_MOST_FREQUENT, MAJORITY = 0, 1, 2
"""Rules of consensus: the most frequent label, none if two are; the first of those; over half."""


@njit(cache=True, nogil=True)
def label_ranks(
    tree: Tree,
    parent: NDArray[np.int64],
    rows: NDArray[np.int32],
    cols: NDArray[np.int32],
    radius: int,
    rule: int,
    wait_for_parent: bool,
    own_vote: bool,
    second: bool,
    labels: NDArray[np.int32],
    image: NDArray[np.int32],
    lowest: NDArray[np.int64],
    leaf: NDArray[np.int64],
    place: NDArray[np.int64],
    votes: NDArray[np.int64],
    start: int,
    stop: int,
) -> None:
    """Label the points from rank `start` to `stop` in one of the two stages (Algorithm 3).

    Everything is in the order of decreasing density, rank 0 being the densest point, which must
    be a mode. A stage is worked through from the first rank to the last, in any number of calls.

    Parameters
    ----------
    tree : Tree
        Over the diffusion coordinates.
    parent : (n,)
        Rank of the diffusion-nearest denser point.
    rows, cols : (n,)
        Place of each point in the image.
    radius : int
        Half-width of the consensus window; 0 for no consensus.
    rule : int
        Rule of consensus in this stage.
    wait_for_parent : bool
        In stage 1, a point whose nearest denser point is open stays open too, instead of turning
        to the nearest labelled one.
    own_vote : bool
        In stage 1, the point's provisional label votes in its own consensus.
    second : bool
        Whether this is stage 2, which leaves no point open.
    labels : (n,)
        Labels so far, -1 for none; at first those of the modes.
    image : (image rows, image cols)
        The same labels where they lie, so that those of a window are near each other in memory.
    lowest : (nodes,)
        Lowest rank labelled so far below each node of the tree; at first ``tree.NONE``.
    leaf, place : (n,)
        Of each rank: its leaf in the tree, and its place among the points there.
    votes : (K,)
        Room to count in.
    """
    for rank in range(start, stop):
        if labels[rank] >= 0:
            if not second:
                enter(tree, lowest, leaf[rank], rank)
            continue
        source = parent[rank]
        # In stage 2 all denser points have their label by now.
        if labels[source] < 0:
            if wait_for_parent:
                continue
            source, _ = nearest_lower(tree, lowest, labels, tree.points[place[rank]], rank)
        label = labels[source]
        if radius > 0:
            own = label if own_vote and not second else np.int32(-1)
            agreed = _consensus(votes, image, rows[rank], cols[rank], radius, own, rule)
            if agreed >= 0 and agreed != label:
                if not second:
                    continue
                label = agreed
        labels[rank] = image[rows[rank], cols[rank]] = label
        if not second:
            enter(tree, lowest, leaf[rank], rank)


@njit(cache=True)
def _consensus(
    votes: NDArray[np.int64],
    image: NDArray[np.int32],
    row: int,
    col: int,
    radius: int,
    own: int,
    rule: int,
) -> np.int32:
    """Label that the window around a pixel agrees on, -1 where it agrees on none.

    The pixel itself does not vote, unless it comes with a provisional label `own` >= 0.
    """
    for label in range(len(votes)):
        votes[label] = 0
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
        return np.int32(-1)
    winner = 0
    for label in range(1, len(votes)):
        if votes[label] > votes[winner]:
            winner = label
    if rule == MAJORITY:
        return np.int32(winner if 2 * votes[winner] > cast else -1)
    if rule == MOST_FREQUENT:
        for label in range(winner + 1, len(votes)):
            if votes[label] == votes[winner]:
                return np.int32(-1)
    return np.int32(winner)
