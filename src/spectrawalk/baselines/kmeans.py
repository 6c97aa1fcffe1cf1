"""K-means on the spectra, or on a projection of them."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster
from sklearn.exceptions import ConvergenceWarning

from spectrawalk.baselines.base import Baseline
from spectrawalk.parameters import check_integer


def kmeans_labels(
    X: NDArray[np.float64], n_clusters: int, seed: int, n_init: int = 10
) -> NDArray[np.int32]:
    """Cluster the rows of `X` by K-means, the best of `n_init` initialisations."""
    with warnings.catch_warnings():
        # The only possible warning here is "fewer distinct points than clusters". Baseline raises
        # an error for too few clusters, as for every method.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cluster.KMeans(n_clusters, n_init=n_init, random_state=seed).fit_predict(X)


class KMeans(Baseline):
    """K-means on the spectra.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default None (raw values): it is closest to the paper's result on the
        Indian Pines subset. ``"band"`` is as close there, and reproduces the result on Salinas A.
    n_init : int
        Number of initialisations. The result with the smallest variance inside clusters is kept.
    random_state : int or None
        Seed; None is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import KMeans
    >>> cube = np.array([[[1.0, 2.0], [1.1, 2.0], [9.0, 8.0]]])
    >>> KMeans(n_clusters=2).fit_predict(cube)
    array([[0, 0, 1]], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = None,
        n_init: int = 10,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        n_init = check_integer("n_init", self.n_init, 1)
        return kmeans_labels(X, n_clusters, seed, n_init)
