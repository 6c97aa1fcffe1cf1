"""Work in progress on disk: what is finished is kept, whatever happens to the run.

Each part is a file of its own, and its name has the SHA-256 of its content. So a part that was cut
short or changed is not taken for a finished one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from spectrawalk.errors import FileError
from spectrawalk.io.atomic import atomic_path, cannot_write

FOLDER = ".spectrawalk-tiles"
"""Hidden folder in the folder of the results; it is removed when the run is finished."""

_PLAN = "plan.json"
_DIGITS = 16


class Work:
    """Finished parts of a run.

    Parameters
    ----------
    folder : Path
        Folder of the results; it exists.
    plan : dict
        All that the parts depend on: inputs, parameters, version. Plain values.
    overwrite : bool
        Whether to throw away the parts of another run; else they are an error.
    """

    def __init__(self, folder: Path, plan: dict[str, Any], *, overwrite: bool) -> None:
        self.folder = folder / FOLDER
        written = json.loads(json.dumps(plan))
        found = self._found_plan()
        if found is not None and found != written:
            if not overwrite:
                raise FileError(
                    f"'{folder}' holds the unfinished work of a run with "
                    f"{_difference(found, written)}; repeat that run to finish it, choose another "
                    "folder, or start anew with overwrite=True."
                )
            shutil.rmtree(self.folder)
            found = None
        self.resumed = found is not None
        if found is None:
            try:
                self.folder.mkdir(exist_ok=True)
            except OSError as error:
                raise cannot_write(self.folder, error) from error
            with atomic_path(self.folder / _PLAN) as path:
                path.write_text(json.dumps(written, indent=2), encoding="utf-8")

    def _found_plan(self) -> Any:
        try:
            return json.loads((self.folder / _PLAN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return "a plan that cannot be read"

    def put(self, name: str, content: bytes) -> Path:
        """Keep a finished part."""
        path = self.folder / f"{name}.{_digest(content)}"
        try:
            with atomic_path(path) as temporary:
                temporary.write_bytes(content)
        except FileError as error:
            # Named after what the user knows, and what is finished stays.
            reason = str(error).partition(" cannot be written: ")[2].partition(";")[0]
            raise FileError(
                f"'{self.folder.parent}' cannot be written: {reason}; make room and start the same "
                "run again: finished tiles are kept."
            ) from error
        return path

    def find(self, name: str) -> Path | None:
        """File of a finished part, if there is one and it is whole."""
        for path in sorted(self.folder.glob(f"{name}.*")):
            try:
                content = path.read_bytes()
            except OSError:
                continue
            if path.suffix == f".{_digest(content)}":
                return path
            path.unlink(missing_ok=True)
        return None

    def get(self, name: str) -> bytes | None:
        """Content of a finished part, if there is one and it is whole."""
        path = self.find(name)
        return None if path is None else path.read_bytes()

    def finished(self, names: list[str]) -> dict[str, Path]:
        """Files of those of the parts that are finished and whole."""
        present = {path.name.rpartition(".")[0] for path in self.folder.iterdir()}
        found = {name: self.find(name) for name in names if name in present}
        return {name: path for name, path in found.items() if path is not None}

    def remove(self) -> None:
        """Remove all parts: the results are written."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def _difference(found: Any, wanted: dict[str, Any]) -> str:
    """Say in which setting two plans differ."""
    if not isinstance(found, dict):
        return str(found)
    for key, value in wanted.items():
        if found.get(key) == value:
            continue
        if isinstance(value, dict) and isinstance(found.get(key), dict):
            return _difference(found[key], value)
        return f"{key}={found.get(key)!r} in place of {value!r}"
    return "other settings"
