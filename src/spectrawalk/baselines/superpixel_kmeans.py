"""K-means on the mean spectra of superpixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster

from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.kmeans import kmeans_labels
from spectrawalk.parameters import check_integer, is_auto
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.superpixels import PIXELS_EACH, superpixels


class SuperpixelKMeans(Baseline):
    """K-means on the mean spectra of entropy-rate superpixels, each weighted by its size.

    A table has no space; there it is K-means.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input.
    n_superpixels : int or "auto"
        Number of superpixels. ``"auto"``: one for 20 pixels.
    n_init : int
        Number of initialisations. The result with the smallest variance inside clusters is kept.
    random_state : int or None
        Seed; None is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import SuperpixelKMeans
    >>> cube = np.ones((4, 6, 2))
    >>> cube[:, 3:, 0] = 5
    >>> SuperpixelKMeans(2, n_superpixels=4).fit_predict(cube)[0]
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "pixel",
        n_superpixels: int | str = "auto",
        n_init: int = 10,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_superpixels = n_superpixels
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        return kmeans_labels(X, n_clusters, seed, check_integer("n_init", self.n_init, 1))

    def _cluster_image(
        self, X: NDArray[np.float64], grid: Grid, n_clusters: int, seed: int
    ) -> NDArray[np.integer]:
        n_init = check_integer("n_init", self.n_init, 1)
        wanted = self.n_superpixels
        if is_auto(wanted):
            count = max(n_clusters, round(len(X) / PIXELS_EACH))
        else:
            count = check_integer("n_superpixels", wanted, n_clusters, why=", or 'auto'")
        region = superpixels(X, grid.mask, min(count, len(X)))
        sizes = np.bincount(region)
        order = np.argsort(region, kind="stable")
        means = np.add.reduceat(X[order], np.cumsum(sizes) - sizes) / sizes[:, None]
        found = cluster.KMeans(n_clusters, n_init=n_init, random_state=seed)
        return found.fit_predict(means, sample_weight=sizes)[region]
