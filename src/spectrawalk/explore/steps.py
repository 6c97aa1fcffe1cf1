"""The steps that a person takes in the explorer, and the map that they lead to.

A map is painted with *parts*: the leaves of the tree (or the clusters of a single run, or the
classes of the answers), and drawn polygons. A cluster is a set of parts with a number, its id. The
state is a function of the fit and the steps alone, so the command line can repeat it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import ParameterError
from spectrawalk.explore.checks import Step, checked_step
from spectrawalk.explore.polygons import inside_polygon
from spectrawalk.results.model import FittedModel, TreeModel
from spectrawalk.results.palette import cluster_colors

NONE = 255
"""Part of a pixel without a label."""


@dataclass(frozen=True, eq=False)
class State:
    """What is on the screen after some steps.

    Attributes
    ----------
    fit : SpectraWalk, SRDL, DLSS or DL
    model : SpectraWalk, SRDL, DLSS or DL
        The same, or a single run with other parameters of its labels, after ``relabel``.
    base : str
        What the parts are: ``"tree"``, ``"clusters"`` or ``"answers"``.
    k : int
        Number of clusters of the last cut.
    parts : ndarray of uint8, shape (rows, cols)
        Part of each pixel; 255 where it has no label.
    n_leaves : int
        Parts that are not polygons. They have the lowest numbers.
    cluster_of : tuple of int
        Id of the cluster of each part.
    sizes : ndarray of int
        Pixels of each part.
    names, colors, hidden
        What was said of clusters, by id.
    answers : mapping of int to str or None
        Class of each pixel that was asked about; None where it is not known.
    labelling : mapping
        Parameters that ``relabel`` changed.
    """

    fit: TreeModel | FittedModel
    model: TreeModel | FittedModel
    base: str
    k: int
    parts: NDArray[np.uint8]
    n_leaves: int
    cluster_of: tuple[int, ...]
    sizes: NDArray[np.intp]
    names: Mapping[int, str] = field(default_factory=dict)
    colors: Mapping[int, str] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()
    answers: Mapping[int, str | None] = field(default_factory=dict)
    labelling: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_fit(cls, model: TreeModel | FittedModel) -> State:
        """State before the first step.

        Examples
        --------
        >>> from spectrawalk import SpectraWalk
        >>> from spectrawalk.datasets import make_scene
        >>> model = SpectraWalk(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
        >>> state = State.of_fit(model)
        >>> state.ids, state.base
        ([0, 1, 2], 'tree')
        """
        if isinstance(model, TreeModel):
            n_leaves = len(model.leaf_sizes_)
            parts = _as_parts(model.cut(n_leaves), n_leaves)
            clusters = tuple(model.ancestors(model.n_clusters_).tolist())
            sizes = _counts(parts, n_leaves)
            return cls(model, model, "tree", model.n_clusters_, parts, n_leaves, clusters, sizes)
        return _flat(model, "clusters", model.labels_, model.n_clusters_)

    @cached_property
    def version(self) -> str:
        """Changes when the parts do."""
        return f"{self.base}-{zlib.crc32(self.parts.tobytes()):08x}"

    @cached_property
    def ids(self) -> list[int]:
        """Ids of the clusters that have pixels, in order."""
        return sorted({c for c, n in zip(self.cluster_of, self.sizes, strict=True) if n})

    def parts_of(self, cluster: int) -> list[int]:
        """Parts of a cluster that have pixels."""
        own = [part for part, each in enumerate(self.cluster_of) if each == cluster]
        return [part for part in own if self.sizes[part]]

    def name(self, cluster: int) -> str:
        """Name of a cluster."""
        return self.names.get(cluster, f"cluster {cluster + 1}")

    def color(self, cluster: int) -> str:
        """Colour of a cluster, such as "#0072b2"."""
        return self.colors.get(cluster) or palette(cluster + 1)[cluster]

    def pixels(self, cluster: int) -> int:
        """Pixels of a cluster."""
        return int(self.sizes[self.parts_of(cluster)].sum())

    def labels(self) -> tuple[NDArray[np.int32], list[int]]:
        """Labels 0..K-1 in the image's shape, -1 where there is none, and the id of each."""
        ids = self.ids
        table = np.full(NONE + 1, -1, dtype=np.int32)
        place = {cluster: number for number, cluster in enumerate(ids)}
        for part, cluster in enumerate(self.cluster_of):
            table[part] = place.get(cluster, -1)
        return table[self.parts], ids


def palette(n: int) -> list[str]:
    """Colours of clusters that were given none, by id.

    Examples
    --------
    >>> palette(2)
    ['#0072b2', '#e69f00']
    """
    return ["#" + bytes(color).hex() for color in cluster_colors(n)]


def replay(model: TreeModel | FittedModel, steps: Iterable[Step]) -> State:
    """State after some steps."""
    state = State.of_fit(model)
    for step in steps:
        state = take_step(state, step)
    return state


def take_step(state: State, step: Step) -> State:
    """State after one more step.

    Parameters
    ----------
    state : State
        It does not change.
    step : dict
        ``op``, and what it needs; ``ROUTES.md`` lists them.

    Examples
    --------
    >>> from spectrawalk import SpectraWalk
    >>> from spectrawalk.datasets import make_scene
    >>> model = SpectraWalk(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> state = take_step(State.of_fit(model), {"op": "merge", "clusters": [0, 2]})
    >>> state.ids, take_step(state, {"op": "name", "cluster": 0, "name": "corn"}).name(0)
    ([0, 1], 'corn')
    """
    step = checked_step(step)
    return _OPERATIONS[step["op"]](state, step)


def _cut(state: State, step: Step) -> State:
    model = state.model
    if not isinstance(model, TreeModel):
        raise ParameterError("op 'cut' needs a tree, which a single run has not; use 'relabel'.")
    k = step["k"]
    ancestors = model.ancestors(k).tolist()  # refuses a k that is too large
    if state.base != "tree":
        return _back_to_tree(state, k)
    n = state.n_leaves
    drawn = [ancestors[c] if c < n else c for c in state.cluster_of[n:]]
    return replace(state, k=k, cluster_of=(*ancestors, *drawn))


def _back_to_tree(state: State, k: int) -> State:
    """Cut the tree after the answers made the map; polygons were drawn on that map and go."""
    fresh = State.of_fit(state.model)
    model = state.model
    assert isinstance(model, TreeModel)
    return replace(fresh, k=k, cluster_of=tuple(model.ancestors(k).tolist()), answers=state.answers)


def _merge(state: State, step: Step) -> State:
    clusters = sorted({_present(state, each) for each in step["clusters"]})
    if len(clusters) < 2:
        raise ParameterError("op 'merge' needs two clusters or more.")
    kept, gone = clusters[0], set(clusters[1:])
    names = dict(state.names)
    named = [c for c in clusters if c in names]
    if named:
        names[kept] = names[named[0]]
    merged = tuple(kept if c in gone else c for c in state.cluster_of)
    return _forget(replace(state, cluster_of=merged, names=names), gone)


def _split(state: State, step: Step) -> State:
    cluster = _present(state, step["cluster"])
    parts = state.parts_of(cluster)
    leaves = [part for part in parts if part < state.n_leaves]
    if state.base == "tree" and len(leaves) > 1:
        away = _smaller_side(state, cluster, leaves)
    elif len(parts) > 1:
        away = {parts[-1]}
    else:
        what = "one leaf of the tree" if state.base == "tree" else "all that the run found"
        raise ParameterError(f"'{state.name(cluster)}' cannot be split: it is {what}.")
    # A cluster with the number of a leaf always holds this leaf, so the number is free.
    is_new = min(away) >= state.n_leaves
    new = _new_id(state) if is_new else min(away)
    divided = tuple(new if part in away else c for part, c in enumerate(state.cluster_of))
    named = _forget(state, {new})
    colors = {**named.colors, new: _unused_color(state)} if is_new else named.colors
    return replace(named, cluster_of=divided, colors=colors)


def _smaller_side(state: State, cluster: int, leaves: list[int]) -> set[int]:
    """Leaves on one side of the highest split of the tree among `leaves`.

    As in the tree, the number stays with its own leaf. If that has no pixel, with the larger side.
    """
    model, chosen = state.model, np.array(leaves)
    assert isinstance(model, TreeModel)
    for j in range(1, state.n_leaves):
        inside = model.ancestors(j + 1)[chosen] == j
        if inside.any() and not inside.all():
            break
    sizes = state.sizes[chosen]
    stays = chosen == cluster
    if not stays.any():
        stays = inside if 2 * sizes[inside].sum() > sizes.sum() else ~inside
    goes = ~inside if (stays & inside).any() else inside
    return set(chosen[goes].tolist())


def _name(state: State, step: Step) -> State:
    cluster, names = _present(state, step["cluster"]), dict(state.names)
    names.pop(cluster, None)
    return replace(state, names=names | ({cluster: step["name"]} if step["name"] else {}))


def _color(state: State, step: Step) -> State:
    cluster = _present(state, step["cluster"])
    return replace(state, colors={**state.colors, cluster: step["color"]})


def _hide(state: State, step: Step) -> State:
    cluster = {_present(state, step["cluster"])}
    hidden = state.hidden | cluster if step["hidden"] else state.hidden - cluster
    return replace(state, hidden=hidden)


def _polygon(state: State, step: Step) -> State:
    part = len(state.cluster_of)
    if part >= NONE:
        raise ParameterError(
            f"this map has {part - state.n_leaves} polygons, and no room for more; undo some."
        )
    rows, cols = state.parts.shape
    inside = inside_polygon(step["points"], (rows, cols)) & (state.parts != NONE)
    if not inside.any():
        raise ParameterError("the polygon holds no pixel with a label; draw a larger one.")
    names, colors = dict(state.names), dict(state.colors)
    if "cluster" in step:
        cluster = _present(state, step["cluster"])
    else:
        same = [each for each in state.ids if state.name(each) == step["name"]]
        cluster = same[0] if same else _new_id(state)
        if not same:
            names[cluster], colors[cluster] = step["name"], _unused_color(state)
    parts = state.parts.copy()
    parts[inside] = part
    sizes = _counts(parts, part + 1)
    return replace(
        state,
        parts=parts,
        sizes=sizes,
        cluster_of=(*state.cluster_of, cluster),
        names=names,
        colors=colors,
    )


def _answer(state: State, step: Step) -> State:
    pixel = step["pixel"]
    if pixel >= state.parts.size or state.parts.flat[pixel] == NONE:
        raise ParameterError(f"pixel {pixel} has no label; give a pixel of the map.")
    return replace(state, answers={**state.answers, pixel: step["class"]})


def _classify(state: State, step: Step) -> State:
    fit = state.fit
    if not isinstance(fit, TreeModel):
        raise ParameterError("op 'classify' needs the runs of SpectraWalk; this is a single run.")
    if not any(state.answers.values()):
        raise ParameterError("no pixel has a class yet; answer a question first.")
    labels, classes = fit.classified(state.answers)
    if len(classes) >= NONE:
        raise ParameterError(f"the answers name {len(classes)} classes; a map shows {NONE - 1}.")
    flat = _flat(fit, "answers", labels, len(classes))
    names = {number: str(each) for number, each in enumerate(classes)}
    return replace(flat, k=state.k, names=names, answers=state.answers)


def _relabel(state: State, step: Step) -> State:
    if not hasattr(state.fit, "with_labelling"):
        raise ParameterError("op 'relabel' is for single runs, such as SRDL; use 'cut'.")
    given = {"n_clusters" if name == "k" else name: value for name, value in step.items()}
    del given["op"]
    # Always from the fit itself, so that eigenpairs that were left out can come back.
    labelling = {**state.labelling, **given}
    model = state.fit.with_labelling(**labelling)
    flat = _flat(model, "clusters", model.labels_, model.n_clusters_)
    return replace(flat, fit=state.fit, answers=state.answers, labelling=labelling)


_OPERATIONS: dict[str, Callable[[State, Step], State]] = {
    "cut": _cut,
    "merge": _merge,
    "split": _split,
    "name": _name,
    "color": _color,
    "hide": _hide,
    "polygon": _polygon,
    "answer": _answer,
    "classify": _classify,
    "relabel": _relabel,
}


def _flat(
    model: TreeModel | FittedModel, base: str, labels: NDArray[np.integer], n_clusters: int
) -> State:
    """State in which each cluster is a part."""
    parts = _as_parts(labels, n_clusters)
    sizes = _counts(parts, n_clusters)
    clusters = tuple(range(n_clusters))
    return State(model, model, base, n_clusters, parts, n_clusters, clusters, sizes)


def _as_parts(labels: NDArray[np.integer], n: int) -> NDArray[np.uint8]:
    if n >= NONE:
        raise ParameterError(f"the run has {n} clusters; the explorer shows at most {NONE - 1}.")
    image = labels if labels.ndim == 2 else labels.reshape(1, -1)
    return np.where(image < 0, NONE, image).astype(np.uint8)


def _counts(parts: NDArray[np.uint8], n: int) -> NDArray[np.intp]:
    """Pixels of each of the first n parts."""
    return np.bincount(parts.ravel(), minlength=NONE + 1)[:n]


def _present(state: State, cluster: int) -> int:
    if cluster not in state.ids:
        raise ParameterError(
            f"there is no cluster {cluster} on the map; its clusters are "
            f"{', '.join(map(str, state.ids))}."
        )
    return cluster


def _new_id(state: State) -> int:
    """Smallest number that no cluster and no leaf has: a leaf's is kept for a cut."""
    return max(*state.cluster_of, *state.names, *state.colors, state.n_leaves - 1) + 1


def _unused_color(state: State) -> str:
    used = {state.color(each) for each in state.ids}
    return next(color for color in palette(len(used) + 1) if color not in used)


def _forget(state: State, clusters: set[int]) -> State:
    """Remove what was said of clusters that are no more."""
    return replace(
        state,
        names={c: name for c, name in state.names.items() if c not in clusters},
        colors={c: color for c, color in state.colors.items() if c not in clusters},
        hidden=state.hidden - clusters,
    )
