"""The automatic mode: views, family, judgement, consensus, verdict, in that order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.coassociation import consensus_of
from spectrawalk.consensus.confidence import confidence_of
from spectrawalk.consensus.ensemble import (
    EXTRA_EIGENPAIRS,
    REMAINS,
    WIDTHS,
    BaseClustering,
    Settings,
    Solution,
    fine_labels,
    graph_features,
    solve_graphs,
    spectral_run,
    srdl_runs,
)
from spectrawalk.consensus.features import feature_sets, interior, leading, neighbors_are_alike
from spectrawalk.consensus.kmeans import kmeans_runs
from spectrawalk.consensus.leading import leading_runs
from spectrawalk.consensus.number import Evidence, count_clusters, finer_structure
from spectrawalk.consensus.sensitivity import sensitive_parameters
from spectrawalk.errors import StructureError
from spectrawalk.prepare.pixels import Pixels


class Automatic(NamedTuple):
    """What the automatic mode found."""

    labels: NDArray[np.int32]
    confidence: NDArray[np.float32]
    evidence: Evidence
    warnings: list[str]
    members: list[BaseClustering]
    runs: list[NDArray[np.int32]]
    """Labels of the runs that the consensus was made of, and of finer ones, for questions."""
    representative: Solution
    """One run kept whole, for the coordinates and densities that a fit leaves behind."""
    n_components: int


def cluster_automatically(
    pixels: Pixels,
    n_clusters: int | None,
    max_clusters: int,
    settings: Settings,
    seed: int,
) -> Automatic:
    """Cluster without tuning; `n_clusters` None asks for the number of clusters as well."""
    views = feature_sets(pixels)
    grid = pixels.grid
    alike = not grid.is_image or neighbors_are_alike(pixels.spectra, grid.mask)
    doubted = None if alike else views.spectral[0]
    inside = interior(views.even[-1], grid.mask)
    evidence = count_clusters(views.even, inside, max_clusters, seed, doubted)
    k = n_clusters or evidence.n_clusters
    members: list[BaseClustering] = []
    fine: list[NDArray[np.int32]] = []
    first: Solution | None = None
    n_components = 1
    wanted = settings.n_eigenpairs or max(2, k) + EXTRA_EIGENPAIRS
    features = graph_features(views, k)
    for solved in solve_graphs(features, grid, min(wanted, len(pixels.spectra)), settings):
        n_components = max(n_components, solved.n_components)
        for member, run in srdl_runs(solved, grid, k, settings):
            members.append(member)
            first = first or run  # on contrasts in a window: the nearest to a single fit
            # Finer runs come from all eigenpairs of a graph, at the short time.
            if len(run.eigenvalues) == len(solved.eigenvalues) and member.remains != REMAINS[-1]:
                fine.append(fine_labels(run, grid, k, settings))
        cut = spectral_run(solved, k, settings, seed)
        members += [cut] if cut else []
    if first is None:
        raise StructureError(
            f"no run of the family found {k} clusters that stand apart in diffusion distance; ask "
            "for fewer clusters."
        )
    clouds: list[NDArray[np.int32]] = []
    within_field_runs: list[NDArray[np.int32]] = []
    if grid.is_image and k > 1:  # a table has no neighbours that could have a say
        clouds += kmeans_runs(views.spectral, grid.mask, k, seed)
        if views.within_field is not None:
            contrasts = [leading(views.within_field, k + WIDTHS[1])]
            within_field_runs += kmeans_runs(contrasts, grid.mask, k, seed)
    trust = leading_runs(members, clouds, within_field_runs, k)
    labels = consensus_of(trust.leading, k, trust.beside).labels
    # Runs that do not lead know as well where the others may be wrong.
    walks = [member.labels for member in members if member.density is not None]
    cuts = [member.labels for member in members if member.density is None]
    kinds = [kind for kind in (walks, cuts, clouds, within_field_runs) if kind]
    confidence = confidence_of(kinds, labels)
    remarks = [trust.remark, "" if n_clusters else finer_structure(evidence)]
    warnings = sensitive_parameters(trust.members) + [remark for remark in remarks if remark]
    return Automatic(
        labels,
        confidence,
        evidence,
        warnings,
        members,
        trust.leading + fine,
        first,
        n_components,
    )
