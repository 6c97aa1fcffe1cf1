"""Automatic mode of an estimator: its fitted attributes, and active learning queries."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectrawalk.consensus import queries
from spectrawalk.consensus.automatic import Automatic
from spectrawalk.consensus.coassociation import indicator_matrix
from spectrawalk.consensus.confidence import coassociation_margin
from spectrawalk.consensus.number import Evidence
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.estimators.prediction import reach_of
from spectrawalk.parameters import check_integer, shown
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.sampling import draw_pixels

_REACH_SAMPLE = 2_000
"""Pixels whose distances to their neighbours are used for ``reach_``."""


class AutomaticMixin:
    """Adds the results of the automatic mode, ``query`` and ``refit_with`` to an estimator."""

    labels_: NDArray[np.int32]
    n_clusters_: int
    modes_: NDArray[np.intp]
    mode_score_: NDArray[np.float64]
    eigenvalues_: NDArray[np.float64]
    density_bandwidth_: float
    n_components_: int
    reach_: float
    confidence_: NDArray[np.float32]
    time_: float
    verdict_: str
    evidence_: Evidence
    warnings_: list[str]
    classes_: NDArray[Any]
    _mask: NDArray[np.bool_]
    _base_labels: NDArray[np.int16]
    """Labels of all SRDL and spectral clustering runs, shape (runs, n)."""
    _runs: NDArray[np.int16]
    """Labels of the runs behind the consensus, and of finer ones, for queries; shape (runs, n)."""

    def _keep_findings(self, found: Automatic, spectra: NDArray[np.float64]) -> None:
        """Keep the result of an ensemble; `spectra` are those that :meth:`predict` compares."""
        representative = found.representative
        self.density_bandwidth_ = representative.bandwidth
        self.eigenvalues_ = representative.eigenvalues
        self.time_ = representative.time
        self.n_components_ = found.n_components
        self.verdict_ = found.evidence.verdict
        self.evidence_ = found.evidence
        self.warnings_ = found.warnings
        self.reach_ = neighbor_reach(spectra, representative.neighbors)
        self._base_labels = np.stack([run.labels for run in found.graph_runs]).astype(np.int16)
        self._runs = np.stack(found.query_runs).astype(np.int16)
        self._set_labels(found.labels, found.confidence)

    def _set_labels(self, labels: NDArray[np.int32], confidence: NDArray[np.float32]) -> None:
        grid = Grid(self._mask)
        self.labels_ = grid.to_image(labels, -1)
        self.confidence_ = grid.to_image(confidence, np.nan)
        self.n_clusters_ = int(labels.max()) + 1
        self.modes_ = grid.flat_index[_leading_pixels(labels, self.mode_score_[self._mask])]

    def _ensemble_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays that an automatic fit adds to a saved model; empty for a single run."""
        if not hasattr(self, "_runs"):
            return {}
        evidence = self.evidence_
        findings = {
            "time": self.time_,
            "verdict": self.verdict_,
            "warnings": self.warnings_,
            "n_clusters": evidence.n_clusters,
            "stability": list(evidence.stability.items()),
            "gaps": list(evidence.gaps.items()),
            "classes": np.asarray(getattr(self, "classes_", ())).tolist(),
        }
        return {
            "confidence_": self.confidence_,
            "_runs": self._runs,
            "_findings": np.array(json.dumps(findings)),
        }

    def _restore_ensemble(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays of :meth:`_ensemble_arrays`."""
        if "_findings" not in arrays:
            return
        self.confidence_, self._runs = arrays["confidence_"], arrays["_runs"]
        try:
            found = json.loads(str(arrays["_findings"]))
            self.time_, self.verdict_ = float(found["time"]), str(found["verdict"])
            self.warnings_ = [str(warning) for warning in found["warnings"]]
            stability, gaps = _curve(found["stability"]), _curve(found.get("gaps", ()))
            if gaps and not stability:
                raise ValueError("there are gaps, but no stability")
            number = int(found["n_clusters"])
            self.evidence_ = Evidence(number, self.verdict_, stability, gaps)
            if found["classes"]:
                self.classes_ = _class_array(found["classes"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise FileError("its array _findings is not valid; save the model again.") from None

    def query(self, budget: int) -> NDArray[np.intp]:
        """Choose the pixels whose class labels would help most, those of large parts first.

        The pixels are partitioned into `budget` parts in place of K clusters. The query is the most
        central pixel of each part.

        Parameters
        ----------
        budget : int
            Number of pixels that a person can label.

        Returns
        -------
        ndarray of int, shape (at most budget,)
            Flat image indices.
        """
        budget = check_integer("budget", budget, 1)
        part, indicators = self._partition(budget)
        return np.flatnonzero(self._mask)[queries.central_pixels(part, indicators, self._mask)]

    def refit_with(self, answers: Mapping[int, int | str | None]) -> Self:
        """Propagate the class labels of some pixels, as from :meth:`query`, to all pixels.

        Parameters
        ----------
        answers : mapping of int to int, str or None
            Class label of each queried pixel, by its flat image index. A label is a number or a
            name. None, a negative number and an empty name mean that the class is not known.

        Returns
        -------
        self
            ``classes_`` holds the class labels given, and ``labels_`` are indices into it.
        """
        check_is_fitted(self)
        known = {
            _pixel(pixel): answer
            for pixel, answer in answers.items()
            if answer is not None and _is_known(answer)
        }
        place = np.full(self._mask.size, -1)
        place[np.flatnonzero(self._mask)] = np.arange(np.count_nonzero(self._mask))
        wrong = [pixel for pixel in known if not 0 <= pixel < place.size or place[pixel] < 0]
        if wrong or not known:
            what = (
                f"pixel {wrong[0]} is masked or outside the image" if wrong else "no class is known"
            )
            raise ParameterError(
                f"answers cannot be used: {what}; give class labels for the flat indices of query."
            )
        classes = np.unique(_class_array(list(known.values()))).tolist()
        part, indicators = self._partition(len(answers))
        labelled = {int(place[pixel]): classes.index(each) for pixel, each in known.items()}
        labels = queries.propagate_labels(part, indicators, labelled)
        self.classes_ = _class_array(classes)
        self._set_labels(labels, coassociation_margin(list(self._runs), labels))
        return self

    def _partition(self, count: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Partition of the pixels into `count` parts, and the indicator matrix of the runs."""
        check_is_fitted(self)
        if not hasattr(self, "_runs"):
            raise ParameterError(
                "query and refit_with need the ensemble of an automatic fit; fit with "
                "radius='auto' and time='auto' first."
            )
        runs = list(self._runs)
        indicators = indicator_matrix(runs)
        return queries.partition(runs, indicators, count), indicators


def _pixel(key: object) -> int:
    """Flat index of a pixel, from a key of `answers`."""
    try:
        return operator.index(key)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"answers has the key {shown(key)}; use the flat indices of query as keys."
        ) from None


