"""Spectral clustering of a neighbour graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.kmeans import kmeans_labels
from spectrawalk.errors import GraphError
from spectrawalk.parameters import check_integer
from spectrawalk.srdl.bridges import bridge_components
from spectrawalk.srdl.eigenpairs import leading_eigenpairs
from spectrawalk.srdl.graph import weight_matrix
from spectrawalk.srdl.neighbors import global_neighbors


class SpectralClustering(Baseline):
    """Spectral clustering (Ng, Jordan and Weiss, 2001) of the graph of nearest spectra.

    Each pixel is joined to its `n_neighbors` nearest spectra in the whole image, all edges with
    the same weight.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        What it is fed. Default ``"band"``, each band to unit length: it gives the paper's row on
        the Indian Pines subset, and on Salinas A too.
    n_neighbors : int
        Edges per pixel; 100 as in all graphs of the paper.
    random_state : int or None
        Seed of the K-means step; None is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import SpectralClustering
    >>> angle = np.linspace(0, 6, 60)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> rings = np.concatenate([circle, 3 * circle])
    >>> labels = SpectralClustering(2, normalize=None, n_neighbors=5).fit_predict(rings)
    >>> np.bincount(labels[:60]).tolist(), np.bincount(labels[60:]).tolist()
    ([60], [0, 60])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "band",
        n_neighbors: int = 100,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        k = check_integer("n_neighbors", self.n_neighbors, 1)
        if k >= len(X) - 1:
            raise GraphError(
                f"n_neighbors={k} joins each of the {len(X)} pixels to every other, which leaves "
                "nothing to cut; give fewer."
            )
        index, d2 = global_neighbors(X, k)
        unweighted = np.full(len(X), np.inf)
        return spectral_labels(weight_matrix(index, d2, unweighted), X, n_clusters, seed)


def spectral_labels(
    W: csr_array, X: NDArray[np.float64], n_clusters: int, seed: int
) -> NDArray[np.int32]:
    """Cluster the nodes of a graph as Ng, Jordan and Weiss do.

    The leading eigenvectors side by side, each row scaled to unit length, then K-means on the
    rows. scikit-learn's SpectralClustering leaves the scaling out, and with it the paper's row.

    A graph in several parts has as many eigenvectors of eigenvalue 1, and which of their mixtures
    comes out is chance. So the parts are joined first, each by one edge of median weight to the
    nearest spectrum outside it: a cut through that edge is still about the cheapest there is.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    X : ndarray of shape (n, bands)
        The spectra; they say where to join parts.
    n_clusters, seed : int

    Returns
    -------
    labels : ndarray of int32, shape (n,)
    """
    n = W.shape[0]
    weight_one = np.full(n, np.inf)  # a bridge weighs exp(-d^2 / (s_i s_j))
    W, _ = bridge_components(
        W / np.median(W.data), X, np.ones(n, dtype=bool), weight_one, radius=None
    )
    # Eigenvectors of D^-1 W and of D^-1/2 W D^-1/2 differ by a factor per row, which goes here.
    _, vectors = leading_eigenpairs(W, n_clusters)
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return kmeans_labels(rows, n_clusters, seed)
