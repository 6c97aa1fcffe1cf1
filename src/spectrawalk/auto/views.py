"""Several views of the same pixels: as measured, smoothed in space, and with the noise evened out.

One run looks at one view. What all views agree on does not hang on how spectra were prepared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from threadpoolctl import threadpool_limits

from spectrawalk.graph import number_pixels
from spectrawalk.preparation import Pixels

COORDINATES = 20
"""Principal coordinates of a view: they hold what neighbours differ in, and searches are quick."""

WHITENED = 10
"""Leading noise-whitened components that make a view."""

SMOOTHING = 3
"""Width in pixels of the square over which a smoothed view takes the mean."""


class View(NamedTuple):
    """One way to look at the spectra."""

    name: str
    points: NDArray[np.float64]
    """Coordinates of each pixel, shape (n, at most 20); distances between them are spectral."""
    smoothed: bool


def views_of(pixels: Pixels, scaled: NDArray[np.float64]) -> list[View]:
    """Views of the pixels; a table, which has no space, has one only.

    Parameters
    ----------
    pixels : Pixels
        With the raw spectra.
    scaled : ndarray of shape (n, bands)
        The same spectra, scaled.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.preparation import take_pixels
    >>> pixels = take_pixels(make_scene((20, 20), n_bands=30))
    >>> [view.name for view in views_of(pixels, pixels.spectra)]
    ['spectra', 'smoothed spectra', 'whitened', 'smoothed whitened']
    """
    plain = View("spectra", principal_coordinates(scaled), False)
    if not pixels.is_image:
        return [plain]
    components, _ = whitened_components(pixels.spectra, pixels.mask)
    components = np.ascontiguousarray(components[:, :WHITENED])
    views = [
        plain,
        View("smoothed spectra", principal_coordinates(local_mean(scaled, pixels.mask)), True),
        View("whitened", components, False),
        View("smoothed whitened", local_mean(components, pixels.mask), True),
    ]
    return [view for view in views if np.ptp(view.points, axis=0).max(initial=0.0) > 0]


def cloud_views(pixels: Pixels, scaled: NDArray[np.float64]) -> list[View]:
    """Views in which only the shape of a spectrum counts, for clusterings that look at no graph."""
    return views_of(Pixels(scaled, pixels.mask), scaled)


def principal_coordinates(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project centred spectra onto their leading principal directions, shape (n, at most 20)."""
    centred = X - X.mean(axis=0)
    # One thread: the last bits of a threaded product depend on how many share it.
    with threadpool_limits(limits=1, user_api="blas"):
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.ascontiguousarray(centred @ directions[:, : -COORDINATES - 1 : -1])


def local_mean(
    X: NDArray[np.float64], mask: NDArray[np.bool_], width: int = SMOOTHING
) -> NDArray[np.float64]:
    """Mean over the valid pixels of a square around each one, shape (n, values).

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
    return means / share[:, None]


def whitened_components(
    X: NDArray[np.float64], mask: NDArray[np.bool_], *, robust: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Components in the order of signal over noise (minimum noise fraction), noise of variance 1.

    The noise is what neighbouring pixels differ in.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
    mask : ndarray of bool, shape (rows, cols)
    robust : bool
        Whether to leave out the larger half of the differences, which may be edges.

    Returns
    -------
    components : ndarray of shape (n, at most 20)
    ratios : ndarray of shape (at most bands,)
        Variance of each component; without signal all are near 1, if `robust` is off.
    """
    difference = neighbor_differences(X, mask)
    if robust and len(difference) > 1:
        size = np.square(difference).sum(axis=1)
        difference = difference[size <= np.median(size)]
    n_bands = X.shape[1]
    centred = X - X.mean(axis=0)
    with threadpool_limits(limits=1, user_api="blas"):
        noise = difference.T @ difference / (2 * max(len(difference), 1))
        # With few pixels the covariance is uncertain: lean on its diagonal.
        lean = n_bands / (n_bands + len(difference))
        noise = (1 - lean) * noise + lean * np.diag(np.diag(noise))
        floor = 1e-6 * max(float(np.trace(noise)), float(centred.var())) / n_bands
        if floor == 0:
            return np.zeros((len(X), 1)), np.zeros(1)
        values, directions = np.linalg.eigh(noise + floor * np.eye(n_bands))
        white = centred @ (directions / np.sqrt(np.maximum(values, floor)))
        ratios, directions = np.linalg.eigh(white.T @ white / len(X))
        components = white @ directions[:, : -COORDINATES - 1 : -1]
    return np.ascontiguousarray(components), ratios[::-1]


def neighbor_differences(X: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Differences between valid pixels that share a side, shape (pairs, bands)."""
    number = number_pixels(mask)
    pairs = [
        (first.ravel(), second.ravel())
        for first, second in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1]))
    ]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    both = (first >= 0) & (second >= 0)
    return X[first[both]] - X[second[both]]
