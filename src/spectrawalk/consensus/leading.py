"""Which kind of run leads the consensus, decided without labels from the runs' own confidence.

There are three kinds of runs: SRDL runs; spectral clustering runs (K-means in diffusion
coordinates) on the same graphs; and K-means runs with a Markov random field, without a graph.

If the spectra form compact clusters, K-means finds the same ones in every feature set, and SRDL
runs with a spatial window may connect neighbours of different kinds. For other data SRDL runs are
better. So K-means runs lead if their mean confidence is high, both by itself and compared with that
of SRDL runs. SRDL runs lead if it is low. In between, all kinds of runs are combined. From seven
clusters on, spectral clustering runs lead in place of SRDL runs.

Runs that do not lead keep a small weight where groups are merged into clusters. SRDL runs can
hardly find out that two distant fields are of one kind. K-means runs on the same within-field
components can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.coassociation import consensus_of
from spectrawalk.consensus.ensemble import DECAYS, BaseClustering

KMEANS_JOINS = 0.7
"""K-means runs join the others if their score reaches this value...

The score is their mean confidence, plus half of its difference from that of SRDL runs.
"""

KMEANS_LEADS = 0.9
"""...and lead alone from this value on."""

MANY_CLUSTERS = 7
"""Number of clusters from which on spectral clustering runs lead in place of SRDL runs."""


class Leading(NamedTuple):
    """The runs that lead the consensus, and the secondary runs."""

    leading: list[NDArray[np.int32]]
    """Labels of the leading runs."""
    secondary: list[NDArray[np.int32]]
    """Labels of the runs with a small weight."""
    graph_runs: list[BaseClustering]
    """SRDL or spectral clustering runs that the labels depend on: the leading runs and others of
    their kind. They measure the sensitivity to parameters."""
    remark: str
    """Text for the user; empty if SRDL runs lead alone."""


def leading_runs(
    graph_runs: list[BaseClustering],
    kmeans_runs: list[NDArray[np.int32]],
    within_field_runs: list[NDArray[np.int32]],
    n_clusters: int,
) -> Leading:
    """Choose the kind of runs that leads, or all kinds.

    Parameters
    ----------
    graph_runs : list of BaseClustering
        SRDL and spectral clustering runs.
    kmeans_runs : list of ndarray of int, shape (n,)
        Labels of K-means runs; may be empty.
    within_field_runs : list of ndarray of int, shape (n,)
        Labels of K-means runs on within-field components. If there are any, they are the secondary
        runs of SRDL and spectral clustering runs, which use the same components.
    n_clusters : int
    """
    srdl = [run for run in graph_runs if run.density is not None]
    spectral = [run for run in graph_runs if run.density is None]
    # M = K gives better labels than M = K + 2. The latter runs only measure the sensitivity to M.
    fewest = [run for run in srdl if run.extra_eigenpairs == 0] or srdl
    chosen, same_kind, remark = fewest, srdl, ""
    if n_clusters >= MANY_CLUSTERS and len(spectral) > 1:  # one run always agrees with itself
        chosen, same_kind = spectral, spectral
        remark = (
            f"with {MANY_CLUSTERS} clusters or more, some SRDL modes are often outliers; the "
            "labels are the consensus of spectral clustering runs (K-means in diffusion "
            "coordinates)"
        )
    leading = _labels(chosen)
    if not kmeans_runs:
        return Leading(leading, [], same_kind, remark)
    srdl_confidence, kmeans_confidence = (
        float(consensus_of(runs, n_clusters).confidence.mean())
        for runs in (_labels(fewest), kmeans_runs)
    )
    score = kmeans_confidence + (kmeans_confidence - srdl_confidence) / 2
    if score < KMEANS_JOINS:
        return Leading(leading, within_field_runs or kmeans_runs, same_kind, remark)
    found = f"(mean confidence {kmeans_confidence:.2f}; SRDL runs {srdl_confidence:.2f})"
    if score < KMEANS_LEADS:
        short = [run for run in fewest if run.decay != DECAYS[-1]]
        return Leading(
            [*_labels(short), *_labels(spectral), *kmeans_runs, *within_field_runs],
            [],
            graph_runs,
            f"K-means runs agree to some degree {found}; the labels are the consensus of SRDL, "
            "spectral clustering and K-means runs",
        )
    return Leading(
        kmeans_runs,
        _labels(fewest),
        [],
        f"K-means runs agree well {found}; the labels are the consensus of K-means runs with a "
        "Markov random field, instead of SRDL runs",
    )


def _labels(runs: list[BaseClustering]) -> list[NDArray[np.int32]]:
    return [run.labels for run in runs]
