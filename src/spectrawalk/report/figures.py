"""Pictures of a clustered scene, for the screen and for print.

Functions from arrays to a matplotlib ``Figure``; nothing is shown and no global state is touched.
Needs the ``figures`` extra. Clusters are numbered from 1, as in the files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from spectrawalk.errors import MissingDependencyError
from spectrawalk.report.number_curves import draw_number_curve
from spectrawalk.report.spectra_plot import draw_spectra
from spectrawalk.results.captions import count, describe_crop, drawable, shorten
from spectrawalk.results.cluster_map import UNLIKE_NAME
from spectrawalk.results.model import TreeModel
from spectrawalk.results.palette import NO_DATA, UNLIKE, Color, class_colors, cluster_colors
from spectrawalk.results.result import Result
from spectrawalk.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
_WIDTH = 12.0  # inches, as all lengths below
_MAPS_HEIGHT = 5.0
_CURVES_HEIGHT = 3.6
_LEGEND_LINE = 0.24
_MAX_ENTRIES = 48  # a longer legend ends in "and ... more"
_TITLE_LINE = 0.34
_SMALL_PRINT_LINE = 0.16
_SMALL_PRINT_WIDTH = 180  # characters
_LONGEST_NAME = 36  # characters
_THINNEST = 1 / 6  # sides of a map; an image thinner than this is stretched to it


def overview(result: Result) -> Figure:
    """Draw what was found in a scene, on one page.

    Panels: the ground truth where there is one, or else the scene in colours; the first principal
    component, the labels, the modes on the density (or the confidence or margin), what speaks for
    the number of clusters (of a fit only), and the mean spectrum of each cluster with one standard
    deviation.

    Parameters
    ----------
    result : Result
        A class and the cluster matched with it have the same colour.

    Returns
    -------
    matplotlib.figure.Figure
        12 inches wide; legible at 150 dots per inch.

    Examples
    --------
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.report.figures import overview, save_figure
    >>> from spectrawalk.results.result import Result
    >>> scene = make_scene(shape=(20, 20), n_bands=10, n_classes=2, random_state=0)
    >>> model = SRDL(n_clusters=2, n_neighbors=20, n_eigenpairs=5).fit(scene)
    >>> figure = overview(Result.of_fit(scene, model))
    >>> save_figure(figure, "overview.png")  # doctest: +SKIP
    """
    figure_and_patch()  # or says how to get them
    scene, model, scores = result.scene, result.model, result.scores
    colors = result.map.colors[: result.n_clusters]
    truth = None if scores is None else scene.ground_truth
    maps: list[tuple[str, NDArray[Any]]] = [("First principal component", result.first_component)]
    of_class: dict[int, Color] = {}
    if truth is None:  # with a ground truth there is no room for a fifth map
        picture = result.color_picture
        maps.insert(0, (f"{picture.name.capitalize()}, {picture.caption}", picture.image))
    elif scores is not None:
        classes = [int(each) for each in np.unique(truth[truth > 0])]
        of_class = class_colors(classes, scores.matching, result.n_clusters)
        maps.append(("Ground truth", paint_classes(truth, of_class)))
    title = count(result.n_clusters, "cluster")
    maps.append((title, paint(result.entries, result.map.colors)))
    shows_modes = not (result.predicted or isinstance(model, TreeModel))
    if not shows_modes:
        certainty = result.certainty
        maps.append((f"{certainty.name.capitalize()}, 0 (dark) to 1 (yellow)", certainty.image))
    else:
        maps.append(("Density (yellow: high), modes", _ranks(model.density_)))  # type: ignore[union-attr]

    figure, axes, curve_axes, spectra_axes = _lay_out(
        scene.shape,
        len(maps),
        _legend_entries(result, colors, of_class),
        _title(result),
        _settings(result),
        with_number=not result.predicted,
    )
    origin = _origin(scene)
    for ax, (title, image) in zip(axes, maps, strict=True):
        limits = None if shows_modes or ax is not axes[-1] else (0.0, 1.0)
        draw_map(ax, image, title, origin=origin, cell=result.image.cell, limits=limits)
    of_model = cluster_colors(model.n_clusters_)
    if shows_modes and not isinstance(model, TreeModel):
        _draw_modes(axes[-1], model.modes_, result.labels.shape, of_model, origin)
    if curve_axes is not None:
        draw_number_curve(curve_axes, model, of_model)
    draw_spectra(spectra_axes, scene, result.spectra, result.sizes, colors)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write `figure` to a PNG file of 150 dpi, whole or not at all."""
    from spectrawalk.io import atomic_path

    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI)


