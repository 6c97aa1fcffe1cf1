"""Detail of an image: how much of the spectral variation lies between adjacent pixels.

Inside fields adjacent pixels are alike, and smoothing removes noise. In a town at 30 m each pixel
may be another material, and smoothing removes what the map should show. The measure needs no
labels. The noise of each band is what the other bands do not explain (Roger and Arnold, 1996; the
first step of HySime). Bands are scaled to unit noise. In the leading principal components, the
typical squared difference between adjacent pixels is compared with the variance of the image,
both less the noise. A median ignores the few pairs that lie across the edges of fields.

References
----------
R. E. Roger and J. F. Arnold, "Reliably estimating the noise in AVIRIS hyperspectral images",
International Journal of Remote Sensing 17, 1996.

J. M. Bioucas-Dias and J. M. P. Nascimento, "Hyperspectral subspace identification", IEEE
Transactions on Geoscience and Remote Sensing 46, 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.features import MOST_PAIRS, differences
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.threads import one_thread

COMPONENTS = slice(1, 5)
"""Principal components that are compared. The first one is mostly brightness."""

ABOVE_NOISE = 5.0
"""Variance of a component, in units of the noise, from which on it is compared."""

MIDDLE = 0.135
"""Measured detail at which runs for fields and for materials vote alike. Of the scenes at hand,
those of fields have 0.09 at the most, and a town has 0.19; this is the geometric mean."""

STEEPNESS = 8.0
"""Steepness of the step between the two, on a logarithmic scale."""

_NORMAL = 0.4549
"""Median of the square of a standard normal variable."""

_SAMPLE = 100_000
"""Largest number of pixels from which covariances are estimated."""


def band_noise(spectra: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of the part of each band that the other bands do not explain.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=(5000, 2)) @ rng.normal(size=(2, 30))
    >>> noise = band_noise(signal + rng.normal(0, 0.1, size=signal.shape))
    >>> bool(np.all(np.abs(noise - 0.1) < 0.02))
    True
    """
    centred = spectra - spectra.mean(axis=0)
    with one_thread():
        covariance = centred.T @ centred / len(centred)
        floor = 1e-10 * float(np.trace(covariance)) / len(covariance)
        inverse = np.linalg.pinv(covariance + floor * np.eye(len(covariance)), hermitian=True)
    return np.sqrt(1 / np.maximum(np.diag(inverse), 1e-300))


def measured_detail(spectra: NDArray[np.float64], mask: NDArray[np.bool_]) -> float:
    """Share of the spectral variation that lies between adjacent pixels, 0 to about 1.

    Parameters
    ----------
    spectra : ndarray of shape (n, bands)
        Raw values of the valid pixels.
    mask : ndarray of bool, shape (rows, cols)

    Returns
    -------
    float
        0 for a table, and if no two valid pixels are adjacent.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.prepare.pixels import take_pixels
    >>> fields, town = (
    ...     take_pixels(make_scene((40, 40), region_size=size, mixing=0.2, random_state=1))
    ...     for size in (24, 1)
    ... )
    >>> measured_detail(fields.spectra, fields.grid.mask) < 0.1
    True
    >>> measured_detail(town.spectra, town.grid.mask) > 0.2
    True
    """
    if mask.ndim == 1:
        return 0.0
    sample = spectra[draw_pixels(len(spectra), _SAMPLE)]
    return _detail_of(sample, lambda to: differences(to(spectra), mask, 1, MOST_PAIRS))


def detail_of_pairs(
    spectra: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64]
) -> float:
    """The same as :func:`measured_detail`, from spectra and pairs drawn all over a large image.

    Parameters
    ----------
    spectra : ndarray of shape (n, bands)
        Raw values of some pixels.
    one, other : ndarray of shape (pairs, bands)
        Raw values of adjacent pixels.
    """
    sample = spectra[draw_pixels(len(spectra), _SAMPLE)]
    return _detail_of(sample, lambda to: to(one) - to(other))


def _detail_of(
    sample: NDArray[np.float64],
    differences_of: Callable[[Callable[[NDArray[np.float64]], NDArray[np.float64]]], Any],
) -> float:
    """Detail, given what computes the differences between adjacent pixels in some components."""
    varies = np.ptp(sample, axis=0) > 0
    if not varies.any():
        return 0.0
    sample = sample[:, varies]
    noise = band_noise(sample)
    with one_thread():
        centred = (sample - sample.mean(axis=0)) / noise
        variances, directions = np.linalg.eigh(centred.T @ centred / len(centred))
        variances = variances[::-1][: COMPONENTS.stop]
        leading = directions[:, ::-1][:, : COMPONENTS.stop] / noise[:, None]
        difference = differences_of(lambda spectra: spectra[:, varies] @ leading)
    if not len(difference):
        return 0.0
    between = np.median(np.square(difference), axis=0) / (2 * _NORMAL)
    compared = variances > ABOVE_NOISE
    if compared[COMPONENTS].any():
        compared[: COMPONENTS.start] = False
    shares = np.maximum(between - 1, 0.0) / np.maximum(variances - 1, 1e-300)
    return float(np.median(shares[compared])) if compared.any() else 0.0


def default_detail(measured: float) -> float:
    """Weight of runs for materials, 0 to 1, from :func:`measured_detail`.

    Examples
    --------
    >>> [round(default_detail(measured), 2) for measured in (0.0, 0.06, 0.135, 0.19)]
    [0.0, 0.0, 0.5, 0.94]
    """
    return 1 / (1 + (MIDDLE / measured) ** STEEPNESS) if measured > 0 else 0.0
