"""What SRDL, DLSS and DL share: the stages of the paper, called in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from spectrawalk.consensus.features import keep_dark
from spectrawalk.errors import FileError, ParameterError, SpectrawalkError
from spectrawalk.estimators.automatic import AutomaticMixin
from spectrawalk.estimators.checks import (
    check_components,
    check_eigenpairs,
    check_enough_pixels,
    check_labelling,
    check_parameters,
)
from spectrawalk.estimators.forecast import check_memory, ensemble_clusters
from spectrawalk.estimators.prediction import FittedSpectra, PredictionMixin, reach_of
from spectrawalk.estimators.presets import paper_settings
from spectrawalk.parameters import is_auto, is_automatic
from spectrawalk.prepare.pixels import Pixels, take_input
from spectrawalk.prepare.scaling import Scaling, add_jitter, check_distinct
from spectrawalk.progress import report
from spectrawalk.scene import Scene
from spectrawalk.srdl import graph, modes, neighbors
from spectrawalk.srdl.bridges import bridge_components
from spectrawalk.srdl.density import (
    BANDWIDTH_SHARE,
    density_ranking,
    kernel_density,
    mean_distance,
)
from spectrawalk.srdl.eigenpairs import diffusion_coordinates, leading_eigenpairs
from spectrawalk.srdl.labels import Consensus, label_pixels, number_by_size

STAGES = ("neighbours", "graph", "bridges", "eigenpairs", "bandwidth", "density", "modes", "labels")
"""Stages of a fit, in order, as progress reports name them; no bridges with components="split"."""


class DiffusionLearner(AutomaticMixin, PredictionMixin, ClusterMixin, BaseEstimator):
    """A clustering by diffusion learning, whatever its window and its consensus."""

    _method: ClassVar[str]
    """Name of the method in the paper, also of a subclass."""

    # The readings that DL or DLSS lack; SRDL's parameters of the same names stand in their place.
    radius: int | str | None = None
    window: str = "square"
    consensus_radius: int = 0
    stage1: str = "most-frequent"
    open_parent: str = "labelled"
    own_vote: bool = False

    n_clusters: int | str
    n_neighbors: int
    sigma: float | str
    sigma_factor: float
    symmetrize: str | None
    components: str
    time: float | str
    n_eigenpairs: int | str
    density_neighbors: int
    density_bandwidth: float | str
    max_clusters: int
    normalize: str | None
    jitter: float
    random_state: int | None

    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> Self:
        """Cluster an image.

        Parameters
        ----------
        X : array of shape (rows, cols, bands), Scene, or array of shape (samples, bands)
            A table has no space: no window and no consensus. Of a masked array, pixels that are
            masked in any band are left out.
        y : None
            Ignored; here for scikit-learn.
        mask : array of bool, one value per pixel, optional
            True where a pixel is valid. Masked pixels may hold anything; they get label -1 and are
            nobody's neighbour.

        Returns
        -------
        self
            If the fit fails, the estimator stays as it was before.
        """
        seed = check_parameters(self)
        with _unchanged_on_failure(self):
            pixels = take_input(self, X, mask)
            n = len(pixels.spectra)
            check_enough_pixels(self.n_clusters, n)
            check_eigenpairs(self.n_eigenpairs, n)
            k = min(int(self.n_neighbors), n)
            ensemble = ensemble_clusters(self.get_params())
            windowed = pixels.is_image and self.radius is not None
            check_memory(n, self.n_features_in_, k, self.n_eigenpairs, ensemble, windowed=windowed)
            raw = add_jitter(pixels.spectra, float(self.jitter), seed)
            scaling = Scaling.of(raw, self.normalize)
            spectra = scaling.apply(raw)
            check_distinct(spectra, self.normalize)
            self.wavelengths_ = X.wavelengths if isinstance(X, Scene) else None
            self.exact_density_ = n <= neighbors.EXACT_SEARCH
            for name in _OF_FAMILY:  # of an earlier fit
                self.__dict__.pop(name, None)
            if is_automatic(self.radius, self.time):
                seen = keep_dark(spectra, raw) if self.normalize == "pixel" else spectra
                del raw
                self._fit_family(Pixels(seen, pixels.mask), spectra, seed)
                self._fitted_spectra = FittedSpectra.of(spectra, scaling, self.reach_)
                return self
            pixels = Pixels(spectra, pixels.mask)
            del raw  # of a large image it is gigabytes

            W, reach, global_d2, n_components = self._build_graph(spectra, pixels)
            report("eigenpairs", 0, 1)
            eigenvalues, eigenvectors = leading_eigenpairs(
                W, self.n_eigenpairs, symmetric=self.symmetrize is not None
            )
            del W
            report("eigenpairs", 1, 1)
            coordinates = diffusion_coordinates(eigenvalues, eigenvectors, float(self.time))

            bandwidth = self._bandwidth(spectra)
            global_d2 = self._nearest_spectra(spectra, global_d2)
            density = kernel_density(global_d2, bandwidth)
            ranking = density_ranking(density, global_d2)
            parent, rho = modes.nearest_denser(coordinates, ranking)

            self.density_ = pixels.to_image(density, np.nan)
            self.rho_ = pixels.to_image(rho, np.nan)
            self.mode_score_ = pixels.to_image(density * rho, np.nan)
            self.coordinates_ = pixels.to_image(coordinates, np.nan)
            self.eigenvalues_ = eigenvalues
            self.density_bandwidth_ = bandwidth
            self.n_components_ = n_components
            self.reach_ = reach
            self._mask, self._ranking, self._parent = pixels.mask, ranking, parent
            self._fitted_spectra = FittedSpectra.of(spectra, scaling, reach)

            report("labels", 0, 1)
            self.labels_, self.modes_ = self._label(self.n_clusters)
            self.n_clusters_ = len(self.modes_)
            report("labels", 1, 1)
        return self

    def fit_predict(self, X: Any, y: Any = None, *, mask: Any = None) -> NDArray[np.int32]:
        """Cluster an image and return its labels; see :meth:`fit`."""
        return self.fit(X, mask=mask).labels_

    def relabel(self, n_clusters: int | str) -> NDArray[np.int32]:
        """Labels for another number of clusters, from the same fit, which stays as it is.

        Parameters
        ----------
        n_clusters : int or "auto"

        Returns
        -------
        labels : ndarray of int32, in the image's shape
        """
        check_is_fitted(self)
        if is_automatic(self.radius, self.time):
            raise ParameterError(
                "relabel works on a single run, not on the consensus of an automatic fit; fit "
                f"again with n_clusters={n_clusters!r}."
            )
        check_labelling(self, n_clusters)
        check_enough_pixels(n_clusters, len(self._ranking))
        labels, _ = self._label(n_clusters)
        return labels

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one ``.npz`` file, which :func:`load` reads back.

        A subclass of your own is read back by its own ``load``.
        """
        from spectrawalk.io.model_file import write_model

        check_is_fitted(self)
        check_parameters(self)
        write_model(path, type(self).__name__, self.get_params(), self._fitted_arrays())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model of this class that :meth:`save` wrote."""
        return read_learner(path, (cls,))

    @classmethod
    def from_paper(cls, scene: str) -> Self:
        """Build the estimator with the settings that reproduce the paper's row for a scene.

        Parameters
        ----------
        scene : {"indian-pines-subset", "salinas-a", "ksc-subset"}
        """
        return cls(**paper_settings(cls._method, scene))

    def _build_graph(self, spectra: NDArray[np.float64], pixels: Pixels) -> _Graph:
        """Algorithm 1, first half: neighbours, weights, and bridges between their parts."""
        n, k = len(spectra), int(self.n_neighbors)
        radius = _clip(self.radius, pixels.mask) if pixels.is_image else None
        if radius is None:
            # One search serves the graph and the density.
            most = max(k, int(self.density_neighbors))
            index, global_d2 = neighbors.global_neighbors(spectra, most)
            index, d2 = index[:, :k], global_d2[:, :k]
        else:
            global_d2 = None
            index, d2 = neighbors.window_neighbors(spectra, pixels.mask, k, radius, self.window)
        report("graph", 0, 1)
        sigma = self.sigma if isinstance(self.sigma, str) else float(self.sigma)
        scales = graph.local_scales(d2, sigma, float(self.sigma_factor))
        W = graph.weight_matrix(index, d2, scales, self.symmetrize)
        reach = reach_of(d2)
        report("graph", 1, 1)
        if self.components == "bridge":
            W, n_components = bridge_components(W, spectra, pixels.mask, scales, radius)
            built = max(n_components - 1, 1)
            report("bridges", built, built)
        else:
            n_components = int(graph.component_numbers(W).max()) + 1
            check_components(n_components, n)
        return _Graph(W, reach, global_d2, n_components)

    def _bandwidth(self, spectra: NDArray[np.float64]) -> float:
        if is_auto(self.density_bandwidth):
            return mean_distance(spectra) / BANDWIDTH_SHARE
        return float(self.density_bandwidth)

    def _nearest_spectra(
        self, spectra: NDArray[np.float64], d2: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Squared distances to the spectra that enter a pixel's density."""
        k = int(self.density_neighbors)
        if d2 is None:
            _, d2 = neighbors.global_neighbors(spectra, k, stage="density")
        return d2[:, :k]

    def _label(self, n_clusters: int | str) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Labels in the image's shape, and the modes as flat image indices."""
        pixels = Pixels(np.empty((0, 0)), self._mask)
        # In the density order, so that of equal D_t the denser wins: the densest must be a mode.
        score = self.mode_score_[self._mask][self._ranking]
        found = modes.find_modes(score, n_clusters, int(self.max_clusters))
        mode_pixels = self._ranking[found.pixels]
        consensus_radius = _clip(self.consensus_radius, self._mask)
        labels = label_pixels(
            self.coordinates_[self._mask],
            self._ranking,
            self._parent,
            mode_pixels,
            self._mask,
            Consensus(consensus_radius, self.stage1, self.open_parent, bool(self.own_vote)),
        )
        labels, index = number_by_size(labels, mode_pixels)
        return pixels.to_image(labels, -1), pixels.flat_index[index]

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that a fit leaves behind, as arrays."""
        values = {name: getattr(self, name, None) for name in _FITTED}
        arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
        if "feature_names_in_" in arrays:  # an array of objects needs pickle
            arrays["feature_names_in_"] = arrays["feature_names_in_"].astype(str)
        return arrays | self._family_arrays() | self._fitted_spectra.to_arrays()

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take back what :meth:`_fitted_arrays` gave."""
        for name in set(_FITTED) & set(arrays):
            array = arrays[name]
            setattr(self, name, array if array.ndim else array.item())
        if "feature_names_in_" in arrays:
            self.feature_names_in_ = arrays["feature_names_in_"].astype(object)
        self.wavelengths_ = arrays.get("wavelengths_")
        self._fitted_spectra = FittedSpectra.from_arrays(arrays, self.reach_)
        self._restore_family(arrays)
        return self


