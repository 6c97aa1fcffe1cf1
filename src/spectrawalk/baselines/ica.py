"""Independent components, then K-means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition

from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.kmeans import kmeans_labels
from spectrawalk.baselines.pca import projected_size
from spectrawalk.parameters import check_integer


class ICAKMeans(Baseline):
    """Independent component analysis (FastICA), then K-means on the components.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default ``"band"`` (each band has unit length): it reproduces the
        paper's results on the Indian Pines subset and on Salinas A.
    n_components : int or None
        Number of components; None is `n_clusters`. At most the number of bands.
    max_iter : int
        Largest number of iterations of FastICA.
    random_state : int or None
        Seed; None is 0.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations of FastICA.

    Examples
    --------
    >>> from spectrawalk.baselines import ICAKMeans
    >>> from spectrawalk.datasets import make_scene
    >>> ICAKMeans(3).fit_predict(make_scene((12, 12), n_classes=3)).shape
    (12, 12)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "band",
        n_components: int | None = None,
        max_iter: int = 1000,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        size = projected_size(self.n_components, n_clusters, X)
        max_iter = check_integer("max_iter", self.max_iter, 1)
        ica = decomposition.FastICA(
            size, whiten="unit-variance", max_iter=max_iter, random_state=seed
        )
        components = ica.fit_transform(X)
        self.n_iter_ = int(ica.n_iter_)
        return kmeans_labels(components, n_clusters, seed)
