"""Draw a sample of the pixels that is spread evenly over the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_pixels(n: int, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Draw at most `most` of n pixels: one at random from each of `most` equal intervals.

    With a fixed step, the sample could lie in a few columns of the image only.

    Returns
    -------
    ndarray of int
        Indices of the pixels, ascending.

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
