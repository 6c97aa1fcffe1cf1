"""The automatic mode of an estimator: what its fit leaves behind, questions and answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectrawalk.consensus import queries
from spectrawalk.consensus.automatic import cluster_automatically
from spectrawalk.consensus.coassociation import stack_labels
from spectrawalk.consensus.confidence import tie_margin
from spectrawalk.consensus.ensemble import Settings
from spectrawalk.consensus.number import Evidence
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.estimators.prediction import reach_of
from spectrawalk.parameters import check_integer, is_auto
from spectrawalk.prepare.pixels import Pixels
from spectrawalk.srdl.labels import Consensus

_REACH_SAMPLE = 2_000
"""Pixels whose distances to their neighbours enter the reach."""


def family_settings(model: Any, mask: NDArray[np.bool_]) -> Settings:
    """What the parameters of an estimator fix, and what they leave to the family."""
    consensus = Consensus(
        min(int(model.consensus_radius), sum(mask.shape)),
        model.stage1,
        model.open_parent,
        bool(model.own_vote),
    )
    given_radius = None if is_auto(model.radius) or model.radius is None else int(model.radius)
    return Settings(
        model.radius is not None,
        None if given_radius is None else min(given_radius, max(mask.shape)),
        int(model.n_neighbors),
        None if is_auto(model.time) else float(model.time),
        None if is_auto(model.n_eigenpairs) else int(model.n_eigenpairs),
        int(model.density_neighbors),
        consensus,
    )


class AutomaticMixin:
    """Gives an estimator the automatic mode, ``query`` and ``refit_with``."""

    labels_: NDArray[np.int32]
    confidence_: NDArray[np.float32]
    reach_: float
    _mask: NDArray[np.bool_]
    _family: NDArray[np.int16]
    """Labels of all runs on graphs, shape (runs, n)."""
    _runs: NDArray[np.int16]
    """Of those that the consensus was made of, and of finer ones: what questions are made from."""

    def _fit_family(self, pixels: Pixels, spectra: NDArray[np.float64], seed: int) -> None:
        """Cluster by a family of runs; set everything that a fit leaves behind but the spectra.

        `pixels` are as the family is to see them, `spectra` as :meth:`predict` compares them.
        """
        model: Any = self
        wanted = None if is_auto(model.n_clusters) else int(model.n_clusters)
        found = cluster_automatically(
            pixels,
            wanted,
            int(model.max_clusters),
            family_settings(self, pixels.mask),
            seed,
        )
        run = found.representative
        self._mask = pixels.mask
        model._ranking, model._parent = run.ranking, run.parent
        model.density_ = pixels.to_image(run.density, np.nan)
        model.density_bandwidth_ = run.bandwidth
        model.rho_ = pixels.to_image(run.rho, np.nan)
        model.mode_score_ = pixels.to_image(run.density * run.rho, np.nan)
        model.coordinates_ = pixels.to_image(run.coordinates, np.nan)
        model.eigenvalues_ = run.eigenvalues
        model.time_ = run.time
        model.n_components_ = found.n_components
        model.verdict_ = found.evidence.verdict
        model.evidence_ = found.evidence
        model.warnings_ = found.warnings
        self.reach_ = _reach(spectra, run.neighbors)
        self._family = np.stack([member.labels for member in found.members]).astype(np.int16)
        self._runs = np.stack(found.runs).astype(np.int16)
        self._set_labels(found.labels, found.confidence)

    def _set_labels(self, labels: NDArray[np.int32], confidence: NDArray[np.float32]) -> None:
        model: Any = self
        pixels = Pixels(np.empty((0, 0)), self._mask)
        self.labels_ = pixels.to_image(labels, -1)
        self.confidence_ = pixels.to_image(confidence, np.nan)
        model.n_clusters_ = int(labels.max()) + 1
        score = model.mode_score_[self._mask]
        model.modes_ = pixels.flat_index[_leading_pixels(labels, score)]

    def _family_arrays(self) -> dict[str, NDArray[Any]]:
        """What an automatic fit adds to a saved model; nothing of another fit."""
        if not hasattr(self, "_runs"):
            return {}
        model: Any = self
        evidence = model.evidence_
        findings = {
            "time": model.time_,
            "verdict": model.verdict_,
            "warnings": model.warnings_,
            "n_clusters": evidence.n_clusters,
            "stability": list(evidence.stability.items()),
            "gaps": list(evidence.gaps.items()),
            "classes": [int(value) for value in getattr(model, "classes_", ())],
        }
        return {
            "confidence_": self.confidence_,
            "_runs": self._runs,
            "_findings": np.array(json.dumps(findings)),
        }

    def _restore_family(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_family_arrays` gave."""
        if "_findings" not in arrays:
            return
        model: Any = self
        self.confidence_, self._runs = arrays["confidence_"], arrays["_runs"]
        try:
            found = json.loads(str(arrays["_findings"]))
            model.time_, model.verdict_ = float(found["time"]), str(found["verdict"])
            model.warnings_ = [str(warning) for warning in found["warnings"]]
            stability, gaps = _curve(found["stability"]), _curve(found.get("gaps", ()))
            if gaps and not stability:
                raise ValueError("gaps of numbers that were not tried")
            number = int(found["n_clusters"])
            model.evidence_ = Evidence(number, model.verdict_, stability, gaps)
            if found["classes"]:
                model.classes_ = np.array(found["classes"], dtype=np.int64)
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

    def refit_with(self, answers: Mapping[int, int | None]) -> Self:
        """Take the answers to :meth:`query` into account; labels become the classes answered.

        Parameters
        ----------
        answers : mapping of int to int or None
            Class of each pixel asked about, by its flat image index; None or below 0 if the person
            does not know.

        Returns
        -------
        self
            ``labels_`` are 0.. in the order of ``classes_``, which holds the classes answered.
        """
        check_is_fitted(self)
        known = {
            int(pixel): int(answer)
            for pixel, answer in answers.items()
            if answer is not None and int(answer) >= 0
        }
        place = np.full(self._mask.size, -1)
        place[np.flatnonzero(self._mask)] = np.arange(np.count_nonzero(self._mask))
        wrong = [pixel for pixel in known if not 0 <= pixel < place.size or place[pixel] < 0]
        if wrong or not known:
            what = f"pixel {wrong[0]} is masked or outside the image" if wrong else "none is known"
            raise ParameterError(
                f"answers cannot be used: {what}; give classes for the flat indices of query."
            )
        groups, stacked = self._parts(len(answers))
        told = {int(place[pixel]): answer for pixel, answer in known.items()}
        model: Any = self
        labels, model.classes_ = queries.spread_answers(groups, stacked, told)
        self._set_labels(labels, tie_margin(list(self._runs), labels))
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
    some = np.arange(0, len(spectra), -(-len(spectra) // _REACH_SAMPLE))
    d2 = np.full((len(some), neighbors.shape[1]), np.inf)
    for row, pixel in enumerate(some):
        near = neighbors[pixel][neighbors[pixel] >= 0]
        d2[row, : len(near)] = np.square(spectra[near] - spectra[pixel]).sum(axis=1)
    return reach_of(d2)
