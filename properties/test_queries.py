"""Queries: new pixels, within the budget. Answers: kept, and first in their leaf."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spectrawalk.consensus.queries import LeafShares, choose_pixels, propagate_labels
from spectrawalk.consensus.tree import cluster_tree


@st.composite
def images(draw):
    """Runs with a tree, and an image with masked pixels or a table."""
    shape = (draw(st.integers(1, 6)), draw(st.integers(2, 7)))
    mask = draw(arrays(bool, shape, elements=st.booleans()))
    mask.flat[:2] = True
    if draw(st.booleans()):
        mask = mask.ravel()
    n = int(mask.sum())
    runs = draw(arrays(np.uint8, (draw(st.integers(1, 5)), n), elements=st.integers(0, 4)))
    weights = np.full(len(runs), 1 / len(runs))
    runs = np.stack([np.unique(run, return_inverse=True)[1] for run in runs])
    return LeafShares.of(runs, weights, cluster_tree(runs, weights)[0].leaf), mask, n


@given(images(), st.integers(1, 60), st.data())
@settings(deadline=None)
def test_each_query_is_a_new_pixel(image, budget, data):
    found, mask, n = image
    answers = st.dictionaries(st.integers(0, n - 1), st.booleans(), max_size=n)
    asked = data.draw(answers)
    for _ in range(3):
        chosen = choose_pixels(found, mask, budget, asked).tolist()
        assert len(set(chosen)) == len(chosen) == min(budget, n - len(asked))
        assert not set(chosen) & set(asked)
        assert all(0 <= pixel < n for pixel in chosen)
        asked |= {pixel: data.draw(st.booleans()) for pixel in chosen}


@given(images(), st.data())
@settings(deadline=None)
def test_answers_are_kept_and_win_in_their_leaf(image, data):
    found, _, n = image
    known = data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(0, 4), min_size=1))
    labels = propagate_labels(found, known)
    for pixel, label in known.items():
        assert labels[pixel] == label
    for pixel in range(n):
        inside = {label for other, label in known.items() if found.leaf[other] == found.leaf[pixel]}
        assert labels[pixel] in (inside or set(known.values()))


@given(images(), st.data())
@settings(deadline=None)
def test_an_answer_goes_to_the_pixels_with_the_largest_coassociation(image, data):
    found, _, n = image
    known = data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(0, 4), min_size=1))
    labels = propagate_labels(found, known)
    together = np.einsum("r,rij->ij", found.weights, found.runs[:, :, None] == found.runs[:, None])
    for pixel in set(range(n)) - set(known):
        near = [q for q in known if found.leaf[q] == found.leaf[pixel]] or list(known)
        best = max(together[pixel, q] for q in near)
        assert labels[pixel] in {known[q] for q in near if together[pixel, q] > best - 1e-9}
