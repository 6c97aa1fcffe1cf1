"""Leading eigenpairs of a large symmetric graph, in a number of steps that does not grow with it.

The leading eigenvectors of a random walk are smooth along the graph. So the graph is coarsened to
groups of neighbours. The eigenvectors of the coarse graph are the start, and its inverse is one
part of the preconditioner, of a block method: locally optimal preconditioned conjugate gradients
(Knyazev, 2001), with stable bases (Duersch et al., 2018). docs/decisions/eigensolver.md compares it
with others.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array, vstack
from scipy.sparse.linalg import ArpackError, eigsh, splu

from spectrawalk import progress
from spectrawalk.errors import ConvergenceError
from spectrawalk.kernels import blocks
from spectrawalk.srdl.graph import entries
from spectrawalk.threads import run_blocks, split

TOLERANCE = 1e-11
"""Residual ``|S v - lambda v|`` at which an eigenvector is final, unless another is asked for."""

_CLOSE = 1e-8
"""Eigenvalues nearer to each other are as good as the same."""

_STRONG = 0.1
"""A neighbour tied by less than this share of the heaviest tie is not grouped with."""

_MOST_GROUPS = 10_000
"""A coarse graph with more nodes is coarsened again, so that it can be factorised."""

_DENSE_GROUPS = 600
"""Coarse graphs up to this size are solved densely."""

_SHIFT = 1e-11
"""Keeps the coarse matrix, which the constant vector makes singular, invertible."""

GUARDS = 8
"""Vectors beyond the wanted ones: they speed up convergence and catch close eigenvalues."""

_RANDOM = 4
"""As many of these start at random: they find eigenvectors that the coarse graph does not show."""

_LEAST_STEPS = 7
"""Steps that they are given: an overlooked eigenvalue shows itself in about five."""

_MOST_STEPS = 2_000
_MOST_PASSES = 5

_CANCELLED = 1e-6
"""Columns of which less is left beside the basis are projected once more before they are mixed."""

Block = NDArray[np.float64]


class Walk:
    """The symmetric form S = D^-1/2 W D^-1/2 of a random walk, without a copy of W."""

    def __init__(self, W: csr_array) -> None:
        self.W = W
        self.n = W.shape[0]
        self._entries = entries(W)
        self.degree = W.sum(axis=1)
        self.scale = 1 / np.sqrt(self.degree)
        self.trivial = np.sqrt(self.degree / self.degree.sum())

    def apply(self, block: Block) -> Block:
        """Multiply a block (n, m) by S."""
        m = block.shape[1]
        padded = np.empty((self.n, -(-m // blocks.LANES) * blocks.LANES))
        padded[:, :m], padded[:, m:] = block, 0.0
        out = np.empty_like(padded)
        multiply = partial(blocks.walk, *self._entries, self.scale, padded, out)
        for start, stop in progress.ranges(self.n, self.W.nnz / self.n * padded.shape[1]):
            run_blocks(multiply, split(start, stop, blocks.CHUNK))
        return out[:, :m]

    def step(self, matrix: csr_array) -> csr_array:
        """Multiply a sparse matrix by S."""
        scale = diags_array(self.scale)
        scaled = (scale @ matrix).tocsr()
        work = 50 * (self.W.nnz / self.n) * max(matrix.nnz / self.n, 1)
        ranges = progress.ranges(self.n, work)
        # Slicing copies: a small graph is taken whole.
        parts = (self.W[start:stop] for start, stop in ranges) if len(ranges) > 1 else [self.W]
        return (scale @ vstack([part @ scaled for part in parts])).tocsr()


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
        self.coupling = csr_array(self.prolong - walk.step(self.prolong))
        self.matrix = csc_array(self.restrict @ self.coupling)
        self.n_groups = count
        self._walk = walk
        self._factors = splu(
            csc_array(self.matrix + _SHIFT * self.overlap),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def precondition(self, residual: Block) -> Block:
        """Apply an approximate inverse of I - S: the coarse graph, neighbours, the coarse graph."""
        coarse = self._solve(self.restrict @ residual)
        local = self.coupling @ coarse
        np.subtract(residual, local, out=local)
        local += self._walk.apply(local)
        local += self.prolong @ (coarse - self._solve(self.coupling.T @ local))
        return local

    def _solve(self, right: Block) -> Block:
        return self._factors.solve(np.ascontiguousarray(right))

    def leading(self, m: int) -> Block:
        """First m eigenvectors of the coarse graph beside the trivial one, as vectors of pixels."""
        m = min(m, self.n_groups - 1)
        if self.n_groups <= max(_DENSE_GROUPS, 3 * m):
            # Groups that overlap nearly wholly count once.
            mixture = _orthonormal_mixture(self.overlap.toarray())
            _, vectors = np.linalg.eigh(_symmetrised(mixture.T @ self.matrix @ mixture))
            vectors = mixture @ vectors[:, : m + 1]
        else:
            try:
                _, vectors = eigsh(
                    self.matrix,
                    M=self.overlap,
                    k=m + 1,
                    sigma=-_SHIFT,
                    v0=_random_block(self.n_groups, 1).ravel(),
                    rng=np.random.default_rng(0),
                )
            except ArpackError:
                vectors = np.empty((self.n_groups, 0))
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


def leading_pairs(
    W: csr_array, m: int, tolerance: float = TOLERANCE
) -> tuple[NDArray[np.float64], Block]:
    """Largest m eigenpairs of S beside the trivial one, none of them missing.

    A block method can overlook an eigenvector that its start does not touch. So some of the start
    is random, and is given steps enough to show an eigenvalue that belongs among the leading ones.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Connected and symmetric.
    m : int
        Much smaller than n.
    tolerance : float
        Residual ``|S v - lambda v|`` at which an eigenvector is final.

    Returns
    -------
    eigenvalues : ndarray of shape (m,)
        Decreasing.
    eigenvectors : ndarray of shape (n, m)
        Of S, orthonormal.
    """
    walk = Walk(W)
    try:
        coarse = CoarseGraph(walk)
        start = coarse.leading(m + GUARDS - _RANDOM)
        start = np.hstack([start, _random_block(walk.n, m + GUARDS - start.shape[1])])
        values, vectors = _smallest_pairs(walk, coarse, start, m, tolerance)
    except ConvergenceError:
        raise
    except (np.linalg.LinAlgError, RuntimeError) as error:
        # Weights over hundreds of orders of magnitude can be too much for a factorisation.
        raise _no_convergence(walk.n, m, str(error)) from error
    return 1 - values, vectors


class Subspace:
    """Where eigenvectors are sought: orthonormal columns, what I - S makes of them, and its matrix.

    The first column is the trivial eigenvector, which takes no part but in keeping the others
    orthogonal to it.
    """

    def __init__(self, walk: Walk, most: int) -> None:
        self.walk = walk
        self.size = 1
        self.basis = np.empty((walk.n, 1 + most))
        self.basis[:, 0] = walk.trivial
        self.images = np.empty((walk.n, most))
        self.matrix = np.empty((0, 0))

    def extend(self, block: Block) -> None:
        """Take in what a block adds to the subspace."""
        first = self.size
        self.size += self._append_orthonormal(block)
        added = (first - 1, self.size - 1)
        block = self.basis[:, first : self.size]
        np.subtract(block, self.walk.apply(block), out=self.images[:, slice(*added)])
        across = blocks.gram(self.basis, (1, self.size), self.images, added)
        self.matrix = _bordered(self.matrix, across)

    def _append_orthonormal(self, block: Block) -> int:
        """Write a block beside the basis, orthonormal; return how many columns it then has."""
        first, count = self.size, block.shape[1]
        self.basis[:, first : first + count] = block
        for _ in range(_MOST_PASSES):
            new = (first, first + count)
            products = blocks.gram(self.basis, (0, first + count), self.basis, new)
            along, own = products[:first], products[first:]
            rest = _symmetrised(own - along.T @ along)
            left = np.diag(rest) / np.diag(own)
            if left.min() < _CANCELLED:
                mixture = np.diag(1 / np.sqrt(np.diag(own)))  # what is left is not known well yet
            else:
                mixture = _orthonormal_mixture(rest)
            mixture = np.vstack([-along @ mixture, mixture])
            blocks.mix(self.basis, (0, first + count), mixture, first)
            count = mixture.shape[1]
            # From nearly orthonormal columns, one pass makes orthonormal ones.
            if np.abs(along).max() < 0.1 and np.abs(own - np.eye(len(own))).max() < 0.1:
                break
        return count

    def keep(self, mixture: Block) -> None:
        """Keep only mixtures of the columns, orthonormal in their terms."""
        whole = self.size
        self.size = 1 + mixture.shape[1]
        blocks.mix(self.basis, (1, whole), mixture, 1)
        blocks.mix(self.images, (0, whole - 1), mixture, 0)
        self.matrix = mixture.T @ self.matrix @ mixture

    def residuals(self, values: NDArray[np.float64]) -> tuple[Block, NDArray[np.float64]]:
        """Residuals of the first columns as eigenvectors, and their norms."""
        return blocks.residuals(self.basis, 1, self.images, values)

    def first(self, m: int) -> Block:
        """Copy of the first m columns beside the trivial one."""
        return np.ascontiguousarray(self.basis[:, 1 : 1 + m])


def _smallest_pairs(
    walk: Walk, coarse: CoarseGraph, start: Block, m: int, tolerance: float
) -> tuple[NDArray[np.float64], Block]:
    """Smallest m eigenpairs of I - S beside the trivial one."""
    # The eigenvectors so far, the directions of the last step, and those of the next.
    space = Subspace(walk, 3 * start.shape[1])
    space.extend(start)
    values, mixture = np.linalg.eigh(space.matrix)
    width = len(values)
    space.keep(mixture)
    for steps in range(_MOST_STEPS):
        residual, error = space.residuals(values)
        unfinished = error > np.where(values < _CLOSE, max(_CLOSE, tolerance), tolerance)
        progress.report("eigenpairs", int(m - unfinished[:m].sum()), m)
        settled = steps >= _LEAST_STEPS and _stay_apart(values, error, m)
        if not unfinished[: m if settled else None].any():
            return values[:m], space.first(m)
        if not unfinished.all():
            residual = residual[:, unfinished]
        space.extend(coarse.precondition(residual))
        del residual  # one of the largest arrays
        values, mixture = np.linalg.eigh(space.matrix)
        values, mixture = values[:width], mixture[:, :width]
        space.keep(np.hstack([mixture, _step_directions(mixture, unfinished)]))
    raise _no_convergence(walk.n, m, f"{_MOST_STEPS} steps")


def _no_convergence(n: int, m: int, why: str) -> ConvergenceError:
    return ConvergenceError(
        f"the {m} leading eigenpairs of the graph on {n} pixels did not converge ({why}); try "
        "fewer n_eigenpairs, a larger sigma or more n_neighbors."
    )


def _stay_apart(values: NDArray[np.float64], error: NDArray[np.float64], m: int) -> bool:
    """Whether what lies beyond the first m pairs will not come among them any more."""
    fall = np.minimum(error[m:], values[m:])  # an eigenvalue is no less than 0
    return bool((fall < values[m:] - values[m - 1] + _CLOSE).all())


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


def _orthonormal_mixture(products: Block) -> Block:
    """Mixture of columns with these inner products that is orthonormal; spans all but rounding."""
    scale = 1 / np.sqrt(np.diag(products))
    squares, mixture = np.linalg.eigh(products * scale * scale[:, None])
    kept = squares > 1e-12 * squares[-1]
    return scale[:, None] * mixture[:, kept] / np.sqrt(squares[kept])


def _symmetrised(matrix: Block) -> Block:
    return (matrix + matrix.T) / 2


def _random_block(n: int, m: int) -> Block:
    """Start vectors: always the same, so that every run gives the same result."""
    return np.random.default_rng([n, m]).uniform(-1, 1, (n, m))
