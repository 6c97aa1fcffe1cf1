"""PRISMA L2D reflectance, an HDF-EOS5 file, with its two cubes put together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.formats import Format, Plane, damage_reported, refuse_array_options
from spectrawalk.io.hdf5 import attribute, find_dataset, holds
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Selection, Wanted, read_part
from spectrawalk.scene import Scene, Transform
from spectrawalk.scene.georeference import to_wkt

_SWATH = "HDFEOS/SWATHS/PRS_L2D_HCO"
_FIELDS = f"{_SWATH}/Data Fields"
_DETECTORS = ("Vnir", "Swir")
_FULL_SCALE = 65535
_BLOCK_ROWS = 32  # read and scaled at a time, while they are in the processor's cache
_PIXEL = 30.0  # metres
_INVALID, _SATURATED = 1, 3  # in the matrix of errors; 2 is a negative reflectance


class PrismaFile(Format):
    """A file ``PRS_L2D_STD_*.he5``."""

    name = "a PRISMA L2D file"
    extensions = (".he5",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return holds(path, head, _SWATH)

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """See the base class."""
        refuse_array_options(path, wanted, self.name)
        with damage_reported(path), h5py.File(path, "r") as file:
            detectors = [Detector(path, file, name) for name in _DETECTORS]
            shapes = {detector.shape for detector in detectors}
            if len(shapes) > 1:
                raise FileError(f"'{path}': the two cubes differ in size, {shapes}; get it again.")
            (shape,) = shapes
            wavelengths = np.concatenate([each.wavelengths for each in detectors])
            selection = wanted.select(*shape, len(wavelengths))
            cube = _read_together(detectors, selection)
            details: dict[str, Any] = {
                "wavelengths": wavelengths,
                "fwhm": _joined([each.fwhm for each in detectors]),
                "band_names": tuple(name for each in detectors for name in each.names),
                "transform": _transform(file, shape),
                "crs": to_wkt(_integer(attribute(file, "Epsg_Code"))),
            }
            invalid, flagged = _errors(detectors, selection)
            scales = {each.name: each.scale for each in detectors}
        record = {
            "file": str(path),
            "format": self.name,
            "reflectance_scales": scales,
            "flagged_pixels": int(np.count_nonzero(flagged)),
        }
        return scene_from_part(
            cube,
            selection,
            path=path,
            metadata=record,
            mask=~invalid,
            nodata=wanted.nodata,
            **details,
        )

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """See the base class."""
        raise FileError(
            f"'{path}' is {self.name}, which holds no raster of a single band; give another file."
        )


class Detector:
    """One of the two cubes: the bands that are in use, in order of their wavelengths.

    In the file the bands are the second axis, the wavelengths descend, and bands that were not
    measured have the flag 0.
    """

    def __init__(self, path: Path, file: h5py.File, name: str) -> None:
        self.name = name.upper()
        self.dataset = find_dataset(path, file, f"{_FIELDS}/{self.name}_Cube", 3)
        self.order = _axes(file, self.dataset.shape)
        rows, cols, n_bands = (self.dataset.shape[self.order.index(axis)] for axis in "rcb")
        self.shape = (rows, cols)
        centres = _attribute_per_band(path, file, f"List_Cw_{name}", n_bands)
        if centres is None:
            raise FileError(f"'{path}' has no attribute 'List_Cw_{name}'; get the file again.")
        flags = _attribute_per_band(path, file, f"List_Cw_{name}_Flags", n_bands)
        widths = _attribute_per_band(path, file, f"List_Fwhm_{name}", n_bands)
        used = (centres > 0) & np.isfinite(centres)
        if flags is not None:
            used &= flags != 0
        self.bands = np.flatnonzero(used)[np.argsort(centres[used], kind="stable")]
        if not self.bands.size:
            raise FileError(
                f"'{path}': no band of the {self.name} cube is in use; get the file again."
            )
        self.wavelengths = centres[self.bands]
        known = widths is not None and bool((widths[self.bands] > 0).all())
        self.fwhm = widths[self.bands] if widths is not None and known else None
        self.errors = None
        errors = f"{_FIELDS}/{self.name}_PIXEL_L2_ERR_MATRIX"
        if errors in file:
            matrix = find_dataset(path, file, errors, 3)
            self.errors = matrix if matrix.shape == self.dataset.shape else None
        self.names = [f"{self.name} {band + 1}" for band in self.bands]
        self.scale = [_float(attribute(file, f"L2Scale{name}{end}")) for end in ("Min", "Max")]

    def read_into(self, cube: NDArray[np.float32], selection: Selection, first: int) -> None:
        """Write the wanted bands as reflectances to `cube`, of which `first` is the band 0 here."""
        mine = (selection.bands >= first) & (selection.bands < first + len(self.bands))
        if not mine.any():
            return
        places = np.flatnonzero(mine)
        bands = self.bands[selection.bands[mine] - first]
        low, high = self.scale
        for start in range(selection.rows.start, selection.rows.stop, _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, selection.rows.stop))
            part = Selection(rows, selection.cols, bands, selection.is_part)
            stored = read_part(self.dataset, part, self.order)
            block = stored.astype(np.float32)
            if low is not None and high is not None and low < high:
                # The two cubes have scales of their own, so that only reflectances go together.
                block *= np.float32((high - low) / _FULL_SCALE)
                if low:
                    block[stored != 0] += np.float32(low)  # no data stays zero in all bands
            top = start - selection.rows.start
            cube[top : top + len(block), :, places] = block


def _axes(file: h5py.File, shape: tuple[int, int, int]) -> str:
    """Tell rows from columns by the latitude, which changes from row to row.

    The description of the product and its files do not agree on which of them comes first.
    """
    latitude = file.get(f"{_SWATH}/Geolocation Fields/Latitude")
    if not isinstance(latitude, h5py.Dataset) or latitude.shape != (shape[0], shape[2]):
        return "rbc"
    first, across, down = (float(latitude[place]) for place in ((0, 0), (0, -1), (-1, 0)))
    return "cbr" if abs(across - first) > abs(down - first) else "rbc"


def _read_together(detectors: list[Detector], selection: Selection) -> NDArray[np.float32]:
    cube = np.empty(selection.shape, dtype=np.float32)
    first = 0
    for detector in detectors:
        detector.read_into(cube, selection, first)
        first += len(detector.bands)
    return cube


def _errors(
    detectors: list[Detector], selection: Selection
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the pixels that are invalid in all bands, and those with a defect in any.

    A defect in one band, as a dead element of the detector causes in a whole column, does not spoil
    the rest of the spectrum, so that only the former are masked.
    """
    invalid = np.ones(selection.shape[:2], dtype=bool)
    flagged = np.zeros(selection.shape[:2], dtype=bool)
    for detector in detectors:
        if detector.errors is None:
            return np.zeros_like(invalid), flagged
        part = Selection(selection.rows, selection.cols, detector.bands, selection.is_part)
        codes = read_part(detector.errors, part, detector.order)
        invalid &= (codes == _INVALID).all(axis=2)
        flagged |= ((codes == _INVALID) | (codes == _SATURATED)).any(axis=2)
    return invalid, flagged


