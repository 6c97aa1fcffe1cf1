"""Curves of the report, as SVG inside the page."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np

from spectrawalk.report.figures import figure_and_patch
from spectrawalk.report.number_curves import draw_number_curve, draw_tree
from spectrawalk.report.spectra_plot import draw_spectra
from spectrawalk.results.certainty import Reliability
from spectrawalk.results.model import FittedModel, TreeModel
from spectrawalk.results.palette import cluster_colors
from spectrawalk.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def spectra_chart(result: Result) -> str:
    """Mean spectra; the lines of cluster c have ids that begin with ``spectrum-c-``."""
    n_clusters = result.n_clusters

    def draw(ax: Axes) -> None:
        colors = result.map.colors[:n_clusters]
        draw_spectra(ax, result.scene, result.spectra, result.sizes, colors)
        for artists in (ax.lines, ax.collections):
            for place, artist in enumerate(artists):
                # Drawn from the last cluster to the first, in each run of unbroken bands.
                cluster = n_clusters - place % n_clusters
                artist.set_gid(f"spectrum-{cluster}-{type(artist).__name__}-{place}")

    return svg_chart(draw, "spectra", (11.0, 3.9))


def number_chart(model: FittedModel | TreeModel) -> str:
    """What speaks for the number of clusters."""
    return svg_chart(
        lambda ax: draw_number_curve(ax, model, cluster_colors(model.n_clusters_)),
        "modes",
        (4.5, 3.3),
    )


def tree_chart(model: TreeModel) -> str:
    """Dendrogram with the clusters' colours and the cut."""
    return svg_chart(
        lambda ax: draw_tree(ax, model, cluster_colors(model.n_clusters_)), "tree", (4.5, 3.3)
    )


def eigenvalue_chart(model: FittedModel) -> str:
    """Leading eigenvalues of the random walk, and what the diffusion time leaves of them."""
    from matplotlib.ticker import MaxNLocator

    def draw(ax: Axes) -> None:
        values = np.abs(model.eigenvalues_)
        time = float(model.time)
        numbers = np.arange(1, len(values) + 1)
        ax.plot(numbers, values, "o-", color="#0072b2", ms=4, lw=1, label=r"$\lambda$")
        ax.plot(
            numbers, values**time, "s--", color="#d55e00", ms=3.5, lw=1,
            label=rf"$\lambda^t$, t = {time:g}",
        )  # fmt: skip
        ax.set_ylim(-0.04, 1.06)
        ax.set_title("Eigenvalues", fontsize=10)
        ax.set_xlabel("number of the eigenpair", fontsize=9)
        ax.tick_params(labelsize=8)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(fontsize=9, frameon=False)

    return svg_chart(draw, "eigenvalues", (4.5, 3.3))


def reliability_chart(curve: Reliability, name: str) -> str:
    """Share of right labels over what is called `name`, in groups of as many pixels."""

    def draw(ax: Axes) -> None:
        ax.plot(curve.certainty, curve.accuracy, "o-", color="#0072b2", ms=4, lw=1)
        ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.06))
        ax.set_title("Reliability", fontsize=10)
        ax.set_xlabel(f"mean {name} of a tenth of the pixels", fontsize=9)
        ax.set_ylabel("share of right labels", fontsize=9)
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.3)

    return svg_chart(draw, "reliability", (4.5, 3.3))


def svg_chart(draw: Callable[[Axes], None], name: str, size: tuple[float, float]) -> str:
    """Draw on a page of that size, in inches, and give the ``svg`` element."""
    from matplotlib import rc_context

    figure_class, _ = figure_and_patch()
    # Text stays text, and ids depend on the name alone: the same run gives the same page.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        # The layout leaves as much room as the numbers along the axes turn out to need.
        figure = figure_class(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        text = StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    svg = text.getvalue()
    return svg[svg.index("<svg") :].replace("<svg", f'<svg class="chart" id="{name}"', 1)
