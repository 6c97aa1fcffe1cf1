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

    Each pixel is connected to its `n_neighbors` nearest spectra in the whole image. All edges have
    the same weight.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default ``"band"`` (each band has unit length): it reproduces the
        paper's results on the Indian Pines subset and on Salinas A.
    n_neighbors : int
        Number of neighbours of each pixel; 100 as in all graphs of the paper.
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
                f"n_neighbors={k} connects each of the {len(X)} pixels to every other one, and "
                "such a graph has no clusters; give fewer neighbours."
            )
        index, d2 = global_neighbors(X, k)
        unweighted = np.full(len(X), np.inf)
        return spectral_labels(weight_matrix(index, d2, unweighted), X, n_clusters, seed)


def spectral_labels(
    W: csr_array, X: NDArray[np.float64], n_clusters: int, seed: int
) -> NDArray[np.int32]:
    """Cluster the nodes of a graph (Ng, Jordan and Weiss, 2001).

    The rows of the matrix of leading eigenvectors are scaled to unit length and clustered by
    K-means. scikit-learn's SpectralClustering does not scale the rows, and does not reproduce the
    paper's result.

    A graph with several connected components has an eigenvalue 1 for each of them, and the solver
    returns arbitrary mixtures of their eigenvectors. So the components are connected first, each by
    one edge of median weight to the nearest spectrum outside. A cut through such an edge is still
    one of the cheapest.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    X : ndarray of shape (n, bands)
        Spectra, which decide where components are connected.
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
    # Eigenvectors of D^-1 W and of D^-1/2 W D^-1/2 differ by a factor per row, which cancels here.
    _, vectors = leading_eigenpairs(W, n_clusters)
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return kmeans_labels(rows, n_clusters, seed)
