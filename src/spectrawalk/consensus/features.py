"""Feature sets: several representations of the same pixels.

The feature sets are the spectra, their minimum noise fraction (MNF) components (Green et al.,
1988), and within-field components of spectra smoothed in space. One run uses one feature set. What
all feature sets agree on does not depend on how the spectra were prepared.

MNF components scale the noise to variance 1 in every direction. Within-field components do the
same with the variation inside fields (within-field whitening; compare linear discriminant
analysis), so that a faint difference between two fields counts more than strong variation inside
them.

References
----------
A. A. Green, M. Berman, P. Switzer and M. D. Craig, "A transformation for ordering multispectral
data in terms of image quality with implications for noise removal", IEEE Transactions on
Geoscience and Remote Sensing 26, 1988.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from spectrawalk.prepare.principal import (
    centred_blocks,
    leading_directions,
    principal_directions,
    scatter_matrix,
)
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.srdl.neighbors import number_pixels
from spectrawalk.threads import one_thread

COORDINATES = 20
"""Largest number of coordinates of a feature set. They hold the differences between neighbours,
and searches stay fast."""

MNF_COMPONENTS = 10
"""Leading MNF components of a feature set."""

SMOOTHING = 3
"""Side in pixels of the square over which spectra are smoothed for within-field components."""

MOST_PAIRS = 200_000
"""Largest number of pairs of pixels from which a covariance is estimated."""

LAGS = (3, 4, 5, 6)
"""Distances in pixels of the pairs whose differences estimate the variation inside fields.

At these distances, the 3 x 3 squares around two pixels do not overlap.
"""

INSIDE = 0.75
"""Share of these pairs, the most similar ones, that are assumed to lie inside one field."""

CLIPPED = 1.0
"""Percentage of the pixels at each end at which a within-field component is clipped.

A single defective pixel can be a hundred times farther from the mean than any field.
"""

DARKEST = 1 / 3
"""Spectra with a norm below this share of the median norm are not scaled to unit length."""


class Projection(NamedTuple):
    """Linear features of a spectrum: ``(x - mean) @ directions``, clipped to a range."""

    mean: NDArray[np.float64]
    """Shape (bands,)."""
    directions: NDArray[np.float64]
    """Shape (bands, features)."""
    low: NDArray[np.float64]
    """Smallest value of each feature."""
    high: NDArray[np.float64]
    """Largest value of each feature."""

    def first(self, count: int) -> Projection:
        """Keep the leading features."""
        each = self.directions[:, :count], self.low[:count], self.high[:count]
        return Projection(self.mean, *each)


def varies(points: NDArray[np.float64]) -> bool:
    """Whether any two pixels have different features."""
    return bool(np.ptp(points, axis=0).max(initial=0.0) > 0)


def keep_dark(
    unit: NDArray[np.float64], raw: NDArray[np.float64], least: float | None = None
) -> NDArray[np.float64]:
    """Scale the unit spectra of dark pixels down again, and their noise with them.

    Water reflects about a tenth as much as land. Scaled to unit length, its spectra are mostly
    noise, and MNF would treat this noise as signal.

    Parameters
    ----------
    unit, raw : ndarray of shape (n, bands)
        Spectra scaled to unit length, and the same spectra before scaling.
    least : float, optional
        Length below which a spectrum is dark; by default as :func:`dark_length` finds it.

    Examples
    --------
    >>> import numpy as np
    >>> raw = np.array([[9.0, 0.0], [0.0, 9.0], [1.0, 0.0]])
    >>> np.linalg.norm(keep_dark(np.sign(raw), raw), axis=1).round(2).tolist()
    [1.0, 1.0, 0.33]
    """
    length = np.linalg.norm(raw, axis=1)
    least = dark_length(length) if least is None else least
    if not length.min(initial=np.inf) < least:
        return unit
    return unit * np.minimum(length / least, 1.0)[:, None]


def dark_length(length: NDArray[np.float64]) -> float:
    """Length of a spectrum below which it is dark, given the lengths of all spectra."""
    return DARKEST * float(np.median(length))


def principal_coordinates(
    X: NDArray[np.float64],
) -> tuple[NDArray[np.float64], Projection]:
    """Leading principal components of the spectra, shape (n, at most 20), and their projection."""
    mean = X.mean(axis=0)
    directions = principal_directions(centred_blocks(X, mean), COORDINATES)
    with one_thread():
        components = np.concatenate([block @ directions for block in centred_blocks(X, mean)])
    return components, _unclipped(mean, directions)


class BandHalves:
    """Principal components of random halves of the bands.

    The covariance of all bands is computed once.

    Parameters
    ----------
    X : ndarray of shape (n, bands)

    Examples
    --------
    >>> import numpy as np
    >>> halves = BandHalves(np.random.default_rng(0).normal(size=(9, 5)))
    >>> drawn = [halves.projection(half) for half in halves.draw(np.random.default_rng(1))]
    >>> [halves.components(projection).shape for projection in drawn]
    [(9, 2), (9, 3)]
    """

    def __init__(self, X: NDArray[np.float64]) -> None:
        self._X, self._mean = X, X.mean(axis=0)
        self._scatter = scatter_matrix(centred_blocks(X, self._mean))

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Divide the bands into two halves. With one band, both halves are this band."""
        order = rng.permutation(len(self._mean))
        middle = len(order) // 2
        return (order[:middle], order[middle:]) if middle else (order, order)

    def projection(self, half: NDArray[np.intp]) -> Projection:
        """Projection on the principal components of some bands, at most 20."""
        inside = leading_directions(self._scatter[np.ix_(half, half)], COORDINATES)
        directions = np.zeros((len(self._mean), inside.shape[1]))
        directions[half] = inside
        return _unclipped(self._mean, directions)

    def components(self, projection: Projection) -> NDArray[np.float64]:
        """Components of all pixels, shape (n, at most 20)."""
        with one_thread():
            return self._X @ projection.directions - self._mean @ projection.directions


