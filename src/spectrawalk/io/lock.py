"""A lock on a folder or file, so that two runs do not write to it at the same time.

The lock is the operating system's, on a hidden file, which says who holds it. It ends with the
process that holds it, however that ends, so a file that a killed run left behind blocks nobody.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from spectrawalk.errors import FileError

_NAME = ".spectrawalk-lock"
_PATIENCE = 1.0  # seconds for the holder to write who it is

if sys.platform == "win32":
    import msvcrt

    # Locked bytes cannot be read by others, so the lock lies beyond what the file says.
    _LOCKED_BYTE = 2**30

    def _take(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        """Lock an open file; return whether nobody else holds it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def lock_inside(folder: Path) -> Path:
    """Name of the lock file of a folder."""
    return folder / _NAME


def lock_beside(file: Path) -> Path:
    """Name of the lock file of a file that may not exist yet.

    Examples
    --------
    >>> lock_beside(Path("maps/field.tif")).name
    '.spectrawalk-lock-field.tif'
    """
    return file.with_name(f"{_NAME}-{file.name}")


@contextmanager
def hold_lock(lock: Path, what: str, advice: str) -> Iterator[None]:
    """Hold a lock for the time of the ``with`` block, or refuse at once if another holds it.

    On a drive without locks, as some network drives are, the block runs without.

    Parameters
    ----------
    lock : Path
        The file to lock; it is created, and removed afterwards. Its folder must exist.
    what : str
        What is locked, for the error message.
    advice : str
        What to do if it is taken: the end of the error message.

    Raises
    ------
    FileError
        If another process holds the lock, and which; or if the file cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with hold_lock(lock_inside(folder), f"'{folder}'", "wait for its end."):
    ...     [file.name for file in folder.iterdir()]
    ['.spectrawalk-lock']
    >>> list(folder.iterdir())
    []
    """
    try:
        descriptor = _open_locked(lock)
    except OSError as error:
        raise FileError(
            f"{what} cannot be written to: {error.strerror or error}; choose another place."
        ) from error
    if descriptor is None:
        raise FileError(f"another run writes to {what}{_holder(lock)}; {advice}")
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, _about_us())
        yield
    finally:
        if sys.platform == "win32":
            os.close(descriptor)
            with suppress(OSError):  # the next run has it already
                lock.unlink()
        else:
            with suppress(OSError):
                lock.unlink()  # while it is held: later, it might be the next run's
            os.close(descriptor)


def _open_locked(lock: Path) -> int | None:
    """Open the file and lock it; None if another holds the lock."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _take(descriptor):
                os.close(descriptor)
                return None
        except OSError:
            return descriptor
        # The file that we opened may have been removed by its holder before we locked it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        os.close(descriptor)


def _about_us() -> bytes:
    now = datetime.now().astimezone()
    about = {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "since": now.strftime("%Y-%m-%d %H:%M:%S"),
    }
    return json.dumps(about).encode()


def _holder(lock: Path) -> str:
    """Say who holds a lock; nothing if that cannot be found out."""
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        with suppress(OSError, ValueError, KeyError, TypeError):
            about = json.loads(lock.read_text(encoding="utf-8"))
            return f" (process {about['process']} on {about['host']}, since {about['since']})"
        time.sleep(0.05)
    return ""
