"""One model for all tiles: fitted once to windows of the scenes, it labels any pixel by itself.

A label depends on the pixel and on those up to `HALO` rows and columns away. So tiles need no
joining, and the same pixel gets the same label in tiles of any size.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spectrawalk.consensus.confidence import Overlaps
from spectrawalk.consensus.detail import default_detail
from spectrawalk.consensus.extension import HALO, Extension, leaves, run_labels
from spectrawalk.consensus.features import Projection
from spectrawalk.consensus.kmeans import MeansRule
from spectrawalk.consensus.levels import Level, supported_levels
from spectrawalk.consensus.resolutions import Rules
from spectrawalk.consensus.tree import ClusterTree, Descent
from spectrawalk.errors import FileError
from spectrawalk.estimators.spectrawalk import SpectraWalk
from spectrawalk.kernels.extension import best_margin
from spectrawalk.kernels.tree import Tree, build_tree
from spectrawalk.parameters import is_auto
from spectrawalk.prepare.pixels import Grid, Pixels
from spectrawalk.scale.source import Source
from spectrawalk.scale.tiles import Tile
from spectrawalk.scene import Scene
from spectrawalk.threads import one_thread

FORMAT = 1
"""Raised when older code could not use a newer file."""

NO_CONFIDENCE = 255
"""Stands for pixels without a label among confidences, which are whole percents."""


class Labelled(NamedTuple):
    """What was found in a tile."""

    codes: NDArray[np.uint8]
    """Leaf of the tree of each pixel, from 1; 0 where masked. Shape (rows, cols)."""
    confidence: NDArray[np.uint8]
    """Confidence of the label in percent; `NO_CONFIDENCE` where masked."""
    counts: NDArray[np.int64]
    """Pixels of each leaf."""
    sums: NDArray[np.float64]
    """Sum of the spectra of each leaf, in the units of the file; shape (leaves, bands)."""
    squares: NDArray[np.float64]
    """Sum of the squares of their differences from the mean of the leaf in the fit."""


@dataclass(frozen=True, eq=False)
class TileModel:
    """The tree of a fit, and what finds the leaf of any pixel.

    Attributes
    ----------
    extension : Extension
    parent, height : ndarray of shape (leaves,)
        The tree; see :class:`~spectrawalk.consensus.tree.ClusterTree`.
    n_clusters : int
        Number of clusters that is shown.
    overlaps : ndarray of float32, shape (columns, clusters)
        Weighted overlap of each cluster of each run with each cluster; see
        :class:`~spectrawalk.consensus.confidence.Overlaps`. 0 for runs that do not count.
    means : ndarray of shape (leaves, bands)
        Mean spectra of the leaves in the fit.
    detail, measured_detail : float
    """

    extension: Extension
    parent: NDArray[np.int32]
    height: NDArray[np.float64]
    n_clusters: int
    overlaps: NDArray[np.float32]
    means: NDArray[np.float64]
    detail: float
    measured_detail: float

    @classmethod
    def fit(cls, scene: Scene, estimator: SpectraWalk, measured: float | None = None) -> Self:
        """Fit to the drawn windows.

        `measured` is the detail of all scenes; without it, that of `scene` is measured.
        """
        if measured is not None and is_auto(estimator.detail):
            chosen = clone(estimator).set_params(detail=default_detail(measured))
            model = chosen.fit(scene)
        else:
            model = clone(estimator).fit(scene)
        extension = model.extension(scene)
        assert model._ensemble is not None  # it has just been fitted
        tree, (found, _) = model._tree, model._ensemble
        labels = tree.cut(model.n_clusters_)
        overlaps = Overlaps.of(found.labels, found.even_weights, labels)
        first = extension.descent.first
        columns = np.zeros((first[-1], model.n_clusters_), dtype=np.float32)
        for run, table in zip(overlaps.numbers, overlaps.tables, strict=True):
            columns[first[run] : first[run + 1]] = table
        spectra = scene.cube[scene.mask]
        means = np.stack(
            [
                spectra[tree.leaf == leaf].mean(axis=0, dtype=np.float64)
                for leaf in range(tree.n_leaves)
            ]
        )
        return cls(
            extension,
            tree.parent,
            tree.height,
            model.n_clusters_,
            columns,
            means,
            model.detail_,
            model.measured_detail_ if measured is None else measured,
        )

    @property
    def n_leaves(self) -> int:
        """Clusters of the finest cut."""
        return len(self.parent)

    @property
    def tree(self) -> ClusterTree:
        """The tree, without pixels."""
        return ClusterTree(np.arange(self.n_leaves, dtype=np.int32), self.parent, self.height)

    @property
    def levels(self) -> list[Level]:
        """Numbers of clusters that the runs support."""
        return supported_levels(self.tree)

    @cached_property
    def _trees(self) -> dict[str, Tree]:
        return {name: build_tree(points) for name, points in self.extension.points.items()}

    def label(self, source: Source, tile: Tile) -> Labelled:
        """Label the pixels of a tile, which are read with a margin around them."""
        larger = tile.grown(HALO, source.shape)
        scene = source.read(larger.rows, larger.cols)
        codes = np.zeros(scene.shape, np.uint8)
        confidence = np.full(scene.shape, NO_CONFIDENCE, np.uint8)
        if scene.mask.any():
            raw = scene.cube[scene.mask].astype(np.float64)
            with one_thread():
                pixels = Pixels(self.extension.scaled(raw), Grid(scene.mask))
                labels = run_labels(self.extension, self._trees, pixels)
                leaf = leaves(self.extension, labels)
                shown = self.tree.ancestors(self.n_clusters)[leaf].astype(np.uint8)
                margin = np.empty(len(leaf))
                best_margin(
                    np.ascontiguousarray(labels.T),
                    self.extension.descent.first.astype(np.int64),
                    self.overlaps,
                    shown,
                    margin,
                )
            codes[scene.mask] = leaf + 1
            confidence[scene.mask] = np.rint(100 * margin).astype(np.uint8)
        inside = tile.inside(larger)
        codes, confidence = codes[inside], confidence[inside]
        return Labelled(codes, confidence, *self._statistics(scene.cube[inside], codes))

    def _statistics(
        self, cube: NDArray[Any], codes: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Number of pixels of each leaf, and sums of their spectra."""
        shape = self.n_leaves, cube.shape[2]
        counts, sums, squares = np.zeros(shape[0], np.int64), np.zeros(shape), np.zeros(shape)
        for code in np.unique(codes[codes > 0]):
            spectra = cube[codes == code].astype(np.float64)
            counts[code - 1] = len(spectra)
            sums[code - 1] = spectra.sum(axis=0)
            squares[code - 1] = np.square(spectra - self.means[code - 1]).sum(axis=0)
        return counts, sums, squares

    def to_bytes(self) -> bytes:
        """Encode the model as an ``.npz`` file without pickled objects."""
        e, rules = self.extension, self.extension.rules
        with_means = [i for i, rule in enumerate(rules.runs) if rule is not None]
        arrays: dict[str, Any] = {
            "format": FORMAT,
            "dark_length": e.dark_length,
            "features": np.array(e.features),
            "rules": np.array(with_means, dtype=np.int64),
            "n_clusters": self.n_clusters,
            "detail": self.detail,
            "measured_detail": self.measured_detail,
            "parent": self.parent,
            "height": self.height,
            "overlaps": self.overlaps,
            "means": self.means,
        }
        for run in with_means:
            for name, value in rules.runs[run]._asdict().items():  # type: ignore[union-attr]
                arrays[f"rule_{run}_{name}"] = value
        for feature, projection in rules.projections.items():
            arrays[f"points_{feature}"] = e.points[feature]
            arrays[f"labels_{feature}"] = e.labels[feature]
            for name, value in projection._asdict().items():
                arrays[f"projection_{feature}_{name}"] = value
        for name, value in e.descent._asdict().items():
            arrays[f"descent_{name}"] = value
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Decode what :meth:`to_bytes` made."""
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
        if int(arrays["format"]) != FORMAT:
            raise FileError(
                "the model of an unfinished run was written by another version of spectrawalk; "
                "start the run again with overwrite=True."
            )
        features = [str(each) for each in arrays["features"]]
        runs: list[MeansRule | None] = [None] * len(features)
        for run in arrays["rules"].tolist():
            weights, offsets, strength = (arrays[f"rule_{run}_{n}"] for n in MeansRule._fields)
            runs[run] = MeansRule(weights, offsets, float(strength))
        names = [name.removeprefix("points_") for name in arrays if name.startswith("points_")]
        projections = {
            name: Projection(
                *(arrays[f"projection_{name}_{field}"] for field in Projection._fields)
            )
            for name in names
        }
        extension = Extension(
            float(arrays["dark_length"]),
            Rules(runs, projections),
            features,
            Descent(*(arrays[f"descent_{name}"] for name in Descent._fields)),
            {name: arrays[f"points_{name}"] for name in names},
            {name: arrays[f"labels_{name}"] for name in names},
        )
        return cls(
            extension,
            arrays["parent"],
            arrays["height"],
            int(arrays["n_clusters"]),
            arrays["overlaps"],
            arrays["means"],
            float(arrays["detail"]),
            float(arrays["measured_detail"]),
        )
