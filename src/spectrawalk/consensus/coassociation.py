"""Co-association of pixels over runs (evidence accumulation), and small groups.

The co-association of two pixels is the share of runs that put them into one cluster (Fred and Jain,
2005). Pixels with nearly the same labels in all runs form small groups, which `tree.py` merges.

References
----------
A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE
Transactions on Pattern Analysis and Machine Intelligence 27, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAME_GROUP = 15 / 16
"""Co-association from which on two pixels belong to the same small group."""


def indicator_matrix(
    runs: Sequence[NDArray[np.integer]], numbers: Sequence[int] | None = None
) -> NDArray[np.float32]:
    """Binary indicator matrix of all clusters of all runs, shape (n, clusters of all runs).

    It is scaled so that the inner product of two rows is the co-association of the two pixels.

    Parameters
    ----------
    runs : list of ndarray of int, shape (n,)
        Labels of each run, from 0.
    numbers : list of int, optional
        Number of clusters of each run. In a sample of the pixels, the last ones may be missing.
    """
    if numbers is None:
        numbers = [int(run.max()) + 1 for run in runs]
    columns = [run[:, None] == np.arange(number) for run, number in zip(runs, numbers, strict=True)]
    return np.concatenate(columns, axis=1).astype(np.float32) / np.float32(np.sqrt(len(runs)))


def small_groups(indicators: NDArray[np.float32], wanted: int) -> NDArray[np.intp]:
    """Group pixels that have nearly the same labels in all runs; at most `wanted` groups.

    The most frequent rows, each different enough from those before it, are the group centres. Each
    other row joins the centre with the largest co-association.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])]
    >>> indicators = indicator_matrix(runs)
    >>> small_groups(indicators, 2).tolist(), small_groups(indicators, 3).tolist()
    ([1, 1, 0, 0, 0, 0], [1, 1, 2, 0, 0, 0])
    """
    index, first, count = distinct_rows(indicators > 0)
    rows = indicators[first]
    centers: list[int] = []
    for row in np.argsort(-count, kind="stable"):
        if len(centers) == wanted:
            break
        if not centers or (rows[centers] @ rows[row]).max() < SAME_GROUP - 1e-3:
            centers.append(int(row))
    nearest = (rows @ rows[centers].T).argmax(axis=1)
    return nearest[index]


def distinct_rows(
    rows: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct rows in lexicographic order.

    NumPy's `unique` sorts whole rows, which is 20 times slower.

    Returns
    -------
    number : ndarray of int, shape (n,)
        Number of each row.
    first, count : ndarray of int, shape (distinct rows,)
        Index of the first occurrence of each distinct row, and how often it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> number, first, count = distinct_rows(np.array([[1, 1], [0, 1], [1, 1]], dtype=bool))
    >>> number.tolist(), first.tolist(), count.tolist()
    ([1, 0, 1], [1, 0], [1, 2])
    """
    width = -(-rows.shape[1] // 64) * 8
    packed = np.zeros((len(rows), width), dtype=np.uint8)
    packed[:, : -(-rows.shape[1] // 8)] = np.packbits(rows, axis=1)
    number = np.zeros(len(rows), dtype=np.intp)
    for word in packed.view(">u8").T:  # 64 columns, the first one in the highest bit
        _, value = np.unique(word, return_inverse=True)
        _, number = np.unique(number * (int(value.max()) + 1) + value, return_inverse=True)
    _, first, count = np.unique(number, return_index=True, return_counts=True)
    return number, first, count


def group_means(
    indicators: NDArray[np.float32], group: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Number of pixels of each group, and its mean row."""
    size = np.bincount(group)
    sums = np.stack([np.bincount(group, column, minlength=len(size)) for column in indicators.T])
    return size, sums.T / size[:, None]
