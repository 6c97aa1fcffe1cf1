"""What was found in a scene that was labelled tile by tile."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.levels import supported_levels
from spectrawalk.consensus.tree import ClusterTree
from spectrawalk.errors import FileError
from spectrawalk.estimators.spectrawalk import SpectraWalk
from spectrawalk.io.cog import read_windows
from spectrawalk.results.cluster_map import ClusterMap, Legend, pixel_areas
from spectrawalk.results.result import Result, Thinned
from spectrawalk.results.spectra import ClusterSpectrum
from spectrawalk.scale.model import Labelled
from spectrawalk.scene import Scene, Transform

FORMAT = 1
"""Raised when older code could not use a newer file."""


@dataclass(frozen=True, eq=False)
class Found:
    """Leaves of the tree in a scene: their pixels, areas and spectra; and a thinned scene.

    Attributes
    ----------
    image_shape : (int, int)
        Rows and columns of the scene.
    shape : (int, int)
        Rows and columns of its map: the same, unless the scene is in the geometry of the sensor.
    crs, transform
        Place of the map; see :class:`~spectrawalk.Scene`.
    parent, height : ndarray of shape (leaves,)
        The tree.
    detail, measured_detail : float
    counts, map_counts : ndarray of int, shape (leaves,)
        Pixels of each leaf in the scene, and on its map.
    sums, scatter : ndarray of shape (leaves, bands)
        Sum of the spectra of each leaf, and sum of the squared differences from their mean.
    areas : ndarray of shape (leaves,) or None
        In square metres.
    thin : Scene
        One pixel of each cell of a regular grid.
    thin_leaf : ndarray of int, shape of `thin`
        Their leaves; -1 where masked.
    cell : int
        Side of a cell in pixels.
    """

    image_shape: tuple[int, int]
    shape: tuple[int, int]
    crs: str | None
    transform: Transform | None
    parent: NDArray[np.int32]
    height: NDArray[np.float64]
    detail: float
    measured_detail: float
    counts: NDArray[np.int64]
    map_counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    scatter: NDArray[np.float64]
    areas: NDArray[np.float64] | None
    thin: Scene
    thin_leaf: NDArray[np.int32]
    cell: int
    parameters: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def tree(self) -> ClusterTree:
        """The tree; its pixels are those of the thinned scene."""
        return ClusterTree(self.thin_leaf[self.thin.mask], self.parent, self.height)

    def result(
        self,
        n_clusters: int,
        confidence: NDArray[np.float32] | None = None,
        mean_confidence: NDArray[np.float64] | None = None,
        legend: Legend | None = None,
    ) -> Result:
        """Result with the numbers of the whole scene, and the maps of the thinned one.

        Parameters
        ----------
        n_clusters : int
        confidence : ndarray of shape (rows, cols) of the thinned scene, optional
            Without it, the result has none: 0 everywhere.
        mean_confidence : ndarray of shape (n_clusters,), optional
            Mean confidence of each cluster in the whole scene.
        legend : Legend, optional
            Names and colours, where a person gave them.
        """
        cluster = self.tree.ancestors(n_clusters)
        model = self._model(n_clusters, confidence)
        labels = np.where(self.thin_leaf >= 0, cluster[self.thin_leaf], -1)
        image = Thinned(self.image_shape, int(self.counts.sum()), self.cell)
        result = Result(self.thin, labels, n_clusters, model, legend=legend, thinned=image)
        sizes, counts = (
            np.bincount(cluster, each, minlength=n_clusters).astype(np.int64)
            for each in (self.counts, self.map_counts)
        )
        shown = ClusterMap(labels, n_clusters, self.crs, self.transform, legend=legend)
        areas = None if self.areas is None else np.bincount(cluster, self.areas, n_clusters)
        _know(shown, counts=counts, areas=areas)
        _know(result, sizes=sizes, map=shown, spectra=self.spectra(n_clusters))
        if mean_confidence is not None:
            _know(result, mean_certainty=mean_confidence)
        return result

    def spectra(self, n_clusters: int) -> list[ClusterSpectrum]:
        """Mean spectrum of each cluster and its standard deviation; NaN for one without pixels."""
        cluster = self.tree.ancestors(n_clusters)
        sizes = np.bincount(cluster, self.counts, minlength=n_clusters)[:, np.newaxis]
        sizes = np.where(sizes > 0, sizes, np.nan)
        inside = (cluster == np.arange(n_clusters)[:, np.newaxis]).astype(np.float64)
        means = inside @ self.sums / sizes
        of_leaf = self.sums / np.maximum(self.counts, 1)[:, np.newaxis]
        between = self.counts[:, np.newaxis] * np.square(of_leaf - np.nan_to_num(means[cluster]))
        deviations = np.sqrt(inside @ (self.scatter + between) / sizes)
        return [ClusterSpectrum(*each) for each in zip(means, deviations, strict=True)]

    def _model(self, n_clusters: int, confidence: NDArray[np.float32] | None) -> SpectraWalk:
        """Stand in for a fit of the thinned scene, with the tree and sizes of the whole one."""
        model = SpectraWalk(**self.parameters)
        if confidence is None:
            confidence = np.where(self.thin.mask, 0.0, np.nan).astype(np.float32)
        tree = self.tree
        labels = np.where(self.thin_leaf >= 0, tree.ancestors(n_clusters)[self.thin_leaf], -1)
        known = {
            "_mask": self.thin.mask,
            "_tree": tree,
            "tree_": tree.linkage(),
            "leaf_sizes_": self.counts,
            "levels_": supported_levels(tree),
            "labels_": labels.astype(np.int32),
            "n_clusters_": n_clusters,
            "confidence_": confidence,
            "detail_": self.detail,
            "measured_detail_": self.measured_detail,
            "n_features_in_": self.thin.n_bands,
            "wavelengths_": self.thin.wavelengths,
        }
        for name, value in known.items():
            setattr(model, name, value)
        model._set_verdict()
        return model

    def to_bytes(self) -> bytes:
        """Encode as an ``.npz`` file: all that a cut at another number needs but the leaves."""
        thin = self.thin
        optional = {
            "crs": self.crs,
            "transform": self.transform,
            "areas": self.areas,
            "wavelengths": thin.wavelengths,
            "fwhm": thin.fwhm,
            "thin_transform": thin.transform,
        }
        file = io.BytesIO()
        arrays: dict[str, Any] = dict(  # noqa: C408 -- names, as they are read
            format=FORMAT,
            image_shape=self.image_shape,
            shape=self.shape,
            parent=self.parent,
            height=self.height,
            detail=self.detail,
            measured_detail=self.measured_detail,
            counts=self.counts,
            map_counts=self.map_counts,
            sums=self.sums,
            scatter=self.scatter,
            cube=thin.cube,
            mask=thin.mask,
            name=thin.name,
            band_numbers=thin.band_numbers,
            thin_leaf=self.thin_leaf,
            cell=self.cell,
        )
        arrays |= {key: np.asarray(value) for key, value in optional.items() if value is not None}
        np.savez_compressed(file, **arrays)
        return file.getvalue()

    @classmethod
    def read(cls, path: Path, parameters: dict[str, Any]) -> Self:
        """Read what :meth:`to_bytes` made."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            if int(arrays["format"]) != FORMAT:
                raise ValueError(f"format {arrays['format']}")
            crs = str(arrays["crs"]) if "crs" in arrays else None
            thin = Scene(
                arrays["cube"],
                mask=arrays["mask"],
                name=str(arrays["name"]),
                wavelengths=arrays.get("wavelengths"),
                fwhm=arrays.get("fwhm"),
                band_numbers=arrays["band_numbers"],
                crs=crs,
                transform=_numbers(arrays.get("thin_transform")),
            )
            return cls(
                _numbers(arrays["image_shape"]),
                _numbers(arrays["shape"]),
                crs,
                _numbers(arrays.get("transform")),
                arrays["parent"],
                arrays["height"],
                float(arrays["detail"]),
                float(arrays["measured_detail"]),
                arrays["counts"],
                arrays["map_counts"],
                arrays["sums"],
                arrays["scatter"],
                arrays.get("areas"),
                thin,
                arrays["thin_leaf"],
                int(arrays["cell"]),
                parameters,
            )
        except (OSError, KeyError, ValueError) as error:
            raise FileError(
                f"'{path}' cannot be read ({error}); cluster the scene again."
            ) from error


