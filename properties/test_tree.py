"""The tree of clusters: nested, complete, and the same in SciPy's layout."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from spectrawalk.consensus.tree import cluster_tree, merge_order
from spectrawalk.results.cluster_map import ClusterMap

labels = st.integers(2, 40).flatmap(
    lambda n: arrays(np.uint8, st.tuples(st.integers(1, 6), st.just(n)), elements=st.integers(0, 4))
)


def tree_of(runs):
    runs = np.stack([np.unique(run, return_inverse=True)[1] for run in runs])
    return cluster_tree(runs, np.full(len(runs), 1 / len(runs)))[0], runs


@given(labels)
@settings(deadline=None)
def test_cuts_are_nested(runs):
    tree, _ = tree_of(runs)
    for k in range(1, tree.n_leaves):
        coarse, fine = tree.cut(k), tree.cut(k + 1)
        assert np.unique(fine).tolist() == list(range(k + 1))
        assert (fine[coarse != fine] == k).all()
        assert len(np.unique(coarse[coarse != fine])) == 1


@given(labels)
@settings(deadline=None)
def test_a_split_gives_only_its_smaller_part_a_new_colour(runs):
    tree, _ = tree_of(runs)

    def painted(k):
        labels = tree.cut(k)[np.newaxis]
        return ClusterMap(labels, k).colors[labels][0]

    for k in range(1, tree.n_leaves):
        coarse, fine = tree.cut(k), tree.cut(k + 1)
        new = (painted(k) != painted(k + 1)).any(axis=1)
        assert (new == (fine == k)).all()
        assert 2 * new.sum() <= (coarse == tree.parent[k]).sum()


@given(labels)
@settings(deadline=None)
def test_scipy_cuts_the_same_tree_into_the_same_clusters(runs):
    tree, _ = tree_of(runs)
    if tree.n_leaves == 1:
        return
    linkage = tree.linkage()
    assert is_valid_linkage(linkage, throw=True)
    # SciPy cuts by height; heights that are equal cannot be told apart.
    order = np.arange(len(linkage), dtype=float)
    distinct = np.column_stack([linkage[:, :2], order, linkage[:, 3]])
    for k in range(1, tree.n_leaves + 1):
        theirs = fcluster(distinct, tree.n_leaves - k - 0.5, criterion="distance")[tree.leaf]
        ours = tree.cut(k)
        assert len(set(zip(theirs.tolist(), ours.tolist(), strict=True))) == k


@given(labels)
@settings(deadline=None)
def test_pixels_that_no_run_separates_stay_together(runs):
    tree, runs = tree_of(runs)
    _, same = np.unique(runs, axis=1, return_inverse=True)
    for group in np.unique(same):
        assert len(np.unique(tree.leaf[same.ravel() == group])) == 1


@given(st.integers(2, 12), st.integers(0, 1000))
@settings(deadline=None)
def test_groups_are_merged_by_the_mean_of_all_their_pairs(n, seed):
    rng = np.random.default_rng(seed)
    means, size = rng.random((n, 5)) / 3, rng.integers(1, 9, n)
    members = {i: [i] for i in range(n)}
    for merge in merge_order(means, size):
        one, other = members[merge.kept], members.pop(merge.dropped)
        pairs = [(size[i] * size[j], means[i] @ means[j]) for i in one for j in other]
        mean = sum(w * s for w, s in pairs) / sum(w for w, _ in pairs)
        assert np.isclose(merge.similarity, mean)
        one += other
    assert len(members) == 1
