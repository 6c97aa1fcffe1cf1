"""Confidence of the cuts of SpectraWalk: how well a cluster overlaps with those of the runs."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectrawalk.consensus import confidence
from spectrawalk.consensus.confidence import overlap_margin

FIELD = np.repeat([0, 1, 2], [30, 20, 40])


def margin(labels, *runs):
    return overlap_margin(np.stack(runs), np.full(len(runs), 1 / len(runs)), labels)


@pytest.mark.parametrize("n_clusters", [1, 4])
def test_it_is_1_if_all_runs_agree(n_clusters):
    labels = np.arange(40) % n_clusters
    assert margin(labels, *[(labels + shift) % n_clusters for shift in range(3)]) == pytest.approx(
        1
    )


def test_it_is_lower_where_a_run_joins_two_clusters():
    sure = margin(FIELD, FIELD, FIELD, np.minimum(FIELD, 1))
    assert sure[FIELD == 0] == pytest.approx(1)
    assert sure[FIELD == 1].max() < sure[FIELD == 2].max() < 0.9


def test_it_is_lower_where_a_run_moves_a_field_to_another_cluster():
    labels, other = np.array([0, 0, 1])[FIELD], np.array([0, 1, 1])[FIELD]
    sure = margin(labels, labels, other)
    assert sure[FIELD == 1].max() < sure[FIELD != 1].min()


def test_runs_that_are_much_finer_do_not_count():
    fine = np.arange(len(FIELD)) % 9
    assert np.array_equal(margin(FIELD, FIELD, fine), margin(FIELD, FIELD))
    assert (margin(FIELD, fine) < 0.5).all()  # but if there are no others, they do


def test_it_does_not_depend_on_the_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    runs, labels = rng.integers(4, size=(5, 300)), rng.integers(3, size=300)
    whole = margin(labels, *runs)
    monkeypatch.setattr(confidence, "_AT_ONCE", 7)
    assert np.array_equal(margin(labels, *runs), whole)


def labelings(n):
    return hnp.arrays(np.int32, n, elements=st.integers(0, 5))


@given(st.integers(1, 30).flatmap(lambda n: st.lists(labelings(n), min_size=2, max_size=6)))
def test_it_is_between_0_and_1(drawn):
    labels, *runs = (np.unique(each, return_inverse=True)[1] for each in drawn)
    sure = margin(labels, *runs)
    assert sure.shape == labels.shape
    assert sure.dtype == np.float32
    assert 0 <= sure.min() <= sure.max() <= 1