class Tally:
    """Adds up, over all tiles, what is known of each leaf in the scene."""

    def __init__(self, leaves: int) -> None:
        self.counts = np.zeros(leaves, np.int64)
        self.percents = np.zeros(leaves, np.int64)
        self.sums: Any = 0.0
        self.squares: Any = 0.0

    def add(self, found: Labelled) -> None:
        """Add a tile. Sums depend on the order of the tiles in their last digits."""
        known = found.codes > 0
        codes = found.codes[known].astype(np.intp) - 1
        self.counts += np.bincount(codes, minlength=len(self.counts))
        percents = found.confidence[known].astype(np.int64)
        self.percents += np.bincount(codes, percents, minlength=len(self.counts)).astype(np.int64)
        self.sums = self.sums + found.sums
        self.squares = self.squares + found.squares

    def scatter(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared differences from the mean of each leaf; `means` are what squares refer to."""
        counts = self.counts[:, np.newaxis]
        away = self.sums / np.maximum(counts, 1) - means
        return np.asarray(np.maximum(self.squares - counts * np.square(away), 0.0))


class MapTally:
    """Adds up the pixels and areas of each leaf on the map."""

    def __init__(
        self, shape: tuple[int, int], crs: str | None, transform: Any, leaves: int
    ) -> None:
        self._area_of_row = pixel_areas(shape[0], crs, transform)
        varies = self._area_of_row is not None and bool(np.ptp(self._area_of_row) > 0)
        self.counts = np.zeros(leaves, np.int64)
        self._by_row = np.zeros((shape[0], leaves), np.int64) if varies else None

    def add(self, top: int, codes: NDArray[np.uint8]) -> None:
        """Add a block of the map, whose first row is `top`."""
        leaves = len(self.counts)
        if self._by_row is None:
            self.counts += np.bincount(codes.ravel(), minlength=leaves + 1)[1:]
            return
        for row, line in enumerate(codes, start=top):
            found = np.bincount(line, minlength=leaves + 1)[1:]
            self._by_row[row] += found
            self.counts += found

    @property
    def areas(self) -> NDArray[np.float64] | None:
        """Area of each leaf in square metres; None where the map has no ground units."""
        if self._area_of_row is None:
            return None
        if self._by_row is None:
            return np.asarray(self.counts * self._area_of_row[0])
        return np.asarray(self._area_of_row @ self._by_row)


def cut_blocks(leaves: Path, cluster: NDArray[np.int32]) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Blocks of a map of clusters, from the map of leaves; both count from 1, and 0 is no data."""
    table = np.concatenate([[0], cluster + 1]).astype(np.uint8)
    for row, col, codes in read_windows(leaves):
        yield row, col, table[codes]


def _know(of: Any, **values: Any) -> None:
    """Set cached properties, which would otherwise be computed from the thinned scene."""
    vars(of).update(values)


def _numbers(values: NDArray[Any] | None) -> Any:
    return None if values is None else tuple(values.tolist())
