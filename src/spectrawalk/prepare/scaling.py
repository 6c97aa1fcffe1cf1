"""Scale the spectra, and check that distances between them can be computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.parameters import check_choice

ROWS = 16_384
"""Number of spectra that are scaled at a time."""

NORMALIZATIONS = ("pixel", "global", "band", None)

_SAME = 1e-12
"""Differences below this share of the largest value are rounding errors."""

_SQUARABLE = 1e140
"""Values up to this, and differences from 1 / this on, can be squared and summed over an image."""


@dataclass(frozen=True)
class Scaling:
    """Scaling of the spectra of one image, which can also be applied to another image.

    Values are divided by `peak`, then by `length`. The peak is a power of two close to the largest
    value. It keeps the squares of very large and very small values finite, and causes no rounding
    error.

    Attributes
    ----------
    how : {"pixel", "global", "band", None}
    peak, length : ndarray, one value, or one per band
        Both are 1 for ``"pixel"``, which scales each spectrum separately, and for None.
    """

    how: str | None
    peak: NDArray[np.float64]
    length: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], how: str | None) -> Scaling:
        """Find the scaling of the spectra X, shape (n, bands)."""
        check_choice("normalize", how, NORMALIZATIONS)
        peak, length = np.ones(()), np.ones(())
        if how == "global":
            peak = power_of_two(_largest(X, axis=None))
            mean = np.sqrt(np.square(X / peak).sum(axis=1)).mean()
            length = np.asarray(mean if mean > 0 else 1.0)
        elif how == "band":
            peak = power_of_two(_largest(X, axis=0))
            length = _lengths(X / peak, axis=0)
        return cls(how, peak, length)

    def apply(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale the spectra X, shape (n, bands), of this image or another one."""
        if self.how is None:
            return X
        if self.how == "pixel":
            scaled = np.empty_like(X)
            for start in range(0, len(X), ROWS):  # avoids another copy of a large image
                some = X[start : start + ROWS]
                some = some / power_of_two(_largest(some, axis=1))[:, None]
                scaled[start : start + ROWS] = some / _lengths(some, axis=1)[:, None]
            return scaled
        with np.errstate(over="ignore"):  # another image can be far brighter
            return X / self.peak / self.length


def normalize_spectra(X: NDArray[np.float64], how: str | None) -> NDArray[np.float64]:
    """Scale the spectra (algorithm.md, section 0).

    Parameters
    ----------
    X : ndarray of shape (n, bands)
    how : {"pixel", "global", "band", None}
        ``"pixel"``: each spectrum has unit length; an all-zero spectrum does not change.
        ``"global"``: all values are divided by the mean length of the spectra. ``"band"``: each
        band has unit length over the pixels. None: the values do not change.

    Examples
    --------
    >>> import numpy as np
    >>> normalize_spectra(np.array([[3.0, 4.0], [0.0, 0.0]]), "pixel")
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return Scaling.of(X, how).apply(X)


def _largest(X: NDArray[np.float64], axis: int | None) -> NDArray[np.float64]:
    """Largest absolute value along an axis, without a copy of all values."""
    return np.maximum(X.max(axis=axis), -X.min(axis=axis))


def power_of_two(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest power of two that is at most each value; 1 for 0."""
    _, exponent = np.frexp(values)
    return np.where(values > 0, np.ldexp(1.0, exponent - 1), 1.0)


def _lengths(X: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Euclidean lengths along an axis; 1 in place of 0, to divide by."""
    length = np.sqrt(np.square(X).sum(axis=axis))
    return np.where(length > 0, length, 1.0)


def check_distinct(X: NDArray[np.float64], normalize: str | None) -> None:
    """Raise an error if all spectra are the same, or if squared distances exceed float64."""
    after = "" if normalize is None else f" after normalize={normalize!r}"
    largest = float(_largest(X, axis=None))
    if largest > _SQUARABLE:
        raise DataError(
            f"values up to {largest:.3g}{after} give squared distances that are too large for "
            "float64; scale them down, or use normalize='pixel'."
        )
    _check_outliers(X, after)
    spread = float(np.ptp(X, axis=0).max())
    if spread <= _SAME * largest:
        raise DataError(
            f"all {len(X)} valid pixels have the same spectrum{after}, so there is nothing to "
            "cluster; check that you read the right variable and bands."
        )
    if spread < 1 / _SQUARABLE:
        raise DataError(
            f"values that differ by at most {spread:.3g}{after} give squared distances that are "
            "too small for float64; scale them up, or use normalize='pixel'."
        )


def _check_outliers(X: NDArray[np.float64], after: str) -> None:
    """Raise an error for values so large that all others are below their rounding error."""
    sizes = _largest(X, axis=1)
    typical = float(np.median(sizes[sizes > 0])) if sizes.any() else 0.0
    n_outliers = np.count_nonzero(sizes > typical / _SAME)
    if n_outliers:
        raise DataError(
            f"{n_outliers} of {len(X)} valid pixels have values up to {sizes.max():.3g}{after}, "
            f"and the median is {typical:.3g}; if these values mean no data, exclude the pixels "
            "with `mask`."
        )


def add_jitter(X: NDArray[np.float64], scale: float, seed: int) -> NDArray[np.float64]:
    """Add Gaussian noise of standard deviation `scale`, so that no two pixels are identical."""
    if scale == 0:
        return X
    with np.errstate(over="ignore"):
        noisy = X + np.random.default_rng(seed).normal(scale=scale, size=X.shape)
    if not np.isfinite(noisy).all():
        raise ParameterError(
            f"jitter={scale:.3g} gives values that are too large for float64; give a value below "
            "the noise of the sensor."
        )
    return noisy
