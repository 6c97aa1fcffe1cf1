"""Spectral libraries: ENVI, text files of USGS and ECOSTRESS, tables (CSV), endmembers (MATLAB)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.envi_file import find_header
from spectrawalk.io.envi_header import Header
from spectrawalk.io.library_text import read_text_library, unit_remark
from spectrawalk.progress import track
from spectrawalk.results.identification import SpectralLibrary

Values = NDArray[np.float64]

_LARGEST_VALUE = 1e30  # deleted values of the USGS library are -1.23e34
_USGS_CODES = re.compile(r"\s+(ASD|BECK|NIC4|AVIRIS)[A-Za-z]*\s+[AR](REF|TGC)$|\s+RTGC$")
_LEAST = 3  # bands of a spectrum


def read_library(path: str | Path) -> list[SpectralLibrary]:
    r"""Read a spectral library, or all those in a folder.

    Parameters
    ----------
    path : str or pathlib.Path
        An ENVI spectral library (the ``.sli`` or its ``.hdr``), a text file of the USGS or
        ECOSTRESS libraries, a table (CSV) with a column of wavelengths and one for each material,
        the ``spectra.csv`` of a run, a MATLAB file with the endmembers of a scene, or a folder of
        such files.

    Returns
    -------
    list of SpectralLibrary
        One for each file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "field.csv"
    >>> _ = path.write_text("wavelength (nm),leaf,soil\n450,4,10\n550,10,14\n650,4,18\n")
    >>> read_library(path)[0].names
    ('leaf', 'soil')
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    if not path.is_file():
        raise FileError(f"the library '{path}' does not exist; check the path.")
    try:
        return [_cleaned(_read_file(path))]
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def _read_folder(folder: Path) -> list[SpectralLibrary]:
    """Read all libraries in a folder and those inside it; other files are passed over."""
    found = []
    for path in track("libraries", sorted(each for each in folder.rglob("*") if each.is_file())):
        if path.suffix.lower() == ".csv" and path.with_suffix(".sli").is_file():
            continue  # a run writes its spectra in both formats
        if path.suffix.lower() in (".sli", ".txt", ".csv", ".spectrum", ".asc"):
            try:
                found += read_library(path)
            except FileError:
                continue  # such as the notes that come with a library
    if not found:
        raise FileError(
            f"the folder '{folder}' holds no spectral library that can be read; give one of its "
            "files to see why."
        )
    return found


def _read_file(path: Path) -> SpectralLibrary:
    with path.open("rb") as file:
        head = file.read(512)
    is_binary = b"\0" in head or path.suffix.lower() == ".sli"
    if head.startswith(b"ENVI") or (is_binary and path.suffix.lower() != ".mat"):
        header = path if head.startswith(b"ENVI") else find_header(path)
        if header is None and path.suffix.lower() not in (".sli", ".lib", ".dat", ".bin", ""):
            raise FileError(
                f"'{path}' is no spectral library; give an ENVI library (.sli), a text file of "
                "USGS or ECOSTRESS, a CSV table, or the endmembers in a MATLAB file."
            )
        if header is None:
            raise FileError(
                f"'{path}' is a binary file without an ENVI header beside it; put "
                f"'{path.stem}.hdr' there."
            )
        return _read_envi(Header(header), path)
    if head.startswith(b"MATLAB") or path.suffix.lower() == ".mat":
        return _read_endmembers(path)
    if not head.strip():
        raise FileError(f"'{path}' is empty; give a spectral library.")
    return read_text_library(path)


