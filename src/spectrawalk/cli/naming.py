"""What the library says of parameters, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from spectrawalk.errors import SpectrawalkError

_CALLS = {"force": ("inside forecast.forced()", "with --force")}
"""Options that stand for a call in Python: the words of the library, and ours."""


@contextmanager
def naming_options(command: click.Command, **others: str) -> Iterator[None]:
    """Let errors about a parameter speak of the option that sets it.

    `others` are parameters whose option has another name here, as where two files are read:
    ``variable="truth_variable"``.
    """
    try:
        yield
    except SpectrawalkError as error:
        message = str(error)
        for name, option in others.items():
            message = re.sub(rf"(?<![\w-]){name}(?==)", option, message)
        told = in_options(message, command.params)
        if told == str(error):
            raise
        raise type(error)(told) from error


def in_words_of_command(sentence: str) -> str:
    """Let a remark on a result speak of the options of the command that is running."""
    context = click.get_current_context(silent=True)
    return sentence if context is None else in_options(sentence, context.command.params)


def in_options(message: str, params: Sequence[click.Parameter]) -> str:
    """Replace names of Python parameters by those of options.

    A name that is also a word, as time is, is taken for a parameter only before an equals sign.
    """
    for param in params:
        if not isinstance(param, click.Option) or not param.name:
            continue
        option = param.opts[0]
        if param.name in _CALLS:
            message = message.replace(*_CALLS[param.name])
        if param.is_flag:
            message = re.sub(rf"(?<![\w-]){param.name}=True\b", option, message)
        ending = r"\b" if "_" in param.name else "(?==)"
        message = re.sub(rf"(?<![\w-]){param.name}{ending}", option, message)
    return re.sub(r"(?<![\w-])(-\w)=", r"\1 ", message)
