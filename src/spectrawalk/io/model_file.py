"""Fitted models as one ``.npz`` file: plain arrays and a JSON header, nothing that runs code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk import __version__
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.io.atomic import atomic_path
from spectrawalk.io.model_checks import DamageError, check_arrays
from spectrawalk.parameters import shown

MODEL_FORMAT = 2
"""Raised when a file of the new kind could not be read by older code."""

_HEADER = "spectrawalk_model"


class SavedModel(NamedTuple):
    """What a model file holds."""

    kind: str
    """Name of the class."""
    parameters: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    """What the fit left behind, checked to belong together."""


def write_model(
    path: str | Path, kind: str, parameters: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write a model: its class, its parameters and what its fit left behind."""
    header = {
        "format": MODEL_FORMAT,
        "version": __version__,
        "kind": kind,
        "parameters": {name: _plain(name, value) for name, value in parameters.items()},
    }
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **{_HEADER: np.array(json.dumps(header))}, **arrays)  # type: ignore[arg-type]


def read_model(path: str | Path) -> SavedModel:
    """Read what :func:`write_model` wrote, and refuse what it cannot have written."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no model file '{path}'; check its name.")
    try:
        with np.load(path, allow_pickle=False) as file:
            names = set(file.files)
            header = json.loads(str(file[_HEADER])) if _HEADER in names else None
            arrays = {name: file[name] for name in names - {_HEADER}} if header else {}
    except Exception as error:  # a damaged archive makes its readers raise anything at all
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"'{path}' is not a saved spectrawalk model, or is damaged ({reason}); save it again."
        ) from None
    if header is None:
        raise FileError(f"'{path}' is not a saved spectrawalk model: its header is missing.")
    try:
        return SavedModel(*_read_header(header, path), check_arrays(arrays))
    except DamageError as damage:
        raise FileError(f"'{path}' is damaged: {damage}; save the model again.") from None


def _read_header(header: Any, path: Path) -> tuple[str, dict[str, Any]]:
    if not isinstance(header, dict) or not {"format", "kind", "parameters"} <= set(header):
        raise DamageError("its header is incomplete")
    number, kind, parameters = header["format"], header["kind"], header["parameters"]
    if number != MODEL_FORMAT:
        raise FileError(
            f"'{path}' holds a model of format {shown(number)}, written by spectrawalk "
            f"{shown(header.get('version'))}; this is {__version__}, which reads format "
            f"{MODEL_FORMAT}: fit and save the model again."
        )
    if not isinstance(kind, str) or not kind.isidentifier():
        raise DamageError(f"it names no class but {shown(kind)}")
    if not isinstance(parameters, dict):
        raise DamageError(f"its parameters are {shown(parameters)}")
    return kind, parameters


def _plain(name: str, value: Any) -> Any:
    """Turn NumPy scalars into what JSON knows."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, (bool, int, float, str)):
        raise ParameterError(
            f"{name}={shown(value)} cannot be saved; give a number, a string, True, False or None."
        )
    return plain
