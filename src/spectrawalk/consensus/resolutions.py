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

from spectrawalk.consensus.ensemble import (
    NEIGHBOR_SHARE,
    Factors,
    Settings,
    SolvedGraph,
    diffusion_at,
    solve_graphs,
)
from spectrawalk.consensus.features import (
    MNF_COMPONENTS,
    FeatureSet,
    leading_components,
    local_mean,
    mnf_components,
    principal_coordinates,
    varies,
    within_field_components,
)
from spectrawalk.consensus.kmeans import kmeans_labels, spatial_kmeans
from spectrawalk.prepare.pixels import Grid, Pixels
from spectrawalk.progress import track
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.labels import Consensus

RESOLUTIONS = (2, 3, 4, 6, 8, 11, 16, 22, 30)
"""Numbers of clusters of the runs: a geometric series, so that every scale has as many."""

WITHIN_FIELD = 8
"""Within-field components of the runs for fields."""

NEIGHBORS = 50
"""Neighbours of a pixel in each graph."""

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
    grid = pixels.grid
    sets = _feature_sets(pixels)
    weights = kind_weights(detail, tuple(kind for kind in KINDS if kind in sets))
    found: list[tuple[str, int, NDArray[np.integer]]] = []
    neighbors: NDArray[np.int32] | None = None
    for kind in weights:
        if kind == "materials":
            continue
        for solved in solve_graphs(sets[kind], grid, _most_clusters(grid), _settings(kind, grid)):
            neighbors = solved.neighbors if neighbors is None else neighbors
            found += [(kind, k, labels) for k, labels in _walks(solved, grid, kind)]
    if "materials" in weights:
        (features, _), *_ = sets["materials"]
        found += [("materials", k, labels) for k, labels in _clouds(features, grid, seed)]
    if not found:  # so few distinct pixels that no run finds two clusters
        found.append(("spectra", 1, np.zeros(len(pixels.spectra), dtype=np.uint8)))
        weights = {"spectra": 1.0}
    kinds = [kind for kind, _, _ in found]
    share = {kind: weight / max(kinds.count(kind), 1) for kind, weight in weights.items()}
    each = np.array([share[kind] for kind in kinds])
    if neighbors is None:  # K-means alone has no graph
        neighbors = np.empty((len(pixels.spectra), 0), dtype=np.int32)
    return BaseClusterings(
        np.stack([labels for _, _, labels in found]).astype(np.uint8),
        each / each.sum(),
        kinds,
        [k for _, k, _ in found],
        neighbors,
    )


def _feature_sets(pixels: Pixels) -> dict[str, list[tuple[FeatureSet, Factors]]]:
    """Feature sets of each kind, each with the radii of its graphs (None: the whole image).

    A table has no space, so it has no within-field and no MNF components. Neither has an image in
    which they are all equal.
    """
    spectra, grid = pixels.spectra, pixels.grid
    plain = FeatureSet("spectra", False, principal_coordinates(spectra))
    sets: dict[str, list[tuple[FeatureSet, Factors]]] = {
        "spectra": [(plain, (None,))],
        "materials": [(plain, (None,))],
    }
    if not grid.is_image:
        return sets
    mnf = FeatureSet("mnf", False, mnf_components(spectra, grid.mask)[0][:, :MNF_COMPONENTS].copy())
    if varies(mnf):
        sets["spectra"].append((mnf, (None,)))
    smoothed = local_mean(spectra, grid.mask)
    points = within_field_components(smoothed, grid.mask, overwrite=True)
    if points.shape[1]:
        fields = leading_components(FeatureSet("within-field", True, points), WITHIN_FIELD)
        return {"fields": [(fields, (1.0, None))], **sets}
    return sets


def _most_clusters(grid: Grid) -> int:
    return min(RESOLUTIONS[-1], int(np.count_nonzero(grid.mask)))


def _settings(kind: str, grid: Grid) -> Settings:
    return Settings(
        windowed=True,
        radius=None,
        n_neighbors=round(NEIGHBORS / NEIGHBOR_SHARE[kind == "fields"]),
        time=None,
        n_eigenpairs=None,
        density_neighbors=20,
        consensus=Consensus(grid.clip(SMOOTHING[kind])),
    )


def _walks(solved: SolvedGraph, grid: Grid, kind: str) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """SRDL labels for each number of clusters and density; none where there are too few modes."""
    consensus = _settings(kind, grid).consensus
    for k in RESOLUTIONS:
        *_, coordinates = diffusion_at(solved, k)  # one eigenpair per cluster
        for density in solved.densities.values():
            ascent = pipeline.ascend(coordinates, density)
            if np.count_nonzero(ascent.mode_score > 0) >= k:
                modes = pipeline.choose_modes(ascent, k, k).pixels
                yield k, pipeline.label_from_modes(ascent, modes, grid, consensus)


def _clouds(features: FeatureSet, grid: Grid, seed: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """K-means labels for each number of clusters, plain and with a Markov random field."""
    n = len(features.points)
    for k in track("K-means", [k for k in RESOLUTIONS if k < n]):
        labels = kmeans_labels(features.points, k, seed)
        if len(np.unique(labels)) < k:
            continue
        for strength in STRENGTHS if grid.is_image else STRENGTHS[:1]:
            if strength == 0:
                yield k, labels
            else:
                yield k, spatial_kmeans(features.points, grid.mask, labels, strength)
