"""Draw the pictures of the site: ``python docs/pictures.py FOLDER``.

FOLDER is where ``spectrawalk reproduce figures`` wrote: its figures are made smaller and copied to
docs/pictures. All others are drawn here, from Indian Pines, which the extra `demo` brings along.
``docs/screenshots.py`` takes those of the explorer and of the report.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from spectrawalk import SRDL, Result, Scene, SpectraWalk, score
from spectrawalk.datasets import load_scene
from spectrawalk.report.figures import draw_map, ink_on, paint, paint_classes
from spectrawalk.report.number_curves import draw_heights, draw_mode_curve, draw_tree
from spectrawalk.report.spectra_plot import draw_spectra
from spectrawalk.results.palette import class_colors, cluster_colors

FOLDER = Path(__file__).parent / "pictures"
WIDTH = 1000  # largest width of a figure that is copied, in pixels
ACROSS, DPI = 7.8, 160  # inches, and dots per inch: letters can be read where the text is narrow

REPRODUCED = (
    "neighbours-salinas-a",
    "scene-indian-pines-subset",
    "labels-indian-pines-subset",
    "labels-salinas-a",
    "radius-indian-pines-subset",
    "radius-salinas-a",
)
"""Figures of the paper, as ``spectrawalk reproduce figures`` names them."""

PIXEL = (8, 19)
"""Row and column of a pixel inside a field of the Indian Pines subset."""


def panels(n: int, height: float) -> tuple[Figure, Sequence[Any]]:
    """Give a figure with a row of axes."""
    figure = Figure(figsize=(ACROSS, height), layout="constrained")
    return figure, figure.subplots(1, n, squeeze=False)[0]


def bare(axes: Sequence[Any]) -> None:
    """Take rows and columns from maps whose place does not matter."""
    for ax in axes:
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        ax.set_aspect("equal")


def whole() -> tuple[Scene, SpectraWalk]:
    """Give Indian Pines, and SpectraWalk fitted to it."""
    scene = load_scene("indian-pines")
    return scene, SpectraWalk().fit(scene)


def map_and_spectra(scene: Scene, model: SpectraWalk) -> Figure:
    """Draw what a run finds: the map, the confidence and the spectra."""
    result = Result.of_fit(scene, model.at(9))
    colors = cluster_colors(9)
    figure = Figure(figsize=(ACROSS, 5.1), layout="constrained")
    upper, lower = figure.add_gridspec(2, 1, height_ratios=[3, 2.1])
    axes = [figure.add_subplot(cell) for cell in upper.subgridspec(1, 3)]
    draw_map(axes[0], result.first_component, "First principal component")
    draw_map(axes[1], paint(result.labels, colors), "Nine clusters")
    draw_map(axes[2], result.confidence, "Confidence,\n0 (dark) to 1 (yellow)", limits=(0, 1))
    bare(axes)
    draw_spectra(figure.add_subplot(lower), scene, result.spectra, result.sizes, colors)
    return figure


def cuts(scene: Scene, model: SpectraWalk) -> Figure:
    """Draw the maps of several cuts of one tree."""
    numbers = (3, 5, 9, 16)
    figure, axes = panels(len(numbers), 2.2)
    for ax, number in zip(axes, numbers, strict=True):
        labels = Result.of_fit(scene, model.at(number)).labels
        draw_map(ax, paint(labels, cluster_colors(number)), f"{number} clusters")
    bare(axes)
    return figure


def number(scene: Scene, model: SpectraWalk) -> Figure:
    """Draw the support for each number of clusters, and the tree."""
    figure, axes = panels(2, 3.1)
    draw_heights(axes[0], model)
    draw_tree(axes[1], model, cluster_colors(model.n_clusters_))
    return figure


def details(scene: Scene, model: SpectraWalk) -> Figure:
    """Draw nine clusters for fields, for materials, and halfway between."""
    chosen = [(0.0, "fields"), (0.5, "0.5"), (1.0, "materials")]
    figure, axes = panels(3, 2.8)
    for ax, (detail, name) in zip(axes, chosen, strict=True):
        labels = SpectraWalk(9, detail=detail).fit(scene).labels_
        draw_map(ax, paint(labels, cluster_colors(9)), f"--detail {name}")
    bare(axes)
    return figure


def subset() -> tuple[Scene, SRDL]:
    """Give the subset of Indian Pines, and SRDL with the settings of the paper."""
    scene = load_scene("indian-pines-subset")
    return scene, SRDL.from_paper(scene.name).fit(scene)


def distances(scene: Scene, model: SRDL) -> Figure:
    """Draw how far all pixels are from one, in spectra and in diffusion distance."""
    figure, axes = panels(4, 4.0)
    spectra = scene.cube / np.linalg.norm(scene.cube, axis=2, keepdims=True)
    everywhere = SRDL.from_paper(scene.name).set_params(radius=None).fit(scene)
    matching = score(scene.ground_truth, model.labels_).matching  # colours as of the labels
    of_class = class_colors(classes_of(scene), matching, model.n_clusters_)
    draw_map(axes[0], paint_classes(scene.ground_truth, of_class), "Ground truth")
    for ax, title, X in (
        (axes[1], "Distance of the spectra", spectra),
        (axes[2], "Diffusion distance,\nno window", everywhere.coordinates_),
        (axes[3], f"Diffusion distance,\nr = {model.radius}", model.coordinates_),
    ):
        draw_map(ax, np.linalg.norm(X - X[PIXEL], axis=2), title)
    for ax in axes:
        ax.plot(PIXEL[1], PIXEL[0], "o", ms=6, color="#d62728", mec="white")
    bare(axes)
    return figure


def coordinates(scene: Scene, model: SRDL) -> Figure:
    """Draw the first diffusion coordinates after the trivial one as images."""
    figure, axes = panels(5, 3.2)
    for n, ax in enumerate(axes, start=2):
        value = abs(model.eigenvalues_[n - 1])
        title = rf"$\lambda_{n}^t\,\Phi_{n}$" + f"\n$|\\lambda_{n}|$ = {value:.3f}"
        draw_map(ax, model.coordinates_[..., n - 1], title)
    bare(axes)
    return figure


def modes(scene: Scene, model: SRDL) -> Figure:
    """Draw density, distance to the nearest denser pixel, their product, and its largest values."""
    figure = Figure(figsize=(ACROSS, 3.4), layout="constrained")
    axes = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.8])
    colors = cluster_colors(model.n_clusters_)
    draw_map(axes[0], np.log(model.density_), "Density p")
    draw_map(axes[1], np.log(model.rho_), r"Distance $\rho_t$")
    draw_map(axes[2], np.log(model.mode_score_), r"$D_t = p\,\rho_t$")
    bare(axes[:3])
    rows, cols = np.unravel_index(model.modes_, scene.shape)
    for cluster, (row, col) in enumerate(zip(rows, cols, strict=True)):
        color = colors[cluster] / 255
        axes[2].plot(col, row, "o", ms=11, color=color, mec="white")
        place, ink = (col, row), ink_on(color)
        centred = {"ha": "center", "va": "center_baseline"}
        axes[2].annotate(str(cluster + 1), place, fontsize=7, color=ink, **centred)
    draw_mode_curve(axes[3], model, colors)
    return figure


def labels(scene: Scene, model: SRDL) -> Figure:
    """Draw the labels without and with the spatial consensus."""
    figure, axes = panels(4, 4.0)
    matching = score(scene.ground_truth, model.labels_).matching
    of_class = class_colors(classes_of(scene), matching, model.n_clusters_)
    colors = cluster_colors(model.n_clusters_)
    alone = model.with_labelling(consensus_radius=0).labels_
    draw_map(axes[0], paint(alone, colors), "Nearest denser\npixel only")
    draw_map(axes[1], paint(model.labels_, colors), "With spatial\nconsensus")
    changed = np.where(alone == model.labels_, -1, model.labels_)
    draw_map(axes[2], paint(changed, colors), "Changed by the\nconsensus")
    draw_map(axes[3], paint_classes(scene.ground_truth, of_class), "Ground truth")
    bare(axes)
    return figure


def classes_of(scene: Scene) -> list[int]:
    """Numbers of the classes of the ground truth."""
    return [int(each) for each in np.unique(scene.ground_truth) if each > 0]


OF_WHOLE: dict[str, Callable[[Scene, SpectraWalk], Figure]] = {
    "map": map_and_spectra,
    "cuts": cuts,
    "number": number,
    "details": details,
}
OF_SUBSET: dict[str, Callable[[Scene, SRDL], Figure]] = {
    "srdl-distances": distances,
    "srdl-coordinates": coordinates,
    "srdl-modes": modes,
    "srdl-labels": labels,
}
NAMES = (*OF_WHOLE, *OF_SUBSET, *REPRODUCED)
"""Pictures that this script makes, without ".png"."""


def copy(path: Path) -> None:
    """Copy a figure, at most as wide as a page needs it."""
    image = Image.open(path).convert("RGB")
    image.thumbnail((WIDTH, 2 * WIDTH), Image.Resampling.LANCZOS)
    image.save(FOLDER / path.name, optimize=True)


def main(reproduced: Path) -> None:
    """Make all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name in REPRODUCED:
        copy(reproduced / f"{name}.png")
    for drawings, fitted in ((OF_WHOLE, whole()), (OF_SUBSET, subset())):
        for name, draw in drawings.items():
            draw(*fitted).savefig(FOLDER / f"{name}.png", dpi=DPI)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
