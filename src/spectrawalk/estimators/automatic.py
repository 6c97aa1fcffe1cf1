"""The automatic mode of an estimator: what its fit leaves behind, questions and answers."""

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
from spectrawalk.consensus.coassociation import stack_labels
from spectrawalk.consensus.confidence import coassociation_margin
from spectrawalk.consensus.number import Evidence
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.estimators.prediction import reach_of
from spectrawalk.parameters import check_integer, shown
from spectrawalk.prepare.pixels import Grid
from spectrawalk.prepare.sampling import draw_pixels

_REACH_SAMPLE = 2_000
"""Pixels whose distances to their neighbours enter the reach."""


class AutomaticMixin:
    """Gives an estimator the automatic mode, ``query`` and ``refit_with``."""

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
    """Labels of all runs on graphs, shape (runs, n)."""
    _runs: NDArray[np.int16]
    """Of those that the consensus was made of, and of finer ones: what queries are made from."""

    def _keep_findings(self, found: Automatic, spectra: NDArray[np.float64]) -> None:
        """Keep what an ensemble found; `spectra` are those that :meth:`predict` compares."""
        run = found.representative
        self.density_bandwidth_ = run.bandwidth
        self.eigenvalues_ = run.eigenvalues
        self.time_ = run.time
        self.n_components_ = found.n_components
        self.verdict_ = found.evidence.verdict
        self.evidence_ = found.evidence
        self.warnings_ = found.warnings
        self.reach_ = _reach(spectra, run.neighbors)
        self._base_labels = np.stack([member.labels for member in found.members]).astype(np.int16)
        self._runs = np.stack(found.runs).astype(np.int16)
        self._set_labels(found.labels, found.confidence)

    def _set_labels(self, labels: NDArray[np.int32], confidence: NDArray[np.float32]) -> None:
        grid = Grid(self._mask)
        self.labels_ = grid.to_image(labels, -1)
        self.confidence_ = grid.to_image(confidence, np.nan)
        self.n_clusters_ = int(labels.max()) + 1
        self.modes_ = grid.flat_index[_leading_pixels(labels, self.mode_score_[self._mask])]

    def _ensemble_arrays(self) -> dict[str, NDArray[Any]]:
        """What an automatic fit adds to a saved model; nothing of another fit."""
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
        """Take back what :meth:`_ensemble_arrays` gave."""
        if "_findings" not in arrays:
            return
        self.confidence_, self._runs = arrays["confidence_"], arrays["_runs"]
        try:
            found = json.loads(str(arrays["_findings"]))
            self.time_, self.verdict_ = float(found["time"]), str(found["verdict"])
            self.warnings_ = [str(warning) for warning in found["warnings"]]
            stability, gaps = _curve(found["stability"]), _curve(found.get("gaps", ()))
            if gaps and not stability:
                raise ValueError("gaps of numbers that were not tried")
            number = int(found["n_clusters"])
            self.evidence_ = Evidence(number, self.verdict_, stability, gaps)
            if found["classes"]:
                self.classes_ = _class_array(found["classes"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise FileError(
                "its array _findings is not what a fit leaves; save the model again."
            ) from None

    def query(self, budget: int) -> NDArray[np.intp]:
        """Pixels whose classes, told by a person, would help most, the largest groups first.

        The consensus is cut into `budget` parts in place of K, and the pixel in the middle of each
        is named.

        Parameters
        ----------
        budget : int
            How many pixels a person is willing to look at.

        Returns
        -------
        ndarray of int, shape (at most budget,)
            Flat image indices.
        """
        budget = check_integer("budget", budget, 1)
        groups, stacked = self._parts(budget)
        return np.flatnonzero(self._mask)[queries.middles(groups, stacked, self._mask)]

    def refit_with(self, answers: Mapping[int, int | str | None]) -> Self:
        """Take the answers to :meth:`query` into account; labels become the classes answered.

        Parameters
        ----------
        answers : mapping of int to int, str or None
            Class of each pixel asked about, by its flat image index: its number or its name; None,
            a number below 0 or an empty name if the person does not know.

        Returns
        -------
        self
            ``labels_`` are 0.. in the order of ``classes_``, which holds the classes answered.
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
            what = f"pixel {wrong[0]} is masked or outside the image" if wrong else "none is known"
            raise ParameterError(
                f"answers cannot be used: {what}; give classes for the flat indices of query."
            )
        classes = np.unique(_class_array(list(known.values()))).tolist()
        groups, stacked = self._parts(len(answers))
        told = {int(place[pixel]): classes.index(each) for pixel, each in known.items()}
        labels = queries.spread_answers(groups, stacked, told)
        self.classes_ = _class_array(classes)
        self._set_labels(labels, coassociation_margin(list(self._runs), labels))
        return self

    def _parts(self, count: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The consensus cut into this many parts, and the stacked labels of its runs."""
        check_is_fitted(self)
        if not hasattr(self, "_runs"):
            raise ParameterError(
                "query and refit_with need the family of an automatic fit; fit with radius='auto' "
                "and time='auto' first."
            )
        runs = list(self._runs)
        stacked = stack_labels(runs)
        return queries.parts_of(runs, stacked, count), stacked


def _pixel(key: object) -> int:
    """Flat index of a pixel, as a key of the answers."""
    try:
        return operator.index(key)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"answers has the key {shown(key)}; give the flat indices of query."
        ) from None


def _is_known(answer: int | str) -> bool:
    if isinstance(answer, str):
        return bool(answer.strip())
    try:
        return operator.index(answer) >= 0
    except TypeError:
        raise ParameterError(
            f"answers holds {shown(answer)}; give the number or the name of a class, or None."
        ) from None


def _class_array(classes: Sequence[int | str]) -> NDArray[Any]:
    """Classes as one array: numbers if all are, else names."""
    if all(isinstance(each, str) for each in classes):
        return np.array(classes, dtype=str)
    if any(isinstance(each, str) for each in classes):
        raise ParameterError("answers mixes numbers and names of classes; give one or the other.")
    return np.array(classes, dtype=np.int64)


def _curve(pairs: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Values of each number of clusters, as saved."""
    curve = {int(number): float(value) for number, value in pairs}
    if any(number < 2 or not np.isfinite(value) for number, value in curve.items()):
        raise ValueError("not a value of a number of clusters")
    return curve


def _leading_pixels(labels: NDArray[np.int32], score: NDArray[np.float64]) -> NDArray[np.intp]:
    """Pixel of each cluster with the largest D_t, ties by index."""
    order = np.lexsort((np.arange(len(labels)), -score, labels))
    _, first = np.unique(labels[order], return_index=True)
    return order[first]


def _reach(spectra: NDArray[np.float64], neighbors: NDArray[np.int32]) -> float:
    """Distance between whole spectra that 99 % of the neighbours in the first graph keep."""
    some = draw_pixels(len(spectra), _REACH_SAMPLE)
    d2 = np.full((len(some), neighbors.shape[1]), np.inf)
    for row, pixel in enumerate(some):
        near = neighbors[pixel][neighbors[pixel] >= 0]
        d2[row, : len(near)] = np.square(spectra[near] - spectra[pixel]).sum(axis=1)
    return reach_of(d2)
