"""How many clusters there are, and whether there are any: what stays the same in every view.

With the right number of clusters, K-means finds the same ones in the plain, the smoothed and the
noise-whitened spectra; with a wrong one it splits or merges differently in each. In noise nothing
stays the same, whatever the number.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from spectrawalk import progress
from spectrawalk.auto.views import View

LEAST_STABILITY = 0.2
"""Agreement (adjusted Rand index) below which there is no clear structure."""

NEARLY_BEST = 0.9
"""Numbers whose agreement is this part of the best one's are possible as well."""

LARGEST_NUMBER = 12
"""Numbers above this are not tried: agreement cannot tell them apart."""

SAMPLE = 10_000
"""Pixels that are looked at, evenly spaced: the number of clusters needs no more."""

NO_STRUCTURE = "no clear structure"


class Evidence(NamedTuple):
    """The number of clusters, and what speaks for it."""

    n_clusters: int
    """The most likely number; 1 where there is no clear structure."""
    verdict: str
    """In words: "6, clear", "between 5 and 8, 6 most likely", "no clear structure"."""
    stability: dict[int, float]
    """Agreement from view to view with each number of clusters, 1 at best."""


def count_clusters(views: list[View], max_clusters: int, seed: int = 0) -> Evidence:
    """Estimate the number of clusters from how well views agree on them.

    Parameters
    ----------
    views : list of View
        As from :func:`spectrawalk.auto.views.cloud_views`. A single one, of a table, is compared
        with every second of its coordinates.
    max_clusters : int
    seed : int

    Examples
    --------
    >>> from spectrawalk.auto.views import cloud_views
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.preparation import normalize_spectra, take_pixels
    >>> pixels = take_pixels(make_scene((40, 40), n_classes=3, random_state=1))
    >>> unit = normalize_spectra(pixels.spectra, "pixel")
    >>> count_clusters(cloud_views(pixels, unit), 8).n_clusters
    3
    """
    n = len(views[0].points)
    step = -(-n // SAMPLE)
    samples = [view.points[::step] for view in views]
    largest = min(max_clusters, LARGEST_NUMBER, len(samples[0]) - 1)
    stability = {
        k: _stability(samples, k, seed) for k in progress.track("count", range(2, largest + 1))
    }
    return Evidence(*_judge(stability), stability)


def _stability(samples: list[NDArray[np.float64]], n_clusters: int, seed: int) -> float:
    with threadpool_limits(limits=1):
        runs = [
            KMeans(n_clusters, n_init=2, random_state=seed).fit_predict(points)
            for points in samples
        ]
        if len(runs) == 1:
            half = samples[0][:, ::2]
            runs.append(KMeans(n_clusters, n_init=2, random_state=seed).fit_predict(half))
    return float(np.mean([adjusted_rand_score(a, b) for a, b in combinations(runs, 2)]))


def _judge(stability: dict[int, float]) -> tuple[int, str]:
    best = max(stability, key=lambda k: stability[k], default=0)
    if best == 0 or stability[best] < LEAST_STABILITY:
        return 1, NO_STRUCTURE
    possible = [k for k, value in stability.items() if value >= NEARLY_BEST * stability[best]]
    if possible == [best]:
        return best, f"{best}, clear"
    return best, f"between {min(possible)} and {max(possible)}, {best} most likely"
