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


def varies(points: NDArray[np.float64]) -> bool:
    """Whether any two pixels have different features."""
    return bool(np.ptp(points, axis=0).max(initial=0.0) > 0)


def keep_dark(unit: NDArray[np.float64], raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale the unit spectra of dark pixels down again, and their noise with them.

    Water reflects about a tenth as much as land. Scaled to unit length, its spectra are mostly
    noise, and MNF would treat this noise as signal.

    Parameters
    ----------
    unit, raw : ndarray of shape (n, bands)
        Spectra scaled to unit length, and the same spectra before scaling.

    Examples
    --------
    >>> import numpy as np
    >>> raw = np.array([[9.0, 0.0], [0.0, 9.0], [1.0, 0.0]])
    >>> np.linalg.norm(keep_dark(np.sign(raw), raw), axis=1).round(2).tolist()
    [1.0, 1.0, 0.33]
    """
    length = np.linalg.norm(raw, axis=1)
    least = DARKEST * float(np.median(length))
    if not length.min() < least:
        return unit
    return unit * np.minimum(length / least, 1.0)[:, None]


def principal_coordinates(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leading principal components of the spectra, shape (n, at most 20)."""
    mean = X.mean(axis=0)
    directions = principal_directions(centred_blocks(X, mean), COORDINATES)
    with one_thread():
        return np.concatenate([block @ directions for block in centred_blocks(X, mean)])


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
    >>> [halves.components(half).shape for half in halves.draw(np.random.default_rng(1))]
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

    def components(self, half: NDArray[np.intp]) -> NDArray[np.float64]:
        """Principal components of some bands, shape (n, at most 20)."""
        inside = leading_directions(self._scatter[np.ix_(half, half)], COORDINATES)
        directions = np.zeros((len(self._mean), inside.shape[1]))
        directions[half] = inside
        with one_thread():
            return self._X @ directions - self._mean @ directions


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


def mnf_components(X: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
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
    ndarray of shape (n, at most 20)
    """
    difference = differences(X, mask, 1, MOST_PAIRS)
    if len(difference) > 1:
        difference = _most_similar(difference, 0.5)
    with one_thread():
        centred = X - X.mean(axis=0)
        noise = difference.T @ difference / (2 * max(len(difference), 1))
        return _components(centred, centred.T @ centred / len(X), noise, len(difference))


def within_field_components(
    X: NDArray[np.float64], mask: NDArray[np.bool_], *, overwrite: bool = False
) -> NDArray[np.float64]:
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
    ndarray of shape (n, at most 20)
        Constant columns are excluded. There is no column if no two pixels are so far apart.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> field = np.repeat([0, 1], 20)  # left and right, fainter than the variation inside
    >>> X = rng.normal(0, [5.0, 0.1], size=(30, 40, 2)) + np.stack([0 * field, field], axis=1)
    >>> leading = within_field_components(X.reshape(-1, 2), np.ones((30, 40), dtype=bool))[:, 0]
    >>> bool(abs(np.corrcoef(leading, np.tile(field, 30))[0, 1]) > 0.9)
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
        if not n_every:
            return np.empty((len(X), 0))
        centred = np.subtract(X, X.mean(axis=0), out=X if overwrite else None)
        common = centred.T @ centred / len(X) - every / (2 * n_every)
        components = _components(centred, common, inside / (2 * n_inside), n_inside)
    ends = np.percentile(components, [CLIPPED, 100 - CLIPPED], axis=0)
    return np.clip(components, *ends)[:, ends[0] < ends[1]]


def _components(
    centred: NDArray[np.float64],
    signal: NDArray[np.float64],
    noise: NDArray[np.float64],
    n_differences: int,
) -> NDArray[np.float64]:
    """Components in decreasing order of the ratio of signal to noise.

    `signal` and `noise` are covariance matrices; `noise` is estimated from `n_differences`
    differences.
    """
    n_bands = centred.shape[1]
    # With few pixels the covariance is uncertain: shrink it towards its diagonal.
    shrinkage = n_bands / (n_bands + n_differences)
    noise = (1 - shrinkage) * noise + shrinkage * np.diag(np.diag(noise))
    floor = 1e-6 * max(float(np.trace(noise)), float(centred.var())) / n_bands
    if floor == 0:
        return np.zeros((len(centred), 1))
    values, directions = np.linalg.eigh(noise + floor * np.eye(n_bands))
    whitening = directions / np.sqrt(np.maximum(values, floor))
    _, directions = np.linalg.eigh(whitening.T @ signal @ whitening)
    return np.ascontiguousarray(centred @ (whitening @ directions[:, : -COORDINATES - 1 : -1]))


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
