"""Write a scene in another format, with all that the format can hold."""

from __future__ import annotations

import os
import secrets
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError, FileError, MissingDependencyError
from spectrawalk.io.atomic import atomic_path, atomic_set, cannot_write, refuse_dangling_link
from spectrawalk.io.envi_header import DTYPES
from spectrawalk.scene import Scene
from spectrawalk.scene.georeference import write_map_info
from spectrawalk.scene.usability import equals

_MATLAB_LIMIT = 2**31  # bytes of one array in a file of version 5
_ORDINARY_NODATA = (-9999, 0)


def write_scene(
    path: str | os.PathLike[str], scene: Scene, *, overwrite: bool = False
) -> list[Path]:
    """Write a scene, whole or not at all; the extension of the name chooses the format.

    Masked pixels get a value that stands for no data. An image in sensor geometry is laid out on
    its map in GeoTIFF and ENVI files.

    Parameters
    ----------
    path : path
        ``.tif`` (GeoTIFF), ``.hdr``, ``.img`` or ``.dat`` (ENVI, two files), ``.zarr``, ``.mat``
        (version 5; the cube, wavelengths and mask) or ``.npy`` (the cube alone).
    scene : Scene
    overwrite : bool
        Whether a file that is there may be replaced.

    Returns
    -------
    list of pathlib.Path
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import spectrawalk
    >>> scene = spectrawalk.Scene(np.ones((2, 3, 4)), wavelengths=[450, 550, 650, 750])
    >>> path = tempfile.mkdtemp() + "/field.tif"
    >>> _ = write_scene(path, scene)
    >>> spectrawalk.read_scene(path).wavelengths
    array([450., 550., 650., 750.])
    """
    path = Path(path)
    check_target(path, overwrite=overwrite)
    _WRITERS[path.suffix.lower()](path, scene)
    return written_files(path)


