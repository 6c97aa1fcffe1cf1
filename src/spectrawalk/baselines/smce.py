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
"""Number of pixels solved together, so that arrays of (BLOCK, k, bands) take tens of megabytes."""

TOLERANCE = 1e-4
"""Largest change of a coefficient, and largest gap to the affine constraint, at convergence."""

MAX_ITER = 20_000
"""Largest number of iterations; scenes need hundreds."""


class SMCE(Baseline):
    """Sparse manifold clustering and embedding.

    Around each pixel, the directions to its neighbours on the same manifold span a low-dimensional
    tangent space. So a few of them are enough for an affine combination close to zero. The
    neighbours in this combination become the edges of a graph, with larger weights for closer ones.
    The graph is clustered by spectral clustering. This separates manifolds that are close to each
    other, because a direction from one to the other is not in the tangent space.

    There is no direction between identical spectra, so they count as one point and get the same
    label.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default ``"band"`` (each band has unit length): it reproduces the
        paper's result on the Indian Pines subset.
    n_neighbors : int
        Number of neighbours that the combination can use.
    sparsity : float
        Weight lambda of the l1 norm, relative to the squared length of the combination.
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
    """Connect each spectrum to the few neighbours in the tangent space of its manifold.

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
        Symmetric weights. The weights of a pixel are |c_j| / d_j, scaled to sum 1; a pair gets the
        larger of its two weights.
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

    It solves many small problems together by the alternating direction method of multipliers
    (ADMM). One step solves the quadratic part under the constraint, the next one shrinks towards
    zero, and the sum of their differences (the dual variable) makes them agree.

    Parameters
    ----------
    gram : ndarray of shape (m, k, k)
        Inner products G of the unit directions, for each problem.
    cost : ndarray of shape (m, k)
        Cost of each neighbour; it increases with the distance.

    Returns
    -------
    c : ndarray of shape (m, k)
        Sparse coefficients, with exact zeros; they sum to 1 within the tolerance.
    """
    m, k, _ = gram.shape
    inverse = np.linalg.inv(gram + np.eye(k))
    correction = inverse.sum(axis=2)
    correction /= correction.sum(axis=1, keepdims=True)
    sparse = np.zeros((m, k))
    dual = np.zeros((m, k))
    for _ in range(MAX_ITER):
        smooth = (inverse @ (sparse - dual)[:, :, None])[:, :, 0]
        smooth += correction * (1 - smooth.sum(axis=1, keepdims=True))
        target = smooth + dual
        before, sparse = sparse, np.sign(target) * np.maximum(np.abs(target) - cost, 0)
        dual = target - sparse
        if max(np.abs(sparse - before).max(), np.abs(sparse - smooth).max()) < TOLERANCE:
            return sparse
    raise ConvergenceError(
        f"the sparse combinations of SMCE did not converge in {MAX_ITER} iterations; give a "
        "smaller sparsity or fewer n_neighbors."
    )
