import itertools
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from spectrawalk import score
from spectrawalk.errors import DataError


def test_perfect_up_to_renaming():
    result = score([0, 1, 1, 10, 10, 3], [4, 2, 2, 0, 0, 1])
    assert (result.oa, result.aa, result.kappa, result.nmi, result.ari, result.purity) == (1,) * 6
    assert result.n_pixels == 5
    assert result.matching == {2: 1, 0: 10, 1: 3}


def test_against_scikit_learn_when_every_cluster_has_a_class():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, 500)
    labels = np.where(rng.uniform(size=500) < 0.7, truth - 1, rng.integers(0, 4, 500))
    result = score(truth, labels)
    assert result.matching == {c: c + 1 for c in range(4)}
    assert result.oa == pytest.approx(np.mean(labels + 1 == truth))
    assert result.kappa == pytest.approx(cohen_kappa_score(truth, labels + 1))
    recall = [np.mean(labels[truth == c] + 1 == c) for c in range(1, 5)]
    assert result.aa == pytest.approx(np.mean(recall))


def test_extra_clusters_and_extra_classes_count_as_wrong():
    split = score([1, 1, 1, 1], [0, 0, 0, 1])
    assert (split.oa, split.aa, split.purity) == (0.75, 0.75, 1.0)
    merged = score([1, 1, 1, 2], [0, 0, 0, 0])
    assert (merged.oa, merged.aa, merged.purity) == (0.75, 0.5, 0.75)
    assert merged.kappa == 0


def test_pixels_without_a_cluster_count_as_wrong():
    result = score([1, 1, 2, 2], [0, -1, 1, -1])
    assert (result.oa, result.purity) == (0.5, 0.5)
    assert -1 not in result.matching
    assert score([1, 2], [-1, -1]).oa == 0


def test_labels_as_they_stand_in_files():
    truth, labels = np.array([1, 1, 2, 2]), np.array([0, -1, 1, -1])
    assert score(truth, (labels + 1).astype(np.uint8), no_label=0).oa == score(truth, labels).oa


def test_scores_do_not_depend_on_the_numbering():
    """Two matchings agree on as many pixels here; the average accuracy must not depend on which."""
    truth = np.array([1, 1, 1, 2, 2, 2, 2, 2])
    labels = np.array([0, 0, 1, 0, 0, 1, 1, 1])
    assert score(truth, labels) != score(truth, 1 - labels)  # the matching itself differs
    for measure in ("oa", "aa", "kappa"):
        assert getattr(score(truth, labels), measure) == getattr(score(truth, 1 - labels), measure)


def test_kappa_does_not_depend_on_the_numbering():
    """OA and AA tie here between two matchings whose kappa differs."""
    truth = np.array([1] * 4 + [2] * 4)
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    found = {
        round(score(truth, np.array(names)[labels]).kappa, 12)
        for names in itertools.permutations(range(3))
    }
    assert len(found) == 1


def test_thousands_of_clusters_are_matched_in_little_memory():
    truth = np.repeat([1, 2, 3], 20_000)
    labels = np.arange(60_000)
    labels[:15] = 0
    tracemalloc.start()
    result = score(truth, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.oa == pytest.approx(17 / 60_000)
    assert peak < 200e6


def test_masked_arrays_and_whole_floats():
    truth = np.ma.masked_equal([1, 1, 2, 2, 9], 9)
    labels = np.ma.MaskedArray([0.0, 0.0, 1.0, 7.0, 3.0], mask=[0, 0, 0, 1, 0])
    assert score(truth, labels) == score([1, 1, 2, 2, 0], [0, 0, 1, -1, 3])


@pytest.mark.parametrize(
    ("truth", "labels", "message"),
    [
        ([1, 2], [0, 1, 1], r"\(2,\).*\(3,\)"),
        ([0, 0], [0, 1], "nothing to score"),
        ([1, 2, 1], [0, np.nan, 1], "nan in the labels.* 1 of 3 pixels; give -1 where"),
        ([1.5, 2], [0, 1], r"1\.5 in the ground truth.* 1 of 2"),
        ([np.inf, 1], [0, 1], "inf in the ground truth"),
        ([1, 2], [1e300, 1], r"1e\+300 in the labels"),
        ([1, 2], ["a", "b"], "type <U1 in the labels"),
        (["a", "b"], [1, 2], "whole numbers"),
        (None, None, "whole numbers"),
        ([[1], [1, 2]], [0, 1], "different lengths"),
    ],
    ids=str,
)
def test_bad_input(truth, labels, message):
    with pytest.raises(DataError, match=message):
        score(truth, labels)


def test_a_cluster_and_a_class_without_a_common_pixel_are_no_match():
    """The assignment pairs what is left over; such a pair says nothing."""
    result = score([1, 1, 1, 2, 2], [5, 5, 7, 5, 5])
    assert result.matching == {5: 2, 7: 1}
    result = score([1, 1, 1, 1, 2], [5, 5, 5, 7, 5])  # 7 and class 2 are left over
    assert result.matching == {5: 1}


def test_every_match_has_pixels_in_common():
    rng = np.random.default_rng(0)
    for _ in range(200):
        truth, labels = rng.integers(1, 5, 12), rng.integers(0, 5, 12)
        for cluster, matched in score(truth, labels).matching.items():
            assert ((labels == cluster) & (truth == matched)).any()


def test_kappa_counts_what_is_left_over_as_the_paper_does():
    """Its published kappa of spectral clustering follows from the pairs without a common pixel."""
    result = score([1, 1, 1, 1, 2], [0, 0, 0, 1, 0])
    assert result.matching == {0: 1}
    chance = (4 * 4 + 1 * 1) / 25
    assert result.kappa == pytest.approx((0.6 - chance) / (1 - chance))
