"""Names for clusters: their mean spectra compared with spectral libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.prepare.resampling import resample_spectra
from spectrawalk.progress import track

Values = NDArray[np.float64]

N_BEST = 5
"""Matches that are kept of each spectrum."""

NOISE_FACTOR = 1.1
"""A spectrum without pixels has a good match if its angle is at most this many times what its
noise alone makes. Of 2,000 spectra of the USGS library with 1 % of noise, 98 % then have a good
match; without their own entry, 3 % still have one of another material
(docs/decisions/names.md)."""

LEAST_LIMIT = 0.001
"""Smallest limit in radians that is not given by hand: numbers in libraries have three digits or
four, so a spectrum and its copy differ by as much."""

SAME_BAND = 0.01
"""Nanometres by which the centre of a band may differ in two files of one sensor."""

COVERED = 0.9
"""A library spectrum is compared if it has this part of the bands that the best covered one has:
on a few bands, many materials look alike."""

LEAST_SHARE = 0.25
"""Part of the scene's bands that a comparison needs. A library of the visible alone has a third of
the bands of a sensor that sees the infrared too."""

FEWEST_BANDS = 10
"""Bands that a comparison needs, or all bands of a sensor that has fewer."""


@dataclass(frozen=True, eq=False)
class SpectralLibrary:
    """Spectra of known materials, all on the same bands.

    Attributes
    ----------
    name : str
        Of the library: the name of its file.
    names : tuple of str
        Material of each spectrum.
    spectra : ndarray of shape (spectra, bands)
        In any unit: a factor does not matter. NaN where a value is missing.
    wavelengths : ndarray of shape (bands,), optional
        In nanometres.
    fwhm : ndarray of shape (bands,), optional
        Full widths at half maximum in nanometres.
    remarks : tuple of str
        What was guessed or left out when it was read.
    """

    name: str
    names: tuple[str, ...]
    spectra: Values
    wavelengths: Values | None = None
    fwhm: Values | None = None
    remarks: tuple[str, ...] = ()

    def on_bands(self, bands: Bands) -> Values:
        """Spectra on other bands, shape (spectra, bands); NaN where the library has no values."""
        n_own = self.spectra.shape[1]
        if self.wavelengths is not None and bands.wavelengths is not None:
            if self._is_on(bands.wavelengths):
                return self.spectra
            return resample_spectra(
                self.spectra, self.wavelengths, self.fwhm, bands.wavelengths, bands.fwhm
            )
        if n_own == len(bands.numbers):
            return self.spectra
        if self.wavelengths is None and bands.numbers.max() <= n_own:
            return self.spectra[:, bands.numbers - 1]
        lacking = "library" if self.wavelengths is None else "scene"
        raise DataError(
            f"library '{self.name}' has {n_own} bands and the clusters' spectra have "
            f"{len(bands.numbers)}; to match them by wavelength, the {lacking} lacks its "
            f"wavelengths: give a {lacking} that has them, or a library on the same bands."
        )

    def _is_on(self, wavelengths: Values) -> bool:
        """Whether the library has these bands, so that nothing needs to be resampled."""
        own = self.wavelengths
        return (
            own is not None
            and len(own) == len(wavelengths)
            and bool(np.abs(own - wavelengths).max(initial=0.0) < SAME_BAND)
        )


class Bands(NamedTuple):
    """The bands of spectra that are compared."""

    numbers: NDArray[np.intp]
    """Numbers in the file that the scene was read from, counted from 1."""
    wavelengths: Values | None = None
    fwhm: Values | None = None


class Match(NamedTuple):
    """A library spectrum that is near."""

    name: str
    library: str
    angle: float
    """Spectral angle in radians, on the bands that both have."""
    feature_difference: float
    """Root mean square difference after continuum removal; it compares absorption features."""
    n_bands: int
    """Bands that both have."""
    spectrum: Values
    """The library spectrum on the bands of the cluster, shape (bands,); NaN where it has none."""


class Identification(NamedTuple):
    """What a spectrum may be.

    Attributes
    ----------
    matches : tuple of Match
        The nearest library spectra, by spectral angle. None for a cluster without pixels.
    limit : float
        Largest angle of a good match, in radians.
    n_within : int
        Library spectra up to the limit.
    n_compared : int
        Library spectra that have enough bands.
    """

    matches: tuple[Match, ...]
    limit: float
    n_within: int
    n_compared: int

    @property
    def is_good(self) -> bool:
        """Whether the nearest library spectrum is a good match."""
        return self.n_within > 0

    @property
    def name(self) -> str | None:
        """Name of the nearest library spectrum; None without a good match."""
        return self.matches[0].name if self.is_good else None


def identify_spectra(
    spectra: ArrayLike,
    libraries: SpectralLibrary | Sequence[SpectralLibrary],
    wavelengths: ArrayLike | None = None,
    *,
    fwhm: ArrayLike | None = None,
    limit: ArrayLike | None = None,
    band_numbers: ArrayLike | None = None,
    n_best: int = N_BEST,
) -> list[Identification]:
    """Find the nearest spectra of libraries, and say which of them are good matches.

    The distance is the spectral angle, on the bands that both have; the library is resampled to the
    bands of the spectra first. A match is good if its angle is at most `limit`.

    Parameters
    ----------
    spectra : array of shape (n, bands)
        Such as the mean spectra of clusters. Reflectance, for libraries of reflectance.
    libraries : SpectralLibrary or sequence of them
        :func:`spectrawalk.io.read_library` reads them from files.
    wavelengths : array of shape (bands,), optional
        In nanometres. Without them, or without those of the library, both must have the same bands.
    fwhm : array of shape (bands,), optional
        Full widths at half maximum in nanometres.
    limit : float or array of shape (n,), optional
        Largest angle of a good match in radians. ``Result.spread`` has it for each cluster: the
        angle to the mean spectrum that 95 % of the cluster's pixels do not exceed. Where it is not
        given or NaN, it is 1.1 times the angle that the noise of the spectrum alone would make,
        estimated from differences of adjacent bands.
    band_numbers : array of int of shape (bands,), optional
        Which bands of a library without wavelengths these are, counted from 1.
    n_best : int, default 5
        Matches of each spectrum.

    Returns
    -------
    list of Identification

    Examples
    --------
    >>> bands = [450.0, 550, 650, 750, 850, 950, 1050, 1150, 1250, 1350]
    >>> leaf = [0.04, 0.1, 0.04, 0.4, 0.5, 0.5, 0.5, 0.48, 0.46, 0.4]
    >>> soil = [0.1, 0.14, 0.18, 0.21, 0.24, 0.27, 0.3, 0.32, 0.33, 0.34]
    >>> spectra = np.array([leaf, soil])
    >>> library = SpectralLibrary("field", ("leaf", "soil"), spectra, np.array(bands))
    >>> found = identify_spectra([np.multiply(soil, 2)], library, bands, limit=0.05)
    >>> found[0].name, found[0].n_within
    ('soil', 1)
    """
    values = np.atleast_2d(np.asarray(spectra, dtype=np.float64))
    if isinstance(libraries, SpectralLibrary):
        libraries = [libraries]
    bands = _bands(values.shape[1], wavelengths, fwhm, band_numbers)
    limits = np.full(len(values), np.nan) if limit is None else np.asarray(limit, np.float64)
    limits = np.broadcast_to(limits, len(values))
    if (limits < 0).any():
        raise ParameterError(f"limit={limits.min():g} cannot be used; give angles from 0.")
    shelf = _Shelf(libraries, bands)
    steps = track("comparing", list(zip(values, limits, strict=True)))
    return [shelf.identify(spectrum, angle, n_best) for spectrum, angle in steps]


def _bands(
    n: int, wavelengths: ArrayLike | None, fwhm: ArrayLike | None, numbers: ArrayLike | None
) -> Bands:
    """Check what is known of the bands."""
    given = {"wavelengths": wavelengths, "fwhm": fwhm, "band_numbers": numbers}
    found = {name: np.asarray(each, np.float64) for name, each in given.items() if each is not None}
    for name, each in found.items():
        if each.shape != (n,):
            raise ParameterError(
                f"{name} has shape {each.shape} for spectra of {n} bands; give one value per band."
            )
    own = np.arange(1, n + 1) if numbers is None else np.asarray(numbers, np.intp)
    return Bands(own, found.get("wavelengths"), found.get("fwhm"))


class _Shelf:
    """All library spectra on the bands of the clusters."""

    def __init__(self, libraries: Sequence[SpectralLibrary], bands: Bands) -> None:
        if not sum(len(library.names) for library in libraries):
            raise DataError("there is no library spectrum to compare with; give a library.")
        self.spectra = np.concatenate([library.on_bands(bands) for library in libraries])
        self.names = [name for library in libraries for name in library.names]
        self.libraries = [library.name for library in libraries for _ in library.names]
        self.known = np.isfinite(self.spectra)
        self.filled = np.where(self.known, self.spectra, 0.0)
        self.squares = np.square(self.filled)
        self.counted = self.known.astype(np.float64)  # for products, which bool would slow down
        self.order = (
            np.arange(len(bands.numbers))
            if bands.wavelengths is None
            else np.argsort(bands.wavelengths, kind="stable")
        )
        self.x = (bands.numbers if bands.wavelengths is None else bands.wavelengths)[self.order]
        if self.known.sum(axis=1).max() < _fewest(len(bands.numbers)):
            raise DataError(_no_overlap(libraries, bands, int(self.known.sum(axis=1).max())))

    def identify(self, spectrum: Values, limit: float, n_best: int) -> Identification:
        """Find the nearest library spectra of one spectrum."""
        given = np.isfinite(spectrum)
        if not np.any(spectrum[given]):
            return Identification((), limit, 0, 0)  # a cluster without pixels
        angles, n_bands = self._angles(spectrum, given)
        enough = n_bands >= max(COVERED * n_bands.max(), _fewest(int(given.sum())))
        candidates = np.flatnonzero(enough & np.isfinite(angles))
        nearest = candidates[np.argsort(angles[candidates], kind="stable")]
        if np.isnan(limit) and nearest.size:
            limit = max(NOISE_FACTOR * self._noise_angle(spectrum, nearest[0]), LEAST_LIMIT)
        matches = tuple(
            Match(
                self.names[each],
                self.libraries[each],
                float(angles[each]),
                self._feature_difference(spectrum, each),
                int(n_bands[each]),
                self.spectra[each],
            )
            for each in nearest[:n_best].tolist()
        )
        within = int(np.count_nonzero(angles[candidates] <= limit))
        return Identification(matches, float(limit), within, len(candidates))

    def _angles(self, spectrum: Values, given: NDArray[np.bool_]) -> tuple[Values, Values]:
        """Spectral angle to each library spectrum, and the number of bands that both have."""
        own = np.where(given, spectrum, 0.0)
        length = np.sqrt(self.squares @ given.astype(np.float64) * (self.counted @ np.square(own)))
        with np.errstate(divide="ignore", invalid="ignore"):  # a spectrum that is 0 everywhere
            cosine = np.clip(self.filled @ own / length, -1.0, 1.0)
        return np.arccos(cosine), self.counted @ given.astype(np.float64)

    def _noise_angle(self, spectrum: Values, entry: int) -> float:
        """Angle that noise alone would make: from differences of adjacent bands of the residual."""
        own, other, _ = self._common(spectrum, entry)
        residual = own - other * (own @ other) / (other @ other)
        variance = np.square(np.diff(residual)).mean() / 2
        return float(np.sqrt(variance * len(own) / (own @ own)))

    def _feature_difference(self, spectrum: Values, entry: int) -> float:
        own, other, x = self._common(spectrum, entry)
        difference = remove_continuum(own, x) - remove_continuum(other, x)
        return float(np.sqrt(np.nanmean(np.square(difference))))

    def _common(self, spectrum: Values, entry: int) -> tuple[Values, Values, Values]:
        """Both spectra on the bands that both have, by wavelength."""
        own, other = spectrum[self.order], self.spectra[entry, self.order]
        both = np.isfinite(own) & np.isfinite(other)
        return own[both], other[both], self.x[both].astype(np.float64)


def _fewest(n_bands: int) -> float:
    """Bands that a comparison needs, of so many."""
    return max(min(FEWEST_BANDS, n_bands), LEAST_SHARE * n_bands)


def remove_continuum(spectrum: Values, wavelengths: Values) -> Values:
    """Divide a spectrum by its continuum, the upper convex hull: what is left are its features.

    Examples
    --------
    >>> remove_continuum(np.array([1.0, 1.0, 3.0]), np.array([500.0, 600.0, 700.0]))
    array([1. , 0.5, 1. ])
    """
    from spectral import remove_continuum as divided_by_hull

    if not (spectrum > 0).all():  # no hull to divide by where reflectance is not positive
        low = min(spectrum.min(), 0.0)
        spectrum = spectrum - low + 1e-3 * max(np.ptp(spectrum), 1e-12)
    # Two bands on one place would have no slope between them.
    places = wavelengths + 1e-6 * np.arange(len(wavelengths))
    return np.asarray(divided_by_hull(spectrum, places), dtype=np.float64)


def _no_overlap(libraries: Sequence[SpectralLibrary], bands: Bands, most: int) -> str:
    """Say that the libraries and the spectra have too few bands in common."""
    known = [library for library in libraries if library.wavelengths is not None]
    names = ", ".join(f"'{library.name}'" for library in libraries[:3])
    names += f" and {len(libraries) - 3} more" if len(libraries) > 3 else ""
    if bands.wavelengths is None or not known:
        return f"{names} have values in {most} of the clusters' bands only; give another library."
    low = min(library.wavelengths.min() for library in known if library.wavelengths is not None)
    high = max(library.wavelengths.max() for library in known if library.wavelengths is not None)
    guessed = next(
        (remark for library in known for remark in library.remarks if "unit" in remark), ""
    )
    return (
        f"{names}: wavelengths from {low:g} to {high:g} nm, and the clusters' are from "
        f"{bands.wavelengths.min():g} to {bands.wavelengths.max():g} nm, with {most} bands in "
        f"common{f' ({guessed})' if guessed else ''}; give a library of the same range."
    )
