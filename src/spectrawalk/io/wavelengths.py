"""Wavelengths, wherever they hide: units, words in the names of bands, and lists beside a file."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import FileError

_NANOMETRES_IN = {
    "nm": 1.0, "nanometer": 1.0, "nanometers": 1.0, "nanometre": 1.0, "nanometres": 1.0,
    "um": 1e3, "µm": 1e3, "μm": 1e3, "micron": 1e3, "microns": 1e3,
    "micrometer": 1e3, "micrometers": 1e3, "micrometre": 1e3, "micrometres": 1e3,
    "mm": 1e6, "millimeter": 1e6, "millimeters": 1e6,
    "m": 1e9, "meter": 1e9, "meters": 1e9,
    "angstrom": 0.1, "angstroms": 0.1,
}  # fmt: skip
_WAVENUMBER = {"wavenumber", "wavenumbers", "cm-1", "1/cm", "cm^-1"}
_NO_WAVELENGTHS = {"index", "indexes", "ghz", "mhz"}
_MICROMETRES_BELOW = 100.0  # no band lies at 100 nm, and none of an optical sensor at 100 um
_IN_WORDS = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*(nanomet(?:er|re)s?|nm|micromet(?:er|re)s?|microns?|um|µm|μm)\b",
    re.IGNORECASE,
)
_LARGEST_LIST = 2**20  # bytes; a list of wavelengths takes a few kilobytes


def to_nanometres(values: ArrayLike, unit: str | None = None) -> NDArray[np.float64] | None:
    """Convert wavelengths to nanometres; guess from their size where the unit is not known.

    Returns
    -------
    ndarray of float64 or None
        None where the values cannot be wavelengths: not positive, not finite, or mere numbers of
        bands.

    Examples
    --------
    >>> to_nanometres([0.45, 2.2], "Micrometers")
    array([ 450., 2200.])
    >>> to_nanometres([0.45, 2.2], "Unknown")
    array([ 450., 2200.])
    >>> to_nanometres([450, 2200])
    array([ 450., 2200.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size or not (np.isfinite(numbers) & (numbers > 0)).all():
        return None
    key = (unit or "").strip().lower()
    if key in _NO_WAVELENGTHS:
        return None
    if key in _WAVENUMBER:
        return 1e7 / numbers
    guess = 1e3 if numbers.max() < _MICROMETRES_BELOW else 1.0
    # Rounded so that 0.45 um is 450 nm and not 450.00000000001.
    return np.round(numbers * _NANOMETRES_IN.get(key, guess), 5)


def wavelengths_in_words(names: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Read the wavelength out of the name of every band; None unless all have one.

    Examples
    --------
    >>> wavelengths_in_words(["band 1 (452.1 nm)", "band 2 (0.46 um)"])
    array([452.1, 460. ])
    """
    found = [_IN_WORDS.search(name or "") for name in names]
    if not found or not all(found):
        return None
    pairs = [(match[1].replace(",", "."), match[2]) for match in found if match]
    converted = [to_nanometres([float(number)], unit) for number, unit in pairs]
    values = [value[0] for value in converted if value is not None]
    return np.array(values) if len(values) == len(names) else None


def read_wavelength_list(path: Path, n_bands: int) -> NDArray[np.float64]:
    r"""Read wavelengths from a table beside an image (.csv or .txt), one line per band.

    The column is the one whose title speaks of wavelengths, or else the last column of numbers that
    are not simply 1, 2, 3, ...

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "field.csv"
    >>> _ = path.write_text("band,wavelength\n1,450.5\n2,550.5\n")
    >>> read_wavelength_list(path, 2)
    array([450.5, 550.5])
    """
    titles, columns = _read_columns(path)
    named = [
        index for index, title in enumerate(titles) if re.search(r"wavelen|^wl|nm|µm|um\b", title)
    ]
    others = [
        index
        for index, column in enumerate(columns)
        if not np.array_equal(np.diff(column), np.ones(len(column) - 1))
    ]
    for index in [*named, *others[::-1]]:
        column = columns[index]
        unit = re.search(r"\b(nm|um|µm)\b", titles[index]) if titles else None
        values = to_nanometres(column, unit[1] if unit else None)
        if values is None:
            continue
        if len(values) != n_bands:
            raise FileError(
                f"'{path}' lists {len(values)} wavelengths for {n_bands} bands; correct it, or "
                "rename it so that it is not read."
            )
        return values
    raise FileError(
        f"'{path}' holds no column of wavelengths; correct it, or rename it so that it is not read."
    )


def _read_columns(path: Path) -> tuple[list[str], list[NDArray[np.float64]]]:
    """Split a table into the titles and numbers of its columns."""
    if path.stat().st_size > _LARGEST_LIST:
        raise FileError(f"'{path}' is too large for a list of wavelengths; rename it.")
    text = path.read_text(encoding="utf-8", errors="replace")
    delimiter = next((mark for mark in ",;\t" if mark in text), None)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    cells = (
        [line.split() for line in lines]
        if delimiter is None
        else list(csv.reader(lines, delimiter=delimiter))
    )
    rows = [list(map(_number, row)) for row in cells]
    titles = []
    if rows and not np.isfinite(rows[0]).any():
        titles, rows = [cell.strip().lower() for cell in cells[0]], rows[1:]
    width = min(map(len, rows), default=0)
    columns = [np.array([row[column] for row in rows]) for column in range(width)]
    return titles[:width], columns


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
