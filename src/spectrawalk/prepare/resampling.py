"""Spectra of one sensor or spectrometer on the bands of another."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

LEAST_KNOWN = 0.5
"""Part of a band's response that must fall on known values; below it the band is missing."""


def resample_spectra(
    spectra: Values,
    wavelengths: Values,
    fwhm: Values | None,
    to_wavelengths: Values,
    to_fwhm: Values | None,
) -> Values:
    """Average spectra over the bands of another sensor.

    A band has a Gaussian response, as wide as its full width at half maximum (SPy's resampling).
    Where widths are not known, a band is as wide as the distance to its neighbours.

    Parameters
    ----------
    spectra : ndarray of shape (n, bands)
        NaN where a value is missing.
    wavelengths, fwhm : ndarray of shape (bands,)
        Of the spectra, in any order.
    to_wavelengths, to_fwhm : ndarray of shape (new bands,)
        In the same unit.

    Returns
    -------
    ndarray of shape (n, new bands)
        NaN where the spectra have no values.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = np.array([[1.0, 2.0, 3.0, 4.0, np.nan]])
    >>> bands = np.array([500.0, 510.0, 520.0, 530.0, 540.0])
    >>> wanted = np.array([505.0, 515.0, 541.0, 600.0])
    >>> resample_spectra(spectrum, bands, None, wanted, np.full(4, 10.0))
    array([[1.5, 2.5, nan, nan]])
    """
    # Imported here: it brings all of SPy.
    from spectral.algorithms.resampling import BandResampler

    order, to_order = np.argsort(wavelengths), np.argsort(to_wavelengths)
    # It reports each band without overlap, and divides by 0 where bands only touch.
    with _quiet_logger("spectral"), np.errstate(invalid="ignore", divide="ignore"):
        matrix = BandResampler(
            wavelengths[order],
            to_wavelengths[to_order],
            _widths(wavelengths[order], None if fwhm is None else fwhm[order]),
            _widths(to_wavelengths[to_order], None if to_fwhm is None else to_fwhm[to_order]),
        ).matrix
    matrix = np.nan_to_num(matrix)  # NaN marks a band without overlap
    known = np.isfinite(spectra[:, order])
    sums = np.where(known, spectra[:, order], 0.0) @ matrix.T
    weights = known @ matrix.T
    resampled = np.full((len(spectra), len(to_wavelengths)), np.nan)
    enough = weights > LEAST_KNOWN - 1e-9
    resampled[:, to_order] = np.where(enough, sums / np.where(enough, weights, 1.0), np.nan)
    return resampled


@contextmanager
def _quiet_logger(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _widths(sorted_wavelengths: Values, fwhm: Values | None) -> Values:
    """Widths of bands: given, or the distance to the neighbours."""
    if fwhm is not None:
        return fwhm
    if len(sorted_wavelengths) < 2:
        return np.ones(len(sorted_wavelengths))
    # Where two detectors overlap, bands can lie on one place: none is narrower than half the usual.
    steps = np.gradient(sorted_wavelengths)
    return np.asarray(np.maximum(steps, np.median(steps) / 2))
