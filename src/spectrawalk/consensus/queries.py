"""Active learning on the tree: choose the pixels to query, and propagate their labels.

A query represents the pixels that the runs put together with it. The leaves of the tree are chosen
greedily: each one is the leaf that adds most to the number of pixels that are represented (facility
location; Wei, Iyer and Bilmes, 2015). So large groups on which the runs disagree are divided before
small ones, and no query is spent on an outlier. Each leaf joins the query that represents it best.
These are the parts, and the query moves to the most central pixel of its part.

References
----------
K. Wei, R. Iyer and J. Bilmes, "Submodularity in data subset selection and active learning",
International Conference on Machine Learning, 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from spectrawalk.threads import one_thread

REPRESENTED = 4
"""Power of the co-association: two pixels that half of the runs put together are rarely of one
class, so they hardly represent each other."""

COARSEST = 0.5
"""Runs with fewer clusters than this times the queries are left out: they put parts together that
the answers tell apart."""

EQUALLY_CENTRAL = 0.02
"""Pixels of a part whose co-association with it differs by less than this are equally central."""

MOST_UNKNOWN = 2
"""Pixels of a leaf without a known class after which no more of its pixels are queried. In most
images whole regions have no ground truth."""

PARTS = 8
"""Smallest number of new parts, also if fewer pixels are queried: the middle of one large part
rarely represents it."""

_AT_ONCE = 2**16  # pixels whose labels are propagated at a time


class LeafShares(NamedTuple):
    """Leaves of the tree, and how they are spread over the clusters of the runs."""

    leaf: NDArray[np.int32]
    """Leaf of each pixel, shape (n,)."""
    size: NDArray[np.intp]
    """Pixels of each leaf, shape (leaves,)."""
    shares: list[NDArray[np.float64]]
    """Of each run: share of each leaf's pixels in each of its clusters, shape (leaves, clusters)"""
    runs: NDArray[np.integer]
    """Labels of each run, shape (runs, n)."""
    weights: NDArray[np.float64]
    """How much each run counts; the sum is 1."""

    @classmethod
    def of(
        cls,
        runs: NDArray[np.integer],
        weights: NDArray[np.float64],
        leaf: NDArray[np.int32],
    ) -> LeafShares:
        """Count the pixels of each leaf in each cluster of each run."""
        size = np.bincount(leaf)
        shares = []
        for run in runs:
            n_clusters = int(run.max()) + 1
            both = np.bincount(
                leaf * np.intp(n_clusters) + run, minlength=len(size) * n_clusters
            ).reshape(-1, n_clusters)
            shares.append(both / np.maximum(size, 1)[:, None])
        return cls(leaf, size, shares, runs, weights)

    def between_leaves(self) -> NDArray[np.float64]:
        """Mean co-association of the pixels of two leaves, shape (leaves, leaves)."""
        each = zip(self.weights, self.shares, strict=True)
        return np.sum([weight * (share @ share.T) for weight, share in each], axis=0)

    def of_pixels(self, pixels: NDArray[np.intp]) -> NDArray[np.float64]:
        """Mean co-association of some pixels with each leaf, shape (pixels, leaves)."""
        found = np.zeros((len(pixels), len(self.size)))
        for run, weight, share in zip(self.runs, self.weights, self.shares, strict=True):
            found += weight * share.T[run[pixels]]
        return found

    def inside(self, pixels: NDArray[np.intp], leaves: NDArray[np.intp]) -> NDArray[np.float64]:
        """Mean co-association of some pixels with all pixels of some leaves, shape (pixels,)."""
        part = self.size[leaves] / self.size[leaves].sum()
        found = np.zeros(len(pixels))
        for run, weight, share in zip(self.runs, self.weights, self.shares, strict=True):
            found += (weight * (part @ share[leaves]))[run[pixels]]
        return found


