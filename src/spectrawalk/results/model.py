"""What results read of a model: any estimator with these attributes can be reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class Model(Protocol):
    """Parameters of an estimator, fitted or not."""

    n_clusters: int | str
    max_clusters: int
    radius: int | str | None
    n_neighbors: int
    sigma: float | str
    symmetrize: str | None
    components: str
    time: float | str
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


class Support(Protocol):
    """Evidence for each number of clusters."""

    @property
    def stability(self) -> Mapping[int, float]:
        """Agreement of feature sets on as many clusters."""

    @property
    def gaps(self) -> Mapping[int, float]:
        """Eigengap of as many clusters; empty where there is no clear structure."""

    @property
    def support(self) -> Mapping[int, float]:
        """Both in one number."""


@runtime_checkable
class EnsembleModel(FittedModel, Protocol):
    """What the automatic mode leaves behind besides."""

    confidence_: NDArray[np.float32]
    verdict_: str
    evidence_: Any
    warnings_: list[str]
    time_: float
