"""Algorithm 3: labels from the modes, down the density order, with a spatial consensus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels import labels as kernels
from spectrawalk.kernels.tree import build_tree

STAGE1_RULES = {
    "most-frequent": kernels.MOST_FREQUENT,
    "most-frequent-first": kernels.FIRST_MOST_FREQUENT,
    "majority": kernels.MAJORITY,
}
OPEN_PARENT = ("labelled", "open")


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

    Returns
    -------
    labels : ndarray of int32, shape (n,)
    """
    n = len(ranking)
    rank = np.empty(n, dtype=np.int32)
    rank[ranking] = np.arange(n, dtype=np.int32)
    grid = np.atleast_2d(mask)
    rows, cols = (axis[ranking].astype(np.int32) for axis in np.nonzero(grid))
    by_rank = kernels.two_stage_labels(
        build_tree(np.ascontiguousarray(coordinates[ranking])),
        parent,
        rank[modes].astype(np.int64),
        grid.shape,
        rows,
        cols,
        consensus.radius if mask.ndim == 2 else 0,
        STAGE1_RULES[consensus.stage1],
        consensus.open_parent == "open",
        consensus.own_vote,
    )
    labels = np.empty(n, dtype=np.int32)
    labels[ranking] = by_rank
    return labels
