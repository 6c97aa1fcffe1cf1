"""Fitted models as one ``.npz`` file: plain arrays and a JSON header, nothing that runs code."""

from __future__ import annotations

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from spectrawalk import __version__
from spectrawalk.errors import FileError, MemoryShortageError, ParameterError, SpectrawalkError
from spectrawalk.io.atomic import atomic_path
from spectrawalk.io.model_checks import (
    DamageError,
    check_arrays,
    check_mask,
    check_names,
    check_shapes,
    check_text,
)
from spectrawalk.io.numpy_file import ArrayDamageError, declared_array
from spectrawalk.parameters import asks_for_automatic_mode, shown

MODEL_FORMAT = 2
"""Raised when a file of the new kind could not be read by older code."""

_HEADER = "spectrawalk_model"
_PIECE = 2**20  # bytes read at a time


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
    """Read what :func:`write_model` wrote, and refuse what it cannot have written.

    Nothing large is unpacked before the sizes that all arrays declare agree: a file of a few
    megabytes can declare, and hold, thousands of times as much.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no model file '{path}'; check its name.")
    if not zipfile.is_zipfile(path):
        raise FileError(
            f"'{path}' is not a saved spectrawalk model: it is no .npz archive, or is cut short; "
            "give a file that a model was saved to, such as model.npz."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            members = _declared_members(archive)
            if _HEADER not in members:
                raise FileError(
                    f"'{path}' is not a saved spectrawalk model: its header is missing; give a "
                    "file that a model was saved to, such as model.npz."
                )
            header = json.loads(str(_unpack(archive, _HEADER, members[_HEADER])))
            kind, parameters = _read_header(header, path)
            del members[_HEADER]
            _check_members(archive, members)
            _check_memory(path, members)
            arrays = {name: _unpack(archive, name, each) for name, each in members.items()}
        return SavedModel(kind, parameters, check_arrays(arrays))
    except SpectrawalkError:
        raise
    except DamageError as damage:
        raise FileError(f"'{path}' is damaged: {damage}; save the model again.") from None
    except Exception as error:  # a damaged archive makes its readers raise anything at all
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"'{path}' is not a saved spectrawalk model, or is damaged ({reason}); save it again."
        ) from None


@dataclass(frozen=True)
class _Member:
    """An array inside the archive, known from what it declares."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def _declared_members(archive: zipfile.ZipFile) -> dict[str, _Member]:
    """Read what each array declares, and compare it with the size of the member that holds it."""
    members = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        with archive.open(info) as file:
            try:
                members[name] = _Member(info, *declared_array(file, info.file_size))
            except ArrayDamageError as damage:
                raise ValueError(f"its array {name} {damage}") from None
    return members


def _unpack(archive: zipfile.ZipFile, name: str, member: _Member) -> NDArray[Any]:
    if member.dtype.kind == "U":
        check_text(name, member)
    with archive.open(member.info) as file:
        return np.asarray(npy.read_array(file, allow_pickle=False))


def _check_members(archive: zipfile.ZipFile, members: dict[str, _Member]) -> None:
    """Check that the arrays are those of a model and of sizes that agree."""
    check_names(members)
    check_mask(members["_mask"])
    scaling = members.get("scaling")
    is_text = scaling is not None and scaling.dtype.kind == "U" and scaling.shape == ()
    check_shapes(
        members,
        _count_true(archive, members["_mask"]),
        str(_unpack(archive, "scaling", scaling)) if scaling is not None and is_text else "",
    )


def _count_true(archive: zipfile.ZipFile, mask: _Member) -> int:
    """Count the valid pixels of a mask, of which a piece at a time is in memory."""
    total = 0
    with archive.open(mask.info) as file:
        declared_array(file, mask.info.file_size)
        while piece := file.read(_PIECE):
            total += int(np.count_nonzero(np.frombuffer(piece, dtype=np.uint8)))
    return total


def _check_memory(path: Path, members: dict[str, _Member]) -> None:
    from spectrawalk.estimators import forecast

    needed, free = sum(each.n_bytes for each in members.values()), forecast.available_memory()
    if needed > free:
        raise MemoryShortageError(
            f"'{path}' holds {needed / 2**30:.1f} GiB of arrays, but only {free / 2**30:.1f} GiB "
            "of memory are free; close other programs, or load it on a larger machine."
        )


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
    if asks_for_automatic_mode(parameters):
        raise FileError(
            f"'{path}' holds a model of the automatic mode, which spectrawalk no longer has; fit "
            "and save a SpectraWalk model instead."
        )
    return kind, parameters


def _plain(name: str, value: Any) -> Any:
    """Turn NumPy scalars, and sequences of numbers, into what JSON knows."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(name, each) for each in np.asarray(value, dtype=object).ravel()]
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, (bool, int, float, str)):
        raise ParameterError(
            f"{name}={shown(value)} cannot be saved; give a number, a string, True, False or None."
        )
    return plain
