"""Fitted models as one ``.npz`` file: plain arrays and a JSON header, nothing that runs code."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk import __version__
from spectrawalk.errors import FileError
from spectrawalk.io.atomic import atomic_path

MODEL_FORMAT = 1
"""Raised when a file of the new kind could not be read by older code."""

_HEADER = "spectrawalk_model"


def write_model(
    path: str | Path, kind: str, parameters: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write a model: its class, its parameters and what its fit left behind."""
    header = {
        "format": MODEL_FORMAT,
        "version": __version__,
        "kind": kind,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
    }
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **{_HEADER: np.array(json.dumps(header))}, **arrays)  # type: ignore[arg-type]


def read_model(
    path: str | Path, known: tuple[str, ...]
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what :func:`write_model` wrote: class, parameters, arrays."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no model file '{path}'; check its name.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop(_HEADER)))
        number, kind, parameters = header["format"], header["kind"], header["parameters"]
    except KeyError as error:
        raise FileError(f"'{path}' is not a saved spectrawalk model: {error} is missing.") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise FileError(
            f"'{path}' is not a saved spectrawalk model, or is damaged ({error}); save it again."
        ) from None
    if number != MODEL_FORMAT or kind not in known:
        raise FileError(
            f"'{path}' holds a {kind} model of format {number}, written by spectrawalk "
            f"{header.get('version')}; this is {__version__}, which reads format {MODEL_FORMAT}."
        )
    return kind, parameters, arrays


def _plain(value: Any) -> Any:
    """Turn NumPy scalars into what JSON knows."""
    return value.item() if isinstance(value, np.generic) else value
