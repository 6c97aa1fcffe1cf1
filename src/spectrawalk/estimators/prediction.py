"""After a fit: labels for the pixels of another image, from the nearest spectra of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectrawalk import progress
from spectrawalk.prepare.pixels import take_input
from spectrawalk.prepare.scaling import Scaling, power_of_two

REACH_PERCENTILE = 99
"""A new spectrum is known if it lies as near to a fitted one as this share of all neighbours do."""

_REACH_SAMPLE = 4_000_000
"""Neighbour distances that enter the percentile; of more, those of evenly spaced pixels."""

_ROWS = 10_000
"""Spectra that are rounded at a time."""

_BLOCK = 16_000_000
"""Products that are held at a time: 64 MB."""

_ROUNDING = float(np.finfo(np.float32).eps)

_PAIRS = 4_000_000
"""Values whose exact distances are summed at a time."""


def reach_of(d2: NDArray[np.float64]) -> float:
    """Distance that 99 % of the neighbours keep.

    Parameters
    ----------
    d2 : ndarray of shape (n, k)
        Squared distances to the neighbours in the graph, infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> reach_of(np.array([[4.0, np.inf], [4.0, np.inf]]))
    2.0
    """
    step = -(-d2.size // _REACH_SAMPLE) or 1
    sample = d2[::step]
    sample = sample[np.isfinite(sample)]
    return float(np.sqrt(np.percentile(sample, REACH_PERCENTILE))) if sample.size else 0.0


@dataclass(frozen=True, eq=False)
class FittedSpectra:
    """The spectra of a fit, by which those of other images are told.

    Attributes
    ----------
    spectra : ndarray of float32, shape (n, bands)
        Scaled spectra, less `centre`, in units of `unit`: so that float32 has digits enough.
    centre : ndarray of shape (bands,)
        Mean of the scaled spectra.
    unit : float
        A power of two.
    scaling : Scaling
        How raw values were scaled.
    reach : float
        Distance, in scaled values, beyond which a spectrum is unknown.
    """

    spectra: NDArray[np.float32]
    centre: NDArray[np.float64]
    unit: float
    scaling: Scaling
    reach: float

    @classmethod
    def of(cls, scaled: NDArray[np.float64], scaling: Scaling, reach: float) -> FittedSpectra:
        """Keep the scaled spectra of a fit, shape (n, bands)."""
        centre = scaled.mean(axis=0)
        largest = np.maximum(scaled.max(axis=0) - centre, centre - scaled.min(axis=0)).max()
        unit = float(power_of_two(largest))
        spectra = np.empty(scaled.shape, dtype=np.float32)
        for start in range(0, len(scaled), _ROWS):  # no second copy of a large image
            some = slice(start, start + _ROWS)
            spectra[some] = (scaled[some] - centre) / unit
        return cls(spectra, centre, unit, scaling, reach)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Take it apart for a file."""
        return {
            "spectra": self.spectra,
            "spectra_centre": self.centre,
            "spectra_unit": np.asarray(self.unit),
            "scaling": np.asarray(self.scaling.how or "none"),
            "scaling_peak": self.scaling.peak,
            "scaling_length": self.scaling.length,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], reach: float) -> FittedSpectra:
        """Put together what :meth:`to_arrays` took apart."""
        how = str(arrays["scaling"])
        scaling = Scaling(
            None if how == "none" else how, arrays["scaling_peak"], arrays["scaling_length"]
        )
        return cls(
            arrays["spectra"],
            arrays["spectra_centre"],
            float(arrays["spectra_unit"]),
            scaling,
            reach,
        )

    def labels_for(self, X: NDArray[np.float64], labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Label each row of X as its nearest fitted spectrum; -1 if none is within reach.

        Parameters
        ----------
        X : ndarray of shape (m, bands)
            Raw values.
        labels : ndarray of shape (n,)
            Labels of the fitted spectra. Of identical spectra with several labels the most frequent
            counts, of two as frequent the smaller.
        """
        known, label_of = _distinct(self.spectra, labels)
        with np.errstate(over="ignore", invalid="ignore"):  # far beyond reach, sorted out below
            new = ((self.scaling.apply(X) - self.centre) / self.unit).astype(np.float32)
        result = np.full(len(new), -1, dtype=np.int32)
        halves, longest = np.square(known).sum(axis=1) / 2, float(_lengths(known).max())
        # Rounding to float32 may have moved both spectra by the last digit.
        reach = self.reach / self.unit + 4 * _ROUNDING * longest
        step = max(1, _BLOCK // len(known))
        for start in progress.track("prediction", range(0, len(new), step)):
            part = new[start : start + step]
            near = np.flatnonzero(_lengths(part) <= longest + reach)
            nearest, distance = _nearest(part[near], known, halves, longest)
            result[start + near] = np.where(distance <= reach, label_of[nearest], np.int32(-1))
        return result

    def labels_with_confidence(
        self, X: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Label each row of X, and give the margin between the two nearest clusters, 1 - d_1 / d_2.

        0 for a spectrum beyond reach; 1 with a single cluster.
        """
        found = self.labels_for(X, labels)
        nearest = np.full((len(X), 2), np.inf)
        for cluster in range(int(labels.max()) + 1):
            own = labels == cluster
            part = FittedSpectra(self.spectra[own], self.centre, self.unit, self.scaling, np.inf)
            nearest = np.sort(np.column_stack([nearest, part._distances(X)]), axis=1)[:, :2]
        ratio = np.divide(
            nearest[:, 0], nearest[:, 1], out=np.ones(len(X)), where=nearest[:, 1] > 0
        )
        return found, np.where(found >= 0, 1 - ratio, 0).astype(np.float32)

    def _distances(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distance of each row of X to the nearest fitted spectrum, in units of `unit`."""
        known = self.spectra
        with np.errstate(over="ignore", invalid="ignore"):
            new = ((self.scaling.apply(X) - self.centre) / self.unit).astype(np.float32)
        halves, longest = np.square(known).sum(axis=1) / 2, float(_lengths(known).max())
        distance = np.full(len(new), np.inf)
        near = np.flatnonzero(_lengths(new) <= 1e6)
        step = max(1, _BLOCK // len(known))
        for start in range(0, len(near), step):
            some = near[start : start + step]
            _, distance[some] = _nearest(new[some], known, halves, longest)
        return distance


class PredictionMixin:
    """Gives an estimator ``predict``; its fit keeps the ``FittedSpectra`` and ``labels_``."""

    labels_: NDArray[np.int32]
    _mask: NDArray[np.bool_]
    _fitted_spectra: FittedSpectra

    def predict(self, X: Any, *, mask: Any = None) -> NDArray[np.int32]:
        """Label another image, or table, by the spectra of the fit.

        A pixel gets the label of the nearest fitted spectrum, after the fit's own scaling: with
        ``normalize="global"`` or ``"band"``, by what was measured in the fitted image. It gets -1
        if that spectrum is farther than ``reach_``, which 99 % of the neighbours in the fit's
        graph are not: then it shows something that the fit has not seen. Space has no say, so that
        the image may have any size.

        ``fit(X)`` and then ``predict(X)`` gives ``labels_``, except where the spatial consensus
        gave identical spectra different labels (then all get the most frequent one), or where
        `jitter` moved them.

        Parameters
        ----------
        X : array of shape (rows, cols, bands), Scene, or array of shape (samples, bands)
            With the bands of the fit, in the same order and unit.
        mask : array of bool, one value per pixel, optional
            True where a pixel is valid.

        Returns
        -------
        labels : ndarray of int32, in the image's shape
            -1 where masked or unknown.
        """
        check_is_fitted(self)
        pixels = take_input(self, X, mask, reset=False, at_least=0)
        labels = self._fitted_spectra.labels_for(pixels.spectra, self.labels_[self._mask])
        return pixels.grid.to_image(labels, -1)

    def predict_with_confidence(
        self, X: Any, *, mask: Any = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Label another image as :meth:`predict` does, with the confidence of each label.

        Returns
        -------
        labels : ndarray of int32, in the image's shape
        confidence : ndarray of float32, in the image's shape
            1 - d_1 / d_2 with the distances to the nearest spectrum of the fit, and to the nearest
            one of another cluster: 1 where a spectrum of the fit recurs, 0 half-way between two
            clusters and where a pixel is unlike the fit; NaN where masked.
        """
        check_is_fitted(self)
        pixels = take_input(self, X, mask, reset=False, at_least=0)
        labels, confidence = self._fitted_spectra.labels_with_confidence(
            pixels.spectra, self.labels_[self._mask]
        )
        return pixels.grid.to_image(labels, -1), pixels.grid.to_image(confidence, np.nan)


def _distinct(
    spectra: NDArray[np.float32], labels: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return each distinct spectrum once, with its most frequent label."""
    rows = np.ascontiguousarray(spectra + np.float32(0))  # no -0, which differs from 0 in its bits
    as_one = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(as_one, return_index=True, return_inverse=True)
    votes = np.zeros((len(first), int(labels.max()) + 1), dtype=np.int32)
    np.add.at(votes, (inverse, labels), 1)
    return rows[first], votes.argmax(axis=1).astype(np.int32)


def _nearest(
    new: NDArray[np.float32],
    known: NDArray[np.float32],
    halves: NDArray[np.float32],
    longest: float,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Nearest of the `known` spectra to each new one, and its distance; the first of equals.

    A matrix product in float32 rules out all but those that its rounding error cannot tell from
    the nearest; among these the distances are summed exactly. So the result does not depend on how
    the product was worked out.

    Parameters
    ----------
    new : ndarray of shape (m, bands)
    known : ndarray of shape (n, bands)
    halves : ndarray of shape (n,)
        Half the squared length of each known spectrum.
    longest : float
        The longest of their lengths.
    """
    product = new @ known.T
    np.subtract(halves, product, out=product)
    error = (known.shape[1] + 8) * _ROUNDING * longest * (_lengths(new) + longest)
    bound = product.min(axis=1) + 2 * error
    # Flat, which NumPy searches many times faster than rows and columns.
    row, candidate = np.divmod(np.flatnonzero(product <= bound[:, None]), len(known))
    d2 = np.empty(len(row))
    step = max(1, _PAIRS // known.shape[1])
    for start in range(0, len(row), step):
        some = slice(start, start + step)
        difference = new[row[some]].astype(np.float64) - known[candidate[some]]
        d2[some] = np.square(difference).sum(axis=1)
    order = np.lexsort((candidate, d2, row))
    _, first = np.unique(row[order], return_index=True)
    best = order[first]
    return candidate[best], np.sqrt(d2[best])


def _lengths(X: NDArray[np.float32]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):  # of spectra beyond all numbers
        return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
