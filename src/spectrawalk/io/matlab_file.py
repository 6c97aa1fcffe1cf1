"""MATLAB files: version 5 (also called 6 and 7) through SciPy, version 7.3 (HDF5) through h5py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h5py
import scipy.io
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.flattened import Flattened, find_flattened, size_names
from spectrawalk.io.formats import ArrayFormat, Variable, part_of
from spectrawalk.io.hdf5 import attribute, check_stored, is_hdf5
from spectrawalk.io.matlab_tags import check_tags
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Selection, Wanted, check_promise, read_part
from spectrawalk.scene import Scene

_VERSION_5_MARKS = (b"\x00\x01IM", b"\x01\x00MI")  # version and byte order, at byte 124
_NUMERIC = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


class MatlabFile(ArrayFormat):
    """A ``.mat`` file."""

    name = "a MATLAB file (version 5 or 7.3)"
    extensions = (".mat",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        # The text alone is enough, so that a file cut within its header is called cut short.
        return (
            head.startswith(b"MATLAB ")
            or head[124:128] in _VERSION_5_MARKS
            or (path.suffix.lower() in self.extensions and is_hdf5(head))
        )

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """Read the cube: an array with three axes, or a table of bands x pixels with its shape."""
        flat = self._flattened(path, wanted.variable)
        if flat is None:
            return super().read_scene(path, wanted)
        name = flat.variable.name
        if wanted.bands_first:
            raise FileError(
                f"'{path}': {name} is a table of pixels, whose order is known; do not give "
                "`bands_first`."
            )
        check_promise(path, math.prod(flat.variable.shape), path.stat().st_size)
        selection = wanted.select(flat.n_rows, flat.n_cols, flat.n_bands)
        cube = read_part(flat.unfold(self.read_array(path, flat.variable)), selection)
        record = {"file": str(path), "format": self.name, "variable": name}
        return scene_from_part(cube, selection, path=path, nodata=wanted.nodata, metadata=record)

    def _flattened(self, path: Path, name: str | None) -> Flattened | None:
        """Find a flattened cube; None if there is a cube, or nothing that tells its shape."""
        variables = self.headers(path)
        asked = [each for each in variables if name in (None, each.name)]
        sizes = size_names(variables)
        if not {"rows", "cols"} <= set(sizes) or any(each.is_array(3) for each in asked):
            return None
        if name is not None and not self.find(path, name).is_array(2):
            return None
        numbers = {size: self.read_array(path, sizes[size]).item() for size in sizes}
        return find_flattened(path, variables, numbers, name)

    def list_variables(self, path: Path) -> list[Variable]:
        """See the base class."""
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                return [_hdf5_variable(name, file[name]) for name in file if name[0] != "#"]
        return [
            Variable(name, tuple(map(int, shape)), kind, kind in _NUMERIC)
            for name, shape, kind in scipy.io.whosmat(path, appendmat=False)
        ]

    def read_variable(
        self, path: Path, variable: Variable, part: Selection | None = None, order: str = "rcb"
    ) -> NDArray[Any]:
        """See the base class."""
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                dataset = file[variable.name]
                check_stored(path, dataset)
                # MATLAB counts the first axis fastest and HDF5 the last, so the stored axes are
                # reversed.
                return dataset[()].T if part is None else read_part(dataset, part, order[::-1])
        check_tags(path, variable.name)
        contents = scipy.io.loadmat(path, appendmat=False, variable_names=[variable.name])
        return part_of(contents[variable.name], part, order)


def _hdf5_variable(name: str, item: h5py.Group | h5py.Dataset) -> Variable:
    """Describe one variable of a version 7.3 file, its axes turned as MATLAB shows them."""
    kind = str(attribute(item, "MATLAB_class") or "")
    if not isinstance(item, h5py.Dataset):
        kind = "sparse" if "MATLAB_sparse" in item.attrs else kind or "struct"
        return Variable(name, (), kind, is_numeric=False)
    if "MATLAB_empty" in item.attrs or item.shape is None:
        return Variable(name, (0, 0), kind, is_numeric=False)
    # Files written by other programs lack MATLAB_class; complex numbers are pairs, of kind "V".
    is_numeric = item.dtype.kind in "buif" and (kind in _NUMERIC or not kind)
    return Variable(name, item.shape[::-1], kind or str(item.dtype), is_numeric)
