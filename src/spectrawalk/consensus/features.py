"""Several views of the same pixels: as measured, smoothed in space, and with the noise evened out.

One run looks at one view. What all views agree on does not hang on how spectra were prepared. The
view of contrasts evens out more than noise: what varies inside a field counts as little as it can,
so that a faint difference between two fields weighs more than a strong one within them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from spectrawalk.prepare.pixels import Pixels
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.srdl.neighbors import number_pixels
from spectrawalk.threads import one_thread

COORDINATES = 20
"""Principal coordinates of a view: they hold what neighbours differ in, and searches are quick."""

MNF_COMPONENTS = 10
"""Leading noise-whitened components that make a view, and contrasts where these are counted on."""

SMOOTHING = 3
"""Width in pixels of the square over which a smoothed view takes the mean."""

MOST_PAIRS = 200_000
"""Pairs of pixels that a covariance is estimated from, at most."""

LAGS = (3, 4, 5, 6)
"""Pixels apart of the pairs that tell what varies inside a field and what changes between fields.

So far apart, the means over 3 x 3 around two pixels share none.
"""

INSIDE = 0.75
"""Share of such pairs, the most similar ones, that are taken to lie inside one field."""

CLIPPED = 1.0
"""Percent of the pixels at either end whose value of a contrast is cut off.

A single defective pixel can lie a hundred times farther out than any field.
"""

INTERIOR = 0.6
"""Share of the pixels, those in the most even surroundings, that lie inside fields for sure."""

BEYOND_CHANCE = 3.0
"""Signal over noise is 1 in noise; it counts from 1 + this times the root of bands over pixels."""

DARKEST = 1 / 3
"""Spectra shorter than this part of the median length are not scaled up to the length of others."""


class FeatureSet(NamedTuple):
    """One way to look at the spectra."""

    name: str
    smoothed: bool
    points: NDArray[np.float64]
    """Coordinates of each pixel, shape (n, at most 20); distances between them are spectral."""


class FeatureSets(NamedTuple):
    """All views of the same pixels."""

    spectral: list[FeatureSet]
    """Spectra and their noise-whitened components, plain and smoothed; the last has least noise."""
    within_field: FeatureSet | None
    """What fields differ in, most telling first; None without space, or with next to none."""

    @property
    def even(self) -> list[FeatureSet]:
        """Those in which noise is evened out; all, where there are no contrasts."""
        if self.within_field is None:
            return self.spectral
        whitened = [view for view in self.spectral if view.name == "mnf"]
        return [*whitened, leading(self.within_field, MNF_COMPONENTS)]


def feature_sets(pixels: Pixels) -> FeatureSets:
    """FeatureSets of the pixels; a table, which has no space, has one only.

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.prepare.pixels import take_pixels
    >>> views = feature_sets(take_pixels(make_scene((20, 20), n_bands=30)))
    >>> [(view.name, view.smoothed) for view in views.spectral]
    [('spectra', False), ('spectra', True), ('mnf', False), ('mnf', True)]
    >>> views.within_field.points.shape
    (400, 20)
    """
    spectra, mask = pixels.spectra, pixels.grid.mask
    plain = FeatureSet("spectra", False, principal_coordinates(spectra))
    if not pixels.grid.is_image:
        return FeatureSets([plain], None)
    components, _ = mnf_components(spectra, mask)
    components = np.ascontiguousarray(components[:, :MNF_COMPONENTS])
    smoothed = local_mean(spectra, mask)
    within_field = FeatureSet(
        "within-field", True, within_field_components(smoothed, mask, overwrite=True)
    )
    spectral = [
        plain,
        FeatureSet("spectra", True, principal_coordinates(smoothed, overwrite=True)),
        FeatureSet("mnf", False, components),
        FeatureSet("mnf", True, local_mean(components, mask)),
    ]
    return FeatureSets(
        [view for view in spectral if _differs(view)],
        within_field if _differs(within_field) else None,
    )


def leading(view: FeatureSet, width: int) -> FeatureSet:
    """Keep so many of a view's coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> view = leading(FeatureSet("within-field", True, np.ones((5, 20))), 3)
    >>> view.name, view.points.shape
    ('within-field 3', (5, 3))
    """
    points = np.ascontiguousarray(view.points[:, :width])
    return view._replace(name=f"{view.name} {points.shape[1]}", points=points)


def _differs(view: FeatureSet) -> bool:
    """Whether any two pixels differ in it."""
    return bool(np.ptp(view.points, axis=0).max(initial=0.0) > 0)


def keep_dark(unit: NDArray[np.float64], raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shorten the spectra of unit length that were scaled up too far, and their noise with them.

    Water has a tenth of the light of land: made as long as the others, its spectra are mostly
    noise, which whitening then takes for structure.

    Parameters
    ----------
    unit, raw : ndarray of shape (n, bands)
        Spectra of length 1, and as they were before.

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


def principal_coordinates(
    X: NDArray[np.float64], *, overwrite: bool = False
) -> NDArray[np.float64]:
    """Project centred spectra onto their leading principal directions, shape (n, at most 20)."""
    centred = np.subtract(X, X.mean(axis=0), out=X if overwrite else None)
    with one_thread():
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
    means /= share[:, None]
    return means


def mnf_components(
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
    difference = differences(X, mask, 1, MOST_PAIRS)
    if robust and len(difference) > 1:
        difference = _most_similar(difference, 0.5)
    with one_thread():
        centred = X - X.mean(axis=0)
        noise = difference.T @ difference / (2 * max(len(difference), 1))
        return _components(centred, centred.T @ centred / len(X), noise, len(difference))


def neighbors_are_alike(X: NDArray[np.float64], mask: NDArray[np.bool_]) -> bool:
    """Whether neighbouring pixels are more alike than others are, beyond chance.

    True also where too few pixels have a neighbour to tell.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
    mask : ndarray of bool, shape (rows, cols)

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=(30, 30, 4))
    >>> mask = np.ones((30, 30), dtype=bool)
    >>> neighbors_are_alike(noise.reshape(-1, 4), mask)
    False
    >>> noise[:, :10] += 1
    >>> neighbors_are_alike(noise.reshape(-1, 4), mask)
    True
    """
    n, n_bands = X.shape
    n_pairs = np.count_nonzero(mask[1:] & mask[:-1]) + np.count_nonzero(mask[:, 1:] & mask[:, :-1])
    if n_pairs < n / 2:
        return True
    _, ratios = mnf_components(X, mask, robust=False)
    return bool(ratios[0] > 1 + BEYOND_CHANCE * np.sqrt(n_bands / min(n, MOST_PAIRS)))


def interior(view: FeatureSet, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Pixels in the most even surroundings of a smoothed view; of a table all.

    Smoothed, the edge between two fields is a strip of mixtures, which looks like a field itself.

    Examples
    --------
    >>> import numpy as np
    >>> fields = np.repeat([[0.0, 1.0]], 5, axis=1).repeat(3, axis=0).reshape(-1, 1)
    >>> mask = np.ones((3, 10), dtype=bool)
    >>> interior(FeatureSet("within-field", True, fields), mask)[:8].tolist()
    [0, 1, 2, 3, 6, 7, 8, 9]
    """
    if mask.ndim == 1:
        return np.arange(len(view.points))
    squares = local_mean(np.square(view.points), mask)
    unevenness = (squares - np.square(local_mean(view.points, mask))).sum(axis=1)
    return np.flatnonzero(unevenness <= np.quantile(unevenness, INTERIOR))