def fine_runs(runs: NDArray[np.integer], n_queries: int) -> NDArray[np.intp]:
    """Runs with at least half as many clusters as there are queries; else those with most clusters.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]])
    >>> fine_runs(runs, 6).tolist(), fine_runs(runs, 100).tolist()
    ([1, 2], [2])
    """
    numbers = runs.max(axis=1).astype(np.intp) + 1
    return np.flatnonzero(numbers >= min(COARSEST * n_queries, numbers.max()))


def choose_pixels(
    found: LeafShares, mask: NDArray[np.bool_], budget: int, asked: Mapping[int, bool]
) -> NDArray[np.intp]:
    """Choose the pixels to query next, the most useful first.

    Where the class of all pixels queried in a leaf is unknown, another pixel of this leaf comes
    first. All others are those of the parts that represent most pixels. If there are more queries
    than leaves, the largest leaves are queried again.

    Parameters
    ----------
    found : LeafShares
    mask : ndarray of bool
        Valid pixels of the image.
    budget : int
        Number of pixels to choose.
    asked : mapping of int to bool
        Pixels queried before, and whether their class is known.

    Returns
    -------
    ndarray of int, shape (at most budget,)
        Numbers of pixels among the valid ones; none of those in `asked`.

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 1]], dtype=np.uint8)
    >>> found = LeafShares.of(runs, np.full(2, 0.5), np.array([0, 0, 0, 1, 1, 2], dtype=np.int32))
    >>> choose_pixels(found, np.ones(6, dtype=bool), 2, {}).tolist()
    [0, 3]
    >>> choose_pixels(found, np.ones(6, dtype=bool), 2, {0: False, 3: True}).tolist()
    [1, 5]
    """
    free = np.ones(len(found.leaf), dtype=bool)
    free[list(asked)] = False
    with one_thread():
        chosen = _again(found, mask, free, asked)[:budget]
        free[chosen] = False
        before = np.array([*asked, *chosen], dtype=np.intp)
        chosen += _new(found, mask, free, before, budget - len(chosen))
    free[chosen] = False
    queried = np.bincount(found.leaf[~free], minlength=len(found.size))
    chosen += _more(found, free, queried, budget - len(chosen))
    return np.array(chosen, dtype=np.intp)


def _again(
    found: LeafShares,
    mask: NDArray[np.bool_],
    free: NDArray[np.bool_],
    asked: Mapping[int, bool],
) -> list[int]:
    """Another pixel of each leaf in which all pixels queried so far are of unknown class."""
    pixels = np.array(list(asked), dtype=np.intp)
    known = np.array(list(asked.values()), dtype=bool)
    leaf = found.leaf[pixels]
    unknown = np.bincount(leaf[~known], minlength=len(found.size))
    unknown[leaf[known]] = 0
    open_ = np.flatnonzero((unknown > 0) & (unknown < MOST_UNKNOWN))
    order = open_[np.argsort(-found.size[open_], kind="stable")]
    each = [_central(found, mask, free, np.array([number]), pixels) for number in order]
    return [pixel for pixel in each if pixel is not None]


def _new(
    found: LeafShares,
    mask: NDArray[np.bool_],
    free: NDArray[np.bool_],
    before: NDArray[np.intp],
    count: int,
) -> list[int]:
    """Central pixel of each of `count` new parts, those that represent most pixels first."""
    if count <= 0:
        return []
    between = found.between_leaves() ** REPRESENTED
    queries = list(
        found.of_pixels(before) ** REPRESENTED
    )  # rows: how well each leaf is represented
    best = np.max(queries, axis=0, initial=0.0) if queries else np.zeros(len(found.size))
    own = dict.fromkeys(found.leaf[before].tolist(), -1)  # leaves with a query, and which one
    centers: list[int] = []
    for _ in range(min(max(count, PARTS), len(found.size) - len(own))):
        gain = np.maximum(between - best, 0.0) @ found.size
        gain[list(own)] = -1.0
        center = int(gain.argmax())
        own[center] = len(centers)
        centers.append(center)
        best = np.maximum(best, between[center])
    if not centers:  # every leaf has a query
        return []
    nearest = between[centers].argmax(axis=0)
    nearest[between[centers].max(axis=0) < best] = -1  # nearer to a pixel queried before
    for number, query in own.items():
        nearest[number] = query
    each = [
        _central(found, mask, free, np.flatnonzero(nearest == query), before)
        for query in range(min(count, len(centers)))
    ]
    return [pixel for pixel in each if pixel is not None]


