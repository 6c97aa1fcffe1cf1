"""A family of SRDL runs: over views, radii, times, eigenpairs and densities.

Runs on the same graph share its neighbours and eigenpairs, so that a family of dozens costs about
as much as its few graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.consensus.features import FeatureSet, FeatureSets, leading
from spectrawalk.consensus.kmeans import kmeans_labels
from spectrawalk.prepare.pixels import Grid
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.density import BANDWIDTH_SHARE, density_ranking
from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.labels import Consensus
from spectrawalk.srdl.neighbors import global_neighbors
from spectrawalk.srdl.pipeline import Ascent, Density, Graph, GraphSettings, Neighbors

RADIUS_SHARE = 0.3
"""The base radius as a share of the image's shorter side..."""

LARGEST_RADIUS = 16
"""...and at most this: the search in a window must not grow with the image."""

WIDTHS = (0, 2, 4)
"""Leading contrasts that a graph is made of, beyond one per cluster."""

Factors = tuple[float | None, ...]
"""Radii of a view's graphs, in units of the base radius; None is the whole image."""

WITHIN_FIELD_FACTORS: Factors = (1.0, None)
"""Fields that stand out from what varies inside them find those of their kind from afar."""

OTHER_FACTORS: Factors = (0.67, 1.5)
"""In other views they do not."""

NEIGHBOR_SHARE = {True: 0.5, False: 1.0}
"""Neighbours in the graphs of smoothed views, and of others, as a share of `n_neighbors`."""

REMAINS = (0.5, 0.1)
"""Times are such that this part of the last eigenpair used is left: one short, one long."""

EXTRA_EIGENPAIRS = 2
"""Eigenpairs beyond one per cluster, in some of the runs on a graph."""

FINE = 3
"""Clusters of a fine run, per cluster wanted."""

DENSITY_NEIGHBORS = 100
"""Spectra whose mean distance makes the second kind of density."""

WEIGHT_SCALE = 10.0
"""Scale of the weights in units of the typical distance: nearly unweighted is what works."""


TOLERANCE = 1e-6
"""Residual at which an eigenvector is final: one of many runs may be cruder than a single one."""

MEAN_SAMPLE = 3_000
"""Pixels whose mean distance sets the bandwidth of the first kind of density."""


class Settings(NamedTuple):
    """What is given rather than chosen; None where it is left to the family."""

    windowed: bool
    """Whether neighbours are sought in windows, or in the whole image as DLSS does."""
    radius: int | None
    n_neighbors: int
    time: float | None
    n_eigenpairs: int | None
    density_neighbors: int
    consensus: Consensus


class SolvedGraph(NamedTuple):
    """A graph of the ensemble and the eigenpairs of its random walk."""

    view: str
    smoothed: bool
    radius: int | None
    eigenvalues: NDArray[np.float64]
    eigenvectors: NDArray[np.float64]
    densities: dict[str, Density]
    bandwidth: float
    """Of the first kind of density."""
    n_components: int
    neighbors: NDArray[np.int32]


class BaseClustering(NamedTuple):
    """One run: how it was made, and its labels."""

    view: str
    smoothed: bool
    radius: int | None
    density: str | None
    """Kind of density that tells its modes; None for a cut, which has none."""
    extra_eigenpairs: int
    """Eigenpairs beyond one per cluster."""
    remains: float | None
    """What the time leaves of the last eigenpair; None for a given time."""
    labels: NDArray[np.int32]


_Variant = tuple[int | None, float | None]
"""Eigenpairs beyond one per cluster, and what the time leaves; None where given."""


class Solution(NamedTuple):
    """What an SRDL run leaves behind besides labels."""

    ascent: Ascent
    eigenvalues: NDArray[np.float64]
    time: float
    bandwidth: float
    neighbors: NDArray[np.int32]
    """Of each pixel in the graph, shape (n, k); -1 where there are fewer."""


def base_radius(mask: NDArray[np.bool_], radius: int | None = None) -> int:
    """Radius around which the family's radii lie.

    Examples
    --------
    >>> import numpy as np
    >>> base_radius(np.ones((30, 50), dtype=bool)), base_radius(np.ones((500, 500), dtype=bool))
    (9, 16)
    """
    if radius is not None:
        return radius
    return max(2, min(round(RADIUS_SHARE * min(mask.shape)), LARGEST_RADIUS))


