"""Accuracy of SRDL for different radii, numbers of eigenpairs and times.

Shared parts are computed once. The neighbours depend on the radius only, the eigenpairs on the
graph only, and the density on neither. So one search is enough for both graphs of a radius, and one
solution for all numbers of eigenpairs and all times. Ground truth is only used to show how
sensitive the accuracy is to these parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.errors import SpectrawalkError
from spectrawalk.estimators import SRDL
from spectrawalk.prepare.pixels import Pixels, take_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.results.scores import score
from spectrawalk.scene import Scene
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.labels import Consensus
from spectrawalk.srdl.neighbors import global_neighbors

DIRECTED, SYMMETRIC = "directed", "symmetric"
GRAPHS = {DIRECTED: None, SYMMETRIC: "max"}
"""The two graphs of a radius, and their values of the parameter ``symmetrize``."""

RADII = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 24, 30)
EIGENPAIRS = (3, 4, 5, 6, 8, 10, 12, 15, 20)
TIMES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


@dataclass(frozen=True)
class Point:
    """Accuracy with one setting; NaN if there are fewer modes than clusters."""

    graph: str
    radius: int
    n_eigenpairs: int
    time: float
    oa: float
    aa: float
    kappa: float


COLUMNS = tuple(Point.__dataclass_fields__)
"""Columns of the comma-separated values."""


def as_records(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Records of the points, rounded for output."""
    return [
        asdict(point)
        | {"time": f"{point.time:g}"}
        | {name: f"{getattr(point, name):.6f}" for name in ("oa", "aa", "kappa")}
        for point in points
    ]


@dataclass(frozen=True)
class _Prepared:
    """The parts that all settings share."""

    pixels: Pixels
    density: pipeline.Density


def sweep(
    scene: Scene,
    n_clusters: int,
    radii: Sequence[int] = RADII,
    settings: Iterable[tuple[int, float]] = ((10, 30.0),),
) -> list[Point]:
    """Score SRDL for every radius, both graphs, and every (eigenpairs, time) of `settings`.

    All other parameters are the defaults of SRDL. A radius larger than the image is cut to it.

    Parameters
    ----------
    scene : Scene
        With ground truth.
    n_clusters : int
    radii : sequence of int
    settings : iterable of (int, float)
        M and t.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((20, 20), n_classes=2, random_state=1)
    >>> [(point.graph, point.radius) for point in sweep(scene, 2, [4], [(5, 30.0)])]
    [('directed', 4), ('symmetric', 4)]
    """
    defaults = SRDL()
    settings = list(dict.fromkeys(settings))
    most = max(M for M, _ in settings)
    with progress.listen(_silent):  # the stages are steps of one sweep
        prepared = _prepare(scene, defaults)
    points = []
    for radius in progress.track(f"radii on {scene.name}", radii):
        with progress.listen(_silent):
            for name, eigenvalues, eigenvectors in _eigenpairs(prepared, defaults, radius, most):
                for M, t in settings:
                    coordinates = diffusion_coordinates(
                        eigenvalues[:M], np.ascontiguousarray(eigenvectors[:, :M]), t
                    )
                    accuracy = _accuracy(scene, prepared, defaults, coordinates, n_clusters)
                    points.append(Point(name, radius, M, t, *accuracy))
    return points


def grid_settings(n_eigenpairs: int, time: float) -> list[tuple[int, float]]:
    """List (M, t) for the grids: every M with one time, and every time with one M."""
    return [(M, time) for M in sorted({*EIGENPAIRS, n_eigenpairs})] + [
        (n_eigenpairs, t) for t in TIMES if t != time
    ]


def _silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""


def _prepare(scene: Scene, defaults: SRDL) -> _Prepared:
    pixels = take_pixels(scene)
    spectra = normalize_spectra(pixels.spectra, defaults.normalize)
    _, d2 = global_neighbors(spectra, defaults.density_neighbors)
    density = pipeline.rank_by_density(d2, pipeline.automatic_bandwidth(spectra))
    return _Prepared(Pixels(spectra, pixels.grid), density)


def _eigenpairs(
    prepared: _Prepared, defaults: SRDL, radius: int, n_eigenpairs: int
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the eigenpairs of both graphs of a radius."""
    spectra, grid = prepared.pixels.spectra, prepared.pixels.grid
    settings = pipeline.GraphSettings(defaults.n_neighbors, radius, sigma=defaults.sigma)
    near = pipeline.nearest_neighbors(spectra, grid, settings)
    for name, symmetrize in GRAPHS.items():
        graph = pipeline.neighbor_graph(
            near, spectra, grid, replace(settings, symmetrize=symmetrize)
        )
        yield name, *pipeline.random_walk(graph, n_eigenpairs)


def _accuracy(
    scene: Scene,
    prepared: _Prepared,
    defaults: SRDL,
    coordinates: NDArray[np.float64],
    n_clusters: int,
) -> tuple[float, float, float]:
    grid, ascent = prepared.pixels.grid, pipeline.ascend(coordinates, prepared.density)
    try:
        found = pipeline.choose_modes(ascent, n_clusters, defaults.max_clusters)
    except SpectrawalkError:
        return float("nan"), float("nan"), float("nan")
    consensus = Consensus(defaults.consensus_radius)
    labels = pipeline.label_from_modes(ascent, found.pixels, grid, consensus)
    assert scene.ground_truth is not None
    scores = score(scene.ground_truth, grid.to_image(labels, -1))
    return scores.oa, scores.aa, scores.kappa
