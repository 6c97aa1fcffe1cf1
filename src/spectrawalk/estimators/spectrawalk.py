"""SpectraWalk: clusters of an image at all levels of detail, without tuning."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from spectrawalk.consensus.confidence import Overlaps, overlap_margin
from spectrawalk.consensus.detail import default_detail, measured_detail
from spectrawalk.consensus.embedding import Coordinates, diffusion_of_votes
from spectrawalk.consensus.extension import Extension
from spectrawalk.consensus.features import dark_length, keep_dark
from spectrawalk.consensus.levels import Level, in_words, supported_levels, supported_number
from spectrawalk.consensus.resolutions import BaseClusterings, base_clusterings
from spectrawalk.consensus.tree import ClusterTree, Descent, cluster_tree
from spectrawalk.errors import ParameterError
from spectrawalk.estimators.checks import check_enough_pixels
from spectrawalk.estimators.forecast import Forecast, check_memory, ensemble_memory, ensemble_time
from spectrawalk.estimators.prediction import FittedSpectra, PredictionMixin, sampled_reach
from spectrawalk.estimators.queries import QueryMixin
from spectrawalk.estimators.saved import SavedMixin, unchanged_on_failure
from spectrawalk.estimators.shown import ShownMixin
from spectrawalk.parameters import check_integer, check_seed, is_auto, shown
from spectrawalk.prepare.pixels import Grid, Pixels, as_given, from_xarray, take_input, take_pixels
from spectrawalk.prepare.scaling import Scaling, check_distinct, normalize_spectra
from spectrawalk.scene import Scene

DETAIL = {"fields": 0.0, "materials": 1.0}
"""Names of the ends of the dial."""


class SpectraWalk(ShownMixin, QueryMixin, PredictionMixin, SavedMixin, ClusterMixin, BaseEstimator):
    """Nested clusters of an image, from many SRDL runs.

    SRDL and K-means are run on several feature sets, for 2 to 30 clusters. The runs vote on which
    pixels belong together, and the votes give one tree of clusters. The tree can be cut into any
    number of clusters: from k to k + 1 one cluster is split, and no other pixel changes.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters. ``"auto"``: the largest number that the runs support.
    detail : float, "fields", "materials" or "auto"
        From 0 (``"fields"``: smooth regions) to 1 (``"materials"``: each pixel by its own
        spectrum). ``"auto"``: from how much adjacent pixels differ.
    random_state : int or None
        Seed of K-means, of the halves of the bands and of samples. None is the same as 0.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel; -1 where masked. A cluster keeps its number in finer cuts.
    n_clusters_ : int
        Number of clusters K.
    confidence_ : ndarray of float32, in the image's shape
        Confidence of each label, 0 to 1: how much better the clusters that the runs put the pixel
        in agree with its own cluster than with the next one; NaN where masked.
    tree_ : ndarray of shape (leaves - 1, 4)
        The tree in the layout of :func:`scipy.cluster.hierarchy.linkage`. Its leaves are the
        clusters of the finest cut.
    leaf_sizes_ : ndarray of int, shape (leaves,)
        Number of pixels of each leaf.
    levels_ : list of Level
        Numbers of clusters that the runs support, the coarsest first; empty if there is no clear
        structure.
    verdict_ : str
        The same in words.
    detail_ : float
        Detail that was used.
    measured_detail_ : float
        Share of the spectral variation that lies between adjacent pixels.
    reach_ : float
        Distance between scaled spectra above which :meth:`predict` labels a pixel as unknown.
    classes_ : ndarray of int or str
        After :meth:`refit_with` only: the classes that ``labels_`` number.
    n_features_in_ : int
        Number of bands.
    wavelengths_ : ndarray of shape (bands,) or None
        Centre wavelengths in nanometres, if the input was a Scene that has them.

    Examples
    --------
    >>> from spectrawalk import SpectraWalk
    >>> from spectrawalk.datasets import make_scene
    >>> model = SpectraWalk(n_clusters=3).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> model.labels_.shape, model.n_clusters_, int(model.cut(5).max())
    ((24, 24), 3, 4)
    """

    _ARRAY = "_tree_leaf"
    _FITTED = (
        "labels_",
        "n_clusters_",
        "confidence_",
        "detail_",
        "measured_detail_",
        "reach_",
        "wavelengths_",
        "n_features_in_",
        "feature_names_in_",
        "classes_",
        "_mask",
        "_runs",
        "_weights",
        "_even_weights",
    )

    labels_: NDArray[np.int32]
    n_clusters_: int
    confidence_: NDArray[np.float32]
    tree_: NDArray[np.float64]
    leaf_sizes_: NDArray[np.intp]
    levels_: list[Level]
    n_features_in_: int
    _tree: ClusterTree
    _ensemble: tuple[BaseClusterings, Descent] | None
    """What labels other pixels as the runs would; a model from a file has lost it."""
    _runs: NDArray[np.uint8]
    _weights: NDArray[np.float64]
    _even_weights: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int | str = "auto",
        detail: float | str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.detail = detail
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> Self:
        """Cluster an image.

        Parameters
        ----------
        X : array of shape (rows, cols, bands), Scene, xarray, or array of shape (samples, bands)
            A table has no space, so it is clustered by its spectra alone.
        y : None
            Ignored; present for compatibility with scikit-learn.
        mask : array of bool, one value per pixel, optional
            True where a pixel is valid.

        Returns
        -------
        self
            If the fit fails, the estimator does not change.
        """
        seed, wanted = self._check_parameters()
        with unchanged_on_failure(self):
            X, mask = from_xarray(X, mask)
            pixels = take_input(self, X, mask)
            grid, raw = pixels.grid, pixels.spectra
            del pixels
            check_enough_pixels(self.n_clusters, len(raw))
            check_memory(self.forecast(*raw.shape), *raw.shape)
            self._mask = grid.mask
            self.wavelengths_ = X.wavelengths if isinstance(X, Scene) else None
            self.measured_detail_ = measured_detail(raw, grid.mask)
            self.detail_ = default_detail(self.measured_detail_) if wanted is None else wanted
            scaling = Scaling.of(raw, "pixel")
            spectra = scaling.apply(raw)
            check_distinct(spectra, "pixel")
            scaled = keep_dark(spectra, raw)
            del raw  # the raw values of a large image take gigabytes
            found = base_clusterings(Pixels(scaled, grid), self.detail_, seed)
            self._runs = found.labels
            self._weights, self._even_weights = found.weights, found.even_weights
            tree, descent = cluster_tree(found.labels, found.weights, seed)
            self._ensemble = found, descent
            self._keep_tree(tree)
            self._show(self.n_clusters)
            self.reach_ = sampled_reach(spectra)
            self._fitted_spectra = FittedSpectra.of(spectra, scaling, self.reach_)
        return self

    def fit_predict(self, X: Any, y: Any = None, *, mask: Any = None) -> Any:
        """Cluster an image and return its labels; see :meth:`fit`.

        For data of xarray the labels are a DataArray with the same coordinates; ``labels_`` is
        always an array of NumPy.
        """
        return as_given(X, self.fit(X, mask=mask).labels_, "labels")

    def forecast(self, n_pixels: int, n_bands: int) -> Forecast:
        """Memory and time that a fit is likely to take."""
        self._check_parameters()
        return Forecast(ensemble_memory(n_pixels, n_bands), ensemble_time(n_pixels, n_bands))

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Labels for another number of clusters, from the same tree.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of leaves, usually 64.

        Returns
        -------
        labels : ndarray of int32, in the image's shape
            Clusters keep their numbers as long as they are not split.
        """
        self._check_number(n_clusters)
        return Grid(self._mask).to_image(self._tree.cut(n_clusters), -1)

    def confidence(self, n_clusters: int) -> NDArray[np.float32]:
        """Confidence of each label in the cut into `n_clusters`; see ``confidence_``."""
        self._check_number(n_clusters)
        margin = overlap_margin(self._runs, self._even_weights, self._tree.cut(n_clusters))
        return Grid(self._mask).to_image(margin, np.nan)

    def overlaps(self, labels: NDArray[np.integer]) -> Overlaps:
        """Overlap of any clusters, such as merged ones, with those of the runs.

        Parameters
        ----------
        labels : ndarray of int, in the image's shape
            Clusters 0..K-1 of all valid pixels.

        Returns
        -------
        overlaps : Overlaps
            Its ``scores`` and ``margin`` have one row or value for each valid pixel.
        """
        check_is_fitted(self)
        return Overlaps.of(self._runs, self._even_weights, np.asarray(labels)[self._mask])

    def coordinates(self, pixels: NDArray[np.intp], n: int) -> Coordinates:
        """Diffusion coordinates of some pixels on the graph of their co-association.

        Parameters
        ----------
        pixels : ndarray of int
            Flat image indices of valid pixels.
        n : int
            Number of coordinates.
        """
        check_is_fitted(self)
        places = np.searchsorted(np.flatnonzero(self._mask), pixels)
        return diffusion_of_votes(self._runs[:, places], self._weights, n)

    def at(self, n_clusters: int | str) -> Self:
        """Copy of the fitted model that shows another number of clusters.

        Parameters
        ----------
        n_clusters : int or "auto"
            As for :meth:`cut`; ``"auto"`` for the largest number that the runs support.

        Returns
        -------
        model : SpectraWalk
            With this `n_clusters`. ``labels_``, ``confidence_``, ``verdict_`` and :meth:`predict`
            are those of the cut. The model itself does not change.

        Examples
        --------
        >>> from spectrawalk import Result, SpectraWalk
        >>> from spectrawalk.datasets import make_scene
        >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
        >>> model = SpectraWalk(n_clusters=3).fit(scene)
        >>> Result.of_fit(scene, model.at(5)).n_clusters, model.n_clusters_
        (5, 3)
        """
        check_is_fitted(self)
        shown_at = copy.copy(self)
        shown_at.n_clusters = n_clusters
        shown_at._check_parameters()
        shown_at._show(n_clusters)
        return shown_at

    def extension(self, X: Any) -> Extension:
        """What labels pixels outside the fit as its runs would, in tiles of any size.

        Parameters
        ----------
        X : Scene
            The image of the fit. A model that was loaded from a file has lost its runs.
        """
        check_is_fitted(self)
        if self._ensemble is None:
            raise ParameterError(
                "a model from a file has lost its runs and cannot label tiles; fit it again."
            )
        pixels = take_pixels(X)
        raw = pixels.spectra
        least = dark_length(np.linalg.norm(raw, axis=1))
        scaled = keep_dark(normalize_spectra(raw, "pixel"), raw, least)
        return Extension.of(Pixels(scaled, pixels.grid), least, *self._ensemble)

    def ancestors(self, n_clusters: int) -> NDArray[np.int32]:
        """Cluster of each leaf of ``tree_`` in the cut into `n_clusters`."""
        self._check_number(n_clusters)
        return self._tree.ancestors(n_clusters)

    def save_tree(self, path: str | Path) -> None:
        """Write the model without the spectra of the fit, which only :meth:`predict` needs.

        :func:`spectrawalk.load` reads the file, which is small. The model that it gives can
        :meth:`cut`, but not :meth:`predict`.
        """
        check_is_fitted(self)
        without = copy.copy(self)
        without._fitted_spectra = None
        without.save(path)

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        tree = {f"_tree_{name}": value for name, value in self._tree._asdict().items()}
        spectra = {} if self._fitted_spectra is None else self._fitted_spectra.to_arrays()
        return super()._fitted_arrays() | tree | spectra

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._keep_tree(ClusterTree(*(arrays[f"_tree_{name}"] for name in ClusterTree._fields)))
        self._set_verdict()
        self._ensemble = None
        has_spectra = "spectra" in arrays  # a file of save_tree has none
        self._fitted_spectra = (
            FittedSpectra.from_arrays(arrays, self.reach_) if has_spectra else None
        )

    def _keep_tree(self, tree: ClusterTree) -> None:
        self._tree = tree
        self.tree_ = tree.linkage()
        self.leaf_sizes_ = np.bincount(tree.leaf, minlength=tree.n_leaves)
        self.levels_ = supported_levels(tree)

    def _show(self, n_clusters: int | str) -> None:
        """Set what depends on the number of clusters that is shown."""
        wanted = supported_number(self._tree) if is_auto(n_clusters) else n_clusters
        self._check_number(wanted)
        self.n_clusters_ = int(wanted)
        self.labels_ = self.cut(self.n_clusters_)
        self.confidence_ = self.confidence(self.n_clusters_)
        self._forget_classes()
        self._set_verdict()

    def _set_verdict(self) -> None:
        shows_classes = hasattr(self, "classes_")
        self.verdict_ = _verdict(self.levels_, None if shows_classes else self.n_clusters_)

    def _check_parameters(self) -> tuple[int, float | None]:
        """Raise an error for invalid parameters; return the seed and the detail, if given."""
        if not is_auto(self.n_clusters):
            check_integer("n_clusters", self.n_clusters, 1, why=", or 'auto'")
        return check_seed("random_state", self.random_state), _check_detail(self.detail)

    def _check_number(self, n_clusters: Any) -> None:
        check_is_fitted(self)
        number, most = check_integer("n_clusters", n_clusters, 1), self._tree.n_leaves
        if number > most:
            raise ParameterError(
                f"n_clusters={shown(n_clusters)} is more than the {most} clusters that the tree of "
                "this image has; ask for fewer."
            )


def _verdict(levels: list[Level], n_clusters: int | None) -> str:
    """Say which numbers of clusters are supported, and which is shown; None for classes."""
    told = in_words(levels)
    supported = levels[-1].n_clusters if levels else 1
    if n_clusters is None:
        return told.partition(";")[0]
    if n_clusters == supported:
        return told
    return f"{told.partition(';')[0]}; {n_clusters} is shown"


def _check_detail(detail: Any) -> float | None:
    """Detail as a number; None for "auto"."""
    if is_auto(detail):
        return None
    if isinstance(detail, str) and detail in DETAIL:
        return DETAIL[detail]
    is_number = isinstance(detail, (int, float, np.number)) and not isinstance(detail, bool)
    if not is_number or not 0 <= detail <= 1:
        raise ParameterError(
            f"detail={shown(detail)} cannot be used; give 'auto', 'fields', 'materials' or a "
            "number from 0 to 1."
        )
    return float(detail)
