"""Leading principal directions of spectra, without a second copy of a large image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from spectrawalk.threads import one_thread

_ROWS = 65_536
"""Spectra centred at a time."""


def centred_blocks(
    X: NDArray[np.floating], middle: NDArray[np.float64], scale: float = 1.0
) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of X less `middle`, times `scale`, some at a time and in their order."""
    for start in range(0, len(X), _ROWS):
        yield np.subtract(X[start : start + _ROWS], middle, dtype=np.float64) * scale


def principal_directions(centred: Iterable[NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    """Leading principal directions of centred rows that come in blocks.

    The last bits depend on how the rows are divided into blocks, but not on the number of threads.

    Parameters
    ----------
    centred : iterable of ndarrays of shape (rows, bands)
        At least one, as from :func:`centred_blocks`.
    count : int

    Returns
    -------
    directions : ndarray of shape (bands, at most `count`)
        Orthonormal columns, that of the largest variance first; their signs are arbitrary.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> abs(principal_directions(centred_blocks(X, X.mean(axis=0)), 1)).round(6).tolist()
    [[0.6], [0.8]]
    """
    return leading_directions(scatter_matrix(centred), count)


def scatter_matrix(centred: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sum of the products of centred rows that come in blocks, shape (bands, bands)."""
    scatter: NDArray[np.float64] | float = 0.0
    with one_thread():
        for block in centred:
            scatter += block.T @ block
    return np.asarray(scatter)


def leading_directions(scatter: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Principal directions of a scatter matrix; see :func:`principal_directions`."""
    with one_thread():
        _, directions = np.linalg.eigh(scatter)
    return np.ascontiguousarray(directions[:, : -count - 1 : -1])
