"""Tiles: parts of an image that are worked on one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SIZE = 256
"""Side of a tile in pixels, unless another one is asked for."""


class Tile(NamedTuple):
    """Rows and columns of a part of an image, both ends as in a slice."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def rows(self) -> slice:
        """Its rows."""
        return slice(self.top, self.bottom)

    @property
    def cols(self) -> slice:
        """Its columns."""
        return slice(self.left, self.right)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.bottom - self.top, self.right - self.left

    def grown(self, by: int, shape: tuple[int, int]) -> Tile:
        """Return the tile with a margin on all sides, clipped to an image of this shape."""
        rows, cols = shape
        return Tile(
            max(self.top - by, 0),
            min(self.bottom + by, rows),
            max(self.left - by, 0),
            min(self.right + by, cols),
        )

    def inside(self, larger: Tile) -> tuple[slice, slice]:
        """Rows and columns of this tile, counted in a larger one."""
        return (
            slice(self.top - larger.top, self.bottom - larger.top),
            slice(self.left - larger.left, self.right - larger.left),
        )


def divide(shape: tuple[int, int], size: int) -> Iterator[Tile]:
    """Divide an image into tiles of at most `size` rows and columns.

    Examples
    --------
    >>> [tuple(tile) for tile in divide((3, 5), 3)]
    [(0, 3, 0, 3), (0, 3, 3, 5)]
    """
    rows, cols = shape
    for top in range(0, rows, size):
        for left in range(0, cols, size):
            yield Tile(top, min(top + size, rows), left, min(left + size, cols))