def within_field_components(
    X: NDArray[np.float64], mask: NDArray[np.bool_], *, overwrite: bool = False
) -> NDArray[np.float64]:
    """Components in the order of what changes between fields over what varies inside them.

    Pixels a few steps apart mostly lie in one field. What the more similar pairs of them differ in
    is evened out to variance 1; in the order counts what all pairs have in common (their
    covariance), to which a lone defective pixel adds nothing.

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
        No column where no two pixels lie so far apart; those in which nothing differs are left out.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> field = np.repeat([0, 1], 20)  # left and right: faint beside what varies inside them
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
        components, _ = _components(centred, common, inside / (2 * n_inside), n_inside)
    ends = np.percentile(components, [CLIPPED, 100 - CLIPPED], axis=0)
    return np.clip(components, *ends)[:, ends[0] < ends[1]]


def _components(
    centred: NDArray[np.float64],
    signal: NDArray[np.float64],
    noise: NDArray[np.float64],
    n_differences: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Project onto directions in the order of signal over noise, and the ratios themselves.

    `noise` is an estimate from that many differences.
    """
    n_bands = centred.shape[1]
    # With few pixels the covariance is uncertain: lean on its diagonal.
    lean = n_bands / (n_bands + n_differences)
    noise = (1 - lean) * noise + lean * np.diag(np.diag(noise))
    floor = 1e-6 * max(float(np.trace(noise)), float(centred.var())) / n_bands
    if floor == 0:
        return np.zeros((len(centred), 1)), np.zeros(1)
    values, directions = np.linalg.eigh(noise + floor * np.eye(n_bands))
    whitening = directions / np.sqrt(np.maximum(values, floor))
    ratios, directions = np.linalg.eigh(whitening.T @ signal @ whitening)
    components = centred @ (whitening @ directions[:, : -COORDINATES - 1 : -1])
    return np.ascontiguousarray(components), ratios[::-1]


def _most_similar(difference: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Leave out the largest of some differences, which may cross an edge."""
    size = np.square(difference).sum(axis=1)
    return difference[size <= np.quantile(size, share)]


def differences(
    X: NDArray[np.float64], mask: NDArray[np.bool_], lag: int, most: int
) -> NDArray[np.float64]:
    """Differences between valid pixels so many rows or columns apart, shape (pairs, bands).

    Of very many pairs, some drawn evenly over the image: the covariance needs no more.
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
