"""Checks of parameter values, each with one sentence about what would be right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from spectrawalk.errors import ParameterError

_SHOWN = 60
"""Characters of a value that an error message shows."""


def shown(value: Any) -> str:
    """Show any value in one short line, as error messages need it.

    Examples
    --------
    >>> shown([1, 2]), shown(10**100)[-8:]
    ('[1, 2]', '00000...')
    """
    try:
        line = " ".join(repr(value).split())
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "(a number of thousands of digits)"
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


def is_auto(value: Any) -> bool:
    """Whether a parameter asks for the automatic choice; arrays and the like never do."""
    return isinstance(value, str) and value == "auto"


def asks_for_automatic_mode(parameters: Mapping[str, Any]) -> bool:
    """Whether saved parameters are those of the automatic mode of earlier versions.

    Examples
    --------
    >>> asks_for_automatic_mode({"radius": "auto"}), asks_for_automatic_mode({"radius": 8})
    (True, False)
    """
    return any(is_auto(parameters.get(name)) for name in ("radius", "time"))


def check_integer(name: str, value: Any, minimum: int, *, why: str = "") -> int:
    """Return `value` as an int of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ParameterError(
            f"{name}={shown(value)} cannot be used; give an integer of at least {minimum}{why}."
        )
    return int(value)


def check_number(name: str, value: Any, *, positive: bool = True) -> float:
    """Return `value` as a finite float above zero (or not below it)."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan
    except OverflowError:  # an integer beyond the largest float
        number = math.inf
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        wanted = "above 0" if positive else "of at least 0"
        raise ParameterError(
            f"{name}={shown(value)} cannot be used; give a finite number {wanted}."
        )
    return number


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Refuse a `value` that is none of `choices`.

    Examples
    --------
    >>> check_choice("window", "disk", ("square", "disk"))
    """
    choices = tuple(choices)
    comparable = value is None or isinstance(value, str)  # an array would compare item by item
    if not comparable or value not in choices:
        *others, last = [repr(choice) for choice in choices]
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ParameterError(f"{name}={shown(value)} is not known; choose one of {listed}.")


def check_truth(name: str, value: Any) -> None:
    """Refuse a `value` that is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name}={shown(value)} is not known; give True or False.")


def check_seed(name: str, value: Any) -> int:
    """Return the seed: `value` itself, or 0 for None, so that every run is repeatable."""
    return 0 if value is None else check_integer(name, value, 0, why=", or None")
