"""Automatic mode, step by step: feature sets, number of clusters, ensemble, consensus, warnings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.coassociation import consensus_of
from spectrawalk.consensus.confidence import confidence_of
from spectrawalk.consensus.ensemble import (
    DECAYS,
    EXTRA_COMPONENTS,
    EXTRA_EIGENPAIRS,
    BaseClustering,
    Settings,
    Solution,
    fine_labels,
    graph_features,
    solve_graphs,
    spectral_run,
    srdl_runs,
)
from spectrawalk.consensus.features import (
    feature_sets,
    interior,
    is_spatially_correlated,
    leading_components,
)
from spectrawalk.consensus.kmeans import kmeans_runs
from spectrawalk.consensus.leading import leading_runs
from spectrawalk.consensus.number import Evidence, count_clusters, finer_structure
from spectrawalk.consensus.sensitivity import sensitive_parameters
from spectrawalk.errors import StructureError
from spectrawalk.prepare.pixels import Pixels


class Automatic(NamedTuple):
    """Result of the automatic mode."""

    labels: NDArray[np.int32]
    confidence: NDArray[np.float32]
    evidence: Evidence
    warnings: list[str]
    graph_runs: list[BaseClustering]
    """All SRDL and spectral clustering runs."""
    query_runs: list[NDArray[np.int32]]
    """Labels of the runs behind the consensus, and of finer ones, for active learning queries."""
    representative: Solution
    """One SRDL run: a fit keeps its coordinates and densities."""
    n_components: int


def cluster_automatically(
    pixels: Pixels,
    n_clusters: int | None,
    max_clusters: int,
    settings: Settings,
    seed: int,
) -> Automatic:
    """Cluster without tuning; if `n_clusters` is None, estimate the number of clusters too."""
    sets = feature_sets(pixels)
    grid = pixels.grid
    correlated = not grid.is_image or is_spatially_correlated(pixels.spectra, grid.mask)
    noise_check = None if correlated else sets.spectral[0]
    inside = interior(sets.for_counting[-1], grid.mask)
    evidence = count_clusters(sets.for_counting, inside, max_clusters, seed, noise_check)
    k = n_clusters or evidence.n_clusters
    graph_runs: list[BaseClustering] = []
    fine: list[NDArray[np.int32]] = []
    first: Solution | None = None
    n_components = 1
    wanted = settings.n_eigenpairs or max(2, k) + EXTRA_EIGENPAIRS
    features = graph_features(sets, k)
    for solved in solve_graphs(features, grid, min(wanted, len(pixels.spectra)), settings):
        n_components = max(n_components, solved.n_components)
        for run, solution in srdl_runs(solved, grid, k, settings):
            graph_runs.append(run)
            first = first or solution  # within-field components and a window: closest to one fit
            # Finer runs use all eigenpairs of a graph, at the short time.
            if len(solution.eigenvalues) == len(solved.eigenvalues) and run.decay != DECAYS[-1]:
                fine.append(fine_labels(solution, grid, k, settings))
        spectral = spectral_run(solved, k, settings, seed)
        graph_runs += [spectral] if spectral else []
    if first is None:
        raise StructureError(
            f"no SRDL run found {k} clusters that are separate in diffusion distance; ask for "
            "fewer clusters."
        )
    by_kmeans: list[NDArray[np.int32]] = []
    within_field_runs: list[NDArray[np.int32]] = []
    if grid.is_image and k > 1:  # the pixels of a table have no spatial neighbours
        by_kmeans += kmeans_runs(sets.spectral, grid.mask, k, seed)
        if sets.within_field is not None:
            within_field = [leading_components(sets.within_field, k + EXTRA_COMPONENTS[1])]
            within_field_runs += kmeans_runs(within_field, grid.mask, k, seed)
    lead = leading_runs(graph_runs, by_kmeans, within_field_runs, k)
    labels = consensus_of(lead.leading, k, lead.secondary).labels
    # The confidence uses all runs: those that do not lead show errors of those that do.
    by_srdl = [run.labels for run in graph_runs if run.density is not None]
    by_spectral = [run.labels for run in graph_runs if run.density is None]
    kinds = [kind for kind in (by_srdl, by_spectral, by_kmeans, within_field_runs) if kind]
    confidence = confidence_of(kinds, labels)
    remarks = [lead.remark, "" if n_clusters else finer_structure(evidence)]
    warnings = sensitive_parameters(lead.graph_runs) + [remark for remark in remarks if remark]
    return Automatic(
        labels,
        confidence,
        evidence,
        warnings,
        graph_runs,
        lead.leading + fine,
        first,
        n_components,
    )
