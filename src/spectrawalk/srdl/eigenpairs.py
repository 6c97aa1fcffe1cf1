"""Algorithm 1, second half: leading eigenpairs of the random walk, diffusion coordinates."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

from spectrawalk.errors import ConvergenceError
from spectrawalk.srdl import eigensolver
from spectrawalk.srdl.graph import component_numbers
from spectrawalk.threads import one_thread

AUTO_EIGENPAIRS = (5, 20)
"""Range in which the number of eigenpairs is chosen from the taper of the eigenvalues."""

_DENSE = 400
"""Parts of the graph up to this size are solved densely: exact, and faster than iterating."""

_DENSE_RESCUE = 2_000
"""Parts up to this size are solved densely where iterating fails."""

_MOST_RESTARTS = 1_000
"""Restarts of the iteration on a directed graph; ordinary ones need fewer than a hundred."""


def leading_eigenpairs(
    W: csr_array,
    n_eigenpairs: int | str,
    *,
    symmetric: bool = True,
    tolerance: float = eigensolver.TOLERANCE,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading eigenpairs (lambda_n, Phi_n) of the random walk P = D^-1 W.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Weights of the graph. Its components are solved apart, each with an eigenvalue 1 of its own.
    n_eigenpairs : int or "auto"
        How many, the trivial pair counted; at least one per component, at most n. ``"auto"`` puts
        the cut where the decay of the eigenvalues tapers (:func:`taper`).
    symmetric : bool
        Whether W is symmetric. Otherwise absolute eigenvalues and real parts of the right
        eigenvectors are returned, the leading ones by modulus, the first pair set to (1, constant).
    tolerance : float
        Residual at which an eigenvector of a large symmetric graph is final.

    Returns
    -------
    eigenvalues : ndarray of shape (M,)
        Decreasing.
    eigenvectors : ndarray of shape (n, M)
        Of P. Symmetric: scaled so that their squares, weighted with the stationary distribution,
        sum to 1 (the first is constant 1 on a connected graph). Directed: unit length.
    """
    n = W.shape[0]
    component = component_numbers(W)
    n_components = int(component.max()) + 1
    wanted = AUTO_EIGENPAIRS[1] + 1 if n_eigenpairs == "auto" else int(n_eigenpairs)
    wanted = min(max(wanted, n_components), n)
    solve = partial(_symmetric_pairs, tolerance=tolerance) if symmetric else _directed_pairs
    total = W.sum()
    pixels = _members(component)
    solved = []
    with one_thread():
        for inside in pixels:
            share = 1 if wanted == n_components else min(wanted, len(inside))
            part = W if n_components == 1 else W[inside][:, inside].tocsr()
            values, vectors = solve(part, share)
            if symmetric:
                volume = part.sum()
                vectors *= np.sqrt(total / volume) if volume > 0 else 1.0
            solved.append((values, vectors))
    eigenvalues = np.concatenate([values for values, _ in solved])
    leading = np.argsort(-eigenvalues, kind="stable")[:wanted]
    if n_eigenpairs == "auto":
        leading = leading[: max(taper(eigenvalues[leading]), n_components)]
    if n_components == 1:
        return eigenvalues[leading], solved[0][1][:, leading]
    eigenvectors = np.zeros((n, len(leading)))
    owner = np.repeat(np.arange(n_components), [len(values) for values, _ in solved])
    place = np.concatenate([np.arange(len(values)) for values, _ in solved])
    for column, pair in enumerate(leading):
        number = owner[pair]
        eigenvectors[pixels[number], column] = solved[number][1][:, place[pair]]
    return eigenvalues[leading], eigenvectors


