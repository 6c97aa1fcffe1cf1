"""Labels for pixels outside a fit, as its runs would give them.

Each value depends on the pixel and a few around it only, and is summed in a fixed order. So an
image may be divided into tiles in any way, and each pixel gets the same bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.kernels.compiled import njit


@njit(cache=True, nogil=True)
def mean_around(
    image: NDArray[np.float64], mask: NDArray[np.bool_], radius: int, out: NDArray[np.float64]
) -> None:
    """Mean of the valid pixels in the square around each valid pixel.

    Parameters
    ----------
    image, out : (rows, cols, bands)
    mask : (rows, cols)
    radius : int
        Half-width of the square.
    """
    rows, cols, bands = image.shape
    for row in range(rows):
        for col in range(cols):
            if not mask[row, col]:
                continue
            count = 0
            out[row, col] = 0.0
            for r in range(max(0, row - radius), min(rows, row + radius + 1)):
                for c in range(max(0, col - radius), min(cols, col + radius + 1)):
                    if mask[r, c]:
                        count += 1
                        for band in range(bands):
                            out[row, col, band] += image[r, c, band]
            for band in range(bands):
                out[row, col, band] /= count


@njit(cache=True, nogil=True)
def linear_scores(
    X: NDArray[np.float64],
    weights: NDArray[np.float64],
    offsets: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Scores X @ weights + offsets, each summed over the bands in their order.

    Parameters
    ----------
    X : (n, bands)
    weights : (bands, columns)
    offsets : (columns,)
    scores : (n, columns)
    """
    n, bands = X.shape
    columns = len(offsets)
    for i in range(n):
        for j in range(columns):
            scores[i, j] = offsets[j]
        for band in range(bands):
            x = X[i, band]
            for j in range(columns):
                scores[i, j] += x * weights[band, j]


@njit(cache=True, nogil=True)
def largest_in_groups(
    scores: NDArray[np.float64], first: NDArray[np.int64], labels: NDArray[np.uint8]
) -> None:
    """Place of the largest score in each group of columns; the first of equal ones.

    Parameters
    ----------
    scores : (n, columns)
    first : (groups + 1,)
        First column of each group, and the number of columns.
    labels : (groups, n)
    """
    for i in range(len(scores)):
        for group in range(len(first) - 1):
            best = first[group]
            for j in range(first[group] + 1, first[group + 1]):
                if scores[i, j] > scores[i, best]:
                    best = j
            labels[group, i] = best - first[group]


@njit(cache=True, nogil=True)
def random_field(
    scores: NDArray[np.float64],
    number: NDArray[np.int32],
    strength: float,
    iterations: int,
    labels: NDArray[np.uint8],
) -> None:
    """Labels of a Markov random field with fixed means, after some iterations.

    A membership is proportional to exp(score + strength * v); v is the sum of the memberships of
    the eight neighbours, each divided by its distance. It begins with the label of the largest
    score.

    Parameters
    ----------
    scores : (n, labels)
    number : (rows, cols)
        Number of each valid pixel, -1 where masked.
    strength : float
    iterations : int
        A label depends on pixels up to this many rows and columns away.
    labels : (n,)
    """
    rows, cols = number.shape
    n, k = scores.shape
    before, after = np.zeros((n, k)), np.empty((n, k))
    for i in range(n):
        best = 0
        for j in range(1, k):
            if scores[i, j] > scores[i, best]:
                best = j
        before[i, best] = 1.0
        labels[i] = best
    diagonal = 1 / np.sqrt(2.0)
    for _ in range(iterations):
        for row in range(rows):
            for col in range(cols):
                i = number[row, col]
                if i < 0:
                    continue
                for j in range(k):
                    after[i, j] = 0.0
                for r in range(max(0, row - 1), min(rows, row + 2)):
                    for c in range(max(0, col - 1), min(cols, col + 2)):
                        other = number[r, c]
                        if other < 0 or other == i:
                            continue
                        weight = 1.0 if r == row or c == col else diagonal
                        for j in range(k):
                            after[i, j] += weight * before[other, j]
                best = 0
                for j in range(k):
                    after[i, j] = strength * after[i, j] + scores[i, j]
                    if after[i, j] > after[i, best]:
                        best = j
                labels[i] = best
                top, total = after[i, best], 0.0
                for j in range(k):
                    after[i, j] = np.exp(after[i, j] - top)
                    total += after[i, j]
                for j in range(k):
                    after[i, j] /= total
        before, after = after, before


