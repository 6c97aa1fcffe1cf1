"""What results read of a model: any estimator with these attributes can be reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from spectrawalk.consensus.confidence import Overlaps
    from spectrawalk.consensus.embedding import Coordinates


class Model(Protocol):
    """Parameters of an estimator, fitted or not."""

    n_clusters: int | str
    max_clusters: int
    radius: int | None
    n_neighbors: int
    sigma: float | str
    symmetrize: str | None
    components: str
    time: float
    n_eigenpairs: int | str
    consensus_radius: int
    normalize: str | None


class FittedModel(Model, Protocol):
    """What a fit leaves behind; images have the shape (rows, cols)."""

    labels_: NDArray[np.int32]
    n_clusters_: int
    modes_: NDArray[np.intp]
    density_: NDArray[np.float64]
    mode_score_: NDArray[np.float64]
    coordinates_: NDArray[np.float64]
    eigenvalues_: NDArray[np.float64]
    n_components_: int
    exact_density_: bool

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""


@runtime_checkable
class ManyTimes(Protocol):
    """What a fit of M-SRDL leaves behind of its diffusion times."""

    time: float
    times_: NDArray[np.float64]
    n_clusters_per_time_: NDArray[np.int64]
    total_variation_: NDArray[np.float64]


@runtime_checkable
class TreeSettings(Protocol):
    """Parameters of SpectraWalk, fitted or not."""

    n_clusters: int | str
    detail: float | str


@runtime_checkable
class TreeModel(TreeSettings, Protocol):
    """What a fit of SpectraWalk leaves behind."""

    labels_: NDArray[np.int32]
    n_clusters_: int
    confidence_: NDArray[np.float32]
    tree_: NDArray[np.float64]
    leaf_sizes_: NDArray[np.intp]
    levels_: list[Any]
    verdict_: str
    detail_: float
    measured_detail_: float

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Labels for another number of clusters."""

    def confidence(self, n_clusters: int) -> NDArray[np.float32]:
        """Confidence of these labels."""

    def ancestors(self, n_clusters: int) -> NDArray[np.int32]:
        """Cluster of each leaf in the cut into `n_clusters`."""

    def at(self, n_clusters: int | str) -> Self:
        """Copy that shows another number of clusters."""

    def classified(
        self, answers: Mapping[int, int | str | None]
    ) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Labels and classes from the classes of some pixels."""

    def overlaps(self, labels: NDArray[np.integer]) -> Overlaps:
        """Overlap of any clusters with those of the runs."""

    def coordinates(self, pixels: NDArray[np.intp], n: int) -> Coordinates:
        """Diffusion coordinates of some pixels on the graph of their co-association."""

    def save_tree(self, path: str | Path) -> None:
        """Write the tree to a file."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""
