"""Errors about parameters, in the words of the command line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from spectrawalk.cli.console import warn
from spectrawalk.errors import SceneWarning, SpectrawalkError


@contextmanager
def naming_options(command: click.Command) -> Iterator[None]:
    """Let errors and warnings about a parameter speak of the option that sets it."""
    try:
        with _warnings_on_stderr(command.params):
            yield
    except SpectrawalkError as error:
        told = in_options(str(error), command.params)
        if told == str(error):
            raise
        raise type(error)(told) from error


@contextmanager
def _warnings_on_stderr(params: Sequence[click.Parameter]) -> Iterator[None]:
    """Show warnings about a scene in one line, each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", SceneWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, SceneWarning):
                warn(in_options(str(message), params))
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def in_options(message: str, params: Sequence[click.Parameter]) -> str:
    """Replace names of Python parameters by those of options.

    A name that is also a word, as time is, is taken for a parameter only before an equals sign.
    """
    for param in params:
        if isinstance(param, click.Option) and param.name:
            ending = r"\b" if "_" in param.name else "(?==)"
            message = re.sub(rf"(?<![\w-]){param.name}{ending}", param.opts[0], message)
    return re.sub(r"(?<![\w-])(-\w)=", r"\1 ", message)
