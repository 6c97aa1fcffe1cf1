"""Small files of text: tables and records, written whole or not at all."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from spectrawalk.errors import FileError
from spectrawalk.io.atomic import atomic_path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` in UTF-8, with the same line ends on every system."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_csv(
    path: str | os.PathLike[str], columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write rows as comma-separated values under a line of column names; None is an empty cell."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, buffer.getvalue())


def write_json(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Write a record of plain values, its keys in order."""
    write_text(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a record that :func:`write_json` wrote."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise FileError(f"'{path}' is not a JSON file ({error}); delete it.") from error
    if not isinstance(record, dict):
        raise FileError(f"'{path}' holds a {type(record).__name__}, not a record; delete it.")
    return record
