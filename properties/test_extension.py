"""The kernels that label pixels outside a fit, against their readable twins; tiles of any size."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spectrawalk.kernels import extension, reference
from spectrawalk.kernels.tree import build_tree, nearest
from spectrawalk.srdl.neighbors import number_pixels

seeds = st.integers(0, 2**32 - 1)


def image(rng):
    """A mask with a valid pixel, and the number of each one."""
    mask = rng.random(rng.integers(1, 9, 2)) < 0.8
    mask.flat[rng.integers(mask.size)] = True
    return mask, number_pixels(mask), int(mask.sum())


@given(seeds)
@settings(deadline=None)
def test_nearest_points(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (int(rng.integers(1, 60)), 3)).astype(float)  # with many ties
    queries = rng.integers(0, 4, (12, 3)) + rng.choice([0.0, 0.5], (12, 3))
    index = np.empty((12, min(4, len(points))), np.int64)
    nearest(build_tree(points), queries, index)
    assert index.tolist() == reference.nearest(points, queries, index.shape[1]).tolist()


@given(seeds)
@settings(deadline=None)
def test_mean_around(seed):
    rng = np.random.default_rng(seed)
    mask, _, _ = image(rng)
    values = rng.normal(size=(*mask.shape, 3))
    radius, found = int(rng.integers(0, 3)), np.zeros_like(values)
    extension.mean_around(values, mask, radius, found)
    expected = reference.mean_around(values, mask, radius)
    np.testing.assert_allclose(found[mask], expected[mask], atol=1e-12)


@given(seeds)
@settings(deadline=None)
def test_linear_scores_and_their_largest(seed):
    rng = np.random.default_rng(seed)
    X, weights, offsets = rng.normal(size=(7, 4)), rng.normal(size=(4, 6)), rng.normal(size=6)
    scores = np.empty((7, 6))
    extension.linear_scores(X, weights, offsets, scores)
    np.testing.assert_allclose(scores, X @ weights + offsets, atol=1e-12)
    first = np.array([0, 1, 4, 6])
    labels = np.empty((3, 7), np.uint8)
    extension.largest_in_groups(scores, first, labels)
    assert labels.tolist() == [
        scores[:, start:stop].argmax(axis=1).tolist() for start, stop in pairwise(first)
    ]


@given(seeds)
@settings(deadline=None)
def test_random_field(seed):
    rng = np.random.default_rng(seed)
    _, number, n = image(rng)
    scores, labels = rng.normal(size=(n, 3)), np.empty(n, np.uint8)
    extension.random_field(scores, number, 0.7, 3, labels)
    assert labels.tolist() == reference.random_field(scores, number, 0.7, 3).tolist()


@given(seeds)
@settings(deadline=None)
def test_vote_around(seed):
    rng = np.random.default_rng(seed)
    _, number, n = image(rng)
    labels = rng.integers(0, 3, (2, 5)).astype(np.uint8)
    near = rng.integers(0, 5, (n, int(rng.integers(1, 4))))
    radius, voted = int(rng.integers(0, 3)), np.empty((2, n), np.uint8)
    extension.vote_around(labels, near, number, radius, voted)
    assert voted.tolist() == reference.vote_around(labels, near, number, radius).tolist()


@given(seeds)
@settings(deadline=None)
def test_descent_and_margin(seed):
    rng = np.random.default_rng(seed)
    first = np.array([0, 2, 5])
    labels = np.stack([rng.integers(0, 2, 6), rng.integers(0, 3, 6)], axis=1).astype(np.uint8)
    parent = np.array([0, 0, int(rng.integers(0, 2)), int(rng.integers(0, 3))], np.int32)
    towards, leaf = rng.normal(size=(4, 5)), np.empty(6, np.uint8)
    extension.descend(labels, first, parent, towards, leaf)
    assert leaf.tolist() == reference.descend(labels, first, parent, towards).tolist()
    overlaps = rng.random((5, 4)).astype(np.float32) / 2
    margin = np.empty(6)
    extension.best_margin(labels, first, overlaps, leaf, margin)
    expected = reference.best_margin(labels, first, overlaps, leaf)
    np.testing.assert_allclose(margin, expected, atol=1e-6)


@given(seeds, st.integers(1, 4), st.integers(0, 5), st.integers(0, 5))
@settings(deadline=None)
def test_a_margin_makes_a_tile_independent_of_the_rest(seed, radius, top, left):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(12, 12, 2))
    whole, part = np.empty(144, np.uint8), None
    number = number_pixels(np.ones((12, 12), bool))
    extension.random_field(scores.reshape(-1, 2), number, 1.0, radius, whole)
    rows = slice(max(0, top - radius), min(12, top + 3 + radius))
    cols = slice(max(0, left - radius), min(12, left + 3 + radius))
    cut = np.ascontiguousarray(scores[rows, cols])
    part = np.empty(cut.shape[0] * cut.shape[1], np.uint8)
    extension.random_field(
        cut.reshape(-1, 2), number_pixels(np.ones(cut.shape[:2], bool)), 1.0, radius, part
    )
    inside = part.reshape(cut.shape[:2])[
        top - rows.start : top - rows.start + 3, left - cols.start : left - cols.start + 3
    ]
    assert (inside == whole.reshape(12, 12)[top : top + 3, left : left + 3]).all()
