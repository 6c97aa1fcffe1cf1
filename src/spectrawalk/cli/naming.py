"""What the library says of parameters, in the words of the command line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from spectrawalk.cli.console import warn
from spectrawalk.errors import SceneWarning, SpectrawalkError

_CALLS = {"force": ("inside forecast.forced()", "with --force")}
"""Options that stand for a call in Python: the words of the library, and ours."""


def option_names(command: click.Command) -> dict[str, str]:
    """Option that sets each parameter of a command."""
    return {
        param.name: param.opts[0]
        for param in command.params
        if isinstance(param, click.Option) and param.name
    }


@contextmanager
def naming_options(command: click.Command) -> Iterator[None]:
    """Let errors and warnings about a parameter speak of the option that sets it."""
    with naming(**option_names(command)):
        yield


def in_words_of_command(sentence: str) -> str:
    """Let a remark on a result speak of the options of the command that is running."""
    context = click.get_current_context(silent=True)
    return sentence if context is None else in_options(sentence, option_names(context.command))


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
        if name in _CALLS:
            message = message.replace(*_CALLS[name])
        message = re.sub(rf"(?<![\w-]){name}=True\b", option, message)
        ending = r"\b" if "_" in name else "(?==)"
        message = message.replace(f"`{name}`", option)
        message = re.sub(rf"(?<![\w-]){name}{ending}", option, message)
    return re.sub(r"(?<![\w-])(-\w)=", r"\1 ", message)