def _read_envi(header: Header, named: Path) -> SpectralLibrary:
    """Read an ENVI spectral library: one line of values for each spectrum."""
    if "spectral library" not in header.fields.get("file type", "").lower():
        raise FileError(
            f"'{header.path}' is no spectral library (its file type is "
            f"'{header.fields.get('file type', 'not given')}'); give a library."
        )
    layout = header.layout()
    n, n_bands, _ = layout.shape
    binary = named if named != header.path else _binary_beside(header.path, layout.n_bytes)
    size = binary.stat().st_size
    if size != layout.n_bytes:
        raise FileError(
            f"'{binary}' has {size:,} bytes but its header '{header.path.name}' declares "
            f"{layout.n_bytes:,}; get the file again, or correct the header."
        )
    raw = np.fromfile(binary, layout.dtype, n * n_bands, offset=layout.offset)
    spectra = raw.reshape(n, n_bands).astype(np.float64)
    ignored = header.number("data ignore value")
    if ignored is not None:
        spectra[np.isclose(spectra, ignored, rtol=1e-6, atol=0.0)] = np.nan
    remarks = []
    names = header.items("spectra names")
    if len(names) != n:
        remarks.append(f"'{named.name}' has {len(names)} names for {n} spectra; they are numbered")
        names = [f"spectrum {number}" for number in range(1, n + 1)]
    wavelengths = header.wavelengths(n_bands)
    unit = header.fields.get("wavelength units", "").strip().lower()
    if wavelengths is not None and unit in ("", "unknown"):
        remarks.append(unit_remark(named.name, wavelengths))
    is_spectrum = ~_support(names, spectra, header.per_band("wavelength", n_bands))
    is_spectrum &= ~_support(names, spectra, header.per_band("fwhm", n_bands))
    return SpectralLibrary(
        named.name,
        tuple(name for name, wanted in zip(names, is_spectrum, strict=True) if wanted),
        spectra[is_spectrum],
        wavelengths,
        header.fwhm(n_bands),
        tuple(remarks),
    )


def _support(names: Sequence[str], values: Values, of_bands: Values | None) -> NDArray[np.bool_]:
    """Find records that are no spectra: error bars, wavelengths and widths of the bands."""
    found = np.array([name.lower().startswith("error bars") for name in names], dtype=bool)
    if of_bands is not None:
        with np.errstate(invalid="ignore"):
            found |= (np.abs(values / of_bands - 1) < 0.01).all(axis=1)
    return found


def _binary_beside(header: Path, n_bytes: int) -> Path:
    base = header.with_suffix("") if header.suffix.lower() == ".hdr" else header
    for suffix in (".sli", ".SLI", "", ".lib", ".dat", ".bin"):
        candidate = base.with_name(base.name + suffix)
        if candidate != header and candidate.is_file():
            return candidate
    raise FileError(f"'{header}' has no '{base.name}.sli' beside it; put it there.")


def _read_endmembers(path: Path) -> SpectralLibrary:
    """Read the endmembers of a scene as unmixing data sets keep them: ``M`` and names, ``cood``."""
    from scipy.io import loadmat

    try:
        content: dict[str, Any] = loadmat(path)
    except Exception as error:
        raise FileError(
            f"'{path}' cannot be read as a MATLAB file of version 5 ({error}); save it again with "
            "-v7, or give the spectra as CSV."
        ) from error
    spectra = content.get("M")
    if not isinstance(spectra, np.ndarray) or spectra.ndim != 2 or spectra.dtype.kind not in "fiu":
        raise FileError(
            f"'{path}' holds no endmembers: a matrix M of bands x materials is needed; give the "
            "spectra as CSV."
        )
    cells = np.ravel(content.get("cood", []))
    names = [str(np.ravel(cell)[0]) if np.size(cell) else "" for cell in cells]
    n = spectra.shape[1]
    if len(names) != n:
        names = [f"endmember {number}" for number in range(1, n + 1)]
    return SpectralLibrary(path.name, tuple(names), spectra.T.astype(np.float64))


def _cleaned(library: SpectralLibrary) -> SpectralLibrary:
    """Mark impossible values as missing, drop empty spectra, and trim names."""
    spectra = np.where(np.abs(library.spectra) < _LARGEST_VALUE, library.spectra, np.nan)
    kept = np.flatnonzero(np.isfinite(spectra).sum(axis=1) >= min(_LEAST, spectra.shape[1]))
    if not kept.size:
        raise FileError(f"'{library.name}' holds no spectrum with values; give another library.")
    names = [" ".join(library.names[each].split()) for each in kept.tolist()]
    return SpectralLibrary(
        library.name,
        # What USGS names end in, the spectrometer and the kind of measurement, is no material.
        tuple(_USGS_CODES.sub("", name) or f"spectrum {n + 1}" for n, name in enumerate(names)),
        spectra[kept],
        library.wavelengths,
        library.fwhm,
        library.remarks,
    )
