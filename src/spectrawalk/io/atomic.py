"""Write a file, or several that belong together, completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spectrawalk.errors import FileError

_HIDDEN = ".spectrawalk-"
_STAGE = f"{_HIDDEN}set-"  # a set that is being written; worthless if its writer dies
_READY = f"{_HIDDEN}ready"  # a set that is whole, on its way to its place
_PATIENCE = 30.0  # seconds to wait for another writer, who may have hours of work to save
_HARDLY_ANY = 2**20  # bytes; a disk with less is full, if a file did not fit
_GONE = f"{_HIDDEN}gone"  # names of files that the set does away with


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
    temporary = final.with_name(f"{_HIDDEN}{secrets.token_hex(6)}{final.suffix}")
    try:
        try:
            temporary.open("xb").close()  # find out now, not after an hour of work
            yield temporary
            os.replace(temporary, final)
        except OSError as error:
            raise cannot_write(target, error) from error  # while the disk is as full as it was
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(target, error) from error


@contextmanager
def atomic_set(
    folder: str | os.PathLike[str],
    *,
    remove: tuple[str, ...] = (),
    called: str | os.PathLike[str] | None = None,
) -> Iterator[Callable[[str], Path]]:
    """Write several files that belong together: all of them, or none.

    The files are written to a hidden folder inside `folder`, under their own names. When the block
    ends well, one rename declares that folder ready, and only then do the files move to their
    places, in the order in which they were asked for. So, whenever the writer dies:

    - each file is the old one or the new one, never a part;
    - before the set is ready, all files are the old ones, and what was written is thrown away by
      the next set in that folder;
    - once it is ready, what has not moved yet is moved by the next set in that folder, or by
      :func:`finish_set`; until then a hidden folder called ``.spectrawalk-ready`` tells that the
      files around it are a mixture.

    That holds for a process that ends, not for a machine that loses its power.

    Parameters
    ----------
    folder : path
        Where the files go; it must exist.
    remove : tuple of str
        Names of files that may be there and must not stay beside the new ones.
    called : path, optional
        What an error calls the set; `folder` by default.

    Yields
    ------
    callable
        Gives the path to write to, for the name of a file. A file that is not there in the end is
        not part of the set.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_set(folder) as file:
    ...     _ = file("map.dat").write_bytes(bytes(4))
    ...     _ = file("map.hdr").write_text("ENVI")
    >>> sorted(file.name for file in folder.iterdir())
    ['map.dat', 'map.hdr']
    """
    home = Path(os.path.realpath(folder))
    names: list[str] = []
    try:
        with _only_writer(home) as alone:
            finish_set(home)
            if alone:
                _throw_away_stages(home)
            stage = home / f"{_STAGE}{secrets.token_hex(6)}"
            stage.mkdir()
            try:
                yield lambda name: _place_in(stage, home, name, names)
                _declare_ready(stage, home, names, remove)
            finally:
                shutil.rmtree(stage, ignore_errors=True)
            finish_set(home)
    except OSError as error:
        raise cannot_write(folder if called is None else called, error) from error


def finish_set(folder: str | os.PathLike[str]) -> bool:
    """Move the files of a set to their places, if its writer died after it was whole.

    Returns
    -------
    bool
        Whether there was such a set.
    """
    home = Path(folder)
    ready = home / _READY
    if not ready.is_dir():
        return False
    with suppress(FileNotFoundError):  # another may be at it too: then all is done all the same
        _move_to_places(ready, home)
    return True


def _move_to_places(ready: Path, home: Path) -> None:
    gone = ready / _GONE
    # In the order of their names, which _declare_ready begins with their place in the set.
    for staged in sorted(file for file in ready.iterdir() if file != gone):
        with suppress(FileNotFoundError):
            os.replace(staged, home / staged.name.partition("-")[2])
    if gone.exists():
        for name in gone.read_text(encoding="utf-8").splitlines():
            (home / name).unlink(missing_ok=True)
        gone.unlink(missing_ok=True)
    ready.rmdir()


def _place_in(stage: Path, home: Path, name: str, names: list[str]) -> Path:
    """Path of a file in the making; it keeps its name, as some formats refer to themselves."""
    _check_replaceable(home / name)
    if name not in names:
        names.append(name)
    return stage / name


def _declare_ready(stage: Path, home: Path, names: list[str], remove: tuple[str, ...]) -> None:
    names = [name for name in names if (stage / name).exists()]
    for place, name in enumerate(names):
        os.replace(stage / name, stage / f"{place:04d}-{name}")
    unwanted = [name for name in remove if name not in names and (home / name).is_file()]
    if unwanted:
        (stage / _GONE).write_text("\n".join(unwanted), encoding="utf-8")
    os.replace(stage, home / _READY)


def _throw_away_stages(home: Path) -> None:
    for left in home.glob(f"{_STAGE}*"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _only_writer(home: Path) -> Iterator[bool]:
    """Hold a lock on a folder; yield whether it could be had.

    It cannot on Windows and some network drives. The writers still do not harm each other then: all
    that is lost is the right to call another's unfinished set a dead one.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    descriptor = os.open(home, os.O_RDONLY)
    try:
        give_up = time.monotonic() + _PATIENCE
        alone = None
        while alone is None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                alone = True
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise FileError(
                        f"'{home}' is being written to by another run; wait for its end, or choose "
                        "another folder."
                    ) from None
                time.sleep(0.05)
            except OSError:
                alone = False
        yield alone
    finally:
        with suppress(OSError):
            os.close(descriptor)  # gives the lock back


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


def refuse_dangling_link(path: str | os.PathLike[str]) -> None:
    """Refuse a file or folder that is, or lies in, a symbolic link to something that is not there.

    The system would say that the file exists, or write to where nobody looks.
    """
    for each in (Path(path), *Path(path).parents):
        if each.is_symlink() and not os.path.exists(each):
            raise FileError(
                f"'{each}' is a symbolic link to '{os.readlink(each)}', which does not exist; "
                "remove the link, or create what it leads to, or give another name."
            )


def cannot_write(target: str | os.PathLike[str], error: OSError) -> FileError:
    """Say that a file or folder cannot be written, and why.

    Examples
    --------
    >>> str(cannot_write("map.tif", OSError(28, "No space left on device")))[:52]
    "'map.tif' cannot be written: No space left on device"
    """
    return FileError(
        f"'{target}' cannot be written: {_reason(target, error)}; "
        "choose another folder or file name, or make room."
    )


def _reason(target: str | os.PathLike[str], error: OSError) -> str:
    """What the system said; libraries count bytes instead, or refer to errors of their own."""
    if error.strerror:
        return error.strerror
    with suppress(OSError):
        if shutil.disk_usage(Path(os.path.realpath(target)).parent).free < _HARDLY_ANY:
            return os.strerror(errno.ENOSPC)
    return "only a part of it could be written"
