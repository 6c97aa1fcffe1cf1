"""The comparison methods, with one interface, and the registry of all methods.

>>> from spectrawalk.baselines import make_method
>>> from spectrawalk.datasets import make_scene
>>> scene = make_scene((12, 12), n_classes=3)
>>> make_method("k-means", n_clusters=3).fit_predict(scene).shape
(12, 12)

Classes are imported on first use, so that listing the methods is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spectrawalk.baselines.registry import (
    METHODS,
    STOCHASTIC,
    make_method,
    method_names,
    register,
)

if TYPE_CHECKING:
    from spectrawalk.baselines.base import Baseline
    from spectrawalk.baselines.dbscan import DBSCAN
    from spectrawalk.baselines.fms import FMS
    from spectrawalk.baselines.fsfdpc import FSFDPC
    from spectrawalk.baselines.gaussian_mixture import GaussianMixture
    from spectrawalk.baselines.hdbscan import HDBSCAN
    from spectrawalk.baselines.hnmf import HNMF
    from spectrawalk.baselines.ica import ICAKMeans
    from spectrawalk.baselines.kmeans import KMeans
    from spectrawalk.baselines.leiden import Leiden
    from spectrawalk.baselines.pca import PCAKMeans
    from spectrawalk.baselines.random_projection import RandomProjectionKMeans
    from spectrawalk.baselines.smce import SMCE
    from spectrawalk.baselines.spectral_clustering import SpectralClustering
    from spectrawalk.baselines.superpixel_kmeans import SuperpixelKMeans

_HOME = {
    "Baseline": "base",
    "DBSCAN": "dbscan",
    "FMS": "fms",
    "FSFDPC": "fsfdpc",
    "GaussianMixture": "gaussian_mixture",
    "HDBSCAN": "hdbscan",
    "HNMF": "hnmf",
    "ICAKMeans": "ica",
    "KMeans": "kmeans",
    "Leiden": "leiden",
    "PCAKMeans": "pca",
    "RandomProjectionKMeans": "random_projection",
    "SMCE": "smce",
    "SpectralClustering": "spectral_clustering",
    "SuperpixelKMeans": "superpixel_kmeans",
}

__all__ = [
    "DBSCAN",
    "FMS",
    "FSFDPC",
    "HDBSCAN",
    "HNMF",
    "METHODS",
    "SMCE",
    "STOCHASTIC",
    "Baseline",
    "GaussianMixture",
    "ICAKMeans",
    "KMeans",
    "Leiden",
    "PCAKMeans",
    "RandomProjectionKMeans",
    "SpectralClustering",
    "SuperpixelKMeans",
    "make_method",
    "method_names",
    "register",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"spectrawalk.baselines.{_HOME[name]}"), name)
    raise AttributeError(f"module 'spectrawalk.baselines' has no attribute '{name}'")
