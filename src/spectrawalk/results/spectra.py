"""Mean spectrum of each cluster, and its standard deviation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


SPREAD = 0.95
"""Part of a cluster's pixels that its spread takes in."""


def spectral_spread(
    scene: Scene, labels: NDArray[np.integer], spectra: Sequence[ClusterSpectrum]
) -> Row:
    """Spectral angle to the cluster's mean that 95 % of its pixels do not exceed, shape (K,).

    In radians; NaN for a cluster without pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> scene = Scene(np.array([[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]]))
    >>> labels = np.zeros((1, 3), dtype=int)
    >>> spectral_spread(scene, labels, cluster_spectra(scene, labels)).round(3)
    array([0.785])
    """
    directions = np.array([_unit(spectrum.mean[np.newaxis])[0] for spectrum in spectra])
    angles, clusters = [], []
    for pixels, cluster in in_blocks(scene, labels):
        cosines = np.einsum("ij,ij->i", _unit(pixels), directions[cluster])
        angles.append(np.arccos(np.clip(cosines, -1.0, 1.0)).astype(np.float32))
        clusters.append(cluster)
    angle, of = np.concatenate(angles), np.concatenate(clusters)
    ends = np.cumsum(np.bincount(of, minlength=len(spectra)))[:-1]
    parts = np.split(angle[np.argsort(of, kind="stable")], ends)
    return np.array([_quantile(part) for part in parts])


def _quantile(angles: NDArray[np.float32]) -> float:
    return float(np.quantile(angles, SPREAD, method="inverted_cdf")) if angles.size else np.nan


def _unit(spectra: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spectra divided by their length; those of 0 stay."""
    peaks = np.abs(spectra).max(axis=1, initial=0.0, keepdims=True)
    scaled = spectra / np.where(peaks > 0, peaks, 1.0)  # squares of the values might overflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))


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
