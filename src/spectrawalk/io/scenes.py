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
    metadata: Mapping[str, Any] | None = None,
    **details: Any,
) -> Scene:
    """Make a Scene of `cube` with its unusable pixels masked.

    A pixel is masked if any of its bands is NaN or infinite, or all of them are zero; how many of
    each there are is in ``metadata`` as ``masked_not_finite`` and ``masked_all_zero``. Every reader
    ends here, so that the same cube gives the same bytes whatever file it came from.

    Parameters
    ----------
    cube : ndarray of shape (rows, cols, bands)
    name : str
        Name of the scene.
    source : str
        What to call the origin of the cube in an error.
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
    (2, {'masked_not_finite': 1, 'masked_all_zero': 1})
    """
    # Rows first in memory and the machine's byte order: what the numba kernels take.
    cube = np.ascontiguousarray(cube, dtype=cube.dtype.newbyteorder("="))
    finite = np.ones(cube.shape[:2], dtype=bool)
    if cube.dtype.kind == "f":
        finite = np.isfinite(cube).all(axis=2)
    nonzero = cube.any(axis=2)
    usable = finite & nonzero
    mask = usable if details.get("mask") is None else usable & details["mask"]
    if not mask.any():
        raise FileError(
            f"{source} has no usable pixel: all {mask.size} are masked, not finite or zero in "
            "every band; check that it is the right file and variable."
        )
    record = {
        **(metadata or {}),
        "masked_not_finite": int(np.count_nonzero(~finite)),
        "masked_all_zero": int(np.count_nonzero(~nonzero)),
    }
    return Scene(cube, name=name, metadata=record, **{**details, "mask": mask})
