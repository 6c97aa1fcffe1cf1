"""Errors about parameters, in the words of the command line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from spectrawalk.cli.console import warn
from spectrawalk.errors import SceneWarning, SpectrawalkError


@contextmanager
def naming_options(command: click.Command) -> Iterator[None]:
    """Let errors and warnings about a parameter speak of the option that sets it."""
    options = {
        param.name: param.opts[0]
        for param in command.params
        if isinstance(param, click.Option) and param.name
    }
    with naming(**options):
        yield


@contextmanager
def naming(**options: str) -> Iterator[None]:
    """Let errors and warnings about a parameter speak of an option, given for each by its name."""
    try:
        with _warnings_on_stderr(options):
            yield
    except SpectrawalkError as error:
        told = in_options(str(error), options)
        if told == str(error):
            raise
        raise type(error)(told) from error


@contextmanager
def _warnings_on_stderr(options: Mapping[str, str]) -> Iterator[None]:
    """Show warnings about a scene in one line, each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", SceneWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, SceneWarning):
                warn(in_options(str(message), options))
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Replace names of Python parameters by those of options.

    A name that is also a word, as time is, is taken for a parameter only before an equals sign or
    between backticks.

    Examples
    --------
    >>> in_options("n_neighbors=0 or time=0 at a time; set `time`", {"time": "-t"})
    'n_neighbors=0 or -t 0 at a time; set -t'
    """
    for name, option in options.items():
        ending = r"\b" if "_" in name else "(?==)"
        message = message.replace(f"`{name}`", option)
        message = re.sub(rf"(?<![\w-]){name}{ending}", option, message)
    return re.sub(r"(?<![\w-])(-\w)=", r"\1 ", message)