def paint(labels: NDArray[np.integer], colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colour image of the labels, grey where they are -1.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.results.palette import cluster_colors
    >>> paint(np.array([[0, -1]]), cluster_colors(1)).tolist()
    [[[0, 114, 178], [204, 204, 204]]]
    """
    table = np.vstack([colors, np.array([NO_DATA], dtype=np.uint8)])  # -1 finds the last row
    return table[labels]


def paint_classes(truth: NDArray[np.integer], of_class: dict[int, Color]) -> NDArray[np.uint8]:
    """Colour image of the ground truth, grey where it is unknown."""
    image = np.full((*truth.shape, 3), NO_DATA, dtype=np.uint8)
    for each, color in of_class.items():
        image[truth == each] = color
    return image


def _ranks(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank of each value: densities span so many orders that most would look the same."""
    ranks: NDArray[np.float64] = rankdata(image, nan_policy="omit")
    return ranks.reshape(image.shape)


def _title(result: Result) -> str:
    scene, scores = result.scene, result.scores
    rows, cols = result.image.shape
    parts = [
        f"{drawable(shorten(scene.name, _LONGEST_NAME))}: {result.method}",
        f"{rows} × {cols} pixels",  # noqa: RUF001
        count(scene.n_bands, "band"),
    ]
    if scores is not None:
        parts.append(f"OA {scores.oa:.3f}, AA {scores.aa:.3f}, κ {scores.kappa:.3f}")
    return "   ·   ".join(parts)


def _settings(result: Result) -> list[str]:
    """Lines of small print that say how the result was made."""
    crop = describe_crop(result.scene.metadata)
    return wrap(result.settings, _SMALL_PRINT_WIDTH) + [crop] * bool(crop)


def _origin(scene: Scene) -> tuple[int, int]:
    """Row and column of the image's first pixel in the scene that it was cut from."""
    (top, _), (left, _) = scene.metadata.get("crop", ((0, 0), (0, 0)))
    return top, left


def _legend_entries(
    result: Result, colors: NDArray[np.uint8], of_class: dict[int, Color]
) -> list[tuple[Color, str]]:
    """Colour and text of each line of the legend that serves all panels."""
    scene = result.scene
    matching = {} if result.scores is None else result.scores.matching
    share = result.sizes / max(1, result.sizes.sum())
    entries: list[tuple[Color, str]] = []
    for cluster, color in enumerate(colors.tolist()):
        text = f"{cluster + 1}:  {share[cluster]:.1%}"
        if cluster in matching:
            text += f",  matched with {class_name(scene, matching[cluster])}"
        entries.append((tuple(color), text))
    for each, color in of_class.items():
        if each not in matching.values():
            entries.append((color, f"class without a cluster:  {class_name(scene, each)}"))
    if len(entries) > _MAX_ENTRIES:
        left_out = len(entries) - _MAX_ENTRIES
        entries = [*entries[:_MAX_ENTRIES], ((255, 255, 255), f"and {left_out} more")]
    if result.unlike.any():
        entries.append((UNLIKE, UNLIKE_NAME))
    if (result.entries < 0).any():
        entries.append((NO_DATA, "no data"))
    if of_class and (scene.ground_truth[scene.mask] == 0).any():  # type: ignore[index]
        entries.append((NO_DATA, "no ground truth"))
    return entries


def class_name(scene: Scene, each: int) -> str:
    """Name of a class, cut short if need be."""
    return drawable(shorten(scene.class_name(each), 26))


def _lay_out(
    shape: tuple[int, int],
    n_maps: int,
    entries: Sequence[tuple[Color, str]],
    title: str,
    small_print: Sequence[str],
    *,
    with_number: bool,
) -> tuple[Figure, list[Axes], Axes | None, Axes]:
    """Page with title, axes for the maps, for the one or two curves below them, and the legend."""
    _, patch = figure_and_patch()
    from spectrawalk.report.shown_figure import ShownFigure

    aspect = np.clip(shape[1] / shape[0], _THINNEST, 1 / _THINNEST)
    per_row, map_height = _arrange_maps(float(aspect), n_maps)
    legend_columns, legend_lines = _arrange_legend([len(text) for _, text in entries])

    maps_height = (map_height + 0.65) * -(-n_maps // per_row)
    head = _TITLE_LINE + _SMALL_PRINT_LINE * len(small_print)
    height = head + 0.1 + maps_height + _CURVES_HEIGHT + _LEGEND_LINE * (legend_lines + 1)
    figure: Any = ShownFigure(figsize=(_WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, rect=(0, 0, 1, 1 - head / height))
    _write_head(figure, title, small_print, height)
    upper, lower = figure.add_gridspec(2, 1, height_ratios=[maps_height, _CURVES_HEIGHT])
    grid = upper.subgridspec(-(-n_maps // per_row), per_row)
    maps = [figure.add_subplot(grid[place // per_row, place % per_row]) for place in range(n_maps)]
    for ax in maps:
        ax.set_box_aspect(1 / aspect)
    left, right = lower.subgridspec(1, 2, width_ratios=[2, 3]) if with_number else (None, lower)
    legend = figure.legend(
        handles=[patch(color=np.divide(color, 255), label=text) for color, text in entries],
        loc="outside lower center",
        ncols=legend_columns,
        fontsize=9,
        frameon=False,
        title="cluster:  share of the clustered pixels",
        title_fontsize=9,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a class may be called "$5"
    number = None if left is None else figure.add_subplot(left)
    return figure, maps, number, figure.add_subplot(right)


def _write_head(figure: Figure, title: str, small_print: Sequence[str], height: float) -> None:
    """Write the title and the lines under it, in the room that the layout leaves them."""
    top = figure.suptitle(title, y=1 - 0.08 / height, fontsize=12, parse_math=False)
    top.set_in_layout(False)
    below = figure.text(
        0.5, 1 - _TITLE_LINE / height, "\n".join(small_print), fontsize=8, color="0.3",
        ha="center", va="top", parse_math=False,
    )  # fmt: skip
    below.set_in_layout(False)


def _arrange_maps(aspect: float, n_maps: int) -> tuple[int, float]:
    """Find how many maps per row, and how high, make them as large as the page allows."""
    best_width, best_per_row = 0.0, n_maps
    for per_row in (n_maps, 2, 1):
        n_rows = -(-n_maps // per_row)
        width = min((_WIDTH - 0.6) / per_row - 0.3, _MAPS_HEIGHT / n_rows * aspect)
        if width > 1.2 * best_width:  # more rows must be worth it
            best_width, best_per_row = width, per_row
    return best_per_row, best_width / aspect


def _arrange_legend(lengths: Sequence[int]) -> tuple[int, int]:
    """Find the most columns of entries (filled downwards) that fit the page, and their height."""
    for columns in range(len(lengths), 1, -1):
        lines = -(-len(lengths) // columns)
        longest = [max(lengths[top : top + lines]) for top in range(0, len(lengths), lines)]
        if sum(0.6 + 0.07 * length for length in longest) < _WIDTH:
            return len(longest), lines
    return 1, len(lengths)


def figure_and_patch() -> tuple[Any, Any]:
    """Return the Figure and Patch classes, or say how to get them."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError as error:
        raise MissingDependencyError(
            "drawing needs matplotlib, which is not installed; get it with "
            '`pip install "spectrawalk[figures]"`.'
        ) from error
    return Figure, Patch


def draw_map(
    ax: Axes,
    image: NDArray[Any],
    title: str,
    *,
    origin: tuple[int, int] = (0, 0),
    cell: int = 1,
    limits: tuple[float, float] | None = None,
) -> None:
    """Draw a colour image, or the values of one with grey where NaN.

    Rows and columns are counted from `origin`. A value stands for `cell` of them. The colours go
    from the first of `limits` to the second; by default from the 2nd to the 98th percentile.
    """
    from matplotlib import colormaps
    from matplotlib.ticker import FixedLocator, MaxNLocator

    (top, left), (rows, cols) = origin, (cell * length for length in image.shape[:2])
    extent = (left - 0.5, left + cols - 0.5, top + rows - 0.5, top - 0.5)
    how: dict[str, Any] = {"extent": extent, "aspect": "auto", "interpolation": "nearest"}
    if image.ndim == 2:
        finite = image[np.isfinite(image)]
        robust = np.percentile(finite, [2, 98]) if finite.size else (0.0, 1.0)
        low, high = robust if limits is None else limits
        shades = colormaps["viridis"].with_extremes(bad=np.divide(NO_DATA, 255))
        ax.imshow(image, cmap=shades, vmin=low, vmax=high, **how)
    else:
        ax.imshow(image, **how)
    ax.set_title(title, fontsize=10)
    ax.tick_params(labelsize=8)
    ax.set_xlabel("column", fontsize=8)
    ax.set_ylabel("row", fontsize=8)
    for axis, first, n in ((ax.xaxis, left, cols), (ax.yaxis, top, rows)):
        # A single row or column would otherwise get ticks at its edges, -0.5 and 0.5.
        axis.set_major_locator(MaxNLocator(4, integer=True) if n > 1 else FixedLocator([first]))


def _draw_modes(
    ax: Axes,
    modes: NDArray[np.integer],
    shape: tuple[int, ...],
    colors: NDArray[np.uint8],
    origin: tuple[int, int],
) -> None:
    """Mark the modes with the numbers of their clusters."""
    rows, cols = np.unravel_index(modes, shape)
    rows, cols = rows + origin[0], cols + origin[1]
    size = 11.0
    for cluster, (row, col) in enumerate(zip(rows, cols, strict=True)):
        color = colors[cluster] / 255
        on_top = 10 - cluster / len(modes)  # the larger a cluster, the higher lies its mark
        ax.plot(col, row, "o", ms=size, color=color, mec="white", clip_on=False, zorder=on_top)
        ax.annotate(
            str(cluster + 1),
            (col, row),
            ha="center",
            va="center_baseline",
            fontsize=7 if cluster < 9 else 6.4,
            color=ink_on(color),
            annotation_clip=False,
            zorder=on_top,
        )


def ink_on(color: NDArray[np.float64]) -> str:
    """Black or white, whichever has the higher contrast (as WCAG 2 defines it) with `color`."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    luminance = linear @ (0.2126, 0.7152, 0.0722)
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"
