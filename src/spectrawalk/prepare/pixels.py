"""Extract the valid pixels of an image, and put values per pixel back into an image."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from spectrawalk.errors import DataError, DataTypeError
from spectrawalk.scene import Scene

_ROWS = 16_384
"""Number of spectra that are copied at a time."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Positions of the valid pixels in an image. The rows of a table have no position.

    Attributes
    ----------
    mask : ndarray of bool, shape (rows, cols), or (samples,) for a table
        True where a pixel is valid. Values per pixel follow its True entries in C order.

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid(np.array([[True, False, True]]))
    >>> grid.n_pixels, grid.is_image, grid.to_image(np.array([5, 7]), -1).tolist()
    (2, True, [[5, -1, 7]])
    """

    mask: NDArray[np.bool_]

    @property
    def is_image(self) -> bool:
        """Whether the pixels are from an image, not from a table."""
        return self.mask.ndim == 2

    @property
    def n_pixels(self) -> int:
        """Number of valid pixels, n."""
        return int(np.count_nonzero(self.mask))

    @property
    def flat_index(self) -> NDArray[np.intp]:
        """Flat image index of each valid pixel, shape (n,)."""
        return np.flatnonzero(self.mask)

    def clip(self, radius: int) -> int:
        """Limit a radius to the size of the image, because the kernels use 64-bit integers."""
        return min(int(radius), sum(self.mask.shape))

    def to_image(self, values: NDArray[Any], fill: float) -> NDArray[Any]:
        """Put one value per valid pixel into an image, with `fill` where masked."""
        image = np.full(self.mask.shape + values.shape[1:], fill, dtype=values.dtype)
        image[self.mask] = values
        return image


@dataclass(frozen=True, eq=False)
class Pixels:
    """Spectra of the valid pixels, and their positions.

    Attributes
    ----------
    spectra : ndarray of float64, shape (n, bands)
    grid : Grid
    """

    spectra: NDArray[np.float64]
    grid: Grid


def take_pixels(X: Any, mask: Any = None, *, at_least: int = 2) -> Pixels:
    """Extract the valid pixels of a cube, a Scene or a table.

    Parameters
    ----------
    X : Scene, array of shape (rows, cols, bands), or array of shape (samples, bands)
        In a masked array, a pixel is valid if it is masked in no band.
    mask : array of bool, optional
        True where a pixel is valid; one value per pixel. With a Scene or a masked array, a pixel is
        valid if it is valid in both masks.
    at_least : int
        Smallest number of valid pixels.

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
        cube, valid = _as_array(X), ~_hidden(X)
    if cube.ndim not in (2, 3):
        raise DataError(
            f"the data have {cube.ndim} dimensions (shape {cube.shape}); give a cube of shape "
            "(rows, cols, bands) or a table of shape (samples, bands)."
        )
    if mask is not None:
        valid = valid & _as_mask(mask, valid.shape)
    if cube.dtype.kind not in "buif":
        raise DataError(f"the data have type {cube.dtype}; give real numbers.")
    spectra = _valid_spectra(cube, valid)
    _check_spectra(spectra, n_masked=valid.size - len(spectra), at_least=at_least)
    return Pixels(spectra, Grid(valid))


