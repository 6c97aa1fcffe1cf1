"""Result of a fit and the steps that were taken on it: what is exported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.explore.checks import Step
from spectrawalk.explore.steps import State, replay
from spectrawalk.results.cluster_map import Legend
from spectrawalk.results.model import FittedModel, TreeModel
from spectrawalk.results.palette import cluster_colors
from spectrawalk.results.result import Result
from spectrawalk.scene import Scene


def edited_result(
    scene: Scene, model: TreeModel | FittedModel, steps: Sequence[Step] = ()
) -> Result:
    """Result of a model fitted to a scene, after some steps.

    Examples
    --------
    >>> from spectrawalk import SpectraWalk
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
    >>> model = SpectraWalk(n_clusters=3).fit(scene)
    >>> merge = {"op": "merge", "clusters": [1, 2]}
    >>> edited_result(scene, model, [merge]).map.names
    ('cluster 1', 'cluster 2')
    """
    return shown_result(scene, replay(model, steps)) if steps else Result.of_fit(scene, model)


def shown_result(scene: Scene, state: State) -> Result:
    """Result of what is shown. Clusters are numbered from 0 in the order of their ids."""
    model = state.model
    if isinstance(model, TreeModel) and model.n_clusters_ != state.k:
        model = model.at(state.k)
    labels, ids = state.labels()
    names = tuple(state.name(each) for each in ids)
    colors = np.array([list(bytes.fromhex(state.color(each)[1:])) for each in ids], dtype=np.uint8)
    usual = tuple(f"cluster {number}" for number in range(1, len(ids) + 1))
    is_usual = names == usual and np.array_equal(colors, cluster_colors(len(ids)))
    legend = None if is_usual else Legend(names, colors)
    if np.array_equal(labels, model.labels_):
        return Result(scene, model.labels_, len(ids), model, legend=legend)
    return Result(
        scene,
        labels,
        len(ids),
        model,
        legend=legend,
        edited_confidence=confidence_of(scene, model, labels),
    )


def confidence_of(
    scene: Scene, model: TreeModel | FittedModel, labels: NDArray[np.integer]
) -> NDArray[np.floating] | None:
    """Confidence of any labels; None for a single run, whose margin is that of its modes."""
    if not isinstance(model, TreeModel):
        return None
    image = np.full(scene.shape, np.nan, dtype=np.float32)
    valid = scene.mask
    image[valid] = model.overlaps(labels).margin(labels[valid])
    return image


def kept_steps(state: State, other: State) -> list[dict[str, Any]]:
    """Steps that name and colour the clusters of another cut as they are in this one.

    A cluster keeps its name and its colour if it has the same pixels in both.

    Examples
    --------
    >>> from spectrawalk import SpectraWalk
    >>> from spectrawalk.datasets import make_scene
    >>> model = SpectraWalk(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> steps = [{"op": "name", "cluster": each, "name": "crop"} for each in range(3)]
    >>> named = replay(model, steps)
    >>> len(kept_steps(named, replay(model.at(4), []))), len(kept_steps(named, named))
    (2, 3)
    """
    labels, ids = other.labels()
    sizes = np.bincount(labels[labels >= 0], minlength=len(ids))
    found: list[dict[str, Any]] = []
    for cluster in state.ids:
        if cluster not in state.names and cluster not in state.colors:
            continue
        inside = np.unique(labels[np.isin(state.parts, state.parts_of(cluster))])
        if len(inside) != 1 or sizes[inside[0]] != state.pixels(cluster):
            continue
        same = {"cluster": ids[inside[0]]}
        if cluster in state.names:
            found.append({"op": "name", **same, "name": state.names[cluster]})
        if cluster in state.colors:
            found.append({"op": "color", **same, "color": state.colors[cluster]})
    return found


def names_kept(before: int, after: int) -> str:
    """Say how many names another cut keeps; nothing if it keeps all.

    Examples
    --------
    >>> names_kept(3, 2)
    'names kept: 2 of 3; the other clusters are split or merged in this cut.'
    """
    if before == after:
        return ""
    return f"names kept: {after} of {before}; the other clusters are split or merged in this cut."
