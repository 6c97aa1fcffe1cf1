"""Votes compared with a search over all matchings; bounds of the confidence."""

from itertools import permutations

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectrawalk.consensus.confidence import confidence_of, vote_shares


def labelings(n, most=4):
    return hnp.arrays(np.int32, n, elements=st.integers(0, most - 1))


def most_agreement(run, labels, most=4):
    """Number of pixels on which the best matching of clusters with labels agrees."""
    return max(
        np.count_nonzero(np.array(match)[run] == labels) for match in permutations(range(most))
    )


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(labelings(n), labelings(n))))
def test_votes_follow_a_best_matching(drawn):
    run, labels = drawn
    votes = vote_shares([run], labels)
    assert set(np.unique(votes)) <= {0.0, 1.0}
    assert votes.sum(axis=1).max() <= 1
    for cluster in np.unique(run):  # one label for a whole cluster, and no label twice
        assert len(np.unique(votes[run == cluster], axis=0)) == 1
    given_to = [votes[run == cluster][0] for cluster in np.unique(run)]
    assert np.sum(given_to, axis=0).max() <= 1
    agreed = votes[np.arange(len(labels)), labels].sum()
    assert agreed == most_agreement(run, labels)


@given(st.integers(1, 30).flatmap(lambda n: st.lists(labelings(n), min_size=2, max_size=6)))
def test_confidence_is_between_0_and_1(drawn):
    labels, *runs = drawn
    labels = np.unique(labels, return_inverse=True)[1]
    confidence = confidence_of([runs[:1], runs], labels)
    assert confidence.shape == labels.shape
    assert confidence.min() >= 0
    assert confidence.max() <= 1
