"""Checks of parameter values, each with one sentence about what would be right."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from spectrawalk.errors import ParameterError


def check_integer(name: str, value: Any, minimum: int, *, why: str = "") -> int:
    """Return `value` as an int of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ParameterError(
            f"{name}={value!r} cannot be used; give an integer of at least {minimum}{why}."
        )
    return int(value)


def check_number(name: str, value: Any, *, positive: bool = True) -> float:
    """Return `value` as a finite float above zero (or not below it)."""
    wanted = "above 0" if positive else "of at least 0"
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not math.isfinite(value)
        or value < 0
        or (positive and value == 0)
    ):
        raise ParameterError(f"{name}={value!r} cannot be used; give a finite number {wanted}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Refuse a `value` that is none of `choices`."""
    choices = tuple(choices)
    if not any(value is choice or (value == choice and type(value) is str) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"{name}={value!r} is not known; choose one of {listed}.")


def check_seed(name: str, value: Any) -> int:
    """Return the seed: `value` itself, or 0 for None, so that every run is repeatable."""
    return 0 if value is None else check_integer(name, value, 0, why=", or None")
