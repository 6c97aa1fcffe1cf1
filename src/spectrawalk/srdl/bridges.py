"""Algorithm 1 in between: join the parts that a graph falls into, so that a walk reaches all."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from spectrawalk import progress
from spectrawalk.errors import GraphError
from spectrawalk.kernels import edges, neighbors, windows
from spectrawalk.kernels.tree import build_tree
from spectrawalk.srdl.graph import component_numbers
from spectrawalk.srdl.neighbors import leading_coordinates, number_pixels, to_unit, window_size
from spectrawalk.threads import run_blocks, split

_LEAST_BRIDGE = 1e-12
"""Weight of a bridge, as a share of its ends' degrees, below which rounding would undo it."""

_SAMPLED = 64
"""One in so many pixels, and one of each part, is searched for first, to tell how far the others
need to look."""

_LEAST_PIXELS = 16
"""Pixels that are worth the while of a thread."""


def bridge_components(
    W: csr_array,
    X: NDArray[np.float64],
    mask: NDArray[np.bool_],
    scales: NDArray[np.float64],
    radius: int | None,
) -> tuple[csr_array, int]:
    """Join the components of the graph until one remains.

    In every round each component is joined, by one edge in both directions, to its best spectral
    match outside itself. The match is sought in a window around the component's
    pixels; the window starts at `radius` and doubles every round, so near matches are preferred.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    X : ndarray of shape (n, bands)
    mask : ndarray of bool, shape (rows, cols), or (n,) for a table
    scales : ndarray of shape (n,)
        As from :func:`spectrawalk.srdl.graph.local_scales`: a bridge is weighted as any edge, but
        never so weakly that rounding would undo it.
    radius : int or None
        None for no window.

    Returns
    -------
    W : csr_array
        Connected.
    n_components : int
        How many components there were.
    """
    component = component_numbers(W)
    n_components = int(component.max()) + 1
    everything = max(mask.shape)
    reach = everything if radius is None else radius
    search: _Windows | _WholeImage | None = None
    while component.max() > 0:
        progress.report("bridges", n_components - 1 - int(component.max()), n_components - 1)
        if reach < everything:
            search = _Windows(X, mask, reach)
        elif not isinstance(search, _WholeImage):
            search = _WholeImage(X)
        ends, d2 = _best_bridges(search, component)
        if len(d2) == 0 and reach >= everything:
            raise GraphError(
                "the graph falls into parts whose distance is too large for a number; scale the "
                "values down, or use normalize='pixel'."
            )
        W = _add_edges(W, ends, d2, scales)
        component = component_numbers(W)
        reach = min(2 * reach, everything)
    return W, n_components


class _Windows:
    """Search for the nearest spectrum of another group in a window around each pixel."""

    def __init__(self, X: NDArray[np.float64], mask: NDArray[np.bool_], reach: int) -> None:
        self.X, self.reach = X, reach
        mask = np.atleast_2d(mask)
        self.number = number_pixels(mask)
        self.rows, self.cols = (axis.astype(np.int32) for axis in np.nonzero(mask))

    def nearest_outside(
        self, group: NDArray[np.int32], pixels: NDArray[np.intp], owner: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As :meth:`_WholeImage.nearest_outside`, for every pixel."""
        work = window_size(self.number.shape, self.reach) * self.X.shape[1]
        match, d2 = np.empty(len(pixels), dtype=np.int64), np.empty(len(pixels))
        search = partial(
            windows.nearest_outside,
            *(self.X, self.number, self.rows, self.cols, group, pixels, self.reach, match, d2),
        )
        for start, stop in progress.ranges(len(pixels), work):
            run_blocks(search, split(start, stop, _LEAST_PIXELS))
        return match, d2


class _WholeImage:
    """Search for the nearest spectrum of another group among all."""

    def __init__(self, X: NDArray[np.float64]) -> None:
        self.X, self.scale = X, to_unit(X)
        leads, self.slack = leading_coordinates(X, X.mean(axis=0), self.scale)
        self.tree = build_tree(leads)
        self.place = np.argsort(self.tree.rank)

    def nearest_outside(
        self, group: NDArray[np.int32], pixels: NDArray[np.intp], owner: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Match of each pixel and their squared distance, for the nearest of each owner at least.

        The others get -1 and infinity: that they are not the nearest is often told at a glance.
        """
        shared = neighbors.shared_groups(self.tree, group)
        limit = np.full(int(owner.max()) + 1, np.inf)

        def search(some: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
            match, d2 = np.empty(len(some), dtype=np.int64), np.empty(len(some))
            places, limits = self.place[pixels[some]], limit[owner[some]]
            find = partial(
                neighbors.nearest_outside,
                *(self.tree, self.X, group, shared, self.scale, self.slack),
                *(places, limits, match, d2),
            )
            run_blocks(find, split(0, len(some), _LEAST_PIXELS))
            return match, d2

        everyone = np.arange(len(pixels))
        _, first = np.unique(owner, return_index=True)
        sample = np.union1d(everyone[::_SAMPLED], first)
        np.minimum.at(limit, owner[sample], search(sample)[1])
        found = []
        for start, stop in progress.ranges(len(pixels), self.X.size / _SAMPLED):
            found.append(search(everyone[start:stop]))
            np.minimum.at(limit, owner[start:stop], found[-1][1])
        match, d2 = zip(*found, strict=True)
        return np.concatenate(match), np.concatenate(d2)


def _best_bridges(
    search: _Windows | _WholeImage, component: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Each component's shortest way out: the pixels at its ends (2, bridges), and its length."""
    outside = np.flatnonzero(component > 0)
    match, d2 = search.nearest_outside(component, outside, component[outside])
    # The largest component, as a rule nearly the whole image, is sought for by the others.
    largest = np.zeros(len(outside), dtype=np.int32)
    into, into_d2 = search.nearest_outside((component > 0).astype(np.int32), outside, largest)
    owner = np.concatenate([component[outside], largest])
    ends = np.concatenate([[outside, match], [into, outside]], axis=1)
    d2 = np.concatenate([d2, into_d2])
    order = np.lexsort((ends[1], ends[0], d2, owner))
    _, first = np.unique(owner[order], return_index=True)
    best = order[first]
    best = best[np.isfinite(d2[best])]
    return ends[:, best], d2[best]


def _add_edges(
    W: csr_array, ends: NDArray[np.intp], d2: NDArray[np.float64], scales: NDArray[np.float64]
) -> csr_array:
    """Add edges in both directions, each just strong enough to be told from none at all."""
    degree = W.sum(axis=1)[ends]
    weaker = np.where(degree > 0, degree, np.inf).min(axis=0, initial=np.inf)
    least = _LEAST_BRIDGE * np.where(np.isfinite(weaker), weaker, 1.0)
    weight = np.maximum(edges.weigh(d2, scales, ends), least)
    # Two components can choose the same bridge: it counts once.
    _, once = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
    (one, other), weight = ends[:, once], weight[once]
    both = np.concatenate([one, other]), np.concatenate([other, one])
    bridges = coo_array((np.concatenate([weight, weight]), both), shape=W.shape)
    return (W + bridges.tocsr()).tocsr()