def check_target(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a name of which :func:`write_scene` knows no format, or that is taken."""
    if path.suffix.lower() not in _WRITERS:
        raise FileError(
            f"'{path}' cannot be written: scenes are written to files that end in "
            f"{', '.join(_WRITERS)}."
        )
    for target in written_files(path):
        refuse_dangling_link(target)
        if target.exists() and not overwrite:
            raise FileError(f"'{target}' exists; give another name, or set `overwrite`.")
    if not path.resolve().parent.is_dir():
        raise FileError(
            f"'{path}' cannot be written: there is no folder '{path.parent}'; create it first."
        )


def written_files(path: Path) -> list[Path]:
    """List the files that :func:`write_scene` makes for a name."""
    if path.suffix.lower() not in (".hdr", ".img", ".dat"):
        return [path]
    binary = path.with_suffix(".img") if path.suffix.lower() == ".hdr" else path
    return [path.with_suffix(".hdr"), binary]


def _write_geotiff(path: Path, scene: Scene) -> None:
    """Write a GeoTIFF from memory: GDAL may leave one cut short on a full disk and say nothing."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning
    from rasterio.io import MemoryFile

    scene = _on_its_map(scene)
    nodata = _nodata_for(scene)
    rows, cols = scene.shape
    dtype = _raster_type(scene.cube)
    profile: dict[str, Any] = {
        "driver": "GTiff", "height": rows, "width": cols, "count": scene.n_bands,
        "dtype": dtype.name, "nodata": nodata, "crs": scene.crs,
        "compress": "deflate", "tiled": True, "blockxsize": 256, "blockysize": 256,
        "interleave": "band", "bigtiff": "if_safer",
    }  # fmt: skip
    if scene.transform is not None:
        profile["transform"] = rasterio.Affine(*scene.transform)
    with atomic_path(path) as temporary, MemoryFile() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with memory.open(**profile) as target:
            for band in range(scene.n_bands):
                target.write(_marked_plane(scene, band, nodata).astype(dtype), band + 1)
                for namespace, tags in _band_tags(scene, band).items():
                    target.update_tags(band + 1, ns=namespace, **tags)
                if scene.band_names is not None:
                    target.set_band_description(band + 1, scene.band_names[band])
        temporary.write_bytes(memory.getbuffer())


def _band_tags(scene: Scene, band: int) -> dict[str | None, dict[str, Any]]:
    """Tags of a band: those of EnMAP-Box and QGIS, and GDAL's own IMAGERY domain."""
    plain: dict[str, Any] = {}
    imagery: dict[str, Any] = {}
    if scene.wavelengths is not None:
        plain |= {"wavelength": scene.wavelengths[band], "wavelength_units": "Nanometers"}
        imagery["CENTRAL_WAVELENGTH_UM"] = scene.wavelengths[band] / 1000
    if scene.fwhm is not None:
        plain["fwhm"] = scene.fwhm[band]
        imagery["FWHM_UM"] = scene.fwhm[band] / 1000
    if scene.good_bands is not None:
        plain["bbl"] = int(scene.good_bands[band])
    return {None: plain, "IMAGERY": imagery}


def _write_envi(path: Path, scene: Scene) -> None:
    from spectrawalk.io.envi_map import envi_header, in_braces

    scene = _on_its_map(scene)
    nodata = _nodata_for(scene)
    dtype = _raster_type(scene.cube)
    codes = {np.dtype(name): code for code, name in DTYPES.items()}
    if dtype not in codes:
        raise DataError(f"ENVI files hold no {dtype} values; write a GeoTIFF or Zarr instead.")
    rows, cols = scene.shape
    fields: dict[str, object] = {
        "description": in_braces([scene.name]), "samples": cols, "lines": rows,
        "bands": scene.n_bands, "header offset": 0, "file type": "ENVI Standard",
        "data type": codes[dtype], "interleave": "bsq", "byte order": 0,
    }  # fmt: skip
    if nodata is not None:
        fields["data ignore value"] = nodata
    if scene.wavelengths is not None:
        fields["wavelength units"] = "Nanometers"
        fields["wavelength"] = in_braces(scene.wavelengths.tolist())
    if scene.fwhm is not None:
        fields["fwhm"] = in_braces(scene.fwhm.tolist())
    if scene.good_bands is not None:
        fields["bbl"] = in_braces(scene.good_bands.astype(int).tolist())
    if scene.band_names is not None:
        fields["band names"] = in_braces(list(scene.band_names))
    if scene.transform is not None:
        fields |= write_map_info(scene.transform, scene.crs)
    header, binary = written_files(path)
    with atomic_set(path.parent, called=path) as file:
        file(header.name).write_bytes(envi_header(fields))
        with file(binary.name).open("wb") as target:
            for band in range(scene.n_bands):
                plane = _marked_plane(scene, band, nodata)
                target.write(plane.astype(dtype.newbyteorder("<")).tobytes())


def _write_zarr(path: Path, scene: Scene) -> None:
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError(
            "writing Zarr needs the package zarr: pip install 'spectrawalk[zarr]'."
        ) from None
    nodata = _nodata_for(scene)
    cube = scene.cube
    if nodata is not None:
        cube = np.where(scene.mask[..., np.newaxis], cube, cube.dtype.type(nodata))
    per_band = {"wavelengths": scene.wavelengths, "fwhm": scene.fwhm}
    attributes: dict[str, Any] = {
        name: values.tolist() for name, values in per_band.items() if values is not None
    }
    if scene.good_bands is not None:
        attributes["good_bands"] = scene.good_bands.astype(int).tolist()
    others = {"crs": scene.crs, "transform": scene.transform, "band_names": scene.band_names}
    attributes |= {name: value for name, value in others.items() if value is not None}
    if nodata is not None:
        attributes["_FillValue"] = nodata
    stage = path.with_name(f".spectrawalk-{secrets.token_hex(6)}.zarr")
    try:
        array = zarr.create_array(
            stage,
            shape=cube.shape,
            chunks=tuple(min(length, 128) for length in cube.shape),
            dtype=cube.dtype,
            dimension_names=("y", "x", "band"),
            attributes=attributes,
        )
        array[:] = cube
        _replace_folder(stage, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace_folder(stage: Path, final: Path) -> None:
    """Put a folder in the place of another; no system renames one onto the other at once."""
    if not final.exists():
        os.replace(stage, final)
        return
    old = stage.with_name(stage.name + "-old")
    os.replace(final, old)
    os.replace(stage, final)
    shutil.rmtree(old) if old.is_dir() else old.unlink()


def _write_matlab(path: Path, scene: Scene) -> None:
    import scipy.io

    if scene.cube.nbytes >= _MATLAB_LIMIT:
        raise DataError(
            f"the cube has {scene.cube.nbytes:,} bytes, more than a MATLAB file of version 5 "
            "holds; write a GeoTIFF, ENVI or Zarr file instead."
        )
    arrays = {"cube": _blanked(scene), "mask": scene.mask}
    if scene.wavelengths is not None:
        arrays["wavelengths"] = scene.wavelengths
    with atomic_path(path) as temporary:
        scipy.io.savemat(temporary, arrays, appendmat=False, do_compression=True)


def _write_numpy(path: Path, scene: Scene) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.save(file, _blanked(scene), allow_pickle=False)


def _on_its_map(scene: Scene) -> Scene:
    """Lay an image in sensor geometry out on its map."""
    lookup = scene.orthorectify
    if lookup is None:
        return scene
    return replace(
        scene,
        cube=lookup.apply(scene.cube, fill=0),
        mask=lookup.apply(scene.mask, fill=False),
        ground_truth=None,
        crs=lookup.crs,
        transform=lookup.transform,
        orthorectify=None,
    )


def _raster_type(cube: NDArray[Any]) -> np.dtype:
    """Choose the type in the file: booleans and half floats have no place in rasters."""
    if cube.dtype == bool:
        return np.dtype(np.uint8)
    return np.dtype(np.float32) if cube.dtype == np.float16 else cube.dtype


def _nodata_for(scene: Scene) -> float | None:
    """Choose the value that stands for no data; None if no pixel is masked."""
    return None if scene.mask.all() else _find_nodata(scene)


def _marked_plane(scene: Scene, band: int, nodata: float | None) -> NDArray[Any]:
    """Take out one band with `nodata` where pixels are masked."""
    plane = np.ascontiguousarray(scene.cube[:, :, band])
    if nodata is not None:
        plane = plane.copy()
        plane[~scene.mask] = nodata
    return plane


def _find_nodata(scene: Scene) -> float:
    """Find a value that no valid pixel has."""
    candidates: list[float] = list(_ORDINARY_NODATA)
    given = scene.metadata.get("nodata")
    if given is not None and np.isfinite(given):
        candidates.insert(0, given)
    if scene.cube.dtype.kind in "ui":
        limits = np.iinfo(scene.cube.dtype)
        candidates = [int(value) for value in candidates if float(value).is_integer()]
        candidates += [limits.min, limits.max]
        candidates = [value for value in candidates if limits.min <= value <= limits.max]
    elif scene.cube.dtype.kind == "b":
        candidates = [0]
    for candidate in candidates:
        if not (equals(scene.cube, candidate).any(axis=2) & scene.mask).any():
            return candidate
    raise DataError(
        f"scene '{scene.name}' has masked pixels but no value is left to mark them with: each of "
        f"{', '.join(map(str, candidates))} occurs; write .npy or .mat, which need none."
    )


def _blanked(scene: Scene) -> NDArray[Any]:
    """Make masked pixels NaN, or zero in all bands, which the readers mask again."""
    if scene.mask.all():
        return scene.cube
    cube = scene.cube.copy()
    cube[~scene.mask] = np.nan if cube.dtype.kind == "f" else 0
    return cube


_WRITERS: dict[str, Callable[[Path, Scene], None]] = {
    ".tif": _write_geotiff,
    ".tiff": _write_geotiff,
    ".hdr": _write_envi,
    ".img": _write_envi,
    ".dat": _write_envi,
    ".zarr": _write_zarr,
    ".mat": _write_matlab,
    ".npy": _write_numpy,
}