def _is_known(answer: int | str) -> bool:
    if isinstance(answer, str):
        return bool(answer.strip())
    try:
        return operator.index(answer) >= 0
    except TypeError:
        raise ParameterError(
            f"answers contains {shown(answer)}; give the number or the name of a class, or None."
        ) from None


def _class_array(classes: Sequence[int | str]) -> NDArray[Any]:
    """Class labels as one array, of numbers or of names."""
    if all(isinstance(each, str) for each in classes):
        return np.array(classes, dtype=str)
    if any(isinstance(each, str) for each in classes):
        raise ParameterError(
            "answers mixes numbers and names of classes; give only one of the two."
        )
    return np.array(classes, dtype=np.int64)


def _curve(pairs: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Saved values for each number of clusters."""
    curve = {int(number): float(value) for number, value in pairs}
    if any(number < 2 or not np.isfinite(value) for number, value in curve.items()):
        raise ValueError("not a finite value for 2 or more clusters")
    return curve


def _leading_pixels(labels: NDArray[np.int32], score: NDArray[np.float64]) -> NDArray[np.intp]:
    """Pixel of each cluster with the largest D_t; the first one if several are equal."""
    order = np.lexsort((np.arange(len(labels)), -score, labels))
    _, first = np.unique(labels[order], return_index=True)
    return order[first]


def neighbor_reach(spectra: NDArray[np.float64], neighbors: NDArray[np.int32]) -> float:
    """Distance between spectra that 99 % of the neighbours in the first graph do not exceed."""
    sample = draw_pixels(len(spectra), _REACH_SAMPLE)
    d2 = np.full((len(sample), neighbors.shape[1]), np.inf)
    for row, pixel in enumerate(sample):
        near = neighbors[pixel][neighbors[pixel] >= 0]
        d2[row, : len(near)] = np.square(spectra[near] - spectra[pixel]).sum(axis=1)
    return reach_of(d2)
