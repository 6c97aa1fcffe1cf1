"""Leading eigenpairs of a large symmetric graph, in a number of steps that does not grow with it.

The leading eigenvectors of a random walk are smooth along the graph. So the graph is coarsened to
groups of neighbours. The eigenvectors of the coarse graph are the start, and its inverse is one
part of the preconditioner, of a block method: locally optimal preconditioned conjugate gradients
(Knyazev, 2001), with stable bases (Duersch et al., 2018). docs/decisions/eigensolver.md compares it
with others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csc_array, csr_array, diags_array, vstack
from scipy.sparse.linalg import eigsh, splu

from spectrawalk import progress
from spectrawalk.errors import ConvergenceError
from spectrawalk.graph import entries
from spectrawalk.kernels import blocks

TOLERANCE = 1e-11
"""Residual |S v - lambda v| at which an eigenvector is final."""

_STRONG = 0.1
"""A neighbour tied by less than this share of the heaviest tie is not grouped with."""

_MOST_GROUPS = 10_000
"""A coarse graph with more nodes is coarsened again, so that it can be factorised."""

_DENSE_GROUPS = 600
"""Coarse graphs up to this size are solved densely."""

_SHIFT = 1e-7
"""Keeps the coarse matrix, which the constant vector makes singular, invertible."""

_GUARDS = 8
"""Vectors beyond the wanted ones: they speed up convergence and catch close eigenvalues."""

_CHECKS = 4
"""Random vectors with which missed eigenpairs are looked for."""

_CHECK_STEPS = 200
"""Steps of that search, at most: an overlooked pair shows itself long before."""

_MOST_STEPS = 2_000

Block = NDArray[np.float64]


class Walk:
    """The symmetric form S = D^-1/2 W D^-1/2 of a random walk, without a copy of W."""

    def __init__(self, W: csr_array) -> None:
        self.W = W
        self.n = W.shape[0]
        self._entries = entries(W)
        self.degree = W.sum(axis=1)
        self.scale = 1 / np.sqrt(self.degree)
        self.trivial = np.sqrt(self.degree / self.degree.sum())[:, None]

    def laplacian(self, block: Block) -> Block:
        """Multiply a block (n, m) by I - S, whose smallest eigenvalues are wanted."""
        out = np.empty_like(block)
        for start, stop in progress.ranges(self.n, self.W.nnz / self.n * block.shape[1]):
            blocks.walk(*self._entries, self.scale, block, out, start, stop)
        return np.subtract(block, out, out=out)

    def step(self, matrix: csr_array) -> csr_array:
        """Multiply a sparse matrix by S."""
        scale = diags_array(self.scale)
        scaled = (scale @ matrix).tocsr()
        work = 50 * (self.W.nnz / self.n) * max(matrix.nnz / self.n, 1)
        rows = [self.W[start:stop] @ scaled for start, stop in progress.ranges(self.n, work)]
        return (scale @ vstack(rows)).tocsr()


class CoarseGraph:
    """Groups of neighbours in place of pixels, by smoothed aggregation."""

    def __init__(self, walk: Walk) -> None:
        group = _groups(walk.W)
        size = np.sqrt(np.bincount(group, weights=walk.degree))
        # The trivial vector, restricted to each group; smoothed by one step of the walk.
        piece = (1 / walk.scale) / size[group]
        n, count = walk.n, len(size)
        pieces = csr_array((piece, group, np.arange(n + 1)), shape=(n, count))
        self.prolong = walk.step(pieces)
        self.restrict = self.prolong.T.tocsr()
        self.overlap = (self.restrict @ self.prolong).tocsc()
        self.matrix = csc_array(self.overlap - self.restrict @ walk.step(self.prolong))
        self.n_groups = count
        self._factors = splu(
            csc_array(self.matrix + _SHIFT * self.overlap),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def precondition(self, residual: Block) -> Block:
        """Apply an approximate inverse of I - S: local part plus coarse part."""
        coarse = self._factors.solve(np.ascontiguousarray(self.restrict @ residual))
        return residual + self.prolong @ coarse

    def leading(self, m: int) -> Block:
        """First m eigenvectors of the coarse graph beside the trivial one, as vectors of pixels."""
        m = min(m, self.n_groups - 1)
        if self.n_groups <= max(_DENSE_GROUPS, 3 * m):
            _, vectors = eigh(self.matrix.toarray(), self.overlap.toarray(), subset_by_index=(0, m))
        else:
            _, vectors = eigsh(
                self.matrix,
                M=self.overlap,
                k=m + 1,
                sigma=-_SHIFT,
                v0=_random_block(self.n_groups, 1).ravel(),
                rng=np.random.default_rng(0),
            )
            # A start only: what is missed or crude here is mended on the pixels.
        return self.prolong @ vectors[:, 1:]


def _groups(W: csr_array) -> NDArray[np.int64]:
    """Group of each pixel; groups are grouped again while there are too many."""
    group = blocks.aggregate(*entries(W), _STRONG)
    while (count := int(group.max()) + 1) > _MOST_GROUPS:
        n = len(group)
        member = csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, count))
        between = (member.T @ (W @ member)).tocsr()
        wider = blocks.aggregate(*entries(between), _STRONG)
        if wider.max() + 1 == count:
            break
        group = wider[group]
    return group


def leading_pairs(W: csr_array, m: int) -> tuple[NDArray[np.float64], Block]:
    """Largest m eigenpairs of S beside the trivial one, none of them missing.

    A block method can overlook an eigenvector that its start does not touch. So afterwards random
    vectors are sent after the smallest eigenvalue of what is left: while it belongs among the
    leading ones, the vector is taken in and the search repeated.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Connected and symmetric.
    m : int
        Much smaller than n.

    Returns
    -------
    eigenvalues : ndarray of shape (m,)
        Decreasing.
    eigenvectors : ndarray of shape (n, m)
        Of S, orthonormal.
    """
    walk = Walk(W)
    coarse = CoarseGraph(walk)
    start = np.column_stack([coarse.leading(m + _GUARDS - 2), _random_block(walk.n, 2)])
    missing = m + _GUARDS - start.shape[1]
    if missing > 0:
        start = np.column_stack([start, _random_block(walk.n, missing, seed=1)])
    return _complete_pairs(walk, coarse, start, m)


def _complete_pairs(
    walk: Walk, coarse: CoarseGraph, start: Block, m: int
) -> tuple[NDArray[np.float64], Block]:
    """Solve from a start, and again with what it overlooked."""
    while True:
        values, vectors = _smallest_pairs(walk, coarse, walk.trivial, start, m)
        found = np.column_stack([walk.trivial, vectors[:, :m]])
        overlooked = _find_smaller(walk, coarse, found, values[m - 1])
        if overlooked is None:
            return 1 - values[:m], np.ascontiguousarray(vectors[:, :m])
        start = np.column_stack([vectors, overlooked])


def _find_smaller(walk: Walk, coarse: CoarseGraph, found: Block, largest: float) -> Block | None:
    """Vectors beside the found ones whose eigenvalue is below the `largest` found, if any."""
    bound = largest * (1 - 1e-6) - 1e-13  # nearer than that it makes no difference
    if bound <= 0:
        return None
    start = _random_block(walk.n, _CHECKS, seed=2)
    values, vectors = _smallest_pairs(walk, coarse, found, start, 1, below=bound)
    return vectors[:, values < bound] if values[0] < bound else None


def _smallest_pairs(
    walk: Walk,
    coarse: CoarseGraph,
    known: Block,
    start: Block,
    m: int,
    *,
    below: float | None = None,
) -> tuple[NDArray[np.float64], Block]:
    """Smallest eigenpairs of I - S orthogonal to `known`, as many as `start` has columns.

    Ends when the first m have converged. With `below` the question is only whether there is an
    eigenvalue below that number: ends as soon as the answer is plain.
    """
    # The basis holds the eigenvectors so far, then the directions of the last step; `images` is
    # what I - S makes of it, and `matrix` is I - S in its terms.
    basis = _orthonormal(start, [known])
    images = walk.laplacian(basis)
    width = basis.shape[1]
    values, mixture = np.linalg.eigh(_symmetrised(blocks.gram(basis, images)))
    basis, images, matrix = (
        blocks.combine(basis, mixture),
        blocks.combine(images, mixture),
        np.diag(values),
    )
    for steps in range(_MOST_STEPS):
        residual = images[:, :width] - basis[:, :width] * values
        error = np.linalg.norm(residual, axis=0)
        unfinished = error > TOLERANCE
        if below is None:
            progress.report("eigenpairs", int(m - unfinished[:m].sum()), m)
        if not unfinished[:m].any() or _is_plain(values[0], error[0], below, steps):
            return values, basis[:, :width]
        search = coarse.precondition(np.ascontiguousarray(residual[:, unfinished]))
        search = _orthonormal(search, [known, basis])
        step = walk.laplacian(search)
        # One after the other, and what is done with is let go: these are the largest arrays.
        basis = np.hstack([basis, search])
        del search, residual
        matrix = _bordered(matrix, blocks.gram(basis, step))
        images = np.hstack([images, step])
        del step
        values, mixture = np.linalg.eigh(matrix)
        values, mixture = values[:width], mixture[:, :width]
        mixture = np.hstack([mixture, _step_directions(mixture, unfinished)])
        basis = blocks.combine(basis, mixture)
        images = blocks.combine(images, mixture)
        matrix = mixture.T @ matrix @ mixture
    raise ConvergenceError(
        f"the {m} leading eigenpairs of the graph on {walk.n} pixels did not converge in "
        f"{_MOST_STEPS} steps; try fewer n_eigenpairs, a larger sigma or more n_neighbors."
    )


def _is_plain(value: float, error: float, below: float | None, steps: int) -> bool:
    """Whether an eigenvalue below the number is found, or none is to be expected any more."""
    if below is None:
        return False
    return value < below or error < 0.1 * (value - below) or steps >= _CHECK_STEPS


def _bordered(matrix: Block, across: Block) -> Block:
    """Append to a symmetric matrix the columns `across`, and the rows that mirror them."""
    size, whole = len(matrix), len(across)
    bordered = np.empty((whole, whole))
    bordered[:size, :size] = matrix
    bordered[:, size:] = across
    bordered[size:, :] = across.T
    return _symmetrised(bordered)


def _step_directions(mixture: Block, unfinished: NDArray[np.bool_]) -> Block:
    """What the last step added to the unfinished pairs, orthonormal to all new ones.

    In terms of the orthonormal basis, where it costs next to nothing.
    """
    added = mixture[:, unfinished].copy()
    added[: mixture.shape[1]] = 0.0
    for _ in range(2):
        added -= mixture @ (mixture.T @ added)
        left, size, _ = np.linalg.svd(added, full_matrices=False)
        added = left[:, size > 1e-10 * max(size[0], 1e-300)]
    return added


def _orthonormal(block: Block, others: list[Block]) -> Block:
    """Make the columns orthonormal to each other and to the orthonormal `others`."""
    block = np.ascontiguousarray(block)
    block = block / np.maximum(np.linalg.norm(block, axis=0), 1e-300)
    for _ in range(2):  # twice is enough
        for other in others:
            blocks.subtract_mixture(block, other, blocks.gram(other, block))
        products = blocks.gram(block, block)
        size = 1 / np.sqrt(np.maximum(np.diag(products), 1e-300))
        squares, mixture = np.linalg.eigh(_symmetrised(products * size * size[:, None]))
        kept = squares > 1e-13 * squares[-1]
        block = blocks.combine(block, size[:, None] * mixture[:, kept] / np.sqrt(squares[kept]))
    return block


def _symmetrised(matrix: Block) -> Block:
    return (matrix + matrix.T) / 2


def _random_block(n: int, m: int, seed: int = 0) -> Block:
    """Start vectors: always the same, so that every run gives the same result."""
    return np.random.default_rng([seed, n, m]).uniform(-1, 1, (n, m))
