"""Algorithm 1, second half: leading eigenpairs of the random walk, diffusion coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, eigsh
from threadpoolctl import threadpool_limits

from spectrawalk.errors import ConvergenceError
from spectrawalk.graph import component_numbers

AUTO_EIGENPAIRS = (5, 20)
"""Range in which the number of eigenpairs is chosen from the taper of the eigenvalues."""

_DENSE = 400
"""Parts of the graph up to this size are solved densely: exact, and faster than iterating."""


def leading_eigenpairs(
    W: csr_array, n_eigenpairs: int | str, *, symmetric: bool = True
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
    solve = _symmetric_pairs if symmetric else _directed_pairs
    total = W.sum()
    values, vectors = [], []
    # One thread: the last bits of a threaded product depend on how many share it.
    with threadpool_limits(limits=1, user_api="blas"):
        for number in range(n_components):
            inside = np.flatnonzero(component == number) if n_components > 1 else np.arange(n)
            share = 1 if wanted == n_components else min(wanted, len(inside))
            part = W if n_components == 1 else W[inside][:, inside].tocsr()
            part_values, part_vectors = solve(part, share)
            if symmetric:
                volume = part.sum()
                part_vectors *= np.sqrt(total / volume) if volume > 0 else 1.0
            whole = np.zeros((n, share)) if n_components > 1 else part_vectors
            whole[inside] = part_vectors
            values.append(part_values)
            vectors.append(whole)
    eigenvalues, eigenvectors = np.concatenate(values), np.concatenate(vectors, axis=1)
    leading = np.argsort(-eigenvalues, kind="stable")[:wanted]
    if n_eigenpairs == "auto":
        leading = leading[: max(taper(eigenvalues[leading]), n_components)]
    return eigenvalues[leading], eigenvectors[:, leading]


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
    return np.abs(eigenvalues) ** time * eigenvectors


def _symmetric_pairs(W: csr_array, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading pairs of a connected symmetric graph, by way of S = D^-1/2 W D^-1/2."""
    degree = W.sum(axis=1)
    if len(degree) == 1 or m == 1:
        return np.ones(1), np.ones((len(degree), 1))
    root = np.sqrt(degree)
    scale = diags_array(1 / root)
    S = (scale @ W @ scale).tocsr()
    trivial = root / np.sqrt(degree.sum())
    if len(degree) <= _DENSE:
        values, vectors = _dense_pairs(S.toarray(), trivial, m - 1)
    else:
        values, vectors = _sparse_pairs(S, trivial, m - 1)
    values = np.concatenate([[1.0], values])
    vectors = np.column_stack([trivial, _fix_signs(vectors)])
    vectors = vectors * np.sqrt(degree.sum()) / root[:, None]
    # Exactly: its rounding errors can be larger than what time has left of the others.
    vectors[:, 0] = 1.0
    return values, vectors


def _dense_pairs(
    S: NDArray[np.float64], trivial: NDArray[np.float64], m: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # Moving the known pair to -2 leaves the others where they are.
    n = len(S)
    values, vectors = eigh(S - 3 * np.outer(trivial, trivial), subset_by_index=(n - m, n - 1))
    return values[::-1], vectors[:, ::-1]


def _sparse_pairs(
    S: csr_array, trivial: NDArray[np.float64], m: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest m eigenpairs of S beside the trivial one, none of them missing.

    A Krylov method can step over one of several nearly equal eigenvalues and still report perfect
    residuals. So after the solve, the pairs found are moved out of the way and the largest of the
    rest is sought: while it belongs among the leading m, it was missed, and is put in.
    """
    n = len(trivial)
    known = trivial[:, None]
    values, vectors = _arnoldi(S, known, m)
    while n > m + 2:
        extra, vector = _arnoldi(S, np.column_stack([known, vectors]), 1)
        if extra[0] <= values[-1] + 1e-12:
            break
        values = np.append(values, extra)
        vectors = np.column_stack([vectors, vector])
        order = np.argsort(-values, kind="stable")[:m]
        values, vectors = values[order], vectors[:, order]
    return values, vectors


def _arnoldi(
    S: csr_array, known: NDArray[np.float64], m: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest m eigenpairs of S orthogonal to the `known` eigenvectors."""
    n = S.shape[0]

    def product(x: NDArray[np.float64]) -> NDArray[np.float64]:
        x = x.ravel()
        return S @ x - known @ (3.0 * (known.T @ x))

    try:
        values, vectors = eigsh(
            LinearOperator((n, n), matvec=product, dtype=np.float64),
            k=m,
            which="LA",
            v0=_start_vector(n),
            ncv=min(n, max(6 * m, 40)),
            tol=0,
            maxiter=100 * n,
            rng=np.random.default_rng(0),  # for the restarts inside
        )
    except ArpackError as error:
        raise _no_convergence(n, m, error) from error
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _directed_pairs(W: csr_array, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading pairs by modulus of a directed graph's P: |lambda| and the real parts of Phi."""
    n = W.shape[0]
    if n == 1 or m == 1:
        return np.ones(1), np.full((n, 1), n**-0.5)
    degree = W.sum(axis=1)
    P = (diags_array(1 / np.where(degree > 0, degree, 1.0)) @ W).tocsr()
    if n <= _DENSE:
        values, vectors = eig(P.toarray())
    else:
        try:
            # One pair more, so that the cut does not fall inside a conjugate pair by chance.
            k = min(m + 1, n - 2)
            values, vectors = eigs(
                P,
                k=k,
                which="LM",
                v0=_start_vector(n),
                ncv=min(n, max(6 * k, 40)),
                tol=0,
                rng=np.random.default_rng(0),  # for the restarts inside
            )
        except ArpackError as error:
            raise _no_convergence(n, m, error) from error
    order = np.lexsort((-values.imag, -values.real, -np.abs(values)))[:m]
    values, vectors = np.abs(values[order]), _fix_phases(vectors[:, order]).real
    values[0], vectors[:, 0] = 1.0, n**-0.5
    return values, vectors


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
    return vectors * (np.abs(largest) / largest)


def _no_convergence(n: int, m: int, error: Exception) -> ConvergenceError:
    return ConvergenceError(
        f"the {m} leading eigenpairs of the graph on {n} pixels did not converge ({error}); "
        "try fewer n_eigenpairs, a larger radius or more n_neighbors."
    )
