"""D-VIC: modes that are dense and also spectrally pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.estimators.forecast import Forecast
from spectrawalk.estimators.learner import DiffusionLearner
from spectrawalk.parameters import check_integer, is_auto
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.principal import centred_blocks, scatter_matrix
from spectrawalk.prepare.scaling import power_of_two
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.density import density_ranking
from spectrawalk.unmixing.abundances import abundances
from spectrawalk.unmixing.endmembers import affine_dimension, find_endmembers
from spectrawalk.unmixing.subspace import signal_dimension

_PIXELS_EACH = 10
"""Pixels for each endmember, at least, where their number is estimated."""

_TYPICAL_ENDMEMBERS = 20
"""Endmembers of a real scene, for the forecast."""

_SECONDS = 2e-6
"""Seconds per pixel and endmember of the unmixing."""


class DVIC(DiffusionLearner):
    """Diffusion and volume maximization-based image clustering (Polk et al., 2023).

    The image is unmixed into endmembers. The modes of the clusters are pixels that are both dense
    and pure, with a large diffusion distance to any pixel that is more so. All other pixels are
    labelled in the order of density and purity together. Positions are not used, so an image gives
    the same labels as a table of its spectra.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters K. ``"auto"`` takes the K at which the sorted D_t has its largest
        drop.
    n_endmembers : int or "auto"
        Number of endmembers, at least 2. ``"auto"``: the dimension of the signal (HySime), see
        :func:`spectrawalk.unmixing.subspace.signal_dimension`, at least 2.
    n_neighbors, sigma, symmetrize, time, n_eigenpairs, density_neighbors, density_bandwidth
        As in :class:`DL`.
    normalize : {"pixel", "global", "band", None}
        Scaling of the spectra for graph and density, as in :class:`DL`. The raw spectra are
        unmixed.
    jitter, random_state, components, max_clusters, sigma_factor
        As in :class:`DL`.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel, by decreasing size; -1 where masked.
    n_clusters_ : int
        Number of clusters K.
    density_ : ndarray, in the image's shape
        Zeta, the harmonic mean of density and purity, each divided by its largest value; NaN where
        masked.
    purity_ : ndarray, in the image's shape
        Largest abundance; NaN where masked.
    abundances_ : ndarray, the image's shape + (m,)
        Fractions of the endmembers, of sum 1; NaN where masked.
    endmembers_ : ndarray of shape (m, bands)
        Raw spectra of the endmembers.
    n_endmembers_ : int
        Number of endmembers m.
    modes_, rho_, mode_score_, coordinates_, eigenvalues_, density_bandwidth_, n_components_
        As in :class:`SRDL`, with zeta in place of the density.
    reach_, exact_density_, n_features_in_, feature_names_in_, wavelengths_
        As in :class:`SRDL`.

    References
    ----------
    S. L. Polk, K. Cui, A. H. Y. Chan, D. A. Coomes, R. J. Plemmons and J. M. Murphy, "Unsupervised
    diffusion and volume maximization-based clustering of hyperspectral images", Remote Sensing 15,
    2023.

    Examples
    --------
    >>> from spectrawalk import DVIC
    >>> from spectrawalk.datasets import make_scene
    >>> model = DVIC(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> model.labels_.shape, model.abundances_.shape == (24, 24, model.n_endmembers_)
    ((24, 24), True)
    """

    _method = "D-VIC"
    _ARRAY = "abundances_"
    _FITTED = (*DiffusionLearner._FITTED, "purity_", "abundances_", "endmembers_", "n_endmembers_")

    purity_: NDArray[np.float64]
    abundances_: NDArray[np.float64]
    endmembers_: NDArray[np.float64]
    n_endmembers_: int

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_endmembers: int | str = "auto",
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float = 30,
        n_eigenpairs: int | str = "auto",
        density_neighbors: int = 20,
        density_bandwidth: float | str = "auto",
        normalize: str | None = "pixel",
        jitter: float = 0.0,
        random_state: int | None = None,
        *,
        components: str = "bridge",
        max_clusters: int = 30,
        sigma_factor: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_endmembers = n_endmembers
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.symmetrize = symmetrize
        self.time = time
        self.n_eigenpairs = n_eigenpairs
        self.density_neighbors = density_neighbors
        self.density_bandwidth = density_bandwidth
        self.normalize = normalize
        self.jitter = jitter
        self.random_state = random_state
        self.components = components
        self.max_clusters = max_clusters
        self.sigma_factor = sigma_factor

    def forecast(self, n_pixels: int, n_bands: int, *, is_image: bool = True) -> Forecast:
        """Memory and time that a fit is likely to take; see :meth:`SRDL.forecast`."""
        run = super().forecast(n_pixels, n_bands, is_image=is_image)
        m = _TYPICAL_ENDMEMBERS if is_auto(self.n_endmembers) else int(self.n_endmembers)
        unmixing = n_pixels * 8 * (2 * n_bands + 5 * m)  # raw and scaled spectra, and coordinates
        return Forecast(
            max(run.memory + n_pixels * 8 * m, unmixing), run.seconds + _SECONDS * n_pixels * m
        )

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        if not is_auto(self.n_endmembers):
            check_integer("n_endmembers", self.n_endmembers, 2, why=", or 'auto'")

    def _take_raw(self, raw: NDArray[np.float64], grid: Grid) -> None:
        """Unmix the raw spectra."""
        unit = float(power_of_two(np.abs(raw).max()))
        if not 1e-100 < unit < 1e100:
            raw = raw / unit  # squares of its values would not be numbers
        else:
            unit = 1.0
        wanted = self.n_endmembers
        count = _number_of_endmembers(raw) if is_auto(wanted) else int(wanted)
        found = raw[find_endmembers(raw, count)]
        fractions = abundances(raw, found)
        self.endmembers_, self.n_endmembers_ = found * unit, count
        self.abundances_ = grid.to_image(fractions, np.nan)
        self.purity_ = grid.to_image(fractions.max(axis=1), np.nan)

    def _rank(
        self, spectra: NDArray[np.float64], density_d2: NDArray[np.float64] | None
    ) -> pipeline.Density:
        """Zeta in place of the density."""
        p = super()._rank(spectra, density_d2).p
        zeta = density_and_purity(p, self.purity_[self._mask])
        return pipeline.Density(zeta, density_ranking(zeta, density_d2))


def density_and_purity(p: NDArray[np.float64], purity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Zeta, the harmonic mean of density and purity, each divided by its largest value.

    Examples
    --------
    >>> import numpy as np
    >>> density_and_purity(np.array([0.2, 0.1, 0.0]), np.array([0.5, 1.0, 1.0])).round(3).tolist()
    [0.667, 0.667, 0.0]
    """
    p, purity = p / p.max(), purity / purity.max()
    total = p + purity
    return np.divide(2 * p * purity, total, out=np.zeros_like(p), where=total > 0)


def _number_of_endmembers(raw: NDArray[np.float64]) -> int:
    """Dimension of the signal, as far as the pixels allow so many endmembers."""
    most = affine_dimension(scatter_matrix(centred_blocks(raw, raw.mean(axis=0)))) + 1
    most = min(most, len(raw) // _PIXELS_EACH)
    return max(2, min(signal_dimension(raw), most))
