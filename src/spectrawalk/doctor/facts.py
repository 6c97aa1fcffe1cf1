"""A fact about this computer, what to do about it, and how it is kept free of names of people."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path


class State(StrEnum):
    """What a fact means for a run."""

    FINE = "fine"
    ABSENT = "absent"
    """Something optional is not installed."""
    HINDERED = "hindered"
    """Runs work, but slower or with less than they could."""
    BROKEN = "broken"
    """Runs fail, or cannot be trusted."""


@dataclass(frozen=True)
class Fact:
    """One line of the checkup.

    Attributes
    ----------
    name, value : str
    state : State
    advice : str
        What to do, as one sentence without its full stop; empty where there is nothing to do.
    """

    name: str
    value: str
    state: State = State.FINE
    advice: str = ""

    @property
    def text(self) -> str:
        """The value and the advice.

        Examples
        --------
        >>> Fact("threads", "8 on 2 processors", State.HINDERED, "unset SPECTRAWALK_THREADS").text
        '8 on 2 processors; unset SPECTRAWALK_THREADS'
        """
        return f"{self.value}; {self.advice}" if self.advice else self.value


def without_names(fact: Fact) -> Fact:
    """Shorten the user's name and home folder in a fact to ``~``."""
    return replace(fact, value=shortened(fact.value), advice=shortened(fact.advice))


def shortened(text: str) -> str:
    """Shorten the user's name and home folder in paths to ``~``.

    Examples
    --------
    >>> home = str(Path.home())
    >>> shortened(f"the folder '{home}{os.sep}data'").replace(os.sep, "/")
    "the folder '~/data'"
    """
    for home in sorted(_homes(), key=len, reverse=True):
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    for user in _users():
        text = re.sub(rf"(?<=[/\\]){re.escape(user)}(?![\w.-])", "~", text)
    return text


def _homes() -> Iterator[str]:
    """Home folders that name somebody: of the environment, and of the list of users."""
    for user in ("~", *(f"~{name}" for name in _users())):
        home = Path(os.path.expanduser(user))
        if home.is_absolute() and len(home.parts) > 1:
            yield str(home)


def _users() -> set[str]:
    try:
        return {getpass.getuser()}
    except (OSError, KeyError, ImportError):  # a container without a list of users
        return set()
