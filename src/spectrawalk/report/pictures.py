"""Maps of the report as PNG pictures inside the page."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from spectrawalk.report.figures import paint, paint_classes
from spectrawalk.results.palette import NO_DATA, class_colors

_LONGEST_SIDE = 1500  # pixels; a larger map is thinned out
_VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
_MOST = 255  # what a byte holds


def thinning(shape: tuple[int, ...], longest_side: int = _LONGEST_SIDE) -> int:
    """Step at which the rows and columns of a map are shown, 1 for all.

    Examples
    --------
    >>> thinning((1500, 20)), thinning((1501, 20))
    (1, 2)
    """
    return -(-max(shape[:2]) // longest_side)


def labels_picture(labels: NDArray[np.integer], colors: NDArray[np.uint8]) -> str:
    """Labels in the colours of the legend, as the address of a picture."""
    return address_of(paint(labels, colors))


def colors_picture(image: NDArray[np.uint8]) -> str:
    """Colour image of shape (rows, cols, 3), as the address of a picture."""
    return address_of(image)


def truth_picture(truth: NDArray[np.integer], matching: Mapping[int, int], n_clusters: int) -> str:
    """Classes in the colours of the clusters matched with them, as the address of a picture."""
    classes = [int(each) for each in np.unique(truth[truth > 0])]
    return address_of(paint_classes(truth, class_colors(classes, matching, n_clusters)))


def shades_picture(image: NDArray[np.floating], low: float, high: float, shades: str) -> str:
    """Values from `low` to `high` in a colour map of matplotlib, as the address of a picture."""
    from matplotlib import colormaps

    scaled = (image - low) / (high - low if high > low else 1.0)
    colors = colormaps[shades](np.nan_to_num(scaled), bytes=True)[..., :3]
    return address_of(
        np.where(np.isnan(image)[..., np.newaxis], np.array(NO_DATA, dtype=np.uint8), colors)
    )


def values_picture(labels: NDArray[np.integer], certainty: NDArray[np.floating]) -> str:
    """Picture that the page reads the values of a pixel from, and does not show.

    Red and green are the low and high byte of the cluster's number in files, blue is the confidence
    or margin times 255.
    """
    codes = np.minimum(labels + 1, np.iinfo(np.uint16).max)
    blue = np.rint(np.nan_to_num(certainty) * _MOST)
    planes = [codes & _MOST, codes >> 8, blue]
    return address_of(np.stack(planes, axis=2).astype(np.uint8))


def small_address(image: NDArray[np.uint8]) -> str:
    """Colour image of shape (rows, cols, 3) in at most 256 colours: a third of the bytes."""
    return _encoded(Image.fromarray(image).quantize(256, dither=Image.Dither.NONE))


def small_shades(image: NDArray[np.floating]) -> str:
    """Values from 0 to 1 in the colours of viridis, grey where NaN; needs no matplotlib."""
    places = np.linspace(0, 1, len(_VIRIDIS))
    known = np.isfinite(image)
    values = np.clip(np.where(known, image, 0), 0, 1)
    colors = np.stack([np.interp(values, places, plane) for plane in np.transpose(_VIRIDIS)], 2)
    return small_address(np.where(known[..., np.newaxis], np.rint(colors), NO_DATA).astype("u1"))


def address_of(pixels: NDArray[Any]) -> str:
    """Pixels of red, green and blue as the address of a picture."""
    return _encoded(Image.fromarray(pixels))


def _encoded(picture: Image.Image) -> str:
    file = BytesIO()
    picture.save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
