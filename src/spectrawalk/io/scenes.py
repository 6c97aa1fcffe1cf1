"""From a cube to a Scene: memory layout and the pixels that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.selection import Selection
from spectrawalk.scene import Orthorectification, Scene, Transform, move_transform
from spectrawalk.scene.usability import constant_pixels, count_masked, empty_bands, unusable_pixels


def scene_from_cube(
    cube: NDArray[Any],
    *,
    name: str,
    source: str,
    nodata: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    may_be_empty: bool = False,
    **details: Any,
) -> Scene:
    """Make a Scene of `cube` with its unusable pixels masked.

    A pixel is masked if any of its bands is NaN, infinite or the `nodata` value, or all of them are
    zero; how many of each there are is in ``metadata`` as ``masked_not_finite``, ``masked_nodata``
    and ``masked_all_zero``, and as ``masked_by_source`` where only a given ``mask`` says so. Pixels
    that hold another value in every band are suspicious, but may be right:
    ``constant_pixels`` counts them and ``constant_value`` is the commonest of their values.
    Bands that ``good_bands`` calls bad say nothing about a pixel; those that hold no usable value
    at all are called bad.
    Every reader ends here, so that the same cube gives the same bytes whatever file it came from.

    Parameters
    ----------
    cube : ndarray of shape (rows, cols, bands)
    name : str
        Name of the scene.
    source : str
        What to call the origin of the cube in an error.
    nodata : float, optional
        Value that stands for no data.
    metadata : mapping, optional
        What else to record.
    may_be_empty : bool
        Whether a cube without a usable pixel is a scene, too.
    **details
        Further attributes of :class:`~spectrawalk.Scene`. A ``mask`` among them masks more pixels.

    Examples
    --------
    >>> import numpy as np
    >>> cube = np.ones((2, 2, 3))
    >>> cube[0, 0] = 0
    >>> cube[1, 1, 2] = np.nan
    >>> scene = scene_from_cube(cube, name="tiny", source="an example")
    >>> scene.n_valid, scene.metadata
    (2, {'masked_not_finite': 1, 'masked_all_zero': 1, 'constant_pixels': 2, 'constant_value': 1.0})
    """
    # Rows first in memory and the machine's byte order: what the numba kernels take.
    cube = np.ascontiguousarray(cube, dtype=cube.dtype.newbyteorder("="))
    if nodata is not None:
        metadata = {**(metadata or {}), "nodata": nodata}
    good_bands = details.get("good_bands")
    reasons = unusable_pixels(cube, nodata=nodata, bands=good_bands)
    mask = ~np.logical_or.reduce(list(reasons.values()))
    if details.get("mask") is not None:
        mask &= details["mask"]
    if not mask.any() and not may_be_empty:
        raise FileError(
            f"{source} has no usable pixel: all {mask.size} are masked, not finite or zero in "
            "every band; check that it is the right file and variable."
        )
    record = {
        **(metadata or {}),
        **count_masked(mask, reasons),
        **constant_pixels(cube, mask),
    }
    empty = empty_bands(cube, nodata=nodata)
    if empty.any():
        details["good_bands"] = ~empty if good_bands is None else good_bands & ~empty
    return Scene(cube, name=name, metadata=record, **{**details, "mask": mask})


def scene_from_part(
    cube: NDArray[Any],
    selection: Selection,
    *,
    path: Path,
    metadata: Mapping[str, Any],
    nodata: float | None = None,
    mask: NDArray[np.bool_] | None = None,
    wavelengths: NDArray[np.float64] | None = None,
    fwhm: NDArray[np.float64] | None = None,
    good_bands: NDArray[np.bool_] | None = None,
    band_names: tuple[str, ...] | None = None,
    crs: str | None = None,
    transform: Transform | None = None,
    orthorectify: Orthorectification | None = None,
) -> Scene:
    """Make a Scene of the part of an image that was read, and of what is known about the whole.

    `cube` and `mask` are those of the part; all other fields belong to the whole image.
    """
    if orthorectify is not None and selection.is_part:
        orthorectify = orthorectify.crop(selection.rows, selection.cols)
    return scene_from_cube(
        cube,
        name=path.stem,
        source=f"'{path}'",
        nodata=nodata,
        mask=mask,
        metadata={**metadata, **selection.record},
        may_be_empty=selection.window_of is not None,
        wavelengths=selection.pick(wavelengths),
        fwhm=selection.pick(fwhm),
        good_bands=selection.pick(good_bands),
        band_names=selection.pick(band_names),
        band_numbers=selection.bands + 1,
        crs=crs,
        transform=move_transform(transform, selection.rows.start, selection.cols.start),
        orthorectify=orthorectify,
    )
