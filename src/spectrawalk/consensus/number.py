"""Estimate of the number of clusters, and whether there are any clusters, from two measures.

The first measure is stability. With the right number of clusters, K-means finds the same clusters
in plain and smoothed MNF components and in within-field components. With a wrong number it splits
and merges differently in each. In noise the clusters never agree.

The second measure is the eigengap. A random walk on within-field components leaves a cluster
slowly, but mixes quickly inside it. With K clusters there is a gap after the K-th eigenvalue.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.consensus.ensemble import TOLERANCE, nearly_unweighted_graph
from spectrawalk.consensus.features import FeatureSet
from spectrawalk.consensus.kmeans import kmeans_labels
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.srdl import pipeline

LEAST_STABILITY = 0.2
"""Smallest agreement (adjusted Rand index) of clear structure."""

AS_GOOD = 0.9
"""The estimate is the largest number with at least this share of the highest support. A map with
too few clusters merges classes that differ."""

NEARLY_BEST = 0.8
"""Numbers with at least this share of the highest support are reported as possible."""

NEIGHBORS = 50
"""Neighbours of a pixel in the graph of which the eigengaps are computed..."""

NEIGHBOR_SHARE = 1 / 6
"""...but at most this share of its pixels, so that few neighbours are from another cluster."""

LARGEST_GAP = 3.0
"""Larger eigengaps count as this one. They occur where the graph is almost disconnected."""

LEAST_RATE = 1e-6
"""Smallest value of 1 - lambda; smaller ones are set to it."""

LARGEST_NUMBER = 12
"""Largest number of clusters tried. The agreement does not distinguish larger ones."""

FINER = 3.0
"""There is finer structure if the agreement with the largest number tried is this many times the
agreement by chance. From five clusters on this is impossible."""

COMPACT = 0.7
"""Without spatial correlation, the variance inside clusters must be at most this share of the same
variance in noise."""

SAMPLE = 5_000
"""Largest number of pixels, spread evenly over the image, on which feature sets are compared."""

NO_STRUCTURE = "no clear structure"


class Evidence(NamedTuple):
    """Estimated number of clusters, and the measures behind it."""

    n_clusters: int
    """The estimate; 1 if there is no clear structure."""
    verdict: str
    """The estimate in words: "6, clear", "between 5 and 8, 6 most likely", "no clear structure"."""
    stability: dict[int, float]
    """Agreement between feature sets (adjusted Rand index) for each number of clusters."""
    gaps: dict[int, float]
    """Eigengap for each number of clusters, at least 1: how many times faster a random walk mixes
    inside the clusters than it leaves them. Empty if there is no clear structure."""

    @property
    def support(self) -> dict[int, float]:
        """Support for each number K: agreement times eigengap times sqrt(log K)."""
        return {
            k: max(agreed, 0.0)
            * min(self.gaps.get(k, 1.0), LARGEST_GAP)
            * float(np.sqrt(np.log(k)))
            for k, agreed in self.stability.items()
        }


def count_clusters(
    sets: list[FeatureSet],
    inside: NDArray[np.intp],
    max_clusters: int,
    seed: int = 0,
    noise_check: FeatureSet | None = None,
) -> Evidence:
    """Estimate the number of clusters from the agreement of feature sets and from eigengaps.

    Parameters
    ----------
    sets : list of FeatureSet
        As from :attr:`spectrawalk.consensus.features.FeatureSets.for_counting`. A single one, of a
        table, is compared with every second of its own components.
    inside : ndarray of int
        Pixels of the last feature set on which the eigengaps are computed, as from
        :func:`spectrawalk.consensus.features.interior`.
    max_clusters : int
    seed : int
    noise_check : FeatureSet, optional
        Plain spectra of an image without spatial correlation, which may be pure noise. If given,
        the clusters must be compact in this feature set.

    Examples
    --------
    >>> from spectrawalk.consensus.features import interior, feature_sets
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.prepare.pixels import Pixels, take_pixels
    >>> from spectrawalk.prepare.scaling import normalize_spectra
    >>> pixels = take_pixels(make_scene((40, 40), n_classes=3, random_state=1))
    >>> unit = Pixels(normalize_spectra(pixels.spectra, "pixel"), pixels.grid)
    >>> sets = feature_sets(unit).for_counting
    >>> count_clusters(sets, interior(sets[-1], pixels.grid.mask), 8).n_clusters
    3
    """
    drawn = draw_pixels(len(sets[0].points), SAMPLE, seed)
    samples = [features._replace(points=features.points[drawn]) for features in sets]
    if len(samples) == 1:
        samples.append(samples[0]._replace(points=samples[0].points[:, ::2]))
    largest = min(max_clusters, LARGEST_NUMBER, len(samples[0].points) - 1)
    found = {
        k: _stability(samples, k, seed) for k in progress.track("count", range(2, largest + 1))
    }
    stability = {k: (every + same) / 2 for k, (every, same) in found.items()}
    nothing = Evidence(1, NO_STRUCTURE, stability, {})
    if max((every for every, _ in found.values()), default=0.0) < LEAST_STABILITY:
        return nothing
    interior = inside[draw_pixels(len(inside), SAMPLE, seed)]
    evidence = nothing._replace(gaps=_eigengaps(sets[-1].points[interior], largest))
    number, verdict = _choose(evidence.support)
    # With few bands the feature sets are nearly the same, so that they agree in noise too.
    if noise_check and _relative_scatter(noise_check.points[drawn], number, seed) > COMPACT:
        return nothing
    return evidence._replace(n_clusters=number, verdict=verdict)


def finer_structure(evidence: Evidence) -> str:
    """Warning that there is finer structure than the estimated clusters; empty if there is none.

    A few large clusters are more stable than many small ones, so the estimate can be 2 where there
    are many. K clusters of equal size, split at random into k parts, have an adjusted Rand index of
    (K - 1) / (k - 1).

    Examples
    --------
    >>> finer_structure(Evidence(2, "2, clear", {2: 0.9, 12: 0.18}, {}))
    ''
    >>> finer_structure(Evidence(2, "2, clear", {2: 0.9, 12: 0.5}, {}))[:42]
    'there is finer structure than 2 clusters: '
    """
    if evidence.n_clusters == 1:
        return ""
    largest = max(evidence.stability)
    found = evidence.stability[largest]
    chance = (evidence.n_clusters - 1) / (largest - 1)
    if found < FINER * chance:
        return ""
    return (
        f"there is finer structure than {evidence.n_clusters} clusters: feature sets agree on "
        f"{largest} clusters to {found:.2f}, and a random split gives {chance:.2f} (adjusted Rand "
        "index); ask for more clusters to see it"
    )


def _stability(samples: list[FeatureSet], n_clusters: int, seed: int) -> tuple[float, float]:
    """Mean agreement over all pairs of feature sets, and over the pairs with the same smoothing.

    The pairs with the same smoothing give the better estimate of the number of clusters. They do
    not show whether there are any: with few bands they are nearly the same, so that they agree in
    noise too.
    """
    from sklearn.metrics import adjusted_rand_score  # slow to import, and only needed here

    runs = [
        (features, kmeans_labels(features.points, n_clusters, seed, starts=3))
        for features in samples
    ]
    every, same = [], []
    for (one, first), (other, second) in combinations(runs, 2):
        every.append(adjusted_rand_score(first, second))
        if one.smoothed == other.smoothed:
            same.append(every[-1])
    return float(np.mean(every)), float(np.mean(same or every))


def _relative_scatter(points: NDArray[np.float64], n_clusters: int, seed: int) -> float:
    """Variance inside K-means clusters, divided by that of noise with the same variances."""
    noise = np.random.default_rng(seed).normal(size=points.shape) * points.std(axis=0)

    def scatter(values: NDArray[np.float64]) -> float:
        labels = kmeans_labels(values, n_clusters, seed, starts=3)
        return float(
            sum(
                values[labels == k].var(axis=0).sum() * np.mean(labels == k)
                for k in np.unique(labels)
            )
        )

    return scatter(points) / max(scatter(noise), 1e-300)


def _eigengaps(points: NDArray[np.float64], largest: int) -> dict[int, float]:
    """Ratio (1 - lambda_(k + 1)) / (1 - lambda_k) for each number of clusters k.

    1 - lambda_k is the rate at which a random walk leaves the k most separate clusters, and
    1 - lambda_(k + 1) is the rate at which it mixes inside them.
    """
    n = len(points)
    if n < 2:
        return {}
    wanted = min(NEIGHBORS, max(5, int(NEIGHBOR_SHARE * n)), n - 1)
    points, grid = np.ascontiguousarray(points), Grid.of_table(n)
    settings = pipeline.GraphSettings(wanted)
    near = pipeline.nearest_neighbors(points, grid, settings)
    graph = nearly_unweighted_graph(points, grid, near, settings)
    values, _ = pipeline.random_walk(graph, min(largest + 1, n), TOLERANCE)
    rate = np.maximum(1 - values, LEAST_RATE)
    return {k: float(rate[k] / rate[k - 1]) for k in range(2, min(largest + 1, len(rate)))}


def _choose(support: dict[int, float]) -> tuple[int, str]:
    """Estimated number of clusters, and the verdict in words."""
    highest = max(support.values())
    best = max(k for k, value in support.items() if value >= AS_GOOD * highest)
    possible = [k for k, value in support.items() if value >= NEARLY_BEST * highest]
    if possible == [best]:
        return best, f"{best}, clear"
    return best, f"between {min(possible)} and {max(possible)}, {best} most likely"