def _more(
    found: LeafShares, free: NDArray[np.bool_], queried: NDArray[np.intp], count: int
) -> list[int]:
    """Further pixels of leaves that have a query: evenly spread, more in large leaves."""
    left = np.bincount(found.leaf[free], minlength=len(found.size))
    count = min(count, int(left.sum()))
    if count <= 0:
        return []
    # The highest averages, as in d'Hondt's allocation of seats.
    rank = np.arange(1, min(count, int(left.max())) + 1)
    average = found.size[:, None] / (queried[:, None] + rank)
    average[rank > left[:, None]] = -1.0
    taken = np.argsort(-average, axis=None, kind="stable")[:count] // len(rank)
    chosen: list[int] = []
    for number, more in enumerate(np.bincount(taken, minlength=len(left))):
        if more:
            pixels = np.flatnonzero(free & (found.leaf == number))
            chosen += pixels[(2 * np.arange(more) + 1) * len(pixels) // (2 * more)].tolist()
    return chosen


def _central(
    found: LeafShares,
    mask: NDArray[np.bool_],
    free: NDArray[np.bool_],
    leaves: NDArray[np.intp],
    before: NDArray[np.intp],
) -> int | None:
    """Most central pixel of some leaves that has not been queried; None if there is none.

    This is the pixel with the largest mean co-association with them. Of equally central pixels it
    is the one farthest from the edge, and from the pixels queried before.
    """
    own = np.isin(found.leaf, leaves)
    pixels = np.flatnonzero(own & free)
    if not len(pixels):
        return None
    central = found.inside(pixels, leaves)
    depth = np.ones(len(pixels))
    if mask.ndim == 2:
        image = np.zeros(mask.shape, dtype=bool)
        own[before] = False
        image[mask] = own
        depth = distance_transform_edt(np.pad(image, 1))[1:-1, 1:-1][mask][pixels]
    depth[central < central.max() - EQUALLY_CENTRAL] = 0.0
    return int(pixels[np.lexsort((pixels, -central, -depth))[0]])


def propagate_labels(found: LeafShares, known: Mapping[int, int]) -> NDArray[np.int32]:
    """Give every pixel the known label with which it has the largest co-association.

    Labels from inside its leaf have priority over all others.

    Parameters
    ----------
    found : LeafShares
    known : mapping of int to int
        Label, from 0, of some pixels.

    Returns
    -------
    labels : ndarray of int32, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> runs = np.array([[0, 0, 1, 2], [0, 0, 1, 1]], dtype=np.uint8)
    >>> found = LeafShares.of(runs, np.full(2, 0.5), np.array([0, 0, 1, 2], dtype=np.int32))
    >>> propagate_labels(found, {0: 1, 2: 0}).tolist()
    [1, 1, 0, 0]
    """
    queried = np.fromiter(known, dtype=np.intp)
    label = np.fromiter(known.values(), dtype=np.int32)
    inside = 2.0 * (found.leaf[queried] == np.arange(len(found.size))[:, None])
    same = [
        weight * (np.arange(share.shape[1])[:, None] == run[queried])
        for run, weight, share in zip(found.runs, found.weights, found.shares, strict=True)
    ]  # of each run: co-association of each cluster with the queries
    labels = np.empty(len(found.leaf), dtype=np.int32)
    for start in range(0, len(labels), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        near = inside[found.leaf[some]]
        for run, table in zip(found.runs, same, strict=True):
            near += table[run[some]]
        labels[some] = label[near.argmax(axis=1)]
    labels[queried] = label
    return labels
