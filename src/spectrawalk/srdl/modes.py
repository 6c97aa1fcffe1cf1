"""Algorithm 2, second half: distance to the nearest denser pixel, modes and their number."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.errors import StructureError
from spectrawalk.kernels import tree
from spectrawalk.kernels.tree import Tree
from spectrawalk.threads import run_blocks, split


def nearest_denser(
    coordinates: NDArray[np.float64], ranking: NDArray[np.intp], grown: Tree | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Diffusion-nearest denser pixel of each pixel, and the distance rho_t(x) to it.

    Parameters
    ----------
    coordinates : ndarray of shape (n, M)
        Diffusion coordinates.
    ranking : ndarray of shape (n,)
        Pixels in the order of decreasing density.
    grown : Tree, optional
        ``build_tree(coordinates)``, if it serves several rankings.

    Returns
    -------
    parent : ndarray of shape (n,)
        In ranks: ``parent[i]`` is the rank of the denser pixel nearest to ``ranking[i]``, -1 for
        the densest.
    rho : ndarray of shape (n,)
        In pixels; for the densest one the largest diffusion distance from it.
    """
    n = len(coordinates)
    grown = tree.ranked(tree.build_tree(coordinates) if grown is None else grown, ranking)
    lowest, everyone = tree.lowest_ranks(grown), np.zeros(n, dtype=np.int32)
    parent, d2 = np.empty(n, dtype=np.int64), np.empty(n)
    search = partial(tree.nearest_denser, grown, lowest, everyone, parent, d2)
    for start, stop in progress.in_steps("modes", n, 20_000):
        run_blocks(search, split(start, stop, least=500))
    d2[0] = tree.farthest(coordinates, coordinates[ranking[0]])
    rho = np.empty(n)
    rho[ranking] = np.sqrt(d2)
    return parent, rho


class Modes(NamedTuple):
    """Modes and how their number was found."""

    pixels: NDArray[np.intp]
    """Pixels with the K largest D_t, largest first."""
    ratios: NDArray[np.float64]
    """D_(K) / D_(K+1) for K = 1, 2, ...: the evidence for the number of clusters."""


def find_modes(mode_score: NDArray[np.float64], n_clusters: int | str, max_clusters: int) -> Modes:
    """Take the K maximisers of D_t(x) = p(x) rho_t(x), ties by index.

    Parameters
    ----------
    mode_score : ndarray of shape (n,)
        D_t.
    n_clusters : int or "auto"
        ``"auto"`` takes the K in 2..max_clusters with the largest ratio of consecutive sorted D_t.
    max_clusters : int
    """
    order = np.argsort(-mode_score, kind="stable")
    apart = int(np.count_nonzero(mode_score > 0))
    if apart == 0:
        raise StructureError(
            "no pixel stands apart from any other in diffusion distance (D_t is 0 everywhere), so "
            "there are no clusters to find; try a smaller time or more n_eigenpairs."
        )
    curve = mode_score[order[:apart]]
    ratios = curve[:-1] / curve[1:]
    if n_clusters == "auto":
        candidates = ratios[1:max_clusters]
        n_clusters = 2 + int(np.argmax(candidates)) if len(candidates) else min(2, apart)
    if int(n_clusters) > apart:
        raise StructureError(
            f"n_clusters={n_clusters} but only {apart} of {len(mode_score)} pixels stand apart in "
            f"diffusion distance; ask for at most {apart} clusters."
        )
    return Modes(order[: int(n_clusters)], ratios)
