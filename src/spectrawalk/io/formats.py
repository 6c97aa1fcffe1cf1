"""What an input format has to offer, and what the formats that hold plain arrays share."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError, SceneWarning, SpectrawalkError
from spectrawalk.io.axis_order import seems_bands_first
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Selection, Wanted, check_promise, read_part
from spectrawalk.scene import Scene, Transform

HEAD_BYTES = 1024
"""How much of a file's beginning a format sees to recognise it."""


@dataclass(frozen=True, eq=False)
class Plane:
    """A raster of one band, for masks and ground truth.

    Attributes
    ----------
    values : ndarray of shape (rows, cols)
    nodata : float or None
        Value that stands for no data.
    crs : str or None
        As in :class:`~spectrawalk.Scene`, as is `transform`.
    transform : tuple of 6 floats or None
    """

    values: NDArray[Any]
    nodata: float | None = None
    crs: str | None = None
    transform: Transform | None = None


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
    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether the file at `path`, which begins with `head`, is of this kind.

        `head` is empty for a folder, and holds at most `HEAD_BYTES`.
        """

    @abstractmethod
    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """Read the cube, its mask and what else the file knows about it."""

    @abstractmethod
    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """Read a raster of a single band."""

    def files_beside(self, path: Path) -> list[Path]:
        """List the other files that belong to the one named, such as the values of a header."""
        return []

    def read_ground_truth(self, path: Path, variable: str | None) -> NDArray[np.int64]:
        """Read a (rows, cols) map of classes."""
        return _as_classes(path, self.read_plane(path, variable).values)


def only_band(path: Path, cube: NDArray[Any]) -> NDArray[Any]:
    """Take the single band out of a cube, and refuse more of them."""
    if cube.shape[2] != 1:
        raise FileError(
            f"'{path}' has {cube.shape[2]} bands where a single one is needed; give a "
            "raster of one band."
        )
    return cube[:, :, 0]


def refuse_array_options(path: Path, wanted: Wanted, name: str) -> None:
    """Refuse what only makes sense for files of bare arrays."""
    for parameter, given, why in (
        ("variable", wanted.variable is not None, "has no named arrays"),
        ("bands_first", wanted.bands_first, "knows the order of its axes"),
    ):
        if given:
            raise FileError(f"'{path}' is {name}, which {why}; do not give `{parameter}`.")


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
        return self.is_numeric and len(self.shape) == ndim and min(self.shape) > 0


class ArrayFormat(Format):
    """A file that holds arrays and nothing about what they mean."""

    @abstractmethod
    def list_variables(self, path: Path) -> list[Variable]:
        """Read the headers of all variables."""

    @abstractmethod
    def read_variable(
        self, path: Path, variable: Variable, part: Selection | None = None, order: str = "rcb"
    ) -> NDArray[Any]:
        """Read one variable, rows first; or a part of it as a cube, its axes being `order`."""

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """Read the cube: the variable of that name, or the only one with three axes."""
        chosen = self._choose_cube(path, wanted.variable)
        record = {"file": str(path), "format": self.name}
        if chosen.name:
            record["variable"] = chosen.name
        order = "brc" if wanted.bands_first else "rcb"
        n_rows, n_cols, n_bands = (chosen.shape[order.index(axis)] for axis in "rcb")
        check_promise(path, math.prod(chosen.shape), path.stat().st_size)
        selection = wanted.select(n_rows, n_cols, n_bands)
        cube = self.read_array(path, chosen, selection, order)
        if not wanted.bands_first and seems_bands_first(cube, chosen.shape, wanted.nodata):
            _warn_of_axes(path, chosen.shape)
        return scene_from_part(cube, selection, path=path, nodata=wanted.nodata, metadata=record)

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """Read the variable of that name, or the only one with two axes."""
        if variable is None:
            variables = self.headers(path)
            planes = [each for each in variables if each.is_array(2) and min(each.shape) > 1]
            _check_only_one(path, planes, variables, "2-D array (rows, cols) of numbers")
            return Plane(self.read_array(path, planes[0]))
        chosen = self.find(path, variable)
        if not chosen.is_array(2):
            raise FileError(
                f"'{path}': {chosen} is not a 2-D array (rows, cols) of numbers; choose "
                "another one."
            )
        return Plane(self.read_array(path, chosen))

    def read_ground_truth(self, path: Path, variable: str | None) -> NDArray[np.int64]:
        """Read the classes: the variable of that name, or the only 2-D one of whole numbers."""
        if variable is not None:
            return _as_classes(path, self.read_plane(path, variable).values)
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
                raise FileError(f"'{path}': {variable} is not a {wanted}; choose another one.")
            return variable
        variables = self.headers(path)
        cubes = [each for each in variables if each.is_array(3)]
        _check_only_one(path, cubes, variables, wanted)
        return cubes[0]

    def read_array(
        self, path: Path, variable: Variable, part: Selection | None = None, order: str = "rcb"
    ) -> NDArray[Any]:
        """Read one variable; the complaints of the libraries become a FileError."""
        with damage_reported(path):
            array = np.asarray(self.read_variable(path, variable, part, order))
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
                "do not give `variable`."
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


def _warn_of_axes(path: Path, shape: tuple[int, ...]) -> None:
    first, second, third = shape
    warnings.warn(
        f"'{path}' has the shape {shape} and was read as {first} rows, {second} columns and "
        f"{third} bands, but looks like {first} bands of {second} x {third} pixels; if it is, set "
        "bands_first.",
        SceneWarning,
        stacklevel=4,  # the caller of spectrawalk.read_scene
    )


def part_of(array: Any, part: Selection | None, order: str) -> NDArray[Any]:
    """Cut the wanted part out of an array, or out of a file that acts as one."""
    return np.asarray(array) if part is None else read_part(array, part, order)


def _check_only_one(
    path: Path, fitting: Sequence[Variable], variables: Sequence[Variable], wanted: str
) -> None:
    if not fitting:
        raise FileError(f"'{path}' holds no {wanted}; {_listed(variables)}.")
    if len(fitting) > 1:
        raise FileError(
            f"'{path}' holds more than one {wanted} ({_enumerated(fitting)}); choose one with "
            "`variable`."
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
