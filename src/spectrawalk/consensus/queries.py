"""Ask a person a little: which pixels to ask about, and how far an answer reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from spectrawalk.consensus.coassociation import consensus_of, distinct_rows, group_means
from spectrawalk.srdl.numbering import number_by_size
from spectrawalk.threads import one_thread

NEARLY = 0.02
"""Pixels of a part that the runs tie to it to within this are as good as each other."""

COORDINATES = 12
"""Principal coordinates of the stacked labels in which they are cut, or 2/3 of the parts."""


def parts_of(
    runs: Sequence[NDArray[np.integer]], stacked: NDArray[np.float32], count: int
) -> NDArray[np.intp]:
    """Cut the pixels into at most `count` parts, numbered by decreasing size.

    Up to as many as a run has clusters, the consensus of the runs that are not finer. Beyond that,
    K-means on the stacked labels: average linkage would spend questions on lone outliers.
    """
    from sklearn.cluster import KMeans  # slow to load: only this mode waits for it

    fewest = min(int(run.max()) for run in runs) + 1
    if count <= fewest:
        coarse = [run for run in runs if run.max() < fewest]
        return consensus_of(coarse, count).labels.astype(np.intp)
    part, first, _ = distinct_rows(stacked > 0)
    if len(first) > count:
        centred = stacked.astype(np.float64) - stacked.mean(axis=0, dtype=np.float64)
        with one_thread(openmp=True):
            _, directions = np.linalg.eigh(centred.T @ centred)
            leading = centred @ directions[:, : -max(COORDINATES, 2 * count // 3) - 1 : -1]
            part = KMeans(count, n_init=2, max_iter=100, random_state=0).fit_predict(leading)
        part = np.unique(part, return_inverse=True)[1]
    labels, _ = number_by_size(part)
    return labels.astype(np.intp)


def middles(
    part: NDArray[np.intp], stacked: NDArray[np.float32], mask: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Pixel of each part that the runs tie to it most; of those as good, the farthest inside it."""
    _, middle = group_means(stacked, part)
    tie = np.einsum("ij,ij->i", stacked, middle[part].astype(np.float32))
    most = np.full(len(middle), -np.inf)
    np.maximum.at(most, part, tie)
    inside = _depths(part, mask) * (tie > most[part] - NEARLY)
    order = np.lexsort((np.arange(len(part)), -tie, -inside, part))
    _, first = np.unique(part[order], return_index=True)
    return order[first]


def _depths(part: NDArray[np.intp], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How far each pixel lies from what is not its part; of a table 1."""
    depths = np.ones(len(part))
    if mask.ndim == 2:
        for number in range(int(part.max()) + 1):
            own = np.zeros(mask.shape, dtype=bool)
            own[mask] = part == number
            depths[part == number] = distance_transform_edt(np.pad(own, 1))[1:-1, 1:-1][own]
    return depths


def spread_answers(
    part: NDArray[np.intp], stacked: NDArray[np.float32], told: Mapping[int, int]
) -> NDArray[np.int32]:
    """Give every pixel the answer that the runs tie its part to most.

    Parameters
    ----------
    part : ndarray of int, shape (n,)
    stacked : ndarray of shape (n, clusters)
        As from :func:`spectrawalk.consensus.coassociation.stack_labels`.
    told : mapping of int to int
        Number of the answer, from 0, for some pixels.

    Returns
    -------
    labels : ndarray of int32, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> stacked = np.eye(3, dtype=np.float32)[[0, 0, 1, 2]]
    >>> spread_answers(np.array([0, 0, 1, 2]), stacked, {0: 1, 2: 0, 3: 1}).tolist()
    [1, 1, 0, 1]
    """
    asked = np.fromiter(told, dtype=np.intp)
    answer = np.fromiter(told.values(), dtype=np.int32)
    _, middle = group_means(stacked, part)
    similarity = middle.astype(np.float32) @ stacked[asked].T
    # An answer from inside a part counts before all others.
    similarity[part[asked], np.arange(len(asked))] += 2.0
    labels = answer[similarity.argmax(axis=1)][part]
    labels[asked] = answer
    return labels
