"""Comparison methods that find the number of clusters themselves, by usual rules without labels.

The classes of the same methods in ``dbscan.py``, ``hdbscan.py`` and ``leiden.py`` search for the
number of clusters that they are given.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster
from sklearn.neighbors import NearestNeighbors

from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.dbscan import join_nearest
from spectrawalk.baselines.leiden import communities
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.principal import centred_blocks, principal_directions
from spectrawalk.srdl.pipeline import GraphSettings, nearest_neighbors, neighbor_graph

COMPONENTS = 10
"""Principal components that the methods based on density use, as :class:`baselines.HDBSCAN`."""

NEIGHBORS = 20
"""Spectra, the pixel itself included, from which the density of a pixel is taken, as there."""


class _OwnNumber(Baseline):
    """A method without a parameter for the number of clusters; each is at its usual defaults."""

    n_clusters: ClassVar[int] = 1  # type: ignore[misc]  # at least as many pixels are needed
    _reaches_n_clusters = False

    def __init__(self, *, normalize: str | None = "pixel", random_state: int | None = None) -> None:
        self.normalize = normalize
        self.random_state = random_state


class OwnHDBSCAN(_OwnNumber):
    """HDBSCAN whose smallest cluster has as many pixels as its density is taken from.

    Noise pixels join the cluster of the nearest pixel that has one.

    Examples
    --------
    >>> line = np.column_stack([np.arange(80.0), np.ones(80)])
    >>> line[40:] += 90
    >>> OwnHDBSCAN(normalize=None).fit(line).n_clusters_
    2
    """

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        leading, count = _leading(X), min(NEIGHBORS, len(X))
        labels = cluster.HDBSCAN(
            min_cluster_size=max(2, count), min_samples=count, algorithm="kd_tree", copy=False
        ).fit_predict(leading)
        return _without_noise(leading, labels)


class OwnDBSCAN(_OwnNumber):
    """DBSCAN whose radius is at the knee of the sorted distances to the 20th spectrum.

    Ester, Kriegel, Sander and Xu (1996) choose the radius by eye at the first valley of this curve.
    Here it is where the curve is farthest below the chord between its ends. Border and noise pixels
    join the cluster of the nearest core pixel.

    Attributes
    ----------
    eps_ : float
        The radius.

    Examples
    --------
    >>> line = np.column_stack([np.arange(80.0), np.ones(80)])
    >>> line[40:] += 90
    >>> OwnDBSCAN(normalize=None).fit(line).n_clusters_
    2
    """

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        leading, count = _leading(X), min(NEIGHBORS, len(X))
        near, _ = NearestNeighbors(n_neighbors=count).fit(leading).kneighbors(leading)
        reach = near[:, -1]
        # Slightly larger, so that pairs exactly at the radius count in spite of rounding errors.
        self.eps_ = knee(np.sort(reach)) * (1 + 1e-9)
        tree = cluster.HDBSCAN(
            min_cluster_size=2, min_samples=count, algorithm="kd_tree", copy=False
        ).fit(leading)
        labels = tree.dbscan_clustering(self.eps_, min_cluster_size=1)
        return _without_noise(leading, np.where(reach <= self.eps_, labels, -1))


class OwnMeanShift(_OwnNumber):
    """Mean shift (Comaniciu and Meer, 2002) with the bandwidth that scikit-learn estimates.

    This bandwidth is the mean distance to the farthest of the nearest 30 % of 500 pixels.

    Examples
    --------
    >>> line = np.column_stack([np.arange(80.0), np.ones(80)])
    >>> line[40:] += 900
    >>> OwnMeanShift(normalize=None).fit(line).n_clusters_
    2
    """

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        leading = _leading(X)
        width = cluster.estimate_bandwidth(leading, n_samples=500, random_state=seed)
        labels = cluster.MeanShift(bandwidth=width or None, bin_seeding=True).fit_predict(leading)
        return np.asarray(labels, dtype=np.int64)


class OwnLeiden(_OwnNumber):
    """Leiden communities (Traag, Waltman and van Eck, 2019) of SRDL's graph, at resolution 1.

    This is plain modularity. It needs scikit-network: ``pip install 'spectrawalk[benchmark]'``.
    """

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        return self._cluster_image(X, Grid(np.ones(len(X), dtype=bool)), n_clusters, seed)

    def _cluster_image(
        self, X: NDArray[np.float64], grid: Grid, n_clusters: int, seed: int
    ) -> NDArray[np.int64]:
        settings = GraphSettings(n_neighbors=100, radius=8)
        W = neighbor_graph(nearest_neighbors(X, grid, settings), X, grid, settings).W
        return communities(W, resolution=1.0)


def knee(ascending: NDArray[np.float64]) -> float:
    """Value where an ascending curve is farthest below the chord between its ends.

    Examples
    --------
    >>> knee(np.array([0.0, 0.1, 0.2, 0.3, 5.0]))
    0.3
    """
    chord = np.linspace(ascending[0], ascending[-1], len(ascending))
    return float(ascending[np.argmax(chord - ascending)])


def _leading(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leading principal components of the spectra."""
    middle = X.mean(axis=0)
    directions = principal_directions(centred_blocks(X, middle), COMPONENTS)
    return np.concatenate([block @ directions for block in centred_blocks(X, middle)])


def _without_noise(X: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give noise the cluster of the nearest pixel that has one; if all is noise, one cluster."""
    return join_nearest(X, labels) if labels.max() >= 0 else np.zeros(len(X), dtype=np.int64)
