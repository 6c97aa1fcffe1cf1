"""What an input format has to offer, and what the formats that hold plain arrays share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError, SpectrawalkError
from spectrawalk.io.scenes import scene_from_cube
from spectrawalk.scene import Scene

HEAD_BYTES = 1024
"""How much of a file's beginning a format sees to recognise it."""


class Format(ABC):
    """One kind of input file.

    Attributes
    ----------
    name : str
        What a message calls such a file, with its article.
    extensions : tuple of str
        Lower case, with the dot.
    """

    name: str
    extensions: tuple[str, ...]

    @abstractmethod
    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins with `head` (at most `HEAD_BYTES`) is of this kind."""

    @abstractmethod
    def read_scene(
        self, path: Path, variable: str | None, nodata: float | None, bands_first: bool
    ) -> Scene:
        """Read the cube, its mask and what else the file knows about it."""

    @abstractmethod
    def read_ground_truth(self, path: Path, variable: str | None) -> NDArray[np.int64]:
        """Read a (rows, cols) map of classes."""


@dataclass(frozen=True)
class Variable:
    """An array inside a file, known from its header only.

    Attributes
    ----------
    name : str
        Empty in a file that holds a single array without a name.
    shape : tuple of int
        As the package sees it, rows first.
    kind : str
        Type in the words of the file: ``uint16``, ``double``, ``cell``, ...
    is_numeric : bool
        Whether it is a dense array of real numbers.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    is_numeric: bool

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"{self.name} {shape} {self.kind}".strip()

    def is_array(self, ndim: int) -> bool:
        """Whether it has `ndim` axes of real numbers and is not empty."""
        return self.is_numeric and len(self.shape) == ndim and 0 not in self.shape


class ArrayFormat(Format):
    """A file that holds arrays and nothing about what they mean."""

    @abstractmethod
    def list_variables(self, path: Path) -> list[Variable]:
        """Read the headers of all variables."""

    @abstractmethod
    def read_variable(self, path: Path, variable: Variable) -> NDArray[Any]:
        """Read one variable, rows first."""

    def read_scene(
        self, path: Path, variable: str | None, nodata: float | None, bands_first: bool
    ) -> Scene:
        """Read the cube: the variable of that name, or the only one with three axes."""
        chosen = self._choose_cube(path, variable)
        record = {"file": str(path), "format": self.name}
        if chosen.name:
            record["variable"] = chosen.name
        cube = self.read_array(path, chosen)
        if bands_first:
            cube = np.moveaxis(cube, 0, -1)
        return scene_from_cube(
            cube, name=path.stem, source=f"'{path}'", nodata=nodata, metadata=record
        )

    def read_ground_truth(self, path: Path, variable: str | None) -> NDArray[np.int64]:
        """Read the classes: the variable of that name, or the only 2-D one of whole numbers."""
        if variable is not None:
            chosen = self.find(path, variable)
            if not chosen.is_array(2):
                raise FileError(f"'{path}': {chosen} is not a 2-D array (rows, cols) of numbers.")
            return _as_classes(path, self.read_array(path, chosen))
        # Whole numbers are often stored as floats, so only the values tell a map from the rest.
        variables = self.headers(path)
        planes = [each for each in variables if each.is_array(2) and min(each.shape) > 1]
        arrays = {plane: self.read_array(path, plane) for plane in planes}
        maps = [plane for plane, array in arrays.items() if _is_whole(array)]
        _check_only_one(path, maps, variables, "2-D array (rows, cols) of whole numbers")
        return _as_classes(path, arrays[maps[0]])

    def _choose_cube(self, path: Path, name: str | None) -> Variable:
        wanted = "3-D array (rows, cols, bands) of numbers"
        if name is not None:
            variable = self.find(path, name)
            if not variable.is_array(3):
                raise FileError(f"'{path}': {variable} is not a {wanted}.")
            return variable
        variables = self.headers(path)
        cubes = [each for each in variables if each.is_array(3)]
        _check_only_one(path, cubes, variables, wanted)
        return cubes[0]

    def read_array(self, path: Path, variable: Variable) -> NDArray[Any]:
        """Read one variable; the complaints of the libraries become a FileError."""
        with damage_reported(path):
            array = np.asarray(self.read_variable(path, variable))
        if array.dtype.kind not in "buif":
            raise FileError(f"'{path}' holds {array.dtype} values; real numbers are needed.")
        return array

    def headers(self, path: Path) -> list[Variable]:
        """List the variables; the complaints of the libraries become a FileError."""
        with damage_reported(path):
            return self.list_variables(path)

    def find(self, path: Path, name: str) -> Variable:
        """Find the variable called `name`."""
        variables = self.headers(path)
        for variable in variables:
            if variable.name == name:
                return variable
        if [variable.name for variable in variables] == [""]:
            raise FileError(
                f"'{path}' has no variable '{name}': it holds one array without a name; "
                "leave --variable (variable= in Python) out."
            )
        raise FileError(f"'{path}' has no variable '{name}'; {_listed(variables)}.")


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """Turn whatever a library raises on a broken file into a FileError that names the file."""
    try:
        yield
    except SpectrawalkError:
        raise
    except MemoryError as error:
        raise FileError(
            f"'{path}' needs more memory than there is; cut the scene into smaller ones."
        ) from error
    except Exception as error:  # SciPy and h5py raise a dozen kinds on damaged bytes
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise FileError(
            f"'{path}' is damaged or cut short ({reason}); get or write the file again."
        ) from error


def _check_only_one(
    path: Path, fitting: Sequence[Variable], variables: Sequence[Variable], wanted: str
) -> None:
    if not fitting:
        raise FileError(f"'{path}' holds no {wanted}; {_listed(variables)}.")
    if len(fitting) > 1:
        raise FileError(
            f"'{path}' holds more than one {wanted} ({_enumerated(fitting)}); choose one with "
            "--variable NAME (variable= in Python)."
        )


def _enumerated(variables: Sequence[Variable]) -> str:
    return ", ".join(map(str, variables))


def _listed(variables: Sequence[Variable]) -> str:
    return f"it holds {_enumerated(variables)}" if variables else "it holds no variable at all"


def _is_whole(array: NDArray[Any]) -> bool:
    if array.dtype.kind in "bui":
        return True
    return bool(np.isfinite(array).all() and (array == np.rint(array)).all())


def _as_classes(path: Path, array: NDArray[Any]) -> NDArray[np.int64]:
    if not _is_whole(array):
        raise FileError(
            f"'{path}' holds values that are not whole numbers; ground truth is one class "
            "number per pixel, 0 where it is unknown."
        )
    if array.min() < 0:
        raise FileError(
            f"'{path}' holds negative values (the least is {array.min():.0f}); in ground truth "
            "classes count from 1 and 0 means unknown."
        )
    return np.ascontiguousarray(array, dtype=np.int64)
