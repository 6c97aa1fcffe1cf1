"""Which runs to trust, by what can be seen without labels: their agreement from view to view.

Where spectra fall into compact clouds, K-means finds them in every view alike, while walks inside
spatial windows may tie unlike neighbours together; elsewhere it is the other way round. The kind of
clustering that says the same thing in every view is the one to believe.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from spectrawalk.auto.agreement import mean_agreement
from spectrawalk.auto.family import Member
from spectrawalk.auto.views import View

LEAD = 0.15
"""By how much K-means must agree better from view to view before it is preferred."""


def trusted_runs(
    members: list[Member], clouds: list[View], n_clusters: int, seed: int
) -> tuple[list[NDArray[np.int32]], str]:
    """Labels of the runs to combine, and a remark if they are not the family's own.

    Parameters
    ----------
    members : list of Member
    clouds : list of View
        As from :func:`spectrawalk.auto.views.cloud_views`, for K-means.
    n_clusters, seed : int
    """
    walks = [member.labels for member in members]
    if len(clouds) < 2 or n_clusters < 2:
        return walks, ""
    spectral = spectral_runs(clouds, n_clusters, seed)
    across, within = agreement_across_views(members), mean_agreement(spectral)
    if within <= across + LEAD:
        return walks, ""
    return spectral, (
        f"spectra fall into compact clouds, which K-means finds in every view alike (agreement "
        f"{within:.2f}), while runs of the family agree to {across:.2f}: the labels are K-means's."
    )


def spectral_runs(views: list[View], n_clusters: int, seed: int) -> list[NDArray[np.int32]]:
    """K-means in every view."""
    with threadpool_limits(limits=1):
        return [
            KMeans(n_clusters, n_init=4, random_state=seed).fit_predict(view.points)
            for view in views
        ]


def agreement_across_views(members: list[Member]) -> float:
    """Mean agreement of runs in different views that are otherwise alike."""
    alike: dict[tuple[object, ...], list[NDArray[np.int32]]] = {}
    for member in members:
        key = (member.density, member.extra_eigenpairs, member.remains)
        alike.setdefault(key, []).append(member.labels)
    values = [mean_agreement(runs) for runs in alike.values() if len(runs) > 1]
    return float(np.mean(values)) if values else 1.0
