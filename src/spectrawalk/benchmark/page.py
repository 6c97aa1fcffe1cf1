"""The page of the suite: findings, ranks, and the maps of each scene side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

import spectrawalk
from spectrawalk.benchmark.diagram import WIDTH, draw_on, height
from spectrawalk.benchmark.findings import NAMES, findings, label_free, titles_of
from spectrawalk.benchmark.methods import CHOSEN, DEFAULT, FOUND, GIVEN
from spectrawalk.benchmark.ranking import RANKED_BY, Ranking, rank_rows
from spectrawalk.benchmark.suite import SuiteRow
from spectrawalk.benchmark.tables import chosen_rows, cost_cell, methods_of, notes_on, score_cells
from spectrawalk.paper.figures import colors_of_classes, paint_by_class
from spectrawalk.paper.published import scene_title
from spectrawalk.report.charts import svg_chart
from spectrawalk.report.figures import class_name, figure_and_patch, paint_classes
from spectrawalk.report.page import POLICY, asset, page_template
from spectrawalk.report.pictures import address_of, thinning
from spectrawalk.results.captions import count
from spectrawalk.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEMPLATE = "suite.html.j2"
_LONGEST_SIDE = 400  # pixels of a map
_SPARSE = 0.1  # share of valid pixels below which each is drawn larger, to be seen at all
_LARGER = 6  # pixels on each side
_HEAD = (*NAMES.values(), "clusters", "seeds", "s / MB")


def suite_html(
    rows: Sequence[SuiteRow], scenes: Sequence[Scene], missing: Mapping[str, str]
) -> bytes:
    """Write the suite as one HTML page that needs neither network nor other files.

    Parameters
    ----------
    rows : sequence of SuiteRow
    scenes : sequence of Scene
    missing : mapping
        Why a scene was left out, by its name.
    """
    from markupsafe import Markup

    figure_and_patch()  # or says how to get the library for pictures
    charts = {way: Markup(chart) for way in (GIVEN, FOUND) if (chart := _rank_chart(rows, way))}
    methods = methods_of(rows)
    page = page_template(_TEMPLATE).render(
        policy=POLICY,
        title=f"{count(len(methods), 'method')} on {count(len(scenes), 'scene')}",
        version=spectrawalk.__version__,
        style=Markup(asset("style.css")),
        findings=findings(rows),
        missing=missing,
        charts=charts,
        head=_HEAD,
        scenes=[_scene(scene, rows, number) for number, scene in enumerate(scenes, start=1)],
        methods=[(each.title, each.settings, each.seen or "nothing") for each in methods],
        has_chosen=any(row.choice == CHOSEN for row in rows),
    )
    return page.encode("utf-8", errors="replace")


def rank_caption(way: str, ranking: Ranking) -> str:
    """Title of the picture of mean ranks."""
    text = f"{way}, by {NAMES[RANKED_BY[way]]}"
    if ranking.critical_difference is not None:
        text += f"; critical difference {ranking.critical_difference:.1f}"
    return text


def _rank_chart(rows: Sequence[SuiteRow], way: str) -> str:
    ranking = rank_rows(rows, way)
    if ranking is None or ranking.critical_difference is None:
        return ""

    def draw(ax: Axes) -> None:
        draw_on(ax, ranking, titles_of(rows), rank_caption(way, ranking))

    return svg_chart(draw, f"ranks-{way.replace(' ', '-')}", (WIDTH, height(ranking)))


def _scene(scene: Scene, rows: Sequence[SuiteRow], number: int) -> dict[str, Any]:
    """What the page shows of a scene."""
    of_class = colors_of_classes(scene)
    truth = scene.ground_truth
    assert truth is not None
    groups = []
    for name, found in (
        (GIVEN, label_free(rows, GIVEN, scene.name)),
        (FOUND, label_free(rows, FOUND, scene.name)),
        (CHOSEN, chosen_rows(rows, scene.name)),
    ):
        if found:
            groups.append(_group(name, found, scene, of_class))
    step = thinning(scene.shape, _LONGEST_SIDE)
    shape = tuple(-(-side // step) for side in scene.shape)
    known = f"{count(int((truth > 0).sum()), 'pixel')} with ground truth"
    return {
        "id": f"scene-{number}",
        "name": scene_title(scene.name),
        "subtitle": f"{scene.shape[0]} × {scene.shape[1]} pixels, "  # noqa: RUF001
        f"{count(scene.n_bands, 'band')}, {_classes(len(of_class))}, {known}",
        "aspect": f"{shape[1] / shape[0]:.4f}",
        "truth": _address(paint_classes(truth, of_class), truth > 0, step),
        "classes": [
            ("#{:02x}{:02x}{:02x}".format(*color), class_name(scene, each))
            for each, color in of_class.items()
        ],
        "groups": groups,
        "step": step,
        "sparse": scene.mask.mean() < _SPARSE,
        "notes": notes_on(rows, scene.name),
    }


def _group(
    name: str, rows: Sequence[SuiteRow], scene: Scene, of_class: dict[int, Any]
) -> dict[str, Any]:
    """Maps and scores of the rows of one kind."""
    score = RANKED_BY.get(name, "oa")
    step = thinning(scene.shape, _LONGEST_SIDE)
    maps = [
        {
            "name": row.title,
            "caption": f"{NAMES[score]} {row.scores[score]:.2f}",
            "address": _address(paint_by_class(scene, row.labels, of_class), row.labels >= 0, step),
            "ours": row.method == DEFAULT,
        }
        for row in rows
        if row.labels is not None
    ]
    lines = [
        {
            "name": row.title,
            "settings": row.settings,
            "cells": [*score_cells(row), cost_cell(row)],
            "ours": row.method == DEFAULT,
        }
        for row in rows
    ]
    return {
        "name": name,
        "by": NAMES[score],
        "maps": maps,
        "rows": lines,
        "settings": any(row.settings for row in rows),
    }


def _classes(n: int) -> str:
    return f"{n} class" if n == 1 else f"{n} classes"


def _address(image: NDArray[np.uint8], valid: NDArray[np.bool_], step: int) -> str:
    """Address of a picture; where hardly any pixel is valid, each is drawn larger."""
    if valid.mean() < _SPARSE:
        away, nearest = distance_transform_edt(~valid, return_indices=True)
        spread = image[tuple(nearest)]
        image = np.where((away <= _LARGER)[..., np.newaxis], spread, image)
    return address_of(np.ascontiguousarray(image[::step, ::step]))
