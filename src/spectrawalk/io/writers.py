"""Write cluster maps: 0 is no data and clusters count from 1."""

from __future__ import annotations

import os
from io import BytesIO

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.io.atomic import atomic_path
from spectrawalk.results.cluster_map import file_codes

_PALETTE_SIZE = 256


def write_labels_npy(path: str | os.PathLike[str], labels: ArrayLike) -> None:
    """Write labels as a ``.npy`` array of the smallest unsigned integers that hold them.

    Parameters
    ----------
    path : path
        File to write, whole or not at all.
    labels : array of int
        Cluster of each pixel, 0..K-1, and -1 where masked; in the file 1..K and 0.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/labels.npy"
    >>> write_labels_npy(path, [[0, 1], [-1, 1]])
    >>> np.load(path)
    array([[1, 2],
           [0, 2]], dtype=uint8)
    """
    with atomic_path(path) as temporary:
        temporary.write_bytes(labels_npy(labels))


def labels_npy(labels: ArrayLike) -> bytes:
    """Encode labels as :func:`write_labels_npy` writes them."""
    file = BytesIO()
    np.save(file, file_codes(labels), allow_pickle=False)
    return file.getvalue()


def write_labels_png(path: str | os.PathLike[str], labels: ArrayLike, colors: ArrayLike) -> None:
    """Write labels as an indexed PNG, one pixel per pixel.

    Parameters
    ----------
    path : path
        File to write, whole or not at all.
    labels : array of int, shape (rows, cols)
        Cluster of each pixel, 0..K-1, and -1 where masked. In the file the index is one higher, and
        index 0 is transparent.
    colors : array of uint8, shape (K, 3)
        Red, green and blue of each cluster; at most 255.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> path = tempfile.mkdtemp() + "/map.png"
    >>> write_labels_png(path, [[0, 1, -1]], [[255, 0, 0], [0, 0, 255]])
    >>> np.asarray(Image.open(path).convert("RGBA"))[0].tolist()
    [[255, 0, 0, 255], [0, 0, 255, 255], [0, 0, 0, 0]]
    """
    content = labels_png(labels, colors)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def labels_png(labels: ArrayLike, colors: ArrayLike) -> bytes:
    """Encode labels as :func:`write_labels_png` writes them."""
    codes = file_codes(labels)
    palette = np.asarray(colors)
    if codes.ndim != 2 or codes.size == 0:
        raise DataError(f"the labels have shape {codes.shape}; a picture needs (rows, cols).")
    if palette.ndim != 2 or palette.shape[1] != 3 or palette.min(initial=0) < 0:
        raise ParameterError(f"colors has shape {palette.shape}; give (K, 3) values of 0 to 255.")
    if palette.dtype.kind not in "ui" or palette.max(initial=0) > 255:
        raise ParameterError("colors holds values that are not whole numbers from 0 to 255.")
    if codes.max() > len(palette):
        raise ParameterError(
            f"colors has {len(palette)} rows for {codes.max()} clusters; give one row for each."
        )
    if len(palette) >= _PALETTE_SIZE:
        raise ParameterError(
            f"colors has {len(palette)} rows, but an indexed PNG holds {_PALETTE_SIZE - 1} "
            "clusters and no data; write the labels as .npy instead."
        )
    picture = Image.fromarray(codes.astype(np.uint8))
    picture.putpalette([0, 0, 0, *palette.ravel().tolist()])
    file = BytesIO()
    picture.save(file, format="PNG", transparency=0)
    return file.getvalue()
