"""After a fit: labels for the pixels of another image, from the nearest spectra of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectrawalk import progress
from spectrawalk.errors import DataError
from spectrawalk.estimators.catalogue import Catalogue, Lookup, lengths
from spectrawalk.prepare.pixels import as_given, take_input
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.prepare.scaling import Scaling, power_of_two
from spectrawalk.threads import one_thread

REACH_PERCENTILE = 99
"""A new spectrum is known if it lies as near to a fitted one as this share of all neighbours do."""

_REACH_SAMPLE = 4_000_000
"""Neighbour distances that enter the percentile; of more, those of evenly spaced pixels."""

_SEARCHED = 10_000
"""Spectra among which :func:`sampled_reach` looks for the nearest..."""

_SAMPLED = 1_000
"""...of so many of them..."""

_NEAREST = 50
"""...and how many it takes of each."""

_ROWS = 10_000
"""Spectra that are rounded at a time."""

_NEW = 16_384
"""New spectra that are looked up at a time."""

_ROUNDING = float(np.finfo(np.float32).eps)


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


def sampled_reach(spectra: NDArray[np.float64]) -> float:
    """Distance between spectra that 99 % of the nearest spectra do not exceed.

    Parameters
    ----------
    spectra : ndarray of shape (n, bands)
        Of more than 10,000, a sample is searched.

    Examples
    --------
    >>> import numpy as np
    >>> sampled_reach(np.array([[0.0], [3.0]]))
    3.0
    """
    known = spectra[draw_pixels(len(spectra), _SEARCHED)]
    known = known - known.mean(axis=0)
    sample = draw_pixels(len(known), _SAMPLED)
    k = min(_NEAREST, len(known) - 1)
    with one_thread():
        lengths2 = np.einsum("ij,ij->i", known, known)
        d2 = lengths2[sample, None] - 2 * known[sample] @ known.T + lengths2
    d2[np.arange(len(sample)), sample] = np.inf  # a spectrum is not its own neighbour
    return reach_of(np.maximum(np.partition(d2, k - 1, axis=1)[:, :k], 0.0)) if k > 0 else 0.0


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
        found, _ = self._look_up(X, labels, with_margin=False)
        return found

    def labels_and_margin(
        self, X: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Label each row of X, and give the margin of each label.

        The margin is 1 - d1 / d2, with d1 the distance to the nearest fitted spectrum and d2
        the distance to the nearest one of another cluster: 0 where both are as near, 1 where the
        spectrum is a fitted one. It is 0 where the label is -1, and 1 where there is one cluster.

        Parameters
        ----------
        X, labels
            As in :meth:`labels_for`.

        Returns
        -------
        labels : ndarray of int32, shape (m,)
            As from :meth:`labels_for`.
        margin : ndarray of shape (m,)
            From 0 to 1.
        """
        return self._look_up(X, labels, with_margin=True)

    def _look_up(
        self, X: NDArray[np.float64], labels: NDArray[np.int32], *, with_margin: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Label the rows of X; their margin is 0 throughout if it is not asked for."""
        known = Catalogue(self.spectra, labels)
        # Rounding to float32 may have moved both spectra by the last digit.
        reach = self.reach / self.unit + 4 * _ROUNDING * known.longest
        found, margin = np.full(len(X), -1, dtype=np.int32), np.zeros(len(X))
        for start in progress.track("prediction", range(0, len(X), _NEW)):
            with np.errstate(over="ignore", invalid="ignore"):  # far beyond reach, sorted out below
                scaled = self.scaling.apply(X[start : start + _NEW])
                new = ((scaled - self.centre) / self.unit).astype(np.float32)
            length = lengths(new)
            near = np.flatnonzero((length <= known.longest + reach) & np.isfinite(length))
            if not len(near):
                continue
            number, distance = Lookup(known, new[near]).nearest(limit=reach)
            within = distance <= reach
            near, label, distance = near[within], known.labels[number[within]], distance[within]
            found[start + near] = label
            if with_margin and len(near):
                _, other = Lookup(known, new[near]).nearest(other_than=label)
                margin[start + near] = 1 - distance / other
        return found, margin


class PredictionMixin:
    """Gives an estimator ``predict``; its fit keeps the ``FittedSpectra`` and ``labels_``."""

    labels_: NDArray[np.int32]
    _mask: NDArray[np.bool_]
    _fitted_spectra: FittedSpectra | None

    def predict(self, X: Any, *, mask: Any = None) -> Any:
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
            -1 where masked or unknown. For data of xarray a DataArray with the same coordinates.
        """
        spectra = self._spectra_of_fit()
        pixels = take_input(self, X, mask, reset=False, at_least=0)
        labels = spectra.labels_for(pixels.spectra, self.labels_[self._mask])
        return as_given(X, pixels.grid.to_image(labels, -1), "labels")

    def predict_with_margin(self, X: Any, *, mask: Any = None) -> tuple[Any, Any]:
        """Label another image as :meth:`predict` does, with the margin of each label.

        The margin tells how much nearer a pixel is to its own cluster than to the next one.

        Returns
        -------
        labels : ndarray of int32, in the image's shape
        margin : ndarray of float32, in the image's shape
            1 - d_1 / d_2 with the distances to the nearest spectrum of the fit, and to the nearest
            one of another cluster: 1 where a spectrum of the fit recurs, 0 half-way between two
            clusters and where a pixel is unlike the fit; NaN where masked.
        """
        spectra = self._spectra_of_fit()
        pixels = take_input(self, X, mask, reset=False, at_least=0)
        labels, margin = spectra.labels_and_margin(pixels.spectra, self.labels_[self._mask])
        on_image = pixels.grid.to_image
        return (
            as_given(X, on_image(labels, -1), "labels"),
            as_given(X, on_image(margin.astype(np.float32), np.nan), "margin"),
        )

    def _spectra_of_fit(self) -> FittedSpectra:
        check_is_fitted(self)
        if self._fitted_spectra is None:
            raise DataError(
                "this model was saved without the spectra of its fit, so it cannot predict; to "
                "predict, save the whole model with `model.save`."
            )
        return self._fitted_spectra
