"""Maps of scenes larger than memory: one cloud-optimised GeoTIFF, written block by block."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spectrawalk.errors import DataError, FileError
from spectrawalk.io.atomic import cannot_write
from spectrawalk.io.formats import damage_reported
from spectrawalk.scene import Transform

_TILE = 512  # pixels a side; GDAL makes overviews until one fits into a tile
_CACHE = 2**27  # bytes; rasterio takes no other unit, and GDAL by itself 5 % of the memory
_ROOM = 2  # times the pixels: the map takes 1, its overviews 1/3, GDAL's first copy of those 1/3
_REST = 2**20  # bytes of room for all that is not pixels
_PIXELS = "pixels"  # name of the plain file
_PREDICTORS = {1: "NO", 2: "STANDARD", 3: "FLOATING_POINT"}  # what the COG driver calls them
_GDAL_TYPES = {
    "uint8": "Byte",
    "uint16": "UInt16",
    "int16": "Int16",
    "uint32": "UInt32",
    "int32": "Int32",
    "float32": "Float32",
    "float64": "Float64",
}


def write_cog(
    path: str | os.PathLike[str],
    blocks: Iterable[tuple[int, int, NDArray[Any]]],
    shape: tuple[int, int],
    dtype: DTypeLike,
    *,
    nodata: float,
    name: str,
    crs: str | None = None,
    transform: Transform | None = None,
    colors: dict[int, tuple[int, int, int, int]] | None = None,
    resampling: str = "mode",
    predictor: int | None = None,
    called: str | os.PathLike[str] | None = None,
) -> None:
    """Write one band as a tiled, compressed, cloud-optimised GeoTIFF with overviews.

    The memory needed does not depend on the size of the image, and the bytes of the file do not
    depend on the size or order of the blocks. The disk must have room for three times the pixels
    without compression, although the file takes less in the end. It appears at `path` when it is
    whole; an older one is replaced.

    Parameters
    ----------
    path : path
        The file; its folder must exist.
    blocks : iterable of (int, int, ndarray)
        First row, first column and values of parts of the image, of any size and in any order.
        Each pixel must be in one of them.
    shape : tuple of int
        Rows and columns of the image.
    dtype : dtype
        Type of the values in the file, an integer or a float of GDAL's.
    nodata : float
        The value that stands for no data.
    name : str
        Name of the band.
    crs : str, optional
        Coordinate reference system, such as WKT.
    transform : tuple of float, optional
        The image's place on the ground.
    colors : dict, optional
        Red, green, blue and alpha of each value; TIFF has them for 8 and 16 bits without a sign.
    resampling : str
        What an overview shows of the pixels under it: ``"mode"``, their most frequent value, for
        classes; ``"average"`` for real values. No data are left out. GDAL before 3.10 rounds
        classes above 2 ** 23.
    predictor : int, optional
        TIFF's predictor: 1 is none, 2 the difference to the pixel before, 3 the same for floats.
        3 for floats and 1 for integers by default.
    called : path, optional
        What an error calls the file; `path` by default.

    Raises
    ------
    FileError
        The file could not be written, such as on a full disk.
    DataError
        The blocks lie outside the image or do not cover it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/map.tif"
    >>> halves = [(0, 2, np.array([[3, 0]])), (0, 0, np.array([[1, 2]]))]
    >>> blocks = ((row, col, codes.astype(np.uint8)) for row, col, codes in halves)
    >>> write_cog(path, blocks, (1, 4), np.uint8, nodata=0, name="cluster")
    >>> [block.tolist() for _, _, block in read_windows(path)]
    [[[1, 2, 3, 0]]]
    """
    target = Path(os.path.realpath(path))
    called = path if called is None else called
    kind = np.dtype(dtype).newbyteorder("<")
    if kind.name not in _GDAL_TYPES:
        raise DataError(f"'{called}' cannot hold {kind.name} values; convert them first.")
    source = _virtual_raster(shape, kind, nodata, name, crs, transform, colors)
    if predictor is None:
        predictor = 3 if kind.kind == "f" else 1
    options = {
        "blocksize": _TILE,
        "compress": "deflate",
        "predictor": _PREDICTORS[predictor],
        "overview_predictor": _PREDICTORS[predictor],
        "overview_resampling": resampling,
    }
    with _workplace(target, called) as folder:
        _lay_out(folder / _PIXELS, blocks, shape, kind, called)
        with _said_as_ours(called):
            (folder / "map.vrt").write_bytes(source)
            _check_room(folder, shape, kind, _ROOM)
            _copy(folder / "map.vrt", folder / "map.tif", options)
            _compare(folder / "map.tif", folder / _PIXELS, shape, kind)
            os.replace(folder / "map.tif", target)


def read_windows(
    path: str | os.PathLike[str], size: int = _TILE
) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Read the first band of a GeoTIFF in windows: first row, first column and values of each.

    Parameters
    ----------
    path : path
    size : int
        Rows and columns of a window; those at the right and lower edge have fewer.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/map.tif"
    >>> write_cog(path, [(0, 0, np.eye(3, dtype=np.uint8))], (3, 3), "u1", nodata=0, name="cluster")
    >>> [(row, col, values.shape) for row, col, values in read_windows(path, 2)]
    [(0, 0, (2, 2)), (0, 2, (2, 1)), (2, 0, (1, 2)), (2, 2, (1, 1))]
    """
    yield from _windows(Path(path), size)


