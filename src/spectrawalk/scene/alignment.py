"""Where two rasters on one grid lie on each other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spectrawalk.errors import DataError
from spectrawalk.scene import Transform
from spectrawalk.scene.georeference import crs_name

_SAME_PLACE = 0.01  # of a pixel: coordinates in files are rounded

Window = tuple[slice, slice]


class Place(NamedTuple):
    """Shape of a raster and its place on the ground; see :class:`~spectrawalk.Scene`."""

    shape: tuple[int, ...]
    crs: str | None
    transform: Transform | None


def common_window(one: Place, other: Place) -> tuple[Window, Window]:
    """Rows and columns of two rasters where they lie on each other, pixel on pixel.

    Rasters of which one has no place on the ground must have the same shape.

    Raises
    ------
    DataError
        If the rasters have different coordinate systems, sizes of pixels or directions, if one is
        shifted by a part of a pixel, or if they do not overlap.

    Examples
    --------
    >>> left = Place((4, 5), "EPSG:32633", (30.0, 0.0, 600.0, 0.0, -30.0, 900.0))
    >>> lower = Place((4, 5), "EPSG:32633", (30.0, 0.0, 600.0, 0.0, -30.0, 840.0))
    >>> common_window(left, lower)
    ((slice(2, 4, None), slice(0, 5, None)), (slice(0, 2, None), slice(0, 5, None)))
    """
    if one.transform is None or other.transform is None:
        if one.shape != other.shape:
            neither = one.transform is None and other.transform is None
            lack = "The maps have no coordinates" if neither else "One map has no coordinates"
            raise DataError(
                f"the maps are {_size(one)} and {_size(other)} pixels. {lack}, so both must have "
                "the same size."
            )
        whole = slice(0, one.shape[0]), slice(0, one.shape[1])
        return whole, whole
    _check_system(one, other)
    _check_pixels(one, other)
    right, down = _shift(one.transform, other.transform)
    rows, cols = (
        _overlap(length, length_of_other, round(shift))
        for length, length_of_other, shift in zip(
            one.shape, other.shape, (down, right), strict=True
        )
    )
    if rows is None or cols is None:
        raise DataError("the maps do not overlap on the ground; give two maps of one place.")
    across, along = abs(right - round(right)), abs(down - round(down))
    if max(across, along) > _SAME_PLACE:
        raise DataError(
            f"the pixels of the second map are shifted against those of the first map by "
            f"{across:.2f} of a pixel across and {along:.2f} down; {_advice(one)}."
        )
    return (rows[0], cols[0]), (rows[1], cols[1])


def shifted(transform: Transform | None, window: Window) -> Transform | None:
    """Give the transform of a part of a raster.

    Examples
    --------
    >>> shifted((30.0, 0.0, 600.0, 0.0, -30.0, 900.0), (slice(2, 4), slice(1, 5)))
    (30.0, 0.0, 630.0, 0.0, -30.0, 840.0)
    """
    if transform is None:
        return None
    (a, b, c, d, e, f), (rows, cols) = transform, window
    return (
        a, b, a * cols.start + b * rows.start + c, d, e, d * cols.start + e * rows.start + f
    )  # fmt: skip


def _check_system(one: Place, other: Place) -> None:
    from rasterio.crs import CRS

    if not (one.crs and other.crs):
        return
    if CRS.from_user_input(one.crs) != CRS.from_user_input(other.crs):
        raise DataError(
            f"the first map is in the coordinate system {crs_name(one.crs)} and the second one in "
            f"{crs_name(other.crs)}; {_advice(one)}."
        )


def _check_pixels(one: Place, other: Place) -> None:
    assert one.transform is not None
    assert other.transform is not None
    a, b, _, d, e, _ = np.abs(np.subtract(one.transform, other.transform))
    rows, cols = np.maximum(one.shape, other.shape)
    pixel = max(map(abs, one.transform[:2]))
    if max(a * cols, b * rows, d * cols, e * rows) <= _SAME_PLACE * pixel:
        return
    sizes = [_pixel_size(each.transform) for each in (one, other) if each.transform]
    differ = "are turned against each other"
    if sizes[0] != sizes[1]:
        differ = f"have pixels of {sizes[0]} and {sizes[1]}"
    raise DataError(f"the grids of the two maps differ: they {differ}; {_advice(one)}.")


def _pixel_size(transform: Transform) -> str:
    a, b, _, d, e, _ = transform
    return f"{math.hypot(a, d):g} x {math.hypot(b, e):g}"


def _shift(one: Transform, other: Transform) -> tuple[float, float]:
    """Columns and rows from the corner of one raster to that of another."""
    a, b, c, d, e, f = one
    x, y = other[2] - c, other[5] - f
    size = a * e - b * d
    return (e * x - b * y) / size, (a * y - d * x) / size


def _overlap(one: int, other: int, shift: int) -> tuple[slice, slice] | None:
    start, stop = max(0, shift), min(one, other + shift)
    if start >= stop:
        return None
    return slice(start, stop), slice(start - shift, stop - shift)


def _advice(place: Place) -> str:
    """Say how to bring another raster onto the grid of this one."""
    assert place.transform is not None
    a, b, c, d, e, f = place.transform
    rows, cols = place.shape
    if b or d:
        return "warp both onto one grid first, with the nearest neighbour as resampling"
    xs, ys = sorted((c, c + a * cols)), sorted((f, f + e * rows))
    system = f" -t_srs {_short(place.crs)}" if place.crs else ""
    extent = " ".join(f"{each:.10g}" for each in (xs[0], ys[0], xs[1], ys[1]))
    return (
        "warp the second one onto the grid of the first with `gdalwarp -r near"
        f"{system} -te {extent} -ts {cols} {rows} SECOND.tif WARPED.tif`"
    )


def _short(crs: str) -> str:
    from rasterio.crs import CRS

    code = CRS.from_user_input(crs).to_epsg()
    return f"EPSG:{code}" if code else "WKT_OF_THE_FIRST_MAP"


def _size(place: Place) -> str:
    return " x ".join(map(str, place.shape))
