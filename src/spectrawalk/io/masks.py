"""Masks from files: a raster of the size of the scene, or polygons on the map."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError, MissingDependencyError
from spectrawalk.io.formats import Plane, damage_reported
from spectrawalk.io.reading import read_plane
from spectrawalk.scene import Scene, Transform
from spectrawalk.scene.georeference import crs_name, to_wkt
from spectrawalk.scene.usability import equals

_GEOJSON = (".geojson", ".json")
_VECTOR = (".gpkg", ".shp", ".fgb", ".kml", ".gml")
_GEOJSON_CRS = "OGC:CRS84"  # longitude and latitude, as the standard prescribes
_LARGEST = 256 * 2**20  # bytes of GeoJSON
_SAME_PLACE = 1e-3  # of a pixel


def read_mask(path: str | os.PathLike[str], scene: Scene) -> NDArray[np.bool_]:
    """Read where the pixels of a scene may be used.

    Parameters
    ----------
    path : path
        A raster of the size of the scene, not 0 where pixels may be used, of any format that
        :func:`spectrawalk.read_scene` knows; or polygons (GeoJSON; GeoPackage and Shapefile with
        ``pip install 'spectrawalk[vector]'``), inside which pixels may be used: those whose centre
        lies inside.
    scene : Scene
        With a place on the map, for polygons.

    Returns
    -------
    ndarray of bool, shape (rows, cols)

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> path = tempfile.mkdtemp() + "/mask.npy"
    >>> np.save(path, np.array([[0, 255], [255, 255]], dtype=np.uint8))
    >>> read_mask(path, Scene(np.ones((2, 2, 3))))
    array([[False,  True],
           [ True,  True]])
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in _GEOJSON + _VECTOR and path.is_file():
        with damage_reported(path):
            crs, polygons = _read_geojson(path) if suffix in _GEOJSON else _read_vector(path)
            return _pixels_inside(path, polygons, crs, scene)
    plane = read_plane(path)
    _check_place(path, plane, scene)
    inside = plane.values != 0
    if plane.values.dtype.kind == "f":
        inside &= np.isfinite(plane.values)
    if plane.nodata is not None:
        inside &= ~equals(plane.values, plane.nodata)
    return inside


def _check_place(path: Path, plane: Plane, scene: Scene) -> None:
    """Refuse a raster that is not the scene, pixel by pixel."""
    if plane.values.shape != scene.shape:
        raise FileError(
            f"the mask '{path}' has {plane.values.shape[0]} x {plane.values.shape[1]} pixels but "
            f"the scene has {scene.shape[0]} x {scene.shape[1]}; give one value per pixel."
        )
    if plane.transform is not None and scene.transform is not None:
        a, b, c, d, e, f = np.abs(np.subtract(plane.transform, scene.transform))
        rows, cols = scene.shape
        pixel = max(map(abs, scene.transform[:2]))
        if max(a * cols, b * rows, c, d * cols, e * rows, f) > _SAME_PLACE * pixel:
            raise FileError(
                f"the mask '{path}' lies in another place than the scene (transform "
                f"{plane.transform} against {scene.transform}); warp it onto the scene first."
            )
    if plane.crs and scene.crs and not _same_crs(plane.crs, scene.crs):
        raise FileError(
            f"the mask '{path}' is in the coordinate system {crs_name(plane.crs)} but the scene "
            f"in {crs_name(scene.crs)}; warp it onto the scene first."
        )


def _same_crs(one: str, other: str) -> bool:
    from rasterio.crs import CRS

    return bool(CRS.from_wkt(one) == CRS.from_wkt(other))


def _read_geojson(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Read the polygons of a GeoJSON file, and their coordinate system."""
    if path.stat().st_size > _LARGEST:
        raise FileError(f"'{path}' is too large; keep the polygons of the scene only.")
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise FileError(f"'{path}' is not GeoJSON; give a file of polygons.")
    # The standard knows one system only, but older files and QGIS name others.
    named = data.get("crs") or {}
    crs = named.get("properties", {}).get("name", _GEOJSON_CRS)
    return str(crs), _polygons(data)


def _polygons(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Gather the polygons of a geometry, a feature, or a collection of them."""
    kind = data.get("type")
    if kind in ("Polygon", "MultiPolygon"):
        return [data]
    inner = {
        "FeatureCollection": data.get("features"),
        "GeometryCollection": data.get("geometries"),
        "Feature": [data.get("geometry")],
    }.get(str(kind))
    return [polygon for each in inner or [] if each for polygon in _polygons(each)]


def _read_vector(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Read the polygons of the first layer of any file that GDAL's vector side knows."""
    try:
        import pyogrio
        import shapely
    except ImportError:
        raise MissingDependencyError(
            f"reading '{path}' needs the packages pyogrio and shapely: "
            "pip install 'spectrawalk[vector]'; or save the polygons as GeoJSON, which needs "
            "nothing."
        ) from None
    described, _, stored, _ = pyogrio.raw.read(path, columns=[], force_2d=True)
    shapes = [] if stored is None else shapely.from_wkb(stored)
    geometries = [shapely.geometry.mapping(shape) for shape in shapes if shape is not None]
    polygons = [polygon for geometry in geometries for polygon in _polygons(geometry)]
    return str(described["crs"] or ""), polygons


def _pixels_inside(
    path: Path, polygons: list[dict[str, Any]], crs: str, scene: Scene
) -> NDArray[np.bool_]:
    if not polygons:
        raise FileError(f"'{path}' holds no polygon; give polygons around the pixels to use.")
    lookup = scene.orthorectify
    if lookup is not None and lookup.transform is not None:
        on_map = _burn(path, polygons, crs, lookup.crs, lookup.transform, lookup.rows.shape)
        inside = np.zeros(scene.shape, dtype=bool)
        wanted = on_map & lookup.found
        inside[lookup.rows[wanted], lookup.cols[wanted]] = True
        return inside
    if scene.transform is None:
        raise FileError(
            f"'{path}' holds polygons, but scene '{scene.name}' has no place on the map; give a "
            "raster of its size."
        )
    return _burn(path, polygons, crs, scene.crs, scene.transform, scene.shape)


def _burn(
    path: Path,
    polygons: list[dict[str, Any]],
    crs: str,
    target: str | None,
    transform: Transform,
    shape: tuple[int, ...],
) -> NDArray[np.bool_]:
    """Find the cells of a grid whose centres lie inside polygons."""
    from rasterio import Affine
    from rasterio.features import rasterize
    from rasterio.warp import transform_geom

    source = to_wkt(crs)
    if source is None:
        raise FileError(
            f"the coordinate system {crs!r} of '{path}' is not known; save the polygons in WGS 84."
        )
    if target is not None and not _same_crs(source, target):
        polygons = [transform_geom(source, target, polygon) for polygon in polygons]
    burned = rasterize(polygons, out_shape=shape, transform=Affine(*transform), dtype="uint8")
    return np.asarray(burned) > 0
