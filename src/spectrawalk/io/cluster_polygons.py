"""The clusters of a result as polygons, in a GeoDataFrame of geopandas."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrawalk.errors import MissingDependencyError
from spectrawalk.io.xarray_result import check_whole
from spectrawalk.results.cluster_map import ClusterMap
from spectrawalk.results.result import Result

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_PICTURE = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0)
"""Transform of a map without a place: columns to the right and rows downwards, as QGIS shows it."""


def polygons_of(result: Result) -> GeoDataFrame:
    """Clusters as polygons; see :meth:`spectrawalk.Result.to_geodataframe`.

    Examples
    --------
    >>> from spectrawalk import SRDL, Result
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((20, 16), n_bands=10, n_classes=2, random_state=0)
    >>> result = Result.of_fit(scene, SRDL(n_clusters=2, n_neighbors=20).fit(scene))
    >>> frame = polygons_of(result)  # doctest: +SKIP
    >>> frame.pixels.sum() == frame.area.sum() == 320  # doctest: +SKIP
    True
    """
    try:
        from geopandas import GeoDataFrame
    except ImportError as error:
        raise MissingDependencyError(
            "polygons need geopandas, which is not installed; get it with "
            '`pip install "spectrawalk[vector]"`.'
        ) from error
    check_whole(result)
    shown = result.map
    outlines = _outlines(shown)
    entries = sorted(outlines)
    areas = np.full(shown.n_entries, np.nan) if shown.areas is None else shown.areas
    return GeoDataFrame(
        {
            "cluster": [entry + 1 for entry in entries],
            "name": [shown.names[entry] for entry in entries],
            "color": ["#{:02x}{:02x}{:02x}".format(*shown.colors[entry]) for entry in entries],
            "pixels": [int(shown.counts[entry]) for entry in entries],
            "area_m2": [float(areas[entry]) for entry in entries],
        },
        geometry=[outlines[entry] for entry in entries],
        crs=shown.crs,
    )


def _outlines(shown: ClusterMap) -> dict[int, Any]:
    """Outline of each entry of the legend that has a pixel: the polygons of all its parts."""
    from rasterio import Affine
    from rasterio.features import shapes
    from shapely.geometry import MultiPolygon, shape

    parts: dict[int, list[Any]] = defaultdict(list)
    labels = shown.labels.astype(np.int32)
    transform = Affine(*(shown.transform or _PICTURE))
    for outline, entry in shapes(labels, mask=labels >= 0, connectivity=4, transform=transform):
        parts[int(entry)].append(shape(outline))
    return {entry: MultiPolygon(polygons) for entry, polygons in parts.items()}