@njit(cache=True, nogil=True)
def vote_around(
    labels: NDArray[np.uint8],
    near: NDArray[np.int64],
    number: NDArray[np.int32],
    radius: int,
    voted: NDArray[np.uint8],
) -> None:
    """Most frequent label among the nearest pixels of the fit of all pixels in a square.

    Of equally frequent ones the label of the nearest pixel of the fit, if it is one of them, else
    the smallest.

    Parameters
    ----------
    labels : (runs, m)
        Labels of the pixels of the fit.
    near : (n, k)
        Nearest pixels of the fit of each pixel, nearest first.
    number : (rows, cols)
        Number of each valid pixel, -1 where masked.
    radius : int
        Half-width of the square.
    voted : (runs, n)
    """
    rows, cols = number.shape
    k = near.shape[1]
    counts = np.zeros(256, dtype=np.int64)
    for run in range(len(labels)):
        of_fit = labels[run]
        n_labels = of_fit.max() + 1
        for row in range(rows):
            top, bottom = max(0, row - radius), min(rows, row + radius + 1)
            counts[:n_labels] = 0
            for col in range(-radius, cols):
                # The square moves to the right by a column at a time.
                for r in range(top, bottom):
                    if col + radius < cols and number[r, col + radius] >= 0:
                        for j in range(k):
                            counts[of_fit[near[number[r, col + radius], j]]] += 1
                    if col - radius - 1 >= 0 and number[r, col - radius - 1] >= 0:
                        for j in range(k):
                            counts[of_fit[near[number[r, col - radius - 1], j]]] -= 1
                if col < 0 or number[row, col] < 0:
                    continue
                best = of_fit[near[number[row, col], 0]]
                for label in range(n_labels):
                    if counts[label] > counts[best]:
                        best = label
                voted[run, number[row, col]] = best


@njit(cache=True, nogil=True)
def descend(
    labels: NDArray[np.uint8],
    first: NDArray[np.int64],
    parent: NDArray[np.int32],
    towards: NDArray[np.float64],
    leaves: NDArray[np.uint8],
) -> None:
    """Leaf of the tree of each pixel, from its labels in all runs.

    Parameters
    ----------
    labels : (n, runs)
    first : (runs + 1,)
        Column of label 0 of each run.
    parent : (clusters,)
    towards : (clusters, columns)
        How much each label of each run is in favour of the new cluster of each split.
    leaves : (n,)
    """
    n, runs = labels.shape
    for i in range(n):
        leaf = 0
        for split in range(1, len(parent)):
            if parent[split] != leaf:
                continue
            total = 0.0
            for run in range(runs):
                total += towards[split, first[run] + labels[i, run]]
            if total > 0:
                leaf = split
        leaves[i] = leaf


@njit(cache=True, nogil=True)
def best_margin(
    labels: NDArray[np.uint8],
    first: NDArray[np.int64],
    overlaps: NDArray[np.float32],
    shown: NDArray[np.uint8],
    margin: NDArray[np.float64],
) -> None:
    """Overlap of each pixel with its own cluster, less that with the next one; 0 to 1.

    Parameters
    ----------
    labels : (n, runs)
    first : (runs + 1,)
        Column of label 0 of each run.
    overlaps : (columns, clusters)
        Weighted overlap of each label of each run with each cluster.
    shown : (n,)
        Cluster of each pixel.
    margin : (n,)
    """
    n, runs = labels.shape
    clusters = overlaps.shape[1]
    score = np.empty(clusters)
    for i in range(n):
        score[:] = 0.0
        for run in range(runs):
            row = overlaps[first[run] + labels[i, run]]
            for cluster in range(clusters):
                score[cluster] += row[cluster]
        other = 0.0
        for cluster in range(clusters):
            if cluster != shown[i] and score[cluster] > other:
                other = score[cluster]
        margin[i] = min(max(score[shown[i]] - other, 0.0), 1.0)
