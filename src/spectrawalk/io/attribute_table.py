"""Raster attribute table in GDAL's ``.aux.xml``: names, counts, areas and colours of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from spectrawalk.results.cluster_map import ClusterMap

# How GDAL numbers the types of columns ...
_INTEGER, _REAL, _STRING = 0, 1, 2
# ... and what they are used for.
_GENERIC, _COUNT, _NAME, _VALUE, _RED, _GREEN, _BLUE = 0, 1, 2, 5, 6, 7, 8
_LARGEST_INTEGER = 2**31 - 1
_SQUARE_METRES_PER_HECTARE = 10_000


def attribute_table(cluster_map: ClusterMap) -> bytes:
    """Encode the legend of a map as GDAL's auxiliary file, to lie beside the raster.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.results.cluster_map import ClusterMap
    >>> text = attribute_table(ClusterMap(np.array([[0, 0]]), n_clusters=1)).decode()
    >>> "<Category>cluster 1</Category>" in text, "<F>2</F>" in text
    (True, True)
    """
    root = ElementTree.Element("PAMDataset")
    band = ElementTree.SubElement(root, "PAMRasterBand", band="1")
    categories = ElementTree.SubElement(band, "CategoryNames")
    for name in ("no data", *cluster_map.names):
        ElementTree.SubElement(categories, "Category").text = name
    table = ElementTree.SubElement(band, "GDALRasterAttributeTable", tableType="thematic")
    columns = _columns(cluster_map)
    for place, (name, kind, usage, _) in enumerate(columns):
        column = ElementTree.SubElement(table, "FieldDefn", index=str(place))
        for tag, text in (("Name", name), ("Type", kind), ("Usage", usage)):
            ElementTree.SubElement(column, tag).text = str(text)
    for place, row in enumerate(zip(*(values for *_, values in columns), strict=True)):
        element = ElementTree.SubElement(table, "Row", index=str(place))
        for value in row:
            ElementTree.SubElement(element, "F").text = str(value)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8") + b"\n"


def _columns(cluster_map: ClusterMap) -> list[tuple[str, int, int, Sequence[Any]]]:
    """Name, type, usage and values of each column."""
    counts = cluster_map.counts.tolist()
    red, green, blue = cluster_map.colors.T.tolist()
    columns: list[tuple[str, int, int, Sequence[Any]]] = [
        ("Value", _INTEGER, _VALUE, range(1, cluster_map.n_entries + 1)),
        ("ClassName", _STRING, _NAME, cluster_map.names),
        ("Count", _INTEGER if max(counts) <= _LARGEST_INTEGER else _REAL, _COUNT, counts),
    ]
    if cluster_map.areas is not None:
        areas = cluster_map.areas
        columns += [
            ("Area_m2", _REAL, _GENERIC, areas.round(3).tolist()),
            ("Area_ha", _REAL, _GENERIC, (areas / _SQUARE_METRES_PER_HECTARE).round(6).tolist()),
        ]
    return [
        *columns,
        ("Red", _INTEGER, _RED, red),
        ("Green", _INTEGER, _GREEN, green),
        ("Blue", _INTEGER, _BLUE, blue),
    ]
