"""Spectral libraries as text: files of USGS and ECOSTRESS, and tables (CSV)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.wavelengths import to_nanometres
from spectrawalk.results.identification import SpectralLibrary

Values = NDArray[np.float64]

_LARGEST = 256 * 2**20  # bytes
_USGS = re.compile(r"^\s*(\S+)\s+Record=\s*\d+:\s*(.+?)\s*$")
_USGS_SUPPORT = re.compile(r"wavelength|waves|bandpass|fwhm|resolution|error", re.IGNORECASE)
_KEY = re.compile(r"^\s*([A-Za-z][\w .]*?)\s*:\s*(.*?)\s*$")
_WAVELENGTH = re.compile(r"wavelen|^wl\b|^wave$|^lambda", re.IGNORECASE)
_UNIT = re.compile(
    r"\b(nanomet(?:er|re)s?|nm|micromet(?:er|re)s?|microns?|um|µm|μm|angstroms?|cm-1)\b",
    re.IGNORECASE,
)
_OWN_COLUMN = re.compile(r"^cluster_(\d+)_(mean|std)$")
_MISSING = ("", "nan", "na", "n/a", "null", "-")
_FOLDERS_UP = 3  # the wavelengths of USGS text files lie in the folder above the spectra, or higher


def read_text_library(path: Path) -> SpectralLibrary:
    """Read one file of text; its layout is found from its first lines."""
    if path.stat().st_size > _LARGEST:
        raise FileError(f"'{path}' is too large for a library of text; give it as ENVI library.")
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if match := _USGS.match(first):
        return _read_usgs(path, match[2], lines)
    if _KEY.match(first) and not _is_row(first):
        return _read_ecostress(path, lines)
    return _read_table(path, lines)


def _read_usgs(path: Path, title: str, lines: list[str]) -> SpectralLibrary:
    """Read a spectrum of the USGS library: its title and a column of values."""
    if _USGS_SUPPORT.search(title):
        raise FileError(f"'{path}' holds no spectrum but {title}; give the file of a spectrum.")
    values = _column(path, lines)
    wavelengths, fwhm = _usgs_bands(path, len(values))
    return SpectralLibrary(path.name, (title,), values[np.newaxis], wavelengths, fwhm)


def _column(path: Path, lines: list[str]) -> Values:
    """Values of a USGS text file, after its title."""
    numbered = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip()][1:]
    return np.array([_number(path, n, cell) for n, cell in numbered])


def _usgs_bands(path: Path, n: int) -> tuple[Values, Values | None]:
    """Find the wavelengths of a USGS spectrum, in a file of as many values beside or above it."""
    library = path.name.split("_")[0]
    folders = [path.parent, *list(path.parent.parents)[:_FOLDERS_UP]]
    wavelengths = widths = None
    for folder in folders:
        for each in sorted(folder.glob("*.txt")):
            kind = each.name.lower()
            if not re.search(r"wave|bandpass|fwhm", kind) or each == path:
                continue
            lines = each.read_text(encoding="utf-8", errors="replace").splitlines()
            if not lines or not _USGS.match(lines[0]):
                continue
            values = _column(each, lines)
            if len(values) != n:
                continue
            if "wave" in kind and wavelengths is None:
                wavelengths = to_nanometres(values, _unit(each.name + " " + lines[0]))
            elif "wave" not in kind and widths is None:
                widths = values
        if wavelengths is not None:
            factor = 1e3 if widths is not None and widths.max() < 1 else 1.0
            return wavelengths, None if widths is None else widths * factor
    raise FileError(
        f"'{path}' has {n} values and no wavelengths, and no file of {n} wavelengths lies beside "
        f"it or above; put '{library}_Wavelengths_...txt' of the library there."
    )


def _read_ecostress(path: Path, lines: list[str]) -> SpectralLibrary:
    """Read a spectrum of the ECOSTRESS or ASTER library: a head of keys, then two columns."""
    head = {}
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        key = None if rows else _KEY.match(line)
        if key:
            head[key[1].lower()] = key[2]
        elif line.strip() and head:
            cells = line.replace(",", " ").split()
            if not rows and not _is_number(cells[0]):
                continue  # a description may run over several lines
            if len(cells) != 2:
                raise FileError(
                    f"'{path}', line {number}: '{line.strip()[:40]}' is no pair of wavelength and "
                    "value; correct it."
                )
            rows.append([_number(path, number, cell) for cell in cells])
    if len(rows) < 2 or "name" not in head:
        raise FileError(
            f"'{path}' is no spectrum in the layout of ECOSTRESS: keys such as 'Name: ...', then "
            "two columns of numbers; give a spectrum."
        )
    x, y = np.array(rows).T
    unit = _unit(head.get("x units", ""))
    wavelengths, remarks = _in_nanometres(path, x, unit)
    return SpectralLibrary(path.name, (head["name"],), y[np.newaxis], wavelengths, None, remarks)


def _read_table(path: Path, lines: list[str]) -> SpectralLibrary:
    """Read a table: a column of wavelengths and one for each material, or the same lying down."""
    numbered = [
        (n, line) for n, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] != "#"
    ]
    text = [line for _, line in numbered]
    delimiter = next((mark for mark in ",;\t" if text and mark in text[0]), None)
    cells = (
        [line.split() for line in text]
        if delimiter is None
        else [[cell.strip() for cell in row] for row in csv.reader(text, delimiter=delimiter)]
    )
    if len(cells) < 2 or len(cells[0]) < 2:
        raise FileError(
            f"'{path}' is no spectral library: a table with a column of wavelengths and one for "
            "each material is needed; give such a table, or an ENVI library."
        )
    width = len(cells[0])
    for (number, _), row in zip(numbered, cells, strict=True):
        if len(row) != width:
            raise FileError(
                f"'{path}', line {number}, has {len(row)} columns where the first line has "
                f"{width}; correct it."
            )
    numbers = [number for number, _ in numbered]
    if all(_is_number(cell) for cell in cells[0][1:]) and not _is_number(cells[1][0]):
        return _lying_table(path, cells, numbers)
    return _standing_table(path, cells, numbers)


def _standing_table(path: Path, cells: list[list[str]], numbers: list[int]) -> SpectralLibrary:
    """One line per band."""
    titles = cells[0]
    if all(_is_number(cell) for cell in titles):
        titles = ["wavelength", *(f"spectrum {n}" for n in range(1, len(titles)))]
    else:
        cells, numbers = cells[1:], numbers[1:]
    columns = np.array(
        [[_number(path, n, cell) for cell in row] for n, row in zip(numbers, cells, strict=True)]
    ).T
    place = next((at for at, title in enumerate(titles) if _WAVELENGTH.search(title)), None)
    own = [_OWN_COLUMN.match(title) for title in titles]
    wavelengths: Values | None = None
    remarks: tuple[str, ...] = ()
    if place is not None:
        unit = _unit(titles[place].replace("_", " "))
        wavelengths, remarks = _in_nanometres(path, columns[place], unit)
    elif not any(own):
        raise FileError(
            f"'{path}' has no column of wavelengths: none of its titles "
            f"({', '.join(titles[:4])}) says so; call that column 'wavelength (nm)'."
        )
    wanted = [
        (at, f"cluster {match[1]}" if match else title)
        for at, (title, match) in enumerate(zip(titles, own, strict=True))
        if at != place and not (match and match[2] == "std") and title.lower() not in _NO_SPECTRUM
    ]
    if not wanted:
        raise FileError(f"'{path}' has wavelengths and no column of a spectrum; add one.")
    names = tuple(name for _, name in wanted)
    return SpectralLibrary(
        path.name, names, columns[[at for at, _ in wanted]], wavelengths, None, remarks
    )


_NO_SPECTRUM = ("band", "fwhm", "band number", "index", "bbl")


def _lying_table(path: Path, cells: list[list[str]], numbers: list[int]) -> SpectralLibrary:
    """One line per material; the first line has the wavelengths."""
    bands = np.array([float(cell) for cell in cells[0][1:]])
    wavelengths, remarks = _in_nanometres(path, bands, _unit(cells[0][0]))
    spectra = [
        [_number(path, n, cell) for cell in row[1:]]
        for n, row in zip(numbers[1:], cells[1:], strict=True)
    ]
    names = tuple(row[0] for row in cells[1:])
    return SpectralLibrary(path.name, names, np.array(spectra), wavelengths, None, remarks)


def _in_nanometres(path: Path, values: Values, unit: str | None) -> tuple[Values, tuple[str, ...]]:
    """Wavelengths in nanometres, and what was guessed."""
    wavelengths = to_nanometres(values, unit)
    if wavelengths is None:
        raise FileError(
            f"'{path}' has no wavelengths where they are expected (from {np.nanmin(values):g} to "
            f"{np.nanmax(values):g}); they are numbers above 0."
        )
    return wavelengths, () if unit else (unit_remark(path.name, wavelengths),)


def unit_remark(name: str, wavelengths: Values) -> str:
    """Say which unit was taken, where a file names none."""
    return (
        f"'{name}' names no unit of its wavelengths; they were taken as {wavelengths.min():g} to "
        f"{wavelengths.max():g} nm"
    )


def _unit(text: str) -> str | None:
    match = _UNIT.search(text.replace("_", " "))
    return match[1] if match else None


def _number(path: Path, line: int, cell: str) -> float:
    if cell.lower() in _MISSING:
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        raise FileError(f"'{path}', line {line}: '{cell[:40]}' is no number; correct it.") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_row(line: str) -> bool:
    return sum(map(_is_number, re.split(r"[,;\s]+", line.strip()))) > 1
