"""Diffusion coordinates of the co-association: a picture of how the runs group the pixels.

The co-association W = Z Z^T of some pixels is taken as the weights of a graph, where Z holds the
clusters of all runs as columns. Coordinate j is lambda_j Phi_j, with the eigenpairs of the random
walk D^-1 W, as in equation 2 of Murphy and Maggioni (2019) for time 1. They follow from the
singular vectors of D^-1/2 Z, so that W is never formed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array

from spectrawalk.threads import one_thread


class Coordinates(NamedTuple):
    """Diffusion coordinates without the trivial one."""

    values: NDArray[np.float64]
    """Shape (pixels, coordinates)."""
    eigenvalues: NDArray[np.float64]
    """Shape (coordinates,)."""


def diffusion_of_votes(
    runs: NDArray[np.integer], weights: NDArray[np.float64], n: int
) -> Coordinates:
    """Leading diffusion coordinates of pixels.

    Parameters
    ----------
    runs : ndarray of int, shape (runs, pixels)
        Labels of each run, from 0.
    weights : ndarray of shape (runs,)
        How much each run counts; the sum is 1.
    n : int
        Number of coordinates; there may be fewer.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> found = diffusion_of_votes(runs, np.array([0.5, 0.5]), 1)
    >>> bool(found.values[0, 0] == found.values[1, 0] != found.values[3, 0])
    True
    """
    n_runs, n_pixels = runs.shape
    numbers = runs.max(axis=1).astype(np.intp) + 1
    first = np.concatenate([[0], np.cumsum(numbers)])
    columns = (runs + first[:-1, np.newaxis]).T.ravel()
    values = np.tile(np.sqrt(weights), n_pixels)
    votes = csr_array(
        (values, columns, np.arange(0, len(columns) + 1, n_runs)), shape=(n_pixels, int(first[-1]))
    )
    degree = votes @ (votes.T @ np.ones(n_pixels))  # at least the pixel's own co-association of 1
    scaled = csr_array(votes.multiply(1 / np.sqrt(degree)[:, np.newaxis]))
    with one_thread():
        gram = (scaled.T @ scaled).toarray()
        n = min(n, len(gram) - 1)
        squares, right = eigh(gram, subset_by_index=(len(gram) - 1 - n, len(gram) - 1))
    order = np.argsort(-squares)[1:]  # the first one is trivial
    squares, right = np.clip(squares[order], 1e-12, 1), right[:, order]
    left = (scaled @ right) / np.sqrt(squares)
    # The sign of an eigenvector is arbitrary: the entry of the largest size is positive.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    phi = left * np.where(signs == 0, 1, signs) * np.sqrt(degree.sum() / degree)[:, np.newaxis]
    return Coordinates(phi * squares, squares)
