"""A DataArray or Dataset of xarray, in memory, as a Scene; and labels as a DataArray."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError
from spectrawalk.io.scenes import scene_from_cube
from spectrawalk.io.wavelengths import to_nanometres, wavelengths_in_words
from spectrawalk.io.xarray_place import crs_of, transform_of
from spectrawalk.scene import Scene

_BAND_AXES = (
    "band", "bands", "wavelength", "wavelengths", "wl", "spectral", "channel", "variable",
)  # fmt: skip
_ROW_AXES = ("y", "row", "rows", "lat", "latitude", "northing", "line", "lines", "downtrack")
_COL_AXES = (
    "x", "col", "cols", "lon", "longitude", "easting", "sample", "samples", "crosstrack", "column",
)  # fmt: skip
_OPTICAL = (0.3, 20.0, 300.0)  # micrometres from and to; nanometres from


def scene_from_xarray(
    data: Any, *, nodata: float | None = None, variable: str | None = None
) -> Scene:
    """Make a Scene of a ``DataArray`` with three dimensions, or of a ``Dataset`` of xarray.

    Parameters
    ----------
    data : xarray.DataArray or xarray.Dataset
        An array with dimensions for rows (``y``, ``lat``, ...), columns (``x``, ``lon``, ...) and
        bands (``band``, ``wavelength``, ...), in any order; unnamed ones count as rows, columns,
        bands. Further dimensions must have length 1. A Dataset with one such array, or with an
        image for each band. Wavelengths come from a coordinate of the bands, their names or the
        attributes, the transform from evenly spaced coordinates (centres of pixels), the CRS from
        ``spatial_ref`` as rioxarray and odc-stac write it.
    nodata : float, optional
        Value that stands for no data; by default that of ``_FillValue`` or ``nodata``.
    variable : str, optional
        Which array of a Dataset. Not needed if only one has rows, columns and bands.

    Returns
    -------
    Scene

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> data = xarray.DataArray(
    ...     np.ones((3, 4, 5)),
    ...     dims=("wavelength", "y", "x"),
    ...     coords={"wavelength": [450, 550, 650], "y": [9.5, 8.5, 7.5, 6.5]},
    ... )
    >>> scene = scene_from_xarray(data)
    >>> scene.shape, scene.wavelengths
    ((4, 5), array([450., 550., 650.]))
    """
    if hasattr(data, "data_vars"):
        data = _array_of(data, variable)
    data = _without_single_dimensions(data)
    rows, cols, bands = _dimensions(data)
    ordered = data.transpose(rows, cols, bands)
    cube, mask = ordered.to_numpy(), None
    fills = _fills(data) if nodata is None else nodata
    if isinstance(fills, np.ndarray):  # one for each band
        mask, fills = ~(cube == fills).any(axis=2), None
    names = _band_names(data, bands)
    return scene_from_cube(
        cube,
        name=str(data.name or Path(str(data.encoding.get("source", "scene"))).stem),
        source="the DataArray",
        nodata=None if fills is None else float(fills),
        mask=mask,
        metadata={"format": "an xarray DataArray"},
        wavelengths=_wavelengths(data, bands, names),
        fwhm=_widths(data, bands),
        good_bands=_good_bands(data, bands),
        band_names=names,
        crs=crs_of(data),
        transform=transform_of(data, rows, cols),
    )


def labels_like(data: Any, labels: NDArray[Any], name: str) -> Any:
    """Give labels, or another value per pixel, the coordinates of the data they belong to.

    Parameters
    ----------
    data : xarray.DataArray or xarray.Dataset
        What was clustered: an image, or a table of shape (samples, bands).
    labels : ndarray of shape (rows, cols), or (samples,)
    name : str

    Returns
    -------
    xarray.DataArray
        With the dimensions of the rows and columns (or samples) of `data`, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> data = xarray.DataArray(np.ones((3, 2, 1)), dims=("band", "y", "x"), coords={"y": [9, 8]})
    >>> labels_like(data, np.array([[0], [1]]), "labels").to_series().to_dict()
    {(9, 0): 0, (8, 0): 1}
    """
    import xarray

    if hasattr(data, "data_vars"):
        data = _array_of(data)
    data = _without_single_dimensions(data)
    kept = _dimensions(data)[:2] if data.ndim == 3 else data.dims[:1]
    coords = {key: each for key, each in data.coords.items() if set(each.dims) <= set(kept)}
    if data.ndim == 3:  # a single band's own number or wavelength is none of the labels'
        coords = {key: each for key, each in coords.items() if each.dims or each.attrs}
    found = xarray.DataArray(labels, dims=kept, coords=coords, name=name)
    for place in (data.encoding, data.attrs):
        if "grid_mapping" in place:
            found.encoding["grid_mapping"] = place["grid_mapping"]
    return found


def image_like(data: Any, image: Any) -> NDArray[Any]:
    """Give a mask that is a DataArray in the order (rows, cols) of the data."""
    if hasattr(data, "data_vars"):
        data = _array_of(data)
    data = _without_single_dimensions(data)
    kept = _dimensions(data)[:2] if data.ndim == 3 else data.dims[:1]
    image = _without_single_dimensions(image)
    ordered = image.transpose(*kept) if set(image.dims) == set(kept) else image
    return np.asarray(ordered.to_numpy())


def _array_of(data: Any, variable: str | None = None) -> Any:
    """Find the cube of a Dataset: its only array of three dimensions, or its images stacked."""
    # A file that is opened without decode_coords="all" has its CRS among the variables.
    data = data.set_coords([name for name in data.data_vars if data[name].ndim < 2])
    arrays = [data[name] for name in data.data_vars if variable in (None, name)]
    cubes = [each for each in arrays if _known_axes(each) == 3]
    if len(cubes) == 1:
        return cubes[0]
    images = [each for each in arrays if _known_axes(each) == 2]
    shapes = {(each.dims, each.shape) for each in images}
    if cubes or len(images) < 2 or len(shapes) > 1:
        found = ", ".join(
            f"{each.name} {'x'.join(map(str, each.shape)) or 'scalar'}" for each in arrays
        )
        raise DataError(
            f"the Dataset of xarray holds {found or 'nothing'}"
            f"{'' if variable is None else f' called {variable!r}'}, and neither a single array of "
            "rows, columns and bands nor one image for each band; choose one with `variable`, or "
            "give it alone, such as dataset['reflectance']."
        )
    return _stacked(images, str(data.attrs.get("title") or "scene"))


def _stacked(images: list[Any], name: str) -> Any:
    """Stack one image for each band; what the images say of their bands becomes coordinates."""
    import xarray

    stacked = xarray.concat(
        images, xarray.Variable("band", [str(each.name) for each in images]),
        coords="minimal", compat="override", join="exact", combine_attrs="drop_conflicts",
    ).rename(name)  # fmt: skip
    for key in ("wavelength", "fwhm", "bbl", "_FillValue", "nodata"):
        values = [each.attrs.get(key, each.encoding.get(key)) for each in images]
        if all(isinstance(value, (int, float, np.number)) for value in values):
            stacked = stacked.assign_coords({key: ("band", values)})
    names = [str(each.attrs.get("long_name", each.name)) for each in images]
    return stacked.assign_attrs(long_name=tuple(names))


def _known_axes(array: Any) -> int:
    """Rows, columns and bands among the dimensions that are longer than one."""
    known = [
        str(dim).lower() in (*_ROW_AXES, *_COL_AXES, *_BAND_AXES)
        for dim, length in zip(array.dims, array.shape, strict=True)
        if length > 1
    ]
    numeric = array.dtype.kind in "buif"
    return len(known) if numeric and all(known) and known else 0


def _without_single_dimensions(data: Any) -> Any:
    """Drop dimensions of length 1 beyond three, such as the date of an image from a catalogue."""
    known = (*_ROW_AXES, *_COL_AXES, *_BAND_AXES)
    spare = [
        dim
        for dim, length in zip(data.dims, data.shape, strict=True)
        if length == 1 and str(dim).lower() not in known
    ]
    return data.isel(dict.fromkeys(spare[: max(0, data.ndim - 3)], 0))


def _dimensions(data: Any) -> tuple[Any, Any, Any]:
    """Tell rows, columns and bands by their names, or else by their places."""
    if len(data.dims) != 3:
        longer = " Choose one of the further ones, such as data.isel(time=0)."
        raise DataError(
            f"the DataArray has {len(data.dims)} dimensions {tuple(data.dims)}; give one with "
            f"rows, columns and bands.{longer if len(data.dims) > 3 else ''}"
        )
    found = [
        next((dim for dim in data.dims if str(dim).lower() in names), None)
        for names in (_ROW_AXES, _COL_AXES, _BAND_AXES)
    ]
    left = [dim for dim in data.dims if dim not in found]
    if found.count(None) == 3:
        return tuple(data.dims)
    if found.count(None) > 1:
        raise DataError(
            f"the dimensions {tuple(data.dims)} of the DataArray do not tell rows, columns and "
            "bands apart; call them 'y', 'x' and 'band'."
        )
    row, col, band = (left.pop() if dim is None else dim for dim in found)
    return row, col, band


def _fills(data: Any) -> Any:
    """Value that stands for no data; an array where the bands have different ones, or None."""
    for key in ("_FillValue", "nodata"):
        if key in data.coords:
            values = data.coords[key].to_numpy()
            same = np.unique(values)  # counts NaN once
            return same[0] if len(same) == 1 else values
    stored = data.attrs.get("_FillValue", data.attrs.get("nodata"))
    return data.encoding.get("_FillValue", stored)


def _band_names(data: Any, bands: Any) -> tuple[str, ...] | None:
    names = data.attrs.get("long_name")
    if not isinstance(names, (tuple, list)) and bands in data.coords:
        values = data.coords[bands].to_numpy()
        names = values.tolist() if values.dtype.kind in "UO" else None
    if not isinstance(names, (tuple, list)) or len(names) != data.sizes[bands]:
        return None
    return tuple(map(str, names))


def _of_bands(data: Any, bands: Any, *names: str) -> Any:
    """Find the coordinate of the bands that has one of these names and holds numbers."""
    for name in names:
        if name in data.coords and data.coords[name].dims == (bands,):
            coordinate = data.coords[name]
            if coordinate.dtype.kind in "buif":
                return coordinate
    return None


def _wavelengths(
    data: Any, bands: Any, names: tuple[str, ...] | None
) -> NDArray[np.float64] | None:
    """Look for wavelengths where they are most plainly meant, first."""
    unit = data.attrs.get("wavelength_units")
    named = _of_bands(data, bands, "wavelength", "wavelengths", "wl")
    if named is not None:
        return to_nanometres(named.to_numpy(), named.attrs.get("units", unit))
    listed = data.attrs.get("wavelengths", data.attrs.get("wavelength"))
    ways: tuple[Callable[[], NDArray[np.float64] | None], ...] = (
        lambda: None if np.shape(listed) != (data.sizes[bands],) else to_nanometres(listed, unit),
        lambda: _in_place_of_numbers(data, bands),
        lambda: None if names is None else wavelengths_in_words(names),
    )
    for way in ways:
        try:
            found = way()
        except (TypeError, ValueError):
            continue
        if found is not None:
            return found
    return None


def _in_place_of_numbers(data: Any, bands: Any) -> NDArray[np.float64] | None:
    """Read a coordinate ``band`` that holds wavelengths, and not the numbers of the bands."""
    coordinate = _of_bands(data, bands, bands)
    if coordinate is None:
        return None
    values, unit = coordinate.to_numpy().astype(np.float64), coordinate.attrs.get("units")
    if unit is not None or "wavelength" in str(coordinate.attrs.get("standard_name", "")):
        return to_nanometres(values, unit)
    low, high, from_nanometres = _OPTICAL
    counted = np.array_equal(values, np.rint(values)) and (np.diff(values) == 1).all()
    in_micrometres = values.min() >= low and values.max() <= high and values.min() < 3
    in_micrometres &= not np.array_equal(values, np.rint(values))
    in_nanometres = values.min() >= from_nanometres and not counted
    return to_nanometres(values) if in_micrometres or in_nanometres else None


def _widths(data: Any, bands: Any) -> NDArray[np.float64] | None:
    widths = _of_bands(data, bands, "fwhm")
    if widths is None:
        return None
    named = _of_bands(data, bands, "wavelength", "wavelengths", "wl")
    unit = widths.attrs.get("units", data.attrs.get("wavelength_units"))
    if unit is None and named is not None:  # a width of 8 nm would else be taken for micrometres
        unit = named.attrs.get("units", "um" if float(named.max()) < 100 else "nm")
    return to_nanometres(widths.to_numpy(), unit or "nm")


def _good_bands(data: Any, bands: Any) -> NDArray[np.bool_] | None:
    flags = _of_bands(data, bands, "good_wavelengths", "good_bands", "bbl")
    return None if flags is None else np.asarray(flags.to_numpy() != 0)
