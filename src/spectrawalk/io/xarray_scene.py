"""A DataArray of xarray, in memory, as a Scene."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError
from spectrawalk.io.scenes import scene_from_cube
from spectrawalk.io.wavelengths import to_nanometres
from spectrawalk.scene import Scene, Transform
from spectrawalk.scene.georeference import to_wkt

_BAND_AXES = ("band", "bands", "wavelength", "wavelengths", "wl", "spectral")
_ROW_AXES = ("y", "row", "rows", "lat", "latitude", "northing", "line", "lines", "downtrack")
_COL_AXES = (
    "x", "col", "cols", "lon", "longitude", "easting", "sample", "samples", "crosstrack", "column",
)  # fmt: skip
_EVEN = 1e-3  # of a pixel by which the steps of a coordinate may differ


def scene_from_xarray(data: Any, *, nodata: float | None = None) -> Scene:
    """Make a Scene of an ``xarray.DataArray`` with three dimensions.

    Parameters
    ----------
    data : xarray.DataArray
        With dimensions for rows (``y``, ``lat``, ...), columns (``x``, ``lon``, ...) and bands
        (``band``, ``wavelength``, ...), in any order; unnamed ones count as rows, columns, bands.
        Wavelengths come from a coordinate ``wavelength`` or ``wavelengths`` or from the attributes,
        the transform from evenly spaced coordinates (centres of pixels), the CRS from
        ``spatial_ref`` as rioxarray writes it.
    nodata : float, optional
        Value that stands for no data; by default that of ``_FillValue`` or ``nodata``.

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
    if not hasattr(data, "to_numpy"):
        raise DataError(
            f"a {type(data).__name__} of xarray may hold several arrays; give one of them, such as "
            "dataset['reflectance']."
        )
    rows, cols, bands = _dimensions(data)
    ordered = data.transpose(rows, cols, bands)
    n_bands = ordered.shape[2]
    if nodata is None:
        stored = data.attrs.get("_FillValue", data.attrs.get("nodata"))
        nodata = data.encoding.get("_FillValue", stored)
    names = data.attrs.get("long_name")
    return scene_from_cube(
        ordered.to_numpy(),
        name=str(data.name or "scene"),
        source="the DataArray",
        nodata=None if nodata is None else float(nodata),
        metadata={"format": "an xarray DataArray"},
        wavelengths=_wavelengths(data, bands, n_bands),
        band_names=tuple(names) if isinstance(names, (tuple, list)) else None,
        crs=_crs(data),
        transform=_transform(data, rows, cols),
    )


def _dimensions(data: Any) -> tuple[Any, Any, Any]:
    """Tell rows, columns and bands by their names, or else by their places."""
    if len(data.dims) != 3:
        raise DataError(
            f"the DataArray has {len(data.dims)} dimensions {tuple(data.dims)}; give one with "
            "rows, columns and bands."
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


def _wavelengths(data: Any, bands: Any, n_bands: int) -> NDArray[np.float64] | None:
    for name in ("wavelength", "wavelengths", "wl"):
        if name in data.coords and data.coords[name].dims == (bands,):
            coordinate = data.coords[name]
            if coordinate.dtype.kind in "uif":
                return to_nanometres(coordinate.to_numpy(), coordinate.attrs.get("units"))
    listed = data.attrs.get("wavelengths", data.attrs.get("wavelength"))
    if listed is None or np.shape(listed) != (n_bands,):
        return None
    try:
        return to_nanometres(listed, data.attrs.get("wavelength_units"))
    except (TypeError, ValueError):
        return None


def _crs(data: Any) -> str | None:
    for name in ("spatial_ref", "crs"):
        if name in data.coords:
            attributes = data.coords[name].attrs
            written = attributes.get("crs_wkt", attributes.get("spatial_ref"))
            if written:
                return to_wkt(written)
    return to_wkt(data.attrs.get("crs"))


def _transform(data: Any, rows: Any, cols: Any) -> Transform | None:
    """Find the transform from the coordinates of the pixels' centres."""
    steps = []
    for dim in (cols, rows):
        if dim not in data.coords:
            return None
        values = data.coords[dim].to_numpy()
        if values.dtype.kind not in "uif" or len(values) < 2:
            return None
        values = values.astype(np.float64)
        step = (values[-1] - values[0]) / (len(values) - 1)
        if not step or np.abs(np.diff(values) - step).max() > _EVEN * abs(step):
            return None
        steps.append((values[0], step))
    (x, width), (y, height) = steps
    return (width, 0.0, x - width / 2, 0.0, height, y - height / 2)
