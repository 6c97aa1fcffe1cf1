"""Write a file completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spectrawalk.errors import FileError


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to, and rename it to `target` when all went well.

    The temporary file lies in the folder of `target` and has its suffix. If the block ends by any
    exception, Ctrl-C included, it is removed and an older `target` stays as it was.

    Parameters
    ----------
    target : path
        File to write; a symbolic link is followed. Its folder must exist.

    Yields
    ------
    pathlib.Path
        An empty file that exists already, to be overwritten.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_path(folder / "notes.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [file.name for file in folder.iterdir()], (folder / "notes.txt").read_text()
    (['notes.txt'], 'done')
    """
    final = Path(os.path.realpath(target))
    _check_replaceable(final)
    temporary = final.with_name(f".spectrawalk-{secrets.token_hex(6)}{final.suffix}")
    try:
        try:
            temporary.open("xb").close()  # find out now, not after an hour of work
            yield temporary
            os.replace(temporary, final)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(
            f"'{target}' cannot be written: {error.strerror or error}; "
            "choose another folder or file name, or make room."
        ) from error


def _check_replaceable(final: Path) -> None:
    if not final.parent.is_dir():
        raise FileError(
            f"'{final}' cannot be written: there is no folder '{final.parent}'; create it first."
        )
    if final.is_dir():
        raise FileError(f"'{final}' cannot be written: it is a folder; add a file name.")
    if final.exists() and not final.is_file():
        # Renaming onto a device such as /dev/null would replace the device itself.
        raise FileError(
            f"'{final}' cannot be written: it is a device or a pipe; give the name of a file."
        )
