"""ENVI classification file: labels as a flat binary, and a header with names and colours."""

from __future__ import annotations

import numpy as np

from spectrawalk.io.geotiff_map import BAND_NAME
from spectrawalk.results.cluster_map import ClusterMap
from spectrawalk.scene.georeference import write_map_info

_DATA_TYPES = {np.uint8: 1, np.uint16: 12, np.uint32: 13}  # as ENVI numbers them


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
    >>> from spectrawalk.results.cluster_map import ClusterMap
    >>> files = envi_map_files("map", ClusterMap(np.array([[0, -1]]), n_clusters=1), "a field")
    >>> list(files), files["map.dat"]
    (['map.hdr', 'map.dat'], b'\x01\x00')
    """
    codes = cluster_map.codes
    rows, cols = codes.shape
    colors = [0, 0, 0, *cluster_map.colors.ravel().tolist()]
    fields: dict[str, object] = {
        "description": in_braces([title]),
        "samples": cols,
        "lines": rows,
        "bands": 1,
        "header offset": 0,
        "file type": "ENVI Classification",
        "data type": _DATA_TYPES[codes.dtype.type],
        "interleave": "bsq",
        "byte order": 0,
        "classes": cluster_map.n_entries + 1,
        "class lookup": in_braces(colors),
        "class names": in_braces(["no data", *cluster_map.names]),
        "band names": in_braces([BAND_NAME]),
        "data ignore value": 0,
    }
    if cluster_map.transform is not None:
        fields |= write_map_info(cluster_map.transform, cluster_map.crs)
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
