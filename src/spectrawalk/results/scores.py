"""How well a clustering agrees with ground truth: OA, AA, kappa, NMI, ARI, purity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from spectrawalk.errors import DataError
from spectrawalk.results.matching import best_matching

_NEARLY_ALL, _MANY = 0.99, 0.1  # of the pixels with a cluster, and of those with a class
_CLEARLY = 0.05  # of overall accuracy


@dataclass(frozen=True)
class Scores:
    """Agreement of a clustering with ground truth, over the pixels that have one.

    Attributes
    ----------
    oa, aa, kappa : float
        Overall accuracy, average per-class recall and Cohen's kappa, all under the one matching of
        clusters to classes that agrees on the most pixels. A cluster left without a class counts as
        wrong, and so does a class left without a cluster.
    nmi, ari, purity : float
        Normalised mutual information (arithmetic mean), adjusted Rand index, and the share of
        pixels that belong to the commonest class of their cluster.
    matching : dict
        Class of each cluster that got one; the two have pixels in common.
    n_pixels : int
        How many pixels were scored.
    """

    oa: float
    aa: float
    kappa: float
    nmi: float
    ari: float
    purity: float
    matching: dict[int, int]
    n_pixels: int


def score(ground_truth: ArrayLike, labels: ArrayLike, *, no_label: int = -1) -> Scores:
    """Score `labels` against `ground_truth` where that is known.

    Parameters
    ----------
    ground_truth : array of whole numbers
        Class of each pixel, 0 where unknown (or masked, in a masked array).
    labels : array of whole numbers, same shape
        Cluster of each pixel. A pixel with ground truth but no cluster counts as wrong.
    no_label : int
        What stands for no cluster: -1 in ``labels_``, 0 in a map that was written to a file.

    Examples
    --------
    >>> from spectrawalk import score
    >>> result = score([1, 1, 1, 2, 2, 0], [5, 5, 7, 7, 7, 5])
    >>> result.oa, result.n_pixels, result.matching
    (0.8, 5, {5: 1, 7: 2})
    """
    truth = whole_numbers("the ground truth", ground_truth, fill=0)
    found = whole_numbers("the labels", labels, fill=no_label)
    if truth.shape != found.shape:
        raise DataError(
            f"the ground truth has shape {truth.shape} but the labels have {found.shape}; "
            "give one class and one cluster per pixel."
        )
    known = truth > 0
    truth, found = truth[known], found[known]
    if truth.size == 0:
        raise DataError(
            "the ground truth has no pixel above 0, so there is nothing to score; give the class "
            "of each pixel, from 1."
        )

    classes, class_index = np.unique(truth, return_inverse=True)
    clusters, cluster_index = np.unique(found, return_inverse=True)
    counts = np.zeros((len(clusters), len(classes)), dtype=np.int64)
    np.add.at(counts, (cluster_index, class_index), 1)

    # "No cluster" is not a cluster: it is matched with nothing and pure in nothing.
    labelled = clusters != no_label
    clusters, counts = clusters[labelled], counts[labelled]
    purity = counts.max(axis=1, initial=0).sum() / truth.size
    class_size = np.bincount(class_index)
    rows, cols = best_matching(counts, class_size)

    agreed = counts[rows, cols]
    oa = agreed.sum() / truth.size
    aa = np.sum(agreed / class_size[cols]) / len(classes)
    by_chance = np.sum(counts[rows].sum(axis=1) * class_size[cols]) / truth.size**2
    kappa = (oa - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0
    return Scores(
        oa=float(oa),
        aa=float(aa),
        kappa=float(kappa),
        nmi=float(normalized_mutual_info_score(truth, found)),
        ari=float(adjusted_rand_score(truth, found)),
        purity=float(purity),
        # Kappa is that of the paper, of a full one-to-one assignment; a pair without a common pixel
        # in it is no match that anybody should read.
        matching={
            int(clusters[row]): int(classes[col])
            for row, col, shared in zip(rows, cols, agreed, strict=True)
            if shared
        },
        n_pixels=int(truth.size),
    )


def accuracy_if_exchanged(
    ground_truth: NDArray[np.integer], labels: NDArray[np.integer], oa: float
) -> float | None:
    """Overall accuracy with the two arrays exchanged, where that is likely the right order.

    A map of clusters covers the ground truth, and more. So the order is doubtful where it is the
    other way round: nearly every pixel with a cluster has a class, many with a class have no
    cluster and count as wrong, and the accuracy is clearly higher after an exchange.

    Parameters
    ----------
    ground_truth, labels : ndarray of int
        As in :func:`score`, with 0 for no class and no cluster.
    oa : float
        Overall accuracy as they are.

    Returns
    -------
    float or None
        None where the order is in no doubt.

    Examples
    --------
    >>> import numpy as np
    >>> truth, labels = np.array([1, 1, 0, 0, 2]), np.array([5, 5, 7, 7, 7])
    >>> accuracy_if_exchanged(labels, truth, score(labels, truth, no_label=0).oa)
    1.0
    >>> accuracy_if_exchanged(truth, labels, 1.0) is None
    True
    """
    known, clustered = ground_truth > 0, labels > 0
    both = np.count_nonzero(known & clustered)
    covers = both >= _NEARLY_ALL * np.count_nonzero(clustered)
    misses = np.count_nonzero(known) - both >= _MANY * np.count_nonzero(known)
    if not (both and covers and misses):
        return None
    exchanged = score(labels, ground_truth, no_label=0).oa
    return exchanged if exchanged > oa + _CLEARLY else None


def whole_numbers(what: str, values: ArrayLike, fill: int) -> NDArray[np.int64]:
    """Return `values` as integers, or say what else they are."""
    try:
        array = np.asarray(np.ma.filled(values, fill))
    except ValueError:
        raise DataError(f"found lists of different lengths in {what}; give an array.") from None
    if array.dtype.kind not in "buif":
        raise DataError(f"found values of type {array.dtype} in {what}; give whole numbers.")
    if array.dtype.kind in "bi":
        return array.astype(np.int64)
    bad = ~(np.abs(array) < 2.0**63) | (array != np.floor(array))
    if bad.any():
        raise DataError(
            f"found {array[bad].flat[0]} in {what}, and whole numbers missing at "
            f"{np.count_nonzero(bad)} of {array.size} pixels; give {fill} where there is none."
        )
    return array.astype(np.int64)
