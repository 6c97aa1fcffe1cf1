"""Algorithm 2, first half: kernel density of the spectra, and the order it gives."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.errors import DataError
from spectrawalk.threads import one_thread

MEAN_SAMPLE = 8_000
"""The mean distance is taken over all pairs of pixels, or of this many of them."""

ORDERED_ROWS = 65_536
"""Pixels whose place in the order of the sample is found at a time."""

BANDWIDTH_SHARE = 20
"""The automatic density bandwidth is the mean pairwise distance over this."""


def mean_distance(X: NDArray[np.float64], most: int = MEAN_SAMPLE) -> float:
    """Mean spectral distance over the pairs of pixels.

    Exact up to `most` pixels. Above, over so many of them that depend on the spectra alone: the
    pixels are ordered by their projection onto a fixed direction and taken at equal steps, so that
    neither the order of the pixels nor a seed matters, and common spectra keep their share.

    Examples
    --------
    >>> import numpy as np
    >>> mean_distance(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])).__round__(6)
    3.333333
    """
    order = _spectral_order(X)
    if len(X) > most:
        order = order[np.linspace(0, len(X) - 1, most).round().astype(np.intp)]
    sample = X[order]
    sample = sample - sample.mean(axis=0)  # small values, so that little is lost to cancellation
    n, squares = len(sample), np.square(sample).sum(axis=1)
    sums: list[float] = []
    with one_thread():
        for start, stop in progress.in_steps("bandwidth", n, 500 * n):  # about 30 MB each
            d2 = sample[start:stop] @ sample[start:].T
            d2 *= -2
            d2 += squares[start:]
            d2 += squares[start:stop, None]
            np.maximum(d2, 0, out=d2)
            np.fill_diagonal(d2, 0.0)
            np.sqrt(d2, out=d2)
            # The square on the diagonal holds its pairs twice, the rest once.
            sums += [2 * d2.sum(), -d2[:, : stop - start].sum()]
    return math.fsum(sums) / (n * (n - 1))


def _spectral_order(X: NDArray[np.float64]) -> NDArray[np.intp]:
    """Order the pixels by their spectra, whatever order they come in."""
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    blocks = range(0, len(X), ORDERED_ROWS)
    # A plain sum per row: a matrix product may round a row differently in another place.
    keys = [(X[start : start + ORDERED_ROWS] * direction).sum(axis=1) for start in blocks]
    return np.argsort(np.concatenate(keys), kind="stable")


def kernel_density(d2: NDArray[np.float64], bandwidth: float) -> NDArray[np.float64]:
    """Kernel density p(x) from the nearest other spectra, normalised to sum 1.

    Parameters
    ----------
    d2 : ndarray of shape (n, k_p)
        Squared distances to the nearest spectra of the whole image, the pixel itself left out.
    bandwidth : float
        s in exp(-d^2 / s^2).
    """
    with np.errstate(over="ignore"):
        p = np.exp(-np.square(np.sqrt(d2) / bandwidth)).sum(axis=1)
    total = math.fsum(p)  # whatever the order of the pixels
    if not total > 0:
        raise DataError(
            f"the density of every pixel underflows to 0: density_bandwidth={bandwidth:.3g} is far "
            "below the distances between spectra; give a larger one."
        )
    return p / total


def density_ranking(
    p: NDArray[np.float64], d2: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Order the pixels from the densest to the sparsest.

    Two pixels that are each other's nearest often have the same density to the last digit. Then the
    one with the nearer neighbours comes first, and only if those tie too, the smaller index.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Density.
    d2 : ndarray of shape (n, k_p), optional
        Squared distances that it comes from, nearest first.
    """
    ranking = np.argsort(-p, kind="stable")
    if d2 is None:
        return ranking
    starts = np.flatnonzero(np.diff(p[ranking], prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(p))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        tied = ranking[start : start + size]
        ranking[start : start + size] = tied[np.lexsort(d2[tied].T[::-1])]
    return ranking