def _members(component: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """Pixels of each component, in their order."""
    by_component = np.argsort(component, kind="stable")
    return np.split(by_component, np.cumsum(np.bincount(component))[:-1])


def taper(eigenvalues: NDArray[np.float64]) -> int:
    """Where the decay of the eigenvalues tapers: the m in 5..20 with the largest gap after it.

    Examples
    --------
    >>> import numpy as np
    >>> taper(np.array([1, 0.99, 0.98, 0.97, 0.96, 0.95, 0.5, 0.49, 0.48]))
    6
    """
    low, high = AUTO_EIGENPAIRS
    gaps = -np.diff(eigenvalues)[low - 1 : high]
    return low + int(np.argmax(gaps)) if len(gaps) else len(eigenvalues)


def diffusion_coordinates(
    eigenvalues: NDArray[np.float64], eigenvectors: NDArray[np.float64], time: float
) -> NDArray[np.float64]:
    """Coordinates lambda_n^t Phi_n(x); distances between them are diffusion distances (eq. 2).

    Absolute eigenvalues serve as well, since only lambda^(2t) enters a distance, and they allow a
    time that is not an integer.
    """
    return np.minimum(np.abs(eigenvalues), 1.0) ** time * eigenvectors


def _symmetric_pairs(
    W: csr_array, m: int, tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading pairs of a connected symmetric graph, by way of S = D^-1/2 W D^-1/2."""
    degree = W.sum(axis=1)
    if len(degree) == 1 or m == 1:
        return np.ones(1), np.ones((len(degree), 1))
    root = np.sqrt(degree)
    scale = diags_array(1 / root)
    trivial = root / np.sqrt(degree.sum())
    solved = None if len(degree) <= max(_DENSE, 8 * m) else _iterated_pairs(W, m - 1, tolerance)
    if solved is None:
        solved = _dense_pairs((scale @ W @ scale).toarray(), trivial, m - 1)
    values, vectors = solved
    values = np.concatenate([[1.0], values])
    vectors = np.column_stack([trivial, _fix_signs(vectors)])
    vectors = vectors * np.sqrt(degree.sum()) / root[:, None]
    # Exactly: its rounding errors can be larger than what time has left of the others.
    vectors[:, 0] = 1.0
    return values, _smooth_rounding(W, degree, values, vectors)


def _iterated_pairs(
    W: csr_array, m: int, tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Leading pairs beside the trivial one; None if iterating fails on a small graph."""
    try:
        return eigensolver.leading_pairs(W, m, tolerance)
    except ConvergenceError:
        if W.shape[0] > _DENSE_RESCUE:
            raise
        return None


def _smooth_rounding(
    W: csr_array,
    degree: NDArray[np.float64],
    values: NDArray[np.float64],
    vectors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Take one step of the walk, P Phi / lambda, with the pairs that survive it.

    Phi is divided by the root of the degree, which blows up the rounding errors of pixels that are
    tied only weakly. The step puts the mean of its neighbours in place of such a pixel's error.
    """
    lasting = values > 0.5
    lasting[0] = False
    vectors[:, lasting] = (W @ vectors[:, lasting]) / (degree[:, None] * values[lasting])
    return vectors


def _dense_pairs(
    S: NDArray[np.float64], trivial: NDArray[np.float64], m: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # Moving the known pair to -2 leaves the others where they are.
    # All pairs, by divide and conquer: the solvers for a part of them can fail on many equal ones.
    values, vectors = eigh(S - 3 * np.outer(trivial, trivial), driver="evd")
    return values[: -m - 1 : -1], vectors[:, : -m - 1 : -1]


def _directed_pairs(W: csr_array, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading pairs by modulus of a directed graph's P: |lambda| and the real parts of Phi."""
    n = W.shape[0]
    if n == 1 or m == 1:
        return np.ones(1), np.full((n, 1), n**-0.5)
    degree = W.sum(axis=1)
    P = (diags_array(1 / np.where(degree > 0, degree, 1.0)) @ W).tocsr()
    values, vectors = eig(P.toarray()) if n <= max(_DENSE, 8 * m) else _sparse_pairs(P, m)
    order = np.lexsort((-values.imag, -values.real, -np.abs(values).round(12)))
    values, vectors = values[order], vectors[:, order]
    values, vectors = _put_trivial_first(values, vectors)
    values, vectors = values[:m], vectors[:, :m]
    return np.minimum(np.abs(values), 1.0), _fix_phases(vectors).real


def _sparse_pairs(P: csr_array, m: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Leading m pairs of a sparse P, or a few more."""
    n = P.shape[0]
    try:
        basis = _leading_subspace(P, m)
    except ArpackError as error:
        if n <= _DENSE_RESCUE:
            return eig(P.toarray())
        raise ConvergenceError(
            f"the {m} leading eigenpairs of the directed graph on {n} pixels did not converge "
            f"({error}); try fewer n_eigenpairs, more n_neighbors, or symmetrize='max'."
        ) from error
    # In the invariant subspace P is a small matrix, which has the same pairs.
    values, vectors = eig(basis.T @ (P @ basis))
    vectors = basis @ vectors
    lacking = max(0, m - len(values))
    # What a walk without return leaves has the eigenvalue 0, often without a vector of its own.
    return np.pad(values, (0, lacking)), np.pad(vectors, ((0, 0), (0, lacking)))


def _leading_subspace(P: csr_array, m: int) -> NDArray[np.float64]:
    """Orthonormal basis of an invariant subspace that holds the leading m pairs by modulus.

    A Krylov method sees one vector of each eigenvalue, and a graph from whose parts no way leads
    out has the eigenvalue 1 once per part. So the largest eigenvalue of what is orthogonal to the
    subspace is sought, which are the remaining ones of P, and taken in until it is too small.
    """
    n = P.shape[0]
    # One pair more, so that the cut does not fall inside a conjugate pair by chance.
    values, vectors = _arnoldi(P, np.empty((n, 0)), m + 1)
    basis = _real_basis(np.empty((n, 0)), vectors)
    while basis.shape[1] < n - 2:
        kept = np.sort(np.abs(np.linalg.eigvals(basis.T @ (P @ basis))))
        values, vectors = _arnoldi(P, basis, 1)
        if abs(values[0]) <= (kept[-m] + 1e-10 if len(kept) >= m else 1e-6):
            break
        basis = _real_basis(basis, vectors)
    return basis


def _real_basis(basis: NDArray[np.float64], vectors: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Extend an orthonormal basis by the real and imaginary parts of eigenvectors."""
    parts = np.column_stack([vectors.real, vectors.imag])
    for _ in range(2):
        parts = parts - basis @ (basis.T @ parts)
    left, size, _ = np.linalg.svd(parts, full_matrices=False)
    return np.column_stack([basis, left[:, size > 1e-8 * size[0]]])


def _arnoldi(
    P: csr_array, known: NDArray[np.float64], m: int
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Leading m eigenpairs by modulus of P, in the complement of an orthonormal `known` basis."""
    n = P.shape[0]

    def product(x: NDArray[np.float64]) -> NDArray[np.float64]:
        y = P @ x.ravel()
        return y - known @ (known.T @ y)

    return eigs(
        LinearOperator((n, n), matvec=product, dtype=np.float64),
        k=m,
        which="LM",
        v0=(start := _start_vector(n)) - known @ (known.T @ start),
        ncv=min(n, max(6 * m, 40)),
        maxiter=_MOST_RESTARTS,
        tol=0,
        rng=np.random.default_rng(0),  # for the restarts inside
    )


def _put_trivial_first(
    values: NDArray[np.complex128], vectors: NDArray[np.complex128]
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Make the first pair (1, constant), the others of eigenvalue 1 orthogonal to it."""
    n = len(vectors)
    ones = np.abs(values - 1) < 1e-9
    if not ones.any():
        ones[np.abs(values - 1).argmin()] = True
    constant = np.full((n, 1), n**-0.5)
    held, _ = np.linalg.qr(np.column_stack([constant, vectors[:, ones].real]))
    rest = held[:, 1 : np.count_nonzero(ones)]
    values = np.concatenate([np.ones(np.count_nonzero(ones)), values[~ones]])
    return values, np.column_stack([constant, rest, vectors[:, ~ones]])


def _start_vector(n: int) -> NDArray[np.float64]:
    """Start of every iteration: always the same, so that every run gives the same result."""
    return np.random.default_rng(0).uniform(-1, 1, n)


def _fix_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make each column's largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _fix_phases(vectors: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Make each column's largest entry real and positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.exp(-1j * np.angle(largest))
