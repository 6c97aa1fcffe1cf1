"""Which pixels a run looks at: all, or those in even surroundings alone.

Edges, mixed pixels and scattered ground take clusters away from what covers the land evenly. Runs
on the even half do not see them; each pixel left out goes with the most similar one nearby.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from spectrawalk.auto.views import View, local_mean
from spectrawalk.graph import number_pixels

EVEN_WIDTH = 5
"""Width in pixels of the square whose variance tells how even the surroundings are."""

LEAST_PIXELS = 10
"""Even pixels per cluster below which an image is too small to leave any out."""

_REACH = 2
"""Rows and columns to look for the one to go with."""


class PixelSet(NamedTuple):
    """Pixels that a run looks at, and who speaks for the others."""

    name: str
    chosen: NDArray[np.bool_]
    """Shape (n,)."""
    stand_in: NDArray[np.intp]
    """Position among the chosen ones of the pixel that speaks for each, shape (n,)."""

    def mask_in(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where the chosen pixels lie, of those where `mask` is True."""
        places = mask.copy()
        places[mask] = self.chosen
        return places


def pixel_sets(views: list[View], mask: NDArray[np.bool_], n_clusters: int) -> list[PixelSet]:
    """All pixels, and the even half of an image that is large enough.

    Examples
    --------
    >>> from spectrawalk.auto.views import views_of
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.preparation import take_pixels
    >>> pixels = take_pixels(make_scene((20, 20), n_bands=30))
    >>> [(one.name, int(one.chosen.sum())) for one in pixel_sets(views_of(pixels), pixels.mask, 3)]
    [('all', 400), ('even', 200)]
    """
    n = len(views[0].points)
    sets = [PixelSet("all", np.ones(n, dtype=bool), np.arange(n))]
    smoothed = [view.points for view in views if view.smoothed]
    if smoothed:
        plain = [view.points for view in views if not view.smoothed]
        even = even_pixels(plain[-1], mask)
        if LEAST_PIXELS * n_clusters <= np.count_nonzero(even) < n:
            place = np.cumsum(even) - 1
            sets.append(PixelSet("even", even, place[stand_ins(smoothed[-1], mask, even)]))
    return sets


def even_pixels(points: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which pixels have surroundings of no more than the median variance, shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> image = np.hstack([np.zeros((4, 10)), np.arange(24.0).reshape(4, 6)])
    >>> even = even_pixels(image.reshape(-1, 1), np.ones(image.shape, dtype=bool))
    >>> even.reshape(4, 16).sum(axis=0).tolist()
    [4, 4, 4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    mean = local_mean(points, mask, EVEN_WIDTH)
    variance = (local_mean(np.square(points), mask, EVEN_WIDTH) - np.square(mean)).sum(axis=1)
    # Surroundings that differ by rounding alone are treated alike.
    return variance <= np.median(variance) + 1e-9 * variance.max()


def stand_ins(
    points: NDArray[np.float64], mask: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Chosen pixel that each pixel goes with: the most similar one nearby, wave by wave.

    A pixel out of reach of any chosen one goes with what its most similar neighbour goes with.

    Parameters
    ----------
    points : ndarray of shape (n, m)
    mask : ndarray of bool, shape (rows, cols)
    chosen : ndarray of bool, shape (n,)
        At least one.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [0.1], [0.9], [1.0], [0.8]])
    >>> chosen = np.array([True, False, False, True, False])
    >>> stand_ins(points, np.ones((1, 5), dtype=bool), chosen).tolist()
    [0, 0, 3, 3, 3]
    """
    number = np.pad(number_pixels(mask), _REACH, constant_values=-1)
    rows, cols = (places + _REACH for places in np.nonzero(mask))
    stand = np.where(chosen, np.arange(len(points)), -1)
    while len(waiting := np.flatnonzero(stand < 0)):
        nearest, least = np.full(len(waiting), -1), np.full(len(waiting), np.inf)
        for down, right in product(range(-_REACH, _REACH + 1), repeat=2):
            other = number[rows[waiting] + down, cols[waiting] + right]
            ready = np.flatnonzero((other >= 0) & (stand[other] >= 0))
            d2 = np.square(points[waiting[ready]] - points[other[ready]]).sum(axis=1)
            closer = d2 < least[ready]
            nearest[ready[closer]], least[ready[closer]] = other[ready[closer]], d2[closer]
        found = nearest >= 0
        if not found.any():  # an island without any
            places = np.flatnonzero(stand >= 0)
            nearest = places[KDTree(points[places]).query(points[waiting])[1]]
            found[:] = True
        stand[waiting[found]] = stand[nearest[found]]
    return stand
