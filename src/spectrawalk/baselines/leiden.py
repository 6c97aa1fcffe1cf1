"""Leiden communities of SRDL's neighbour graph."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from spectrawalk import progress
from spectrawalk.baselines.base import Baseline
from spectrawalk.errors import MissingDependencyError
from spectrawalk.parameters import check_integer
from spectrawalk.prepare.pixels import Grid
from spectrawalk.srdl.pipeline import GraphSettings, nearest_neighbors, neighbor_graph

RESOLUTIONS = np.geomspace(1e-3, 1e3, 1 + 6 * 16)
"""Resolutions among which one is chosen."""


class Leiden(Baseline):
    """Communities of the neighbour graph of SRDL (Leiden; Traag, Waltman and van Eck, 2019).

    The resolution is chosen without ground truth: on a geometric grid, by bisection, as the number
    of communities grows with it. If none gives `n_clusters` communities, the one that came closest
    is used. It needs scikit-network: ``pip install 'spectrawalk[benchmark]'``.

    Parameters
    ----------
    n_clusters : int
        Number of clusters asked for; ``n_clusters_`` is the number found.
    normalize : {"pixel", "band", "global", None}
        Scaling of the input.
    radius : int or None
        Half-width of the window in which neighbours are searched, in pixels. None: no window.
    n_neighbors : int
        Number of neighbours of each pixel.
    random_state : ignored
        Pixels are visited in their order.

    Attributes
    ----------
    resolution_ : float
        The resolution chosen.
    """

    _reaches_n_clusters = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "pixel",
        radius: int | None = 8,
        n_neighbors: int = 100,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.radius = radius
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        return self._cluster_image(X, Grid(np.ones(len(X), dtype=bool)), n_clusters, seed)

    def _cluster_image(
        self, X: NDArray[np.float64], grid: Grid, n_clusters: int, seed: int
    ) -> NDArray[np.int64]:
        if self.radius is not None:
            check_integer("radius", self.radius, 1, why=", or None for no window")
        k = check_integer("n_neighbors", self.n_neighbors, 1)
        settings = GraphSettings(n_neighbors=k, radius=self.radius)
        W = neighbor_graph(nearest_neighbors(X, grid, settings), X, grid, settings).W
        best_miss, low, high = np.inf, 0, len(RESOLUTIONS) - 1
        while low <= high and best_miss > 0:
            place = (low + high) // 2
            progress.report("communities", 0, 1)
            labels = communities(W, float(RESOLUTIONS[place]))
            found = int(labels.max()) + 1
            if abs(found - n_clusters) < best_miss:
                best_miss, best = abs(found - n_clusters), labels
                self.resolution_ = float(RESOLUTIONS[place])
            if found < n_clusters:
                low = place + 1
            else:
                high = place - 1
        progress.report("communities", 1, 1)
        return best


def communities(W: Any, resolution: float) -> NDArray[np.int64]:
    """Leiden communities of a graph, the same in every call.

    Parameters
    ----------
    W : sparse array of shape (n, n)
        Weights of the edges.
    resolution : float
        1 is plain modularity.
    """
    try:
        from sknetwork.clustering import Leiden as Communities
    except ImportError as error:
        raise MissingDependencyError(
            "Leiden needs scikit-network, which is not installed; "
            "run: pip install 'spectrawalk[benchmark]'"
        ) from error
    # Besides its random_state, scikit-network draws from the C library, whose state would
    # otherwise depend on what ran before.
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).srand(1)
    search = Communities(resolution, modularity="newman", random_state=0)
    return np.asarray(search.fit_predict(csr_matrix(W)), dtype=np.int64)