def _windows(path: Path, size: int, **options: Any) -> Iterator[tuple[int, int, NDArray[Any]]]:
    import rasterio
    from rasterio.windows import Window

    with damage_reported(path):
        with _gdal():
            source = rasterio.open(path, driver="GTiff", **options)
        try:
            for row in range(0, source.height, size):
                for col in range(0, source.width, size):
                    height, width = min(size, source.height - row), min(size, source.width - col)
                    # Not across the yield: whoever reads may stop, and GDAL's settings would stay.
                    with _gdal():
                        values = source.read(1, window=Window(col, row, width, height))
                    yield row, col, values
        finally:
            source.close()


@contextmanager
def _gdal() -> Iterator[None]:
    """Let GDAL work in little memory, on one thread, and leave no files of its own."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    settings = {"GDAL_CACHEMAX": _CACHE, "GDAL_NUM_THREADS": "1", "GDAL_PAM_ENABLED": "NO"}
    with warnings.catch_warnings(), rasterio.Env(**settings):
        # An image without a place on the ground is no fault of ours.
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        yield


@contextmanager
def _said_as_ours(called: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(called, error) from error


@contextmanager
def _workplace(target: Path, called: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a hidden folder beside the target, which goes with all that GDAL may leave in it."""
    with _said_as_ours(called):
        folder = Path(tempfile.mkdtemp(prefix=".spectrawalk-", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lay_out(
    path: Path,
    blocks: Iterable[tuple[int, int, NDArray[Any]]],
    shape: tuple[int, int],
    kind: np.dtype[Any],
    called: str | os.PathLike[str],
) -> None:
    """Write the blocks to their places in a plain file of rows.

    Not with GDAL. Its GeoTIFF would compress a tile again for each block that fills a part of it,
    and grow each time; and it may lose a tile on a full disk and say nothing. A plain file has
    neither fault. Only what is done with the file is an error of writing: the blocks, which are
    computed or read meanwhile, have errors of their own.
    """
    missing = shape[0] * shape[1]
    with _said_as_ours(called):
        file = path.open("wb", buffering=0)  # an error shall come with the block, not with close
    with file:
        with _said_as_ours(called):
            # Now, not after hours of work; and again when it is needed.
            _check_room(path.parent, shape, kind, _ROOM + 1)
        for row, col, values in blocks:
            rows, cols = values.shape
            if not (0 <= row <= shape[0] - rows and 0 <= col <= shape[1] - cols):
                raise DataError(
                    f"a block of {rows} x {cols} pixels at row {row} and column {col} lies outside "
                    f"the {shape[0]} x {shape[1]} pixels of '{called}'."
                )
            missing -= values.size
            # Whole rows lie together in the file.
            lines = values.astype(kind, order="C", casting="same_kind").reshape(
                (1, -1) if cols == shape[1] else values.shape
            )
            with _said_as_ours(called):
                for place, line in enumerate(lines, start=row):
                    file.seek((place * shape[1] + col) * kind.itemsize)
                    _write(file, line)
        with _said_as_ours(called):
            file.close()  # network drives tell of a full disk here
    if missing > 0:
        raise DataError(f"the blocks leave out {missing:,} pixels of '{called}'.")


def _write(file: FileIO, line: NDArray[Any]) -> None:
    rest = line.view(np.uint8).data
    while rest:  # the system may take a part, and says why when it is given the rest
        rest = rest[file.write(rest) :]


def _check_room(folder: Path, shape: tuple[int, int], kind: np.dtype[Any], times: int) -> None:
    """Refuse a disk on which GDAL might run out of room.

    Libtiff then prints lines of its own, and GDAL does not always fail. So this asks for as much as
    an image takes that cannot be compressed.
    """
    room = times * shape[0] * shape[1] * kind.itemsize + _REST
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(room)  # takes no room, but finds limits of a file's size
    if shutil.disk_usage(folder).free < room:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _virtual_raster(
    shape: tuple[int, int],
    kind: np.dtype[Any],
    nodata: float,
    name: str,
    crs: str | None,
    transform: Transform | None,
    colors: dict[int, tuple[int, int, int, int]] | None,
) -> bytes:
    """Tell GDAL, in its own XML, how the plain file is laid out and what belongs into the map."""
    import rasterio

    rows, cols = shape
    root = ElementTree.Element("VRTDataset", rasterXSize=str(cols), rasterYSize=str(rows))
    if crs is not None:
        ElementTree.SubElement(root, "SRS").text = rasterio.CRS.from_user_input(crs).to_wkt()
    if transform is not None:
        # GDAL begins with the corner.
        a, b, c, d, e, f = map(float, transform)
        ElementTree.SubElement(root, "GeoTransform").text = ", ".join(map(repr, (c, a, b, f, d, e)))
    band = ElementTree.SubElement(
        root,
        "VRTRasterBand",
        dataType=_GDAL_TYPES[kind.name],
        band="1",
        subClass="VRTRawRasterBand",
        blockXSize=str(cols),
    )
    details = {
        "Description": name,
        "NoDataValue": repr(float(nodata)),
        "ImageOffset": "0",
        "PixelOffset": str(kind.itemsize),
        "LineOffset": str(kind.itemsize * cols),
        "ByteOrder": "LSB",
    }
    for tag, text in details.items():
        ElementTree.SubElement(band, tag).text = text
    ElementTree.SubElement(band, "SourceFilename", relativeToVRT="1").text = _PIXELS
    if colors is not None:
        ElementTree.SubElement(band, "ColorInterp").text = "Palette"
        table = ElementTree.SubElement(band, "ColorTable")
        for value in range(max(colors) + 1):
            color = colors.get(value, (0, 0, 0, 255))
            parts = {f"c{place}": str(part) for place, part in enumerate(color, start=1)}
            ElementTree.SubElement(table, "Entry", parts)
    return ElementTree.tostring(root, encoding="utf-8")


def _copy(source: Path, made: Path, options: dict[str, Any]) -> None:
    from rasterio.shutil import copy

    try:
        with _gdal():
            # In one call, so that Ctrl-C is heard at its end only, after about 5 s for each 100
            # million pixels. On one thread, so that the bytes cannot depend on which is faster.
            copy(str(source), str(made), driver="COG", bigtiff="if_safer", num_threads=1, **options)
    except Exception as error:  # rasterio has a dozen kinds, of which few are OSErrors
        raise OSError(str(error)) from error


def _compare(made: Path, pixels: Path, shape: tuple[int, int], kind: np.dtype[Any]) -> None:
    """Read all of the new file: GDAL may end a file early, or leave out a tile, and say nothing."""
    import rasterio

    try:
        with _gdal(), rasterio.open(made) as raster:
            n_overviews = len(raster.overviews(1))
        for row, col, values in _windows(made, _TILE):
            # Mapped anew each time, or the pages that were read would stay in memory.
            image = np.memmap(pixels, kind, "r", shape=shape)
            expected = image[row : row + values.shape[0], col : col + values.shape[1]]
            if values.astype(kind, copy=False).tobytes() != expected.tobytes():
                raise OSError("GDAL lost pixels and said nothing")
        for level in range(n_overviews):
            for _ in _windows(made, _TILE, overview_level=level):
                pass
    except FileError as error:
        raise OSError(str(error)) from error
