"""Mean ranks over scenes, Friedman's test, and Nemenyi's critical difference.

After J. Demsar, "Statistical comparisons of classifiers over multiple data sets", Journal of
Machine Learning Research 7, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from spectrawalk.benchmark.methods import FOUND, GIVEN, LABEL_FREE
from spectrawalk.benchmark.suite import SuiteRow

ALPHA = 0.05
"""Level of both tests."""

RANKED_BY = {GIVEN: "oa", FOUND: "ari"}
"""Score of the ranking for each way to set K.

Overall accuracy matches clusters with classes one to one. Where the numbers of clusters differ,
this says more about the number than about the clusters, so there it is the adjusted Rand index.
"""

_DIGITS = 9  # means over seeds that differ by less are ties


@dataclass(frozen=True)
class Ranking:
    """Methods by their mean rank over scenes.

    Attributes
    ----------
    methods : tuple of str
        The best first.
    mean_ranks : tuple of float
        Rank 1 is the best on a scene; methods that tie share the mean of their ranks, and those
        that failed share the last ranks.
    scenes : tuple of str
    p_value : float or None
        Of Friedman's test that all methods are alike; None with fewer than three methods or two
        scenes.
    critical_difference : float or None
        Two methods whose mean ranks differ by less cannot be told apart (Nemenyi's test).
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    scenes: tuple[str, ...]
    p_value: float | None
    critical_difference: float | None

    @property
    def groups(self) -> list[tuple[int, int]]:
        """First and last place of each largest group of methods that cannot be told apart."""
        if self.critical_difference is None:
            return []
        found: list[tuple[int, int]] = []
        ranks = np.array(self.mean_ranks)
        for first, rank in enumerate(ranks):
            last = int(np.flatnonzero(ranks <= rank + self.critical_difference)[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return found


def rank_rows(rows: Sequence[SuiteRow], way: str, score: str | None = None) -> Ranking | None:
    """Rank the label-free rows of one way to set K; rows chosen with ground truth never take part.

    Parameters
    ----------
    rows : sequence of SuiteRow
    way : str
        "K given" or "K found".
    score : str, optional
        By default that of :data:`RANKED_BY`.

    Returns
    -------
    Ranking or None
        None with fewer than two methods.
    """
    score = score or RANKED_BY[way]
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.way == way and row.choice == LABEL_FREE:
            value = row.scores.get(score, -np.inf)
            table.setdefault(row.scene, {})[row.method] = value
    return rank_methods(table) if table and len(next(iter(table.values()))) > 1 else None


def rank_methods(table: Mapping[str, Mapping[str, float]]) -> Ranking:
    """Rank methods by a score of which more is better.

    Parameters
    ----------
    table : mapping
        Score of each method on each scene, -inf where it failed; all scenes have all methods.

    Examples
    --------
    >>> table = {"a": {"x": 0.9, "y": 0.5, "z": 0.1}, "b": {"x": 0.8, "y": 0.8, "z": -float("inf")}}
    >>> found = rank_methods(table)
    >>> found.methods, found.mean_ranks
    (('x', 'y', 'z'), (1.25, 1.75, 3.0))
    """
    methods = list(next(iter(table.values())))
    values = np.array([[scores[name] for name in methods] for scores in table.values()])
    ranks = stats.rankdata(-np.round(values, _DIGITS), axis=1)
    means = ranks.mean(axis=0)
    order = np.lexsort((np.arange(len(methods)), means))
    return Ranking(
        tuple(methods[place] for place in order),
        tuple(float(means[place]) for place in order),
        tuple(table),
        _friedman(ranks),
        critical_difference(len(methods), len(table)) if len(table) > 1 else None,
    )


def critical_difference(n_methods: int, n_scenes: int, alpha: float = ALPHA) -> float:
    """Difference of mean ranks from which two methods differ, by Nemenyi's test.

    It is ``q * sqrt(k (k + 1) / (6 N))``, where q is the quantile of the studentised range of k
    means with infinite degrees of freedom, divided by the square root of 2.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # q is 2.569
    1.25
    """
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_scenes)))


def _friedman(ranks: NDArray[np.float64]) -> float | None:
    n_scenes, n_methods = ranks.shape
    if n_methods < 3 or n_scenes < 2 or not np.ptp(ranks):  # the last: all tie everywhere
        return None
    return float(stats.friedmanchisquare(*ranks.T).pvalue)
