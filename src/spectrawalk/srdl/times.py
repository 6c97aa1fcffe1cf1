"""Many diffusion times: which ones, and the clustering that is nearest to those of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_STAYS = 1 - 1e-12
"""Eigenvalues from here on do not decay in any time that a number holds."""


def diffusion_times(
    eigenvalues: NDArray[np.float64],
    eigenvectors: NDArray[np.float64],
    ratio: float,
    stationarity: float,
) -> NDArray[np.float64]:
    """Times on a geometric grid, 1, `ratio`, `ratio` squared, ..., until the walk is stationary.

    It is stationary when no two pixels are farther apart than `stationarity` in diffusion distance.
    The last time is the first of the grid at which this is certain.

    Parameters
    ----------
    eigenvalues : ndarray of shape (M,)
        Of the random walk, the trivial one first. Those of 1 have no part in the time.
    eigenvectors : ndarray of shape (n, M)
        The first column is constant, and sets the unit.
    ratio : float
        Above 1.
    stationarity : float
        Above 0.

    Returns
    -------
    times : ndarray of shape (T,)

    Examples
    --------
    >>> import numpy as np
    >>> diffusion_times(np.array([1.0, 0.5]), np.array([[1.0, 1.0], [1.0, -1.0]]), 2, 0.01).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    values = np.abs(eigenvalues)
    decays = (values < _STAYS) & (values > 0)
    decays[0] = False
    squares = np.square(eigenvectors[:, decays] / eigenvectors[0, 0])
    values, times = values[decays], [1.0]
    # Twice the largest distance from the mean is a bound of all distances.
    while 2 * np.sqrt((squares @ values ** (2 * times[-1])).max(initial=0.0)) > stationarity:
        times.append(times[-1] * ratio)
    return np.array(times)


def variation_of_information(a: NDArray[np.integer], b: NDArray[np.integer]) -> float:
    """Variation of information between two clusterings (Meila, 2007), in nats.

    The information in either clustering that the other does not tell. It is 0 for the same
    clusters, whatever their numbers, and it is a metric.

    Parameters
    ----------
    a, b : ndarray of int, shape (n,)
        Clusters from 0.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([0, 0, 1, 1])
    >>> variation_of_information(halves, 1 - halves)
    0.0
    >>> round(variation_of_information(halves, np.array([0, 1, 2, 3])), 3)
    0.693
    """
    wide = int(b.max()) + 1
    both = a.astype(np.int64) * wide + b
    return max(0.0, 2 * _entropy(both) - (_entropy(a) + _entropy(b)))


def _entropy(numbers: NDArray[np.integer]) -> float:
    """Entropy of the shares of numbers from 0."""
    few = int(numbers.max()) < 4 * len(numbers)
    counts = np.bincount(numbers) if few else np.unique(numbers, return_counts=True)[1]
    share = counts[counts > 0] / len(numbers)
    return -math.fsum(share * np.log(share))  # whatever the order of the clusters


def total_variation(labels: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
    """Sum of the variation of information between each clustering and all others, shape (T,).

    The barycentre is the clustering with the smallest sum.

    Examples
    --------
    >>> import numpy as np
    >>> halves, thirds = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    >>> int(total_variation([thirds, halves, halves]).argmin())
    1
    """
    between = np.zeros((len(labels), len(labels)))
    for place, one in enumerate(labels):
        for other in range(place):
            between[place, other] = variation_of_information(one, labels[other])
    between += between.T
    return np.array([math.fsum(row) for row in between])  # equal for equal clusterings


def largest_drop(ratios: NDArray[np.float64], fewest: int, most: int) -> int:
    """Number of clusters K with the largest ratio of consecutive sorted D_t.

    Parameters
    ----------
    ratios : ndarray
        D_(K) / D_(K+1) for K = 1, 2, ...
    fewest, most : int
        Range of K.

    Examples
    --------
    >>> import numpy as np
    >>> largest_drop(np.array([3.0, 1.2, 1.5, 9.0]), 1, 3)
    1
    >>> largest_drop(np.array([3.0, 1.2, 1.5, 9.0]), 2, 3)
    3
    """
    candidates = ratios[fewest - 1 : most]
    return fewest + int(np.argmax(candidates)) if len(candidates) else 1
