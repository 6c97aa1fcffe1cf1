"""Which clusters of two maps, or which clusters and classes, belong together: one with one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from spectrawalk.prepare.band_matching import half_spacing

_FEWEST_BANDS = 3  # in common: two say too little about the shape of a spectrum


class Partners(NamedTuple):
    """Two clusters that belong together, by the rank of each in its map."""

    before: int
    after: int
    angle: float
    """Spectral angle of their mean spectra in degrees."""


def match_spectra(before: NDArray[np.floating], after: NDArray[np.floating]) -> list[Partners]:
    """Match clusters of two maps by the spectral angles of their mean spectra.

    Two clusters are partners only if they are more alike than the clusters of one map are: their
    angle must be below the mean of their angles to the nearest other cluster of their own maps. Of
    all matchings, the one is taken whose angles lie below these limits by the most in total. So a
    cluster without a counterpart stays alone, and takes no partner from another.

    Parameters
    ----------
    before, after : ndarray of shape (clusters, bands)
        Mean spectra, in the same bands. Clusters without pixels (NaN) stay alone.

    Returns
    -------
    list of Partners
        In the order of the clusters of `before`.

    Examples
    --------
    >>> before = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> after = np.array([[0.1, 2.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.1]])
    >>> [(a, b, round(angle, 1)) for a, b, angle in match_spectra(before, after)]
    [(0, 2, 5.7), (1, 0, 2.9)]
    """
    angles = spectral_angles(before, after)
    limits = np.stack(
        np.broadcast_arrays(_nearest_other(before)[:, np.newaxis], _nearest_other(after))
    )
    alone = np.isinf(limits)  # the only cluster of a map has no nearest other
    limit = np.where(alone, 0, limits).sum(axis=0) / np.maximum((~alone).sum(axis=0), 1)
    gain = np.where(alone.all(axis=0), np.pi, limit) - angles
    gain = np.where(np.isfinite(gain), np.maximum(gain, 0), 0)
    rows, cols = linear_sum_assignment(-gain)
    return [
        Partners(int(row), int(col), float(np.degrees(angles[row, col])))
        for row, col in zip(rows, cols, strict=True)
        if gain[row, col] > 0
    ]


def spectral_angles(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """Angle between each spectrum of one set and each of another, in radians.

    It does not depend on the brightness of either (spectral angle mapper; Kruse et al. 1993).

    Examples
    --------
    >>> spectral_angles(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 1.0]])).round(3)
    array([[0.   , 0.785]])
    """
    return np.arccos(np.clip(_unit(one) @ _unit(other).T, -1, 1))


def _unit(spectra: NDArray[np.floating]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(spectra, axis=1, keepdims=True)
    return np.asarray(spectra / np.where(lengths > 0, lengths, 1), dtype=np.float64)


def _nearest_other(spectra: NDArray[np.floating]) -> NDArray[np.float64]:
    """Angle from each spectrum to the nearest other one of its map; infinite if there is none."""
    angles = spectral_angles(spectra, spectra)
    np.fill_diagonal(angles, np.inf)
    return np.where(np.isnan(angles), np.inf, angles).min(axis=1, initial=np.inf)


def common_bands(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Bands that two scenes have in common, by their wavelengths; None where they are too few.

    Parameters
    ----------
    before, after : ndarray of shape (bands,)
        Wavelengths in nanometres, or any numbers that tell bands apart.

    Returns
    -------
    tuple of two ndarrays of int, or None
        Places of the common bands in `before`, and in `after`. A band has a counterpart nearer than
        half the distance to its own next band.

    Examples
    --------
    >>> common_bands(np.array([450.0, 500, 550, 600]), np.array([501.0, 549, 602, 700]))
    (array([1, 2, 3]), array([0, 1, 2]))
    """
    away = np.abs(np.subtract.outer(before, after))
    nearest = away.argmin(axis=1)
    found = np.flatnonzero(away[np.arange(len(before)), nearest] < half_spacing(before))
    found = found[np.unique(nearest[found], return_index=True)[1]]
    return None if len(found) < _FEWEST_BANDS else (found, nearest[found])


def best_matching(
    counts: NDArray[np.int64], class_size: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match clusters (rows) to classes (columns) so that they agree on the most pixels.

    Several matchings can agree on as many. The higher average recall then decides, and then the
    higher kappa, so that no score depends on how clusters and classes are numbered. Each question
    is settled in whole numbers among the matchings that were best by those before it.

    Parameters
    ----------
    counts : ndarray of int, shape (clusters, classes)
        Pixels that each cluster and each class have in common.
    class_size : ndarray of int, shape (classes,)
        Pixels of each class.

    Returns
    -------
    rows, cols : ndarray of int
        Clusters and their classes.

    Examples
    --------
    >>> best_matching(np.array([[3, 2], [3, 0]]), np.array([6, 2]))
    (array([0, 1]), array([1, 0]))
    """
    n_classes = len(class_size)
    rows = _contenders(counts)
    cluster_size = counts.sum(axis=1)[rows]
    agreement = counts[rows]
    recall = np.rint(2.0**40 * agreement / class_size)
    by_chance = np.multiply.outer(cluster_size, class_size)

    # Square, with partners that are worth nothing for those who stay alone.
    side = max(len(rows), n_classes)
    allowed = np.ones((side, side), dtype=bool)
    partner = np.arange(side)
    for gain in (agreement, recall, -by_chance):
        cost = np.zeros((side, side))
        cost[: len(rows), :n_classes] = -gain
        _, partner = linear_sum_assignment(np.where(allowed, cost, np.inf))
        allowed &= _in_some_best_matching(np.where(allowed, cost, np.inf), partner)
    matched = np.flatnonzero(partner[: len(rows)] < n_classes)
    return rows[matched], partner[matched]


def _contenders(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Clusters that a best matching can need: with C classes, each class's C best ones.

    A class matched with any other could change to one of these that is free. There can be many
    thousand clusters, and the matching takes the square of their number.
    """
    n_clusters, n_classes = counts.shape
    if n_clusters <= n_classes:
        return np.arange(n_clusters)
    size = np.broadcast_to(counts.sum(axis=1)[:, None], counts.shape)
    by_preference = np.lexsort((size, -counts), axis=0)
    return np.unique(by_preference[:n_classes])


def _in_some_best_matching(
    cost: NDArray[np.float64], partner: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Pairs that occur in the matchings as cheap as this one, and in no dearer one.

    These are the pairs with reduced cost 0 under the prices of the columns that solve the dual
    problem, found by relaxation in as many rounds as there are columns, at most. Costs are whole
    numbers, so that 0 is exact.
    """
    change = cost - cost[np.arange(len(cost)), partner][:, None]
    price = np.zeros(len(cost))
    for _ in price:
        lower = np.minimum(price, (price[partner][:, None] + change).min(axis=0))
        if (lower == price).all():
            break
        price = lower
    return np.asarray(price[partner][:, None] + change == price)
