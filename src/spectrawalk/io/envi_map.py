"""ENVI classification file: labels as a flat binary, and a header with names and colours."""

from __future__ import annotations

import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import rasterio
from rasterio.errors import NotGeoreferencedWarning

from spectrawalk.cluster_map import ClusterMap
from spectrawalk.scene import Transform

_DATA_TYPES = {np.uint8: 1, np.uint16: 12, np.uint32: 13}  # as ENVI numbers them
_PLACE = ("map info", "projection info", "coordinate system string")


def envi_map_files(name: str, cluster_map: ClusterMap, title: str) -> dict[str, bytes]:
    r"""Names and contents of the pair: header first, binary last.

    Parameters
    ----------
    name : str
        Name of the pair without suffix; the files get ``.dat`` and ``.hdr``.
    cluster_map : ClusterMap
    title : str
        What the map shows.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.cluster_map import ClusterMap
    >>> files = envi_map_files("map", ClusterMap(np.array([[0, -1]]), n_clusters=1), "a field")
    >>> list(files), files["map.dat"]
    (['map.hdr', 'map.dat'], b'\x01\x00')
    """
    codes = cluster_map.codes
    rows, cols = codes.shape
    colors = [0, 0, 0, *cluster_map.colors.ravel().tolist()]
    fields = {
        "description": in_braces([title]),
        "samples": cols,
        "lines": rows,
        "bands": 1,
        "header offset": 0,
        "file type": "ENVI Classification",
        "data type": _DATA_TYPES[codes.dtype.type],
        "interleave": "bsq",
        "byte order": 0,
        "classes": cluster_map.n_clusters + 1,
        "class lookup": in_braces(colors),
        "class names": in_braces(["no data", *cluster_map.names]),
        "band names": in_braces(["cluster"]),
        "data ignore value": 0,
        **_place_fields(cluster_map.crs, cluster_map.transform),
    }
    return {
        f"{name}.hdr": envi_header(fields),
        f"{name}.dat": codes.astype(codes.dtype.newbyteorder("<")).tobytes(),
    }


def envi_header(fields: dict[str, object]) -> bytes:
    r"""Encode an ENVI header.

    Examples
    --------
    >>> envi_header({"bands": 1, "band names": in_braces(["red", "green, {or so}"])})
    b'ENVI\nbands = 1\nband names = {red, green  (or so)}\n'
    """
    lines = ["ENVI", *(f"{name} = {value}" for name, value in fields.items())]
    return ("\n".join(lines) + "\n").encode("utf-8", errors="replace")


def in_braces(values: list[object] | list[str] | list[int] | list[float]) -> str:
    """List of an ENVI header; what would end an entry or the list is replaced in texts."""
    swap = str.maketrans("{},\n\r", "()   ")
    return "{" + ", ".join(str(value).translate(swap) for value in values) + "}"


def _place_fields(crs: str | None, transform: Transform | None) -> dict[str, object]:
    """Fields that say where the map lies, as GDAL words them for a file of one pixel."""
    if transform is None:
        return {}
    profile = {"driver": "ENVI", "width": 1, "height": 1, "count": 1, "dtype": "uint8"}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        path = Path(folder, "place.dat")
        with rasterio.open(path, "w", crs=crs, transform=rasterio.Affine(*transform), **profile):
            pass
        header = path.with_suffix(".hdr").read_text(encoding="utf-8", errors="replace")
    entries = dict(re.findall(r"^(\w[\w ]*?) *= *(\{[^}]*\})", header, flags=re.MULTILINE))
    return {name: entries[name] for name in _PLACE if name in entries}
