"""Which pixels of a cube can be used, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_VALUES = 4_000_000  # compared at a time, so that no second cube is held in memory


def unusable_pixels(
    cube: NDArray[Any],
    *,
    nodata: float | None = None,
    bands: NDArray[np.bool_] | None = None,
) -> dict[str, NDArray[np.bool_]]:
    """Find the pixels that hold no measurement.

    Parameters
    ----------
    cube : ndarray of shape (rows, cols, bands)
    nodata : float, optional
        Value that stands for no data.
    bands : ndarray of bool, shape (bands,), optional
        Bands that count, all by default. A band without a single usable value never counts: it says
        something about the band, not about the pixels.

    Returns
    -------
    dict of ndarray of bool, shape (rows, cols)
        ``masked_not_finite``: a band is NaN or infinite; ``masked_all_zero``: every band is zero;
        ``masked_nodata``, if `nodata` is given: a band has that value. A pixel may be in several.

    Examples
    --------
    >>> import numpy as np
    >>> cube = np.ones((1, 3, 2))
    >>> cube[0, 0], cube[0, 1, 1] = 0, np.nan
    >>> {why: where.tolist() for why, where in unusable_pixels(cube).items()}
    {'masked_not_finite': [[False, True, False]], 'masked_all_zero': [[True, False, False]]}
    """
    counting = ~empty_bands(cube, nodata=nodata)
    if bands is not None:
        counting &= bands
    if not counting.any():
        counting[:] = True
    reasons = {
        why: np.zeros(cube.shape[:2], dtype=bool)
        for why in ("masked_not_finite", "masked_all_zero", "masked_nodata")
        if why != "masked_nodata" or nodata is not None
    }
    for rows in _blocks(cube):
        block = cube[rows] if counting.all() else cube[rows][:, :, counting]
        if cube.dtype.kind == "f":
            reasons["masked_not_finite"][rows] = ~np.isfinite(block).all(axis=2)
        reasons["masked_all_zero"][rows] = ~block.any(axis=2)
        if nodata is not None:
            reasons["masked_nodata"][rows] = equals(block, nodata).any(axis=2)
    return reasons


def count_masked(
    mask: NDArray[np.bool_], reasons: Mapping[str, NDArray[np.bool_]]
) -> dict[str, int]:
    """Count the pixels that are masked for each reason, and those for none: by their source.

    Examples
    --------
    >>> import numpy as np
    >>> valid = np.array([[True, False, False]])
    >>> count_masked(valid, {"masked_all_zero": np.array([[False, True, False]])})
    {'masked_all_zero': 1, 'masked_by_source': 1}
    """
    counts = {why: int(np.count_nonzero(where)) for why, where in reasons.items()}
    explained = np.logical_or.reduce(list(reasons.values()))
    others = int(np.count_nonzero(~mask & ~explained))
    return counts | ({"masked_by_source": others} if others else {})


def empty_bands(cube: NDArray[Any], *, nodata: float | None = None) -> NDArray[np.bool_]:
    """Find the bands, shape (bands,), that hold no usable value in any pixel.

    Examples
    --------
    >>> import numpy as np
    >>> empty_bands(np.array([[[1.0, np.nan, -9999.0]]]), nodata=-9999)
    array([False,  True,  True])
    """
    empty = np.zeros(cube.shape[2], dtype=bool)
    if cube.dtype.kind != "f" and nodata is None:
        return empty
    empty[:] = True
    for rows in _blocks(cube):
        # Nearly all bands show a usable value in the first block and need no second look.
        block = cube[rows][:, :, empty]
        usable = np.isfinite(block) if cube.dtype.kind == "f" else np.ones(block.shape, dtype=bool)
        if nodata is not None:
            usable &= ~equals(block, nodata)
        empty[empty] = ~usable.any(axis=(0, 1))
        if not empty.any():
            break
    return empty


def equals(array: NDArray[Any], value: float) -> NDArray[np.bool_]:
    """Compare with a value that a header wrote with more or fewer digits than the array's type.

    Examples
    --------
    >>> import numpy as np
    >>> equals(np.array([0.1, 0.2], dtype=np.float32), 0.1)
    array([ True, False])
    """
    if np.isnan(value):
        return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=bool)
    if array.dtype.kind != "f":
        # As an integer it is compared exactly, whatever the two types are.
        whole = np.isfinite(value) and float(value).is_integer()
        same = array == int(value) if whole else np.zeros(array.shape, dtype=bool)
        return np.asarray(same)
    with np.errstate(over="ignore"):
        rounded = array.dtype.type(value)
    return np.asarray(array == rounded)


def constant_pixels(cube: NDArray[Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Count the valid pixels that hold one value in all bands, as files without a mark often do.

    Returns
    -------
    dict
        ``constant_pixels`` and ``constant_value``: the commonest such value and how many pixels
        have it; empty if there is none.
    """
    constant = np.zeros_like(mask)
    for rows in _blocks(cube):
        constant[rows] = mask[rows] & (cube[rows] == cube[rows, :, :1]).all(axis=2)
    if not constant.any():
        return {}
    values, counts = np.unique(cube[:, :, 0][constant], return_counts=True)
    return {
        "constant_pixels": int(counts.max()),
        "constant_value": values[counts.argmax()].item(),
    }


def constant_bands(cube: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find the bands, shape (bands,), that have one value, or none, in all valid pixels.

    Examples
    --------
    >>> import numpy as np
    >>> cube = np.array([[[1, 5], [2, 5], [3, 6]]])
    >>> constant_bands(cube, mask=np.array([[True, True, False]]))
    array([False,  True])
    """
    first = cube[tuple(np.argwhere(mask)[0])] if mask.any() else cube[0, 0]
    constant = np.ones(cube.shape[2], dtype=bool)
    for rows in _blocks(cube):
        if not constant.any():
            break
        spectra = cube[rows][mask[rows]][:, constant]
        constant[constant] = (spectra == first[constant]).all(axis=0)
    return constant | empty_bands(cube)


def _blocks(cube: NDArray[Any]) -> Iterator[slice]:
    rows, cols, bands = cube.shape
    step = max(1, _BLOCK_VALUES // max(1, cols * bands))
    return (slice(start, start + step) for start in range(0, rows, step))
