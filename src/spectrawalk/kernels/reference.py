"""Slow, readable twins of the kernels, in plain NumPy and Python. The tests compare the two.

They take the problem in its plainest form, so that the kernels' bookkeeping (tiles, ranges, heaps)
is tested too and not repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def squared_distances(a: Array, b: Array) -> Array:
    """Squared Euclidean distance of one spectrum `a` to each row of `b`."""
    return np.square(b - a).sum(axis=1)


def _nearest(d2: Array, candidates: Array, k: int) -> tuple[Array, Array]:
    """Return the k nearest candidates by (distance, index), padded with -1 and infinity."""
    order = np.lexsort((candidates, d2))[:k]
    index = np.full(k, -1)
    distance = np.full(k, np.inf)
    index[: len(order)] = candidates[order]
    distance[: len(order)] = d2[order]
    return index, distance


def window_neighbors(
    X: Array, mask: Array, k: int, radius: int, disk: bool = False
) -> tuple[Array, Array]:
    """Return the k nearest spectra in each valid pixel's window, the pixel itself left out."""
    places = np.argwhere(mask)
    index, d2 = np.empty((len(X), k), dtype=int), np.empty((len(X), k))
    for pixel, place in enumerate(places):
        offset = np.abs(places - place)
        inside = (offset**2).sum(axis=1) <= radius**2 if disk else offset.max(axis=1) <= radius
        inside[pixel] = False
        candidates = np.flatnonzero(inside)
        index[pixel], d2[pixel] = _nearest(
            squared_distances(X[pixel], X[candidates]), candidates, k
        )
    return index, d2


def weight_matrix(index: Array, d2: Array, scales: Array, symmetric: bool) -> Array:
    """Weights exp(-d^2 / (s_i s_j)) of the edges; symmetric: the larger of both directions."""
    n, k = index.shape
    W = np.zeros((n, n))
    for pixel in range(n):
        for place in range(k):
            other = index[pixel, place]
            if other >= 0:
                W[pixel, other] = np.exp(-d2[pixel, place] / (scales[pixel] * scales[other]))
    return np.maximum(W, W.T) if symmetric else W


def global_neighbors(X: Array, k: int) -> tuple[Array, Array]:
    """Return the k nearest spectra of each pixel among all others."""
    index, d2 = np.empty((len(X), k), dtype=int), np.empty((len(X), k))
    for pixel in range(len(X)):
        candidates = np.delete(np.arange(len(X)), pixel)
        index[pixel], d2[pixel] = _nearest(
            squared_distances(X[pixel], X[candidates]), candidates, k
        )
    return index, d2


def nearest_outside(
    X: Array, mask: Array, group: Array, pixels: Array, radius: int
) -> tuple[Array, Array]:
    """Nearest spectrum of another group in the square window around each of some pixels."""
    places = np.argwhere(mask)
    index, d2 = np.full(len(pixels), -1), np.full(len(pixels), np.inf)
    for job, pixel in enumerate(pixels):
        inside = np.abs(places - places[pixel]).max(axis=1) <= radius
        candidates = np.flatnonzero(inside & (group != group[pixel]))
        nearest, distance = _nearest(squared_distances(X[pixel], X[candidates]), candidates, 1)
        index[job], d2[job] = nearest[0], distance[0]
    return index, d2


def nearest_known(new: Array, known: Array, allowed: Array) -> tuple[Array, Array]:
    """Nearest of the known spectra to each new one, among those `allowed`, shape (m, n)."""
    index, d2 = np.empty(len(new), dtype=int), np.empty(len(new))
    for one, spectrum in enumerate(new):
        candidates = np.flatnonzero(allowed[one])
        distances = squared_distances(spectrum.astype(float), known[candidates].astype(float))
        nearest, distance = _nearest(distances, candidates, 1)
        index[one], d2[one] = nearest[0], distance[0]
    return index, d2


