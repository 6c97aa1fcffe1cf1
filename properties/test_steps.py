"""The steps of the explorer: whatever is done can be undone, and no pixel gets lost."""

from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spectrawalk import SpectraWalk
from spectrawalk.datasets import make_scene
from spectrawalk.errors import ParameterError
from spectrawalk.explore.session import Session
from spectrawalk.explore.steps import NONE, replay


@cache
def fitted():
    scene = make_scene((16, 15), n_bands=8, n_classes=3, random_state=2)
    return SpectraWalk(n_clusters=4).fit(scene, mask=np.arange(240).reshape(16, 15) > 4)


names = st.sampled_from(["corn", "road", "cluster 1"])
# Any cluster of those that there are at the time: a number that is taken modulo theirs.
some = st.integers(0, 1000)
points = st.lists(st.tuples(st.floats(-3, 20), st.floats(-3, 20)).map(list), min_size=3, max_size=6)
steps = st.one_of(
    st.builds(lambda k: {"op": "cut", "k": k}, st.integers(1, 12)),
    st.builds(lambda c: {"op": "merge", "clusters": c}, st.lists(some, min_size=2, max_size=4)),
    st.builds(lambda c: {"op": "split", "cluster": c}, some),
    st.builds(lambda c, n: {"op": "name", "cluster": c, "name": n}, some, names | st.just("")),
    st.builds(lambda c: {"op": "color", "cluster": c, "color": "#0a0b0c"}, some),
    st.builds(lambda c, h: {"op": "hide", "cluster": c, "hidden": h}, some, st.booleans()),
    st.builds(lambda p, n: {"op": "polygon", "points": p, "name": n}, points, names),
    st.builds(lambda p, c: {"op": "polygon", "points": p, "cluster": c}, points, some),
    st.builds(lambda p, c: {"op": "answer", "pixel": p, "class": c}, st.integers(5, 239), names),
    st.just({"op": "classify"}),
)


def take(session, step):
    """Take a step with clusters that are on the map; some cannot be taken, which is no fault."""
    ids = session.state.ids
    step = dict(step)
    if "cluster" in step:
        step["cluster"] = ids[step["cluster"] % len(ids)]
    if "clusters" in step:
        step["clusters"] = [ids[each % len(ids)] for each in step["clusters"]]
    before = session.state
    try:
        session.take(step)
    except ParameterError:
        assert session.state is before


def picture(state):
    """All that is seen of a state."""
    seen = [
        (i, state.name(i), state.color(i), state.pixels(i), i in state.hidden) for i in state.ids
    ]
    return state.labels()[0].tolist(), seen, dict(state.answers), state.base, state.k


def check(state):
    labels, ids = state.labels()
    assert ((labels >= 0) == fitted()._mask).all()
    assert sum(state.pixels(each) for each in ids) == fitted()._mask.sum()
    assert np.bincount(labels[labels >= 0]).tolist() == [state.pixels(each) for each in ids]
    assert np.unique(state.parts).max() == NONE
    assert len(set(ids)) == len(ids)
    if state.base == "tree":
        for each in set(state.cluster_of) & set(range(state.n_leaves)):
            assert state.cluster_of[each] == each, "a cluster with a leaf's number holds that leaf"


@given(st.lists(steps, max_size=12))
@settings(max_examples=100)
def test_steps_keep_the_pixels_and_can_be_undone_and_repeated(wanted):
    session = Session(fitted())
    first = picture(session.state)
    seen = [first]
    for step in wanted:
        n = len(session.steps)
        take(session, step)
        check(session.state)
        if len(session.steps) > n:
            seen.append(picture(session.state))
    assert picture(replay(fitted(), session.steps)) == seen[-1]
    for before in seen[-2::-1]:
        assert picture(session.undo()) == before
    for after in seen[1:]:
        assert picture(session.redo()) == after


@given(st.lists(steps, max_size=8), st.integers(1, 12))
@settings(max_examples=50)
def test_a_cut_is_the_same_whatever_was_merged_and_split_before(wanted, k):
    session = Session(fitted())
    for step in wanted:
        if step["op"] not in ("polygon", "classify"):
            take(session, step)
    session.take({"op": "cut", "k": k})
    assert (session.state.labels()[0] == fitted().cut(k)).all()
