"""EMIT L2A reflectance, a NetCDF file (HDF5 inside), in the geometry of the sensor.

The pixels stay as they were measured; the file's lookup table (glt), which says where each cell of
a map finds its pixel, is kept for the output, so that no spectrum is resampled or counted twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from spectrawalk.errors import FileError
from spectrawalk.io.formats import Format, Plane, damage_reported, refuse_array_options
from spectrawalk.io.hdf5 import attribute, find_dataset, holds, vector
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Wanted, read_part
from spectrawalk.scene import Orthorectification, Scene, Transform
from spectrawalk.scene.georeference import to_wkt

_CUBE = "reflectance"
_BANDS = "sensor_band_parameters"


class EmitFile(Format):
    """A file ``EMIT_L2A_RFL_*.nc``."""

    name = "an EMIT L2A file"
    extensions = (".nc",)

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return holds(path, head, _CUBE, _BANDS)

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """See the base class."""
        refuse_array_options(path, wanted, self.name)
        with damage_reported(path), h5py.File(path, "r") as file:
            dataset = find_dataset(path, file, _CUBE, 3)
            selection = wanted.select(*dataset.shape)
            n_bands = dataset.shape[2]
            good = vector(path, file, f"{_BANDS}/good_wavelengths", n_bands)
            fill = attribute(dataset, "_FillValue")
            details: dict[str, Any] = {
                "wavelengths": vector(path, file, f"{_BANDS}/wavelengths", n_bands),
                "fwhm": vector(path, file, f"{_BANDS}/fwhm", n_bands),
                "good_bands": None if good is None else good != 0,
                "orthorectify": _lookup(path, file, dataset.shape[:2]),
                "nodata": float(fill) if wanted.nodata is None and fill is not None else None,
            }
            if wanted.nodata is not None:
                details["nodata"] = wanted.nodata
            cube = read_part(dataset, selection)
        record = {"file": str(path), "format": self.name}
        return scene_from_part(cube, selection, path=path, metadata=record, **details)

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """See the base class."""
        raise FileError(
            f"'{path}' is {self.name}, which holds no raster of a single band; give another file."
        )


def _lookup(path: Path, file: h5py.File, shape: tuple[int, int]) -> Orthorectification | None:
    """Read the table of pixels: counted from 1; 0 or less where a cell has none."""
    if "location/glt_x" not in file or "location/glt_y" not in file:
        return None
    cols, rows = (
        np.asarray(find_dataset(path, file, f"location/{name}", 2)[()], dtype=np.int64)
        for name in ("glt_x", "glt_y")
    )
    if rows.shape != cols.shape or rows.max() > shape[0] or cols.max() > shape[1]:
        raise FileError(
            f"'{path}': the lookup table location/glt_x, glt_y does not fit the image of "
            f"{shape[0]} x {shape[1]} pixels; get the file again."
        )
    # The fill value changed from -9999 to 0 between versions of the product.
    found = (rows > 0) & (cols > 0)
    return Orthorectification(
        np.where(found, rows - 1, -1),
        np.where(found, cols - 1, -1),
        to_wkt(attribute(file, "spatial_ref")),
        _transform(attribute(file, "geotransform")),
    )


def _transform(numbers: Any) -> Transform | None:
    """Turn the order of GDAL (x of the corner first) into that of Scene."""
    if not isinstance(numbers, np.ndarray) or numbers.size != 6:
        return None
    c, a, b, f, d, e = (float(number) for number in numbers)
    return (a, b, c, d, e, f)