def nearest_denser(coordinates: Array) -> tuple[Array, Array]:
    """Nearest earlier row of `coordinates`, which are in the order of decreasing density."""
    parent, d2 = np.full(len(coordinates), -1), np.zeros(len(coordinates))
    d2[0] = squared_distances(coordinates[0], coordinates).max()
    for rank in range(1, len(coordinates)):
        denser = squared_distances(coordinates[rank], coordinates[:rank])
        parent[rank] = np.argmin(denser)
        d2[rank] = denser.min()
    return parent, d2


def consensus(
    label_image: Array, row: int, col: int, radius: int, own: int | None, rule: str
) -> int | None:
    """Label that the labelled pixels of the window agree on, None where they agree on none."""
    window = label_image.copy()
    window[row, col] = -1 if own is None else own
    window = window[
        max(0, row - radius) : row + radius + 1, max(0, col - radius) : col + radius + 1
    ]
    labels, votes = np.unique(window[window >= 0], return_counts=True)
    if len(labels) == 0:
        return None
    winner, most = int(labels[np.argmax(votes)]), votes.max()
    exists = {
        "most-frequent": np.count_nonzero(votes == most) == 1,
        "most-frequent-first": True,
        "majority": most > votes.sum() / 2,
    }
    return winner if exists[rule] else None


def two_stage_labels(
    coordinates: Array,
    places: Array,
    image_shape: tuple[int, int],
    mode_ranks: Array,
    radius: int,
    stage1: str = "most-frequent",
    wait_for_parent: bool = False,
    own_vote: bool = False,
) -> Array:
    """Algorithm 3, everything in the order of decreasing density.

    `places` holds the row and column of each point.
    """
    n = len(coordinates)
    image = np.full(image_shape, -1)
    parent, _ = nearest_denser(coordinates)

    def label_of(rank: int) -> int:
        return int(image[tuple(places[rank])])

    def nearest_labelled(rank: int) -> int:
        labelled = [other for other in range(rank) if label_of(other) >= 0]
        return labelled[int(np.argmin(squared_distances(coordinates[rank], coordinates[labelled])))]

    for label, rank in enumerate(mode_ranks):
        image[tuple(places[rank])] = label

    for stage in (1, 2):
        for rank in range(n):
            if label_of(rank) >= 0:
                continue
            source = int(parent[rank])
            if label_of(source) < 0:
                if wait_for_parent:
                    continue
                source = nearest_labelled(rank)
            spectral = label_of(source)
            row, col = places[rank]
            agreed = None
            if radius > 0:
                own = spectral if own_vote and stage == 1 else None
                rule = stage1 if stage == 1 else "majority"
                agreed = consensus(image, row, col, radius, own, rule)
            if stage == 1:
                if agreed is None or agreed == spectral:
                    image[row, col] = spectral
            else:
                image[row, col] = spectral if agreed is None else agreed
    return np.array([label_of(rank) for rank in range(n)])


def nearest(points: Array, queries: Array, k: int) -> Array:
    """Nearest points of each query, nearest first, ties by index."""
    return np.array(
        [np.argsort(squared_distances(query, points), kind="stable")[:k] for query in queries]
    )


def mean_around(image: Array, mask: Array, radius: int) -> Array:
    """Mean of the valid pixels in the square around each valid pixel."""
    means = np.zeros_like(image)
    for row, col in np.argwhere(mask):
        square = _square(row, col, radius)
        means[row, col] = image[square][mask[square]].mean(axis=0)
    return means


def random_field(scores: Array, number: Array, strength: float, iterations: int) -> Array:
    """Labels of a Markov random field with fixed means, after some iterations."""
    memberships = np.eye(scores.shape[1])[scores.argmax(axis=1)]
    places = np.argwhere(number >= 0)
    total = scores
    for _ in range(iterations):
        around = np.zeros_like(scores)
        for pixel, place in enumerate(places):
            for other, other_place in enumerate(places):
                if max(abs(place - other_place)) == 1:
                    around[pixel] += memberships[other] / np.linalg.norm(place - other_place)
        total = scores + strength * around
        memberships = np.exp(total) / np.exp(total).sum(axis=1, keepdims=True)
    return np.asarray(total.argmax(axis=1))


