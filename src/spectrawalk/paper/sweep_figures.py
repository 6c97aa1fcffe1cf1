"""Figures of the accuracy for different radii, numbers of eigenpairs and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectrawalk.paper.heatmap import write_in_cells
from spectrawalk.paper.published import RADIUS, scene_title
from spectrawalk.paper.sweeps import DIRECTED, GRAPHS, SYMMETRIC, Point
from spectrawalk.report.figures import figure_and_patch
from spectrawalk.results.palette import cluster_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = {SYMMETRIC: "-", DIRECTED: "--"}
_MARK = {SYMMETRIC: "o", DIRECTED: "s"}


def draw_radius(scene: str, points: Sequence[Point], n_eigenpairs: int, time: float) -> Figure:
    """Draw OA, AA and kappa against the radius, for both graphs.

    Parameters
    ----------
    scene : str
        Name of the scene. The radius of the paper is marked, if the scene is in the paper.
    points : sequence of Point
    n_eigenpairs, time
        Only the points with these values are drawn.

    Examples
    --------
    >>> points = [Point("symmetric", r, 10, 30.0, 0.8, 0.7, 0.6) for r in (4, 8)]
    >>> draw_radius("indian-pines-subset", points, 10, 30.0).axes[0].get_xlabel()
    'radius r (pixels)'
    """
    new_figure, _ = figure_and_patch()
    figure = new_figure(figsize=(9, 5.2), layout="constrained")
    ax = figure.subplots()
    colors = cluster_colors(4)[[0, 3, 2]] / 255
    for name in (SYMMETRIC, DIRECTED):
        chosen = [
            p for p in points if (p.graph, p.n_eigenpairs, p.time) == (name, n_eigenpairs, time)
        ]
        chosen.sort(key=lambda point: point.radius)
        radii = [point.radius for point in chosen]
        for score, label, color in zip(
            ("oa", "aa", "kappa"), ("OA", "AA", "kappa"), colors, strict=True
        ):
            values = [getattr(point, score) for point in chosen]
            ax.plot(
                radii, values, _STYLE[name], marker=_MARK[name], ms=4, color=color,
                label=f"{label}, {name} graph",
            )  # fmt: skip
    if scene in RADIUS:
        ax.axvline(
            RADIUS[scene], color="0.4", lw=1, ls=":", label=f"the paper's r = {RADIUS[scene]}"
        )
    ax.set(xlabel="radius r (pixels)", ylabel="agreement with ground truth", ylim=(-0.02, 1.02))
    ax.set_title(
        f"{scene_title(scene)}: SRDL against the radius, k = 100, M = {n_eigenpairs}, t = {time:g}",
        fontsize=11,
    )
    ax.grid(color="0.9")
    ax.legend(fontsize=9, frameon=False, ncols=2, loc="lower right")
    return figure


def draw_grid(
    scene: str, points: Sequence[Point], across: str, fixed: float, usual: float
) -> Figure:
    """Draw the OA for different radii and values of one other parameter, one heat map per graph.

    The cell with the radius of the paper and the usual value of the other parameter is framed.

    Parameters
    ----------
    scene : str
    points : sequence of Point
    across : {"n_eigenpairs", "time"}
        The other parameter.
    fixed : float
        Value of the parameter that does not vary: the time, or the number of eigenpairs.
    usual : float
        Value of the other parameter that reproduces the paper's results.
    """
    new_figure, _ = figure_and_patch()
    other = "time" if across == "n_eigenpairs" else "n_eigenpairs"
    axis, constant = ("eigenpairs M", "t") if other == "time" else ("diffusion time t", "M")
    chosen = [point for point in points if getattr(point, other) == fixed]
    columns = sorted({getattr(point, across) for point in chosen})
    radii = sorted({point.radius for point in chosen})
    size = (1.8 + 2 * 0.52 * len(columns), 1.7 + 0.3 * len(radii))
    figure = new_figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(GRAPHS), sharey=True)
    for ax, name in zip(axes, (SYMMETRIC, DIRECTED), strict=True):
        cells = np.full((len(radii), len(columns)), np.nan)
        for point in chosen:
            if point.graph == name:
                cells[radii.index(point.radius), columns.index(getattr(point, across))] = point.oa
        _draw_cells(ax, cells)
        if RADIUS.get(scene) in radii and usual in columns:
            _frame_cell(ax, radii.index(RADIUS[scene]), columns.index(usual))
        ax.set_xticks(range(len(columns)), [f"{value:g}" for value in columns])
        ax.set_yticks(range(len(radii)), [str(radius) for radius in radii])
        ax.set_xlabel(axis, fontsize=10)
        ax.set_title(f"{name} graph", fontsize=10)
    axes[0].set_ylabel("radius r (pixels)", fontsize=10)
    title = f"{scene_title(scene)}: OA of SRDL, {constant} = {fixed:g}"
    if scene in RADIUS:
        title += f" (framed: the paper's r = {RADIUS[scene]})"
    figure.suptitle(title, fontsize=12)
    return figure


def _draw_cells(ax: Axes, cells: NDArray[np.float64]) -> None:
    image = ax.imshow(cells, cmap="viridis", vmin=0, vmax=1, aspect="auto", origin="lower")
    write_in_cells(ax, image, ".2f", size=8)
    ax.tick_params(labelsize=9, length=0)


def _frame_cell(ax: Axes, row: int, col: int) -> None:
    from matplotlib.patches import Rectangle

    corner = (col - 0.5, row - 0.5)
    ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#d62728", linewidth=2))
