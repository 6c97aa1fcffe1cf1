"""How sure labels are: by how much the runs prefer a pixel's own cluster to the next one.

Two questions are asked of the runs. Do they *tie* the pixel to those of its cluster? And, with
their clusters matched to the labels one to one, do they *vote* for its label? A whole field that a
run sets apart stays tied to its own pixels, but votes for a label that it shares with others are
gone: votes tell fields that went astray.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

VOTES = 2 / 3
"""Part of the confidence that comes from votes; the rest comes from ties."""

Runs = Sequence[NDArray[np.integer]]
"""Labels from 0 of some runs, each of shape (n,)."""


def confidence_of(kinds: Sequence[Runs], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Confidence in each label, 0 to 1: mean margin by votes and by ties.

    Parameters
    ----------
    kinds : list of lists of ndarray of int, shape (n,)
        Labels of the runs of each kind. Kinds count alike in votes, however many runs they have:
        runs of one kind tend to err together.
    labels : ndarray of int, shape (n,)
        Clusters 0..K-1.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([0, 0, 1, 1])
    >>> sure = confidence_of([[labels, 1 - labels], [np.array([0, 0, 0, 1])]], labels)
    >>> np.round(100 * sure).tolist()
    [94.0, 94.0, 17.0, 94.0]
    """
    votes = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.float32)
    for runs in kinds:
        votes += vote_shares(runs, labels) / len(kinds)
    by_ties = coassociation_margin([run for runs in kinds for run in runs], labels)
    return np.clip(VOTES * _margin(votes, labels) + (1 - VOTES) * by_ties, 0.0, 1.0)


def coassociation_margin(runs: Runs, labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Margin between a pixel's own cluster and the next, in the share of runs that tie them.

    Examples
    --------
    >>> import numpy as np
    >>> runs = [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])]
    >>> coassociation_margin(runs, np.array([0, 0, 1, 1])).tolist()
    [0.75, 0.75, 0.25, 0.75]
    """
    tie = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.float32)
    for run in runs:
        shared = _shared_pixels(run, labels)
        tie += (shared / shared.sum(axis=0) / len(runs)).astype(np.float32)[run]
    return np.clip(_margin(tie, labels), 0.0, 1.0)


def vote_shares(runs: Runs, labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Share of the runs that give each pixel each label, shape (n, K).

    The clusters of a run are matched with the labels one to one, so that they agree on the most
    pixels; those left over vote for none.

    Examples
    --------
    >>> import numpy as np
    >>> split = np.array([0, 0, 1, 2])  # 0 and 2 are matched, 1 is left over
    >>> vote_shares([split], np.array([0, 0, 0, 1])).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    votes = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.float32)
    for run in runs:
        shared = _shared_pixels(run, labels)
        matched = np.zeros(shared.shape, dtype=np.float32)
        matched[linear_sum_assignment(shared, maximize=True)] = 1 / len(runs)
        votes += matched[run]
    return votes


def _shared_pixels(run: NDArray[np.integer], labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Pixels that each cluster of the run has in common with each label's."""
    n_labels = int(labels.max()) + 1
    both = run.astype(np.intp) * n_labels + labels
    shared = np.bincount(both, minlength=(int(run.max()) + 1) * n_labels)
    return shared.reshape(-1, n_labels)


def _margin(score: NDArray[np.float32], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """How much larger a pixel's score is for its own label than for the next; may be below 0."""
    rows = np.arange(len(labels))
    others = score.copy()
    others[rows, labels] = -np.inf
    return score[rows, labels] - np.maximum(others.max(axis=1), 0.0)
