"""Scale the spectra, and refuse values that no distance can be computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.parameters import check_choice

ROWS = 16_384
"""Spectra scaled at a time."""

NORMALIZATIONS = ("pixel", "global", "band", None)

_SAME = 1e-12
"""Spectra that differ by less than this share of the largest value differ by rounding only."""

_SQUARABLE = 1e140
"""Values up to this can be squared and summed over any image; so can differences from 1 / this."""


@dataclass(frozen=True)
class Scaling:
    """How the spectra of one image were scaled, so that those of another can be scaled alike.

    Values are divided by `peak`, then by `length`. The peak is a power of two near the largest
    value: it keeps the squares of very large or small values finite, and costs no digit.

    Attributes
    ----------
    how : {"pixel", "global", "band", None}
    peak, length : ndarray, one value, or one per band
        Both 1 where nothing is shared: ``"pixel"`` scales each spectrum by itself.
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
            for start in range(0, len(X), ROWS):  # no further copy of a large image
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
        ``"pixel"``: each spectrum to unit length, an all-zero one stays zero. ``"global"``: all
        values divided by the mean length of a spectrum. ``"band"``: each band to unit length over
        the pixels. None: values as they are.

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
    """Largest power of two that is not above each value; 1 for 0."""
    _, exponent = np.frexp(values)
    return np.where(values > 0, np.ldexp(1.0, exponent - 1), 1.0)


def _lengths(X: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Euclidean lengths along an axis; 1 for 0, so that one can divide by them."""
    length = np.sqrt(np.square(X).sum(axis=axis))
    return np.where(length > 0, length, 1.0)


def check_distinct(X: NDArray[np.float64], normalize: str | None) -> None:
    """Refuse pixels whose distances tell nothing: all the same, or not to be squared in float64."""
    after = "" if normalize is None else f" after normalize={normalize!r}"
    largest = float(_largest(X, axis=None))
    if largest > _SQUARABLE:
        raise DataError(
            f"values as large as {largest:.3g}{after} have distances too large for a number; "
            "scale them down, or use normalize='pixel'."
        )
    _check_outliers(X, after)
    spread = float(np.ptp(X, axis=0).max())
    if spread <= _SAME * largest:
        raise DataError(
            f"all {len(X)} valid pixels have the same spectrum{after}, so there is nothing to "
            "cluster; check that the right variable and bands were read."
        )
    if spread < 1 / _SQUARABLE:
        raise DataError(
            f"values that differ by {spread:.3g} at most{after} have distances too small for a "
            "number; scale them up, or use normalize='pixel'."
        )


def _check_outliers(X: NDArray[np.float64], after: str) -> None:
    """Refuse values beside which all others vanish: they stand for no data."""
    sizes = _largest(X, axis=1)
    typical = float(np.median(sizes[sizes > 0])) if sizes.any() else 0.0
    dwarfing = np.count_nonzero(sizes > typical / _SAME)
    if dwarfing:
        raise DataError(
            f"{dwarfing} of {len(X)} valid pixels hold values up to {sizes.max():.3g}{after}, "
            f"beside which the usual {typical:.3g} is nothing; if they stand for no data, leave "
            "them out with `mask`."
        )


def add_jitter(X: NDArray[np.float64], scale: float, seed: int) -> NDArray[np.float64]:
    """Add Gaussian noise of standard deviation `scale`, to tell identical pixels apart."""
    if scale == 0:
        return X
    with np.errstate(over="ignore"):
        noisy = X + np.random.default_rng(seed).normal(scale=scale, size=X.shape)
    if not np.isfinite(noisy).all():
        raise ParameterError(
            f"jitter={scale:.3g} makes values too large for a number; give a smaller one, below "
            "the noise of the sensor."
        )
    return noisy
