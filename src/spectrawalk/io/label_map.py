"""Read a map of clusters with all that is known about it: legend, mean spectra, the run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError, SpectrawalkError
from spectrawalk.io.cluster_spectra import StoredSpectra, read_cluster_spectra
from spectrawalk.io.formats import Plane
from spectrawalk.io.geotiff_file import GeotiffFile, open_geotiff
from spectrawalk.io.own_maps import is_own_map
from spectrawalk.io.reading import find_format, read_plane, read_window
from spectrawalk.io.run_record import RECORD_NAME
from spectrawalk.results.cluster_map import UNLIKE_NAME
from spectrawalk.results.palette import Color
from spectrawalk.results.result import Result
from spectrawalk.scene import Transform

MAP_NAME, TABLE_NAME, HEADER_NAME = "labels.tif", "spectra.csv", "spectra.hdr"
"""Files of a run that are read: its map, and the mean spectra of its clusters with their header."""


@dataclass(frozen=True, eq=False)
class LabelMap:
    """A map of clusters or classes as it is in a file.

    Attributes
    ----------
    codes : ndarray of whole numbers, shape (rows, cols)
    no_data : int
        Value of the pixels without a cluster.
    title : str
        What the user named: a folder of results or a file.
    crs, transform
        As in :class:`~spectrawalk.Scene`.
    names : dict
        Names that a person or another program gave.
    colors : dict
        Red, green and blue, where the file has them.
    unlike : int or None
        Number of the pixels that are unlike the fit, in the map of a prediction that has some.
    spectra : StoredSpectra or None
        Mean spectra of clusters 1, 2 and so on.
    record : dict
        Of the run that made the map; empty if there is none.
    files : tuple of Path
        What was read.
    is_own : bool
        Whether spectrawalk made the map, so that its numbers are of clusters.
    is_new : bool
        Whether the map was made just now and is in no file; `files` are those of its scene then.
    """

    codes: NDArray[Any]
    no_data: int
    title: str
    crs: str | None = None
    transform: Transform | None = None
    names: dict[int, str] = field(default_factory=dict)
    colors: dict[int, Color] = field(default_factory=dict)
    unlike: int | None = None
    spectra: StoredSpectra | None = None
    record: dict[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    is_own: bool = False
    is_new: bool = False


def read_label_map(path: str | os.PathLike[str]) -> LabelMap:
    """Read a map: the results folder of a run, or a raster of whole numbers of any known format.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from spectrawalk.io.geotiff_map import write_map
    >>> from spectrawalk.results.cluster_map import ClusterMap
    >>> path = tempfile.mkdtemp() + "/labels.tif"
    >>> write_map(path, ClusterMap(np.array([[0, 1, -1]]), n_clusters=2))
    >>> found = read_label_map(path)
    >>> found.codes.tolist(), found.no_data, found.colors[1], found.is_own
    ([[1, 2, 0]], 0, (0, 114, 178), True)
    """
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    file = place / MAP_NAME if place.is_dir() else place
    if place.is_dir() and not (place / RECORD_NAME).is_file():
        raise FileError(
            f"'{place}' is no results folder: it has no {RECORD_NAME}; give a folder that "
            "`spectrawalk cluster`, `cut` or `predict` wrote, or a map."
        )
    if place.is_dir() and not file.is_file():
        raise FileError(f"'{place}' has no {MAP_NAME}; give a folder with the results of a run.")
    plane = read_plane(file)
    codes = _whole(file, plane)
    is_own = place.is_dir() or is_own_map(file)
    record = _record(folder) if is_own else {}
    # Another program that warped the map may have left its names behind.
    names = _names(file) or (_names(folder / MAP_NAME) if record else {})
    unlike = next((code for code, name in names.items() if name == UNLIKE_NAME), None)
    table = folder / TABLE_NAME
    spectra = None
    if is_own and table.is_file():
        spectra = read_cluster_spectra(table, folder / HEADER_NAME)
    return LabelMap(
        codes,
        _no_data(plane),
        str(path),
        plane.crs,
        plane.transform,
        {
            code: name
            for code, name in names.items()
            if name != f"cluster {code}" and code != _no_data(plane)
        },
        _colors(file),
        unlike,
        spectra,
        record,
        (file, *([table] if spectra else []), *([folder / RECORD_NAME] if record else [])),
        is_own,
    )


def holds_scene(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a cube of several bands, and not a map; only one pixel is read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/field.npy"
    >>> np.save(path, np.zeros((4, 5, 30)))
    >>> holds_scene(path)
    True
    """
    if (Path(path) / RECORD_NAME).is_file():
        return False
    try:
        return read_window(path, slice(0, 1), slice(0, 1)).n_bands > 1
    except SpectrawalkError:
        return False


def label_map_of(
    result: Result, title: str, record: dict[str, Any], files: Sequence[Path]
) -> LabelMap:
    """Give the map of a result in memory as if it had been read from its folder."""
    scene, shown = result.scene, result.map
    return LabelMap(
        shown.codes,
        0,
        title,
        shown.crs,
        shown.transform,
        colors={code: tuple(color) for code, color in enumerate(shown.colors.tolist(), start=1)},
        unlike=shown.n_entries if shown.has_unlike else None,
        spectra=StoredSpectra(
            np.array([each.mean for each in result.spectra]),
            scene.band_numbers,
            scene.wavelengths,
            scene.fwhm,
            shown.names[: result.n_clusters],
        ),
        record=record,
        files=tuple(files),
        is_own=True,
        is_new=True,
    )


def _whole(path: Path, plane: Plane) -> NDArray[Any]:
    """Take the values of a map; some programs write whole numbers as real ones."""
    values = plane.values
    if values.dtype.kind == "f":
        known = np.isfinite(values)
        if (values[known] != np.floor(values[known])).any():
            raise FileError(
                f"'{path}' holds real numbers, such as {values[values != np.floor(values)][0]:g}; "
                "give a map of clusters or classes, such as labels.tif."
            )
        return np.where(known, values, _no_data(plane)).astype(np.int64)
    if values.dtype.kind not in "uib":
        raise FileError(f"'{path}' holds values of type {values.dtype}; give a map of clusters.")
    return values.astype(np.uint8) if values.dtype.kind == "b" else values


def _no_data(plane: Plane) -> int:
    """Value of no data: what the file says, else 0."""
    known = plane.nodata is not None and np.isfinite(plane.nodata)
    return int(plane.nodata) if known and plane.nodata == int(plane.nodata) else 0  # type: ignore[arg-type]


def _record(folder: Path) -> dict[str, Any]:
    """Read the record of the run, of any version; nothing if there is none that can be read."""
    try:
        found = json.loads((folder / RECORD_NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names(path: Path) -> dict[int, str]:
    """Names of the values, from GDAL's file beside the map."""
    beside = path.with_name(f"{path.name}.aux.xml")
    try:
        root = ElementTree.fromstring(beside.read_bytes())
    except (OSError, ElementTree.ParseError):
        return {}
    found = enumerate(root.findall("PAMRasterBand[@band='1']/CategoryNames/Category"))
    return {code: each.text.strip() for code, each in found if each.text and each.text.strip()}


def _colors(path: Path) -> dict[int, Color]:
    """Colours of the values, from a GeoTIFF that has them."""
    if not isinstance(find_format(path), GeotiffFile):
        return {}
    with open_geotiff(path) as source:
        try:
            table = source.colormap(1)
        except ValueError:  # there is none
            return {}
    return {code: color[:3] for code, color in table.items() if color[3]}
