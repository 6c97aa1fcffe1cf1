"""Registry of the comparison methods by name, and registration of further methods."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from spectrawalk.errors import MissingDependencyError, ParameterError

Factory = Callable[..., Any]
"""Called with keywords that include ``n_clusters`` and ``random_state``; returns an estimator."""

ENTRY_POINT_GROUP = "spectrawalk.methods"


def _class_in(module: str, name: str) -> Factory:
    """Create a factory that imports its class when it is called."""

    def factory(**parameters: Any) -> Any:
        return getattr(import_module(f"spectrawalk.{module}"), name)(**parameters)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = f"Create a :class:`spectrawalk.{module}.{name}`."
    return factory


METHODS: dict[str, Factory] = {
    "k-means": _class_in("baselines.kmeans", "KMeans"),
    "pca": _class_in("baselines.pca", "PCAKMeans"),
    "ica": _class_in("baselines.ica", "ICAKMeans"),
    "rp": _class_in("baselines.random_projection", "RandomProjectionKMeans"),
    "dbscan": _class_in("baselines.dbscan", "DBSCAN"),
    "sc": _class_in("baselines.spectral_clustering", "SpectralClustering"),
    "gmm": _class_in("baselines.gaussian_mixture", "GaussianMixture"),
    "smce": _class_in("baselines.smce", "SMCE"),
    "hnmf": _class_in("baselines.hnmf", "HNMF"),
    "fms": _class_in("baselines.fms", "FMS"),
    "fsfdpc": _class_in("baselines.fsfdpc", "FSFDPC"),
    "dl": _class_in("estimators", "DL"),
    "dlss": _class_in("estimators", "DLSS"),
    "srdl": _class_in("estimators", "SRDL"),
    "msrdl": _class_in("estimators", "MSRDL"),
    "dvic": _class_in("estimators", "DVIC"),
    "s2dl": _class_in("estimators", "S2DL"),
    "hdbscan": _class_in("baselines.hdbscan", "HDBSCAN"),
    "leiden": _class_in("baselines.leiden", "Leiden"),
    "superpixels": _class_in("baselines.superpixel_kmeans", "SuperpixelKMeans"),
}
"""Factory of each method, first those of the paper's table in its order; :func:`register` adds."""

STOCHASTIC = frozenset({"k-means", "pca", "ica", "rp", "sc", "gmm", "smce", "fms", "superpixels"})
"""Methods of this package whose labels depend on ``random_state``."""


def register(name: str, factory: Factory, *, replace: bool = False) -> None:
    """Add a method to the comparison.

    A package can also add a method by an entry point of the group ``spectrawalk.methods``. The name
    of the entry point is the name of the method, and its object is the factory.

    Parameters
    ----------
    name : str
        Name of the method in tables and on the command line.
    factory : callable
        Called with the keywords ``n_clusters`` and ``random_state`` (and any other parameters of
        the user). It returns an object with a method ``fit_predict(X, mask=None)``, where X is a
        cube of shape (rows, cols, bands). This method returns labels in the image's shape, -1 where
        masked. A subclass of :class:`spectrawalk.baselines.Baseline` is such a factory.
    replace : bool
        Whether to replace an existing method of this name.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import METHODS, Baseline, make_method, register
    >>> class Brightness(Baseline):
    ...     def __init__(self, n_clusters=2, *, normalize=None, random_state=None):
    ...         self.n_clusters = n_clusters
    ...         self.normalize = normalize
    ...         self.random_state = random_state
    ...
    ...     def _cluster(self, X, n_clusters, seed):
    ...         rank = X.sum(axis=1).argsort().argsort()
    ...         return rank * n_clusters // len(X)
    >>> register("brightness", Brightness)
    >>> make_method("brightness", n_clusters=2).fit_predict(np.array([[[1, 2], [3, 4], [1, 1]]]))
    array([[0, 1, 0]], dtype=int32)
    >>> del METHODS["brightness"]
    """
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(
            f"name={name!r} cannot name a method; give a string that is not empty."
        )
    if not callable(factory):
        raise ParameterError(
            f"the factory of method '{name}' is a {type(factory).__name__}, which cannot be "
            "called; give a class or a function that returns an estimator."
        )
    if name in METHODS and not replace:
        raise ParameterError(
            f"there is a method '{name}' already; choose another name, or give replace=True."
        )
    METHODS[name] = factory


def method_names() -> list[str]:
    """Names of all methods: those of the paper in its order, later ones, then the registered ones.

    Examples
    --------
    >>> method_names()[:4]
    ['k-means', 'pca', 'ica', 'rp']
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        METHODS.setdefault(entry.name, _loaded_when_called(entry))
    return list(METHODS)


def make_method(name: str, **parameters: Any) -> Any:
    """Create the estimator of a method.

    Parameters
    ----------
    name : str
        One of :func:`method_names`.
    **parameters
        Parameters of the estimator: ``n_clusters``, ``random_state``, ``normalize``, ...

    Examples
    --------
    >>> make_method("sc", n_clusters=3)
    SpectralClustering(n_clusters=3)
    """
    known = method_names()
    if name not in known:
        raise ParameterError(f"method {name!r} is not known; choose one of {', '.join(known)}.")
    method = METHODS[name](**parameters)
    if not callable(getattr(method, "fit_predict", None)):
        raise ParameterError(
            f"method '{name}' creates a {type(method).__name__}, which has no fit_predict; give a "
            "factory that returns an estimator."
        )
    return method


def _loaded_when_called(entry: EntryPoint) -> Factory:
    """Create a factory that imports another package when it is called.

    So a broken package does not affect the other methods.
    """

    def factory(**parameters: Any) -> Any:
        try:
            make = entry.load()
        except (ImportError, AttributeError) as error:
            raise MissingDependencyError(
                f"method '{entry.name}' ({entry.value}) cannot be loaded: {error}; "
                "repair or uninstall the package of this method."
            ) from error
        return make(**parameters)

    return factory