_FITTED = (
    "labels_",
    "modes_",
    "n_clusters_",
    "density_",
    "density_bandwidth_",
    "rho_",
    "mode_score_",
    "coordinates_",
    "eigenvalues_",
    "n_components_",
    "exact_density_",
    "reach_",
    "wavelengths_",
    "n_features_in_",
    "feature_names_in_",
    "_mask",
    "_ranking",
    "_parent",
)


_OF_FAMILY = (
    "confidence_",
    "verdict_",
    "evidence_",
    "warnings_",
    "classes_",
    "time_",
    "_family",
    "_runs",
)


class _Graph(NamedTuple):
    weights: csr_array
    reach: float
    """Distance that nearly all neighbours keep."""
    global_d2: NDArray[np.float64] | None
    """Squared distances to the nearest spectra of the whole image, if they were searched."""
    n_components: int
    """Before any were bridged."""


def _clip(radius: Any, mask: NDArray[np.bool_]) -> Any:
    """Cut a radius to what reaches across the image, since kernels count in 64 bits at most."""
    return None if radius is None else min(int(radius), sum(mask.shape))


@contextmanager
def _unchanged_on_failure(model: BaseEstimator) -> Iterator[None]:
    """Leave `model` with what it had before, if the block fails: never with halves of two fits."""
    before = vars(model).copy()
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def read_learner(path: str | Path, kinds: tuple[type[Any], ...]) -> Any:
    """Read a fitted model that is of one of these kinds."""
    from spectrawalk.io.model_file import read_model

    saved = read_model(path)
    by_name = {kind.__name__: kind for kind in kinds}
    if saved.kind not in by_name:
        raise FileError(
            f"'{path}' holds a {saved.kind} model, not {' or '.join(by_name)}; "
            f"use {saved.kind}.load."
        )
    kind = by_name[saved.kind]
    unknown = sorted(set(saved.parameters) - set(kind._get_param_names()))
    if unknown:
        raise FileError(
            f"'{path}' is damaged: {saved.kind} has no parameter {', '.join(unknown)}; "
            "save the model again."
        )
    model = kind(**saved.parameters)
    try:
        check_parameters(model)
        return model._restore(saved.arrays)
    except SpectrawalkError as error:
        raise FileError(f"'{path}' is damaged: {error}") from None