def local_mean(
    X: NDArray[np.float64], mask: NDArray[np.bool_], width: int = SMOOTHING
) -> NDArray[np.float64]:
    """Mean over the valid pixels in a square around each pixel, shape (n, bands).

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.array([[True, True, False]])
    >>> local_mean(np.array([[1.0], [3.0]]), mask).tolist()
    [[2.0], [2.0]]
    """
    share = uniform_filter(mask.astype(float), width, mode="constant")[mask]
    means = np.empty_like(X)
    plane = np.zeros(mask.shape)
    for band in range(X.shape[1]):
        plane[mask] = X[:, band]
        means[:, band] = uniform_filter(plane, width, mode="constant")[mask]
    means /= share[:, None]
    return means


def mnf_components(
    X: NDArray[np.float64], mask: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], Projection]:
    """Minimum noise fraction (MNF) components, with noise of one variance (Green et al., 1988).

    They are in decreasing order of their signal-to-noise ratio. The noise covariance is estimated
    from the differences between neighbouring pixels, without the larger half of them, which may be
    across edges.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
    mask : ndarray of bool, shape (rows, cols)

    Returns
    -------
    components : ndarray of shape (n, at most 20)
    projection : Projection
        Gives the same components, for any spectra.
    """
    difference = differences(X, mask, 1, MOST_PAIRS)
    if len(difference) > 1:
        difference = _most_similar(difference, 0.5)
    with one_thread():
        mean = X.mean(axis=0)
        centred = X - mean
        noise = difference.T @ difference / (2 * max(len(difference), 1))
        signal = centred.T @ centred / len(X)
        directions = _directions(signal, noise, len(difference), float(centred.var()))
        components = np.ascontiguousarray(centred @ directions)
    return components, _unclipped(mean, directions)


