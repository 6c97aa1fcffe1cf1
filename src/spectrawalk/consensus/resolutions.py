"""Base clusterings at many resolutions: each graph is solved once and labelled for many K.

There are three kinds of runs. Runs for fields are SRDL runs on within-field components, which are
smoothed and separate faint differences between fields. Runs for spectra are SRDL runs on plain
spectra and MNF components, without a window. Runs for materials are K-means runs on plain spectra,
without a graph. `detail` weighs them, from fields (0) to materials (1), by the same rule for every
K.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.features import (
    MNF_COMPONENTS,
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

WITHIN_FIELD = 8
"""Within-field components of the runs for fields."""

SMOOTHING = {"fields": 3, "spectra": 1}
"""Radius in pixels of the spatial consensus of SRDL runs."""

STRENGTHS = (0.0, 0.5, 1.0)
"""Strengths of the Markov random field of K-means runs; 0 for none."""

KINDS = ("fields", "spectra", "materials")

AT_FIELDS = (0.6, 0.4, 0.0)
"""Weights of the kinds at detail 0..."""

AT_MATERIALS = (0.0, 0.1, 0.9)
"""...and at detail 1. In between they are interpolated."""

LEAST_WEIGHT = 0.01
"""A kind with a smaller weight is left out: it costs time and changes nothing."""


class BaseClusterings(NamedTuple):
    """Labels of all runs, and how much each one counts."""

    labels: NDArray[np.uint8]
    """Shape (runs, n)."""
    weights: NDArray[np.float64]
    """Shape (runs,); the sum is 1."""
    kinds: list[str]
    """Kind of each run."""
    numbers: list[int]
    """Number of clusters of each run."""
    neighbors: NDArray[np.int32]
    """Neighbours of each pixel in the first graph, shape (n, k)."""


def kind_weights(detail: float, present: tuple[str, ...] = KINDS) -> dict[str, float]:
    """Weight of each kind of run. The kinds that are not present leave theirs to the others.

    Examples
    --------
    >>> {kind: round(weight, 2) for kind, weight in kind_weights(0.5).items()}
    {'fields': 0.3, 'spectra': 0.25, 'materials': 0.45}
    >>> kind_weights(0.0, ("spectra", "materials"))
    {'spectra': 1.0}
    """
    weights = {
        kind: (1 - detail) * first + detail * last
        for kind, first, last in zip(KINDS, AT_FIELDS, AT_MATERIALS, strict=True)
        if kind in present
    }
    total = sum(weights.values())
    kept = {kind: weight for kind, weight in weights.items() if weight >= LEAST_WEIGHT * total}
    return {kind: weight / sum(kept.values()) for kind, weight in kept.items()}


def base_clusterings(pixels: Pixels, detail: float, seed: int) -> BaseClusterings:
    """Run the ensemble.

    Parameters
    ----------
    pixels : Pixels
        Scaled spectra.
    detail : float
        Weight of runs for materials, 0 to 1.
    seed : int
        Seed of K-means.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.prepare.pixels import take_pixels
    >>> found = base_clusterings(take_pixels(make_scene((20, 20))), 0.0, 0)
    >>> sorted(set(found.kinds)), found.labels.shape[1]
    (['fields', 'spectra'], 400)
    """
    grid, n = pixels.grid, len(pixels.spectra)
    sets = _feature_sets(pixels)
    weights = kind_weights(detail, tuple(kind for kind in KINDS if kind in sets))
    found: list[tuple[str, int, NDArray[np.integer]]] = []
    neighbors: list[NDArray[np.int32]] = []
    plans = [(kind, *each) for kind in weights for each in sets[kind] if kind != "materials"]
    for kind, points, radii in track("ensemble", plans):
        consensus = Consensus(grid.clip(SMOOTHING[kind]))
        for solved in solve_graphs(points, grid, radii, min(RESOLUTIONS[-1], n)):
            neighbors = neighbors or [solved.neighbors]
            found += [(kind, k, labels) for k, labels in srdl_runs(solved, grid, consensus)]
    if "materials" in weights:
        ((points, _),) = sets["materials"]
        found += [("materials", k, labels) for k, labels in kmeans_runs(points, grid, seed)]
    if not found:  # so few distinct pixels that no run finds two clusters
        found.append(("spectra", 1, np.zeros(n, dtype=np.uint8)))
        weights = {"spectra": 1.0}
    kinds = [kind for kind, _, _ in found]
    share = {kind: weight / max(kinds.count(kind), 1) for kind, weight in weights.items()}
    each = np.array([share[kind] for kind in kinds])
    return BaseClusterings(
        np.stack([labels for _, _, labels in found]).astype(np.uint8),
        each / each.sum(),
        kinds,
        [k for _, k, _ in found],
        # K-means alone has no graph.
        neighbors[0] if neighbors else np.empty((n, 0), dtype=np.int32),
    )


_FeatureSet = tuple[NDArray[np.float64], tuple[int | None, ...]]
"""Features of each pixel, shape (n, m), and the radii of their graphs (None: the whole image)."""


def _feature_sets(pixels: Pixels) -> dict[str, list[_FeatureSet]]:
    """Feature sets of each kind.

    A table has no space, so it has no within-field and no MNF components. Neither has an image in
    which they are all equal.
    """
    spectra, grid = pixels.spectra, pixels.grid
    plain = principal_coordinates(spectra)
    sets: dict[str, list[_FeatureSet]] = {"spectra": [(plain, (None,))], "materials": [(plain, ())]}
    if not grid.is_image:
        return sets
    mnf = mnf_components(spectra, grid.mask)[:, :MNF_COMPONENTS].copy()
    if varies(mnf):
        sets["spectra"].append((mnf, (None,)))
    smoothed = local_mean(spectra, grid.mask)
    fields = within_field_components(smoothed, grid.mask, overwrite=True)
    if not fields.shape[1]:
        return sets
    fields = np.ascontiguousarray(fields[:, :WITHIN_FIELD])
    return {"fields": [(fields, (window_radius(grid.mask), None))], **sets}


def srdl_runs(
    solved: SolvedGraph, grid: Grid, consensus: Consensus
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """SRDL labels for each number of clusters and density; none where there are too few modes."""
    for k in RESOLUTIONS:
        coordinates = diffusion_at(solved, k)  # one eigenpair per cluster
        for density in solved.densities.values():
            ascent = pipeline.ascend(coordinates, density)
            if np.count_nonzero(ascent.mode_score > 0) >= k:
                modes = pipeline.choose_modes(ascent, k, k).pixels
                yield k, pipeline.label_from_modes(ascent, modes, grid, consensus)


def kmeans_runs(
    points: NDArray[np.float64], grid: Grid, seed: int
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """K-means labels for each number of clusters, plain and with a Markov random field."""
    for k in track("K-means", [k for k in RESOLUTIONS if k < len(points)]):
        labels = kmeans_labels(points, k, seed)
        if len(np.unique(labels)) < k:
            continue
        for strength in STRENGTHS if grid.is_image else STRENGTHS[:1]:
            if strength == 0:
                yield k, labels
            else:
                yield k, spatial_kmeans(points, grid.mask, labels, strength)
