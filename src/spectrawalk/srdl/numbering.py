"""Number clusters, and components of a graph, by decreasing size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def number_by_size(
    labels: NDArray[np.integer], n_labels: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Renumber labels by decreasing size; of equal sizes, the smaller label comes first.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
        From 0.
    n_labels : int, optional
        How many labels there are, if the last ones may have no pixel.

    Returns
    -------
    labels : ndarray of int32, shape (n,)
    order : ndarray of int, shape (labels,)
        The old label of each new one.

    Examples
    --------
    >>> import numpy as np
    >>> labels, order = number_by_size(np.array([0, 1, 1, 1, 2]))
    >>> labels.tolist(), order.tolist()
    ([1, 0, 0, 0, 2], [1, 0, 2])
    """
    order = np.argsort(-np.bincount(labels, minlength=n_labels or 0), kind="stable")
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number[labels], order