def vote_around(labels: Array, near: Array, number: Array, radius: int) -> Array:
    """Most frequent label among the nearest pixels of the fit of all pixels in a square."""
    voted = np.zeros((len(labels), len(near)), dtype=int)
    for row, col in np.argwhere(number >= 0):
        square = number[_square(row, col, radius)]
        pixel, inside = number[row, col], square[square >= 0]
        for run, of_fit in enumerate(labels):
            counts = np.bincount(of_fit[near[inside]].ravel(), minlength=of_fit.max() + 1)
            own = of_fit[near[pixel, 0]]
            voted[run, pixel] = own if counts[own] == counts.max() else counts.argmax()
    return voted


def descend(labels: Array, first: Array, parent: Array, towards: Array) -> Array:
    """Leaf of the tree of each pixel, from its labels in all runs, shape (n, runs)."""
    leaf = np.zeros(len(labels), dtype=int)
    for split in range(1, len(parent)):
        favour = towards[split][labels + first[:-1]].sum(axis=1)
        leaf[(leaf == parent[split]) & (favour > 0)] = split
    return leaf


def best_margin(labels: Array, first: Array, overlaps: Array, shown: Array) -> Array:
    """Overlap of each pixel with its own cluster, less that with the next one; 0 to 1."""
    scores = overlaps[labels + first[:-1]].sum(axis=1, dtype=float)
    own = scores[np.arange(len(shown)), shown]
    scores[np.arange(len(shown)), shown] = 0.0
    return np.clip(own - scores.max(axis=1), 0.0, 1.0)


def join_regions(ends: Array, weights: Array, n: int, balance: float, joins: int) -> Array:
    """Regions after choosing the best edge so many times; the objective is summed anew for each."""
    degree = np.bincount(ends.ravel(), np.repeat(weights, 2), minlength=n)
    region, chosen = np.arange(n), np.zeros(len(weights), dtype=bool)
    for _ in range(joins):
        best, best_value = -1, -np.inf
        for edge, (a, b) in enumerate(ends):
            if region[a] == region[b]:
                continue
            chosen[edge] = True
            joined = np.where(region == region[b], region[a], region)
            value = _entropy_rate(ends[chosen], weights[chosen], degree)
            value += balance * _evenness(joined)
            chosen[edge] = False
            if value > best_value + 1e-12:
                best, best_value = edge, value
        if best < 0:
            break
        chosen[best] = True
        a, b = ends[best]
        region = np.where(region == region[b], region[a], region)
    return region


def _entropy_rate(ends: Array, weights: Array, degree: Array) -> float:
    """Entropy rate of the walk that moves along these edges, and else stays."""
    P = np.zeros((len(degree), len(degree)))
    P[ends[:, 0], ends[:, 1]] = weights / degree[ends[:, 0]]
    P[ends[:, 1], ends[:, 0]] = weights / degree[ends[:, 1]]
    # What rounding leaves of a pixel that never stays is no probability.
    np.fill_diagonal(P, np.where((stay := 1 - P.sum(axis=1)) > 1e-14, stay, 0.0))
    return float(degree / degree.sum() @ _entropies(P).sum(axis=1))


def _evenness(region: Array) -> float:
    """Entropy of the sizes of the regions, less their number."""
    sizes = np.unique_counts(region).counts
    return float(_entropies(sizes / len(region)).sum()) - len(sizes)


def _entropies(p: Array) -> Array:
    return -p * np.log(np.where(p > 0, p, 1.0))


def _square(row: int, col: int, radius: int) -> tuple[slice, slice]:
    """Rows and columns of the square around a pixel."""
    return (
        slice(max(0, row - radius), row + radius + 1),
        slice(max(0, col - radius), col + radius + 1),
    )
