"""HDBSCAN with a smallest cluster that gives the number of clusters asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster

from spectrawalk.baselines.base import Baseline
from spectrawalk.baselines.dbscan import join_nearest
from spectrawalk.parameters import check_integer
from spectrawalk.prepare.principal import centred_blocks, principal_directions

SMALLEST = 5
"""Pixels of the smallest cluster that is tried first."""

STEP = 1.25
"""Ratio of consecutive sizes that are tried."""


class HDBSCAN(Baseline):
    """Hierarchical density-based clustering (Campello, Moulavi and Sander, 2013).

    HDBSCAN has no parameter for the number of clusters, so the size of its smallest cluster is
    chosen without ground truth: on a geometric grid, by bisection, as the number of clusters falls
    while this size grows. If no size gives `n_clusters`, the one that came closest is used. Noise
    pixels join the cluster of the nearest pixel that has one.

    The spectra are projected onto their leading principal components, as is usual before HDBSCAN,
    because its trees are slow in many dimensions.

    Parameters
    ----------
    n_clusters : int
        Number of clusters asked for; ``n_clusters_`` is the number found.
    normalize : {"pixel", "band", "global", None}
        Scaling of the input.
    n_components : int
        Number of principal components.
    min_samples : int
        Number of spectra, the pixel itself included, from which the density of a pixel is taken;
        20 as in diffusion learning.
    random_state : ignored
        The method is not random.

    Attributes
    ----------
    min_cluster_size_ : int
        The size chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.baselines import HDBSCAN
    >>> line = np.column_stack([np.arange(40.0), np.ones(40)])
    >>> line[20:] += 30
    >>> HDBSCAN(2, min_samples=3, normalize=None).fit(line).n_clusters_
    2
    """

    _reaches_n_clusters = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "pixel",
        n_components: int = 10,
        min_samples: int = 20,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.n_components = n_components
        self.min_samples = min_samples
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.int64]:
        min_samples = min(check_integer("min_samples", self.min_samples, 1), len(X))
        count = check_integer("n_components", self.n_components, 1)
        middle = X.mean(axis=0)
        directions = principal_directions(centred_blocks(X, middle), count)
        leading = np.concatenate([block @ directions for block in centred_blocks(X, middle)])
        sizes = _sizes(len(X))
        best = np.zeros(len(X), dtype=np.int64)
        best_miss: float = np.inf
        low, high = 0, len(sizes) - 1
        while low <= high and best_miss > 0:
            middle_place = (low + high) // 2
            labels = cluster.HDBSCAN(
                min_cluster_size=sizes[middle_place], min_samples=min_samples,
                algorithm="kd_tree", copy=False,
            ).fit_predict(leading)  # fmt: skip
            found = int(labels.max()) + 1
            if found and abs(found - n_clusters) < best_miss:
                best_miss, best = abs(found - n_clusters), labels
                self.min_cluster_size_ = sizes[middle_place]
            if found > n_clusters:
                low = middle_place + 1
            else:
                high = middle_place - 1
        if best_miss == np.inf:
            self.min_cluster_size_ = len(X)
        return join_nearest(leading, best)


def _sizes(n: int) -> list[int]:
    """Sizes to try, from few pixels to half of the image.

    Examples
    --------
    >>> _sizes(20)
    [5, 6, 8, 10]
    """
    smallest = min(SMALLEST, n)
    steps = int(np.log(max(n / 2 / smallest, 1)) / np.log(STEP)) + 1
    return sorted({max(2, round(smallest * STEP**step)) for step in range(steps)})
