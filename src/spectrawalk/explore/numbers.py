"""Sizes, areas, spectra and confidence of the clusters on the screen, each computed once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.confidence import Overlaps
from spectrawalk.explore.steps import NONE, State
from spectrawalk.results.certainty import mode_margin
from spectrawalk.results.cluster_map import pixel_areas, to_map_grid
from spectrawalk.results.model import TreeModel
from spectrawalk.results.scores import Scores, score
from spectrawalk.results.spectra import cluster_spectra
from spectrawalk.scene import Scene

_T = TypeVar("_T")

AT_ONCE = 250_000
"""Pixels up to which the means of the confidence are part of the state. Larger maps give them
once they were asked for."""


class Kept:
    """The last few values that were computed, by key; each is computed by one thread only."""

    def __init__(self, size: int = 16) -> None:
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._size, self._lock = size, threading.RLock()

    def get(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the value of a key, and compute it if it is not there."""
        with self._lock:
            if key not in self._values:
                self._values[key] = compute()
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
            found: _T = self._values[key]
            return found

    def has(self, key: Hashable) -> bool:
        """Whether the value of a key is there."""
        return key in self._values


class Certain(NamedTuple):
    """How certain the labels on the screen are."""

    data: bytes
    """0..250 of each pixel, 255 where there is none."""
    means: dict[int, float]
    """Mean of each cluster, by id."""


class Numbers:
    """What is computed of a scene and of the clusters on the screen."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        # One for each kind, so that a long computation holds up its own kind only.
        self._certainty, self._overlaps = Kept(8), Kept(4)
        self._spectra, self._small = Kept(4), Kept(32)

    def part_areas(self, state: State) -> NDArray[np.float64] | None:
        """Square metres of each part; None where the scene has no ground units."""
        return self._small.get(("areas", state.version), lambda: self._part_areas(state))

    def _part_areas(self, state: State) -> NDArray[np.float64] | None:
        place = self.scene.orthorectify or self.scene
        parts = to_map_grid(self.scene, state.parts, NONE)
        of_row = pixel_areas(parts.shape[0], place.crs, place.transform)
        if of_row is None:
            return None
        counts = np.bincount(
            (parts + NONE_STEP * np.arange(len(parts))[:, None]).ravel(),
            minlength=NONE_STEP * len(parts),
        ).reshape(-1, NONE_STEP)
        return of_row @ counts

    def certainty(self, state: State) -> Certain:
        """Confidence of what is on the screen, or its margin."""
        return self._certainty.get(_labels_key(state), lambda: self._certain(state))

    def knows_certainty(self, state: State) -> bool:
        """Whether it was computed already, or takes no time."""
        return self.scene.mask.size <= AT_ONCE or self._certainty.has(_labels_key(state))

    def _certain(self, state: State) -> Certain:
        labels, ids = state.labels()
        if isinstance(state.model, TreeModel):
            valid, image = self.scene.mask, np.full(labels.shape, np.nan)
            image[valid] = self.overlaps(state).margin(labels[valid])
        else:
            image = mode_margin(state.model.coordinates_, state.model.modes_).image
        known = (labels >= 0) & np.isfinite(image)
        sums = np.bincount(labels[known], image[known], minlength=len(ids))
        counts = np.bincount(labels[known], minlength=len(ids))
        means = dict(zip(ids, (sums / np.maximum(counts, 1)).tolist(), strict=True))
        scaled = np.full(image.shape, NONE, dtype=np.uint8)
        scaled[known] = np.rint(image[known] * 250)
        return Certain(scaled.tobytes(), means)

    def overlaps(self, state: State) -> Overlaps:
        """Overlap of the clusters on the screen with those of the runs, of a tree."""
        model = state.model
        assert isinstance(model, TreeModel)
        return self._overlaps.get(_labels_key(state), lambda: model.overlaps(state.labels()[0]))

    def scores(self, state: State) -> tuple[Scores, dict[int, int]] | None:
        """Agreement with the ground truth, and the class matched with each id."""
        truth = self.scene.ground_truth
        if truth is None or not np.any((truth > 0) & (state.parts != NONE)):
            return None

        def compute() -> tuple[Scores, dict[int, int]]:
            labels, ids = state.labels()
            found = score(truth, labels)
            return found, {ids[label]: each for label, each in found.matching.items()}

        return self._small.get(("scores", *_labels_key(state)), compute)

    def spectra(self, state: State) -> dict[int, tuple[int, NDArray[Any], NDArray[Any]]]:
        """Pixels, mean spectrum and standard deviation of each cluster, by id."""
        n_parts = len(state.cluster_of)

        def compute() -> tuple[NDArray[Any], NDArray[Any]]:
            labels = np.where(state.parts == NONE, -1, state.parts.astype(np.int32))
            found = cluster_spectra(self.scene, labels, n_parts)
            return np.array([s.mean for s in found]), np.array([s.deviation for s in found])

        means, deviations = self._spectra.get(state.version, compute)
        return {
            cluster: pooled(
                state.sizes[parts := state.parts_of(cluster)], means[parts], deviations[parts]
            )
            for cluster in state.ids
        }


NONE_STEP = NONE + 1


def pooled(
    sizes: NDArray[np.intp], means: NDArray[Any], deviations: NDArray[Any]
) -> tuple[int, NDArray[Any], NDArray[Any]]:
    """Size, mean and standard deviation of several groups together.

    Examples
    --------
    >>> import numpy as np
    >>> size, mean, deviation = pooled(np.array([1, 1]), np.array([[1.0], [3.0]]), np.zeros((2, 1)))
    >>> size, mean.tolist(), deviation.tolist()
    (2, [2.0], [1.0])
    """
    weights = sizes / sizes.sum()
    mean = weights @ means
    variance = weights @ (np.square(deviations) + np.square(means - mean))
    return int(sizes.sum()), mean, np.sqrt(variance)


def _labels_key(state: State) -> tuple[Any, ...]:
    return state.version, state.cluster_of, tuple(sorted(state.labelling.items()))
