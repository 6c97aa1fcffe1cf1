"""Base class of all methods of diffusion learning: fit, relabelling, saving."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.estimators.checks import (
    check_components,
    check_eigenpairs,
    check_enough_pixels,
    check_labelling,
    check_parameters,
    check_time,
)
from spectrawalk.estimators.forecast import Forecast, check_memory, run_time, working_memory
from spectrawalk.estimators.prediction import FittedSpectra, PredictionMixin, reach_of
from spectrawalk.estimators.saved import SavedMixin, unchanged_on_failure
from spectrawalk.estimators.shown import ShownMixin
from spectrawalk.parameters import is_auto
from spectrawalk.prepare.pixels import Grid, as_given, from_xarray, take_input
from spectrawalk.prepare.scaling import Scaling, add_jitter, check_distinct
from spectrawalk.progress import report
from spectrawalk.scene import Scene
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.labels import Consensus
from spectrawalk.srdl.neighbors import EXACT_SEARCH, global_neighbors
from spectrawalk.srdl.numbering import number_by_size

_OF_LABELS = {"n_clusters", "time", "n_eigenpairs", "consensus_radius"}
"""Parameters that need no new graph."""


class DiffusionLearner(ShownMixin, PredictionMixin, SavedMixin, ClusterMixin, BaseEstimator):
    """Clustering by diffusion learning: the common part of SRDL, DLSS, DL and their successors."""

    _method: ClassVar[str]
    """Name of the method in its paper. Subclasses of your own keep it."""
    _ARRAY = "_ranking"
    _FITTED: ClassVar[tuple[str, ...]] = (
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

    # Values for the parameters that DL and DLSS do not have. SRDL overrides them.
    radius: int | None = None
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
    time: float
    n_eigenpairs: int | str
    density_neighbors: int
    density_bandwidth: float | str
    max_clusters: int
    normalize: str | None
    jitter: float
    random_state: int | None

    # Fitted attributes.
    labels_: NDArray[np.int32]
    n_clusters_: int
    modes_: NDArray[np.intp]
    mode_score_: NDArray[np.float64]
    density_bandwidth_: float
    eigenvalues_: NDArray[np.float64]
    n_components_: int
    reach_: float
    exact_density_: bool
    wavelengths_: NDArray[np.float64] | None
    n_features_in_: int
    _mask: NDArray[np.bool_]
    _ranking: NDArray[np.intp]
    _parent: NDArray[np.int64]
    _fitted_spectra: FittedSpectra | None

    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> Self:
        """Cluster an image.

        Parameters
        ----------
        X : array of shape (rows, cols, bands), Scene, xarray, or array of shape (samples, bands)
            A table has no spatial positions, so there is no window and no spatial consensus. In a
            masked array, pixels that are masked in any band are excluded.
        y : None
            Ignored; present for compatibility with scikit-learn.
        mask : array of bool, one value per pixel, optional
            True where a pixel is valid. Masked pixels may have any value. They get the label -1 and
            are never neighbours of other pixels.

        Returns
        -------
        self
            If the fit fails, the estimator does not change.
        """
        seed = check_parameters(self)
        with unchanged_on_failure(self):
            X, mask = from_xarray(X, mask)
            pixels = take_input(self, X, mask)
            grid, raw = pixels.grid, add_jitter(pixels.spectra, float(self.jitter), seed)
            del pixels  # the raw values of a large image take gigabytes
            check_enough_pixels(self.n_clusters, len(raw))
            check_eigenpairs(self.n_eigenpairs, len(raw))
            self._mask = grid.mask
            expected = self.forecast(*raw.shape, is_image=grid.is_image)
            check_memory(expected, *raw.shape, n_neighbors=int(self.n_neighbors))
            scaling = Scaling.of(raw, self.normalize)
            spectra = scaling.apply(raw)
            check_distinct(spectra, self.normalize)
            self.wavelengths_ = X.wavelengths if isinstance(X, Scene) else None
            self.exact_density_ = len(raw) <= EXACT_SEARCH
            self._take_raw(raw, grid)
            del raw
            self._fit_run(spectra, grid)
            self._fitted_spectra = FittedSpectra.of(spectra, scaling, self.reach_)
        return self

    def fit_neighbors(
        self,
        spectra: NDArray[np.float64],
        near: pipeline.Neighbors,
        mask: NDArray[np.bool_],
        wavelengths: NDArray[np.float64] | None = None,
    ) -> Self:
        """Cluster an image whose neighbours have been found, for example in tiles.

        The result is that of :meth:`fit`, but the model keeps no spectra: it cannot predict.

        Parameters
        ----------
        spectra : ndarray of shape (n, bands)
            Scaled spectra of the valid pixels, which
            :func:`~spectrawalk.prepare.scaling.check_distinct` has seen. They may lie
            in a file.
        near : Neighbors
            Those that :func:`spectrawalk.srdl.pipeline.nearest_neighbors` finds with
            :meth:`graph_settings`.
        mask : ndarray of bool, shape (rows, cols)
        wavelengths : ndarray of shape (bands,), optional

        Returns
        -------
        self
            If the fit fails, the estimator does not change.
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            self.n_features_in_ = spectra.shape[1]
            self.__dict__.pop("feature_names_in_", None)  # from an earlier table
            self._mask = mask
            self.wavelengths_ = wavelengths
            self.exact_density_ = len(spectra) <= EXACT_SEARCH
            self._fit_run(spectra, Grid(mask), near)
            self._fitted_spectra = None
        return self

    def _fit_run(
        self, spectra: NDArray[np.float64], grid: Grid, near: pipeline.Neighbors | None = None
    ) -> None:
        """Run the paper's algorithms once, from the neighbours on if they are given."""
        density_d2, eigenvalues, eigenvectors = self._walk(spectra, grid, near)
        density = self._rank(spectra, density_d2)
        del density_d2
        self._cluster(eigenvalues, eigenvectors, density, grid)

    def _take_raw(self, raw: NDArray[np.float64], grid: Grid) -> None:
        """Find what a method needs of the raw values; nothing here."""

    def _walk(
        self, spectra: NDArray[np.float64], grid: Grid, near: pipeline.Neighbors | None = None
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64], NDArray[np.float64]]:
        """Graph of the pixels, and the leading eigenpairs of its walk.

        Returns first the squared distances that the density is made of, if the search has found the
        nearest spectra of the whole image; else None.
        """
        settings = self.graph_settings()
        k_p = int(self.density_neighbors)
        if near is None:
            near = pipeline.nearest_neighbors(spectra, grid, settings, at_least=k_p)
        graph = pipeline.neighbor_graph(near.first(settings.n_neighbors), spectra, grid, settings)
        if settings.components == "split":
            check_components(graph.n_components, len(spectra))
        self.reach_ = reach_of(near.d2[:, : settings.n_neighbors])
        searched = settings.radius is None or not grid.is_image
        density_d2 = near.d2[:, :k_p].copy() if searched else None
        del near
        self.n_components_ = graph.n_components
        eigenvalues, eigenvectors = pipeline.random_walk(graph, self.n_eigenpairs)
        self.eigenvalues_ = eigenvalues
        return density_d2, eigenvalues, eigenvectors

    def _rank(
        self, spectra: NDArray[np.float64], density_d2: NDArray[np.float64] | None
    ) -> pipeline.Density:
        """Density of the pixels, and their order; `density_d2` as from :meth:`_walk`."""
        self.density_bandwidth_ = (
            pipeline.automatic_bandwidth(spectra)
            if is_auto(self.density_bandwidth)
            else float(self.density_bandwidth)
        )
        if density_d2 is None:
            k_p = int(self.density_neighbors)
            _, density_d2 = global_neighbors(spectra, k_p, stage="density")
        return pipeline.rank_by_density(density_d2, self.density_bandwidth_)

    def _cluster(
        self,
        eigenvalues: NDArray[np.float64],
        eigenvectors: NDArray[np.float64],
        density: pipeline.Density,
        grid: Grid,
    ) -> None:
        """Find modes and labels, and keep them."""
        coordinates = diffusion_coordinates(eigenvalues, eigenvectors, float(self.time))
        self._keep_run(self._ascend(coordinates, density), grid)
        report("labels", 0, 1)
        self.labels_, self.modes_ = self._label(self.n_clusters)
        self.n_clusters_ = len(self.modes_)
        report("labels", 1, 1)

    def _ascend(
        self, coordinates: NDArray[np.float64], density: pipeline.Density
    ) -> pipeline.Ascent:
        """Find the diffusion-nearest denser pixel of each pixel."""
        return pipeline.ascend(coordinates, density)

    def _keep_run(self, ascent: pipeline.Ascent, grid: Grid) -> None:
        """Keep the results of a run besides its labels, in the image's shape."""
        self.density_ = grid.to_image(ascent.density.p, np.nan)
        self.rho_ = grid.to_image(ascent.rho, np.nan)
        self.mode_score_ = grid.to_image(ascent.mode_score, np.nan)
        self.coordinates_ = grid.to_image(ascent.coordinates, np.nan)
        self._ranking, self._parent = ascent.density.ranking, ascent.parent

    def _kept_run(self) -> pipeline.Ascent:
        """Rebuild the run from the attributes that :meth:`_keep_run` set."""
        valid = self._mask
        density = pipeline.Density(self.density_[valid], self._ranking)
        return pipeline.Ascent(self.coordinates_[valid], density, self._parent, self.rho_[valid])

    def graph_settings(self) -> pipeline.GraphSettings:
        """How the pixels are joined in the graph."""
        return pipeline.GraphSettings(
            n_neighbors=int(self.n_neighbors),
            radius=None if self.radius is None else int(self.radius),
            window=self.window,
            sigma=self.sigma if isinstance(self.sigma, str) else float(self.sigma),
            sigma_factor=float(self.sigma_factor),
            symmetrize=self.symmetrize,
            components=self.components,
        )

    def _consensus(self, grid: Grid) -> Consensus:
        radius = grid.clip(int(self.consensus_radius))
        return Consensus(radius, self.stage1, self.open_parent, bool(self.own_vote))

    def forecast(self, n_pixels: int, n_bands: int, *, is_image: bool = True) -> Forecast:
        """Memory and time that a fit is likely to take.

        Parameters
        ----------
        n_pixels, n_bands : int
            Valid pixels of an image, or rows of a table, and their bands.
        is_image : bool
            False for a table, which has no window.
        """
        check_parameters(self)
        radius = int(self.radius) if self.radius is not None and is_image else None
        k = min(int(self.n_neighbors), n_pixels)
        return Forecast(
            working_memory(n_pixels, n_bands, k, self.n_eigenpairs, windowed=radius is not None),
            run_time(n_pixels, n_bands, radius),
        )

    def fit_predict(self, X: Any, y: Any = None, *, mask: Any = None) -> Any:
        """Cluster an image and return its labels; see :meth:`fit`.

        For data of xarray the labels are a DataArray with the same coordinates; ``labels_`` is
        always an array of NumPy.
        """
        return as_given(X, self.fit(X, mask=mask).labels_, "labels")

    def relabel(self, n_clusters: int | str) -> NDArray[np.int32]:
        """Compute labels for another number of clusters from the same fit, without changing it.

        Parameters
        ----------
        n_clusters : int or "auto"

        Returns
        -------
        labels : ndarray of int32, in the image's shape
        """
        check_is_fitted(self)
        check_labelling(self, n_clusters)
        check_enough_pixels(n_clusters, len(self._ranking))
        labels, _ = self._label(n_clusters)
        return labels

    def with_labelling(self, **given: Any) -> Self:
        """Copy of the fitted model with other parameters of its labels, without a new graph.

        Parameters
        ----------
        n_clusters : int or "auto", optional
        time : float, optional
            Diffusion time t. The coordinates follow from the eigenvalues.
        n_eigenpairs : int, optional
            At most as many as the fit has.
        consensus_radius : int, optional
            Only for methods that have it.

        Returns
        -------
        model : SRDL, DLSS or DL
            Modes, labels, D_t and coordinates are those of a fit with these parameters, but for
            rounding. The model itself does not change.

        Examples
        --------
        >>> from spectrawalk import SRDL
        >>> from spectrawalk.datasets import make_scene
        >>> model = SRDL(3, n_eigenpairs=5).fit(make_scene((24, 24), n_classes=3, random_state=1))
        >>> other = model.with_labelling(n_clusters=2, time=60)
        >>> other.n_clusters_, other.time, model.n_clusters_
        (2, 60, 3)
        """
        check_is_fitted(self)
        unknown = sorted(set(given) - (_OF_LABELS & set(self._get_param_names())))
        if unknown:
            raise ParameterError(f"{type(self).__name__} has no {', '.join(unknown)} to change.")
        other = copy.copy(self)
        for name, value in given.items():
            setattr(other, name, value)
        check_parameters(other)
        check_labelling(other, other.n_clusters)
        check_enough_pixels(other.n_clusters, len(self._ranking))
        n_pairs = int(given.get("n_eigenpairs", len(self.eigenvalues_)))
        if n_pairs > len(self.eigenvalues_):
            raise ParameterError(
                f"n_eigenpairs={n_pairs} is more than the {len(self.eigenvalues_)} of this fit; "
                "cluster the scene anew for more."
            )
        if "time" in given or n_pairs < len(self.eigenvalues_):
            other._move_to(n_pairs, float(other.time) - float(self.time))
        other.labels_, other.modes_ = other._label(other.n_clusters)
        other.n_clusters_ = len(other.modes_)
        return other

    def _move_to(self, n_pairs: int, further: float) -> None:
        """Keep the leading eigenpairs and let the walk go on for some time, or back."""
        grid, ascent = Grid(self._mask), self._kept_run()
        self.eigenvalues_ = self.eigenvalues_[:n_pairs]
        leading = ascent.coordinates[:, :n_pairs]
        coordinates = diffusion_coordinates(self.eigenvalues_, leading, further)
        self._keep_run(self._ascend(coordinates, ascent.density), grid)

    def path_to_mode(self, pixel: int) -> list[int]:
        """Pixels from one to its mode, each the diffusion-nearest denser one of that before.

        Parameters
        ----------
        pixel : int
            Flat image index of a valid pixel.

        Returns
        -------
        list of int
            Flat image indices. The last one is the first mode on the way, or the densest pixel.
        """
        check_is_fitted(self)
        flat, modes = np.flatnonzero(self._mask), set(self.modes_.tolist())
        place = int(np.searchsorted(flat, pixel))
        if place == len(flat) or flat[place] != pixel:
            raise ParameterError(f"pixel={pixel} is masked or outside the image.")
        rank = int(np.flatnonzero(self._ranking == place)[0])
        path = [pixel]
        while path[-1] not in modes and self._parent[rank] >= 0:
            rank = int(self._parent[rank])
            path.append(int(flat[self._ranking[rank]]))
        return path

    def _label(self, n_clusters: int | str) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Labels in the image's shape, and the modes as flat image indices."""
        grid, ascent = Grid(self._mask), self._kept_run()
        found = pipeline.choose_modes(ascent, n_clusters, int(self.max_clusters))
        labels = pipeline.label_from_modes(ascent, found.pixels, grid, self._consensus(grid))
        labels = self._settle(labels, found.pixels)
        labels, order = number_by_size(labels, len(found.pixels))
        return grid.to_image(labels, -1), grid.flat_index[found.pixels[order]]

    def _settle(self, labels: NDArray[np.int32], modes: NDArray[np.intp]) -> NDArray[np.int32]:
        """Labels of the valid pixels in the end; here as Algorithm 3 leaves them."""
        return labels

    def _spectra_of_fit(self) -> FittedSpectra:
        check_is_fitted(self)
        if self._fitted_spectra is None:
            raise DataError(
                "this model was fitted in tiles and has not kept its spectra, so it can neither "
                "predict nor be saved; fit the scene in memory for that."
            )
        return self._fitted_spectra

    def _check_parameters(self) -> int:
        return check_parameters(self)

    def _check_own_parameters(self) -> None:
        """Check the parameters that not all methods have."""
        check_time(self)

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        return super()._fitted_arrays() | self._spectra_of_fit().to_arrays()

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._fitted_spectra = FittedSpectra.from_arrays(arrays, self.reach_)
