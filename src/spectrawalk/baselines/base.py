"""Base class of all comparison methods: it extracts pixels, scales spectra, numbers clusters."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from spectrawalk.errors import ConvergenceError, ParameterError, StructureError
from spectrawalk.parameters import check_integer, check_seed
from spectrawalk.prepare.pixels import Grid, as_given, take_input
from spectrawalk.prepare.scaling import check_distinct, normalize_spectra
from spectrawalk.srdl.numbering import number_by_size


class Baseline(ClusterMixin, BaseEstimator):
    """A clustering method that treats an image as a set of spectra, or that uses positions too.

    A method is a subclass with its own ``__init__`` (keyword parameters that include `n_clusters`,
    `normalize` and `random_state`) and a method ``_cluster`` that computes labels from spectra.
    This class does the rest.

    Attributes
    ----------
    labels_ : ndarray of int32, in the shape of the image, or (samples,) for a table
        Cluster of each pixel, 0 for the largest, then by decreasing size; -1 where masked.
    n_clusters_ : int
        Number of clusters found.
    n_features_in_ : int
        Number of bands.
    """

    n_clusters: int
    normalize: str | None
    random_state: int | None

    _reaches_n_clusters = True
    """Whether it is an error if the method finds another number of clusters than `n_clusters`."""

    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> Self:
        """Cluster the valid pixels of an image.

        Parameters
        ----------
        X : Scene, array of shape (rows, cols, bands), or array of shape (samples, bands)
        y : ignored
        mask : array of bool, optional
            True where a pixel is valid.
        """
        n_clusters = check_integer("n_clusters", self.n_clusters, 1)
        seed = check_seed("random_state", self.random_state)
        pixels = take_input(self, X, mask)
        spectra = normalize_spectra(pixels.spectra, self.normalize)
        check_distinct(spectra, self.normalize)
        if n_clusters > len(spectra):
            raise ParameterError(
                f"n_clusters={n_clusters} but there are only {len(spectra)} valid pixels; "
                "ask for fewer clusters."
            )
        labels = self._labels(spectra, pixels.grid, n_clusters, seed)
        self.n_clusters_ = int(labels.max()) + 1
        self.labels_ = pixels.grid.to_image(labels, -1)
        return self

    def fit_predict(self, X: Any, y: Any = None, *, mask: Any = None) -> Any:
        """Cluster the valid pixels of an image and return ``labels_``; see :meth:`fit`.

        For data of xarray the labels are a DataArray with the same coordinates; ``labels_`` is
        always an array of NumPy.
        """
        return as_given(X, self.fit(X, mask=mask).labels_, "labels")

    @abstractmethod
    def _cluster(
        self, X: NDArray[np.float64], n_clusters: int, seed: int
    ) -> NDArray[np.integer[Any]]:
        """Cluster the scaled spectra `X`, shape (n, bands); labels can be any integers."""

    def _cluster_image(
        self, X: NDArray[np.float64], grid: Grid, n_clusters: int, seed: int
    ) -> NDArray[np.integer[Any]]:
        """Cluster the pixels of an image; a method that uses their positions overrides this."""
        return self._cluster(X, n_clusters, seed)

    def _labels(
        self, X: NDArray[np.float64], grid: Grid, n_clusters: int, seed: int
    ) -> NDArray[np.int32]:
        # One thread, because the last bits of a sum depend on the number of threads, and nearly
        # equal values could then give other labels on another machine.
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            try:
                if grid.is_image:
                    labels = self._cluster_image(X, grid, n_clusters, seed)
                else:
                    labels = self._cluster(X, n_clusters, seed)
            except ConvergenceWarning as warning:
                raise ConvergenceError(
                    f"{type(self).__name__} did not converge on {len(X)} pixels; give a larger "
                    "max_iter, or scale the spectra in another way with normalize."
                ) from warning
        labels, _ = number_by_size(_in_order_of_occurrence(labels))
        found = int(labels.max()) + 1
        if self._reaches_n_clusters and found != n_clusters:
            raise StructureError(
                f"{type(self).__name__} found {found} clusters but n_clusters={n_clusters}; ask "
                "for fewer clusters, or scale the spectra in another way with normalize."
            )
        return labels


def _in_order_of_occurrence(labels: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Renumber labels 0, 1, ... in the order of their first occurrence.

    Examples
    --------
    >>> import numpy as np
    >>> _in_order_of_occurrence(np.array([7, 3, 3, 9])).tolist()
    [0, 1, 1, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
