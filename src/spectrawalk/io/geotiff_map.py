"""Maps as GeoTIFF: an integer raster of clusters with its legend, and a raster of real values."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.io.atomic import atomic_set
from spectrawalk.io.attribute_table import attribute_table
from spectrawalk.io.qgis_style import qgis_style
from spectrawalk.results.cluster_map import ClusterMap
from spectrawalk.scene import Transform

BAND_NAME = "cluster"
"""Name of the band of a cluster map, in GeoTIFF and ENVI files."""

_TILE = 256  # pixels a side
_COLOR_TABLES = (np.uint8, np.uint16)  # what TIFF has them for
_NO_CLUSTER = (0, 0, 0, 0)


def write_map(path: str | os.PathLike[str], cluster_map: ClusterMap) -> None:
    """Write a map that a GIS opens with colours, names, counts and areas.

    Three files that are replaced as a set: the GeoTIFF; ``.tif.aux.xml`` with the raster attribute
    table, which GDAL and all that is built on it read; and ``.qml``, the style that QGIS takes by
    itself.

    Parameters
    ----------
    path : path
        The GeoTIFF; the names of the others follow from it.
    cluster_map : ClusterMap

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from spectrawalk.results.cluster_map import ClusterMap
    >>> folder = tempfile.mkdtemp()
    >>> write_map(folder + "/field.tif", ClusterMap(np.array([[0, 1, -1]]), n_clusters=2))
    >>> sorted(os.listdir(folder))
    ['field.qml', 'field.tif', 'field.tif.aux.xml']
    """
    target = Path(path)
    with atomic_set(target.parent) as file:
        for name, content in map_files(target.name, cluster_map).items():
            file(name).write_bytes(content)


def map_files(name: str, cluster_map: ClusterMap) -> dict[str, bytes]:
    """Names and contents of the three files of a map; the raster comes last.

    Whoever sees a new raster, then, finds its legend there already.
    """
    return {
        f"{name}.aux.xml": attribute_table(cluster_map),
        Path(name).with_suffix(".qml").name: qgis_style(cluster_map),
        name: labels_geotiff(cluster_map),
    }


def labels_geotiff(cluster_map: ClusterMap) -> bytes:
    """Encode the labels: 0 is no data, clusters count from 1, in the smallest unsigned type."""
    codes = cluster_map.codes
    colors = color_table(cluster_map) if codes.dtype.type in _COLOR_TABLES else None
    return _encode(
        codes, BAND_NAME, cluster_map.crs, cluster_map.transform, nodata=0, colors=colors
    )


def color_table(cluster_map: ClusterMap) -> dict[int, tuple[int, int, int, int]]:
    """Red, green, blue and alpha of each value of a map."""
    table = enumerate(cluster_map.colors.tolist(), start=1)
    return {0: _NO_CLUSTER} | {code: (red, green, blue, 255) for code, (red, green, blue) in table}


def values_geotiff(
    values: NDArray[np.float32], name: str, crs: str | None, transform: Transform | None
) -> bytes:
    """Encode real values, such as the confidence of labels; NaN is no data."""
    return _encode(values.astype(np.float32), name, crs, transform, nodata=np.nan, predictor=3)


def _encode(
    image: NDArray[Any],
    name: str,
    crs: str | None,
    transform: Transform | None,
    *,
    nodata: float,
    colors: dict[int, tuple[int, int, int, int]] | None = None,
    predictor: int = 1,
) -> bytes:
    """Encode one band in memory: GDAL would leave files of its own beside a temporary one."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning
    from rasterio.io import MemoryFile

    rows, cols = image.shape
    profile: dict[str, Any] = {
        "driver": "GTiff",
        "height": rows,
        "width": cols,
        "count": 1,
        "dtype": image.dtype.name,
        "nodata": nodata,
        "tiled": True,
        "blockxsize": _TILE,
        "blockysize": _TILE,
        "compress": "deflate",
        "predictor": predictor,
        "bigtiff": "if_safer",
    }
    if crs is not None:
        profile["crs"] = crs
    if transform is not None:
        profile["transform"] = rasterio.Affine(*transform)
    with warnings.catch_warnings(), MemoryFile() as memory:
        # An image without a place on the ground is no fault of ours.
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with memory.open(**profile) as raster:
            raster.set_band_description(1, name)
            if colors is not None:
                raster.write_colormap(1, colors)
            raster.write(image, 1)
        return bytes(memory.getbuffer())
