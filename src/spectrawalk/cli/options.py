"""Types of option values, checked while the command line is parsed."""

from __future__ import annotations

import math
from typing import Any

import click
from click.shell_completion import CompletionItem


class FileName(click.ParamType):
    """The name of a file, or something else that a command looks up, such as a published scene."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete it as the name of a file."""
        return [CompletionItem(incomplete, type="file")]


class IntegerOrAuto(click.ParamType):
    """An integer of at least `minimum`, or the word ``auto``.

    `wanted` says which integers, if there is a largest one.
    """

    name = "integer or auto"

    def __init__(self, minimum: int, maximum: float = math.inf, wanted: str = "") -> None:
        self.minimum, self.maximum = minimum, maximum
        self.wanted = wanted or f"an integer of at least {minimum}"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Read a value."""
        if value == "auto":
            return "auto"
        try:
            number = int(value)
        except ValueError:
            number = self.minimum - 1
        if not self.minimum <= number <= self.maximum:
            self.fail(f"{value!r} is neither 'auto' nor {self.wanted}.", param, ctx)
        return number


class WithoutAuto(click.ParamType):
    """Values of another type, and a hint for ``auto``, which earlier versions took."""

    def __init__(self, of: click.ParamType, thing: str) -> None:
        self.of, self.thing, self.name = of, thing, of.name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """Read a value."""
        if value == "auto":
            self.fail(
                f"there is no automatic {self.thing} any more; leave it out, because the default "
                f"method needs no {self.thing}.",
                param,
                ctx,
            )
        return self.of.convert(value, param, ctx)


class Detail(click.ParamType):
    """A number from 0 to 1, or the words ``auto``, ``fields`` and ``materials``."""

    name = "detail"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """Read a value."""
        if value in ("auto", "fields", "materials"):
            return str(value)
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            self.fail(
                f"{value!r} is neither 'auto', 'fields', 'materials' nor a number from 0 to 1.",
                param,
                ctx,
            )
        return number


class Crop(click.ParamType):
    """A part of the image, ``ROW0:ROW1,COL0:COL1``, as two slices."""

    name = "crop"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[slice, slice]:
        """Read a value."""
        if isinstance(value, tuple):
            return value
        try:
            rows, cols = (_parse_range(part) for part in value.split(","))
        except ValueError:
            self.fail(
                f"{value!r} is not ROW0:ROW1,COL0:COL1 with rows and columns counted from 0, ROW1 "
                "and COL1 excluded, as in 0:50,0:25.",
                param,
                ctx,
            )
        return rows, cols


class WavelengthRange(click.ParamType):
    """Wavelengths in nanometres, ``LOW:HIGH``, as two numbers."""

    name = "wavelengths"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        """Read a value."""
        if isinstance(value, tuple):
            return value
        try:
            low, high = (float(number) for number in value.split(":"))
        except ValueError:
            low, high = 1.0, 0.0
        if not 0 <= low <= high < float("inf"):
            self.fail(
                f"{value!r} is not LOW:HIGH with two wavelengths in nanometres, as in 450:950.",
                param,
                ctx,
            )
        return low, high


def _parse_range(text: str) -> slice:
    start, stop = (int(number) for number in text.split(":"))
    if not 0 <= start < stop:
        raise ValueError
    return slice(start, stop)
