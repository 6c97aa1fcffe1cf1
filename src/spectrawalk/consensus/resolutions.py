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

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.features import (
    MNF_COMPONENTS,
    BandHalves,
    local_mean,
    mnf_components,
    principal_coordinates,
    varies,
    within_field_components,
)
from spectrawalk.consensus.graphs import SolvedGraph, diffusion_at, solve_graphs, window_radius
from spectrawalk.consensus.kmeans import kmeans_labels, spatial_kmeans
from spectrawalk.prepare.pixels import Grid, Pixels
from spectrawalk.progress import track
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.labels import Consensus

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

LEAST_SHARE = 0.01
"""An ensemble with a smaller share of the votes is left out: it costs time and changes nothing."""


class BaseClusterings(NamedTuple):
    """Labels of all runs, and how much each one counts."""

    labels: NDArray[np.uint8]
    """Shape (runs, n)."""
    weights: NDArray[np.float64]
    """Shape (runs,); the sum is 1."""
    ensembles: list[str]
    """Ensemble of each run, "fields" or "materials"."""
    numbers: list[int]
    """Number of clusters of each run."""


_Run = tuple[int, NDArray[np.int32]]
"""Number of clusters of a run, and its labels."""


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
    >>> sorted(set(found.ensembles)), found.labels.shape[1]
    (['fields', 'materials'], 400)
    >>> [round(sum(found.weights[np.array(found.ensembles) == each]), 2)
    ...  for each in ("fields", "materials")]
    [0.6, 0.4]
    """
    shares = {"fields": 1 - detail, "materials": detail}
    run = {"fields": field_runs, "materials": material_runs}
    found = {
        ensemble: list(run[ensemble](pixels, seed))
        for ensemble, share in shares.items()
        if share >= LEAST_SHARE
    }
    found = {ensemble: runs for ensemble, runs in found.items() if runs}
    if not found:  # so few distinct pixels that no run finds two clusters
        found = {"fields": [(1, np.zeros(len(pixels.spectra), dtype=np.int32))]}
    weights = np.concatenate(
        [np.full(len(runs), shares[ensemble] / len(runs)) for ensemble, runs in found.items()]
    )
    return BaseClusterings(
        np.stack([labels for runs in found.values() for _, labels in runs]).astype(np.uint8),
        weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights)),
        [ensemble for ensemble, runs in found.items() for _ in runs],
        [k for runs in found.values() for k, _ in runs],
    )


def field_runs(pixels: Pixels, seed: int) -> Iterator[_Run]:
    """SRDL and K-means runs on within-field components, and SRDL runs on MNF components.

    A table has no space, so its spectra take the place of both.
    """
    grid = pixels.grid
    fields, mnf = _within_field(pixels), _mnf(pixels)
    plans: list[tuple[NDArray[np.float64], tuple[int | None, ...], str]] = [
        (mnf, (None,), "spectra")
    ]
    if grid.is_image:
        plans.insert(0, (fields, (window_radius(grid.mask), None), "within-field"))
    for points, radii, kind in track("ensemble", [plan for plan in plans if varies(plan[0])]):
        consensus = Consensus(grid.clip(CONSENSUS_RADIUS[kind]))
        most = min(RESOLUTIONS[-1], len(points))
        for solved in solve_graphs(points, grid, radii, most):
            yield from _srdl_runs(solved, grid, consensus)
    yield from _kmeans_runs(fields if varies(fields) else mnf, RESOLUTIONS, seed)


def material_runs(pixels: Pixels, seed: int) -> Iterator[_Run]:
    """K-means runs on random halves of the bands, plain and with a Markov random field."""
    grid = pixels.grid
    rng = np.random.default_rng(seed)
    halves = BandHalves(pixels.spectra)
    plans = [k for k in RESOLUTIONS if k <= FINEST_HALF for _ in range(HALVINGS)]
    for k in track("K-means", plans):
        for points in halves.draw(rng):
            for _, labels in _kmeans_runs(points, (k,), int(rng.integers(2**31))):
                yield k, labels
                if grid.is_image:
                    yield k, spatial_kmeans(points, grid.mask, labels, STRENGTH)


def _within_field(pixels: Pixels) -> NDArray[np.float64]:
    """Leading within-field components; no columns if no two pixels are far enough apart."""
    if not pixels.grid.is_image:
        return np.empty((len(pixels.spectra), 0))
    mask = pixels.grid.mask
    smoothed = local_mean(pixels.spectra, mask)
    components = within_field_components(smoothed, mask, overwrite=True)
    return np.ascontiguousarray(components[:, :WITHIN_FIELD])


def _mnf(pixels: Pixels) -> NDArray[np.float64]:
    """MNF components; principal components where there is no space, or no noise."""
    if pixels.grid.is_image:
        components = mnf_components(pixels.spectra, pixels.grid.mask)[:, :MNF_COMPONENTS].copy()
        if varies(components):
            return components
    return principal_coordinates(pixels.spectra)


def _srdl_runs(solved: SolvedGraph, grid: Grid, consensus: Consensus) -> Iterator[_Run]:
    """SRDL labels for each number of clusters and density; none where there are too few modes."""
    for k in RESOLUTIONS:
        coordinates = diffusion_at(solved, k)  # one eigenpair per cluster
        for density in solved.densities.values():
            ascent = pipeline.ascend(coordinates, density)
            if np.count_nonzero(ascent.mode_score > 0) >= k:
                modes = pipeline.choose_modes(ascent, k, k).pixels
                yield k, pipeline.label_from_modes(ascent, modes, grid, consensus)


def _kmeans_runs(
    points: NDArray[np.float64], numbers: tuple[int, ...], seed: int
) -> Iterator[_Run]:
    """K-means labels for each number of clusters; none where there are too few distinct points."""
    for k in numbers:
        if k < len(points):
            labels = kmeans_labels(points, k, seed)
            if len(np.unique(labels)) == k:
                yield k, labels
