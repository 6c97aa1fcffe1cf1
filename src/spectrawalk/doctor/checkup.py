"""The checkup: all facts in the order in which a reader of a bug report wants them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from spectrawalk.doctor.facts import Fact, State, without_names

SELF_TEST = "self-test"

_SECTIONS = {
    "versions": "versions.versions",
    "optional": "versions.extras",
    "GDAL": "versions.gdal",
    "threads": "machine.threads_and_processors",
    "memory": "machine.memory",
    "folders": "folders.folders",
    SELF_TEST: "selftest.self_test",
}
"""Title of each section, and the function of this package that lists its facts."""


TITLES = tuple(_SECTIONS)
"""Sections in order; the self-test, which takes seconds, comes last."""


def examine(title: str) -> list[Fact]:
    """List the facts of a section, without the names of people.

    It never raises: what goes wrong is the last fact.

    Examples
    --------
    >>> examine("versions")[0].name
    'spectrawalk'
    """
    return [without_names(fact) for fact in _facts(title, _SECTIONS[title])]


def _facts(title: str, name: str) -> Iterator[Fact]:
    try:
        # Imported only now: a library that is broken must not keep the other sections from view.
        module, _, function = name.partition(".")
        yield from getattr(import_module(f"spectrawalk.doctor.{module}"), function)()
    except Exception as error:
        yield Fact(
            title,
            f"failed ({type(error).__name__}: {' '.join(str(error).split()).rstrip('.')})",
            State.BROKEN,
            "mend what is marked above, or report it with this output",
        )
