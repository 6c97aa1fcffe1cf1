"""Source: a scene that is read by window, the same pixels whatever the windows are."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.datasets import load_scene
from spectrawalk.errors import SceneWarning
from spectrawalk.io.reading import read_scene, read_window
from spectrawalk.scene import Orthorectification, Scene
from spectrawalk.scene.usability import empty_bands, equals, unusable_pixels


@dataclass(frozen=True)
class Source:
    """Where a scene is, which part of it is wanted, and which bands and pixels can be used.

    It holds a few numbers only, so that it can be sent to another process.

    Attributes
    ----------
    path : str
        File, or name of a published scene.
    shape : (int, int)
        Rows and columns of the wanted part.
    corner : (int, int)
        First row and column of it in the file.
    variable, nodata, bands_first
        As for :func:`spectrawalk.read_scene`.
    mask_file : str or None
        NumPy array of bool in the shape of the part: True where pixels may be used.
    counting : tuple of int
        Bands in which a usable pixel has a value, counted from 0: neither bad nor empty.
    kept : tuple of int
        Bands that are used. Empty before the survey has chosen them.
    full : float or None
        Value at which the sensor is full.
    at_least : bool
        Whether larger values than `full` are saturated too.
    """

    path: str
    shape: tuple[int, int]
    corner: tuple[int, int] = (0, 0)
    variable: str | None = None
    nodata: float | None = None
    bands_first: bool = False
    mask_file: str | None = None
    counting: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    full: float | None = None
    at_least: bool = False

    @property
    def name(self) -> str:
        """What to call the scene."""
        return Path(self.path).stem

    @property
    def is_file(self) -> bool:
        """Whether it is a file or folder, not a published scene."""
        return Path(self.path).exists()

    @property
    def n_pixels(self) -> int:
        """Pixels of the part, masked ones included."""
        return self.shape[0] * self.shape[1]

    def read_raw(self, rows: slice, cols: slice) -> Scene:
        """Read a window of the part, with all bands; pixels outside the mask are masked.

        Pixels are masked as in a scene that is read as a whole, but for bands that hold a value
        elsewhere and none in this window: see :meth:`read`.
        """
        top, left = self.corner
        in_file = (
            slice(top + rows.start, top + rows.stop),
            slice(left + cols.start, left + cols.stop),
        )
        if self.is_file:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SceneWarning)  # given once, for the whole file
                scene = read_window(
                    self.path,
                    *in_file,
                    variable=self.variable,
                    nodata=self.nodata,
                    bands_first=self.bands_first,
                )
        else:
            scene = _window_of(_published(self.path), *in_file)
        if self.mask_file is None:
            return scene
        allowed = np.load(self.mask_file, mmap_mode="r")[rows, cols]
        return replace(scene, mask=scene.mask & allowed)

    def read(self, rows: slice, cols: slice) -> Scene:
        """Read a window of the part: the bands that are used, unusable pixels masked."""
        scene = self.read_raw(rows, cols)
        nodata = scene.metadata.get("nodata")
        mask = scene.mask
        if empty_bands(scene.cube, nodata=nodata)[list(self.counting)].any():
            mask = np.zeros_like(mask)  # each pixel lacks a value that pixels elsewhere have
        scene = replace(scene.select_bands(list(self.kept)), mask=mask)
        reasons = unusable_pixels(scene.cube, nodata=nodata)
        mask = mask & ~np.logical_or.reduce(list(reasons.values()))
        return replace(scene, mask=mask & ~self.saturated(scene.cube))

    def saturated(self, cube: NDArray[Any]) -> NDArray[np.bool_]:
        """Pixels that are saturated in any of the bands, in the shape of the image."""
        if self.full is None:
            return np.zeros(cube.shape[:-1], dtype=bool)
        reached = cube >= self.full if self.at_least else equals(cube, self.full)
        return np.asarray(reached.any(axis=-1))


def open_source(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    nodata: float | None = None,
    bands_first: bool = False,
) -> Source:
    """Open a scene that is read by window; parameters as for :func:`spectrawalk.read_scene`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = tempfile.mkdtemp() + "/field.npy"
    >>> np.save(path, np.ones((40, 50, 30), dtype=np.uint16))
    >>> open_source(path).shape
    (40, 50)
    """
    name = os.fspath(path)
    name = os.path.abspath(name) if Path(name).exists() else name
    shape, _ = whole_shape(name, variable=variable, nodata=nodata, bands_first=bands_first)
    return Source(name, shape, (0, 0), variable, nodata, bands_first)


def lookup_of(source: Source, pixel: Scene) -> Orthorectification | None:
    """How a scene is laid out on its map; None if it is not in the geometry of the sensor.

    `pixel` is any window of the scene.
    """
    if pixel.orthorectify is None:
        return None
    (top, left), (n_rows, n_cols) = source.corner, source.shape
    is_part = source.shape != pixel.metadata["window_of"]  # whose map is cut to the part
    one_band = read_scene(
        source.path,
        nodata=source.nodata,
        rows=slice(top, top + n_rows) if is_part else None,
        cols=slice(left, left + n_cols) if is_part else None,
        bands=[source.kept[0]],
    )
    return one_band.orthorectify


def whole_shape(
    path: str,
    *,
    variable: str | None = None,
    nodata: float | None = None,
    bands_first: bool = False,
) -> tuple[tuple[int, int], Scene]:
    """Rows and columns of an image, and its first pixel, without reading more."""
    if not Path(path).exists():
        scene = _published(path)
        return scene.shape, _window_of(scene, slice(0, 1), slice(0, 1))
    pixel = slice(0, 1)
    scene = read_window(
        path, pixel, pixel, variable=variable, nodata=nodata, bands_first=bands_first
    )
    return scene.metadata["window_of"], scene


@lru_cache(maxsize=1)
def _published(name: str) -> Scene:
    return load_scene(name)


def _window_of(scene: Scene, rows: slice, cols: slice) -> Scene:
    """Cut a window out of a scene in memory; unlike ``crop``, it may have no valid pixel."""
    return replace(
        scene,
        cube=scene.cube[rows, cols],
        mask=scene.mask[rows, cols],
        ground_truth=None,
        transform=None,
        orthorectify=None,
        metadata={"nodata": scene.metadata.get("nodata")},
    )