def _valid_spectra(cube: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Copy the spectra of the valid pixels, some rows at a time, so that Ctrl-C works."""
    spectra = np.empty((np.count_nonzero(valid), cube.shape[-1]))
    rows = max(1, _ROWS // max(valid[:1].size, 1))
    first = 0
    with np.errstate(
        over="ignore"
    ):  # numbers beyond float64 become infinite; this is checked later
        for start in range(0, len(cube), rows):
            some = cube[start : start + rows][valid[start : start + rows]]
            spectra[first : first + len(some)] = some
            first += len(some)
    return spectra


def take_input(
    estimator: BaseEstimator, X: Any, mask: Any, *, reset: bool = True, at_least: int = 2
) -> Pixels:
    """Extract the pixels of the input of ``estimator.fit``, and record the bands in `estimator`.

    Images of xarray become a Scene. Tables are checked by scikit-learn, so that column names,
    sparse matrices and the like are handled as users of scikit-learn expect.

    Parameters
    ----------
    estimator : estimator
    X, mask, at_least
        As in :func:`take_pixels`.
    reset : bool
        Whether to record the bands. If false, their number must be the recorded one.
    """
    if isinstance(X, (str, PathLike)):
        raise DataError(
            f"'{X!s}' is a file name, not data; give spectrawalk.read_scene({str(X)!r})."
        )
    X, mask = from_xarray(X, mask)
    if isinstance(X, Scene) or _n_dimensions(X) >= 3:
        pixels = take_pixels(X, mask, at_least=at_least)
        _note_bands(estimator, pixels.spectra.shape[1], reset)
        return pixels
    try:
        # Masked rows may have any value, so finite values are checked after masking.
        with np.errstate(over="ignore"):
            table = validate_data(
                estimator,
                X,
                reset=reset,
                dtype=np.float64,
                ensure_all_finite=False,
                ensure_min_samples=0,
            )
    except (ValueError, TypeError) as error:
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        # If scikit-learn shows the data below its message, the first line ends in a colon.
        lines = [line.strip() for line in str(error).splitlines()]
        advice = [line for line in lines[1:] if line.startswith("Reshape your data")]
        raise kind(" ".join([lines[0].removesuffix(":").rstrip(".") + ".", *advice])) from None
    if isinstance(X, np.ma.MaskedArray):
        table = np.ma.MaskedArray(table, mask=np.ma.getmaskarray(X))
    return take_pixels(table, mask, at_least=at_least)


def from_xarray(X: Any, mask: Any = None) -> tuple[Any, Any]:
    """Turn an image of xarray into a Scene, and a mask of xarray into an array; leave all else.

    The dimensions of xarray have names, so that they can be in any order.
    """
    if not _is_xarray(X):
        return X, mask
    from spectrawalk.io.xarray_scene import image_like, scene_from_xarray

    if _is_xarray(mask):
        mask = image_like(X, mask)
    return (scene_from_xarray(X) if _is_image(X) else X), mask


def as_given(X: Any, values: NDArray[Any], name: str) -> Any:
    """Give one value per pixel as X came: a DataArray for xarray, else the array itself.

    Examples
    --------
    >>> import numpy as np
    >>> as_given(np.ones((1, 2, 3)), np.array([[0, 1]]), "labels")
    array([[0, 1]])
    """
    if not _is_xarray(X):
        return values
    from spectrawalk.io.xarray_scene import labels_like

    return labels_like(X, values, name)


def _is_xarray(X: Any) -> bool:
    """Whether it is of xarray, which is not imported to find out."""
    return hasattr(X, "dims") and hasattr(X, "coords") and hasattr(X, "attrs")


def _is_image(X: Any) -> bool:
    return hasattr(X, "data_vars") or X.ndim >= 3


def _note_bands(estimator: BaseEstimator, n_bands: int, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = n_bands
        vars(estimator).pop("feature_names_in_", None)  # from an earlier table
    elif n_bands != estimator.n_features_in_:
        raise DataError(
            f"the data have {n_bands} bands but the model was fitted to "
            f"{estimator.n_features_in_}; give data with the same bands in the same order."
        )


def _as_array(X: Any) -> NDArray[Any]:
    try:
        return np.asarray(X)
    except ValueError:
        raise DataError(
            "the data are lists of different lengths; give an array of shape "
            "(rows, cols, bands) or (samples, bands)."
        ) from None


def _n_dimensions(X: Any) -> int:
    """Number of dimensions, without a copy if X has this attribute."""
    return X.ndim if hasattr(X, "ndim") else _as_array(X).ndim


def _hidden(X: Any) -> NDArray[np.bool_]:
    """Pixels that a masked array masks in any band; none in other arrays."""
    if isinstance(X, np.ma.MaskedArray) and X.ndim > 0:
        return np.asarray(np.ma.getmaskarray(X).any(axis=-1))
    return np.zeros(np.shape(X)[:-1], dtype=bool)


def _as_mask(mask: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    try:
        mask = np.asarray(np.ma.filled(mask, False))
    except ValueError:
        raise DataError(
            "the mask consists of lists of different lengths; give one value per pixel."
        ) from None
    if mask.shape != shape:
        raise DataError(
            f"the mask has shape {mask.shape} but the data have {shape} pixels; "
            "give one value per pixel, True where it is valid."
        )
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise DataError("the mask has values other than 0 and 1; give True where a pixel is valid.")
    return mask.astype(bool)


def _check_spectra(spectra: NDArray[np.float64], n_masked: int, at_least: int) -> None:
    n, n_bands = spectra.shape
    if n == 0 and at_least > 0:
        raise DataError(
            f"there is no valid pixel (n_samples = 0), because all {n_masked} are masked; check "
            "the mask."
            if n_masked
            else "the image is empty (n_samples = 0); give an image with pixels."
        )
    if n_bands == 0:
        raise DataError("the data have no band (0 feature(s)), while a minimum of 2 is required.")
    if n_bands == 1:
        raise DataError(
            "the data have a single band (1 feature(s)), and a spectrum needs at least 2; "
            "check that the bands are the last axis."
        )
    if n < at_least:
        raise DataError("there is only one valid pixel (1 sample); clustering needs at least 2.")
    bad = n - np.count_nonzero(np.isfinite(spectra).all(axis=1))
    if bad:
        raise DataError(
            f"{bad} of {n} valid pixels have NaN or infinite values (NaN, inf); exclude them with "
            "`mask`, for example mask=np.isfinite(cube).all(axis=2)."
        )
