"""Standard output and standard error that never stop the work.

A run of hours is worth more than the lines it prints. So a reader that leaves (`| head -1`), a
stream that was closed (`2>&-`), a terminal that hangs up and a full disk under a log only silence
the stream. All that writes in this process is covered in one place, below Python's buffers: click,
rich and its threads, warnings, and the flush at the end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NOBODY_READS = {errno.EPIPE, errno.EBADF, errno.EIO}
"""Errors of a pipe without a reader, a closed stream, and a terminal that has hung up."""

if sys.platform == "win32":
    _NOBODY_READS.add(errno.EINVAL)  # a pipe without a reader


class _PatientFile(io.RawIOBase):
    """Writes to a stream until that fails, and from then on to nowhere."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.trouble: OSError | None = None

    @property
    def name(self) -> Any:
        return self._raw.name

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any, /) -> int | None:
        if self.trouble is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.trouble = error
                self._send_nowhere()
        return len(data)

    def _send_nowhere(self) -> None:
        """Connect the stream to nothing, also for child processes and libraries written in C."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


@contextmanager
def patient_streams() -> Iterator[Callable[[], str]]:
    """Let no trouble with standard output or standard error stop the ``with`` block.

    Yields
    ------
    callable
        Flushes the streams and returns why standard output is incomplete. Empty if it is complete,
        and also if nobody reads it: whoever closes a pipe has seen enough, and GNU programs that
        ignore a closed pipe (tee, bison) end with 0 then. A full disk is another thing: those
        programs report a write error at the end, and so do we.
    """
    _fill_closed_streams()
    before = sys.stdout, sys.stderr
    files: list[_PatientFile | None] = []
    for name, stream, original in (
        ("stdout", sys.stdout, sys.__stdout__),
        ("stderr", sys.stderr, sys.__stderr__),
    ):
        patient, file = _patient(stream, stream is original)
        setattr(sys, name, patient)
        files.append(file)

    def why_incomplete() -> str:
        _flush()
        trouble = files[0].trouble if files[0] is not None else None
        if trouble is None or trouble.errno in _NOBODY_READS:
            return ""
        return trouble.strerror or str(trouble)

    try:
        yield why_incomplete
    finally:
        _flush()
        sys.stdout, sys.stderr = before


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _fill_closed_streams() -> None:
    """Open what was closed, or the next file to be opened takes its number and what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _patient(stream: Any, original: bool) -> tuple[Any, _PatientFile | None]:
    """Make a stream patient, unless something else than the process's own is in its place."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8"), None
    if not original or not isinstance(stream, io.TextIOWrapper):
        return stream, None
    stream.flush()
    file = _PatientFile(getattr(stream.buffer, "raw", stream.buffer))
    patient = io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        # A file name that the terminal's encoding lacks must not end the work either.
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    return patient, file