def graph_features(views: FeatureSets, n_clusters: int) -> list[tuple[FeatureSet, Factors]]:
    """What graphs are made of: contrasts, some more or fewer, and the other view of least noise.

    All spectral views, where there are no contrasts.
    """
    if views.within_field is None:
        return [(view, OTHER_FACTORS) for view in views.spectral]
    most = views.within_field.points.shape[1]
    widths = sorted({min(max(2, n_clusters) + extra, most) for extra in WIDTHS})
    contrasts = [(leading(views.within_field, width), WITHIN_FIELD_FACTORS) for width in widths]
    return contrasts + [(view, OTHER_FACTORS) for view in views.spectral[-1:]]


def solve_graphs(
    features: list[tuple[FeatureSet, Factors]],
    grid: Grid,
    n_eigenpairs: int,
    settings: Settings,
) -> Iterator[SolvedGraph]:
    """Build the ensemble's graphs one by one, and solve each for its leading eigenpairs."""
    if not grid.is_image or not settings.windowed:
        features = [(view, (None,)) for view, _ in features]
    plans = [(view, factors, factor) for view, factors in features for factor in factors]
    last: FeatureSet | None = None
    searched: _Searched | None = None
    for view, factors, factor in progress.track("ensemble", plans):
        if searched is None or view is not last:
            last, searched = view, _search(view, settings, keep=None in factors)
        yield _solve(view, factor, grid, n_eigenpairs, settings, searched)


class _Searched(NamedTuple):
    """What one search of the whole image gives: densities, and the neighbours of a graph."""

    densities: dict[str, Density]
    bandwidth: float
    """Of the first kind of density."""
    near: Neighbors
    """No neighbours where no graph needs them."""


def _solve(
    view: FeatureSet,
    factor: float | None,
    grid: Grid,
    n_eigenpairs: int,
    settings: Settings,
    searched: _Searched,
) -> SolvedGraph:
    graph_settings = GraphSettings(_graph_neighbors(view, settings))
    near = searched.near
    if factor is not None:
        radius = max(1, round(factor * base_radius(grid.mask, settings.radius)))
        graph_settings = replace(graph_settings, radius=radius)
        near = pipeline.nearest_neighbors(view.points, grid, graph_settings)
    graph = nearly_unweighted_graph(view.points, grid, near, graph_settings)
    index = near.index
    del near  # of a large image the distances are as much as all the rest
    values, vectors = pipeline.random_walk(graph, n_eigenpairs, TOLERANCE)
    return SolvedGraph(
        view.name,
        view.smoothed,
        graph_settings.radius,
        values,
        vectors,
        searched.densities,
        searched.bandwidth,
        graph.n_components,
        index,
    )


def nearly_unweighted_graph(
    points: NDArray[np.float64], grid: Grid, near: Neighbors, settings: GraphSettings
) -> Graph:
    """Graph whose weights are nearly equal: their scale is ten times the typical distance."""
    present = np.isfinite(near.d2)
    typical = float(np.sqrt(np.mean(near.d2, where=present))) if present.any() else 0.0
    sigma = WEIGHT_SCALE * typical if typical > 0 else 1.0
    return pipeline.neighbor_graph(near, points, grid, replace(settings, sigma=sigma))


def _graph_neighbors(view: FeatureSet, settings: Settings) -> int:
    return max(1, round(NEIGHBOR_SHARE[view.smoothed] * settings.n_neighbors))


def _search(view: FeatureSet, settings: Settings, *, keep: bool) -> _Searched:
    """Search the nearest spectra of the whole image, for densities and, to `keep`, for a graph.

    Densities are the paper's, which sees near spectra only, and one that sees more.
    """
    points, density_neighbors = view.points, settings.density_neighbors
    k = _graph_neighbors(view, settings)
    index, d2 = global_neighbors(points, max(k, density_neighbors, DENSITY_NEIGHBORS))
    many = d2[:, :DENSITY_NEIGHBORS]
    mean = np.sqrt(many).mean(axis=1)
    floor = 1e-9 * float(mean.max()) or 1.0
    wide = 1 / np.maximum(mean, floor)
    wide /= wide.sum()
    # Where all but a few pixels are equal, any bandwidth will do.
    bandwidth = pipeline.automatic_bandwidth(points, MEAN_SAMPLE) or 1.0 / BANDWIDTH_SHARE
    near = d2[:, :density_neighbors]
    # Noise can keep all spectra farther apart than the paper's bandwidth reaches.
    while not np.exp(-near / bandwidth**2).sum() > 0:
        bandwidth *= 2
    kept = k if keep else 0
    return _Searched(
        {
            "near": pipeline.rank_by_density(near, bandwidth),
            "wide": Density(wide, density_ranking(wide, many)),
        },
        bandwidth,
        Neighbors(index[:, :kept].copy(), d2[:, :kept].copy()),
    )


