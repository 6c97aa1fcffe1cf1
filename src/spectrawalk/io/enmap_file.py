"""EnMAP L2A: a GeoTIFF of reflectances and an XML file that knows its bands."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from spectrawalk.errors import FileError
from spectrawalk.io.formats import Format, Plane, damage_reported, refuse_array_options
from spectrawalk.io.geotiff_file import read_geotiff_scene
from spectrawalk.io.selection import Wanted
from spectrawalk.scene import Scene

_METADATA, _IMAGE = "METADATA.XML", "SPECTRAL_IMAGE"
_LARGEST = 64 * 2**20  # bytes; the real ones take half a megabyte


class EnmapProduct(Format):
    """A folder, its ``*-METADATA.XML``, or its ``*-SPECTRAL_IMAGE.TIF``."""

    name = "an EnMAP L2A product"
    extensions = (".xml",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return _find_metadata(path) is not None

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """See the base class."""
        refuse_array_options(path, wanted, self.name)
        metadata = _find_metadata(path)
        assert metadata is not None  # or the product would not have been recognised
        image = _find_image(path, metadata)
        with damage_reported(metadata):
            known = _read_bands(metadata)
        gains, offsets = known.pop("gains"), known.pop("offsets")
        record = {"format": self.name, "header": str(metadata), "gains": gains, "offsets": offsets}
        return _checked_scene(image, metadata, wanted, record, known)

    def files_beside(self, path: Path) -> list[Path]:
        """See the base class."""
        metadata = _find_metadata(path)
        if path.is_dir() or metadata is None:
            return []
        return [_find_image(path, metadata) if path == metadata else metadata]

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """See the base class."""
        raise FileError(
            f"'{path}' is {self.name}, which holds no raster of a single band; give another file."
        )


def _checked_scene(
    image: Path, metadata: Path, wanted: Wanted, record: dict[str, Any], known: dict[str, Any]
) -> Scene:
    from spectrawalk.io.geotiff_file import open_geotiff

    with open_geotiff(image) as source:
        n_bands = source.count
    if n_bands != len(known["wavelengths"]):
        raise FileError(
            f"'{metadata}' describes {len(known['wavelengths'])} bands but '{image.name}' has "
            f"{n_bands}; get the product again."
        )
    return read_geotiff_scene(image, wanted, record, known)


def _find_metadata(path: Path) -> Path | None:
    """Find the XML file of the product that a folder or a file belongs to."""
    name = path.name.upper()
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.name.upper().endswith(_METADATA))
        return found[0] if len(found) == 1 else None
    if name.endswith(_METADATA):
        return path
    if _IMAGE in name:
        stem = path.name[: name.index(_IMAGE)]
        for ending in (_METADATA, _METADATA.lower()):
            candidate = path.with_name(stem + ending)
            if candidate.is_file():
                return candidate
    return None


def _find_image(path: Path, metadata: Path) -> Path:
    if path.is_file() and path != metadata:
        return path
    stem = metadata.name[: -len(_METADATA)]
    found = sorted(
        each
        for each in metadata.parent.iterdir()
        if each.name.startswith(stem + _IMAGE) and each.suffix.lower() in (".tif", ".tiff")
    )
    if not found:
        raise FileError(f"'{metadata}' has no image '{stem}{_IMAGE}.TIF' beside it; put it there.")
    return found[0]


def _read_bands(metadata: Path) -> dict[str, Any]:
    """Read what the XML file says about each band, in the order of the image."""
    if metadata.stat().st_size > _LARGEST:
        raise FileError(
            f"'{metadata}' is too large for the metadata of a product; give its METADATA.XML."
        )
    text = metadata.read_bytes()
    if b"<!ENTITY" in text:
        # Entities can grow without end, and products have none.
        raise FileError(
            f"'{metadata}' declares XML entities, which no EnMAP product does; get "
            "the product again."
        )
    root = ElementTree.fromstring(text)
    bands = [each for each in root.iter() if _tag(each) == "bandID" and len(each)]
    bands = [each for each in bands if _number(each, "wavelengthCenterOfBand") is not None]
    if not bands:
        raise FileError(
            f"'{metadata}' describes no band (bandCharacterisation); give the METADATA.XML of an "
            "EnMAP L2A product."
        )
    widths = [_number(band, "FWHMOfBand") for band in bands]
    return {
        "wavelengths": np.array([_number(band, "wavelengthCenterOfBand") for band in bands]),
        "fwhm": np.array(widths) if all(width and width > 0 for width in widths) else None,
        "good_bands": _measured(root, len(bands)),
        "gains": [_number(band, "GainOfBand") for band in bands],
        "offsets": [_number(band, "OffsetOfBand") for band in bands],
    }


def _measured(root: ElementTree.Element, n_bands: int) -> np.ndarray | None:
    """Find the bands that both detectors were expected to deliver; the others hold no data."""
    numbers: set[int] = set()
    for each in root.iter():
        if _tag(each) == "expectedChannelsList" and each.text:
            numbers |= {int(part) for part in each.text.split(",") if part.strip().isdecimal()}
    inside = [number - 1 for number in numbers if 1 <= number <= n_bands]
    if not inside:
        return None
    good = np.zeros(n_bands, dtype=bool)
    good[inside] = True
    return good


def _tag(element: ElementTree.Element) -> str:
    """Name of an element without its namespace."""
    return str(element.tag).rsplit("}", 1)[-1]


def _number(band: ElementTree.Element, name: str) -> float | None:
    for each in band:
        if _tag(each) == name:
            try:
                return float(each.text or "")
            except ValueError:
                return None
    return None
