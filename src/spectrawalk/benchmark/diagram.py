"""Mean ranks as a picture: one line per method, and bars over those that cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spectrawalk.benchmark.methods import DEFAULT
from spectrawalk.benchmark.ranking import Ranking
from spectrawalk.report.figures import figure_and_patch
from spectrawalk.results.captions import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _SOFT, _OURS = "#1d2429", "#5b666e", "#0072b2"
_LINE = 0.24  # inches for a method
WIDTH = 9.0


def height(ranking: Ranking) -> float:
    """Height of the picture in inches."""
    return 1.1 + _LINE * len(ranking.methods)


def draw_ranking(ranking: Ranking, titles: Mapping[str, str], caption: str) -> Figure:
    """Draw the mean ranks on a page of their own.

    Examples
    --------
    >>> from spectrawalk.benchmark.ranking import rank_methods
    >>> table = {scene: {"x": 0.9, "y": 0.5, "z": 0.1} for scene in "abc"}
    >>> figure = draw_ranking(rank_methods(table), {}, "by overall accuracy")
    >>> figure.axes[0].get_title(loc="left")
    'by overall accuracy'
    """
    new_figure, _ = figure_and_patch()
    figure = new_figure(figsize=(WIDTH, height(ranking)), layout="constrained")
    draw_on(figure.add_subplot(), ranking, titles, caption)
    return figure


def draw_on(ax: Axes, ranking: Ranking, titles: Mapping[str, str], caption: str) -> None:
    """Draw the mean ranks, the best at the top, on axes.

    The bar beside the best method reaches as far as the critical difference: the methods beside it
    cannot be told apart from the best one. Further bars join other groups.
    """
    n_methods = len(ranking.methods)
    for place, (method, rank) in enumerate(zip(ranking.methods, ranking.mean_ranks, strict=True)):
        color = _OURS if method == DEFAULT else _INK
        ax.plot([0.5, rank], [place, place], color="#dde3e7", lw=1, zorder=1)
        ax.plot([rank], [place], "o", color=color, ms=6, zorder=3)
        ax.annotate(
            f"{rank:.1f}", (rank, place), xytext=(7, 0), textcoords="offset points",
            va="center", fontsize=8.5, color=color,
        )  # fmt: skip
    ax.set_yticks(
        range(n_methods),
        [drawable(titles.get(name, name)) for name in ranking.methods],
        parse_math=False,
    )
    for label, method in zip(ax.get_yticklabels(), ranking.methods, strict=True):
        if method == DEFAULT:
            label.set(color=_OURS, fontweight="bold")
    if ranking.critical_difference is not None:
        _draw_groups(ax, ranking)
    ax.set_ylim(n_methods - 0.4, -0.6)
    ax.set_xlabel(f"mean rank over {len(ranking.scenes)} scenes (1 is the best)", fontsize=9)
    ax.set_title(caption, loc="left", fontsize=10)
    ax.tick_params(labelsize=9, length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def _draw_groups(ax: Axes, ranking: Ranking) -> None:
    """Vertical bars, right of all points, over methods that cannot be told apart."""
    right = max(ranking.mean_ranks) + 1.2
    for number, (first, last) in enumerate(ranking.groups):
        x = right + 0.5 * number
        ax.plot([x, x], [first - 0.25, last + 0.25], color=_SOFT, lw=3, solid_capstyle="butt")
    ax.set_xlim(0.5, right + 0.5 * max(1, len(ranking.groups)))
    ticks = range(1, len(ranking.methods) + 1, max(1, len(ranking.methods) // 10))
    ax.set_xticks(list(ticks))
