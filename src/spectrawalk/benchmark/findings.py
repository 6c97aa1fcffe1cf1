"""Where the default method is best and where it is not, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from spectrawalk.benchmark.methods import CHOSEN, DEFAULT, FOUND, GIVEN, LABEL_FREE
from spectrawalk.benchmark.ranking import ALPHA, RANKED_BY, Ranking, rank_rows
from spectrawalk.benchmark.suite import SuiteRow
from spectrawalk.paper.published import scene_title

NAMES = {
    "oa": "OA",
    "aa": "AA",
    "kappa": "kappa",
    "nmi": "NMI",
    "ari": "ARI",
    "purity": "purity",
}
"""The scores for people."""

_TIE = 0.0005  # scores that are printed alike
_FEW_SCENES = 10  # with fewer, the tests hardly ever tell methods apart


def findings(rows: Sequence[SuiteRow]) -> list[str]:
    """Say on which scenes the default method is best, and on which another one is better.

    Examples
    --------
    >>> rows = [
    ...     SuiteRow("field", name, name, GIVEN, LABEL_FREE, scores={"oa": oa}, n_seeds=1)
    ...     for name, oa in (("spectrawalk", 0.9), ("k-means", 0.95))
    ... ]
    >>> findings(rows)[0]
    'K given, field: spectrawalk is not the best; it has OA 0.900, and k-means has 0.950.'
    """
    sentences = []
    for way in (GIVEN, FOUND):
        for scene in dict.fromkeys(row.scene for row in rows):
            sentences += _on_scene(label_free(rows, way, scene), way, scene)
        sentences += _in_ranks(rows, way)
    return sentences + _with_ground_truth(rows)


def label_free(rows: Sequence[SuiteRow], way: str, scene: str) -> list[SuiteRow]:
    """Label-free rows of a scene and a way to set K, the best first and failures last."""
    score = RANKED_BY[way]
    found = [row for row in rows if (row.way, row.scene, row.choice) == (way, scene, LABEL_FREE)]
    return sorted(found, key=lambda row: -row.scores.get(score, float("-inf")))


def _on_scene(rows: Sequence[SuiteRow], way: str, scene: str) -> list[str]:
    """Compare the default method with the best one on a scene."""
    score, place = RANKED_BY[way], f"{way}, {scene_title(scene)}"
    ours = next((row for row in rows if row.method == DEFAULT), None)
    others = [row for row in rows if row.method != DEFAULT and not row.failed]
    if ours is None or not others:
        return []
    if ours.failed:
        return [f"{place}: {ours.title} {ours.note}"]
    value, best = ours.scores[score], others[0].scores[score]
    clusters = ""
    if way == FOUND:
        found = " or ".join(map(str, ours.n_clusters))
        clusters = f" ({found} clusters, {ours.n_classes} classes)"
    name = NAMES[score]
    if value > best + _TIE:
        return [
            f"{place}: {ours.title} is the best, with {name} {value:.3f}{clusters}; then "
            f"{others[0].title} with {best:.3f}."
        ]
    if value > best - _TIE:
        return [
            f"{place}: {ours.title} and {others[0].title} are the best, both with {name} "
            f"{value:.3f}{clusters}."
        ]
    better = sum(row.scores[score] > value + _TIE for row in others) - 1
    more = "method does" if better == 1 else "methods do"
    more = f"; {better} more {more} better" if better else ""
    return [
        f"{place}: {ours.title} is not the best; it has {name} {value:.3f}{clusters}, and "
        f"{others[0].title} has {best:.3f}{more}."
    ]


def _in_ranks(rows: Sequence[SuiteRow], way: str) -> list[str]:
    ranking = rank_rows(rows, way)
    if ranking is None or DEFAULT not in ranking.methods or len(ranking.scenes) < 2:
        return []
    titles = titles_of(rows)
    rank = ranking.mean_ranks[ranking.methods.index(DEFAULT)]
    first = ranking.methods[0]
    text = f"{way}, mean rank over {len(ranking.scenes)} scenes by {NAMES[RANKED_BY[way]]}: "
    text += f"{titles[DEFAULT]} {rank:.1f} of {len(ranking.methods)}"
    if first == DEFAULT:
        second = ranking.methods[1]
        text += f", the best; then {titles[second]} with {ranking.mean_ranks[1]:.1f}"
    else:
        text += f"; the best is {titles[first]} with {ranking.mean_ranks[0]:.1f}"
    return [text + ".", *tests_in_words(ranking)]


def tests_in_words(ranking: Ranking) -> list[str]:
    """Say what the tests allow one to conclude, and how little."""
    if ranking.critical_difference is None:
        return []
    sentences = []
    if ranking.p_value is not None and ranking.p_value >= ALPHA:
        sentences.append(
            "Friedman's test finds no difference between the methods "
            f"(p = {ranking.p_value:.2g}), so the order of the mean ranks may be chance."
        )
    else:
        first, cd = ranking.mean_ranks[0], ranking.critical_difference
        close = sum(rank - first <= cd for rank in ranking.mean_ranks) - 1
        sentences.append(
            f"Mean ranks that differ by less than {cd:.1f} cannot be told apart (Nemenyi's test, "
            f"5 %): {close} of the other {len(ranking.methods) - 1} methods may be as good as the "
            "first."
        )
    n_scenes = len(ranking.scenes)
    if n_scenes < _FEW_SCENES:
        sentences.append(
            f"With {n_scenes} scenes this test is weak: it finds only very large differences."
        )
    if {"indian-pines", "indian-pines-subset"} <= set(ranking.scenes):
        sentences.append(
            "The scenes are not independent either: the Indian Pines subset is a part of Indian "
            "Pines."
        )
    return sentences


def _with_ground_truth(rows: Sequence[SuiteRow]) -> list[str]:
    """Say what a choice with ground truth gains, method by method."""
    gains: dict[str, list[float]] = {}
    for row in rows:
        if row.choice == CHOSEN and not row.failed:
            same = (row.scene, row.method, row.way, LABEL_FREE)
            usual = next(
                (each for each in rows if (each.scene, each.method, each.way, each.choice) == same),
                None,
            )
            if usual is not None and not usual.failed:
                gain = row.scores["oa"] - usual.scores["oa"]
                gains.setdefault(row.title, []).append(gain)
    if not gains:
        return []
    told = ", ".join(f"{title} {sum(values) / len(values):.2f}" for title, values in gains.items())
    return [
        f"A choice of settings with ground truth, which a user does not have, adds to the mean OA: "
        f"{told}. Such rows are in no ranking."
    ]


def titles_of(rows: Sequence[SuiteRow]) -> dict[str, str]:
    """Name of each method for people."""
    return {row.method: row.title for row in rows}
