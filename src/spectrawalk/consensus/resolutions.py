"""Base clusterings at many resolutions: two ensembles, weighed by the detail of the image.

The ensemble for fields follows faint differences between smooth regions. It holds SRDL runs on
within-field components, in a window and over the whole image, SRDL runs on MNF components, and
K-means runs on within-field components. Each graph is solved once and labelled for many K.

The ensemble for materials follows what differs between adjacent pixels. It holds K-means runs on
random halves of the bands (random subspaces; Ho, 1998), plain and with a weak Markov random field.
What all halves agree on does not depend on a few bands.

Inside an ensemble all runs count alike, for every K. `detail` is the share of the votes that the
ensemble for materials has, from 0 (fields) to 1 (materials).

References
----------
T. K. Ho, "The random subspace method for constructing decision forests", IEEE Transactions on
Pattern Analysis and Machine Intelligence 20, 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.features import (
    MNF_COMPONENTS,
    BandHalves,
    Projection,
    local_mean,
    mnf_components,
    principal_coordinates,
    varies,
    within_field_components,
)
from spectrawalk.consensus.graphs import SolvedGraph, diffusion_at, solve_graphs, window_radius
from spectrawalk.consensus.kmeans import (
    MeansRule,
    kmeans,
    neighbor_weights,
    of_spectra,
    several_runs,
    spatial_kmeans,
)
from spectrawalk.kernels.tree import build_tree
from spectrawalk.prepare.pixels import Grid, Pixels
from spectrawalk.progress import track
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.labels import Consensus
from spectrawalk.threads import count, run_blocks

T = TypeVar("T")

RESOLUTIONS = (2, 3, 4, 6, 8, 11, 16, 22, 30)
"""Numbers of clusters of the runs: a geometric series, so that every scale has as many."""

FINEST_HALF = 16
"""Largest number of clusters of a run on half of the bands. Finer ones differ from half to half."""

WITHIN_FIELD = 8
"""Within-field components that are used."""

CONSENSUS_RADIUS = {"within-field": 3, "spectra": 1}
"""Radius in pixels of the spatial consensus of SRDL runs, on within-field components and others."""

HALVINGS = 3
"""Times that the bands are divided into two random halves for each number of clusters."""

STRENGTH = 0.5
"""Strength of the Markov random field: log-odds that the membership of one neighbour adds."""

PIXELS_AT_ONCE = 4_000_000
"""Pixels of all runs that threads work on at once. A run takes about 1 kB per pixel, so together
they take less memory than the eigenpairs did before."""

LEAST_SHARE = 0.05
"""An ensemble with a smaller share of the votes is left out: it costs time and changes nothing."""


class BaseClusterings(NamedTuple):
    """Labels of all runs, and how much each one counts."""

    labels: NDArray[np.uint8]
    """Shape (runs, n)."""
    weights: NDArray[np.float64]
    """Shape (runs,); the sum is 1."""
    even_weights: NDArray[np.float64]
    """The same, with an equal share for each feature set of an ensemble. Runs on one feature set
    tend to make the same errors, so they are one witness, not many."""
    features: list[str]
    """Feature set of each run: "within-field", "spectra" (MNF components) or "halves"."""
    numbers: list[int]
    """Number of clusters of each run."""
    rules: Rules
    """How to label other pixels as the runs would."""


class Run(NamedTuple):
    """Labels of one run."""

    features: str
    n_clusters: int
    labels: NDArray[np.uint8]
    rule: MeansRule | None = None
    """How to label other pixels; None for SRDL runs, whose labels come from the nearest pixel."""


class Rules(NamedTuple):
    """How to label other pixels as the runs would."""

    runs: list[MeansRule | None]
    """One for each run; None for SRDL runs."""
    projections: dict[str, Projection]
    """Of each feature set of SRDL runs: "within-field" (of smoothed spectra) and "spectra"."""


def base_clusterings(pixels: Pixels, detail: float, seed: int) -> BaseClusterings:
    """Run the ensembles.

    Parameters
    ----------
    pixels : Pixels
        Scaled spectra.
    detail : float
        Share of the votes of the ensemble for materials, 0 to 1.
    seed : int
        Seed of K-means and of the halves of the bands.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.prepare.pixels import take_pixels
    >>> found = base_clusterings(take_pixels(make_scene((20, 20))), 0.4, 0)
    >>> sorted(set(found.features)), found.labels.shape[1]
    (['halves', 'spectra', 'within-field'], 400)
    >>> shares = [[weight for weight, each in zip(found.even_weights, found.features)
    ...            if each == name] for name in sorted(set(found.features))]
    >>> [round(float(sum(share)), 2) for share in shares]
    [0.4, 0.3, 0.3]
    """
    found: list[tuple[float, list[Run]]] = []
    projections: dict[str, Projection] = {}
    if 1 - detail >= LEAST_SHARE:
        features = field_features(pixels)
        projections = {each.name: each.projection for each in features}
        found.append((1 - detail, list(field_runs(features, pixels.grid, seed))))
    if detail >= LEAST_SHARE:
        found.append((detail, list(material_runs(pixels, seed))))
    found = [(share, runs) for share, runs in found if runs]
    if not found:  # so few distinct pixels that no run finds two clusters
        found = [(1.0, [Run("spectra", 1, np.zeros(len(pixels.spectra), np.uint8))])]
    runs = [run for _, some in found for run in some]
    weights = np.concatenate([np.full(len(some), share / len(some)) for share, some in found])
    even = np.concatenate([share * _even(some) for share, some in found])
    return BaseClusterings(
        np.stack([run.labels for run in runs]),
        weights / weights.sum(),
        even / even.sum(),
        [run.features for run in runs],
        [run.n_clusters for run in runs],
        Rules([run.rule for run in runs], projections),
    )


def _even(runs: list[Run]) -> NDArray[np.float64]:
    """Weights of the runs of one ensemble with an equal share for each feature set."""
    features = [run.features for run in runs]
    return np.array([1 / (len(set(features)) * features.count(each)) for each in features])


class Features(NamedTuple):
    """A feature set of the ensemble for fields."""

    name: str
    points: NDArray[np.float64]
    """Shape (n, features)."""
    projection: Projection
    radii: tuple[int | None, ...]
    """Half-width of the window of each graph; None: neighbours in the whole image."""


def field_features(pixels: Pixels) -> list[Features]:
    """Within-field components and MNF components, where they vary.

    A table has no space, so principal components take the place of both.
    """
    spectra, grid = pixels.spectra, pixels.grid
    found = []
    if grid.is_image:
        radii = (window_radius(grid.mask), None)
        smoothed = local_mean(spectra, grid.mask)
        components, projection = within_field_components(smoothed, grid.mask, overwrite=True)
        del smoothed
        points = np.ascontiguousarray(components[:, :WITHIN_FIELD])
        found.append(Features("within-field", points, projection.first(WITHIN_FIELD), radii))
        components, projection = mnf_components(spectra, grid.mask)
        points = components[:, :MNF_COMPONENTS].copy()
        found.append(Features("spectra", points, projection.first(MNF_COMPONENTS), (None,)))
    if not found or not varies(found[-1].points):  # a table, or an image without noise
        found[1:] = [Features("spectra", *principal_coordinates(spectra), (None,))]
    return [each for each in found if varies(each.points)]


def field_runs(features: list[Features], grid: Grid, seed: int) -> Iterator[Run]:
    """SRDL runs on each feature set, and K-means runs on the first one."""
    for each in track("ensemble", features):
        consensus = Consensus(grid.clip(CONSENSUS_RADIUS[each.name]))
        most = min(RESOLUTIONS[-1], len(each.points))
        for solved in solve_graphs(each.points, grid, each.radii, most):
            yield from _srdl_runs(each.name, solved, grid, consensus)
    if not features:
        return
    first = features[0]
    with several_runs():
        run = partial(_kmeans_run, first.name, first.points, seed)
        runs = _shared(run, [(k,) for k in reversed(RESOLUTIONS)], first.points)
    yield from (run for run in reversed(runs) if run is not None)


def material_runs(pixels: Pixels, seed: int) -> Iterator[Run]:
    """K-means runs on random halves of the bands, plain and with a Markov random field."""
    grid = pixels.grid
    rng = np.random.default_rng(seed)
    halves = BandHalves(pixels.spectra)
    near = neighbor_weights(grid.mask) if grid.is_image else None

    def runs_on(half: NDArray[np.intp], k: int, run_seed: int) -> list[Run]:
        projection = halves.projection(half)
        points = halves.components(projection)
        run = _kmeans_run("halves", points, run_seed, k)
        runs = [] if run is None else [run]
        if runs and near is not None:
            labels, rule = spatial_kmeans(points, grid.mask, runs[0].labels, STRENGTH, near)
            runs.append(Run("halves", k, labels.astype(np.uint8), rule))
        return [run._replace(rule=of_spectra(run.rule, projection)) for run in runs]

    for k in track("K-means", [k for k in RESOLUTIONS if k <= FINEST_HALF]):
        plans = [
            (half, k, int(rng.integers(2**31)))
            for _ in range(HALVINGS)
            for half in halves.draw(rng)
        ]
        with several_runs():
            runs = _shared(runs_on, plans, pixels.spectra)
        yield from chain.from_iterable(runs)


def _srdl_runs(
    features: str, solved: SolvedGraph, grid: Grid, consensus: Consensus
) -> Iterator[Run]:
    """SRDL labels for each number of clusters and density; none where there are too few modes.

    Threads share the numbers, the largest first, because it takes longest.
    """

    def runs_at(k: int) -> list[Run]:
        coordinates = diffusion_at(solved, k)  # one eigenpair per cluster
        tree, runs = build_tree(coordinates), []
        for density in solved.densities.values():
            ascent = pipeline.ascend(coordinates, density, tree)
            if np.count_nonzero(ascent.mode_score > 0) >= k:
                modes = pipeline.choose_modes(ascent, k, k).pixels
                labels = pipeline.label_from_modes(ascent, modes, grid, consensus, tree)
                runs.append(Run(features, k, labels.astype(np.uint8)))
        return runs

    found = _shared(runs_at, [(k,) for k in reversed(RESOLUTIONS)], solved.eigenvectors)
    return chain.from_iterable(reversed(found))


def _kmeans_run(features: str, points: NDArray[np.float64], seed: int, k: int) -> Run | None:
    """K-means labels; None where there are too few distinct points."""
    if k >= len(points):
        return None
    labels, rule = kmeans(points, k, seed)
    enough = len(np.unique(labels)) == k
    return Run(features, k, labels.astype(np.uint8), rule) if enough else None


def _shared(
    function: Callable[..., T], plans: Sequence[tuple[Any, ...]], points: NDArray[np.float64]
) -> list[T]:
    """Share independent runs among threads, as many at once as memory allows."""
    return run_blocks(function, plans, max(1, min(count(), PIXELS_AT_ONCE // len(points))))
