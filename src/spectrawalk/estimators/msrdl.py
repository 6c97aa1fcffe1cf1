"""M-SRDL: SRDL at many diffusion times, and the clustering nearest to all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.errors import ParameterError, StructureError
from spectrawalk.estimators.forecast import Forecast
from spectrawalk.estimators.learner import DiffusionLearner
from spectrawalk.parameters import check_number, is_auto, shown
from spectrawalk.prepare.pixels import Grid
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.modes import find_modes
from spectrawalk.srdl.numbering import number_by_size
from spectrawalk.srdl.times import diffusion_times, largest_drop, total_variation

_TYPICAL_TIMES = 30
"""Times of the automatic grid, for the forecast."""

_SECONDS = 3e-6
"""Seconds per pixel and time, measured with two threads."""


class MSRDL(DiffusionLearner):
    """Multiscale SRDL (Polk and Murphy, 2021).

    SRDL is run at many diffusion times, on one graph. Short times give fine clusters, long times
    coarse ones. The result is the clustering with the smallest sum of variation of information to
    those of all other times.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters. ``"auto"``: at each time the K from 1 to `max_clusters` at which the
        sorted D_t has its largest drop. Times with K = 1, or with a cluster for every second pixel,
        do not count for the choice. If all times have K = 1, the K are chosen from 2 on.
    radius, n_neighbors, sigma, symmetrize
        As in :class:`SRDL`.
    times : sequence of float or "auto"
        Diffusion times. ``"auto"``: 1, `time_ratio`, `time_ratio` squared, ... until the walk is
        stationary.
    n_eigenpairs, density_neighbors, density_bandwidth, consensus_radius, normalize, jitter
        As in :class:`SRDL`.
    random_state : int or None
        Seed of the jitter. None is the same as 0.
    time_ratio : float
        Ratio of consecutive automatic times, above 1.
    stationarity : float
        Diffusion distance that no two pixels exceed at the last of the automatic times.
    window, components, stage1, open_parent, own_vote, max_clusters, sigma_factor
        As in :class:`SRDL`.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel, by decreasing size; -1 where masked.
    n_clusters_ : int
        Number of clusters K.
    time_ : float
        The diffusion time of `labels_`; `time` is the same.
    times_ : ndarray of shape (T,)
        All diffusion times, ascending.
    labels_per_time_ : ndarray of int32, shape (T,) + the image's shape
        The clustering of each time, numbered as `labels_`.
    n_clusters_per_time_ : ndarray of int, shape (T,)
        Its number of clusters.
    total_variation_ : ndarray of shape (T,)
        Sum of its variation of information to the clusterings of the other times, in nats; NaN
        where it does not count for the choice.
    modes_, density_, rho_, mode_score_, coordinates_
        As in :class:`SRDL`, at the time of `labels_`.
    eigenvalues_, density_bandwidth_, n_components_
        As in :class:`SRDL`.
    reach_, exact_density_, n_features_in_, feature_names_in_, wavelengths_
        As in :class:`SRDL`.

    Notes
    -----
    :meth:`relabel` and :meth:`with_labelling` stay at the time of `labels_`.

    References
    ----------
    S. L. Polk and J. M. Murphy, "Multiscale clustering of hyperspectral images through
    spectral-spatial diffusion geometry", IGARSS 2021.

    J. M. Murphy and S. L. Polk, "A multiscale environment for learning by diffusion", Applied and
    Computational Harmonic Analysis 57, 2022.

    Examples
    --------
    >>> from spectrawalk import MSRDL
    >>> from spectrawalk.datasets import make_scene
    >>> model = MSRDL(n_eigenpairs=5).fit(make_scene((24, 24), n_classes=3, random_state=1))
    >>> model.labels_per_time_.shape == (len(model.times_), 24, 24)
    True
    """

    _method = "M-SRDL"
    _ARRAY = "labels_per_time_"
    _FITTED = (
        *DiffusionLearner._FITTED,
        "time_",
        "times_",
        "labels_per_time_",
        "n_clusters_per_time_",
        "total_variation_",
    )

    time_: float
    times_: NDArray[np.float64]
    labels_per_time_: NDArray[np.int32]
    n_clusters_per_time_: NDArray[np.int64]
    total_variation_: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int | str = "auto",
        radius: int | None = 8,
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        times: Any = "auto",
        n_eigenpairs: int | str = "auto",
        density_neighbors: int = 20,
        density_bandwidth: float | str = "auto",
        consensus_radius: int = 3,
        normalize: str | None = "pixel",
        jitter: float = 0.0,
        random_state: int | None = None,
        *,
        time_ratio: float = 2.0,
        stationarity: float = 1e-5,
        window: str = "square",
        components: str = "bridge",
        stage1: str = "most-frequent",
        open_parent: str = "labelled",
        own_vote: bool = False,
        max_clusters: int = 30,
        sigma_factor: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.radius = radius
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.symmetrize = symmetrize
        self.times = times
        self.n_eigenpairs = n_eigenpairs
        self.density_neighbors = density_neighbors
        self.density_bandwidth = density_bandwidth
        self.consensus_radius = consensus_radius
        self.normalize = normalize
        self.jitter = jitter
        self.random_state = random_state
        self.time_ratio = time_ratio
        self.stationarity = stationarity
        self.window = window
        self.components = components
        self.stage1 = stage1
        self.open_parent = open_parent
        self.own_vote = own_vote
        self.max_clusters = max_clusters
        self.sigma_factor = sigma_factor

    @property
    def time(self) -> float:  # type: ignore[override]
        """The diffusion time of ``labels_``."""
        return self.time_

    def forecast(self, n_pixels: int, n_bands: int, *, is_image: bool = True) -> Forecast:
        """Memory and time that a fit is likely to take; see :meth:`SRDL.forecast`."""
        run = super().forecast(n_pixels, n_bands, is_image=is_image)
        n_times = _TYPICAL_TIMES if is_auto(self.times) else len(_checked_times(self.times))
        return Forecast(
            run.memory + 8 * n_pixels * n_times,
            run.seconds + _SECONDS * n_pixels * n_times,
        )

    def _check_own_parameters(self) -> None:
        if not is_auto(self.times):
            _checked_times(self.times)
        if not check_number("time_ratio", self.time_ratio) > 1.01:
            raise ParameterError(
                f"time_ratio={shown(self.time_ratio)} cannot be used; give a number above 1.01."
            )
        check_number("stationarity", self.stationarity)

    def _cluster(
        self,
        eigenvalues: NDArray[np.float64],
        eigenvectors: NDArray[np.float64],
        density: pipeline.Density,
        grid: Grid,
    ) -> None:
        """Cluster at each time, and keep the clustering that is nearest to the others."""
        times = (
            diffusion_times(
                eigenvalues, eigenvectors, float(self.time_ratio), float(self.stationarity)
            )
            if is_auto(self.times)
            else _checked_times(self.times)
        )
        labels = self._label_all(eigenvalues, eigenvectors, density, grid, times, fewest=1)
        if is_auto(self.n_clusters) and not any(each.max() for each in labels):
            # One cluster at all times: take the largest drop from K = 2 on, as SRDL does.
            labels = self._label_all(eigenvalues, eigenvectors, density, grid, times, fewest=2)
        numbers = np.array([each.max() + 1 for each in labels], dtype=np.int64)
        total = np.full(len(times), np.nan)
        counts = np.flatnonzero(self._counts(numbers, grid.n_pixels))
        if not len(counts):
            raise StructureError(
                f"n_clusters={self.n_clusters} but at none of the {len(times)} diffusion times "
                f"from {times[0]:g} to {times[-1]:g} do so many pixels stand apart in diffusion "
                "distance; ask for fewer clusters, or give shorter times."
            )
        total[counts] = total_variation([labels[place] for place in counts])
        best = int(np.nanargmin(total))
        self.times_, self.time_, self.total_variation_ = times, float(times[best]), total
        self.n_clusters_per_time_ = numbers
        self.labels_per_time_ = np.stack([grid.to_image(each, -1) for each in labels])
        del labels
        coordinates = diffusion_coordinates(eigenvalues, eigenvectors, self.time_)
        self._keep_run(self._ascend(coordinates, density), grid)
        self.labels_, self.modes_ = self._label(int(numbers[best]))
        self.n_clusters_ = len(self.modes_)

    def _counts(self, numbers: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
        """Which numbers of clusters count for the choice."""
        if not is_auto(self.n_clusters):
            return numbers == int(self.n_clusters)
        several = numbers > 1
        real = several & (numbers < n / 2)
        return next((each for each in (real, several) if each.any()), ~several)

    def _label_all(
        self,
        eigenvalues: NDArray[np.float64],
        eigenvectors: NDArray[np.float64],
        density: pipeline.Density,
        grid: Grid,
        times: NDArray[np.float64],
        *,
        fewest: int,
    ) -> list[NDArray[np.int32]]:
        """Labels of the valid pixels at each time, numbered by size; all 0 without clusters."""
        labels = []
        for time in progress.track("times", times.tolist()):
            coordinates = diffusion_coordinates(eigenvalues, eigenvectors, time)
            with progress.listen(_nobody):  # one bar for all times
                ascent = pipeline.ascend(coordinates, density)
                labels.append(self._label_at(ascent, grid, fewest))
        return labels

    def _label_at(self, ascent: pipeline.Ascent, grid: Grid, fewest: int) -> NDArray[np.int32]:
        """Labels at one time."""
        score, most = ascent.mode_score, int(self.max_clusters)
        apart = int(np.count_nonzero(score > 0))
        wanted = self.n_clusters
        if is_auto(wanted):
            wanted = largest_drop(find_modes(score, 1, 1).ratios, fewest, most) if apart else 1
        if int(wanted) == 1 or int(wanted) > apart:
            return np.zeros(len(score), dtype=np.int32)
        modes = pipeline.choose_modes(ascent, int(wanted), most).pixels
        labels = pipeline.label_from_modes(ascent, modes, grid, self._consensus(grid))
        return number_by_size(labels, len(modes))[0]


def _nobody(stage: str, done: int, total: int) -> None:
    """Hear nothing."""


def _checked_times(times: Any) -> NDArray[np.float64]:
    """Diffusion times, ascending, each once."""
    try:
        listed = [] if isinstance(times, str) else [check_number("times", each) for each in times]
    except TypeError:
        listed = []
    if not listed:
        raise ParameterError(
            f"times={shown(times)} cannot be used; give 'auto' or a list of numbers above 0."
        )
    return np.unique(listed)
