"""Numbers of clusters that the tree supports, from the heights of its splits.

The height of a split is 1 - the mean co-association of its two sides: the weighted share of runs
that separate two pixels, one from each side. In noise, and in images of one class, the runs do not
agree on any split: the height of the first one is 0.73 at the most. In nearly all scenes with
classes it is 0.79 or more.
"""

from __future__ import annotations

from typing import NamedTuple

from spectrawalk.consensus.tree import ClusterTree

STRUCTURE = 0.75
"""Smallest height of the first split of an image with clusters."""

SUPPORTED = 0.62
"""Smallest height of a supported split: this share of the runs separates its sides."""

LEAST_LIFETIME = 0.05
"""A number of clusters is a level if the next split is lower by at least this much."""

NO_STRUCTURE = "no clear structure"


class Level(NamedTuple):
    """A number of clusters that the runs support."""

    n_clusters: int
    lifetime: float
    """How much lower the next split is: how far this clustering stands out."""


def supported_number(tree: ClusterTree) -> int:
    """Return the largest number of clusters all of whose splits are supported; 1 without structure.

    Examples
    --------
    >>> import numpy as np
    >>> heights = np.array([1.0, 0.9, 0.8, 0.5])
    >>> supported_number(ClusterTree(np.arange(4), np.zeros(4, dtype=int), heights))
    3
    """
    if tree.n_leaves == 1 or tree.height[1] < STRUCTURE:
        return 1
    return int((tree.height >= SUPPORTED).sum())


def supported_levels(tree: ClusterTree) -> list[Level]:
    """List the numbers of clusters, up to the supported one, that stand out; the coarsest first.

    The supported number is always among them. The list is empty without structure.

    Examples
    --------
    >>> import numpy as np
    >>> heights = np.array([1.0, 0.9, 0.8, 0.78, 0.5])
    >>> levels = supported_levels(ClusterTree(np.arange(5), np.zeros(5, dtype=int), heights))
    >>> [(level.n_clusters, round(level.lifetime, 2)) for level in levels]
    [(2, 0.1), (4, 0.28)]
    """
    number = supported_number(tree)
    heights = [*tree.height.tolist(), 0.0]
    levels = [Level(k, heights[k - 1] - heights[k]) for k in range(2, number + 1)]
    return [
        level for level in levels if level.lifetime >= LEAST_LIFETIME or level.n_clusters == number
    ]


def in_words(levels: list[Level]) -> str:
    """Say which numbers of clusters are supported.

    Examples
    --------
    >>> in_words([Level(4, 0.2), Level(9, 0.1)])
    '4 and 9 clusters are supported; 9 is shown'
    >>> in_words([])
    'no clear structure'
    """
    if not levels:
        return NO_STRUCTURE
    numbers = [str(level.n_clusters) for level in levels]
    if len(numbers) == 1:
        return f"{numbers[0]} clusters are supported"
    listed = " and ".join([", ".join(numbers[:-1]), numbers[-1]])
    return f"{listed} clusters are supported; {numbers[-1]} is shown"
