"""Mean spectrum of each cluster, and its standard deviation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk.scene import Scene

_BLOCK_VALUES = 8_000_000  # 64 MB as float64
_SAFE_EXPONENT = 400  # squares of 2**400, 2**200 of them, are still below the limit of 2**1024

Row = NDArray[np.float64]


class ClusterSpectrum(NamedTuple):
    """Mean and standard deviation of a cluster's spectra, in the units of the cube."""

    mean: Row
    deviation: Row


def cluster_spectra(
    scene: Scene, labels: NDArray[np.integer], n_clusters: int | None = None
) -> list[ClusterSpectrum]:
    """Mean spectrum of each cluster and its standard deviation; NaN for one without pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> scene = Scene(np.array([[[1.0, 2.0], [3.0, 2.0]]]))
    >>> cluster_spectra(scene, np.array([[0, 0]]))
    [ClusterSpectrum(mean=array([2., 2.]), deviation=array([1., 0.]))]
    """
    n_clusters = int(labels.max()) + 1 if n_clusters is None else n_clusters
    exponents = _exponents(scene, labels)

    def scaled(spectra: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ldexp(spectra, -exponents) if exponents.any() else spectra

    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)[:, np.newaxis]
    sizes = np.where(sizes > 0, sizes, np.nan)  # of a prediction some may be empty
    means = np.zeros((n_clusters, scene.n_bands))
    for spectra, cluster in in_blocks(scene, labels):
        means += _sums(scaled(spectra), cluster, n_clusters)
    means /= sizes
    variances = np.zeros_like(means)
    for spectra, cluster in in_blocks(scene, labels):
        away = scaled(spectra) - means[cluster]
        variances += _sums(np.square(away), cluster, n_clusters)
    deviations = np.ldexp(np.sqrt(variances / sizes), exponents)
    means = np.ldexp(means, exponents)
    return [ClusterSpectrum(*each) for each in zip(means, deviations, strict=True)]


def _exponents(scene: Scene, labels: NDArray[np.integer]) -> NDArray[np.intc]:
    """Powers of two to divide each band by, shape (bands,), so that no sum of squares overflows.

    They are 0 but for bands with values near the limits of float64, which no other type reaches.
    """
    if scene.cube.dtype.kind != "f" or scene.cube.dtype.itemsize < 8:
        return np.zeros(scene.n_bands, dtype=np.intc)
    peaks = np.zeros(scene.n_bands)
    for spectra, _ in in_blocks(scene, labels):
        peaks = np.maximum(peaks, np.abs(spectra).max(axis=0, initial=0))
    _, exponents = np.frexp(peaks)
    return np.where(np.abs(exponents) > _SAFE_EXPONENT, exponents, 0).astype(np.intc)


def in_blocks(
    scene: Scene, labels: NDArray[np.integer]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.integer]]]:
    """Spectra with a label and their labels, some rows at a time: a second cube might not fit."""
    rows, cols = scene.shape
    step = max(1, _BLOCK_VALUES // max(1, cols * scene.n_bands))
    for start in range(0, rows, step):
        part = labels[start : start + step]
        known = part >= 0
        yield scene.cube[start : start + step][known].astype(np.float64), part[known]


def _sums(
    spectra: NDArray[np.float64], cluster: NDArray[np.integer], n_clusters: int
) -> NDArray[np.float64]:
    """Sum of the spectra of each cluster, shape (clusters, bands)."""
    n = len(cluster)
    members = csr_array((np.ones(n), cluster, np.arange(n + 1)), shape=(n, n_clusters))
    return np.asarray(members.T @ spectra)
