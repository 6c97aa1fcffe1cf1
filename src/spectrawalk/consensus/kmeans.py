"""K-means runs: clusterings of the spectra without a graph, plain and with spatial smoothing.

If the classes are compact groups of spectra, scattered over the image in many patches, K-means
finds them, and SRDL runs with a spatial window do not. K-means alone ignores space. A hidden Markov
random field (Zhang et al., 2001) adds the influence of the neighbouring pixels, from weak to
strong.

References
----------
Y. Zhang, M. Brady and S. Smith, "Segmentation of brain MR images through a hidden Markov random
field model and the expectation-maximization algorithm", IEEE Transactions on Medical Imaging 20,
2001.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk.consensus.features import Projection
from spectrawalk.srdl.neighbors import number_pixels
from spectrawalk.threads import one_thread

STARTS = 10
"""Starts of K-means; the best one counts."""

SAMPLE = 10_000
"""Largest number of pixels on which the means are fitted."""

_MAX_ITER = 25
"""Largest number of iterations of the Markov random field."""

_CONVERGED = 1e-3
"""It has converged when at most this share of the pixels changes its cluster."""


class MeansRule(NamedTuple):
    """How a K-means run labels any pixel: with the label of the largest score.

    The score of label j for features x is ``x @ weights[:, j] + offsets[j]``. It is the squared
    distance to the mean, divided by -2 s^2, but for a term that is the same for all labels. With a
    Markov random field, neighbours add ``strength`` times their memberships.
    """

    weights: NDArray[np.float64]
    """Shape (features, labels)."""
    offsets: NDArray[np.float64]
    """Shape (labels,)."""
    strength: float
    """Influence of a neighbour; 0 without a Markov random field."""


def rule_of_means(
    means: NDArray[np.float64], variance: float = 0.5, strength: float = 0.0
) -> MeansRule:
    """Rule of a run with these means, shape (labels, features), and the variance inside clusters.

    Examples
    --------
    >>> import numpy as np
    >>> rule = rule_of_means(np.array([[1.0], [10.0]]))
    >>> (np.array([[5.0], [6.0]]) @ rule.weights + rule.offsets).argmax(axis=1).tolist()
    [0, 1]
    """
    scale = 1 / max(2 * variance, 1e-300)
    return MeansRule(2 * scale * means.T, -scale * np.square(means).sum(axis=1), strength)


def of_spectra(rule: MeansRule | None, projection: Projection) -> MeansRule | None:
    """Turn a rule for features into one for the spectra that they were projected from."""
    if rule is None:
        return None
    weights = projection.directions @ rule.weights
    return MeansRule(weights, rule.offsets - projection.mean @ weights, rule.strength)


def kmeans(
    points: NDArray[np.float64], n_clusters: int, seed: int
) -> tuple[NDArray[np.int32], MeansRule]:
    """Labels by K-means. For a large image, the means are fitted on a sample of the pixels.

    The sample is spread evenly over the values of the first feature, and is in their order. So the
    labels do not depend on the order of the pixels: an image may be turned.
    """
    from sklearn.cluster import KMeans  # slow to import, and only needed here

    first = points[:, 0] - points[:, 0].mean()
    # The sign of a component is arbitrary. A positive skewness fixes it.
    order = np.argsort(first if np.sum(first**3) >= 0 else -first, kind="stable")
    sample = points[
        order[np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).round().astype(int)]
    ]
    with one_thread(openmp=True):
        found = KMeans(n_clusters, n_init=STARTS, random_state=seed).fit(sample)
        labels = found.predict(points).astype(np.int32)
    return labels, rule_of_means(found.cluster_centers_)


@contextmanager
def several_runs() -> Iterator[None]:
    """Let threads share K-means runs inside a ``with`` block.

    Settings of the process, which the threads would change under each other's hands, are made once.
    """
    from sklearn.exceptions import ConvergenceWarning

    with one_thread(openmp=True), warnings.catch_warnings():
        # There are fewer distinct points than clusters. Callers that need all clusters check.
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def spatial_kmeans(
    points: NDArray[np.float64],
    mask: NDArray[np.bool_],
    labels: NDArray[np.uint8] | NDArray[np.int32],
    strength: float,
    neighbors: csr_array | None = None,
) -> tuple[NDArray[np.int32], MeansRule]:
    """K-means with a hidden Markov random field on the eight neighbours of each pixel.

    The membership of a pixel in a cluster is proportional to exp(-d^2 / 2 s^2 + strength * v). Here
    d is the distance to the cluster mean, s^2 is the variance inside clusters, and v is the sum of
    the memberships of the neighbours, each divided by its distance in pixels. Means, variance and
    memberships are updated in turn by expectation maximisation. (Zhang et al., 2001, use the labels
    of the neighbours in place of their memberships.)

    Parameters
    ----------
    points : ndarray of shape (n, m)
    mask : ndarray of bool, shape (rows, cols)
        Valid pixels of the image.
    labels : ndarray of int, shape (n,)
        Labels to start from.
    strength : float
        Influence of a neighbour; 0 for none.
    neighbors : csr_array, optional
        As from :func:`neighbor_weights`, if several runs on one image share it.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.repeat([[0.0, 1.0]], 5, axis=1).repeat(5, axis=0)  # left 0, right 1
    >>> image[2, 2] = 0.52
    >>> points, mask = image.reshape(-1, 1), np.ones((5, 10), dtype=bool)
    >>> start = (points[:, 0] > 0.5).astype(np.int32)
    >>> spatial_kmeans(points, mask, start, 0.0)[0].reshape(5, 10)[2].tolist()
    [0, 0, 1, 0, 0, 1, 1, 1, 1, 1]
    >>> spatial_kmeans(points, mask, start, 4.0)[0].reshape(5, 10)[2].tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    squares = np.square(points).sum(axis=1)[:, None]
    membership = np.eye(int(labels.max()) + 1)[labels]
    neighbors = neighbor_weights(mask) if neighbors is None else neighbors
    with one_thread():
        total = points.T @ points
        for _ in range(_MAX_ITER):
            size = np.maximum(membership.sum(axis=0), 1e-9)
            means = (membership.T @ points) / size[:, None]
            d2 = np.maximum(squares - 2 * points @ means.T + np.square(means).sum(axis=1), 0)
            scatter = (total - (means.T * size) @ means) / len(points)
            # The mean variance, weighted by itself: directions with little variance count little.
            variance = np.square(scatter).sum() / max(float(np.trace(scatter)), 1e-300)
            score = strength * (neighbors @ membership) - d2 / max(2 * variance, 1e-300)
            score -= score.max(axis=1, keepdims=True)
            membership = np.exp(score)
            membership /= membership.sum(axis=1, keepdims=True)
            before, labels = labels, membership.argmax(axis=1).astype(np.int32)
            if np.count_nonzero(labels != before) <= _CONVERGED * len(points):
                break
    return labels.astype(np.int32, copy=False), rule_of_means(means, float(variance), strength)


def neighbor_weights(mask: NDArray[np.bool_]) -> csr_array:
    """Weights of the valid neighbours of each valid pixel, shape (n, n)."""
    number = np.pad(number_pixels(mask), 1, constant_values=-1)
    rows, cols = np.nonzero(number >= 0)
    steps = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    near = np.stack([number[rows + down, cols + right] for down, right in steps], axis=1)
    weights = [1 / np.hypot(down, right) for down, right in steps]
    pixel, step = np.nonzero(near >= 0)
    weight = np.array(weights)[step]
    return csr_array((weight, (pixel, near[pixel, step])), shape=(len(rows), len(rows)))
