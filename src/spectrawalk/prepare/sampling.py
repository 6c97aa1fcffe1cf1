"""Draw some of many pixels, spread evenly over the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_pixels(n: int, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Numbers of at most `most` of n pixels, ascending: one drawn from each of equal stretches.

    A fixed step would hit the same few columns in every row of an image whose width it divides.

    Examples
    --------
    >>> draw_pixels(3, 5).tolist()
    [0, 1, 2]
    >>> columns = draw_pixels(1_000_000, 10_000) % 1000
    >>> len(set(columns.tolist()))
    1000
    """
    if n <= most:
        return np.arange(n)
    edges = np.linspace(0, n, most + 1).astype(np.intp)
    return np.random.default_rng(seed).integers(edges[:-1], edges[1:])
