import numpy as np
import pytest

from spectrawalk.consensus.confidence import coassociation_margin, confidence_of, vote_shares

FIELD = np.repeat([0, 1, 2], [30, 20, 40])


def test_confidence_is_lower_where_runs_disagree():
    labels, other = np.array([0, 0, 1])[FIELD], np.array([0, 1, 1])[FIELD]
    confidence = confidence_of([[labels, labels, other]], labels)
    assert confidence[FIELD == 1].max() < 0.5 < confidence[FIELD != 1].min()


def test_votes_show_a_split_that_coassociation_does_not():
    """Two fields share a label, and every run has one cluster for each field."""
    labels, split = np.array([0, 0, 1])[FIELD], FIELD
    assert np.ptp(coassociation_margin([split], labels)[FIELD < 2]) < 0.25
    votes = vote_shares([split], labels)
    assert (votes[FIELD == 0] == [1, 0]).all()
    assert (votes[FIELD == 1] == [0, 0]).all()  # the smaller field has no match


def test_all_kinds_have_the_same_weight():
    labels, other = np.array([0, 0, 1])[FIELD], np.array([0, 1, 1])[FIELD]
    two_kinds, one_kind = [[other], [labels] * 20], [[other, *[labels] * 20]]
    by_kinds, by_runs = (confidence_of(kinds, labels) for kinds in (two_kinds, one_kind))
    assert by_kinds[FIELD == 1].max() < 0.4 < 0.8 < by_runs[FIELD == 1].min()


@pytest.mark.parametrize("n_clusters", [1, 4])
def test_confidence_is_1_if_all_runs_agree(n_clusters):
    labels = np.arange(40) % n_clusters
    runs = [(labels + shift) % n_clusters for shift in range(3)]
    assert confidence_of([runs, runs[:1]], labels) == pytest.approx(1)
