"""How well a clustering agrees with ground truth: OA, AA, kappa, NMI, ARI, purity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from spectrawalk.errors import DataError


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
        Class of each cluster that got one.
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
    ground_truth : array of int
        Class of each pixel, 0 where unknown.
    labels : array of int, same shape
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
    truth, found = np.asarray(ground_truth), np.asarray(labels)
    if truth.shape != found.shape:
        raise DataError(
            f"the ground truth has shape {truth.shape} but the labels have {found.shape}; "
            "give one class and one cluster per pixel."
        )
    known = truth > 0
    truth, found = truth[known].astype(np.int64), found[known].astype(np.int64)
    if truth.size == 0:
        raise DataError("the ground truth has no pixel above 0, so there is nothing to score.")

    classes, class_index = np.unique(truth, return_inverse=True)
    clusters, cluster_index = np.unique(found, return_inverse=True)
    counts = np.zeros((len(clusters), len(classes)), dtype=np.int64)
    np.add.at(counts, (cluster_index, class_index), 1)

    # "No cluster" is not a cluster: it is matched with nothing and pure in nothing.
    labelled = clusters != no_label
    clusters, counts = clusters[labelled], counts[labelled]
    purity = counts.max(axis=1, initial=0).sum() / truth.size
    class_size = np.bincount(class_index)
    rows, cols = _best_matching(counts, class_size)

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
        matching={int(clusters[i]): int(classes[j]) for i, j in zip(rows, cols, strict=True)},
        n_pixels=int(truth.size),
    )


def _best_matching(
    counts: NDArray[np.int64], class_size: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match clusters (rows) to classes (columns) so that they agree on the most pixels.

    Several matchings can agree on as many. The higher average recall then decides (it adds less
    than one pixel), so that the scores do not depend on how the clusters are numbered.
    """
    recall = counts / class_size
    agreement = counts + recall / (1 + len(class_size))
    rows, cols = linear_sum_assignment(agreement, maximize=True)
    return rows, cols
