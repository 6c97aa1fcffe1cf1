"""Where pixels lie on the map: transforms, and the lookup of images in sensor geometry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError

Transform = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): x = a col + b row + c and y = d col + e row + f at the corners of pixels."""


@dataclass(frozen=True, eq=False)
class Orthorectification:
    """Where each cell of a map finds its pixel in an image that is still in sensor geometry.

    Attributes
    ----------
    rows, cols : ndarray of int32, shape (map rows, map cols)
        Row and column of the pixel in the image, counted from 0; -1 where there is none.
    crs : str or None
        Coordinate reference system of the map, as WKT.
    transform : tuple of 6 floats or None
        Of the map, as in :class:`Scene`.

    Examples
    --------
    >>> import numpy as np
    >>> lookup = Orthorectification(np.array([[-1, 0]]), np.array([[-1, 1]]))
    >>> lookup.apply(np.array([[7, 8]]), fill=0)
    array([[0, 8]])
    """

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    crs: str | None = None
    transform: Transform | None = None

    def __post_init__(self) -> None:
        rows, cols = (np.asarray(each, dtype=np.int32) for each in (self.rows, self.cols))
        if rows.ndim != 2 or rows.shape != cols.shape:
            raise DataError(
                f"the lookup of an orthorectification has rows of shape {rows.shape} and columns "
                f"of shape {cols.shape}; give two 2-D arrays of one shape."
            )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "cols", cols)
        object.__setattr__(self, "transform", check_transform(self.transform, "lookup"))

    @property
    def found(self) -> NDArray[np.bool_]:
        """Cells of the map that have a pixel."""
        return np.asarray((self.rows >= 0) & (self.cols >= 0))

    def apply(self, image: NDArray[Any], fill: float) -> NDArray[Any]:
        """Lay an image (rows, cols, ...) out on the map, `fill` where there is no pixel."""
        laid_out = np.full(self.rows.shape + image.shape[2:], fill, dtype=image.dtype)
        found = self.found
        laid_out[found] = image[self.rows[found], self.cols[found]]
        return laid_out

    def crop(self, rows: slice, cols: slice) -> Orthorectification:
        """Keep the pixels of a part of the image, and the smallest map that shows them."""
        inside = (self.rows >= rows.start) & (self.rows < rows.stop)
        inside &= (self.cols >= cols.start) & (self.cols < cols.stop)
        new_rows = np.where(inside, self.rows - rows.start, -1)
        new_cols = np.where(inside, self.cols - cols.start, -1)
        window = tuple(_extent(inside.any(axis=axis)) for axis in (1, 0))
        return Orthorectification(
            new_rows[window],
            new_cols[window],
            self.crs,
            move_transform(self.transform, window[0].start, window[1].start),
        )


def check_transform(transform: Any, name: str) -> Transform | None:
    """Turn six numbers, or an Affine, into floats; refuse what is no transform."""
    if transform is None:
        return None
    try:
        numbers = tuple(float(number) for number in transform)[:6]  # an Affine has nine
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 6 or not np.isfinite(numbers).all():
        raise DataError(
            f"scene '{name}': transform={transform!r} is not six finite numbers; give "
            "(a, b, c, d, e, f)."
        )
    a, b, _, d, e, _ = numbers
    if a * e == b * d:
        raise DataError(
            f"scene '{name}': transform={numbers} gives the pixels no area; correct it, or "
            "give none."
        )
    return numbers


def move_transform(transform: Transform | None, row: int, col: int) -> Transform | None:
    """Move the origin of a transform to another pixel."""
    if transform is None:
        return None
    a, b, c, d, e, f = transform
    return (a, b, a * col + b * row + c, d, e, d * col + e * row + f)


def _extent(used: NDArray[np.bool_]) -> slice:
    """From the first to the last True; the first entry if there is none."""
    places = np.flatnonzero(used)
    return slice(int(places[0]), int(places[-1]) + 1) if places.size else slice(0, 1)
