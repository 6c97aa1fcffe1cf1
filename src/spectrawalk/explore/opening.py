"""The time before there is a run to show: the scene is read and clustered while the page waits."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from spectrawalk.errors import SpectrawalkError
from spectrawalk.explore.runs import Opened, Runs
from spectrawalk.progress import listen


class NotOpenError(SpectrawalkError, RuntimeError):
    """There is no run to show yet."""


class FailedError(SpectrawalkError, RuntimeError):
    """The scene could not be opened; the message says why."""


class _Stopped(BaseException):
    """The server stops before the scene is open."""


class Opening:
    """Opens a run in a thread of its own.

    Parameters
    ----------
    open_run : callable
        Gives what is to be shown. It may take long, and report its progress.
    done : callable
        Called in the thread with the sentence that says why there is no run, or None.
    """

    def __init__(
        self,
        open_run: Callable[[], Opened],
        done: Callable[[str | None], None] = lambda error: None,
    ) -> None:
        self._open_run, self._done = open_run, done
        self._runs: Runs | None = None
        self._error: str | None = None
        self._stopping = threading.Event()
        self._progress = ("reading", 0, 1)
        # Error messages name options where the command line has set so, in a context variable.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._open,), daemon=True)

    @classmethod
    def of(cls, runs: Runs) -> Opening:
        """Opening of runs that are there already."""
        opening = cls(lambda: runs.opened)
        opening._runs = runs
        return opening

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def runs(self) -> Runs:
        """The runs, once the scene is open."""
        if self._error is not None:
            raise FailedError(self._error)
        if self._runs is None:
            raise NotOpenError("the scene is being read and clustered; wait for it.")
        return self._runs

    @property
    def failed(self) -> bool:
        """Whether there will be no run."""
        return self._error is not None

    def describe(self) -> dict[str, Any]:
        """How far it is, for the page."""
        return dict(zip(("stage", "done", "total"), self._progress, strict=True))

    def stop(self) -> None:
        """End what is under way, and wait a little for that."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(5)
        if self._runs is not None:
            self._runs.stop()

    def _hear(self, stage: str, done: int, total: int) -> None:
        if self._stopping.is_set():
            raise _Stopped
        self._progress = (stage, done, total)

    def _open(self) -> None:
        try:
            with listen(self._hear):
                self._runs = Runs(self._open_run())
        except SpectrawalkError as error:
            self._error = str(error)
        except MemoryError:
            self._error = "there is not enough memory; open a part of the scene, with `crop`."
        except OSError as error:
            where = f" ('{error.filename}')" if error.filename else ""
            self._error = f"the system refused a file{where}: {error.strerror or error}."
        except Exception as error:  # nobody looks at the thread, so the page must say it
            self._error = f"the scene could not be opened ({type(error).__name__}: {error})."
        except (_Stopped, KeyboardInterrupt):
            return
        self._done(self._error)
