"""S2DL: the densest pixels of superpixels are clustered, and speak for the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from spectrawalk.estimators.learner import DiffusionLearner
from spectrawalk.parameters import check_integer, is_auto
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.superpixels import PIXELS_EACH, superpixels
from spectrawalk.srdl import pipeline


class S2DL(DiffusionLearner):
    """Superpixel-based and spatially regularised diffusion learning (Cui et al., 2024).

    The image is divided into superpixels. The densest pixels of each are its representatives. Each
    representative is connected to the spectrally nearest ones within a spatial radius, and these
    are clustered by diffusion learning. All pixels of a superpixel get the most frequent label of
    its representatives, so that the map is smooth. Most of the work is done on the representatives.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters K. ``"auto"`` takes the K at which the sorted D_t has its largest
        drop.
    n_superpixels : int or "auto"
        Number of superpixels. ``"auto"``: one for 20 pixels. More if the valid pixels fall into
        more separate parts.
    n_representatives : int
        Number of representatives of a superpixel.
    radius : int or None
        Half-width of the window in which the neighbours of a representative are searched, in
        pixels. None: no window.
    n_neighbors : int
        Number of nearest neighbours of each representative among the others.
    sigma, symmetrize, time, n_eigenpairs, density_neighbors, density_bandwidth, normalize
        As in :class:`SRDL`. The density is that of the whole image.
    jitter, random_state, window, components, max_clusters, sigma_factor
        As in :class:`SRDL`.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel, by decreasing size; -1 where masked. A mode has its own label
        whatever the other representatives of its superpixel say.
    n_clusters_ : int
        Number of clusters K.
    superpixels_ : ndarray of int32, in the image's shape
        Superpixel of each pixel, from 0; -1 where masked.
    representatives_ : ndarray of bool, in the image's shape
        True at representatives.
    n_superpixels_ : int
        Number of superpixels.
    coordinates_ : ndarray, the image's shape + (M,)
        Diffusion coordinates; those of a pixel that is no representative are those of the nearest
        spectrum among the representatives of its superpixel. NaN where masked.
    rho_, mode_score_ : ndarray, in the image's shape
        As in :class:`SRDL`, among the representatives; 0 at other pixels, NaN where masked.
    modes_, density_, eigenvalues_, density_bandwidth_, n_components_
        As in :class:`SRDL`.
    reach_, exact_density_, n_features_in_, feature_names_in_, wavelengths_
        As in :class:`SRDL`.

    Notes
    -----
    A table has no space. There each sample is a superpixel of its own, which is :class:`DL`.

    References
    ----------
    K. Cui, R. Li, S. L. Polk, Y. Lin, H. Zhang, J. M. Murphy, R. J. Plemmons and R. H. Chan,
    "Superpixel-based and spatially-regularized diffusion learning for unsupervised hyperspectral
    image clustering", IEEE Transactions on Geoscience and Remote Sensing 62, 2024.

    Examples
    --------
    >>> from spectrawalk import S2DL
    >>> from spectrawalk.datasets import make_scene
    >>> model = S2DL(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> model.labels_.shape, model.n_superpixels_
    ((24, 24), 29)
    """

    _method = "S2DL"
    _ARRAY = "superpixels_"
    _FITTED = (*DiffusionLearner._FITTED, "superpixels_", "_stand_in")

    superpixels_: NDArray[np.int32]
    _stand_in: NDArray[np.intp]
    """Pixel whose coordinates each pixel has: a representative has its own."""

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_superpixels: int | str = "auto",
        n_representatives: int = 10,
        radius: int | None = 12,
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
        window: str = "square",
        components: str = "bridge",
        max_clusters: int = 30,
        sigma_factor: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_superpixels = n_superpixels
        self.n_representatives = n_representatives
        self.radius = radius
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
        self.window = window
        self.components = components
        self.max_clusters = max_clusters
        self.sigma_factor = sigma_factor

    @property
    def n_superpixels_(self) -> int:
        """Number of superpixels."""
        return int(self.superpixels_.max()) + 1

    @property
    def representatives_(self) -> NDArray[np.bool_]:
        """True at representatives, in the image's shape."""
        own = self._stand_in == np.arange(len(self._stand_in))
        return np.asarray(Grid(self._mask).to_image(own, False))

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        if not is_auto(self.n_superpixels):
            check_integer("n_superpixels", self.n_superpixels, 1, why=", or 'auto'")
        check_integer("n_representatives", self.n_representatives, 1)

    def _fit_run(
        self, spectra: NDArray[np.float64], grid: Grid, near: pipeline.Neighbors | None = None
    ) -> None:
        """Run the method; neighbours of all pixels are of no use here."""
        density = self._rank(spectra, None)
        region = self._divide(spectra, grid)
        self.superpixels_ = grid.to_image(region, -1)
        self._stand_in = stand_ins(spectra, region, density.ranking, int(self.n_representatives))
        chosen, place = np.unique(self._stand_in, return_inverse=True)
        _, eigenvalues, eigenvectors = self._walk(spectra[chosen], Grid(self._only(chosen)))
        self._cluster(eigenvalues, eigenvectors[place], density, grid)

    def _divide(self, spectra: NDArray[np.float64], grid: Grid) -> NDArray[np.int32]:
        """Superpixel of each valid pixel."""
        n = grid.n_pixels
        if not grid.is_image:
            return np.arange(n, dtype=np.int32)
        wanted = self.n_superpixels
        count = max(1, round(n / PIXELS_EACH)) if is_auto(wanted) else min(int(wanted), n)
        return superpixels(spectra, grid.mask, count)

    def _only(self, chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Mask in which these valid pixels alone are valid."""
        own = np.zeros(np.count_nonzero(self._mask), dtype=bool)
        own[chosen] = True
        return np.asarray(Grid(self._mask).to_image(own, False))

    def _ascend(
        self, coordinates: NDArray[np.float64], density: pipeline.Density
    ) -> pipeline.Ascent:
        """Climb from representative to representative, and from other pixels to theirs."""
        n = len(self._stand_in)
        chosen = np.unique(self._stand_in)
        is_chosen = np.zeros(n, dtype=bool)
        is_chosen[chosen] = True
        climbers = density.ranking[is_chosen[density.ranking]]  # from the densest on
        among = pipeline.Density(density.p[chosen], np.searchsorted(chosen, climbers))
        ascent = pipeline.ascend(coordinates[chosen], among)
        rank = np.empty(n, dtype=np.int64)
        rank[density.ranking] = np.arange(n)
        upward = rank[self._stand_in]  # of each pixel, in ranks of the whole image
        upward[climbers] = np.where(ascent.parent >= 0, rank[climbers[ascent.parent]], -1)
        rho = np.zeros(n)
        rho[chosen] = ascent.rho
        return pipeline.Ascent(coordinates, density, upward[density.ranking], rho)

    def _settle(self, labels: NDArray[np.int32], modes: NDArray[np.intp]) -> NDArray[np.int32]:
        """Give a superpixel the most frequent label of its representatives.

        Of two as frequent, that of the mode with the larger D_t.
        """
        region, chosen = self.superpixels_[self._mask], np.unique(self._stand_in)
        K = len(modes)
        cells = region[chosen].astype(np.int64) * K + labels[chosen]
        votes = np.bincount(cells, minlength=self.n_superpixels_ * K).reshape(-1, K)
        settled = votes.argmax(axis=1).astype(np.int32)[region]
        settled[modes] = labels[modes]
        return settled


def stand_ins(
    X: NDArray[np.float64],
    region: NDArray[np.int32],
    ranking: NDArray[np.intp],
    n_representatives: int,
) -> NDArray[np.intp]:
    """Representative of each pixel: the nearest spectrum among those of its superpixel.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra.
    region : ndarray of int32, shape (n,)
        Superpixel of each pixel.
    ranking : ndarray of int, shape (n,)
        Pixels from the densest to the sparsest. The first ones of a superpixel represent it.
    n_representatives : int
        At most so many for a superpixel.

    Returns
    -------
    stand_in : ndarray of int, shape (n,)
        A representative stands for itself.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> stand_ins(X, np.zeros(4, dtype=np.int32), np.array([1, 2, 3, 0]), 2).tolist()
    [1, 1, 2, 2]
    """
    by_region = ranking[np.argsort(region[ranking], kind="stable")]
    bounds = np.cumsum(np.bincount(region))[:-1]
    stand_in = np.empty(len(X), dtype=np.intp)
    for members in np.split(by_region, bounds):
        chosen, others = members[:n_representatives], members[n_representatives:]
        stand_in[chosen] = chosen
        if len(others):
            stand_in[others] = chosen[cdist(X[others], X[chosen], "sqeuclidean").argmin(axis=1)]
    return stand_in
