"""How far two clusterings of the same pixels agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def agreement(first: NDArray[np.integer], second: NDArray[np.integer]) -> float:
    """Normalised mutual information of two labelings from 0, between 0 and 1.

    scikit-learn's function of that name checks its input for longer than it computes, and a family
    has hundreds of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> agreement(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    wide = int(second.max()) + 1
    joint = np.bincount(first.astype(np.int64) * wide + second) / len(first)
    each = _entropy(np.bincount(first) / len(first)) + _entropy(np.bincount(second) / len(second))
    return 2 * (each - _entropy(joint)) / each if each > 0 else 1.0


def mean_agreement(runs: Sequence[NDArray[np.integer]]) -> float:
    """Mean agreement over the pairs of some runs; 1 for a single one."""
    values = [agreement(a, b) for a, b in combinations(runs, 2)]
    return float(np.mean(values)) if values else 1.0


def _entropy(shares: NDArray[np.float64]) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log(present)).sum())
