"""Style of a map for QGIS, which takes it by itself from a ``.qml`` file of the map's name."""

from __future__ import annotations

from xml.etree import ElementTree

from spectrawalk.results.cluster_map import ClusterMap

_DOCTYPE = b"<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
_VERSION = "3.22.0"  # the oldest QGIS that reads all of this


def qgis_style(cluster_map: ClusterMap) -> bytes:
    """Encode a paletted renderer: one colour and one name per cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.results.cluster_map import ClusterMap
    >>> text = qgis_style(ClusterMap(np.array([[0]]), n_clusters=1)).decode()
    >>> '<paletteEntry value="1" color="#0072b2" alpha="255" label="cluster 1" />' in text
    True
    """
    root = ElementTree.Element("qgis", version=_VERSION, styleCategories="Symbology")
    pipe = ElementTree.SubElement(root, "pipe")
    renderer = ElementTree.SubElement(
        pipe, "rasterrenderer", type="paletted", band="1", opacity="1", alphaBand="-1",
        nodataColor="",
    )  # fmt: skip
    ElementTree.SubElement(renderer, "rasterTransparency")
    palette = ElementTree.SubElement(renderer, "colorPalette")
    legend = zip(cluster_map.names, cluster_map.colors.tolist(), strict=True)
    for code, (name, color) in enumerate(legend, start=1):
        ElementTree.SubElement(
            palette,
            "paletteEntry",
            value=str(code),
            color="#{:02x}{:02x}{:02x}".format(*color),
            alpha="255",
            label=name,
        )
    # No smoothing: there is nothing between cluster 1 and cluster 2.
    ElementTree.SubElement(
        pipe, "rasterresampler", zoomedInResampler="nearestneighbour", maxOversampling="1"
    )
    ElementTree.indent(root)
    return _DOCTYPE + ElementTree.tostring(root, encoding="utf-8") + b"\n"
