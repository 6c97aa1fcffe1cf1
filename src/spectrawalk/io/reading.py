"""Read a scene or its ground truth from a file of any known format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.emit_file import EmitFile
from spectrawalk.io.enmap_file import EnmapProduct
from spectrawalk.io.envi_file import EnviFile
from spectrawalk.io.formats import HEAD_BYTES, ArrayFormat, Format, Plane
from spectrawalk.io.geotiff_file import GeotiffFile
from spectrawalk.io.hdf5 import is_hdf5
from spectrawalk.io.matlab_file import MatlabFile
from spectrawalk.io.numpy_file import NumpyArchive, NumpyFile
from spectrawalk.io.prisma_file import PrismaFile
from spectrawalk.io.selection import Wanted
from spectrawalk.io.zarr_store import ZarrStore
from spectrawalk.scene import Scene

FORMATS: tuple[Format, ...] = (
    NumpyFile(),
    NumpyArchive(),
    EmitFile(),
    PrismaFile(),
    MatlabFile(),
    EnmapProduct(),  # before GeoTIFF, which its image is
    GeotiffFile(),
    EnviFile(),  # last, as only a header beside them tells that bare values are meant
    ZarrStore(),
)


def read_scene(
    path: str | os.PathLike[str] | Any,
    *,
    variable: str | None = None,
    nodata: float | None = None,
    bands_first: bool = False,
    rows: slice | None = None,
    cols: slice | None = None,
    bands: ArrayLike | None = None,
) -> Scene:
    """Read a hyperspectral cube, or a part of one.

    What a file holds decides how it is read, not its extension: ENVI (the header or the binary
    file), GeoTIFF, MATLAB version 5 or 7.3, NumPy, EMIT L2A, PRISMA L2D, EnMAP L2A (the folder, its
    METADATA.XML or its image) and Zarr.

    Parameters
    ----------
    path : path, xarray.DataArray or xarray.Dataset
        The file or folder; or an array in memory, see
        :func:`~spectrawalk.io.scene_from_xarray`.
    variable : str, optional
        Which array, in a file with several. Not needed if only one has three axes.
    nodata : float, optional
        Value that stands for no data: a pixel with it in any band is masked. By default what the
        file says; NaN turns that off.
    bands_first : bool
        Whether an array has the shape (bands, rows, cols), as rasterio and GDAL give it. Only for
        files of bare arrays.
    rows, cols : slice, optional
        Part of the image to read; no more than that is read where the format allows it.
    bands : array of int or bool, optional
        Bands to read, counted from 0.

    Returns
    -------
    Scene
        Named after the file. Pixels with a NaN, infinite or no-data value in any band, or zero in
        all bands, are masked; ``metadata`` says how many. Bands that are bad or empty do not count.
        Values are those of the file: scale factors are noted in ``metadata``, not applied, but for
        PRISMA, whose two cubes have different ones.

    Raises
    ------
    FileError
        If the file is missing, damaged, not what its name says, or does not tell which array is
        the cube.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import spectrawalk
    >>> path = tempfile.mkdtemp() + "/field.npy"
    >>> np.save(path, np.ones((4, 5, 30), dtype=np.uint16))
    >>> scene = spectrawalk.read_scene(path)
    >>> scene.name, scene.shape, scene.n_bands
    ('field', (4, 5), 30)
    """
    wanted = Wanted(variable, nodata, bands_first, rows, cols, bands)
    if not isinstance(path, (str, os.PathLike)):
        return _scene_in_memory(path, wanted)
    path = Path(path)
    return find_format(path).read_scene(path, wanted)


def read_window(
    path: str | os.PathLike[str],
    rows: slice,
    cols: slice,
    *,
    variable: str | None = None,
    nodata: float | None = None,
    bands_first: bool = False,
) -> Scene:
    """Read one of many windows of an image; parameters as for :func:`read_scene`.

    Returns
    -------
    Scene
        It may have no valid pixel. ``metadata["window_of"]`` has the shape of the whole image.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/field.npy"
    >>> np.save(path, np.zeros((40, 50, 30), dtype=np.uint16))
    >>> scene = read_window(path, slice(10, 12), slice(0, 3))
    >>> scene.shape, scene.n_valid, scene.metadata["window_of"]
    ((2, 3), 0, (40, 50))
    """
    wanted = Wanted(variable, nodata, bands_first, rows, cols, window=True)
    path = Path(path)
    return find_format(path).read_scene(path, wanted)


def _scene_in_memory(data: Any, wanted: Wanted) -> Scene:
    """Make a Scene of data of xarray, and cut the wanted part out of it."""
    if not (hasattr(data, "dims") and hasattr(data, "coords")):
        raise FileError(
            f"a {type(data).__name__} is neither the name of a file nor data of xarray; give "
            "arrays to spectrawalk.Scene."
        )
    from spectrawalk.io.xarray_scene import scene_from_xarray

    scene = scene_from_xarray(data, nodata=wanted.nodata, variable=wanted.variable)
    if wanted.rows is not None or wanted.cols is not None:
        scene = scene.crop(wanted.rows or slice(None), wanted.cols or slice(None))
    return scene if wanted.bands is None else scene.select_bands(wanted.bands)


def read_ground_truth(
    path: str | os.PathLike[str], *, variable: str | None = None
) -> NDArray[np.int64]:
    """Read the class of each pixel, 0 where it is unknown.

    Parameters
    ----------
    path : path
        A file of one of the formats of :func:`read_scene`, with an array of shape (rows, cols).
    variable : str, optional
        Which array, in a file with several. Not needed if only one has two axes, both longer than
        one, and whole numbers.

    Returns
    -------
    ndarray of int64, shape (rows, cols)

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/classes.npy"
    >>> np.save(path, np.array([[0.0, 1.0], [2.0, 2.0]]))
    >>> read_ground_truth(path)
    array([[0, 1],
           [2, 2]])
    """
    path = Path(path)
    return find_format(path).read_ground_truth(path, variable)


def read_plane(path: str | os.PathLike[str], *, variable: str | None = None) -> Plane:
    """Read a raster of a single band with its place on the map."""
    path = Path(path)
    return find_format(path).read_plane(path, variable)


def read_array(path: str | os.PathLike[str], variable: str) -> NDArray[Any]:
    """Read one named array of real numbers, of any shape, from a ``.mat`` or ``.npz`` file."""
    path = Path(path)
    file_format = find_format(path)
    if not isinstance(file_format, ArrayFormat):
        raise FileError(
            f"'{path}' is {file_format.name}, which has no named arrays; give a .mat or .npz file."
        )
    return file_format.read_array(path, file_format.find(path, variable))


def files_beside(path: str | os.PathLike[str]) -> list[Path]:
    """List the other files that belong to a scene, a mask or a map; none for a file of its own.

    An ENVI image has a header and a binary file, and an EnMAP product a file of metadata and an
    image, of which one is named.
    """
    path = Path(path)
    try:
        file_format = find_format(path)
    except FileError:  # polygons, or what will be refused when it is read
        return []
    return file_format.files_beside(path)


def find_format(path: Path) -> Format:
    """Find the format by what a file holds; its extension only helps to say what is wrong."""
    head = _read_head(path)
    for each in FORMATS:
        if each.recognises(path, head):
            return each
    suffix = path.suffix.lower()
    if path.is_dir():
        raise FileError(
            f"'{path}' is a folder, and neither a Zarr store nor an EnMAP product; give the file "
            "inside it that holds the scene."
        )
    if is_hdf5(head):
        raise FileError(
            f"'{path}' is an HDF5 file, but neither MATLAB 7.3 (named .mat) nor EMIT L2A nor "
            "PRISMA L2D; save its cube as one of the formats that can be read."
        )
    by_name = [each for each in FORMATS if suffix in each.extensions]
    if by_name and isinstance(by_name[0], EnviFile) and suffix != ".hdr":
        raise FileError(
            f"'{path}' needs an ENVI header that describes it, and there is no "
            f"'{path.stem}.hdr' beside it; put it there."
        )
    if by_name:
        raise FileError(
            f"'{path}' is named {suffix} but is not {by_name[0].name}; get or write the file again."
        )
    known = ", ".join(dict.fromkeys(each.extensions[0] for each in FORMATS))
    found = f"the extension '{path.suffix}'" if path.suffix else "no extension"
    raise FileError(
        f"'{path}' has {found} and holds nothing that is known; scenes that can be read mostly end "
        f"in {known}."
    )


def _read_head(path: Path) -> bytes:
    if path.is_dir():
        return b""
    if not path.exists():
        raise FileError(f"'{path}' does not exist; check the spelling and the folder.")
    if not path.is_file():  # opening a pipe would wait for ever
        raise FileError(f"'{path}' is a device or a pipe; give the name of a file.")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise FileError(
            f"'{path}' cannot be read: {error.strerror or error}; check its permissions."
        ) from error
    if not head:
        raise FileError(f"'{path}' is empty (0 bytes); get or write the file again.")
    return head
