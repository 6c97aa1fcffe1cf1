"""Zarr stores, version 2 or 3: an array, or a group with one array of three axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError, MissingDependencyError
from spectrawalk.io.formats import Format, Plane, damage_reported
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Wanted, check_promise, read_part
from spectrawalk.io.wavelengths import to_nanometres
from spectrawalk.scene import Scene
from spectrawalk.scene.georeference import to_wkt

_MARKS = ("zarr.json", ".zarray", ".zgroup")
_MOST_MISSING = 100  # declared chunks for each one that is stored
_BAND_AXES = {"band", "bands", "wavelength", "wavelengths", "wl", "spectral"}


class ZarrStore(Format):
    """A folder ``*.zarr``."""

    name = "a Zarr store"
    extensions = (".zarr",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return path.is_dir() and any((path / mark).is_file() for mark in _MARKS)

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """See the base class."""
        with _opened(path) as (arrays, attributes):
            name, array = _choose(path, arrays, wanted.variable, 3)
            attributes = {**attributes, **dict(array.attrs)}
            order = "brc" if wanted.bands_first or _bands_come_first(array, attributes) else "rcb"
            n_rows, n_cols, n_bands = (array.shape[order.index(axis)] for axis in "rcb")
            selection = wanted.select(n_rows, n_cols, n_bands)
            nodata = _number(attributes.get("_FillValue", attributes.get("nodata")))
            cube = read_part(array, selection, order)
            transform = attributes.get("transform")
            details: dict[str, Any] = {
                "wavelengths": _wavelengths(arrays, attributes, n_bands),
                "fwhm": _per_band(attributes.get("fwhm"), n_bands),
                "good_bands": _flags(attributes.get("good_bands"), n_bands),
                "band_names": _names(attributes.get("band_names"), n_bands),
                "crs": to_wkt(attributes.get("crs") or attributes.get("crs_wkt")),
                "transform": transform if isinstance(transform, list) else None,
            }
        record = {"file": str(path), "format": self.name}
        if name:
            record["variable"] = name
        return scene_from_part(
            cube,
            selection,
            path=path,
            nodata=nodata if wanted.nodata is None else wanted.nodata,
            metadata=record,
            **details,
        )

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """See the base class."""
        with _opened(path) as (arrays, _):
            _, array = _choose(path, arrays, variable, 2)
            return Plane(np.asarray(array[:]))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Open a store: its arrays by name (empty for a bare one), and the attributes of the group."""
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError(
            f"'{path}' is a Zarr store, and reading it needs the package zarr: "
            "pip install 'spectrawalk[zarr]'."
        ) from None
    with damage_reported(path):
        node = zarr.open(path, mode="r")
        if isinstance(node, zarr.Array):
            yield {"": node}, {}
        else:
            yield dict(node.arrays()), dict(node.attrs)


def _choose(path: Path, arrays: dict[str, Any], name: str | None, n_axes: int) -> tuple[str, Any]:
    """Find the array of that name, or the only one of that many axes, and check its size."""
    fitting = {
        key: array
        for key, array in arrays.items()
        if len(array.shape) == n_axes and 0 not in array.shape and array.dtype.kind in "buif"
    }
    if name is not None:
        fitting = {key: array for key, array in fitting.items() if key == name}
    listed = ", ".join(f"{key} {array.shape}".strip() for key, array in arrays.items()) or "nothing"
    if len(fitting) != 1:
        which = f"'{name}'" if name is not None else "one"
        raise FileError(
            f"'{path}' has {len(fitting) or 'no'} array of {n_axes} axes of real numbers where "
            f"{which} is needed; it holds {listed}; choose one with "
            "`variable`."
        )
    ((key, array),) = fitting.items()
    _check_stored(path, array)
    return key, array


def _check_stored(path: Path, array: Any) -> None:
    """Refuse an array that declares far more than is stored: Zarr would make up the rest."""
    sizes = [each.stat().st_size for each in path.rglob("*") if each.is_file()]
    pieces = array.shards or array.chunks
    for shape in (array.shape, pieces):
        check_promise(path, math.prod(map(int, shape)) * array.dtype.itemsize, sum(sizes))
    promised = math.prod(
        -(-length // piece) for length, piece in zip(array.shape, pieces, strict=True)
    )
    # Chunks that hold nothing but the fill value are left out, but seldom nearly all of them.
    if promised > _MOST_MISSING * max(len(sizes), 10):
        raise FileError(
            f"'{path}' is damaged or incomplete: it declares {promised:,} chunks but stores at "
            f"most {len(sizes):,}; get or write it again."
        )


def _bands_come_first(array: Any, attributes: dict[str, Any]) -> bool:
    """Whether the first axis is named after bands, as xarray writes it."""
    names = attributes.get("_ARRAY_DIMENSIONS")
    if names is None:
        names = getattr(array.metadata, "dimension_names", None)
    return isinstance(names, (list, tuple)) and str(names[0]).lower() in _BAND_AXES


def _wavelengths(
    arrays: dict[str, Any], attributes: dict[str, Any], n_bands: int
) -> NDArray[np.float64] | None:
    """Find wavelengths among the attributes, or in an array that is named after them."""
    unit = attributes.get("wavelength_units")
    listed = attributes.get("wavelengths", attributes.get("wavelength"))
    if listed is None:
        for name in ("wavelength", "wavelengths"):
            array = arrays.get(name)
            if array is not None and array.shape == (n_bands,) and array.dtype.kind in "uif":
                listed, unit = array[:], array.attrs.get("units", unit)
                break
    numbers = _per_band(listed, n_bands)
    return None if numbers is None else to_nanometres(numbers, None if unit is None else str(unit))


def _per_band(values: Any, n_bands: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (n_bands,):
        raise FileError(
            f"the store lists {numbers.size} wavelengths or widths for {n_bands} bands; correct "
            "its attributes."
        )
    return numbers


def _flags(values: Any, n_bands: int) -> NDArray[np.bool_] | None:
    numbers = _per_band(values, n_bands)
    return None if numbers is None else numbers != 0


def _names(values: Any, n_bands: int) -> tuple[str, ...] | None:
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != n_bands:
        return None
    return tuple(map(str, values))


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None
