"""The table as a heat map: measured accuracy, and its difference from the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrawalk.paper.published import Accuracy, method_title, scene_title
from spectrawalk.paper.table import Row
from spectrawalk.report.figures import figure_and_patch, ink_on
from spectrawalk.results.captions import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = ("OA", "AA", "kappa")
_FARTHEST = 0.4  # differences from this on have the darkest colour


def draw_table(rows: Sequence[Row]) -> Figure:
    r"""Draw a heat map of the rows, with one row per method and one panel per scene.

    If the paper has figures for the scene, a second panel shows measured minus paper.

    Examples
    --------
    >>> from spectrawalk.paper.runs import MethodRun
    >>> from spectrawalk.paper.table import sum_up
    >>> run = MethodRun("sc", "field", 0, 3, oa=0.5, aa=0.5, kappa=0.1)
    >>> figure = draw_table(sum_up([run]))
    >>> [ax.get_title() for ax in figure.axes][0]
    'field\nmeasured'
    """
    new_figure, _ = figure_and_patch()
    methods = list(dict.fromkeys(row.method for row in rows))
    scenes = list(dict.fromkeys(row.scene for row in rows))
    panels: list[tuple[str, list[Accuracy | None], str, bool]] = []
    for scene in scenes:
        found = {row.method: row for row in rows if row.scene == scene}
        of_scene = [found.get(method) for method in methods]
        spread = any(row is not None and row.n_seeds > 1 for row in of_scene)
        what = "measured (mean over seeds)" if spread else "measured"
        title = scene_title(scene)
        measured = [None if row is None else row.mean for row in of_scene]
        panels.append((f"{title}\n{what}", measured, ".2f", False))
        if any(row is not None and row.paper is not None for row in of_scene):
            difference = [None if row is None else row.difference for row in of_scene]
            panels.append((f"{title}\nmeasured - paper", difference, "+.2f", True))

    size = (2.2 + 2.5 * len(panels), 1.6 + 0.36 * len(methods))
    figure = new_figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, values, pattern, diverging) in zip(grid, panels, strict=True):
        _draw_panel(ax, title, values, pattern, diverging)
        ax.set_yticks(range(len(methods)), [""] * len(methods))
    titles = [drawable(method_title(method)) for method in methods]
    grid[0].set_yticks(range(len(methods)), titles, parse_math=False)
    figure.suptitle("Agreement with ground truth", fontsize=12)
    return figure


def _draw_panel(
    ax: Axes, title: str, values: Sequence[Accuracy | None], pattern: str, diverging: bool
) -> None:
    cells = np.array([[np.nan] * 3 if row is None else row for row in values], dtype=np.float64)
    low, high, colors = (-_FARTHEST, _FARTHEST, "RdBu") if diverging else (0.0, 1.0, "viridis")
    image = ax.imshow(cells, cmap=colors, vmin=low, vmax=high, aspect="auto")
    write_in_cells(ax, image, pattern)
    ax.set_xticks(range(3), _NAMES)
    lines = [drawable(line) for line in title.splitlines()]
    ax.set_title("\n".join(lines), fontsize=10, parse_math=False)
    ax.tick_params(labelsize=9, length=0)


def write_in_cells(ax: Axes, image: Any, pattern: str, *, size: float = 9) -> None:
    """Write each value of a heat map into its cell, in black or white for good contrast."""
    cells = np.ma.filled(image.get_array(), np.nan)
    colors = image.cmap(image.norm(cells))[..., :3]
    for row, col in np.ndindex(*cells.shape):
        value = float(cells[row, col])
        text = format(round(value, 2) + 0.0, pattern) if np.isfinite(value) else "failed"
        ink = ink_on(colors[row, col]) if np.isfinite(value) else "black"
        ax.text(col, row, text, ha="center", va="center", fontsize=size, color=ink)