def fine_labels(
    solution: Solution, grid: Grid, n_clusters: int, settings: Settings
) -> NDArray[np.int32]:
    """Label the pixels of a run again, from up to three times as many modes, for queries."""
    ascent = solution.ascent
    most = min(FINE * n_clusters, int(np.count_nonzero(ascent.mode_score > 0)))
    return _labels(ascent, most, grid, settings)


def _labels(ascent: Ascent, n_clusters: int, grid: Grid, settings: Settings) -> NDArray[np.int32]:
    found = pipeline.choose_modes(ascent, n_clusters, n_clusters)
    return pipeline.label_from_modes(ascent, found.pixels, grid, settings.consensus)


def srdl_runs(
    solved: SolvedGraph, grid: Grid, n_clusters: int, settings: Settings
) -> Iterator[tuple[BaseClustering, Solution]]:
    """SRDL runs on one graph that find `n_clusters`; those that cannot are left out."""
    for kind, density in solved.densities.items():
        for variant in _variants(settings):
            extra, remains = variant
            values, time, coordinates = _coordinates(solved, n_clusters, variant, settings)
            ascent = pipeline.ascend(coordinates, density)
            if np.count_nonzero(ascent.mode_score > 0) < n_clusters:
                continue
            labels = _labels(ascent, n_clusters, grid, settings)
            member = BaseClustering(
                solved.view, solved.smoothed, solved.radius, kind, extra or 0, remains, labels
            )
            yield member, Solution(ascent, values, time, solved.bandwidth, solved.neighbors)


def spectral_run(
    solved: SolvedGraph, n_clusters: int, settings: Settings, seed: int
) -> BaseClustering | None:
    """Cut one graph into clusters by K-means in diffusion coordinates, at the short time.

    Modes are told by single pixels, and the more of them are wanted, the likelier one goes astray;
    K-means looks at all pixels. None where there are fewer distinct places than clusters.
    """
    variant = _variants(settings)[0]
    _, _, coordinates = _coordinates(solved, n_clusters, variant, settings)
    labels = kmeans_labels(coordinates, n_clusters, seed)
    if len(np.unique(labels)) < n_clusters:
        return None
    extra, remains = variant
    return BaseClustering(
        solved.view, solved.smoothed, solved.radius, None, extra or 0, remains, labels
    )


def _coordinates(
    solved: SolvedGraph, n_clusters: int, variant: _Variant, settings: Settings
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """Eigenvalues used, time, and diffusion coordinates of one variant of the runs on a graph."""
    extra, remains = variant
    wanted = max(2, n_clusters) + extra if extra is not None else settings.n_eigenpairs
    m = min(int(wanted or 2), len(solved.eigenvalues))
    values = solved.eigenvalues[:m]
    time = settings.time or time_for(values, remains or REMAINS[0])
    coordinates = diffusion_coordinates(values, solved.eigenvectors[:, :m], time)
    return values, time, np.ascontiguousarray(coordinates)


def _variants(settings: Settings) -> list[_Variant]:
    """Runs on one graph and density; the first one is of the short time."""
    remains: tuple[float | None, ...] = (None,) if settings.time is not None else REMAINS
    if settings.n_eigenpairs is not None:
        return [(None, left) for left in remains]
    return [*((0, left) for left in remains), (EXTRA_EIGENPAIRS, remains[0])]


def time_for(eigenvalues: NDArray[np.float64], remains: float) -> float:
    """Time after which this part of the last eigenpair is left, whatever the size of the image.

    Examples
    --------
    >>> import numpy as np
    >>> round(time_for(np.array([1.0, 0.99, 0.98]), 0.5))
    34
    """
    last = float(np.clip(np.abs(eigenvalues[-1]), 1e-6, 1 - 1e-12))
    return float(np.log(remains) / np.log(last))
