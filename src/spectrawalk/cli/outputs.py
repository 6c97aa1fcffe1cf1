"""The folder that results are written to: looked at before the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from spectrawalk.errors import FileError


@contextmanager
def output_folder(folder: Path, names: Sequence[str], *, overwrite: bool) -> Iterator[None]:
    """Make sure that `names` can be written to `folder`, which is made if need be.

    The folder is locked from before the work to its end, so that no other run fills it meanwhile.
    A folder made here, and those above it, are taken away again if the work fails before anything
    is in them.
    """
    from spectrawalk.io.atomic import finish_set, refuse_dangling_link
    from spectrawalk.io.lock import hold_lock, lock_inside

    refuse_dangling_link(folder)
    if folder.is_file():
        raise FileError(
            f"the output folder '{folder}' is a file, not a folder; choose another one with -o."
        )
    what, advice = f"the output folder '{folder}'", "wait for its end, or choose another with -o."
    with ExitStack() as stack:
        try:
            made = [each for each in (folder, *folder.parents) if not each.exists()]
            stack.callback(_remove_empty, made)
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(hold_lock(lock_inside(folder), what, advice))
            finish_set(folder)  # of a run that was killed at the very end
        except OSError as error:
            raise FileError(
                f"{what} cannot be written to: {error.strerror or error}; choose another one with "
                "-o."
            ) from error
        _refuse_existing(folder, names, overwrite)
        yield


def _refuse_existing(folder: Path, names: Sequence[str], overwrite: bool) -> None:
    existing = [name for name in names if (folder / name).exists()]
    if existing and not overwrite:
        more = f" and {len(existing) - 4} more" if len(existing) > 5 else ""
        named = existing[:4] if more else existing
        raise FileError(
            f"'{folder}' already holds {', '.join(named)}{more}; choose another folder with -o, or "
            "replace them with --overwrite."
        )


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for each in folders:
        if not each.is_dir() or any(each.iterdir()):
            return
        each.rmdir()
