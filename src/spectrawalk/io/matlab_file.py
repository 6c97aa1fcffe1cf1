"""MATLAB files: version 5 (also called 6 and 7) through SciPy, version 7.3 (HDF5) through h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.formats import ArrayFormat, Variable
from spectrawalk.io.matlab_tags import check_tags

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HDF5_OFFSETS = (0, 512)  # MATLAB writes 512 bytes of its own text before the HDF5 part
_VERSION_5_MARKS = (b"\x00\x01IM", b"\x01\x00MI")  # version and byte order, at byte 124
_NUMERIC = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


class MatlabFile(ArrayFormat):
    """A ``.mat`` file."""

    name = "a MATLAB file (version 5 or 7.3)"
    extensions = (".mat",)

    def recognises(self, head: bytes) -> bool:
        """See the base class."""
        # The text alone is enough, so that a file cut within its header is called cut short.
        return head.startswith(b"MATLAB ") or head[124:128] in _VERSION_5_MARKS or _is_hdf5(head)

    def list_variables(self, path: Path) -> list[Variable]:
        """See the base class."""
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                return [_hdf5_variable(name, file[name]) for name in file if name[0] != "#"]
        return [
            Variable(name, tuple(map(int, shape)), kind, kind in _NUMERIC)
            for name, shape, kind in scipy.io.whosmat(path, appendmat=False)
        ]

    def read_variable(self, path: Path, variable: Variable) -> NDArray[Any]:
        """See the base class."""
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                return _read_hdf5(path, file[variable.name])
        check_tags(path, variable.name)
        contents = scipy.io.loadmat(path, appendmat=False, variable_names=[variable.name])
        array: NDArray[Any] = contents[variable.name]
        return array


def _is_hdf5(head: bytes) -> bool:
    return any(head[at:].startswith(_HDF5_SIGNATURE) for at in _HDF5_OFFSETS)


def _hdf5_variable(name: str, item: h5py.Group | h5py.Dataset) -> Variable:
    """Describe one variable of a version 7.3 file, its axes turned as MATLAB shows them."""
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if not isinstance(item, h5py.Dataset):
        kind = "sparse" if "MATLAB_sparse" in item.attrs else kind or "struct"
        return Variable(name, (), kind, is_numeric=False)
    if "MATLAB_empty" in item.attrs or item.shape is None:
        return Variable(name, (0, 0), kind, is_numeric=False)
    # Files written by other programs lack MATLAB_class; complex numbers are pairs, of kind "V".
    is_numeric = item.dtype.kind in "buif" and (kind in _NUMERIC or not kind)
    return Variable(name, item.shape[::-1], kind or str(item.dtype), is_numeric)


def _read_hdf5(path: Path, dataset: h5py.Dataset) -> NDArray[Any]:
    if dataset.size and dataset.id.get_storage_size() == 0:
        # HDF5 would make up the values, and the memory for them, from nothing.
        raise FileError(
            f"'{path}' declares {dataset.name} of shape {dataset.shape[::-1]} but stores no "
            "values; get or write the file again."
        )
    # MATLAB counts the first axis fastest and HDF5 the last, so the stored axes are reversed.
    return np.asarray(dataset[()]).T
