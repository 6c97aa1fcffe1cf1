"""Ensemble of SRDL and spectral clustering runs on several graphs.

The runs differ in feature set, radius, diffusion time, number of eigenpairs and kind of density.
Runs on the same graph share its neighbours and eigenpairs, so dozens of runs cost little more than
the few graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.consensus.features import FeatureSet, FeatureSets, leading_components
from spectrawalk.consensus.kmeans import kmeans_labels
from spectrawalk.prepare.pixels import Grid
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.density import BANDWIDTH_SHARE, density_ranking
from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.labels import Consensus
from spectrawalk.srdl.neighbors import global_neighbors
from spectrawalk.srdl.pipeline import Ascent, Density, Graph, GraphSettings, Neighbors

RADIUS_SHARE = 0.3
"""Base radius, as a share of the shorter side of the image..."""

LARGEST_RADIUS = 16
"""...but at most this, so that the search time per pixel does not grow with the image."""

EXTRA_COMPONENTS = (0, 2, 4)
"""Within-field components that a graph uses beyond one per cluster; one graph for each."""

Factors = tuple[float | None, ...]
"""Radii of the graphs of a feature set, in units of the base radius; None: the whole image."""

WITHIN_FIELD_FACTORS: Factors = (1.0, None)
"""For within-field components. They separate fields well enough to search the whole image for
neighbours of the same kind."""

OTHER_FACTORS: Factors = (0.67, 1.5)
"""For the other feature sets, whose neighbours are searched in windows only."""

NEIGHBOR_SHARE = {True: 0.5, False: 1.0}
"""Neighbours in the graphs, as a share of `n_neighbors`; key: whether the set is smoothed."""

DECAYS = (0.5, 0.1)
"""Values of lambda^t of the last eigenvalue used: they define a short and a long time t."""

EXTRA_EIGENPAIRS = 2
"""Eigenpairs beyond one per cluster, in some of the runs on a graph."""

FINE = 3
"""Clusters of a finer run (for active learning queries), per cluster wanted."""

DENSITY_NEIGHBORS = 100
"""Nearest spectra whose mean distance gives the second kind of density, "wide"."""

WEIGHT_SCALE = 10.0
"""Scale sigma of the weights, in units of the typical distance. Nearly equal weights work best."""

TOLERANCE = 1e-6
"""Largest residual of an eigenvector. One of many runs needs less precision than a single run."""

MEAN_SAMPLE = 3_000
"""Pixels whose mean distance sets the bandwidth of the first kind of density, "near"."""


class Settings(NamedTuple):
    """Settings of the user. None: the ensemble chooses or varies the value."""

    windowed: bool
    """Whether neighbours are searched in windows, or in the whole image as in DLSS."""
    radius: int | None
    n_neighbors: int
    time: float | None
    n_eigenpairs: int | None
    density_neighbors: int
    consensus: Consensus


class SolvedGraph(NamedTuple):
    """A graph of the ensemble and the eigenpairs of its random walk."""

    features: str
    """Name of the feature set."""
    smoothed: bool
    radius: int | None
    """None: neighbours in the whole image."""
    eigenvalues: NDArray[np.float64]
    eigenvectors: NDArray[np.float64]
    densities: dict[str, Density]
    bandwidth: float
    """Bandwidth of the first kind of density."""
    n_components: int
    neighbors: NDArray[np.int32]


class BaseClustering(NamedTuple):
    """Labels of one run, and the settings that it used."""

    features: str
    """Name of the feature set."""
    smoothed: bool
    radius: int | None
    density: str | None
    """Kind of density of an SRDL run, "near" or "wide"; None for a spectral clustering run."""
    extra_eigenpairs: int
    """Eigenpairs beyond one per cluster."""
    decay: float | None
    """lambda^t of the last eigenvalue used; None if the user gave the time."""
    labels: NDArray[np.int32]


_Variant = tuple[int | None, float | None]
"""Eigenpairs beyond one per cluster, and the decay; each None if the user gave the value."""


class Solution(NamedTuple):
    """Result of an SRDL run besides its labels."""

    ascent: Ascent
    eigenvalues: NDArray[np.float64]
    time: float
    bandwidth: float
    neighbors: NDArray[np.int32]
    """Neighbours of each pixel in the graph, shape (n, k); -1 where there are fewer."""


def base_radius(mask: NDArray[np.bool_], radius: int | None = None) -> int:
    """Base radius, around which the radii of the ensemble vary.

    Examples
    --------
    >>> import numpy as np
    >>> base_radius(np.ones((30, 50), dtype=bool)), base_radius(np.ones((500, 500), dtype=bool))
    (9, 16)
    """
    if radius is not None:
        return radius
    return max(2, min(round(RADIUS_SHARE * min(mask.shape)), LARGEST_RADIUS))


def graph_features(sets: FeatureSets, n_clusters: int) -> list[tuple[FeatureSet, Factors]]:
    """Choose the feature sets of the graphs, each with the radii of its graphs.

    They are different numbers of within-field components, and the last spectral feature set, which
    has the least noise. Without within-field components they are all spectral feature sets.
    """
    if sets.within_field is None:
        return [(features, OTHER_FACTORS) for features in sets.spectral]
    most = sets.within_field.points.shape[1]
    counts = sorted({min(max(2, n_clusters) + extra, most) for extra in EXTRA_COMPONENTS})
    within_field = [
        (leading_components(sets.within_field, count), WITHIN_FIELD_FACTORS) for count in counts
    ]
    return within_field + [(features, OTHER_FACTORS) for features in sets.spectral[-1:]]


def solve_graphs(
    chosen: list[tuple[FeatureSet, Factors]],
    grid: Grid,
    n_eigenpairs: int,
    settings: Settings,
) -> Iterator[SolvedGraph]:
    """Build the graphs of the ensemble one by one, and compute the leading eigenpairs of each."""
    if not grid.is_image or not settings.windowed:
        chosen = [(features, (None,)) for features, _ in chosen]
    plans = [(features, factors, factor) for features, factors in chosen for factor in factors]
    last: FeatureSet | None = None
    searched: _Searched | None = None
    for features, factors, factor in progress.track("ensemble", plans):
        if searched is None or features is not last:
            last, searched = features, _search(features, settings, keep=None in factors)
        yield _solve(features, factor, grid, n_eigenpairs, settings, searched)


class _Searched(NamedTuple):
    """Result of one search of the whole image: densities, and the neighbours of a graph."""

    densities: dict[str, Density]
    bandwidth: float
    """Bandwidth of the first kind of density."""
    near: Neighbors
    """Without columns if no graph uses them."""


def _solve(
    features: FeatureSet,
    factor: float | None,
    grid: Grid,
    n_eigenpairs: int,
    settings: Settings,
    searched: _Searched,
) -> SolvedGraph:
    graph_settings = GraphSettings(_graph_neighbors(features, settings))
    near = searched.near
    if factor is not None:
        radius = max(1, round(factor * base_radius(grid.mask, settings.radius)))
        graph_settings = replace(graph_settings, radius=radius)
        near = pipeline.nearest_neighbors(features.points, grid, graph_settings)
    graph = nearly_unweighted_graph(features.points, grid, near, graph_settings)
    index = near.index
    del near  # for a large image, the distances take as much memory as everything else
    values, vectors = pipeline.random_walk(graph, n_eigenpairs, TOLERANCE)
    return SolvedGraph(
        features.name,
        features.smoothed,
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
    """Graph with nearly equal weights: sigma is ten times the typical distance."""
    present = np.isfinite(near.d2)
    typical = float(np.sqrt(np.mean(near.d2, where=present))) if present.any() else 0.0
    sigma = WEIGHT_SCALE * typical if typical > 0 else 1.0
    return pipeline.neighbor_graph(near, points, grid, replace(settings, sigma=sigma))


def _graph_neighbors(features: FeatureSet, settings: Settings) -> int:
    return max(1, round(NEIGHBOR_SHARE[features.smoothed] * settings.n_neighbors))


def _search(features: FeatureSet, settings: Settings, *, keep: bool) -> _Searched:
    """Search the whole image for the nearest spectra, for two kinds of density.

    "near" is the paper's density, from few nearest spectra. "wide" uses more of them. If `keep` is
    true, the neighbours are kept for a graph.
    """
    points, density_neighbors = features.points, settings.density_neighbors
    k = _graph_neighbors(features, settings)
    index, d2 = global_neighbors(points, max(k, density_neighbors, DENSITY_NEIGHBORS))
    many = d2[:, :DENSITY_NEIGHBORS]
    mean = np.sqrt(many).mean(axis=1)
    floor = 1e-9 * float(mean.max()) or 1.0
    wide = 1 / np.maximum(mean, floor)
    wide /= wide.sum()
    # If nearly all pixels are equal, the mean distance can be 0, and any bandwidth works.
    bandwidth = pipeline.automatic_bandwidth(points, MEAN_SAMPLE) or 1.0 / BANDWIDTH_SHARE
    near = d2[:, :density_neighbors]
    # In noisy data, all distances can be much larger than the paper's bandwidth.
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
    """Labels of the same run with up to three times as many modes, for active learning queries."""
    ascent = solution.ascent
    most = min(FINE * n_clusters, int(np.count_nonzero(ascent.mode_score > 0)))
    return _labels(ascent, most, grid, settings)


def _labels(ascent: Ascent, n_clusters: int, grid: Grid, settings: Settings) -> NDArray[np.int32]:
    found = pipeline.choose_modes(ascent, n_clusters, n_clusters)
    return pipeline.label_from_modes(ascent, found.pixels, grid, settings.consensus)


def srdl_runs(
    solved: SolvedGraph, grid: Grid, n_clusters: int, settings: Settings
) -> Iterator[tuple[BaseClustering, Solution]]:
    """SRDL runs on one graph. Runs with fewer than `n_clusters` modes are skipped."""
    for kind, density in solved.densities.items():
        for variant in _variants(settings):
            extra, decay = variant
            values, time, coordinates = _coordinates(solved, n_clusters, variant, settings)
            ascent = pipeline.ascend(coordinates, density)
            if np.count_nonzero(ascent.mode_score > 0) < n_clusters:
                continue
            labels = _labels(ascent, n_clusters, grid, settings)
            run = BaseClustering(
                solved.features, solved.smoothed, solved.radius, kind, extra or 0, decay, labels
            )
            yield run, Solution(ascent, values, time, solved.bandwidth, solved.neighbors)


def spectral_run(
    solved: SolvedGraph, n_clusters: int, settings: Settings, seed: int
) -> BaseClustering | None:
    """Spectral clustering of one graph: K-means in diffusion coordinates, at the short time.

    An SRDL mode is a single pixel: with many clusters, it is more likely that one of the modes is
    an outlier. K-means uses all pixels. None if there are fewer distinct coordinates than clusters.
    """
    variant = _variants(settings)[0]
    _, _, coordinates = _coordinates(solved, n_clusters, variant, settings)
    labels = kmeans_labels(coordinates, n_clusters, seed)
    if len(np.unique(labels)) < n_clusters:
        return None
    extra, decay = variant
    return BaseClustering(
        solved.features, solved.smoothed, solved.radius, None, extra or 0, decay, labels
    )


def _coordinates(
    solved: SolvedGraph, n_clusters: int, variant: _Variant, settings: Settings
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """Eigenvalues used, time, and diffusion coordinates of one variant of the runs on a graph."""
    extra, decay = variant
    wanted = max(2, n_clusters) + extra if extra is not None else settings.n_eigenpairs
    return diffusion_at(solved, int(wanted or 2), settings.time, decay or DECAYS[0])


def diffusion_at(
    solved: SolvedGraph, n_eigenpairs: int, time: float | None = None, decay: float = DECAYS[0]
) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """Eigenvalues used, time, and diffusion coordinates; without a time, that of the decay."""
    m = min(n_eigenpairs, len(solved.eigenvalues))
    values = solved.eigenvalues[:m]
    time = time or time_for(values, decay)
    coordinates = diffusion_coordinates(values, solved.eigenvectors[:, :m], time)
    return values, time, np.ascontiguousarray(coordinates)


def _variants(settings: Settings) -> list[_Variant]:
    """Variants of the runs on one graph with one density; the first has the short time."""
    decays: tuple[float | None, ...] = (None,) if settings.time is not None else DECAYS
    if settings.n_eigenpairs is not None:
        return [(None, decay) for decay in decays]
    return [*((0, decay) for decay in decays), (EXTRA_EIGENPAIRS, decays[0])]


def time_for(eigenvalues: NDArray[np.float64], decay: float) -> float:
    """Time t at which lambda^t of the last eigenvalue is `decay`, for images of any size.

    Examples
    --------
    >>> import numpy as np
    >>> round(time_for(np.array([1.0, 0.99, 0.98]), 0.5))
    34
    """
    last = float(np.clip(np.abs(eigenvalues[-1]), 1e-6, 1 - 1e-12))
    return float(np.log(decay) / np.log(last))