def within_field_components(
    X: NDArray[np.float64], mask: NDArray[np.bool_], *, overwrite: bool = False
) -> tuple[NDArray[np.float64], Projection]:
    """Within-field components: MNF with lagged differences in place of the noise.

    Pixels a few steps apart mostly lie in one field. The covariance of the differences between
    them, for the more similar pairs, estimates the variation inside fields. It is scaled to
    variance 1 (within-field whitening; compare linear discriminant analysis). The components are in
    decreasing order of their covariance at these lags, to which a single defective pixel adds
    nothing.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra, smoothed over 3 x 3 pixels.
    mask : ndarray of bool, shape (rows, cols)
    overwrite : bool
        Whether `X` may be centred in place.

    Returns
    -------
    components : ndarray of shape (n, at most 20)
        Constant columns are excluded. There is no column if no two pixels are so far apart.
    projection : Projection
        Gives the same components, for any smoothed spectra.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> field = np.repeat([0, 1], 20)  # left and right, fainter than the variation inside
    >>> X = rng.normal(0, [5.0, 0.1], size=(30, 40, 2)) + np.stack([0 * field, field], axis=1)
    >>> components, _ = within_field_components(X.reshape(-1, 2), np.ones((30, 40), dtype=bool))
    >>> bool(abs(np.corrcoef(components[:, 0], np.tile(field, 30))[0, 1]) > 0.9)
    True
    """
    n_bands = X.shape[1]
    inside, every = np.zeros((n_bands, n_bands)), np.zeros((n_bands, n_bands))
    n_inside = n_every = 0
    with one_thread():
        for lag in LAGS:
            difference = differences(X, mask, lag, MOST_PAIRS // len(LAGS))
            every += difference.T @ difference
            n_every += len(difference)
            if len(difference):
                difference = _most_similar(difference, INSIDE)
            inside += difference.T @ difference
            n_inside += len(difference)
        mean = X.mean(axis=0)
        if not n_every:
            nothing = np.empty(0)
            return np.empty((len(X), 0)), Projection(mean, np.empty((n_bands, 0)), nothing, nothing)
        centred = np.subtract(X, mean, out=X if overwrite else None)
        common = centred.T @ centred / len(X) - every / (2 * n_every)
        noise = inside / (2 * n_inside)
        directions = _directions(common, noise, n_inside, float(centred.var()))
        components = np.ascontiguousarray(centred @ directions)
    ends = np.percentile(components, [CLIPPED, 100 - CLIPPED], axis=0)
    kept = ends[0] < ends[1]
    projection = Projection(mean, directions[:, kept], *ends[:, kept])
    return np.clip(components, *ends)[:, kept], projection


def _unclipped(mean: NDArray[np.float64], directions: NDArray[np.float64]) -> Projection:
    anything = np.full(directions.shape[1], np.inf)
    return Projection(mean, directions, -anything, anything)


def _directions(
    signal: NDArray[np.float64], noise: NDArray[np.float64], n_differences: int, variance: float
) -> NDArray[np.float64]:
    """Directions in decreasing order of the ratio of signal to noise, shape (bands, at most 20).

    `signal` and `noise` are covariance matrices; `noise` is estimated from `n_differences`
    differences. `variance` is that of all values of the spectra, less their mean.
    """
    n_bands = len(signal)
    # With few pixels the covariance is uncertain: shrink it towards its diagonal.
    shrinkage = n_bands / (n_bands + n_differences)
    noise = (1 - shrinkage) * noise + shrinkage * np.diag(np.diag(noise))
    floor = 1e-6 * max(float(np.trace(noise)), variance) / n_bands
    if floor == 0:
        return np.zeros((n_bands, 1))
    values, directions = np.linalg.eigh(noise + floor * np.eye(n_bands))
    whitening = directions / np.sqrt(np.maximum(values, floor))
    _, directions = np.linalg.eigh(whitening.T @ signal @ whitening)
    return whitening @ directions[:, : -COORDINATES - 1 : -1]


def _most_similar(difference: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Keep this share of the differences, the smallest; the largest may be across edges."""
    size = np.square(difference).sum(axis=1)
    return difference[size <= np.quantile(size, share)]


def differences(
    X: NDArray[np.float64], mask: NDArray[np.bool_], lag: int, most: int
) -> NDArray[np.float64]:
    """Differences between valid pixels `lag` rows or columns apart, shape (pairs, bands).

    If there are more than `most` pairs, a sample that is spread evenly over the image.
    """
    number = number_pixels(mask)
    pairs = [
        (first.ravel(), second.ravel())
        for first, second in ((number[lag:], number[:-lag]), (number[:, lag:], number[:, :-lag]))
    ]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    both = np.flatnonzero((first >= 0) & (second >= 0))
    both = both[draw_pixels(len(both), most)]
    return X[first[both]] - X[second[both]]
