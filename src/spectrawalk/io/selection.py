"""Which part of a file is wanted, and how to read no more than that."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import FileError, ParameterError
from spectrawalk.scene import check_bands, check_window

_ORDER = "rcb"  # rows, cols, bands: the axes of every cube of the package
_ALWAYS_ALLOWED = 64 * 2**20
_BEST_COMPRESSION = 1100
"""Deflate packs at most 1,032 bytes into one; images are never that dull."""


@dataclass(frozen=True)
class Wanted:
    """What the caller of :func:`spectrawalk.read_scene` asked for; see there."""

    variable: str | None = None
    nodata: float | None = None
    bands_first: bool = False
    rows: slice | None = None
    cols: slice | None = None
    bands: ArrayLike | None = None
    window: bool = False
    """Whether the part is one of many that make up the image: it may have no usable pixel."""

    def __post_init__(self) -> None:
        if self.nodata is not None and not isinstance(self.nodata, Real):
            raise ParameterError(f"nodata={self.nodata!r} is not a number; give one, or none.")

    def select(self, n_rows: int, n_cols: int, n_bands: int) -> Selection:
        """Turn the wish into numbers for a cube of that shape."""
        rows, cols = check_window(
            slice(None) if self.rows is None else self.rows,
            slice(None) if self.cols is None else self.cols,
            (n_rows, n_cols),
        )
        bands = np.arange(n_bands) if self.bands is None else check_bands(self.bands, n_bands)
        is_part = self.rows is not None or self.cols is not None
        return Selection(rows, cols, bands, is_part, (n_rows, n_cols) if self.window else None)


@dataclass(frozen=True)
class Selection:
    """Rows, columns and bands to read, and whether that is less than the whole image."""

    rows: slice
    cols: slice
    bands: NDArray[np.intp]
    is_part: bool
    window_of: tuple[int, int] | None = None
    """Rows and columns of the whole image, if the part is one of many; see :class:`Wanted`."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the cube to be read."""
        return (
            self.rows.stop - self.rows.start,
            self.cols.stop - self.cols.start,
            len(self.bands),
        )

    @property
    def record(self) -> dict[str, Any]:
        """What the metadata say about a part of an image."""
        if not self.is_part:
            return {}
        crop = ((self.rows.start, self.rows.stop), (self.cols.start, self.cols.stop))
        return {"crop": crop} | ({} if self.window_of is None else {"window_of": self.window_of})

    def pick(self, values: Any) -> Any:
        """Choose the wanted bands from one value per band, or None."""
        if values is None:
            return None
        if isinstance(values, (tuple, list)):
            return tuple(values[band] for band in self.bands)
        return np.asarray(values)[self.bands]


def read_part(source: Any, selection: Selection, order: str = _ORDER) -> NDArray[Any]:
    """Read the wanted part of an array that lies in a file.

    Parameters
    ----------
    source : array, memory map, HDF5 dataset or Zarr array
        Anything that reads what a tuple of slices asks for.
    selection : Selection
    order : str
        The axes of `source`: a permutation of ``"rcb"``.

    Returns
    -------
    ndarray of shape (rows, cols, bands)

    Examples
    --------
    >>> import numpy as np
    >>> bands_first = np.arange(24).reshape(4, 2, 3)
    >>> part = Wanted(rows=slice(1, 2), bands=[3, 0]).select(2, 3, 4)
    >>> read_part(bands_first, part, "brc")
    array([[[21,  3],
            [22,  4],
            [23,  5]]])
    """
    first, last = int(selection.bands.min()), int(selection.bands.max())
    # The bands between the wanted ones are read too, as not every library takes a list of numbers.
    index = {"r": selection.rows, "c": selection.cols, "b": slice(first, last + 1)}
    part = source[tuple(index[axis] for axis in order)]
    is_mapped = isinstance(part, np.memmap)
    part = np.asarray(part).transpose([order.index(axis) for axis in _ORDER])
    if not np.array_equal(selection.bands, np.arange(first, last + 1)):
        return part[:, :, selection.bands - first]
    # A scene must not change when its file does.
    return np.array(part, order="C") if is_mapped else part


def check_promise(path: Path, promised: int, stored: int) -> None:
    """Refuse a file whose header declares far more bytes than the stored ones can unpack to.

    Libraries allocate what the header says before they miss the data.
    """
    if promised > max(_ALWAYS_ALLOWED, _BEST_COMPRESSION * stored):
        raise FileError(
            f"'{path}' is damaged or cut short: its header declares {promised:,} bytes of data but "
            f"{stored:,} are stored; get or write the file again."
        )
