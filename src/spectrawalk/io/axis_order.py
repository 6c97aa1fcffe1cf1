"""Whether an array that was read as (rows, cols, bands) rather has its bands first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.scene.usability import equals

_SAMPLE = 1_000_000  # values looked at
_SOME, _MOST = 0.05, 0.5  # of the variance
_MUCH_LESS = 0.2  # of what the other axis explains


def seems_bands_first(
    cube: NDArray[np.generic], shape: tuple[int, ...], nodata: float | None = None
) -> bool:
    """Whether the first axis looks like the bands, and the last one does not.

    All pixels share much of their spectrum, so that the mean of a band depends on the band, while
    the mean of a row depends little on the row. In four published scenes the bands explain 41 to
    99.5 % of the variance in this way, and rows 0 to 3 %. Two axes of one length are most likely
    those of the image.

    Parameters
    ----------
    cube : ndarray of shape (rows, cols, bands)
        As it was read, the whole or a part.
    shape : tuple of int
        Of the whole cube.
    nodata : float, optional
        Value that stands for no data.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.datasets import make_scene
    >>> cube = make_scene((30, 40), n_bands=50).cube
    >>> seems_bands_first(cube, cube.shape)
    False
    >>> gdal = np.moveaxis(cube, 2, 0)
    >>> seems_bands_first(gdal, gdal.shape)
    True
    """
    n_rows, n_cols, n_bands = shape
    if min(shape) == 1 or n_rows == n_cols:
        return False
    sample = _sample(cube, nodata)
    if np.nanmin(sample, initial=1) >= np.nanmax(sample, initial=-1):
        return False  # one value, or none
    by_row, by_band = _explained(sample, axis=0), _explained(sample, axis=2)
    if n_cols == n_bands:
        return by_band <= max(by_row, _SOME)
    return by_row > _MOST and by_band < _MUCH_LESS * by_row


def _sample(cube: NDArray[np.generic], nodata: float | None) -> NDArray[np.float64]:
    """Take every n-th value along each axis, scaled to -1 to 1; NaN where there is no data."""
    step = max(1, int(np.ceil((cube.size / _SAMPLE) ** (1 / 3))))
    some = cube[::step, ::step, ::step]
    known = np.isfinite(some) if some.dtype.kind == "f" else np.ones(some.shape, dtype=bool)
    if nodata is not None:
        known &= ~equals(some, nodata)
    sample = np.where(known, some, np.nan).astype(np.float64)
    peak = np.abs(sample[known]).max(initial=0)
    return sample / peak if peak > 0 else sample


def _explained(sample: NDArray[np.float64], axis: int) -> float:
    """Share of the variance that the place along an axis explains, from 0 to 1."""
    known = np.isfinite(sample)
    others = tuple({0, 1, 2} - {axis})
    counts = known.sum(axis=others)
    sums = np.where(known, sample, 0).sum(axis=others)
    mean = sums.sum() / max(counts.sum(), 1)
    total = float(np.square(sample[known] - mean).sum())
    between = counts * np.square(sums / np.maximum(counts, 1) - mean)
    return float(between.sum()) / total if total > 0 else 0.0
