"""One run of the program in a process of its own, with progress and cancel. Needs no QGIS."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .program import NO_WINDOW, WINDOWS, Program, ProgramError, environment, lacks_command

PATIENCE = 2.0
"""Seconds that the program has to tidy up before it is killed."""

_LOOK = 0.1  # seconds between two looks at whether the run is canceled
_HIDDEN = ".spectrawalk-"  # how names of the program's temporary files begin
_TILES = ".spectrawalk-tiles"  # finished tiles of a run that may go on later
_READY = ".spectrawalk-ready"  # results that are complete, on their way to their names


class Canceled(Exception):
    """The user canceled the run; the text says what is left of it."""


@dataclass(frozen=True)
class Report:
    """One line of the program.

    Attributes
    ----------
    text : str
        The line, or what the program does now.
    share : float or None
        How much of the run is done, 0 to 1; None for a line of plain text.
    error : bool
        Whether the line came on standard error.
    """

    text: str
    share: float | None = None
    error: bool = False


def report_in(line: str) -> Report:
    """Read a line that the program writes to standard error.

    Examples
    --------
    >>> report_in('{"share": 0.25, "title": "SpectraWalk", "stage": "graph"}')
    Report(text='SpectraWalk: graph', share=0.25, error=False)
    >>> report_in("Error: there is no 'scene.tif'.").text
    "Error: there is no 'scene.tif'."
    """
    if line.startswith("{"):
        with suppress(ValueError, KeyError, TypeError):
            read = json.loads(line)
            parts = (read["title"], read.get("stage", ""))
            return Report(": ".join(filter(None, parts)), min(max(float(read["share"]), 0.0), 1.0))
    return Report(line, error=True)


def run(
    program: Program,
    arguments: Sequence[str],
    *,
    hear: Callable[[Report], None],
    canceled: Callable[[], bool],
    folder: Path | None = None,
) -> None:
    """Run the program to its end.

    Parameters
    ----------
    program : Program
    arguments : sequence of str
        The command, and what it is given.
    hear : callable
        Called with each :class:`Report`, in this thread.
    canceled : callable
        Asked ten times a second whether to stop.
    folder : Path, optional
        Folder that the program writes to. What a canceled run leaves there is removed.

    Raises
    ------
    ProgramError
        If the program fails; the text is the program's own sentence.
    Canceled
        If the run was canceled.
    """
    version = program.check()
    remains = _Remains(folder)
    process = _start([*program.command, *arguments])
    lines = _Lines(process)
    complaints: list[str] = []
    try:
        for report in lines.until(canceled):
            if report.error:
                complaints.append(report.text)
            hear(report)
    finally:
        stopped = _stop(process)
        lines.finish()
    if stopped:
        raise Canceled(remains.tidy())
    if process.returncode != 0:
        remains.tidy()
        raise ProgramError(_reason(process.returncode, complaints, arguments[0], version))


def _start(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,  # the program stops when this ends, so it does not outlive QGIS
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=environment() | {"SPECTRAWALK_STOP_WITH_STDIN": "1"},
        creationflags=NO_WINDOW,
        start_new_session=not WINDOWS,  # so that processes of its own can be ended with it
    )


class _Lines:
    """Reads the lines of a program in threads of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: queue.SimpleQueue[Report] = queue.SimpleQueue()
        understood = ((process.stdout, Report), (process.stderr, report_in))
        self._readers = [
            threading.Thread(target=self._read, args=each, daemon=True) for each in understood
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str], understand: Callable[[str], Report]) -> None:
        with stream:
            for line in stream:
                self._lines.put(understand(line.rstrip()))

    def until(self, canceled: Callable[[], bool]) -> Iterator[Report]:
        """Yield the lines until the program ends or the run is canceled."""
        while not canceled():
            try:
                yield self._lines.get(timeout=_LOOK)
            except queue.Empty:
                if self._process.poll() is not None:
                    break
        else:
            return
        self.finish()
        while not self._lines.empty():
            yield self._lines.get()

    def finish(self) -> None:
        """Read to the end; a process that the program left behind may hold a stream open."""
        for reader in self._readers:
            reader.join(PATIENCE)


def _stop(process: subprocess.Popen[str]) -> bool:
    """End the program if it still works; return whether it did."""
    works = process.poll() is None
    if works:
        if WINDOWS:
            _close(process.stdin)  # a program without a terminal hears no signal there
        else:
            process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        _kill(process)
    _close(process.stdin)
    return works


def _close(stream: IO[str] | None) -> None:
    with suppress(OSError):
        if stream is not None:
            stream.close()


def _kill(process: subprocess.Popen[str]) -> None:
    """End what is left of the program and of the processes that it started."""
    if WINDOWS:
        if process.poll() is None:
            end = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(end, capture_output=True, creationflags=NO_WINDOW, check=False)
    else:
        with suppress(ProcessLookupError, PermissionError):  # they have ended
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _reason(code: int, complaints: Sequence[str], command: str, version: str) -> str:
    """Say in one sentence why the program failed."""
    errors = [each[len("Error: ") :] for each in complaints if each.startswith("Error: ")]
    if errors and f"No such command '{command}'" in errors[-1]:
        return lacks_command(command, version)
    if errors:
        return errors[-1]
    if code < 0:
        return (
            f"spectrawalk was ended by the system (signal {-code}), perhaps because the memory "
            "was used up; cluster a part of the scene, or close other programs."
        )
    last = complaints[-1] if complaints else "it gave no reason"
    return f"spectrawalk {version} failed with exit code {code}: {last}"


class _Remains:
    """What a run that was stopped leaves in its folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._made = []
        self._before: set[str] = set()
        if folder is not None:
            self._made = [each for each in (folder, *folder.parents) if not each.exists()]
            self._before = {each.name for each in folder.iterdir()} if folder.is_dir() else set()

    def tidy(self) -> str:
        """Remove it; say what is kept.

        The program does so itself, unless it had to be killed.
        """
        if self._folder is None or not self._folder.is_dir():
            return "Canceled: no file was written."
        for each in self._folder.glob(f"{_HIDDEN}*"):
            if each.name in self._before or each.name in (_TILES, _READY):
                continue
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            else:
                with suppress(OSError):
                    each.unlink()
        if (self._folder / _TILES).exists():
            return (
                f"Canceled: the finished tiles are kept in '{self._folder}', and a run with the "
                "same settings and output folder goes on from there."
            )
        for made in self._made:
            with suppress(OSError):
                made.rmdir()  # refuses a folder that is not empty
        return "Canceled: no file was written."
