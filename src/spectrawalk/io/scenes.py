"""From a cube to a Scene: memory layout and the pixels that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.scene import Scene


def scene_from_cube(
    cube: NDArray[Any],
    *,
    name: str,
    source: str,
    nodata: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    **details: Any,
) -> Scene:
    """Make a Scene of `cube` with its unusable pixels masked.

    A pixel is masked if any of its bands is NaN, infinite or the `nodata` value, or all of them are
    zero; how many of each there are is in ``metadata`` as ``masked_not_finite``, ``masked_nodata``
    and ``masked_all_zero``. Pixels that hold another value in every band are suspicious, but may be
    right: ``constant_pixels`` counts them and ``constant_value`` is the commonest of their values.
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
    finite = np.ones(cube.shape[:2], dtype=bool)
    if cube.dtype.kind == "f":
        finite = np.isfinite(cube).all(axis=2)
    nonzero = cube.any(axis=2)
    present = np.ones_like(finite) if nodata is None else (cube != nodata).all(axis=2)
    usable = finite & nonzero & present
    mask = usable if details.get("mask") is None else usable & details["mask"]
    if not mask.any():
        raise FileError(f"{source} has no usable pixel: {_why_none(cube)}.")
    record = {
        **(metadata or {}),
        "masked_not_finite": int(np.count_nonzero(~finite)),
        "masked_all_zero": int(np.count_nonzero(~nonzero)),
        **({} if nodata is None else {"masked_nodata": int(np.count_nonzero(~present))}),
        **_constant_pixels(cube, mask),
    }
    return Scene(cube, name=name, metadata=record, **{**details, "mask": mask})


def _constant_pixels(cube: NDArray[Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Count the valid pixels that hold one value in all bands, as files without a mark often do."""
    constant = mask & (cube == cube[:, :, :1]).all(axis=2)
    if not constant.any():
        return {}
    values, counts = np.unique(cube[:, :, 0][constant], return_counts=True)
    return {
        "constant_pixels": int(counts.max()),
        "constant_value": values[counts.argmax()].item(),
    }


def _why_none(cube: NDArray[Any]) -> str:
    """Say why no pixel is left, and what to do."""
    if cube.dtype.kind == "f":
        empty = np.flatnonzero(~np.isfinite(cube).any(axis=(0, 1)))
        if 0 < len(empty) < cube.shape[2]:
            bands = ", ".join(str(band + 1) for band in empty[:8]) + (", ..." * (len(empty) > 8))
            return f"band {bands} is NaN in every pixel; leave such bands out of the file"
    return (
        f"all {cube.shape[0] * cube.shape[1]} are masked, not finite or zero in every band; "
        "check that it is the right file and variable"
    )
