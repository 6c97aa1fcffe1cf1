"""What speaks for the number of clusters, as a picture: D_t, or the automatic mode's evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectrawalk.results.model import EnsembleModel, FittedModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_number_curve(ax: Axes, model: FittedModel, colors: NDArray[np.uint8]) -> None:
    """Draw what speaks for the number of clusters: D_t, or the evidence of the automatic mode."""
    if isinstance(model, EnsembleModel):
        draw_evidence(ax, model)
    else:
        draw_mode_curve(ax, model, colors)


def draw_evidence(ax: Axes, model: EnsembleModel) -> None:
    """Draw the support for each number of clusters, and the agreement of feature sets in it."""
    evidence = model.evidence_
    numbers = list(evidence.stability)
    support = np.array(list(evidence.support.values()))
    if evidence.gaps and support.max() > 0:  # not where there is no clear structure
        ax.bar(numbers, support / support.max(), 0.6, color="#c6d8e8", label="support, best = 1")
    agreed = list(evidence.stability.values())
    ax.plot(numbers, agreed, "o-", color="#0072b2", ms=4, lw=1, label="agreement of feature sets")
    K = model.n_clusters_
    how = "found" if model.n_clusters == "auto" else "asked for"
    ax.vlines(K, 0, 1.1, color="0.3", lw=0.8, ls="--", label=f"K = {K}, {how}")
    ax.set_ylim(min([0.0, *agreed]) - 0.04, 1.4)  # room for the legend
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_title("Evidence for the number of clusters", fontsize=10)
    ax.set_xlabel("number of clusters", fontsize=9)
    ax.set_ylabel("adjusted Rand index; support", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8, frameon=False, loc="upper center", ncols=3, columnspacing=1)


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
