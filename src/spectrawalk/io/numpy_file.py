"""NumPy files: one array (.npy) or several (.npz), never pickled objects."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.formats import ArrayFormat, Variable, part_of
from spectrawalk.io.selection import Selection


class NumpyFile(ArrayFormat):
    """A ``.npy`` file."""

    name = "a NumPy file"
    extensions = (".npy",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return head.startswith(npy.MAGIC_PREFIX)

    def list_variables(self, path: Path) -> list[Variable]:
        """See the base class."""
        with path.open("rb") as file:
            return [_read_header(file, path, "", path.stat().st_size)]

    def read_variable(
        self, path: Path, variable: Variable, part: Selection | None = None, order: str = "rcb"
    ) -> NDArray[Any]:
        """See the base class."""
        array = np.load(path, allow_pickle=False, mmap_mode=None if part is None else "r")
        return part_of(array, part, order)


class NumpyArchive(ArrayFormat):
    """A ``.npz`` file."""

    name = "a NumPy archive"
    extensions = (".npz",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))

    def list_variables(self, path: Path) -> list[Variable]:
        """See the base class."""
        variables = []
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.filename.endswith(".npy"):
                    with archive.open(member) as file:
                        name = member.filename.removesuffix(".npy")
                        variables.append(_read_header(file, path, name, member.file_size))
        return variables

    def read_variable(
        self, path: Path, variable: Variable, part: Selection | None = None, order: str = "rcb"
    ) -> NDArray[Any]:
        """See the base class."""
        with np.load(path, allow_pickle=False) as archive:
            return part_of(archive[variable.name], part, order)


class ArrayDamageError(Exception):
    """An array in NumPy's format cannot be read; says what it is, and what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice


def declared_array(file: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype]:
    """Read the shape and type that one array declares, and compare them with its `size` in bytes.

    A header can declare any shape, and NumPy would allocate it before it misses the data.

    Parameters
    ----------
    file : binary file
        At the beginning of the array; afterwards at its first value.
    size : int
        Bytes of the header and the values.
    """
    version = npy.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(file)
    else:  # version 3 exists for field names beyond Latin-1, so it holds no plain array
        raise ArrayDamageError(
            f"is a NumPy file of version {version[0]}.{version[1]}, made for tables with named "
            "columns",
            "save a plain array of numbers with numpy.save",
        )
    if dtype.hasobject:
        raise ArrayDamageError(
            "holds pickled Python objects, which are not read because they can run code",
            "save a plain array of numbers with numpy.save",
        )
    promised, found = math.prod(shape) * dtype.itemsize, size - file.tell()
    if promised != found:
        raise ArrayDamageError(
            f"is damaged or cut short: its header declares {promised} bytes of data but {found} "
            "are there",
            "get or write the file again",
        )
    return shape, dtype


def _read_header(file: IO[bytes], path: Path, name: str, size: int) -> Variable:
    try:
        shape, dtype = declared_array(file, size)
    except ArrayDamageError as damage:
        raise FileError(f"'{path}' {damage}; {damage.advice}.") from None
    is_numeric = dtype.names is None and dtype.kind in "buif"
    return Variable(name, shape, str(dtype), is_numeric)
