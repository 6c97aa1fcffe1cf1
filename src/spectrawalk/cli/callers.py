"""For programs that run this one, as the QGIS plugin does: progress as JSON, and an end on request.

``SPECTRAWALK_PROGRESS=json`` asks for a line of JSON on stderr in place of the bars::

    {"share": 0.42, "title": "SpectraWalk", "stage": "eigenpairs", "done": 3, "total": 10}

``share`` is how much of the run is done, 0 to 1. ``SPECTRAWALK_STOP_WITH_STDIN=1`` ends the run as
Ctrl-C does when standard input ends. So a run does not outlive the program that started it, and it
can be stopped where there are no signals, as in a program without a terminal on Windows.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from _thread import interrupt_main
from contextlib import suppress

import click

from spectrawalk.cli.console import StageClock

_EVERY = 0.1  # seconds between two lines of one stage
_BEFORE = {"loading": (0.0, 0.02), "reading": (0.02, 0.05), "writing": (0.9, 1.0)}
_WORK = (0.05, 0.9)
# Where in one SRDL run a stage begins and ends, measured on Indian Pines and Potsdam.
_RUN = {
    "neighbours": (0.0, 0.2),
    "bandwidth": (0.2, 0.25),
    "graph": (0.25, 0.3),
    "bridges": (0.3, 0.3),
    "eigenpairs": (0.3, 0.6),
    "density": (0.6, 0.65),
    "modes": (0.65, 0.8),
    "labels": (0.8, 1.0),
}
_ENSEMBLE, _HALVES = (0.1, 0.7), (0.7, 1.0)  # of SpectraWalk's time


def asked_for_json() -> bool:
    """Whether progress is to be printed as JSON."""
    return os.environ.get("SPECTRAWALK_PROGRESS") == "json"


class JsonClock(StageClock):
    """Writes progress as lines of JSON to stderr."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._share = Share(title)
        self._printed = ("", 0.0)
        self._print(self._share.reached)

    def stage_moved(self, stage: str, done: int, total: int) -> None:
        """See the base class."""
        share = self._share(stage, done, total)
        before, when = self._printed
        now = time.monotonic()
        if stage != before or now - when >= _EVERY:
            self._printed = stage, now
            self._print(share, stage=stage, done=done, total=total)

    def show_compiling(self) -> None:
        """See the base class."""
        self._print(self._share.reached, stage="compiling, which only the first run does")

    def _print(self, share: float, **about: str | int) -> None:
        line = {"share": round(share, 4), "title": self._title} | about
        click.echo(json.dumps(line), err=True)


class Share:
    """How much of a run is done, from the reports of its stages; it never goes back.

    Examples
    --------
    >>> share = Share("SRDL")
    >>> share("neighbours", 1, 2), share("eigenpairs", 1, 1), share("neighbours", 0, 2)
    (0.135, 0.56, 0.56)
    """

    def __init__(self, title: str) -> None:
        self._span = _BEFORE.get(title, _WORK)
        self._part = (0.0, 1.0)  # what one SRDL run takes of the work
        self._first: dict[str, tuple[float, float]] = {}
        self.reached = self._span[0]

    def __call__(self, stage: str, done: int, total: int) -> float:
        """Take a report, and give the share from 0 to 1."""
        of_stage = done / max(total, 1)
        if stage == "ensemble":
            self._part = _within(_ENSEMBLE, of_stage), _within(_ENSEMBLE, (done + 1) / total)
            of_work = self._part[0]
        elif stage == "K-means":
            of_work = _within(_HALVES, of_stage)
        elif stage in _RUN:
            of_work = _within(self._part, min(_within(_RUN[stage], of_stage), 1.0))
        else:
            of_work = _within(self._of_unknown(stage), of_stage)
        self.reached = max(self.reached, min(round(_within(self._span, of_work), 4), 1.0))
        return self.reached

    def _of_unknown(self, stage: str) -> tuple[float, float]:
        """Give a stage of which nothing is known half of the time that is left."""
        if stage not in self._first:
            begin = 1 - 0.5 ** len(self._first)
            self._first[stage] = begin, (1 + begin) / 2
        return self._first[stage]


def _within(span: tuple[float, float], share: float) -> float:
    return span[0] + (span[1] - span[0]) * share


def stop_with_stdin() -> None:
    """End the run when standard input ends, if the caller asks for it."""
    if os.environ.get("SPECTRAWALK_STOP_WITH_STDIN") != "1":
        return

    def wait() -> None:
        with suppress(OSError):  # a closed standard input has ended, too
            while os.read(0, 4096):  # not sys.stdin, whose lock would hold up the program's end
                pass
        _terminate()

    threading.Thread(target=wait, name="stop with stdin", daemon=True).start()


def _terminate() -> None:
    """Do what SIGTERM does: on POSIX a signal, so that the main thread wakes up where it waits."""
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGTERM)
    else:
        interrupt_main(signal.SIGTERM)
