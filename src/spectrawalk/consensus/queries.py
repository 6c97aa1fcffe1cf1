"""Active learning: choose the pixels to query, and propagate their labels to all pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from spectrawalk.consensus.coassociation import consensus_of, distinct_rows, group_means
from spectrawalk.prepare.principal import principal_directions
from spectrawalk.srdl.numbering import number_by_size
from spectrawalk.threads import one_thread

EQUALLY_CENTRAL = 0.02
"""Pixels of a part whose co-association with it differs by less than this are equally central."""

COMPONENTS = 12
"""Principal components of the indicator matrix for K-means, or 2/3 of the parts if more."""


def partition(
    runs: Sequence[NDArray[np.integer]], indicators: NDArray[np.float32], count: int
) -> NDArray[np.intp]:
    """Partition the pixels into at most `count` parts, numbered by decreasing size.

    If `count` is at most the smallest number of clusters of a run, the parts are the consensus of
    the runs with this number. Otherwise they are found by K-means on the indicator matrix. Average
    linkage would use many queries for single outliers.
    """
    from sklearn.cluster import KMeans  # slow to import, and only needed here

    fewest = min(int(run.max()) for run in runs) + 1
    if count <= fewest:
        coarse = [run for run in runs if run.max() < fewest]
        return consensus_of(coarse, count).labels.astype(np.intp)
    part, first, _ = distinct_rows(indicators > 0)
    if len(first) > count:
        centred = indicators.astype(np.float64) - indicators.mean(axis=0, dtype=np.float64)
        with one_thread(openmp=True):
            wanted = max(COMPONENTS, 2 * count // 3)
            leading = centred @ principal_directions([centred], wanted)
            part = KMeans(count, n_init=2, max_iter=100, random_state=0).fit_predict(leading)
        part = np.unique(part, return_inverse=True)[1]
    labels, _ = number_by_size(part)
    return labels.astype(np.intp)


def central_pixels(
    part: NDArray[np.intp], indicators: NDArray[np.float32], mask: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Most central pixel of each part.

    This is the pixel with the largest mean co-association with its part. Of equally central pixels
    it is the one farthest from the edge of the part.
    """
    _, means = group_means(indicators, part)
    coassociation = np.einsum("ij,ij->i", indicators, means[part].astype(np.float32))
    largest = np.full(len(means), -np.inf)
    np.maximum.at(largest, part, coassociation)
    inside = _depths(part, mask) * (coassociation > largest[part] - EQUALLY_CENTRAL)
    order = np.lexsort((np.arange(len(part)), -coassociation, -inside, part))
    _, first = np.unique(part[order], return_index=True)
    return order[first]


def _depths(part: NDArray[np.intp], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Distance in pixels from each pixel to the nearest one outside its part; 1 for a table."""
    depths = np.ones(len(part))
    if mask.ndim == 2:
        for number in range(int(part.max()) + 1):
            own = np.zeros(mask.shape, dtype=bool)
            own[mask] = part == number
            depths[part == number] = distance_transform_edt(np.pad(own, 1))[1:-1, 1:-1][own]
    return depths


def propagate_labels(
    part: NDArray[np.intp], indicators: NDArray[np.float32], known: Mapping[int, int]
) -> NDArray[np.int32]:
    """Give every part the known label with which it has the largest co-association.

    Parameters
    ----------
    part : ndarray of int, shape (n,)
    indicators : ndarray of shape (n, clusters)
        As from :func:`spectrawalk.consensus.coassociation.indicator_matrix`.
    known : mapping of int to int
        Label, from 0, of some pixels.

    Returns
    -------
    labels : ndarray of int32, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> indicators = np.eye(3, dtype=np.float32)[[0, 0, 1, 2]]
    >>> propagate_labels(np.array([0, 0, 1, 2]), indicators, {0: 1, 2: 0, 3: 1}).tolist()
    [1, 1, 0, 1]
    """
    queried = np.fromiter(known, dtype=np.intp)
    label = np.fromiter(known.values(), dtype=np.int32)
    _, means = group_means(indicators, part)
    similarity = means.astype(np.float32) @ indicators[queried].T
    # A label from inside a part has priority over all others.
    similarity[part[queried], np.arange(len(queried))] += 2.0
    labels = label[similarity.argmax(axis=1)][part]
    labels[queried] = label
    return labels
