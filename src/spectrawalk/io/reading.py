"""Read a scene or its ground truth from a file of any known format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.formats import HEAD_BYTES, ArrayFormat, Format
from spectrawalk.io.matlab_file import MatlabFile
from spectrawalk.io.numpy_file import NumpyArchive, NumpyFile
from spectrawalk.scene import Scene

FORMATS: tuple[Format, ...] = (NumpyFile(), NumpyArchive(), MatlabFile())


def read_scene(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    nodata: float | None = None,
    bands_first: bool = False,
) -> Scene:
    """Read a hyperspectral cube.

    Parameters
    ----------
    path : path
        A ``.npy``, ``.npz`` or ``.mat`` file (MATLAB version 5 or 7.3) with a cube of shape
        (rows, cols, bands).
    variable : str, optional
        Which array, in a file with several. Not needed if only one has three axes.
    nodata : float, optional
        Value that stands for no data: a pixel with it in any band is masked.
    bands_first : bool
        Whether the array has the shape (bands, rows, cols), as rasterio and GDAL give it.

    Returns
    -------
    Scene
        Named after the file. Pixels with a NaN or infinite band, or zero in all bands, are masked;
        ``metadata`` says how many.

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
    path = Path(path)
    return _find_format(path).read_scene(path, variable, nodata, bands_first)


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
    return _find_format(path).read_ground_truth(path, variable)


def read_array(path: str | os.PathLike[str], variable: str) -> NDArray[Any]:
    """Read one named array of real numbers, of any shape, from a ``.mat`` or ``.npz`` file."""
    path = Path(path)
    file_format = _find_format(path)
    if not isinstance(file_format, ArrayFormat):
        raise FileError(f"'{path}' is {file_format.name}, which has no named arrays.")
    return file_format.read_array(path, file_format.find(path, variable))


def _find_format(path: Path) -> Format:
    """Find the format that both the name and the first bytes of a file speak for."""
    head = _read_head(path)
    suffix = path.suffix.lower()
    by_name = [each for each in FORMATS if suffix in each.extensions]
    if not by_name:
        known = ", ".join(extension for each in FORMATS for extension in each.extensions)
        found = f"the extension '{path.suffix}'" if path.suffix else "no extension"
        raise FileError(
            f"'{path}' has {found}; files that can be read end in {known}, so save the cube as one "
            "of these, rows x cols x bands."
        )
    for each in by_name:
        if each.recognises(head):
            return each
    by_content = [each for each in FORMATS if each.recognises(head)]
    advice = (
        f"it looks like {by_content[0].name}, so rename it to end in {by_content[0].extensions[0]}"
        if by_content
        else "get or write the file again"
    )
    raise FileError(f"'{path}' is named {suffix} but is not {by_name[0].name}; {advice}.")


def _read_head(path: Path) -> bytes:
    if path.is_dir():
        raise FileError(f"'{path}' is a folder; give the file inside it that holds the scene.")
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
