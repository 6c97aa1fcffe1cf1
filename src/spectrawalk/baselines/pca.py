"""Principal components, then K-means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition

from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.kmeans import kmeans_labels
from spectrawalk.parameters import check_integer


class PCAKMeans(Baseline):
    """Principal component analysis, then K-means on the leading components.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default None (raw values): it is closest to the paper's result on the
        Indian Pines subset. ``"band"`` is within .01 there, and reproduces the result on Salinas A.
    n_components : int or None
        Number of components; None is `n_clusters`. At most the number of bands.
    random_state : int or None
        Seed; None is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import PCAKMeans
    >>> PCAKMeans(2).fit_predict(np.array([[1.0, 2.0, 3.0], [1.1, 2.0, 3.0], [9.0, 8.0, 1.0]]))
    array([0, 0, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = None,
        n_components: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_components = n_components
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        size = projected_size(self.n_components, n_clusters, X)
        projected = decomposition.PCA(size, random_state=seed).fit_transform(X)
        return kmeans_labels(projected, n_clusters, seed)


def projected_size(wanted: int | None, n_clusters: int, X: NDArray[np.float64]) -> int:
    """Number of dimensions of a projection: `wanted`, or `n_clusters`; at most all."""
    size = n_clusters if wanted is None else check_integer("n_components", wanted, 1)
    return min(size, *X.shape)
