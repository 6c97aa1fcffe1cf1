"""The paper's figures: functions that draw a matplotlib ``Figure`` from scenes and runs.

A class has the same colour in all figures, and so has the cluster matched with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from spectrawalk.paper.published import METRES_PER_PIXEL, PUBLISHED, method_title, scene_title
from spectrawalk.paper.runs import MethodRun
from spectrawalk.prepare.pixels import take_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.report.figures import (
    class_name,
    draw_map,
    figure_and_patch,
    paint_classes,
)
from spectrawalk.results.components import first_component
from spectrawalk.results.palette import NO_DATA, Color, class_colors, cluster_colors
from spectrawalk.results.scores import score
from spectrawalk.scene import Scene
from spectrawalk.srdl import neighbors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEIGHBOR_PIXEL = (28, 44)
"""Row and column of the pixel of Salinas A whose neighbours are shown.

Of the labelled pixels with a whole window, it is the one whose nearest spectra are farthest away.
"""

_RED, _YELLOW = "#d62728", (255, 221, 0)
_MAPS_ACROSS = 5
_MAP_WIDTH = 2.3  # inches


def draw_scene(scene: Scene) -> Figure:
    """Draw the first principal component and the ground truth of a scene, side by side.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> figure = draw_scene(make_scene((20, 20), n_classes=2))
    >>> [ax.get_title() for ax in figure.axes]
    ['First principal component', 'Ground truth']
    """
    new_figure, _ = figure_and_patch()
    rows, cols = scene.shape
    figure = new_figure(figsize=(9, 1.7 + 4.2 * min(rows / cols, 1.6)), layout="constrained")
    left, right = figure.subplots(1, 2)
    of_class = colors_of_classes(scene)
    _draw_in_shape(left, first_component(scene), "First principal component")
    _draw_in_shape(right, paint_classes(_truth(scene), of_class), "Ground truth")
    _add_legend(figure, _class_entries(scene, of_class))
    figure.suptitle(f"{_describe(scene)}, {scene.n_bands} bands", fontsize=12)
    return figure


def draw_neighbors(
    scene: Scene, pixel: tuple[int, int] = NEIGHBOR_PIXEL, k: int = 100, radius: int = 20
) -> Figure:
    """Draw the nearest neighbours of one pixel, in the whole image and in a window.

    Parameters
    ----------
    scene : Scene
    pixel : (int, int)
        Row and column.
    k : int
        Number of neighbours.
    radius : int
        Half-width of the window in pixels.
    """
    new_figure, _ = figure_and_patch()
    rows, cols = scene.shape
    figure = new_figure(figsize=(9, 1.8 + 8.4 * min(rows / cols, 1.6)), layout="constrained")
    (top_left, top_right), (left, right) = figure.subplots(2, 2)
    of_class = colors_of_classes(scene)
    brightness = first_component(scene)
    _draw_in_shape(top_left, brightness, "First principal component")
    _draw_in_shape(top_right, paint_classes(_truth(scene), of_class), "Ground truth")
    for ax, r in ((left, None), (right, radius)):
        image = _grey(brightness)
        image[neighbors_of(scene, pixel, k, r)] = _YELLOW
        where = "in the whole image" if r is None else f"within r = {r} pixels"
        _draw_in_shape(ax, image, f"{k} nearest spectra {where}")
        ax.plot(pixel[1], pixel[0], "o", ms=6, color=_RED, mec="white")
        if r is not None:
            corner = (pixel[1] - r - 0.5, pixel[0] - r - 0.5)
            ax.add_patch(_square(corner, 2 * r + 1))
            ax.set_xlim(-0.5, cols - 0.5)
            ax.set_ylim(rows - 0.5, -0.5)
    _add_legend(figure, [*_class_entries(scene, of_class), (_YELLOW, "nearest spectra")])
    place = f"row {pixel[0]}, column {pixel[1]}"
    figure.suptitle(f"{_describe(scene)}: neighbours of the red pixel ({place})", fontsize=12)
    return figure


def neighbors_of(
    scene: Scene, pixel: tuple[int, int], k: int, radius: int | None
) -> NDArray[np.bool_]:
    """Mark the k spectrally nearest neighbours of a pixel, in a window or in the whole image.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> int(neighbors_of(make_scene((20, 20)), (5, 5), k=10, radius=3).sum())
    10
    """
    pixels = take_pixels(scene)
    spectra = normalize_spectra(pixels.spectra, "pixel")
    if radius is None:
        index, _ = neighbors.global_neighbors(spectra, k)
    else:
        index, _ = neighbors.window_neighbors(spectra, pixels.grid.mask, k, radius)
    number = neighbors.number_pixels(pixels.grid.mask)[pixel]
    near = index[number]
    marked = np.zeros(len(spectra), dtype=bool)
    marked[near[near >= 0]] = True
    image: NDArray[np.bool_] = pixels.grid.to_image(marked, False)
    return image


def draw_label_maps(scene: Scene, runs: Sequence[MethodRun]) -> Figure:
    """Draw the labels of several methods side by side, and the ground truth last.

    Parameters
    ----------
    scene : Scene
        With ground truth.
    runs : sequence of MethodRun
        One per method, with labels; a failed run gives an empty map.
    """
    new_figure, _ = figure_and_patch()
    n_rows = -(-(len(runs) + 1) // _MAPS_ACROSS)
    height = _MAP_WIDTH * min(scene.shape[0] / scene.shape[1], 1.6) + 0.5
    figure = new_figure(
        figsize=(_MAPS_ACROSS * _MAP_WIDTH + 0.8, n_rows * height + 1.3), layout="constrained"
    )
    axes = figure.subplots(n_rows, _MAPS_ACROSS, squeeze=False).ravel()
    of_class = colors_of_classes(scene)
    for ax, run in zip(axes, runs, strict=False):
        image, title = _painted_run(scene, run, of_class)
        _draw_in_shape(ax, image, title)
    _draw_in_shape(axes[len(runs)], paint_classes(_truth(scene), of_class), "Ground truth")
    for ax in axes[: len(runs) + 1]:
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    for ax in axes[len(runs) + 1 :]:
        ax.set_axis_off()
    entries = _class_entries(scene, of_class)
    if any(_n_unmatched(scene, run) for run in runs):
        entries.append(((255, 255, 255), "other colours: clusters without a class"))
    _add_legend(figure, entries)
    figure.suptitle(f"{_describe(scene)}: labels of each method", fontsize=12)
    return figure


def paint_by_class(
    scene: Scene, labels: NDArray[np.integer], of_class: dict[int, Color]
) -> NDArray[np.uint8]:
    """Colour image of the labels. A cluster has the colour of the class matched with it.

    Clusters without a class have the next colours of the palette.
    """
    matching = score(_truth(scene), labels).matching
    further = iter(cluster_colors(len(of_class) + int(labels.max()) + 1)[len(of_class) :].tolist())
    image = np.full((*labels.shape, 3), NO_DATA, dtype=np.uint8)
    for cluster in np.unique(labels[labels >= 0]).tolist():
        each = matching.get(cluster)
        image[labels == cluster] = next(further) if each is None else of_class[each]
    return image


def colors_of_classes(scene: Scene) -> dict[int, Color]:
    """Colour of each class of a scene, by its position among the classes."""
    truth = _truth(scene)
    classes = [int(each) for each in np.unique(truth[truth > 0])]
    return class_colors(classes, matching={}, n_clusters=0)


def _painted_run(
    scene: Scene, run: MethodRun, of_class: dict[int, Color]
) -> tuple[NDArray[np.uint8], str]:
    name = method_title(run.method)
    if run.labels is None:
        return np.full((*scene.shape, 3), 255, dtype=np.uint8), f"{name}\nfailed"
    title = f"{name}\nOA {run.oa:.2f}"
    paper = PUBLISHED.get((run.method, scene.name))
    if paper is not None:
        title += f" (paper {paper.oa:.2f})"
    return paint_by_class(scene, run.labels, of_class), title


def _n_unmatched(scene: Scene, run: MethodRun) -> int:
    if run.labels is None:
        return 0
    return run.n_clusters - len(score(_truth(scene), run.labels).matching)


def _truth(scene: Scene) -> NDArray[np.integer]:
    assert scene.ground_truth is not None
    return scene.ground_truth


def _describe(scene: Scene) -> str:
    rows, cols = scene.shape
    scale = METRES_PER_PIXEL.get(scene.name)
    size = f"{rows} × {cols} pixels"  # noqa: RUF001
    return f"{scene_title(scene.name)}, {size}" + (f" of {scale:g} m" if scale else "")


def _draw_in_shape(ax: Axes, image: NDArray[Any], title: str) -> None:
    """Draw a map with square pixels."""
    draw_map(ax, image, title)
    ax.set_aspect("equal")


def _grey(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Dark grey image of the ranks of the values, on which marks are easy to see."""
    shade = rankdata(values, nan_policy="omit").reshape(values.shape) / values.size
    grey = np.where(np.isnan(values), 255, 30 + 130 * np.nan_to_num(shade)).astype(np.uint8)
    return np.repeat(grey[..., np.newaxis], 3, axis=2)


def _square(corner: tuple[float, float], side: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, side, side, fill=False, edgecolor=_RED, linewidth=1.2)


def _class_entries(scene: Scene, of_class: dict[int, Color]) -> list[tuple[Color, str]]:
    entries = [(color, class_name(scene, each)) for each, color in of_class.items()]
    if (_truth(scene) == 0).any():
        entries.append((NO_DATA, "no ground truth"))
    return entries


def _add_legend(figure: Figure, entries: Sequence[tuple[Color, str]]) -> None:
    _, patch = figure_and_patch()
    width = figure.get_size_inches()[0]
    longest = max(len(text) for _, text in entries)
    figure.legend(
        handles=[patch(color=np.divide(color, 255), label=text) for color, text in entries],
        loc="outside lower center",
        ncols=max(1, min(len(entries), int(width / (0.6 + 0.08 * longest)))),
        fontsize=9,
        frameon=False,
    )
