"""Pixels inside a polygon that was drawn on the map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def inside_polygon(
    points: Sequence[tuple[float, float]], shape: tuple[int, int]
) -> NDArray[np.bool_]:
    """Pixels whose centre is inside a polygon, by the even-odd rule.

    Parameters
    ----------
    points : sequence of (row, col)
        Corners; those of pixels are whole numbers. The last one is joined to the first.
    shape : (rows, cols)

    Examples
    --------
    >>> inside_polygon([(0, 0), (0, 2), (1, 2), (1, 0)], (2, 3)).astype(int).tolist()
    [[1, 1, 0], [0, 0, 0]]
    """
    rows, cols = shape
    # How often an edge is crossed on the way from the left, at the pixel where that happens.
    crossed = np.zeros((rows, cols + 1), dtype=np.int32)
    for (row, col), (to_row, to_col) in zip(points, [*points[1:], points[0]], strict=True):
        if row == to_row:
            continue
        first, last = sorted((row, to_row))
        start = max(0, math.ceil(first - 0.5))
        stop = min(rows, math.ceil(last - 0.5))
        if start >= stop:
            continue
        lines = np.arange(start, stop)
        at = col + (lines + 0.5 - row) / (to_row - row) * (to_col - col)
        crossed[lines, np.clip(np.floor(at + 0.5), 0, cols).astype(np.intp)] += 1
    return crossed[:, :cols].cumsum(axis=1) % 2 == 1
