"""ENVI files: a header of text and a binary file beside it.

GDAL fills up what a binary file lacks with zeros and says nothing, so the header is read here and
the values through a memory map, which reads no more than what is wanted; see
``docs/decisions/envi-headers.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.envi_header import Header, Layout
from spectrawalk.io.formats import Format, Plane, damage_reported, only_band, refuse_array_options
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Selection, Wanted, read_part
from spectrawalk.scene import Scene

_MAGIC = b"ENVI"
_BINARY_SUFFIXES = ("", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin", ".envi")


class EnviFile(Format):
    """An ENVI image, of which the header or the binary file is named."""

    name = "an ENVI file"
    extensions = (".hdr", *_BINARY_SUFFIXES[1:])

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return head.startswith(_MAGIC) or (bool(head) and find_header(path) is not None)

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """See the base class."""
        refuse_array_options(path, wanted, self.name)
        with damage_reported(path):
            header, binary, layout = _open(path)
            selection = wanted.select(*layout.shape)
            n_bands = layout.shape[2]
            transform, crs = header.georeference()
            details: dict[str, Any] = {
                "wavelengths": header.wavelengths(n_bands),
                "fwhm": header.fwhm(n_bands),
                "good_bands": header.good_bands(n_bands),
                "band_names": header.band_names(n_bands),
                "crs": crs,
                "transform": transform,
            }
            nodata = header.number("data ignore value") if wanted.nodata is None else wanted.nodata
            cube = _read(binary, layout, selection)
        record: dict[str, Any] = {
            "file": str(binary),
            "header": str(header.path),
            "format": self.name,
        }
        scale = header.number("reflectance scale factor")
        if scale is not None:
            # Not applied: spectra are scaled before clustering anyway, and integers stay exact.
            record["reflectance_scale_factor"] = scale
        return scene_from_part(
            cube, selection, path=binary, nodata=nodata, metadata=record, **details
        )

    def files_beside(self, path: Path) -> list[Path]:
        """See the base class."""
        with damage_reported(path):
            header, binary, _ = _open(path)
        return [binary if path == header.path else header.path]

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """See the base class."""
        refuse_array_options(path, Wanted(variable=variable), self.name)
        with damage_reported(path):
            header, binary, layout = _open(path)
            cube = _read(binary, layout, Wanted().select(*layout.shape))
            transform, crs = header.georeference()
            nodata = header.number("data ignore value")
        return Plane(only_band(path, cube), nodata, crs, transform)


def read_header(path: Path) -> Header:
    """Read the header of an ENVI file, of which the header or the binary file is named."""
    with path.open("rb") as file:
        is_header = file.read(len(_MAGIC)) == _MAGIC
    header_path = path if is_header else find_header(path)
    assert header_path is not None  # or the file would not have been recognised
    return Header(header_path)


def _open(path: Path) -> tuple[Header, Path, Layout]:
    """Read the header and find the binary file that has the size it declares."""
    header = read_header(path)
    if "spectral library" in header.fields.get("file type", "").lower():
        raise FileError(f"'{path}' is a spectral library, which holds no image; give an image.")
    layout = header.layout()
    binary = _find_binary(path, layout.n_bytes) if path == header.path else path
    found = binary.stat().st_size
    if found != layout.n_bytes:
        raise FileError(
            f"'{binary}' has {found:,} bytes but its header '{header.path.name}' declares "
            f"{layout.n_bytes:,}; get the file again, or correct the header."
        )
    return header, binary, layout


def _read(binary: Path, layout: Layout, selection: Selection) -> NDArray[Any]:
    stored_shape = tuple(layout.shape["rcb".index(axis)] for axis in layout.order)
    stored = np.memmap(binary, layout.dtype, "r", layout.offset, stored_shape)
    return read_part(stored, selection, layout.order)


def find_header(binary: Path) -> Path | None:
    """Find the header beside a binary file: X.img.hdr or X.hdr."""
    for suffix in (".hdr", ".HDR"):
        for candidate in (binary.with_name(binary.name + suffix), binary.with_suffix(suffix)):
            if candidate != binary and candidate.is_file():
                with candidate.open("rb") as file:
                    if file.read(len(_MAGIC)) == _MAGIC:
                        return candidate
    return None


def _find_binary(header: Path, n_bytes: int) -> Path:
    """Find the binary file beside a header, the one of the right size if there are several."""
    found = [candidate for candidate in _binary_names(header) if candidate.is_file()]
    if not found:
        raise FileError(
            f"'{header}' is a header without its binary file: there is no '{header.stem}' beside "
            f"it, neither alone nor with one of {', '.join(_BINARY_SUFFIXES[1:])}; put it there."
        )
    return next((each for each in found if each.stat().st_size == n_bytes), found[0])


def _binary_names(header: Path) -> Iterator[Path]:
    base = header.with_suffix("") if header.suffix.lower() == ".hdr" else header
    for suffix in _BINARY_SUFFIXES:
        for variant in dict.fromkeys((suffix, suffix.upper())):
            candidate = base.with_name(base.name + variant)
            if candidate != header:
                yield candidate
