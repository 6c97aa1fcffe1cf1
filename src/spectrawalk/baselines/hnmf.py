"""HNMF: hierarchical rank-two non-negative matrix factorisation (Gillis, Kuang and Park, 2015)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from spectrawalk.baselines.base import Baseline
from spectrawalk.errors import ConvergenceError, DataError, StructureError
from spectrawalk.parameters import check_number

NEGATIVE_SHARE = 0.01
"""Negative values up to this share of the norm of the data are set to zero, as noise."""

TOLERANCE = 1e-6
"""A factorisation has converged if an iteration reduces its error by at most this share."""

MAX_ITER = 1000
"""Largest number of iterations of a factorisation; scenes need tens."""

THRESHOLDS = np.linspace(0, 1, 1001)[1:-1]
"""Shares of the first endmember at which a cluster can be split."""


class HNMF(Baseline):
    """Hierarchical clustering by rank-two non-negative matrix factorisation.

    It starts with one cluster of all pixels and splits one cluster at a time until there are K. It
    splits the cluster for which this reduces the error of one endmember per cluster most. A split
    represents the spectra as mixtures of two endmembers, and applies a threshold to the share of
    the first one. The threshold gives two parts of similar size with few pixels near the threshold.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default ``"band"`` (each band has unit length): it is closest to the
        paper's result on the Indian Pines subset, and reproduces the one on Salinas A.
    margin : float
        Half-width of the interval around the threshold that should have few pixels, in shares of
        the first endmember.
    random_state : ignored
        The method is not random.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import HNMF
    >>> soil, water = np.array([1.0, 2.0, 3.0]), np.array([3.0, 0.5, 0.1])
    >>> share = np.array([[0.9, 1.0, 0.95], [0.1, 0.0, 0.05]])[:, :, None]
    >>> HNMF(2).fit_predict(share * soil + (1 - share) * water)
    array([[0, 0, 0],
           [1, 1, 1]], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "band",
        margin: float = 0.05,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.margin = margin
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.intp]:
        margin = check_number("margin", self.margin)
        X = _without_negatives(X)
        labels = np.zeros(len(X), dtype=np.intp)
        leaves = [_plan_split(X, np.arange(len(X)), margin)]
        for new in range(1, n_clusters):
            best = max(range(new), key=lambda leaf: leaves[leaf].gain)
            split = leaves[best]
            if split.gain == -np.inf:
                raise StructureError(
                    f"HNMF found only {new} clusters but n_clusters={n_clusters}, because the "
                    "spectra of each cluster differ in brightness only; ask for fewer clusters."
                )
            labels[split.second] = new
            leaves[best] = _plan_split(X, split.first, margin)
            leaves.append(_plan_split(X, split.second, margin))
        return labels


