"""What speaks for the number of clusters, as a picture: D_t, or the heights of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectrawalk.results.model import FittedModel, TreeModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHOWN = 30
"""Largest number of clusters in the picture of a tree."""


def draw_number_curve(ax: Axes, model: FittedModel | TreeModel, colors: NDArray[np.uint8]) -> None:
    """Draw what speaks for the number of clusters: heights of the tree, or D_t."""
    if isinstance(model, TreeModel):
        draw_heights(ax, model)
    else:
        draw_mode_curve(ax, model, colors)


def draw_heights(ax: Axes, model: TreeModel) -> None:
    """Draw the share of runs that separate the two sides of each split of the tree."""
    heights = model.tree_[::-1, 2][: SHOWN - 1]
    numbers = np.arange(2, len(heights) + 2)
    ax.plot(numbers, heights, "o-", color="#0072b2", ms=4, lw=1, label="split into K clusters")
    levels = [level.n_clusters for level in model.levels_]
    if levels:
        ax.plot(
            levels, heights[np.array(levels) - 2], "o", ms=9, mfc="none", mec="#d55e00",
            label="supported",
        )  # fmt: skip
    K = model.n_clusters_
    how = "found" if model.n_clusters == "auto" else "asked for"
    ax.vlines(K, 0, 1, color="0.3", lw=0.8, ls="--", label=f"K = {K}, {how}")
    ax.set_ylim(0, 1.05)
    ax.set_title("Support for the number of clusters", fontsize=10)
    ax.set_xlabel("number of clusters K", fontsize=9)
    ax.set_ylabel("share of runs that separate", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8, frameon=False, loc="lower right")


def draw_tree(ax: Axes, model: TreeModel, colors: NDArray[np.uint8]) -> None:
    """Draw the dendrogram, each cluster of the cut in its colour."""
    from scipy.cluster.hierarchy import dendrogram

    n_leaves, K = len(model.leaf_sizes_), model.n_clusters_
    inside = list(model.ancestors(K))  # cluster of each node; -1 above the cut
    for one, other, *_ in model.tree_:
        pair = {inside[int(one)], inside[int(other)]}
        inside.append(pair.pop() if len(pair) == 1 else -1)

    def color(node: int) -> str:
        cluster = inside[node]
        return "#8a94a0" if cluster < 0 else "#{:02x}{:02x}{:02x}".format(*colors[cluster])

    if n_leaves > 1:
        dendrogram(model.tree_, ax=ax, link_color_func=color, no_labels=True)
    if 1 < K <= n_leaves:
        heights = model.tree_[::-1, 2]
        below = heights[K - 1] if n_leaves > K else 0.0
        ax.axhline((heights[K - 2] + below) / 2, color="0.3", lw=0.8, ls="--")
    ax.set_title(f"Tree of clusters, cut into {K}", fontsize=10)
    ax.set_ylabel("share of runs that separate", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.set_ylim(0, 1.05)


def draw_mode_curve(ax: Axes, model: FittedModel, colors: NDArray[np.uint8]) -> None:
    """Draw the largest D_t in order, the modes in their clusters' colours, on a log scale."""
    n_clusters = model.n_clusters_
    D_t = model.mode_score_[np.isfinite(model.mode_score_)]
    shown = max(30, 3 * n_clusters)
    largest = np.sort(D_t)[::-1][:shown]
    largest = largest[largest > 0]
    ax.plot(np.arange(1, len(largest) + 1), largest, ".-", color="0.6", ms=5, lw=0.8, zorder=1)
    of_modes = model.mode_score_.ravel()[model.modes_]
    ranks = np.empty(n_clusters)
    ranks[np.argsort(-of_modes, kind="stable")] = np.arange(1, n_clusters + 1)
    ax.scatter(ranks, of_modes, s=36, c=colors / 255, edgecolors="0.2", linewidths=0.6, zorder=2)
    how = f", the largest drop from 2 to {model.max_clusters}" * (model.n_clusters == "auto")
    ax.axvline(n_clusters + 0.5, color="0.3", lw=0.8, ls="--", label=f"K = {n_clusters}{how}")
    ax.set_yscale("log")
    ax.set_title("Largest values of $D_t$", fontsize=10)
    ax.set_xlabel("rank of the pixel", fontsize=9)
    ax.set_ylabel(r"$D_t$ = density × distance to denser", fontsize=9)  # noqa: RUF001
    ax.tick_params(which="both", labelsize=8)
    ax.legend(fontsize=9, frameon=False, loc="upper right")
