"""Coordinate reference systems and transforms in the ways that files write them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from spectrawalk.errors import DataError
from spectrawalk.scene import Transform

_UTM_EPSG = {
    "wgs84": {"north": 32600, "south": 32700},
    "nad83": {"north": 26900},
    "northamerica1983": {"north": 26900},
    "nad27": {"north": 26700},
    "northamerica1927": {"north": 26700},
    "etrs89": {"north": 25800},
}
_GEOGRAPHIC_EPSG = {"wgs84": 4326, "nad83": 4269, "northamerica1983": 4269, "etrs89": 4258}


def to_wkt(crs: Any) -> str | None:
    """Write a coordinate reference system as WKT; None where it is not understood.

    Parameters
    ----------
    crs : str, int or object with ``to_wkt``
        WKT (ESRI's dialect too), ``"EPSG:32633"``, a PROJ string, or the number of an EPSG code.

    Examples
    --------
    >>> to_wkt(4326)[:15]
    'GEOGCS["WGS 84"'
    >>> to_wkt("nonsense") is None
    True
    """
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    if crs is None or crs == "":
        return None
    try:
        if isinstance(crs, int):
            return str(CRS.from_epsg(crs).to_wkt())
        text = crs.to_wkt() if hasattr(crs, "to_wkt") else str(crs)
        return str(CRS.from_user_input(text, morph_from_esri_dialect=True).to_wkt()) or None
    except (CRSError, ValueError, OverflowError):
        return None


def crs_name(crs: str | None) -> str | None:
    """Name of a coordinate reference system; None where it is not understood.

    Examples
    --------
    >>> crs_name("EPSG:32633")
    'WGS 84 / UTM zone 33N'
    """
    known = _understood(crs)
    return None if known is None else _described(known).get("name")


def crs_code(crs: str | None) -> str | None:
    """Code of a coordinate reference system, or its name; None where it is not understood.

    Examples
    --------
    >>> crs_code("EPSG:32633")
    'EPSG:32633'
    """
    known = _understood(crs)
    if known is None:
        return None
    number = known.to_epsg()
    return crs_name(crs) if number is None else f"EPSG:{number}"


def crs_unit(crs: str | None) -> str | None:
    """Unit of the coordinates in a word; None where the system is not understood.

    Examples
    --------
    >>> crs_unit("EPSG:32633"), crs_unit("EPSG:4326")
    ('m', 'degrees')
    """
    known = _understood(crs)
    if known is None:
        return None
    unit = str(known.units_factor[0])
    return f"{unit}s" if known.is_geographic else {"metre": "m"}.get(unit, unit)


def crs_ellipsoid(crs: str | None) -> tuple[float, float] | None:
    """Semi-major axis in metres and flattening of a system's ellipsoid; None where it has none.

    Examples
    --------
    >>> semi_major, flattening = crs_ellipsoid("EPSG:4326")
    >>> semi_major, round(1 / flattening, 9)
    (6378137.0, 298.257223563)
    """
    known = _understood(crs)
    if known is None:
        return None
    described = _described(known)
    geodetic = described.get("base_crs", described)
    datum = geodetic.get("datum") or geodetic.get("datum_ensemble") or {}
    ellipsoid = datum.get("ellipsoid", {})
    if "radius" in ellipsoid:
        return _metres(ellipsoid["radius"]), 0.0
    if "semi_major_axis" not in ellipsoid:
        return None
    semi_major = _metres(ellipsoid["semi_major_axis"])
    if "semi_minor_axis" in ellipsoid:
        return semi_major, 1 - _metres(ellipsoid["semi_minor_axis"]) / semi_major
    inverse = float(ellipsoid.get("inverse_flattening", 0))
    return semi_major, 1 / inverse if inverse else 0.0


def _understood(crs: str | None) -> Any:
    """Give the system as rasterio knows it; None where it is not understood."""
    if not crs:
        return None
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    try:
        return CRS.from_user_input(crs, morph_from_esri_dialect=True)
    except (CRSError, ValueError):
        return None


def _described(known: Any) -> dict[str, Any]:
    """Give the system as PROJ describes it in JSON."""
    return dict(known.to_dict(projjson=True))


def _metres(length: Any) -> float:
    """Read a length of PROJ's JSON: a number in metres, or a value with its unit."""
    if isinstance(length, dict):
        unit = length["unit"]
        factor = unit["conversion_factor"] if isinstance(unit, dict) else 1.0
        return float(length["value"]) * float(factor)
    return float(length)


def parse_map_info(parts: Sequence[str]) -> tuple[Transform | None, str | None]:
    """Read ``map info`` of an ENVI header.

    Parameters
    ----------
    parts : sequence of str
        Projection, column and row of the tie point (1 is the outer edge of the first pixel), its
        x and y, the size of a pixel, then zone, hemisphere and datum, and ``key=value`` pairs.

    Returns
    -------
    transform : tuple of 6 floats or None
        None if the numbers cannot be read.
    crs : str or None
        As WKT, where projection and datum are well known.

    Examples
    --------
    >>> info = "UTM, 1, 1, 500000, 4000000, 30, 30, 13, North, WGS-84, units=Meters"
    >>> transform, crs = parse_map_info(info.split(", "))
    >>> transform
    (30.0, 0.0, 500000.0, 0.0, -30.0, 4000000.0)
    >>> crs[:30]
    'PROJCS["WGS 84 / UTM zone 13N"'
    """
    options = dict(part.lower().split("=", 1) for part in parts if "=" in part)
    plain = [part.strip() for part in parts if "=" not in part]
    try:
        col, row, x, y, width, height = (float(number) for number in plain[1:7])
        angle = math.radians(float(options.get("rotation", 0)))
    except ValueError:
        return None, None
    # Turned counter-clockwise about the tie point.
    cosine, sine = math.cos(angle), math.sin(angle)
    a, b, d, e = width * cosine, height * sine, width * sine, -height * cosine
    transform = (a, b, x - a * (col - 1) - b * (row - 1), d, e, y - d * (col - 1) - e * (row - 1))
    if not all(map(math.isfinite, transform)) or a * e == b * d:
        return None, None
    return transform, to_wkt(_epsg_of(plain))


def write_map_info(transform: Transform, crs: str | None) -> dict[str, str]:
    """Write the place of an image as an ENVI header says it: the inverse of `parse_map_info`.

    Returns
    -------
    dict of str
        ``map info`` and, if `crs` is known, ``coordinate system string``.

    Examples
    --------
    >>> write_map_info((30, 0, 500000, 0, -30, 4000000), None)
    {'map info': '{Arbitrary, 1, 1, 500000.0, 4000000.0, 30.0, 30.0}'}
    """
    a, b, x, d, e, y = map(float, transform)
    width, height = math.hypot(a, d), math.hypot(b, e)
    if a * e >= b * d or abs(a * b + d * e) > 1e-9 * width * height:
        raise DataError(
            f"an ENVI header cannot express the transform {transform}, which mirrors or shears the "
            "pixels; write a GeoTIFF instead."
        )
    names, plain = _names_of(crs)
    parts = [names[0], 1, 1, x, y, width, height, *names[1:]]
    angle = math.degrees(math.atan2(d, a))
    if angle:
        parts.append(f"rotation={angle!r}")
    fields = {"map info": "{" + ", ".join(map(str, parts)) + "}"}
    return fields | ({"coordinate system string": "{" + plain + "}"} if plain else {})


def _names_of(crs: str | None) -> tuple[list[object], str | None]:
    """Projection, zone, hemisphere and datum in ENVI's words, and the WKT in ESRI's dialect."""
    from rasterio.crs import CRS
    from rasterio.enums import WktVersion

    if crs is None:
        return ["Arbitrary"], None
    known = CRS.from_wkt(crs)
    plain = known.to_wkt(version=WktVersion.WKT1_ESRI).replace("\n", " ")
    code = known.to_epsg() or 0
    for datum, bases in (("WGS-84", _UTM_EPSG["wgs84"]), ("NAD-83", _UTM_EPSG["nad83"])):
        for hemisphere, base in bases.items():
            if 1 <= code - base <= 60:
                return ["UTM", code - base, hemisphere.title(), datum, "units=Meters"], plain
    if known.is_geographic:
        return ["Geographic Lat/Lon", "WGS-84", "units=Degrees"], plain
    return ["Arbitrary"], plain


def _epsg_of(plain: Sequence[str]) -> int | None:
    projection = plain[0].lower()
    datum = re.sub(r"[^a-z0-9]", "", plain[-1].lower())
    if projection.startswith("geographic"):
        return _GEOGRAPHIC_EPSG.get(datum)
    if projection == "utm" and len(plain) >= 10 and plain[7].isdecimal():
        zone = int(plain[7])
        base = _UTM_EPSG.get(datum, {}).get(plain[8].lower())
        if base is not None and 1 <= zone <= 60:
            return base + zone
    return None
