"""SMCE: sparse manifold clustering and embedding (Elhamifar and Vidal, 2011)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk import progress
from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.spectral_clustering import spectral_labels
from spectrawalk.errors import ConvergenceError, StructureError
from spectrawalk.parameters import check_integer, check_number
from spectrawalk.srdl.neighbors import global_neighbors

BLOCK = 256
"""Pixels solved side by side: their arrays of (BLOCK, k, bands) stay within tens of megabytes."""

TOLERANCE = 1e-4
"""Largest change of a coefficient, and largest gap to the affine constraint, at convergence."""

MAX_ITER = 20_000
"""Iterations within which the combinations must converge; scenes need hundreds."""


class SMCE(Baseline):
    """Sparse manifold clustering and embedding.

    Around each pixel, the directions to its neighbours on the same manifold span a low-dimensional
    tangent space, so a few of them suffice for an affine combination close to zero. Neighbours
    that are used, and near, become the edges of a graph, which is cut by spectral clustering:
    manifolds that come close come apart, since a step across lies along no tangent.

    Identical spectra have no direction between them; they are one point here and share its label.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        What it is fed. Default ``"band"``, each band to unit length: it gives the paper's row on
        the Indian Pines subset.
    n_neighbors : int
        Neighbours among which the combination is sought.
    sparsity : float
        Weight lambda of the l1 norm against the length of the combination.
    random_state : int or None
        Seed of the K-means step; None is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import SMCE
    >>> angle = np.arange(100) * 2 * np.pi / 100
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> close_rings = np.concatenate([ring, 1.1 * ring])
    >>> labels = SMCE(2, normalize=None, n_neighbors=20).fit_predict(close_rings)
    >>> np.bincount(labels[:100]).tolist(), np.bincount(labels[100:]).tolist()
    ([100], [0, 100])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "band",
        n_neighbors: int = 50,
        sparsity: float = 10.0,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_neighbors = n_neighbors
        self.sparsity = sparsity
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        k = check_integer("n_neighbors", self.n_neighbors, 1)
        sparsity = check_number("sparsity", self.sparsity)
        distinct, which = np.unique(X, axis=0, return_inverse=True)
        if len(distinct) < n_clusters:
            raise StructureError(
                f"n_clusters={n_clusters} but there are only {len(distinct)} distinct spectra; "
                "ask for fewer clusters."
            )
        W = tangent_graph(distinct, k, sparsity)
        return spectral_labels(W, distinct, n_clusters, seed)[which]


def tangent_graph(X: NDArray[np.float64], n_neighbors: int, sparsity: float) -> csr_array:
    """Join each of some distinct spectra to the few neighbours that lie along its manifold.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Distinct spectra.
    n_neighbors : int
    sparsity : float
        lambda.

    Returns
    -------
    W : csr_array of shape (n, n)
        Symmetric; the larger of the two weights that a pair of pixels gives to each other, each
        pixel's weights being |c_j| / d_j scaled to sum 1.
    """
    n = len(X)
    index, d2 = global_neighbors(X, n_neighbors)
    k = index.shape[1]
    distance = np.sqrt(d2)
    weight = np.empty_like(distance)
    for start in progress.track("tangents", range(0, n, BLOCK)):
        block = slice(start, start + BLOCK)
        away = distance[block]
        directions = (X[index[block]] - X[block, None]) / away[:, :, None]
        gram = directions @ directions.transpose(0, 2, 1)
        cost = sparsity * away / away.sum(axis=1, keepdims=True)
        used = np.abs(sparse_affine_combinations(gram, cost)) / away
        weight[block] = used / used.sum(axis=1, keepdims=True)
    W = csr_array((weight.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    W.eliminate_zeros()
    W.sort_indices()
    return W.maximum(W.T).tocsr()


def sparse_affine_combinations(
    gram: NDArray[np.float64], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise c' G c / 2 + sum_j cost_j |c_j| over combinations c that sum to 1.

    By alternating directions (ADMM), for many small problems side by side: one half-step solves
    the quadratic part under the constraint, the other shrinks towards zero, and a running sum of
    their disagreement draws them together.

    Parameters
    ----------
    gram : ndarray of shape (m, k, k)
        Inner products G of the unit directions, one problem each.
    cost : ndarray of shape (m, k)
        Price of using a neighbour; the farther, the dearer.

    Returns
    -------
    c : ndarray of shape (m, k)
        With exact zeros; sums to 1 within the tolerance.
    """
    m, k, _ = gram.shape
    inverse = np.linalg.inv(gram + np.eye(k))
    correction = inverse.sum(axis=2)
    correction /= correction.sum(axis=1, keepdims=True)
    sparse = np.zeros((m, k))
    disagreement = np.zeros((m, k))
    for _ in range(MAX_ITER):
        smooth = (inverse @ (sparse - disagreement)[:, :, None])[:, :, 0]
        smooth += correction * (1 - smooth.sum(axis=1, keepdims=True))
        target = smooth + disagreement
        before, sparse = sparse, np.sign(target) * np.maximum(np.abs(target) - cost, 0)
        disagreement = target - sparse
        if max(np.abs(sparse - before).max(), np.abs(sparse - smooth).max()) < TOLERANCE:
            return sparse
    raise ConvergenceError(
        f"the sparse combinations of SMCE did not converge in {MAX_ITER} iterations; give a "
        "smaller sparsity or fewer n_neighbors."
    )
