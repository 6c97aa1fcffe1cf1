"""Agreement of two clusterings of the same pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray


def agreement(first: NDArray[np.integer], second: NDArray[np.integer]) -> float:
    """Normalised mutual information of two clusterings with labels from 0, between 0 and 1.

    The mutual information is divided by the mean of the two entropies. (Strehl and Ghosh, 2002,
    divide by their geometric mean.) The function of the same name in scikit-learn checks its input
    for longer than it computes, and an ensemble has hundreds of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> agreement(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    n_second = int(second.max()) + 1
    joint = np.bincount(first.astype(np.int64) * n_second + second) / len(first)
    each = _entropy(np.bincount(first) / len(first)) + _entropy(np.bincount(second) / len(second))
    return 2 * (each - _entropy(joint)) / each if each > 0 else 1.0


def agreement_across(runs: Sequence[Any], field: str) -> float | None:
    """Mean agreement of all pairs of runs that differ in one field only; None if there are none.

    Parameters
    ----------
    runs : list of BaseClustering
        Or of any named tuples with ``labels``.
    field : str

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.consensus.ensemble import BaseClustering
    >>> labels = np.array([0, 0, 1, 1])
    >>> first = BaseClustering("spectra", False, 3, "near", 0, 0.5, labels)
    >>> runs = [first, first._replace(features="mnf", labels=1 - labels)]
    >>> agreement_across(runs, "features"), agreement_across(runs, "radius")
    (1.0, None)
    """
    groups: dict[tuple[object, ...], list[NDArray[np.integer]]] = {}
    for run in runs:
        others = tuple(
            value for name, value in run._asdict().items() if name not in (field, "labels")
        )
        groups.setdefault(others, []).append(run.labels)
    values = [
        agreement(first, second)
        for group in groups.values()
        for first, second in combinations(group, 2)
    ]
    return float(np.mean(values)) if values else None


def _entropy(shares: NDArray[np.float64]) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log(present)).sum())
