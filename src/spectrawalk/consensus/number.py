"""How many clusters there are, and whether there are any: what two kinds of evidence speak for.

With the right number of clusters, K-means finds the same ones in noise-whitened spectra, plain and
smoothed, and in the contrasts between fields; with a wrong one it splits or merges differently in
each. In noise nothing stays the same, whatever the number. And a walk on contrasts leaves clusters
slowly, but mixes quickly inside them: with K of them there is a gap behind the K-th eigenvalue.
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
"""Agreement (adjusted Rand index) below which there is no clear structure."""

AS_GOOD = 0.9
"""Of the numbers whose support is this part of the best one's, the largest is taken: a map of too
few clusters joins what is not alike."""

NEARLY_BEST = 0.8
"""Numbers whose support is this part of the best one's are possible as well."""

NEIGHBORS = 50
"""Neighbours in the graph whose eigenvalues are looked at..."""

NEIGHBOR_SHARE = 1 / 6
"""...and at most this share of its pixels: those of another cluster would be among them."""

CLEAR_GAP = 3.0
"""A gap speaks no louder than this: larger ones are of parts that hardly hang together at all."""

LEAST_RATE = 1e-6
"""Rates at which a walk leaves a cluster are not told apart below this."""

LARGEST_NUMBER = 12
"""Numbers above this are not tried: agreement cannot tell them apart."""

FINER = 3.0
"""Agreement on the largest number tried, in units of what parts made by chance would give, above
which clusters have parts of their own. From five clusters on none is so high."""

TIGHT = 0.7
"""Scatter inside clusters, in units of that in noise cut into as many, below which they are clear
even where neighbours are not alike."""

SAMPLE = 5_000
"""Pixels on which views are compared, drawn evenly over the image; of a small image all."""

NO_STRUCTURE = "no clear structure"


class Evidence(NamedTuple):
    """The number of clusters, and what speaks for it."""

    n_clusters: int
    """The most likely number, which is the largest of those that are as good; 1 where there is no
    clear structure."""
    verdict: str
    """In words: "6, clear", "between 5 and 8, 6 most likely", "no clear structure"."""
    stability: dict[int, float]
    """Agreement from view to view with each number of clusters, 1 at best."""
    gaps: dict[int, float]
    """How much faster a walk mixes inside as many clusters than between them, 1 at least; none
    where there is no clear structure."""

    @property
    def support(self) -> dict[int, float]:
        """What speaks for each number: agreement times gap, and more for more to agree on."""
        return {
            k: max(agreed, 0.0) * min(self.gaps.get(k, 1.0), CLEAR_GAP) * float(np.sqrt(np.log(k)))
            for k, agreed in self.stability.items()
        }


def count_clusters(
    views: list[FeatureSet],
    inside: NDArray[np.intp],
    max_clusters: int,
    seed: int = 0,
    doubted: FeatureSet | None = None,
) -> Evidence:
    """Estimate the number of clusters from how well views agree on them, and from eigenvalues.

    Parameters
    ----------
    views : list of FeatureSet
        Even ones, as from :func:`spectrawalk.consensus.features.feature_sets`. A single one, of a
        table, is compared with every second of its coordinates.
    inside : ndarray of int
        Pixels of the last view that the walk is on, as from
        :func:`spectrawalk.consensus.features.interior`.
    max_clusters : int
    seed : int
    doubted : FeatureSet, optional
        Spectra as they are, where neighbouring pixels are no more alike than others, so that the
        image may be all noise: clusters must then be tight.

    Examples
    --------
    >>> from spectrawalk.consensus.features import interior, feature_sets
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.prepare.pixels import Pixels, take_pixels
    >>> from spectrawalk.prepare.scaling import normalize_spectra
    >>> pixels = take_pixels(make_scene((40, 40), n_classes=3, random_state=1))
    >>> unit = Pixels(normalize_spectra(pixels.spectra, "pixel"), pixels.grid)
    >>> views = feature_sets(unit).even
    >>> count_clusters(views, interior(views[-1], pixels.grid.mask), 8).n_clusters
    3
    """
    drawn = draw_pixels(len(views[0].points), SAMPLE, seed)
    samples = [view._replace(points=view.points[drawn]) for view in views]
    if len(samples) == 1:
        samples.append(samples[0]._replace(points=samples[0].points[:, ::2]))
    largest = min(max_clusters, LARGEST_NUMBER, len(samples[0].points) - 1)
    found = {
        k: _stability(samples, k, seed) for k in progress.track("count", range(2, largest + 1))
    }
    stability = {k: (every + like) / 2 for k, (every, like) in found.items()}
    nothing = Evidence(1, NO_STRUCTURE, stability, {})
    if max((every for every, _ in found.values()), default=0.0) < LEAST_STABILITY:
        return nothing
    features = inside[draw_pixels(len(inside), SAMPLE, seed)]
    evidence = nothing._replace(gaps=_gaps(views[-1].points[features], largest))
    number, verdict = _judge(evidence.support)
    # FeatureSets of few bands are nearly the same, and agree on how to cut noise, too.
    if doubted and _scatter_beside_noise(doubted.points[drawn], number, seed) > TIGHT:
        return nothing
    return evidence._replace(n_clusters=number, verdict=verdict)


def finer_structure(evidence: Evidence) -> str:
    """Say that there are more clusters to be told apart than were found; nothing, if not so.

    Few clusters are found again more easily than many, so that two may be most likely where many
    are there. K clusters of equal size, split by chance into k parts, agree to (K - 1) / (k - 1).

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
        f"there is finer structure than {evidence.n_clusters} clusters: views agree on {largest} "
        f"to {found:.2f}, where parts made by chance would to {chance:.2f} (adjusted Rand index); "
        "ask for more clusters to see it"
    )


def _stability(samples: list[FeatureSet], n_clusters: int, seed: int) -> tuple[float, float]:
    """Mean agreement over all pairs of views, and over those of like smoothing.

    Feature sets of like smoothing tell best how many clusters there are, but nothing of whether
    there are any: with few bands they are nearly the same, and in noise agree as well.
    """
    from sklearn.metrics import adjusted_rand_score  # slow to load: only this mode waits for it

    runs = [(view, kmeans_labels(view.points, n_clusters, seed, starts=3)) for view in samples]
    every, like = [], []
    for (one, first), (other, second) in combinations(runs, 2):
        every.append(adjusted_rand_score(first, second))
        if one.smoothed == other.smoothed:
            like.append(every[-1])
    return float(np.mean(every)), float(np.mean(like or every))


def _scatter_beside_noise(points: NDArray[np.float64], n_clusters: int, seed: int) -> float:
    """Scatter inside clusters in units of what noise of the same spread in each coordinate has."""
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


def _gaps(points: NDArray[np.float64], largest: int) -> dict[int, float]:
    """Ratio of the rates 1 - lambda behind and at the k-th eigenvalue, for each number k.

    1 - lambda_k is the rate at which a walk leaves the k clusters that are left most slowly, and
    1 - lambda_(k + 1) that at which it mixes inside them.
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


def _judge(support: dict[int, float]) -> tuple[int, str]:
    highest = max(support.values())
    best = max(k for k, value in support.items() if value >= AS_GOOD * highest)
    possible = [k for k, value in support.items() if value >= NEARLY_BEST * highest]
    if possible == [best]:
        return best, f"{best}, clear"
    return best, f"between {min(possible)} and {max(possible)}, {best} most likely"
