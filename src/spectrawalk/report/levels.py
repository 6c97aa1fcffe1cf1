"""Small maps of the supported numbers of clusters, side by side in the report."""

from __future__ import annotations

from typing import Any

from spectrawalk.report.pictures import labels_picture, thinning
from spectrawalk.results.captions import count
from spectrawalk.results.cluster_map import to_map_grid
from spectrawalk.results.model import TreeModel
from spectrawalk.results.palette import cluster_colors
from spectrawalk.results.result import Result

MOST = 6
"""Largest number of small maps: as many fit side by side."""

_LONGEST_SIDE = 400
"""Pixels of a small map, so that all of them take less room in the page than one large map."""


def level_maps(result: Result) -> dict[str, Any] | None:
    """Maps of the levels of a tree, with captions; None where there is nothing to compare.

    Examples
    --------
    >>> from spectrawalk import Result, SpectraWalk
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
    >>> found = level_maps(Result.of_fit(scene, SpectraWalk(n_clusters=5).fit(scene)))
    >>> [(each["name"], each["shown"]) for each in found["pictures"]][-1]
    ('5 clusters', True)
    """
    model = result.model
    if result.predicted or not isinstance(model, TreeModel):
        return None
    numbers = level_numbers(model)
    if len(numbers) < 2:
        return None
    rows, cols = result.map.labels.shape
    step = thinning((rows, cols), _LONGEST_SIDE)
    pictures = [
        {
            "name": count(number, "cluster"),
            "address": labels_picture(
                to_map_grid(result.scene, model.cut(number), -1)[::step, ::step],
                cluster_colors(number),
            ),
            "shown": number == result.n_clusters,
        }
        for number in numbers
    ]
    return {"aspect": f"{cols / rows:.4f}", "pictures": pictures, "step": step * result.image.cell}


def level_numbers(model: TreeModel) -> list[int]:
    """Numbers of clusters to draw: the levels of the tree, and the one that is shown.

    Of too many levels, the coarsest, the finest and those that stand out most.
    """
    levels = model.levels_
    ends = {level.n_clusters for level in (*levels[:1], *levels[-1:])}
    chosen = {model.n_clusters_, *ends}
    others = [level for level in levels if level.n_clusters not in chosen]
    others.sort(key=lambda level: -level.lifetime)
    return sorted(chosen | {level.n_clusters for level in others[: MOST - len(chosen)]})
