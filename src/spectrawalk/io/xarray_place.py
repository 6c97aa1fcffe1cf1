"""Where the data of xarray lie on a map, as rioxarray and odc-stac write it: read and written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.scene import Transform
from spectrawalk.scene.georeference import crs_unit, to_wkt

GRID_MAPPING = "spatial_ref"
"""Name of the coordinate that holds the CRS."""

_EVEN = 1e-3  # of a pixel by which the steps of a coordinate may differ


def crs_of(data: Any) -> str | None:
    """CRS of a DataArray as WKT: of its grid mapping, or else of its attributes."""
    mapping = data.encoding.get("grid_mapping", data.attrs.get("grid_mapping"))
    for name in (mapping, GRID_MAPPING, "crs"):
        if name in data.coords:
            attributes = data.coords[name].attrs
            written = attributes.get("crs_wkt", attributes.get("spatial_ref"))
            if written:
                return to_wkt(written)
    return to_wkt(data.attrs.get("crs"))


def transform_of(data: Any, rows: Any, cols: Any) -> Transform | None:
    """Transform of a DataArray, from the coordinates of the pixels' centres.

    The grid mapping may have a ``GeoTransform`` too, but that stays behind when the array is cut:
    it is asked only where there are no coordinates, or a single row or column.
    """
    written = _geo_transform(data)
    if "xc" in data.coords and "yc" in data.coords:  # what rioxarray gives a turned image
        return _of_planes(data.coords["xc"], data.coords["yc"], rows, cols)
    if rows not in data.coords and cols not in data.coords:
        return written
    if rows not in data.coords or cols not in data.coords:
        return None
    across = _steps(data.coords[cols].to_numpy(), None if written is None else written[0])
    down = _steps(data.coords[rows].to_numpy(), None if written is None else written[4])
    if across is None or down is None:
        return None
    (x, width), (y, height) = across, down
    return (width, 0.0, x - width / 2, 0.0, height, y - height / 2)


def _geo_transform(data: Any) -> Transform | None:
    """Read the six numbers in the order of GDAL."""
    mapping = data.encoding.get("grid_mapping", data.attrs.get("grid_mapping"))
    for name in (mapping, GRID_MAPPING):
        if name in data.coords and "GeoTransform" in data.coords[name].attrs:
            try:
                numbers = [float(n) for n in data.coords[name].attrs["GeoTransform"].split()]
                c, a, b, f, d, e = numbers
            except (AttributeError, ValueError):
                continue
            return (a, b, c, d, e, f)
    return None


def _steps(values: NDArray[Any], known: float | None) -> tuple[float, float] | None:
    """First value and step of a coordinate; None where it is not evenly spaced."""
    if values.dtype.kind not in "uif" or not len(values):
        return None
    values = values.astype(np.float64)
    if len(values) == 1:
        return None if not known else (float(values[0]), known)
    step = (values[-1] - values[0]) / (len(values) - 1)
    if not step or np.abs(np.diff(values) - step).max() > _EVEN * abs(step):
        return None
    return float(values[0]), float(step)


def _of_planes(xc: Any, yc: Any, rows: Any, cols: Any) -> Transform | None:
    """Find the transform of an image whose rows are not parallel to an axis."""
    if {*xc.dims} != {rows, cols} or {*yc.dims} != {rows, cols} or min(xc.shape) < 2:
        return None
    numbers = []
    for plane in (each.transpose(rows, cols).to_numpy().astype(np.float64) for each in (xc, yc)):
        by_col = (plane[0, -1] - plane[0, 0]) / (plane.shape[1] - 1)
        by_row = (plane[-1, 0] - plane[0, 0]) / (plane.shape[0] - 1)
        row, col = np.indices(plane.shape, sparse=True)
        away = np.abs(plane - (plane[0, 0] + by_col * col + by_row * row)).max()
        if not away <= _EVEN * max(abs(by_col), abs(by_row)):
            return None
        numbers += [by_col, by_row, plane[0, 0] - (by_col + by_row) / 2]
    a, b, c, d, e, f = map(float, numbers)
    return None if a * e == b * d else (a, b, c, d, e, f)


def place_coords(
    shape: tuple[int, int], crs: str | None, transform: Transform | None
) -> dict[str, Any]:
    """Coordinates of a map of that shape: centres of pixels ``y`` and ``x``, and the CRS.

    The CRS and the transform are in the attributes of ``spatial_ref``, where rioxarray and QGIS
    look for them. A turned map has no ``y`` and ``x``.

    Examples
    --------
    >>> coords = place_coords((2, 2), "EPSG:32633", (30, 0, 500000, 0, -30, 4000000))
    >>> coords["y"][1].tolist(), coords["spatial_ref"][2]["GeoTransform"]
    ([3999985.0, 3999955.0], '500000.0 30.0 0.0 4000000.0 0.0 -30.0')
    """
    coords: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    wkt = to_wkt(crs)
    if wkt is not None:
        attributes |= {"crs_wkt": wkt, "spatial_ref": wkt}
    if transform is not None:
        a, b, c, d, e, f = map(float, transform)
        attributes["GeoTransform"] = " ".join(map(str, (c, a, b, f, d, e)))
        if b == 0 == d:
            coords["y"] = ("y", f + e * (np.arange(shape[0]) + 0.5), _axis("y", wkt))
            coords["x"] = ("x", c + a * (np.arange(shape[1]) + 0.5), _axis("x", wkt))
    return coords | ({GRID_MAPPING: ((), 0, attributes)} if attributes else {})


def _axis(name: str, crs: str | None) -> dict[str, str]:
    """Attributes of a coordinate, as the CF conventions call it."""
    unit = crs_unit(crs)
    if unit == "degrees":
        of_axis = {"x": ("longitude", "degrees_east"), "y": ("latitude", "degrees_north")}
        return dict(zip(("standard_name", "units"), of_axis[name], strict=True))
    named = {"standard_name": f"projection_{name}_coordinate"} if unit else {}
    return {"axis": name.upper(), **named, **({"units": unit} if unit else {})}
