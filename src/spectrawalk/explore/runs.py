"""The runs of an explorer: the one that was opened, and those that were started from the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from spectrawalk.errors import FileError, ParameterError, SpectrawalkError
from spectrawalk.explore.checks import Step
from spectrawalk.explore.edited import shown_result
from spectrawalk.explore.numbers import Kept, Numbers
from spectrawalk.explore.session import Session
from spectrawalk.explore.steps import State
from spectrawalk.parameters import shown
from spectrawalk.progress import listen
from spectrawalk.results.captions import describe_settings
from spectrawalk.results.model import FittedModel, TreeModel
from spectrawalk.results.result import Result
from spectrawalk.scene import Scene

METHODS = ("SpectraWalk", "SRDL", "DLSS", "DL")


class RecordMaker(Protocol):
    """Gives the record of a run, without its outputs."""

    def __call__(
        self,
        result: Result,
        method: str,
        parameters: Mapping[str, Any],
        steps: Sequence[Step],
        seconds: float,
    ) -> dict[str, Any]:
        """Build the record; `steps` were taken after the fit."""


@dataclass(frozen=True)
class Opened:
    """What the explorer was opened with.

    Attributes
    ----------
    scene : Scene
    model : SpectraWalk, SRDL, DLSS or DL
        Fitted to it.
    parameters : dict
        Of the estimator that was fitted.
    record : callable
    output : Path
        Folder that exports go to.
    session : Path or None
        File of the session.
    about : str
        What the session belongs to; see :class:`~spectrawalk.explore.session.Session`.
    steps : sequence of dict
        Steps that the run was recorded with.
    """

    scene: Scene
    model: TreeModel | FittedModel
    parameters: Mapping[str, Any]
    record: RecordMaker
    output: Path
    session: Path | None = None
    about: str = ""
    steps: Sequence[Step] = ()


class BusyError(SpectrawalkError, RuntimeError):
    """A clustering runs already."""


class NoRunError(SpectrawalkError, LookupError):
    """There is no run with this number."""


class _Cancelled(BaseException):
    """Ends a clustering from its own progress reports."""


@dataclass(eq=False)
class ExplorerRun:
    """One run: under way, or done and shown with a session of its own."""

    number: int
    method: str
    parameters: dict[str, Any]
    status: str = "running"
    stage: str = ""
    done: int = 0
    total: int = 0
    error: str | None = None
    session: Session | None = None
    settings: str | None = None
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)
    cancel: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def hear(self, stage: str, done: int, total: int) -> None:
        """Take a report of progress."""
        if self.cancel.is_set():
            raise _Cancelled
        self.stage, self.done, self.total = stage, done, total

    def describe(self) -> dict[str, Any]:
        """Plain values for the page."""
        running = self.status == "running"
        told: dict[str, Any] = {
            "id": self.number,
            "method": self.method,
            "parameters": self.parameters,
            "status": self.status,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "seconds": round(time.monotonic() - self.began if running else self.seconds, 2),
            "error": self.error,
            "settings": self.settings,
            **dict.fromkeys(("n_clusters", "verdict", "legend")),
        }
        if self.session is None:
            return told
        state = self.session.state
        return told | {
            "n_clusters": len(state.ids),
            "verdict": getattr(state.model, "verdict_", "").partition(";")[0] or None,
            "legend": [
                {
                    "id": each,
                    "name": state.name(each),
                    "color": state.color(each),
                    "pixels": state.pixels(each),
                }
                for each in state.ids
            ],
        }


class Runs:
    """All runs on one scene, one of which is shown."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.numbers = Numbers(opened.scene)
        # Two, so that a picture in the making does not hold up the state.
        self.described, self.pictures = Kept(8), Kept(8)
        # Those of two starts differ: a page of the last one must not take a step unseen.
        self._revisions = count(time.time_ns() // 1_000_000)
        self._lock = threading.RLock()
        first = ExplorerRun(1, type(opened.model).__name__, dict(opened.parameters), "done")
        first.settings = describe_settings(opened.model)
        first.session = Session(
            opened.model, opened.session, opened.about, opened.steps, self._revisions
        )
        self._runs = {1: first}
        self._shown = first

    @property
    def shown(self) -> ExplorerRun:
        """The run on the screen."""
        return self._shown

    @property
    def session(self) -> Session:
        """Session of the run on the screen."""
        assert self._shown.session is not None
        return self._shown.session

    @property
    def state(self) -> State:
        """What is on the screen."""
        return self.session.state

    def get(self, number: Any) -> ExplorerRun:
        """Run of a number."""
        if not isinstance(number, int) or number not in self._runs:
            raise NoRunError(f"there is no run {shown(number)}.")
        return self._runs[number]

    def finished(self, number: Any) -> Session:
        """Session of a run that is done."""
        run = self.get(number)
        if run.session is None:
            raise ParameterError(f"run {number} is {run.status}, so there is nothing to show.")
        return run.session

    def describe(self) -> list[dict[str, Any]]:
        """All runs, the first one first."""
        return [run.describe() | {"shown": run is self._shown} for run in list(self._runs.values())]

    def show(self, number: Any) -> None:
        """Show another run."""
        with self._lock:
            session = self.finished(number)
            self._shown = self._runs[number]
            session.renew()

    def start(self, method: Any, parameters: Any) -> ExplorerRun:
        """Start a clustering of the scene in a thread of its own."""
        estimator = _estimator(method, parameters)
        with self._lock:
            if any(run.status == "running" for run in self._runs.values()):
                raise BusyError("a clustering runs already; cancel it, or wait for its end.")
            run = ExplorerRun(max(self._runs) + 1, method, estimator.get_params())
            self._runs[run.number] = run
            run.thread = threading.Thread(target=self._fit, args=(run, estimator), daemon=True)
            run.thread.start()
            return run

    def cancel(self, number: Any) -> ExplorerRun:
        """Cancel a run; it ends at its next report of progress."""
        run = self.get(number)
        if run.status != "running":
            raise ParameterError(f"run {number} is {run.status}, so it cannot be cancelled.")
        run.cancel.set()
        return run

    def stop(self, patience: float = 5.0) -> None:
        """Cancel what runs, and wait a little for its end."""
        for run in self._runs.values():
            run.cancel.set()
            if run.thread is not None:
                run.thread.join(patience)

    def _fit(self, run: ExplorerRun, estimator: Any) -> None:
        try:
            with listen(run.hear):
                model = estimator.fit(self.opened.scene)
            run.settings = describe_settings(model)
            run.session = Session(model, revisions=self._revisions)
            status = "done"
        except _Cancelled:
            status = "cancelled"
        except SpectrawalkError as error:
            run.error, status = str(error), "failed"
        except MemoryError:
            run.error, status = "there is not enough memory for this run.", "failed"
        except Exception as error:  # the page has to say it: nobody looks at the thread
            run.error, status = f"the run failed ({type(error).__name__}: {error}).", "failed"
        run.seconds = time.monotonic() - run.began
        run.status = status

    def export(self, name: Any, *, report: bool, overwrite: bool) -> dict[str, Any]:
        """Write what is shown to a folder inside the output folder."""
        from spectrawalk.io.atomic import finish_set
        from spectrawalk.io.lock import hold_lock, lock_inside
        from spectrawalk.report.file_names import OVERVIEW, REPORT, RESULTS
        from spectrawalk.report.run_folder import write_results

        with self.session.lock:
            run, state, steps = self._shown, self.state, self.session.steps
        folder = export_folder(self.opened.output, name)
        linked = [each for each in RESULTS if (folder / each).is_symlink()]
        existing = [each for each in RESULTS if (folder / each).exists()]
        if linked or (existing and not overwrite):
            what = "links to other files" if linked else "results"
            raise FileError(f"'{folder}' already holds {what}; choose another name.")
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(lock_inside(folder), f"'{folder}'", "wait for its end."):
            finish_set(folder)
            result = shown_result(self.opened.scene, state)
            record = self.opened.record(result, run.method, run.parameters, steps, run.seconds)
            extras = [OVERVIEW, REPORT] if report else []
            written, remarks = write_results(folder, result, record, extras)
        return {
            "folder": str(folder),
            "files": [{"name": path.name, "what": what} for path, what in written],
            "remarks": remarks,
        }

    def compare(self, a: Any, b: Any) -> dict[str, Any]:
        """Count the pixels of each pair of clusters of two runs."""
        one, other = self.finished(a).state, self.finished(b).state
        (rows, ids_a), (cols, ids_b) = one.labels(), other.labels()
        both = (rows >= 0) & (cols >= 0)
        pairs = rows[both] * np.intp(len(ids_b)) + cols[both]
        table = np.bincount(pairs, minlength=len(ids_a) * len(ids_b))
        return {
            "a": ids_a,
            "b": ids_b,
            "names_a": [one.name(each) for each in ids_a],
            "names_b": [other.name(each) for each in ids_b],
            "pixels": table.reshape(len(ids_a), len(ids_b)).tolist(),
        }


def _estimator(method: Any, parameters: Any) -> Any:
    import spectrawalk

    if method not in METHODS:
        raise ParameterError(f"method={shown(method)} is not known; use {', '.join(METHODS)}.")
    if not isinstance(parameters, dict):
        raise ParameterError("parameters cannot be used; give an object of names and values.")
    try:
        return getattr(spectrawalk, method)(**parameters)
    except TypeError:
        known = getattr(spectrawalk, method)().get_params()
        unknown = ", ".join(sorted(map(str, set(parameters) - set(known))))
        raise ParameterError(f"{method} has no parameter {shown(unknown)}.") from None


def export_folder(output: Path, name: Any) -> Path:
    """Folder inside the output folder; a name that could lead elsewhere is refused.

    Examples
    --------
    >>> export_folder(Path("maps"), "seven clusters").name
    'seven clusters'
    """
    good = (
        isinstance(name, str)
        and 0 < len(name) <= 100
        and name.isprintable()
        and not set(name) & set('/\\:*?"<>|')
        and not name.startswith((".", " ", "~", "-"))
        and not name.endswith((".", " "))
    )
    if not good:
        raise ParameterError(
            f"folder={shown(name)} cannot be used; give the name of one folder, without slashes."
        )
    folder = output / name
    inside = folder.resolve().parent == output.resolve()
    if folder.is_symlink() or not inside or (folder.exists() and not folder.is_dir()):
        raise ParameterError(f"'{name}' in '{output}' is no folder; choose another name.")
    return folder
