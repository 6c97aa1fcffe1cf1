"""Folders that files are kept in between runs, and whether they can be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from spectrawalk.doctor.facts import Fact, State

_NUMBA_VARIABLE = "NUMBA_CACHE_DIR"


def folders() -> Iterator[Fact]:
    """Name the folders for compiled code, for scenes and for temporary files."""
    yield _compiled_code()
    yield _downloads()
    yield _own_scenes()
    yield _temporary()


def _compiled_code() -> Fact:
    from spectrawalk.kernels.compiled import cache_folder

    name, folder, wanted = "compiled code", cache_folder(), os.environ.get(_NUMBA_VARIABLE, "")
    if folder is None:
        return Fact(
            name,
            "cannot be stored, so each run compiles anew, which takes 10 to 60 seconds",
            State.HINDERED,
            f"set {_NUMBA_VARIABLE} to a folder that can be written",
        )
    if wanted and not folder.is_relative_to(wanted):
        return Fact(
            name,
            f"{folder}, as {_NUMBA_VARIABLE} names a folder that cannot be written ({wanted})",
            State.HINDERED,
            f"set {_NUMBA_VARIABLE} to another folder, or unset it",
        )
    return Fact(name, f"{folder}, can be written")


def _downloads() -> Fact:
    from spectrawalk.datasets.lookup import DATA_VARIABLE, cache_folder

    name, folder = "downloads", cache_folder()
    if _can_be_written(folder):
        return Fact(name, f"{folder}, can be written")
    return Fact(
        name,
        f"{folder} cannot be written, so published scenes cannot be downloaded",
        State.HINDERED,
        f"put them into a folder that {DATA_VARIABLE} names",
    )


def _own_scenes() -> Fact:
    from spectrawalk.datasets.lookup import DATA_VARIABLE

    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return Fact(DATA_VARIABLE, "not set; it can name a folder of published scenes")
    if not Path(folder).expanduser().is_dir():
        advice = "set it to a folder of scenes, or unset it"
        return Fact(DATA_VARIABLE, f"{folder} is no folder", State.HINDERED, advice)
    return Fact(DATA_VARIABLE, folder)


def _temporary() -> Fact:
    try:
        return Fact("temporary", f"{tempfile.gettempdir()}, can be written")
    except FileNotFoundError:
        advice = "set TMPDIR to a folder that can be written"
        return Fact("temporary", "no folder can be written", State.BROKEN, advice)


def _can_be_written(folder: Path) -> bool:
    """Whether files can be written to a folder, which is made if it is not there."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        # Permissions say too little: root has all of them, also where nothing can be made.
        with tempfile.TemporaryDirectory(prefix=".spectrawalk-", dir=there) as made:
            (Path(made) / "file").write_bytes(b"0")
    except OSError:
        return False
    return True
