"""Errors about parameters, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from spectrawalk.errors import SpectrawalkError


@contextmanager
def naming_options(command: click.Command) -> Iterator[None]:
    """Let errors about a parameter speak of the option that sets it."""
    try:
        yield
    except SpectrawalkError as error:
        told = in_options(str(error), command.params)
        if told == str(error):
            raise
        raise type(error)(told) from error


def in_options(message: str, params: Sequence[click.Parameter]) -> str:
    """Replace names of Python parameters by those of options.

    A name that is also a word, as time is, is taken for a parameter only before an equals sign.
    """
    for param in params:
        if isinstance(param, click.Option) and param.name:
            ending = r"\b" if "_" in param.name else "(?==)"
            message = re.sub(rf"(?<![\w-]){param.name}{ending}", param.opts[0], message)
    return re.sub(r"(?<![\w-])(-\w)=", r"\1 ", message)
