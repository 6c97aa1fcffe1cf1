"""Before Algorithm 1: take the valid pixels out of an image and scale their spectra."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.scene import Scene

NORMALIZATIONS = ("pixel", "global", "band", None)

_SAME = 1e-12
"""Spectra that differ by less than this share of the largest value differ by rounding only."""


@dataclass(frozen=True)
class Pixels:
    """The valid pixels of an image (or the rows of a table) and where they came from.

    Attributes
    ----------
    spectra : ndarray of float64, shape (n, bands)
    mask : ndarray of bool, shape (rows, cols), or (samples,) for a table
        True where a pixel is valid; `spectra` follows its True entries in C order.
    """

    spectra: NDArray[np.float64]
    mask: NDArray[np.bool_]

    @property
    def is_image(self) -> bool:
        """Whether the pixels lie in an image; the rows of a table have no place in space."""
        return self.mask.ndim == 2

    @property
    def flat_index(self) -> NDArray[np.intp]:
        """Flat image index of each valid pixel, shape (n,)."""
        return np.flatnonzero(self.mask)

    def to_image(self, values: NDArray[Any], fill: float) -> NDArray[Any]:
        """Spread one entry per valid pixel over the image, `fill` where masked."""
        image = np.full(self.mask.shape + values.shape[1:], fill, dtype=values.dtype)
        image[self.mask] = values
        return image


def take_pixels(X: Any, mask: Any = None) -> Pixels:
    """Take the valid pixels out of a cube, a Scene or a table.

    Parameters
    ----------
    X : Scene, array of shape (rows, cols, bands), or array of shape (samples, bands)
    mask : array of bool, optional
        True where a pixel is valid; one value per pixel. With a Scene, valid pixels are those that
        both masks call valid.

    Examples
    --------
    >>> import numpy as np
    >>> pixels = take_pixels(np.ones((2, 3, 4)), mask=[[True, False, True], [True, True, True]])
    >>> pixels.spectra.shape
    (5, 4)
    """
    if isinstance(X, Scene):
        cube, valid = X.cube, X.mask
    else:
        cube = np.asarray(X)
        valid = np.ones(cube.shape[:-1], dtype=bool)
    if cube.ndim not in (2, 3):
        raise DataError(
            f"the data have {cube.ndim} dimensions, shape {cube.shape}; give a cube of shape "
            "(rows, cols, bands) or a table of shape (samples, bands)."
        )
    if mask is not None:
        mask = np.asarray(mask)
        if mask.shape != valid.shape:
            raise DataError(
                f"the mask has shape {mask.shape} but the data have {valid.shape} pixels; "
                "give one value per pixel, True where it is valid."
            )
        if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
            raise DataError("the mask holds values other than 0 and 1; give True where valid.")
        valid = valid & mask.astype(bool)
    if cube.dtype.kind not in "buif":
        raise DataError(f"the data are of type {cube.dtype}; give real numbers.")
    spectra = np.ascontiguousarray(cube[valid], dtype=np.float64)
    _check_spectra(spectra, n_masked=valid.size - len(spectra))
    return Pixels(spectra, valid)


def take_input(estimator: BaseEstimator, X: Any, mask: Any) -> Pixels:
    """Take the pixels out of what was given to ``estimator.fit``, and note their bands there.

    Tables go through scikit-learn's own checks, so that names of columns, sparse matrices and the
    like are met as users of scikit-learn expect.
    """
    if isinstance(X, (str, PathLike)):
        raise DataError(
            f"'{X!s}' is the name of a file, not data; give spectrawalk.read_scene({str(X)!r})."
        )
    if isinstance(X, Scene) or np.ndim(X) >= 3:
        pixels = take_pixels(X, mask)
        estimator.n_features_in_ = pixels.spectra.shape[1]
        return pixels
    try:
        # Masked rows may hold anything, so that what is finite is checked after masking.
        table = validate_data(
            estimator, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0
        )
    except ValueError as error:
        raise DataError(str(error).splitlines()[0]) from None
    return take_pixels(table, mask)


def _check_spectra(spectra: NDArray[np.float64], n_masked: int) -> None:
    n, n_bands = spectra.shape
    if n == 0:
        raise DataError(
            f"there is no valid pixel (n_samples = 0): all {n_masked} are masked."
            if n_masked
            else "there is no pixel at all (n_samples = 0): the image is empty."
        )
    if n_bands == 0:
        raise DataError("0 feature(s): the data have no band, while a minimum of 2 is required.")
    if n_bands == 1:
        raise DataError(
            "1 feature(s): the data have a single band, and a spectrum needs at least 2; "
            "check that the bands are the last axis."
        )
    if n == 1:
        raise DataError("there is only one valid pixel (1 sample); clustering needs at least 2.")
    bad = n - np.count_nonzero(np.isfinite(spectra).all(axis=1))
    if bad:
        raise DataError(
            f"{bad} of {n} valid pixels hold NaN or infinite values (NaN, inf); leave them out "
            "with `mask`, for example mask=np.isfinite(cube).all(axis=2)."
        )


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
    if how not in NORMALIZATIONS:
        raise ParameterError(
            f"normalize={how!r} is not known; choose one of 'pixel', 'global', 'band' or None."
        )
    if how is None:
        return X
    # Dividing by the largest value first keeps the squares of very large or small values finite.
    peak = float(np.abs(X).max())
    if peak == 0:
        return X
    X = X / peak
    if how == "global":
        return X / np.sqrt(np.square(X).sum(axis=1)).mean()
    axis = 1 if how == "pixel" else 0
    length = np.sqrt(np.square(X).sum(axis=axis, keepdims=True))
    return X / np.where(length > 0, length, 1.0)


def check_distinct(X: NDArray[np.float64], normalize: str | None) -> None:
    """Refuse pixels that are all the same: they have no clusters, only rounding errors."""
    if np.ptp(X, axis=0).max() <= _SAME * np.abs(X).max():
        after = "" if normalize is None else f" after normalize={normalize!r}"
        raise DataError(
            f"all {len(X)} valid pixels have the same spectrum{after}, so there is nothing to "
            "cluster; check that the right variable and bands were read."
        )


def add_jitter(X: NDArray[np.float64], scale: float, seed: int) -> NDArray[np.float64]:
    """Add Gaussian noise of standard deviation `scale`, to tell identical pixels apart."""
    if scale == 0:
        return X
    return X + np.random.default_rng(seed).normal(scale=scale, size=X.shape)
