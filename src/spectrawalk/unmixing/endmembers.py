"""Endmembers: the pixels whose spectra span the largest simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import ParameterError
from spectrawalk.prepare.principal import centred_blocks, leading_directions, scatter_matrix
from spectrawalk.threads import one_thread

_LARGER = 1e-9
"""Relative growth of the volume below which a change is rounding."""

_MOST_ROUNDS = 100
"""Rounds of the search; it ends much earlier, when no change enlarges the simplex."""

_FLAT = 1e-12
"""Share of the total variance below which the spectra do not spread along a direction."""


def find_endmembers(X: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Find the pixels that span the simplex of the largest volume (AVMAX; Chan et al., 2011).

    The spectra are projected onto their ``count - 1`` leading principal components. The search
    starts from the pixels that successive projection finds: each lies farthest from the plane
    through those before. Then one corner at a time moves to the pixel that enlarges the simplex
    most, until none does. There is no random start.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra.
    count : int
        Number of endmembers, at least 2.

    Returns
    -------
    pixels : ndarray of int, shape (count,)
        Rows of X, in the order of successive projection.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 1.0], [4.0, 0.0], [0.0, 3.0]])
    >>> sorted(find_endmembers(X, 3).tolist())
    [1, 3, 4]
    """
    middle = X.mean(axis=0)
    scatter = scatter_matrix(centred_blocks(X, middle))
    most = affine_dimension(scatter) + 1
    if count > most:
        raise ParameterError(
            f"n_endmembers={count} but the spectra span only {most - 1} dimensions; "
            f"ask for at most {most} endmembers."
        )
    directions = leading_directions(scatter, count - 1)
    with one_thread():
        points = np.concatenate([block @ directions for block in centred_blocks(X, middle)])
        points /= np.abs(points).max(axis=0)  # changes all volumes by one factor
        # With a coordinate 1, a volume is a determinant.
        return _largest_simplex(np.column_stack([points, np.ones(len(points))]), count)


def affine_dimension(scatter: NDArray[np.float64]) -> int:
    """Directions along which spectra spread, from their scatter matrix.

    Examples
    --------
    >>> import numpy as np
    >>> affine_dimension(np.diag([3.0, 1.0, 0.0]))
    2
    """
    variance = np.linalg.eigvalsh(scatter)
    return int(np.count_nonzero(variance > _FLAT * variance.sum()))


def _largest_simplex(points: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Corners of the largest simplex among points with homogeneous coordinates."""
    corners = _successive_projection(points, count)
    for _ in range(_MOST_ROUNDS):
        moved = False
        for place in range(count):
            # A row of the inverse is the volume as a function of one corner, in units of now.
            unit = np.zeros(count)
            unit[place] = 1.0
            volumes = np.abs(points @ np.linalg.solve(points[corners], unit))
            best = int(volumes.argmax())
            if volumes[best] > 1 + _LARGER:
                corners[place], moved = best, True
        if not moved:
            break
    return corners


def _successive_projection(points: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Farthest points from the planes through the origin and those found before."""
    rest, corners = points.copy(), np.empty(count, dtype=np.intp)
    for place in range(count):
        corners[place] = np.einsum("ij,ij->i", rest, rest).argmax()
        direction = rest[corners[place]] / np.linalg.norm(rest[corners[place]])
        rest -= np.outer(rest @ direction, direction)
    return corners
