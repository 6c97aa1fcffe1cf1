"""GeoTIFF files through rasterio, with wavelengths from wherever writers put them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.envi_header import Header
from spectrawalk.io.formats import Format, Plane, damage_reported, only_band, refuse_array_options
from spectrawalk.io.scenes import scene_from_part
from spectrawalk.io.selection import Selection, Wanted, check_promise
from spectrawalk.io.wavelengths import read_wavelength_list, to_nanometres, wavelengths_in_words
from spectrawalk.scene import Scene, Transform
from spectrawalk.scene.georeference import to_wkt

_MAGICS = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


class GeotiffFile(Format):
    """A ``.tif`` file, with or without a place on the map."""

    name = "a GeoTIFF file"
    extensions = (".tif", ".tiff")

    def recognises(self, path: Path, head: bytes) -> bool:
        """See the base class."""
        return head.startswith(_MAGICS)

    def read_scene(self, path: Path, wanted: Wanted) -> Scene:
        """See the base class."""
        refuse_array_options(path, wanted, self.name)
        return read_geotiff_scene(path, wanted, {"format": self.name}, {})

    def read_plane(self, path: Path, variable: str | None) -> Plane:
        """See the base class."""
        refuse_array_options(path, Wanted(variable=variable), self.name)
        with open_geotiff(path) as source:
            selection = Wanted().select(source.height, source.width, source.count)
            values = only_band(path, _read(path, source, selection))
            crs, transform = _georeference(source)
            return Plane(values, source.nodata, crs, transform)


def read_geotiff_scene(
    path: Path, wanted: Wanted, metadata: dict[str, Any], known: dict[str, Any]
) -> Scene:
    """Read a scene; `known` holds what another file says about it and goes before the tags."""
    with open_geotiff(path) as source:
        selection = wanted.select(source.height, source.width, source.count)
        crs, transform = _georeference(source)
        nodata = source.nodata if wanted.nodata is None else wanted.nodata
        cube = _read(path, source, selection)
        details = _describe_bands(path, source) if "wavelengths" not in known else {}
        details |= {"crs": crs, "transform": transform, "mask": _read_mask(source, selection)}
        metadata = {"file": str(path), **metadata, **_scales(source)}
    return scene_from_part(
        cube, selection, path=path, **{"nodata": nodata, "metadata": metadata, **details, **known}
    )


@contextmanager
def open_geotiff(path: Path) -> Iterator[Any]:
    """Open a file with rasterio; its complaints become a FileError."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    with damage_reported(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.Env(GDAL_NUM_THREADS=1), rasterio.open(path, driver="GTiff") as source:
            yield source


def _read(path: Path, source: Any, selection: Selection) -> NDArray[Any]:
    """Read the wanted part, one value type for all bands."""
    from rasterio.windows import Window

    kinds = set(source.dtypes)
    if any(kind.startswith(("complex", "cint")) for kind in kinds):
        raise FileError(f"'{path}' holds complex values; real numbers are needed.")
    height, width, _ = selection.shape
    item = max(np.dtype(kind).itemsize for kind in kinds)
    check_promise(path, source.height * source.width * source.count * item, path.stat().st_size)
    block_height, block_width = source.block_shapes[0]
    check_promise(path, block_height * block_width * item, path.stat().st_size)
    window = Window(selection.cols.start, selection.rows.start, width, height)
    planes = source.read([int(band) + 1 for band in selection.bands], window=window)
    return np.moveaxis(planes, 0, -1)


def _read_mask(source: Any, selection: Selection) -> NDArray[np.bool_] | None:
    """Read the mask that lies beside the bands, if there is one; no-data values are seen later."""
    from rasterio.enums import MaskFlags
    from rasterio.windows import Window

    if MaskFlags.per_dataset not in source.mask_flag_enums[0]:
        return None
    height, width, _ = selection.shape
    window = Window(selection.cols.start, selection.rows.start, width, height)
    return np.asarray(source.read_masks(1, window=window)) > 0


def _georeference(source: Any) -> tuple[str | None, Transform | None]:
    transform = tuple(source.transform)[:6]
    # Without a georeference the transform is the identity.
    usable = transform != _IDENTITY and all(map(math.isfinite, transform))
    a, b, _, d, e, _ = transform
    if not usable or a * e == b * d:
        return None, None
    return to_wkt(source.crs), transform


