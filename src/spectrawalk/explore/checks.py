"""Checks of steps that come from a page or a record: each one is a plain dict of known fields."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from spectrawalk.errors import FileError, ParameterError
from spectrawalk.parameters import shown

Step = Mapping[str, Any]
"""One step: its ``op`` and what it needs."""

LONGEST_NAME = 100
MOST_POINTS = 10_000
_COLOR = re.compile("#[0-9a-fA-F]{6}")
_LARGEST = 2**53  # the largest whole number that JSON is sure to keep


def checked_step(step: Any) -> dict[str, Any]:
    """Return a step with its own fields only, in plain values; refuse what is none.

    Examples
    --------
    >>> checked_step({"op": "cut", "k": 5, "revision": 3})
    {'op': 'cut', 'k': 5}
    """
    operation = step.get("op") if isinstance(step, Mapping) else None
    if not isinstance(operation, str) or operation not in _FIELDS:
        raise ParameterError(f"op={shown(operation)} is no step; use one of {', '.join(_FIELDS)}.")
    fields = dict(_FIELDS[operation])
    if operation == "polygon":
        fields["cluster" if "cluster" in step else "name"] = (
            _whole if "cluster" in step else _class_name
        )
    found = {"op": operation}
    for name, check in fields.items():
        if name not in step and operation == "relabel":
            continue
        if name not in step:
            raise ParameterError(f"op '{operation}' lacks '{name}'.")
        found[name] = check(name, step[name])
    return found


def checked_steps(steps: Any, record: object) -> tuple[dict[str, Any], ...]:
    """Steps of a record, each checked.

    Examples
    --------
    >>> checked_steps([{"op": "split", "cluster": 2}], "run.json")
    ({'op': 'split', 'cluster': 2},)
    """
    if not isinstance(steps, list):
        raise FileError(f"the steps in '{record}' are no list; give a run.json as it was written.")
    try:
        return tuple(checked_step(step) for step in steps)
    except ParameterError as error:
        raise FileError(f"a step in '{record}' cannot be taken: {error}") from None


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise ParameterError(f"{name}={shown(value)} cannot be used; give a whole number from 0.")
    return value


def _from_one(name: str, value: Any) -> int:
    if _whole(name, value) == 0:
        raise ParameterError(f"{name}=0 cannot be used; give a whole number from 1.")
    return int(value)


def _positive(name: str, value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise ParameterError(f"{name}={shown(value)} cannot be used; give a positive number.")
    return float(value)


def _clusters(name: str, value: Any) -> list[int]:
    if not isinstance(value, (list, tuple)) or len(value) > 1000:
        raise ParameterError(f"{name}={shown(value)} cannot be used; give a list of clusters.")
    return [_whole(name, each) for each in value]


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name}={shown(value)} cannot be used; give true or false.")
    return value


def _color(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _COLOR.fullmatch(value):
        raise ParameterError(f"{name}={shown(value)} cannot be used; give one such as '#0072b2'.")
    return value.lower()


def _name(name: str, value: Any) -> str:
    """Return a name in one line; it may hold any characters but those that are not printed."""
    text = " ".join(value.split()) if isinstance(value, str) else None
    if text is None or len(text) > LONGEST_NAME or not text.isprintable():
        raise ParameterError(
            f"{name}={shown(value)} cannot be used; give text of at most {LONGEST_NAME} letters."
        )
    return text


def _class_name(name: str, value: Any) -> str:
    text = _name(name, value)
    if not text:
        raise ParameterError(f"{name} is empty; give the name of a class.")
    return text


def _answer(name: str, value: Any) -> str | None:
    return None if value is None else _class_name(name, value)


def _points(name: str, value: Any) -> list[tuple[float, float]]:
    if not isinstance(value, (list, tuple)) or not 3 <= len(value) <= MOST_POINTS:
        raise ParameterError(
            f"{name} cannot be used; give 3 to {MOST_POINTS:,} corners as [row, col]."
        )
    return [_point(name, each) for each in value]


def _point(name: str, value: Any) -> tuple[float, float]:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        row, col = value
        numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in value]
        # Far outside any image, and still exact enough to interpolate.
        if all(numbers) and max(abs(row), abs(col)) < 1e9:
            return float(row), float(col)
    raise ParameterError(f"{name} holds {shown(value)}; give corners as [row, col].")


_Check = Callable[[str, Any], Any]
_FIELDS: dict[str, dict[str, _Check]] = {
    "cut": {"k": _from_one},
    "merge": {"clusters": _clusters},
    "split": {"cluster": _whole},
    "name": {"cluster": _whole, "name": _name},
    "color": {"cluster": _whole, "color": _color},
    "hide": {"cluster": _whole, "hidden": _flag},
    "polygon": {"points": _points},
    "answer": {"pixel": _whole, "class": _answer},
    "classify": {},
    "relabel": {
        "k": _from_one,
        "time": _positive,
        "n_eigenpairs": _from_one,
        "consensus_radius": _whole,
    },
}
