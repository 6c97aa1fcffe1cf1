"""Accuracy of SRDL, DLSS and DL for every interpretation ("reading") of the paper.

The paper does not state whether the graph is symmetric, what counts as a consensus, and what
happens to a pixel while its nearest denser pixel is unlabelled. Ground truth is only used to
compare the interpretations with the paper's results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from spectrawalk import progress
from spectrawalk.estimators import DL, DLSS, SRDL
from spectrawalk.paper.published import PUBLISHED, scene_title
from spectrawalk.paper.sweeps import GRAPHS
from spectrawalk.results.scores import score
from spectrawalk.scene import Scene
from spectrawalk.srdl.labels import OPEN_PARENT, STAGE1_RULES


@dataclass(frozen=True)
class Reading:
    """One interpretation and its scores; fields about the consensus are empty for DL."""

    method: str
    scene: str
    graph: str
    stage1: str
    open_parent: str
    own_vote: str
    oa: float
    aa: float
    kappa: float
    chosen: bool
    """Whether ``from_paper`` uses this interpretation."""


def score_readings(scene: Scene) -> list[Reading]:
    """Score every interpretation on one of the paper's scenes.

    Radius, number of eigenpairs and number of clusters are those of ``from_paper``.
    """
    assert scene.ground_truth is not None
    found = []
    methods: tuple[type[Any], ...] = (SRDL, DLSS, DL)
    cases = list(product(methods, GRAPHS.items()))
    for method, (graph, symmetrize) in progress.track(f"interpretations on {scene.name}", cases):
        settings = method.from_paper(scene.name).get_params()
        model = method(**settings | {"symmetrize": symmetrize})
        with progress.listen(lambda stage, done, total: None):
            model.fit(scene)
        rules = (
            [("", "", False)] if method is DL else product(STAGE1_RULES, OPEN_PARENT, (False, True))
        )
        for stage1, parent, own in rules:
            # These interpretations only affect the labels, so one fit is enough for all.
            if method is not DL:
                model.set_params(stage1=stage1, open_parent=parent, own_vote=own)
            scores = score(scene.ground_truth, model.relabel(settings["n_clusters"]))
            found.append(
                Reading(
                    method.__name__,
                    scene.name,
                    graph,
                    stage1,
                    parent,
                    "" if method is DL else "yes" if own else "no",
                    scores.oa,
                    scores.aa,
                    scores.kappa,
                    chosen=model.get_params() == settings,
                )
            )
    return found


COLUMNS = tuple(Reading.__dataclass_fields__)
"""Columns of the comma-separated values."""


def as_markdown(readings: Sequence[Reading]) -> str:
    """Write a table of the interpretations for each scene, followed by a summary."""
    parts = []
    for scene in dict.fromkeys(reading.scene for reading in readings):
        of_scene = [reading for reading in readings if reading.scene == scene]
        parts.append(f"### {scene_title(scene)}\n")
        parts.append("| method | graph | stage 1 | open parent | own vote | OA | AA | kappa | |")
        parts.append("|---|---|---|---|---|---:|---:|---:|---|")
        for each in of_scene:
            mark = "`from_paper`" if each.chosen else ""
            parts.append(
                f"| {each.method} | {each.graph} | {each.stage1} | {each.open_parent} "
                f"| {each.own_vote} | {each.oa:.3f} | {each.aa:.3f} | {each.kappa:.3f} | {mark} |"
            )
        parts += ["", *(f"- {sentence}" for sentence in remarks(of_scene)), ""]
    return "\n".join(parts)


def remarks(readings: Sequence[Reading]) -> list[str]:
    """Summarise the interpretations of one scene in sentences."""
    sentences = []
    for method in dict.fromkeys(each.method for each in readings):
        values = [each.oa for each in readings if each.method == method]
        paper = PUBLISHED[method.lower(), readings[0].scene].oa
        sentences.append(
            f"{method}: OA from {min(values):.3f} to {max(values):.3f} over {len(values)} "
            f"interpretations; the paper has {paper:.2f}."
        )
    [srdl] = [each.oa for each in readings if each.method == "SRDL" and each.chosen]
    better = [each for each in readings if each.method == "DLSS" and each.oa > srdl]
    n_dlss = sum(each.method == "DLSS" for each in readings)
    if better:
        best = max(better, key=lambda each: each.oa)
        sentences.append(
            f"{len(better)} of the {n_dlss} interpretations of DLSS have a higher OA than SRDL "
            f"with the paper's settings ({srdl:.3f}); the best has "
            f"{best.oa:.3f} / {best.aa:.3f} / {best.kappa:.3f} ({best.graph}, {best.stage1}, "
            f"open parent: {best.open_parent}, own vote: {best.own_vote})."
        )
    else:
        sentences.append(
            "No interpretation of DLSS has a higher OA than SRDL with the paper's settings "
            f"({srdl:.3f})."
        )
    return sentences
