"""ClusterMap: labels on the grid of a map, with names, colours, counts and areas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.results.palette import UNLIKE, cluster_colors
from spectrawalk.scene import Scene, Transform
from spectrawalk.scene.georeference import crs_ellipsoid

UNLIKE_NAME = "unlike the fit"
"""Legend entry of pixels that are unlike any spectrum of the fit, in the map of a prediction."""


class Legend(NamedTuple):
    """Names and colours of clusters, where a person gave them."""

    names: tuple[str, ...]
    """Of clusters 0..K-1."""
    colors: NDArray[np.uint8]
    """Red, green, blue; shape (K, 3)."""


@dataclass(frozen=True, eq=False)
class ClusterMap:
    """Labels as a map: what a GIS needs to show them with a legend.

    Attributes
    ----------
    labels : ndarray of int, shape (rows, cols)
        Cluster of each pixel of the map, 0..K-1, and -1 where there is none.
    n_clusters : int
        K; the last ones may have no pixel on the map.
    has_unlike : bool
        Whether the label K marks pixels that are unlike any spectrum of the fit, in the map of a
        prediction. They have an entry of their own in the legend, after the clusters.
    crs : str or None
        Coordinate reference system as WKT.
    transform : tuple of 6 floats or None
        From columns and rows to coordinates: ``x = a col + b row + c``, ``y = d col + e row + f``.
    legend : Legend or None
        Names and colours of the clusters, where a person gave them.

    Examples
    --------
    >>> import numpy as np
    >>> map = ClusterMap(np.array([[0, 0, -1, 1]]), 2)
    >>> map.names, map.counts.tolist(), map.codes.tolist()
    (('cluster 1', 'cluster 2'), [2, 1], [[1, 1, 0, 2]])
    """

    labels: NDArray[np.integer]
    n_clusters: int
    crs: str | None = None
    transform: Transform | None = None
    has_unlike: bool = False
    legend: Legend | None = None

    def __post_init__(self) -> None:
        codes = file_codes(self.labels)
        if codes.ndim != 2 or codes.size == 0:
            raise DataError(f"the labels have shape {codes.shape}; a map needs (rows, cols).")
        if codes.max() > self.n_entries:
            raise ParameterError(f"n_clusters={self.n_clusters} but a label is {codes.max() - 1}.")

    @property
    def codes(self) -> NDArray[Any]:
        """Labels as they are in files: 1..K, and 0 for no data, in the smallest unsigned type."""
        return file_codes(self.labels, self.n_entries)

    @property
    def n_entries(self) -> int:
        """Entries of the legend: clusters, and pixels unlike the fit where there are any."""
        return self.n_clusters + self.has_unlike

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each entry of the legend."""
        clusters = tuple(f"cluster {cluster}" for cluster in range(1, self.n_clusters + 1))
        clusters = clusters if self.legend is None else self.legend.names
        return clusters + (UNLIKE_NAME,) * self.has_unlike

    @property
    def colors(self) -> NDArray[np.uint8]:
        """Red, green and blue of each entry of the legend, shape (entries, 3)."""
        colors = cluster_colors(self.n_clusters) if self.legend is None else self.legend.colors
        return np.vstack([colors, np.array([UNLIKE], np.uint8)]) if self.has_unlike else colors

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Pixels of each entry of the legend on the map."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_entries)

    @cached_property
    def areas(self) -> NDArray[np.float64] | None:
        """Area of each entry in square metres; None where the map has no ground units."""
        of_row = pixel_areas(self.labels.shape[0], self.crs, self.transform)
        if of_row is None:
            return None
        valid = self.labels >= 0
        weights = np.broadcast_to(of_row[:, np.newaxis], self.labels.shape)[valid]
        areas = np.bincount(self.labels[valid], weights, minlength=self.n_entries)
        return areas.astype(np.float64)


def map_of(
    scene: Scene,
    labels: NDArray[np.integer],
    n_clusters: int,
    *,
    has_unlike: bool = False,
    legend: Legend | None = None,
) -> ClusterMap:
    """Put the labels of a scene on a map: its own grid, or that of its orthorectification.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> map_of(Scene(np.ones((1, 2, 3))), np.array([[0, 1]]), 2).labels
    array([[0, 1]])
    """
    geometry = scene.orthorectify or scene
    on_map = to_map_grid(scene, labels, -1)
    return ClusterMap(on_map, n_clusters, geometry.crs, geometry.transform, has_unlike, legend)


def to_map_grid(scene: Scene, image: NDArray[Any], fill: float) -> NDArray[Any]:
    """Carry an image in the scene's geometry over to the map's, `fill` where it has no pixel."""
    lookup = scene.orthorectify
    return image if lookup is None else lookup.apply(image, fill)


def file_codes(labels: ArrayLike, n_clusters: int = 0) -> NDArray[Any]:
    """Labels as they are in files: one higher, unsigned, as small a type as will do.

    Examples
    --------
    >>> file_codes([[0, -1, 254]])
    array([[  1,   0, 255]], dtype=uint8)
    """
    array = np.asarray(labels)
    if array.dtype.kind not in "ui" or array.min(initial=-1) < -1:
        raise DataError(
            f"the labels ({array.dtype}) must be integers: clusters from 0, and -1 where masked."
        )
    codes = array.astype(np.int64) + 1
    return codes.astype(np.min_scalar_type(max(int(codes.max(initial=0)), n_clusters)))


def pixel_areas(
    n_rows: int, crs: str | None, transform: Transform | None
) -> NDArray[np.float64] | None:
    """Area of a pixel in each row, in square metres.

    In a projected system all are equal, whatever the projection does to areas. In degrees they
    shrink towards the poles of the system's ellipsoid. None without a system, in a system that is
    neither, or if degrees run across the image.

    Examples
    --------
    >>> pixel_areas(2, "EPSG:32616", (30.0, 0.0, 5e5, 0.0, -30.0, 4.4e6)).tolist()
    [900.0, 900.0]
    >>> pixel_areas(1, "EPSG:4326", (1.0, 0.0, 0.0, 0.0, -1.0, 1.0)).round(-6).tolist()
    [12308000000.0]
    """
    if crs is None or transform is None:
        return None
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    a, b, _, d, e, f = transform
    try:
        system = CRS.from_user_input(crs)
        if system.is_projected:
            in_metres = system.linear_units_factor[1]
            return np.full(n_rows, abs(a * e - b * d) * in_metres**2)
    except CRSError:
        return None
    ellipsoid = crs_ellipsoid(crs)
    if not system.is_geographic or b or d or ellipsoid is None:
        return None
    semi_major, flattening = ellipsoid
    in_radians = system.units_factor[1]
    quarter = math.pi / 2
    edges = np.clip((f + e * np.arange(n_rows + 1)) * in_radians, -quarter, quarter)
    strips = np.abs(np.diff(_area_up_to(edges, semi_major, flattening)))
    return strips * abs(a) * in_radians


def _area_up_to(
    latitude: NDArray[np.float64], semi_major: float, flattening: float
) -> NDArray[np.float64]:
    """Area between the equator and a latitude on an ellipsoid, per radian of longitude."""
    sine = np.sin(latitude)
    if flattening == 0:
        return semi_major**2 * sine
    eccentricity = math.sqrt(flattening * (2 - flattening))
    semi_minor = semi_major * (1 - flattening)
    folded = sine / (1 - (eccentricity * sine) ** 2)
    return semi_minor**2 / 2 * (folded + np.arctanh(eccentricity * sine) / eccentricity)
