"""DBSCAN with a radius that gives the number of clusters asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster
from sklearn.neighbors import NearestNeighbors

from spectrawalk.baselines.base import Baseline
from spectrawalk.parameters import check_integer
from spectrawalk.srdl.neighbors import global_neighbors

QUANTILES = np.linspace(0.05, 0.95, 19)
"""Radii to try, as quantiles of the distance to the `min_samples`-th nearest spectrum."""


class DBSCAN(Baseline):
    """Density-based clustering (Ester, Kriegel, Sander and Xu, 1996).

    DBSCAN has no parameter for the number of clusters, so its radius is chosen without ground
    truth. It is the smallest radius on a fixed grid that gives `n_clusters` clusters, or else the
    smallest that comes closest. The grid is ``QUANTILES`` of the distance from a pixel to its
    `min_samples`-th nearest spectrum, the pixel itself included. All border and noise pixels join
    the cluster of the nearest core pixel.

    The core pixels at all radii come from one tree, which scikit-learn's HDBSCAN builds. There is
    no n x n array.

    Parameters
    ----------
    n_clusters : int
        Number of clusters asked for; ``n_clusters_`` is the number found.
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default ``"pixel"`` (each spectrum has unit length): it is closest to
        the paper's result on the Indian Pines subset.
    min_samples : int
        Number of spectra within the radius, the pixel itself included, that make a pixel a core
        pixel. The default is the number of neighbours for the density in diffusion learning.
    random_state : ignored
        The method is not random.

    Attributes
    ----------
    eps_ : float
        The radius chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import DBSCAN
    >>> line = np.column_stack([np.arange(40.0), np.ones(40)])
    >>> line[20:] += 30
    >>> DBSCAN(2, min_samples=3, normalize=None).fit(line).n_clusters_
    2
    """

    _reaches_n_clusters = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "pixel",
        min_samples: int = 20,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.min_samples = min_samples
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        min_samples = min(check_integer("min_samples", self.min_samples, 2), len(X))
        _, d2 = global_neighbors(X, min_samples - 1)
        core_distance = np.sqrt(d2[:, -1])
        tree = cluster.HDBSCAN(
            min_cluster_size=2, min_samples=min_samples, algorithm="kd_tree", copy=False
        ).fit(X)
        # Slightly larger, so that pairs exactly at the radius count in spite of rounding errors.
        radii = np.unique(np.quantile(core_distance, QUANTILES)) * (1 + 1e-9)
        best_miss: float = np.inf
        for radius in radii:
            candidate = _core_clusters(tree, core_distance, radius)
            miss = abs(len(np.unique(candidate[candidate >= 0])) - n_clusters)
            if miss < best_miss:
                best_miss, core_labels, self.eps_ = miss, candidate, float(radius)
            if miss == 0:
                break
        return join_nearest(X, core_labels)


def _core_clusters(
    tree: cluster.HDBSCAN, core_distance: NDArray[np.float64], radius: float
) -> NDArray[np.int64]:
    """Cluster of each core pixel at a radius, -1 for the others."""
    # At this height of the tree, each pixel that is not a core pixel is a cluster of one.
    labels = tree.dbscan_clustering(radius, min_cluster_size=1)
    return np.where(core_distance <= radius, labels, -1)


def join_nearest(X: NDArray[np.float64], core_labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give every pixel without a cluster the cluster of the nearest core pixel."""
    core = core_labels >= 0
    if core.all():
        return core_labels
    nearest = NearestNeighbors(n_neighbors=1).fit(X[core])
    labels = core_labels.copy()
    labels[~core] = core_labels[core][nearest.kneighbors(X[~core])[1][:, 0]]
    return labels
