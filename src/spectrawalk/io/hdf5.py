"""What the formats inside HDF5 files share: MATLAB 7.3, EMIT and PRISMA."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.selection import check_promise

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HEAP = b"GCOL\x01\x00\x00\x00"
_OFFSETS = (0, 512)  # MATLAB writes 512 bytes of its own text before the HDF5 part


def is_hdf5(head: bytes) -> bool:
    """Whether the first bytes of a file are those of HDF5."""
    return any(head[at:].startswith(_SIGNATURE) for at in _OFFSETS)


def holds(path: Path, head: bytes, *names: str) -> bool:
    """Whether an HDF5 file holds groups or datasets of all these names."""
    if not is_hdf5(head):
        return False
    try:
        with h5py.File(path, "r") as file:
            return all(name in file for name in names)
    except Exception:  # damaged files raise a dozen kinds; what they hold is not known
        return False


def find_dataset(path: Path, file: h5py.File, name: str, n_axes: int) -> h5py.Dataset:
    """Get a dataset of real numbers that must be there."""
    item = file.get(name)
    if not isinstance(item, h5py.Dataset):
        raise FileError(f"'{path}' has no array '{name}'; get the file again.")
    if len(item.shape or ()) != n_axes or 0 in item.shape or item.dtype.kind not in "buif":
        raise FileError(
            f"'{path}': '{name}' of shape {item.shape} and type {item.dtype} is not an array of "
            f"{n_axes} axes of real numbers; get the file again."
        )
    check_stored(path, item)
    return item


def check_stored(path: Path, dataset: h5py.Dataset) -> None:
    """Refuse a dataset without stored values: HDF5 would make them up, and memory for them."""
    stored = dataset.id.get_storage_size()
    if dataset.size and stored == 0:
        raise FileError(
            f"'{path}' declares {dataset.name} of shape {dataset.shape} but stores no values; get "
            "or write the file again."
        )
    check_promise(path, dataset.size * dataset.dtype.itemsize, min(stored, path.stat().st_size))


def attribute(item: Any, name: str) -> Any:
    """Read an attribute as a string, a number or an array; None if there is none."""
    if name not in item.attrs:
        return None
    text = h5py.check_string_dtype(item.attrs.get_id(name).dtype)
    if text is not None and text.length is None:
        _check_heaps(Path(item.file.filename))
    value = item.attrs[name]
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
        return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    return value


def _check_heaps(path: Path) -> None:
    """Refuse a file whose heap of texts is damaged: HDF5 (2.0 at least) walks it without end.

    A heap is the word GCOL, its version, its size, and objects one after the other, each with its
    number and its size; number 0 is the free space at the end.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(_HEAP)
        while start >= 0:
            (size,) = struct.unpack("<Q", content[start + 8 : start + 16].ljust(8, b"\0"))
            place, end = start + 16, min(start + size, len(content))
            while end - place >= 16:
                number, length = struct.unpack("<HxxxxxxQ", content[place : place + 16])
                step = 16 + length + -length % 8 if number else length
                if not 0 < step <= end - place:
                    raise FileError(
                        f"'{path}' is damaged: its heap of texts is not sound; get the file again."
                    )
                place += step
            start = content.find(_HEAP, start + 1)


def vector(path: Path, file: h5py.File, name: str, length: int) -> NDArray[np.float64] | None:
    """Read one number per band; None if there is no such array."""
    if name not in file:
        return None
    dataset = find_dataset(path, file, name, 1)
    if dataset.shape != (length,):
        raise FileError(
            f"'{path}': '{name}' has {dataset.shape[0]} values for {length} bands; get the file "
            "again."
        )
    return np.asarray(dataset[()], dtype=np.float64)
