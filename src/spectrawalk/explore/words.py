"""Steps in words, for the list of what was done."""

from __future__ import annotations

from collections.abc import Callable

from spectrawalk.explore.checks import Step
from spectrawalk.explore.steps import State
from spectrawalk.results.captions import count


def in_words(state: State, step: Step) -> str:
    """Say what a step does to a state.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> state = SimpleNamespace(name=lambda cluster: f"cluster {cluster + 1}")
    >>> in_words(state, {"op": "merge", "clusters": [0, 4, 2]})
    'merge cluster 1, cluster 5 and cluster 3'
    """
    return _WORDS[step["op"]](state, step)


def _cut(state: State, step: Step) -> str:
    return f"cut into {count(step['k'], 'cluster')}"


def _merge(state: State, step: Step) -> str:
    *others, last = [state.name(each) for each in step["clusters"]]
    return f"merge {', '.join(others)} and {last}" if others else f"merge {last}"


def _split(state: State, step: Step) -> str:
    return f"split {state.name(step['cluster'])}"


def _name(state: State, step: Step) -> str:
    return f"call {state.name(step['cluster'])} {step['name'] or 'by its number'}"


def _color(state: State, step: Step) -> str:
    return f"give {state.name(step['cluster'])} the colour {step['color']}"


def _hide(state: State, step: Step) -> str:
    return f"{'hide' if step['hidden'] else 'show'} {state.name(step['cluster'])}"


def _polygon(state: State, step: Step) -> str:
    name = state.name(step["cluster"]) if "cluster" in step else step["name"]
    return f"draw a polygon of {name}"


def _answer(state: State, step: Step) -> str:
    row, col = divmod(step["pixel"], state.parts.shape[1])
    told = "not known" if step["class"] is None else step["class"]
    return f"answer for the pixel in row {row}, column {col}: {told}"


def _classify(state: State, step: Step) -> str:
    return "give all pixels the classes of the answers"


def _relabel(state: State, step: Step) -> str:
    told = {"k": "clusters", "time": "time", "n_eigenpairs": "eigenpairs"}
    told["consensus_radius"] = "consensus radius"
    values = [f"{told[name]} {step[name]:g}" for name in told if name in step]
    return f"label again with {', '.join(values) or 'the same parameters'}"


_WORDS: dict[str, Callable[[State, Step], str]] = {
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
