"""The steps of a session, which can be undone, in a file beside the run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from spectrawalk.errors import ParameterError, SpectrawalkError
from spectrawalk.explore.checks import Step, checked_step
from spectrawalk.explore.steps import State, take_step
from spectrawalk.explore.words import in_words
from spectrawalk.results.model import FittedModel, TreeModel

SESSION = "explore-session.json"
"""File of a session, beside the run."""

_FORMAT = 1
_MOST_STEPS = 10_000
_STATES = 8  # the last ones, which are kept whatever memory they take


class OutdatedError(SpectrawalkError, RuntimeError):
    """A step was made for a state that another tab has changed since."""


class Session:
    """Steps that were taken on a fit, and the states that they led to.

    Any number of tabs may use it at the same time.

    Parameters
    ----------
    model : SpectraWalk, SRDL, DLSS or DL
        The fit.
    path : Path or None
        File that the steps are kept in; read at the start.
    about : str
        What the steps belong to, such as the checksum of the tree. A file about something else is
        set aside.
    steps : sequence of dict
        Steps to begin with, where there is no file.
    revisions : iterator of int
        Numbers of revisions, which sessions may share.

    Examples
    --------
    >>> from spectrawalk import SpectraWalk
    >>> from spectrawalk.datasets import make_scene
    >>> model = SpectraWalk(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> session = Session(model)
    >>> session.take({"op": "cut", "k": 5}).ids
    [0, 1, 2, 3, 4]
    >>> session.undo().ids
    [0, 1, 2]
    """

    def __init__(
        self,
        model: TreeModel | FittedModel,
        path: Path | None = None,
        about: str = "",
        steps: Sequence[Step] = (),
        revisions: Iterator[int] | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self._revisions = revisions or count(1)
        self.revision = next(self._revisions)
        self.saved_at: str | None = None
        self.remark: str | None = None
        self._path, self._about = path, about
        self._first = State.of_fit(model)
        self._begin(self._first, steps)
        if path is not None:
            self._restore(path)

    @property
    def state(self) -> State:
        """What is on the screen."""
        state = self._states[-1]
        assert state is not None
        return state

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Steps that led there."""
        return list(self._steps)

    @property
    def history(self) -> list[str]:
        """All steps in words, the undone ones last, in the order in which they are made again."""
        with self.lock:
            return [*self._told, *reversed(self._told_undone)]

    @property
    def n_undone(self) -> int:
        """Steps that can be made again."""
        return len(self._undone)

    def take(self, step: Any, revision: Any = None) -> State:
        """Take one more step; `revision` is the one that it was made for."""
        with self.lock:
            self._check(revision)
            checked = checked_step(step)
            if len(self._steps) >= _MOST_STEPS:
                raise ParameterError(f"a session has at most {_MOST_STEPS:,} steps; export it.")
            self._add(checked)
            self._undone.clear()
            self._told_undone.clear()
            return self._changed()

    def undo(self, revision: Any = None) -> State:
        """Take the last step back."""
        with self.lock:
            self._check(revision)
            if not self._steps:
                raise ParameterError("there is no step to undo.")
            self._states.pop()
            self._undone.append(self._steps.pop())
            self._told_undone.append(self._told.pop())
            self._rebuild()
            return self._changed()

    def redo(self, revision: Any = None) -> State:
        """Take the step again that was undone last."""
        with self.lock:
            self._check(revision)
            if not self._undone:
                raise ParameterError("there is no step to redo.")
            self._add(self._undone[-1])
            self._undone.pop()
            self._told_undone.pop()
            return self._changed()

    def renew(self) -> None:
        """Make steps for what was shown before outdated."""
        self.revision = next(self._revisions)

    def _begin(self, first: State, steps: Iterable[Step]) -> None:
        self._states: list[State | None] = [first]
        self._steps, self._undone = list[dict[str, Any]](), list[dict[str, Any]]()
        self._told, self._told_undone = list[str](), list[str]()
        for step in steps:
            self._add(checked_step(step))

    def _add(self, step: dict[str, Any]) -> None:
        before = self.state
        self._states.append(take_step(before, step))
        self._steps.append(step)
        self._told.append(in_words(before, step))
        # The coordinates of another time take megabytes: a slider would soon fill the memory.
        older = len(self._states) - 1 - _STATES
        if older > 0 and (state := self._states[older]) and state.model is not state.fit:
            self._states[older] = None

    def _rebuild(self) -> None:
        """Make the last state again, if it was dropped."""
        known = max(i for i, state in enumerate(self._states) if state is not None)
        state = self._states[known]
        assert state is not None
        for i in range(known, len(self._steps)):
            state = take_step(state, self._steps[i])
        self._states[-1] = state

    def _check(self, revision: Any) -> None:
        if revision is not None and revision != self.revision:
            raise OutdatedError("the session was changed in another tab; look at it and try again.")

    def _changed(self) -> State:
        self.renew()
        self._save()
        return self.state

    def _save(self) -> None:
        if self._path is None:
            return
        from spectrawalk.io.atomic import atomic_path

        now = datetime.now(UTC).isoformat(timespec="seconds")
        content = {
            "format": _FORMAT,
            "about": self._about,
            "saved_at": now,
            "steps": self._steps,
            "undone": self._undone,
        }
        try:
            with atomic_path(self._path) as file:
                file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        except (OSError, SpectrawalkError) as error:  # a full disk must not stop the work
            self.remark = f"the session could not be saved: {error}"
        else:
            self.saved_at = now

    def _restore(self, path: Path) -> None:
        first, begun_with = self._first, self._steps
        try:
            content = json.loads(path.read_bytes())
            if not isinstance(content, dict) or content.get("format") != _FORMAT:
                raise ValueError("it is no session of this version")
            if content["about"] != self._about:
                raise ValueError("it belongs to another run")
            self._begin(first, content["steps"])
            self._undone = [checked_step(step) for step in content["undone"]]
            self._told_undone = [in_words(self.state, step) for step in self._undone]
            self.saved_at = str(content["saved_at"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self._begin(first, begun_with)
            aside = _set_aside(path)
            why = str(error) if _is_ours(error) else "it is damaged"
            self.remark = (
                f"the session in {path.name} could not be used ({why.rstrip('.')}); "
                + (f"it was kept as {aside.name}" if aside else "it stays where it is")
                + ", and a new one begun."
            )
            if aside is None:
                self._path = None


def _is_ours(error: Exception) -> bool:
    return isinstance(error, SpectrawalkError) or type(error) is ValueError


def _set_aside(path: Path) -> Path | None:
    """Rename a file to one that does not exist yet."""
    for number in range(1, 1000):
        other = path.with_name(f"{path.stem}-aside-{number}{path.suffix}")
        if not other.exists() and not other.is_symlink():
            with suppress(OSError):
                path.rename(other)
                return other
            return None
    return None
