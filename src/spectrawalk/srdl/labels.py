"""Algorithm 3: labels from the modes, down the density order, with a spatial consensus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.kernels import labels as kernels
from spectrawalk.kernels import tree
from spectrawalk.kernels.tree import Tree
from spectrawalk.threads import run_blocks

STAGE1_RULES = {
    "most-frequent": kernels.MOST_FREQUENT,
    "most-frequent-first": kernels.FIRST_MOST_FREQUENT,
    "majority": kernels.MAJORITY,
}
OPEN_PARENT = ("labelled", "open")

_SEARCH = 200_000
"""Differences between coordinates that it takes to find a pixel's nearest labelled one, where the
coordinates are noise; as a rule far fewer."""


@dataclass(frozen=True)
class Consensus:
    """How the labels around a pixel have a say in its own.

    Attributes
    ----------
    radius : int
        Half-width of the window; 0 for none.
    stage1 : {"most-frequent", "most-frequent-first", "majority"}
        What counts as a consensus in stage 1: the most frequent label, and none if two are as
        frequent; the same, but of two the one whose mode has the larger D_t (the authors' code);
        or a strict majority. Stage 2 always asks for a strict majority.
    open_parent : {"labelled", "open"}
        What a pixel does in stage 1 while its nearest denser pixel is open: turn to the nearest
        labelled one, or stay open too.
    own_vote : bool
        Whether the pixel's provisional label votes in stage 1.
    """

    radius: int = 3
    stage1: str = "most-frequent"
    open_parent: str = "labelled"
    own_vote: bool = False


def label_pixels(
    coordinates: NDArray[np.float64],
    ranking: NDArray[np.intp],
    parent: NDArray[np.int64],
    modes: NDArray[np.intp],
    mask: NDArray[np.bool_],
    consensus: Consensus,
    grown: Tree | None = None,
) -> NDArray[np.int32]:
    """Label every pixel from the modes, in two stages.

    Parameters
    ----------
    coordinates : ndarray of shape (n, M)
        Diffusion coordinates.
    ranking : ndarray of shape (n,)
        Pixels in the order of decreasing density.
    parent : ndarray of shape (n,)
        Nearest denser pixels in ranks, as from :func:`spectrawalk.srdl.modes.nearest_denser`.
    modes : ndarray of shape (K,)
        Pixels that are modes; the position is the label.
    mask : ndarray of bool, shape (rows, cols), or (n,) for a table
        Where the pixels lie. A table has no consensus.
    consensus : Consensus
    grown : Tree, optional
        ``build_tree(coordinates)``, if it has been built.

    Returns
    -------
    labels : ndarray of int32, shape (n,)
    """
    n = len(ranking)
    rank = np.empty(n, dtype=np.int64)
    rank[ranking] = np.arange(n)
    grid = np.atleast_2d(mask)
    rows, cols = (axis[ranking].astype(np.int32) for axis in np.nonzero(grid))
    grown = tree.ranked(tree.build_tree(coordinates) if grown is None else grown, ranking)
    place = np.empty(n, dtype=np.int64)
    place[grown.rank] = np.arange(n)
    lowest = np.full(len(grown.start), tree.NONE)
    leaf = tree.leaves(grown)
    by_rank = np.full(n, -1, dtype=np.int32)
    by_rank[rank[modes]] = np.arange(len(modes))
    image = np.full(grid.shape, -1, dtype=np.int32)
    image[rows, cols] = by_rank
    votes = np.zeros(len(modes), dtype=np.int64)
    radius = consensus.radius if mask.ndim == 2 else 0
    rules = STAGE1_RULES[consensus.stage1], kernels.MAJORITY
    wait, own_vote = consensus.open_parent == "open", consensus.own_vote
    steps = progress.ranges(n, _SEARCH + 4 * (2 * radius + 1) ** 2)
    both = [(stage, *step) for stage in (0, 1) for step in steps]

    def label(stage: int, start: int, stop: int) -> None:
        kernels.label_ranks(
            grown, parent, rows, cols, radius, rules[stage], wait, own_vote, stage == 1,
            by_rank, image, lowest, leaf, place, votes, start, stop,
        )  # fmt: skip

    for step in progress.track("labels", both):
        run_blocks(label, [step])
    labels = np.empty(n, dtype=np.int32)
    labels[ranking] = by_rank
    return labels
