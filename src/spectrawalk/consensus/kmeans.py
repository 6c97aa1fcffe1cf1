"""Clouds: clusterings of the spectra without a graph, plain and with a say of the neighbours.

Where classes are compact clouds of spectra, scattered over the image in many patches, K-means finds
them and walks in windows do not. K-means alone is blind to space: a pixel's neighbours get a vote,
from a weak one to a strong one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk.consensus.features import FeatureSet
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.srdl.neighbors import number_pixels
from spectrawalk.threads import one_thread

STRENGTHS = (1.0, 2.0, 4.0)
"""Say of a neighbour, from weak to strong: log-odds that its membership adds."""

SAMPLE = 10_000
"""Pixels, drawn evenly over the image, that the means are fitted on."""

_MOST_STEPS = 25
_SETTLED = 1e-3
"""Share of the pixels that may still change their cluster in the last step."""


def kmeans_runs(
    views: list[FeatureSet], mask: NDArray[np.bool_], n_clusters: int, seed: int
) -> Iterator[NDArray[np.int32]]:
    """Labels by K-means in every view, and from there with neighbours in the view not smoothed.

    A view that is only there smoothed is taken as it is.
    """
    plain = {view.name: view.points for view in views if not view.smoothed}
    for view in views:
        labels = kmeans_labels(view.points, n_clusters, seed)
        yield labels
        for strength in STRENGTHS:
            yield spatial_kmeans(plain.get(view.name, view.points), mask, labels, strength)


def kmeans_labels(
    points: NDArray[np.float64], n_clusters: int, seed: int, starts: int = 10
) -> NDArray[np.int32]:
    """Labels by K-means, whose means are fitted on a sample of a large image."""
    from sklearn.cluster import KMeans  # slow to load: only this mode waits for it
    from sklearn.exceptions import ConvergenceWarning

    sample = points[draw_pixels(len(points), SAMPLE, seed)]
    with one_thread(openmp=True), warnings.catch_warnings():
        # Fewer distinct points than clusters; who needs all clusters counts them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(n_clusters, n_init=starts, random_state=seed).fit(sample)
        return found.predict(points).astype(np.int32)


def spatial_kmeans(
    points: NDArray[np.float64],
    mask: NDArray[np.bool_],
    labels: NDArray[np.int32],
    strength: float,
) -> NDArray[np.int32]:
    """K-means in which the eight neighbours of a pixel have a say: a hidden Markov random field.

    A pixel's membership in a cluster is proportional to exp(-d^2 / 2 s^2 + strength * v), with the
    distance d to the cluster's mean, the spread s inside clusters, and the votes v of its
    neighbours: the sum of their memberships, each over its distance. Means, spread and memberships
    are worked out in turn.

    Parameters
    ----------
    points : ndarray of shape (n, m)
    mask : ndarray of bool, shape (rows, cols)
        Where they lie.
    labels : ndarray of int, shape (n,)
        Where to start.
    strength : float
        Say of a neighbour; 0 for none.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.repeat([[0.0, 1.0]], 5, axis=1).repeat(5, axis=0)  # left 0, right 1
    >>> image[2, 2] = 0.52
    >>> points, mask = image.reshape(-1, 1), np.ones((5, 10), dtype=bool)
    >>> start = (points[:, 0] > 0.5).astype(np.int32)
    >>> spatial_kmeans(points, mask, start, 0.0).reshape(5, 10)[2].tolist()
    [0, 0, 1, 0, 0, 1, 1, 1, 1, 1]
    >>> spatial_kmeans(points, mask, start, 4.0).reshape(5, 10)[2].tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    squares = np.square(points).sum(axis=1)[:, None]
    membership = np.eye(int(labels.max()) + 1)[labels]
    neighbors = _neighbors(mask)
    with one_thread():
        total = points.T @ points
        for _ in range(_MOST_STEPS):
            size = np.maximum(membership.sum(axis=0), 1e-9)
            means = (membership.T @ points) / size[:, None]
            d2 = np.maximum(squares - 2 * points @ means.T + np.square(means).sum(axis=1), 0)
            scatter = (total - (means.T * size) @ means) / len(points)
            # As wide as in the directions that hold the scatter, not in all those that hold little.
            spread = np.square(scatter).sum() / max(float(np.trace(scatter)), 1e-300)
            score = strength * (neighbors @ membership) - d2 / max(2 * spread, 1e-300)
            score -= score.max(axis=1, keepdims=True)
            membership = np.exp(score)
            membership /= membership.sum(axis=1, keepdims=True)
            before, labels = labels, membership.argmax(axis=1).astype(np.int32)
            if np.count_nonzero(labels != before) <= _SETTLED * len(points):
                break
    return labels


def _neighbors(mask: NDArray[np.bool_]) -> csr_array:
    """Weights of the valid neighbours of each valid pixel, shape (n, n)."""
    number = np.pad(number_pixels(mask), 1, constant_values=-1)
    rows, cols = np.nonzero(number >= 0)
    steps = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    near = np.stack([number[rows + down, cols + right] for down, right in steps], axis=1)
    weights = [1 / np.hypot(down, right) for down, right in steps]
    pixel, step = np.nonzero(near >= 0)
    weight = np.array(weights)[step]
    return csr_array((weight, (pixel, near[pixel, step])), shape=(len(rows), len(rows)))