def _attribute_per_band(
    path: Path, file: h5py.File, name: str, n_bands: int
) -> NDArray[np.float64] | None:
    values = attribute(file, name)
    if values is None:
        return None
    numbers = np.asarray(values, dtype=np.float64).reshape(-1)
    if numbers.size != n_bands:
        raise FileError(
            f"'{path}': the attribute '{name}' has {numbers.size} values for {n_bands} bands; get "
            "the file again."
        )
    return numbers


def _joined(parts: list[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _transform(file: h5py.File, shape: tuple[int, int]) -> Transform | None:
    """Lay the grid between the corners, which are the centres of the corner pixels or their edges.

    The size of a pixel tells which.
    """
    corners = {
        (corner, axis): _float(attribute(file, f"Product_{corner}corner_{axis}"))
        for corner in ("UL", "LR")
        for axis in ("easting", "northing")
    }
    if any(value is None for value in corners.values()):
        return None
    west, north = (corners["UL", axis] or 0.0 for axis in ("easting", "northing"))
    east, south = (corners["LR", axis] or 0.0 for axis in ("easting", "northing"))
    rows, cols = shape
    if not (west < east and south < north and rows > 1 and cols > 1):
        return None
    by_edges = max(abs((east - west) / cols - _PIXEL), abs((north - south) / rows - _PIXEL))
    by_centres = max(
        abs((east - west) / (cols - 1) - _PIXEL), abs((north - south) / (rows - 1) - _PIXEL)
    )
    if by_centres < by_edges:
        width, height = (east - west) / (cols - 1), (north - south) / (rows - 1)
        return (width, 0.0, west - width / 2, 0.0, -height, north + height / 2)
    return ((east - west) / cols, 0.0, west, 0.0, -(north - south) / rows, north)


def _float(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _integer(value: Any) -> int | None:
    number = _float(value)
    return int(number) if number is not None and 0 < number < 1e6 else None