def _scales(source: Any) -> dict[str, Any]:
    """Note scale and offset: they are recorded, not applied, so that integers stay exact."""
    scales, offsets = set(source.scales), set(source.offsets)
    if scales == {1.0} and offsets == {0.0}:
        return {}
    return {"scales": list(source.scales), "offsets": list(source.offsets)}


def _describe_bands(path: Path, source: Any) -> dict[str, Any]:
    """Find wavelengths, widths, bad bands and names of bands."""
    bands = range(1, source.count + 1)
    tags = [_lower(source.tags(band)) for band in bands]
    imagery = [_lower(source.tags(band, ns="IMAGERY")) for band in bands]
    envi = _lower(source.tags(ns="ENVI"))
    names = tuple(source.descriptions)
    details: dict[str, Any] = {
        "wavelengths": _first(
            _tagged(imagery, "central_wavelength_um", "um"),
            _tagged(tags, "wavelength", None),
            _listed(envi, "wavelength", envi.get("wavelength_units"), source.count),
            _listed(_lower(source.tags()), "wavelength", None, source.count),
            wavelengths_in_words(names),
        ),
        "fwhm": _first(
            _tagged(imagery, "fwhm_um", "um"),
            _tagged(tags, "fwhm", None),
            _widths(envi, source.count),
        ),
        "good_bands": _good_bands(tags, envi),
        "band_names": tuple(map(str, names)) if all(names) else None,
    }
    if details["wavelengths"] is None:
        details |= _from_sidecar(path, source.count)
    return details


def _lower(tags: dict[str, str]) -> dict[str, str]:
    return {key.lower().replace(" ", "_"): value for key, value in tags.items()}


def _first(*candidates: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    return next((each for each in candidates if each is not None), None)


def _tagged(tags: list[dict[str, str]], key: str, unit: str | None) -> NDArray[np.float64] | None:
    """Read one tag of each band; None unless all bands have it."""
    try:
        numbers = [float(each[key]) for each in tags]
    except (KeyError, ValueError):
        return None
    if unit is None:
        unit = tags[0].get(f"{key}_units", tags[0].get("wavelength_units"))
    if unit is None and key == "fwhm":
        wide = _tagged(tags, "wavelength", None)
        centre = float(tags[0].get("wavelength", "nan"))
        return None if wide is None else np.array(numbers) * (wide[0] / centre)
    return to_nanometres(numbers, unit)


def _numbers(text: str, n_bands: int) -> NDArray[np.float64] | None:
    try:
        values = [float(part) for part in text.strip("{} ").split(",") if part.strip()]
    except ValueError:
        return None
    return np.array(values) if len(values) == n_bands else None


def _listed(
    tags: dict[str, str], key: str, unit: str | None, n_bands: int
) -> NDArray[np.float64] | None:
    values = _numbers(tags.get(key, ""), n_bands)
    return None if values is None else to_nanometres(values, unit)


def _widths(envi: dict[str, str], n_bands: int) -> NDArray[np.float64] | None:
    """Read widths in the unit of the wavelengths beside them."""
    widths, centres = (_numbers(envi.get(key, ""), n_bands) for key in ("fwhm", "wavelength"))
    if widths is None or centres is None:
        return None
    converted = to_nanometres(centres, envi.get("wavelength_units"))
    if converted is None or not (np.isfinite(widths) & (widths > 0)).all():
        return None
    return np.round(widths * (converted[0] / centres[0]), 5)


def _good_bands(tags: list[dict[str, str]], envi: dict[str, str]) -> NDArray[np.bool_] | None:
    listed = _numbers(envi.get("bbl", ""), len(tags))
    if listed is not None:
        return listed != 0
    flags = [each.get("bbl", each.get("good", "")).strip().lower() for each in tags]
    if not all(flags):
        return None
    return np.array([flag not in ("0", "false", "no") for flag in flags])


def _from_sidecar(path: Path, n_bands: int) -> dict[str, Any]:
    """Look for an ENVI header or a list of wavelengths of the same name beside the image."""
    for header_path in (path.with_suffix(".hdr"), path.with_name(path.name + ".hdr")):
        if header_path.is_file() and header_path.read_bytes()[:4] == b"ENVI":
            header = Header(header_path)
            return {
                "wavelengths": header.wavelengths(n_bands),
                "fwhm": header.fwhm(n_bands),
                "good_bands": header.good_bands(n_bands),
            }
    for suffix in (".csv", ".txt"):
        table = path.with_suffix(suffix)
        if table.is_file():
            return {"wavelengths": read_wavelength_list(table, n_bands)}
    return {}