def _without_negatives(X: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = np.maximum(X, 0.0)
    share = np.linalg.norm(positive - X) / np.linalg.norm(X)
    if share > NEGATIVE_SHARE:
        raise DataError(
            f"Negative values in data passed to HNMF: they have {share:.0%} of the norm, and the "
            "method needs non-negative spectra; give radiance or reflectance."
        )
    return positive


class Split(NamedTuple):
    """A possible split of a cluster, as indices of pixels, and its gain."""

    gain: float
    """Reduction of the squared error of one endmember per cluster; -inf if no split exists."""
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def _plan_split(X: NDArray[np.float64], members: NDArray[np.intp], margin: float) -> Split:
    inside = X[members]
    share = first_share(inside) if len(members) > 1 else np.zeros(1)
    threshold = best_threshold(share, margin)
    if threshold is None:
        return Split(-np.inf, members, members[:0])
    low = share <= threshold
    # The best single endmember explains the largest squared singular value.
    gain = _explained(inside[low]) + _explained(inside[~low]) - _explained(inside)
    return Split(gain, members[~low], members[low])


def _explained(X: NDArray[np.float64]) -> float:
    bands = X.shape[1]
    return float(eigh(X.T @ X, eigvals_only=True, subset_by_index=(bands - 1, bands - 1))[0])


def best_threshold(share: NDArray[np.float64], margin: float) -> float | None:
    """Threshold of shares in [0, 1] that gives parts of similar size with few values near it.

    Minimises -log(F (1 - F)) + exp(G), where F is the fraction of the pixels below the threshold
    and G is the density of pixels within `margin` of it (1 for uniform shares). None if no
    threshold separates the pixels.

    Examples
    --------
    >>> import numpy as np
    >>> 0.2 < best_threshold(np.array([0.1, 0.1, 0.2, 0.8, 0.9]), 0.05) < 0.8
    True
    """
    ordered = np.sort(share)

    def part_up_to(value: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.searchsorted(ordered, value, side="right") / len(ordered)

    below = part_up_to(THRESHOLDS)
    possible = (below > 0) & (below < 1)
    if not possible.any():
        return None
    thresholds, below = THRESHOLDS[possible], below[possible]
    low, high = np.maximum(thresholds - margin, 0), np.minimum(thresholds + margin, 1)
    crowd = (part_up_to(high) - part_up_to(low)) / (high - low)
    return float(thresholds[np.argmin(np.exp(crowd) - np.log(below * (1 - below)))])


def first_share(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the first of two endmembers in each spectrum, by rank-two NMF.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Not negative.

    Returns
    -------
    share : ndarray of shape (n,)
        Between 0 and 1.
    """
    endmembers = _extreme_pair(X)
    norm = np.linalg.norm(X)
    error = np.inf
    for _ in range(MAX_ITER):
        amounts = two_variable_nnls(endmembers, X)
        endmembers = two_variable_nnls(amounts.T, X.T).T
        before, error = error, float(np.linalg.norm(X - amounts @ endmembers))
        if before - error <= TOLERANCE * norm:
            break
    else:
        raise ConvergenceError(
            f"the rank-two factorisation of HNMF did not converge in {MAX_ITER} iterations; scale "
            "the spectra in another way with normalize."
        )
    amounts = amounts * np.linalg.norm(endmembers, axis=1)
    total = amounts.sum(axis=1)
    return np.divide(amounts[:, 0], total, out=np.zeros(len(X)), where=total > 0)


def _extreme_pair(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two extreme spectra, in the best-fitting plane through the origin.

    They are the longest spectrum, and the one farthest from the line through it.
    """
    bands = X.shape[1]
    _, plane = eigh(X.T @ X, subset_by_index=(bands - 2, bands - 1))
    flat = X @ plane
    longest = flat[np.argmax(np.square(flat).sum(axis=1))]
    across = flat @ np.array([-longest[1], longest[0]])
    widest = flat[np.argmax(np.abs(across))]
    return np.maximum(np.stack([longest, widest]) @ plane.T, 0.0)


def two_variable_nnls(basis: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Non-negative least squares with two variables, in closed form.

    Parameters
    ----------
    basis : ndarray of shape (2, bands)
    X : ndarray of shape (n, bands)

    Returns
    -------
    amounts : ndarray of shape (n, 2)
        Non-negative amounts for which ``amounts @ basis`` is closest to X.
    """
    gram = basis @ basis.T
    toward = X @ basis.T
    own = np.where(np.diag(gram) > 0, np.diag(gram), 1.0)
    # If both amounts are positive, they solve the normal equations. Otherwise one of them is zero,
    # and the better fit with one variable is the solution.
    alone = np.maximum(toward, 0) / own
    better = np.square(alone) * own
    first = better[:, 0] >= better[:, 1]
    amounts = np.where(np.column_stack([first, ~first]), alone, 0.0)
    determinant = gram[0, 0] * gram[1, 1] - gram[0, 1] ** 2
    if determinant > 1e-12 * gram[0, 0] * gram[1, 1]:
        cofactors = np.array([[gram[1, 1], -gram[0, 1]], [-gram[0, 1], gram[0, 0]]])
        both = toward @ cofactors / determinant
        inside = (both >= 0).all(axis=1)
        amounts[inside] = both[inside]
    return amounts
