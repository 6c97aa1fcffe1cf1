"""Scores do not depend on what clusters and classes are called."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectrawalk import score

MEASURES = ("oa", "aa", "kappa", "nmi", "ari", "purity")


@st.composite
def maps(draw):
    """A ground truth and a clustering with few pixels, so that ties are common."""
    n = draw(st.integers(1, 14))
    truth = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(-1, 5), min_size=n, max_size=n))
    return np.array(truth), np.array(labels)


@given(maps(), st.permutations(range(6)), st.permutations(range(1, 5)))
def test_renaming_changes_no_score(pair, cluster_names, class_names):
    truth, labels = pair
    renamed = score(
        np.array([0, *class_names])[truth],
        np.array([*cluster_names, -1])[labels],
    )
    for measure in MEASURES:
        expected = getattr(score(truth, labels), measure)
        assert getattr(renamed, measure) == pytest.approx(expected, abs=1e-12)


@given(maps())
def test_the_matching_is_the_best_of_all(pair):
    """Most pixels, then recall, then kappa: against every matching there is."""
    truth, labels = pair
    classes, clusters = np.unique(truth), np.unique(labels[labels >= 0])
    best = (0.0, 0.0, -np.inf)
    for chosen in itertools.permutations([*clusters, *[None] * len(classes)], len(classes)):
        if sum(c is not None for c in chosen) < min(len(classes), len(clusters)):
            continue
        hits = [np.sum((labels == c) & (truth == k)) for c, k in zip(chosen, classes, strict=True)]
        recall = [hit / np.sum(truth == k) for hit, k in zip(hits, classes, strict=True)]
        oa = sum(hits) / len(truth)
        chance = sum(
            np.sum(labels == c) * np.sum(truth == k) for c, k in zip(chosen, classes, strict=True)
        )
        chance = chance / len(truth) ** 2
        kappa = (oa - chance) / (1 - chance) if chance < 1 else 1.0
        best = max(best, (oa, round(float(np.mean(recall)), 9), kappa))
    result = score(truth, labels)
    assert (result.oa, result.aa, result.kappa) == pytest.approx(best, abs=1e-8)
