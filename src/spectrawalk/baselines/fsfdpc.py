"""FSFDPC: clustering by fast search and find of density peaks (Rodriguez and Laio, 2014)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.baselines.base import Baseline
from spectrawalk.errors import StructureError
from spectrawalk.parameters import check_number
from spectrawalk.srdl.density import density_ranking
from spectrawalk.srdl.labels import Consensus, label_pixels
from spectrawalk.srdl.modes import nearest_denser

BLOCK_ENTRIES = 2**20
"""Number of distances that are kept in memory at a time (8 MB)."""

BINS = 2**16
"""Number of histogram bins from which the quantile of all distances is computed."""


class FSFDPC(Baseline):
    """Density peaks in Euclidean distance.

    The density of a pixel is the sum of exp(-(d / d_c)^2) over all others. Centres are the K
    pixels with the largest product of density and distance to the nearest denser pixel; every
    other pixel follows its nearest denser one. Distances are computed in blocks and not kept.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default None (raw values): it is closest to the paper's result on
        Salinas A. On the Indian Pines subset, None and ``"band"`` are closest, within .01 of each
        other.
    neighbor_share : float
        Share of all pairs with a distance below d_c. The authors of the method recommend .01 to
        .02.
    random_state : ignored
        The method is not random.

    Attributes
    ----------
    centers_ : ndarray of shape (n_clusters,)
        Indices of the density peaks among the valid pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import FSFDPC
    >>> rng = np.random.default_rng(0)
    >>> blobs = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(9, 1, (40, 2))])
    >>> np.bincount(FSFDPC(2).fit_predict(blobs)).tolist()
    [60, 40]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = None,
        neighbor_share: float = 0.02,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.neighbor_share = neighbor_share
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int32]:
        share = check_number("neighbor_share", self.neighbor_share)
        X = X - X.mean(axis=0)  # smaller numbers have a smaller rounding error when they cancel
        density = gaussian_density(X, distance_quantile(X, share))
        ranking = density_ranking(density)
        parent, separation = nearest_denser(X, ranking)
        prominence = density * separation
        prominence[ranking[0]] = np.inf  # the densest pixel has no denser one
        n_peaks = np.count_nonzero(prominence > 0)
        if n_peaks < n_clusters:
            raise StructureError(
                f"n_clusters={n_clusters} but there are only {n_peaks} density peaks; ask for "
                "fewer clusters."
            )
        centers = np.argsort(-prominence, kind="stable")[:n_clusters]
        self.centers_ = centers
        return label_pixels(
            X, ranking, parent, centers, np.ones(len(X), dtype=bool), Consensus(radius=0)
        )


def distance_quantile(X: NDArray[np.float64], share: float) -> float:
    """Quantile of the distances of all pairs, with an error of 1 / 65536 of the largest possible.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Centred.
    share : float

    Examples
    --------
    >>> import numpy as np
    >>> round(distance_quantile(np.array([[-1.5, 0], [-0.5, 0], [0.5, 0], [1.5, 0]]), 0.5), 3)
    1.0
    """
    n = len(X)
    upper = 2 * np.sqrt(np.square(X).sum(axis=1).max())
    counts = np.zeros(BINS + 1, dtype=np.int64)
    for _, distance in _distance_blocks(X, "distances"):
        number = (distance * (BINS / upper)).astype(np.int32)
        counts += np.bincount(np.minimum(number, BINS).ravel(), minlength=BINS + 1)
    counts[0] -= n  # without the pairs of a pixel with itself
    below = np.cumsum(counts)
    bin_number = int(np.searchsorted(below, min(share, 1.0) * n * (n - 1)))
    return float(upper * (bin_number + 1) / BINS)


def gaussian_density(X: NDArray[np.float64], cutoff: float) -> NDArray[np.float64]:
    """Sum of exp(-(d / cutoff)^2) over all other rows of `X`, for each row."""
    density = np.empty(len(X))
    for start, distance in _distance_blocks(X, "density"):
        rows = np.arange(len(distance))
        kernel = np.exp(-np.square(distance / cutoff))
        kernel[rows, start + rows] = 0.0
        density[start : start + len(rows)] = kernel.sum(axis=1)
    return density


def _distance_blocks(
    X: NDArray[np.float64], stage: str
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the distances from some rows to all rows, with the index of the first of them."""
    length2 = np.square(X).sum(axis=1)
    size = max(1, BLOCK_ENTRIES // len(X))
    for start in progress.track(stage, range(0, len(X), size)):
        block = slice(start, start + size)
        d2 = length2[block, None] + length2 - 2 * (X[block] @ X.T)
        yield start, np.sqrt(np.maximum(d2, 0.0))
