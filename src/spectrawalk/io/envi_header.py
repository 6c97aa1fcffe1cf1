"""The text header of an ENVI file: what it says, checked before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.wavelengths import to_nanometres
from spectrawalk.scene import Transform
from spectrawalk.scene.georeference import parse_map_info, to_wkt

DTYPES = {
    1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
_COMPLEX = (6, 9)
_ORDERS = {"bsq": "brc", "bil": "rbc", "bip": "rcb"}
_LARGEST = 16 * 2**20  # bytes; headers take a few kilobytes


@dataclass(frozen=True, eq=False)
class Layout:
    """How the binary file of an ENVI image is laid out.

    Attributes
    ----------
    shape : tuple of int
        Rows, columns, bands.
    order : str
        Axes in the file: a permutation of ``"rcb"``.
    dtype : numpy.dtype
        With its byte order.
    offset : int
        Bytes before the first value.
    """

    shape: tuple[int, int, int]
    order: str
    dtype: np.dtype
    offset: int

    @property
    def n_bytes(self) -> int:
        """Size that the binary file must have."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


class Header:
    """The fields of an ENVI header, read one by one.

    Parameters
    ----------
    path : pathlib.Path
        The header, a file of text that begins with ``ENVI``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.stat().st_size > _LARGEST:
            raise FileError(f"'{path}' is too large for a header; give the ENVI header.")
        self.fields = _parse(path.read_text(encoding="utf-8", errors="replace"))

    def layout(self) -> Layout:
        """Read what is needed to find the values."""
        rows, cols, bands = (self._size(key) for key in ("lines", "samples", "bands"))
        interleave = self.fields.get("interleave", "").lower()
        if interleave not in _ORDERS:
            raise self._damage("interleave", "bsq, bil or bip")
        if self.fields.get("file compression", "0") not in ("0", ""):
            raise FileError(
                f"'{self.path}' describes a compressed file; unpack it, for example with "
                "gdal_translate -of ENVI."
            )
        byte_order = self.fields.get("byte order", "0")
        if byte_order not in ("0", "1"):
            raise self._damage("byte order", "0 or 1")
        dtype = np.dtype(DTYPES[self._type()]).newbyteorder("<" if byte_order == "0" else ">")
        offset = self._size("header offset", least=0) if "header offset" in self.fields else 0
        return Layout((rows, cols, bands), _ORDERS[interleave], dtype, offset)

    def _type(self) -> int:
        code = self._size("data type", least=0)
        if code in _COMPLEX:
            raise FileError(f"'{self.path}' describes complex values; real numbers are needed.")
        if code not in DTYPES:
            raise self._damage("data type", f"one of {', '.join(map(str, DTYPES))}")
        return code

    def _size(self, key: str, least: int = 1) -> int:
        try:
            value = int(self.fields[key])
        except (KeyError, ValueError):
            value = least - 1
        if value < least:
            raise self._damage(key, f"a whole number of at least {least}")
        return value

    def _damage(self, key: str, expected: str) -> FileError:
        found = (
            f"has '{key} = {self.fields[key][:40]}'" if key in self.fields else f"has no '{key}'"
        )
        return FileError(f"'{self.path}' {found}, where {expected} is needed; correct the header.")

    def number(self, key: str) -> float | None:
        """Read one number; None if it is not there."""
        if key not in self.fields:
            return None
        values = self._numbers(key)
        return values[0] if len(values) == 1 else None

    def per_band(self, key: str, n_bands: int) -> NDArray[np.float64] | None:
        """Read one number per band; None if they are not there."""
        if not self.fields.get(key):
            return None
        values = self._numbers(key)
        if len(values) != n_bands:
            raise FileError(
                f"'{self.path}' lists {len(values)} values of '{key}' for {n_bands} bands; correct "
                "the header, or delete that field."
            )
        return np.array(values)

    def _numbers(self, key: str) -> list[float]:
        try:
            return [float(part) for part in self.items(key)]
        except ValueError:
            raise self._damage(key, "a list of numbers") from None

    def items(self, key: str) -> list[str]:
        """Split a list in braces."""
        text = self.fields.get(key, "").strip()
        if not text:
            return []
        return [part.strip() for part in text.strip("{}").split(",") if part.strip()]

    def wavelengths(self, n_bands: int) -> NDArray[np.float64] | None:
        """Centre wavelengths in nanometres."""
        values = self.per_band("wavelength", n_bands)
        return (
            None if values is None else to_nanometres(values, self.fields.get("wavelength units"))
        )

    def fwhm(self, n_bands: int) -> NDArray[np.float64] | None:
        """Full widths at half maximum in nanometres; in the unit of the wavelengths."""
        widths = self.per_band("fwhm", n_bands)
        centres = self.per_band("wavelength", n_bands)
        if widths is None or centres is None:
            return None
        in_nanometres = to_nanometres(centres, self.fields.get("wavelength units"))
        if in_nanometres is None or not (np.isfinite(widths) & (widths > 0)).all():
            return None
        return np.round(widths * (in_nanometres[0] / centres[0]), 5)

    def good_bands(self, n_bands: int) -> NDArray[np.bool_] | None:
        """What the bad-band list says: True where a band is to be used."""
        values = self.per_band("bbl", n_bands)
        return None if values is None else values != 0

    def band_names(self, n_bands: int) -> tuple[str, ...] | None:
        """Names of the bands, if there are as many as bands: names may hold commas."""
        names = self.items("band names")
        return tuple(names) if len(names) == n_bands else None

    def georeference(self) -> tuple[Transform | None, str | None]:
        """Transform and coordinate reference system."""
        transform, crs = (
            parse_map_info(self.items("map info"))
            if "map info" in self.fields
            else (
                None,
                None,
            )
        )
        if transform is None:
            return None, None
        written = self.fields.get("coordinate system string", "").strip().strip("{}")
        return transform, to_wkt(written) or crs


def _parse(text: str) -> dict[str, str]:
    """Split a header into its fields; a value in braces may run over several lines."""
    fields: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        key, equals, value = line.partition("=")
        if not equals or line.lstrip().startswith(";"):
            continue
        value = value.strip()
        if value.startswith("{"):
            parts = [value]
            while "}" not in parts[-1]:
                following = next(lines, None)
                if following is None:
                    break
                parts.append(following.strip())
            value = " ".join(parts)
        fields[" ".join(key.lower().split())] = value
    return fields
