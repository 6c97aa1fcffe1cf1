"""Each kernel against its slow readable twin.

Integer-valued spectra have exact distances, so ties are real and everything must be equal. Other
spectra may differ where two distances are within 1e-6 of each other.
"""

from functools import partial

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from spectrawalk.kernels import edges, reference, tree, windows
from spectrawalk.kernels import neighbors as neighbor_kernels
from spectrawalk.srdl import density, graph, modes, neighbors
from spectrawalk.srdl.labels import STAGE1_RULES, Consensus, label_pixels
from spectrawalk.threads import split


@st.composite
def images(draw, integer=True):
    """Spectra of the valid pixels and the mask: odd shapes, duplicates, masked rows."""
    shape = draw(
        st.one_of(
            st.tuples(st.integers(1, 9), st.integers(1, 9)),
            st.tuples(st.just(1), st.integers(2, 80)),
            st.tuples(st.integers(2, 80), st.just(1)),
        ).filter(lambda s: s[0] * s[1] >= 2)
    )
    bands = draw(st.integers(1, 4))
    values = (
        st.integers(-3, 3).map(float)
        if integer
        else st.floats(-10, 10, allow_nan=False, width=32).map(float)
    )
    cube = draw(hnp.arrays(np.float64, (*shape, bands), elements=values, fill=st.nothing()))
    mask = draw(hnp.arrays(bool, shape, elements=st.booleans()))
    if draw(st.booleans()):
        mask[draw(st.integers(0, shape[0] - 1))] = False
    if np.count_nonzero(mask) < 2:
        mask[...] = True
    return cube[mask], mask


@st.composite
def large_images(draw):
    """More bands than leading coordinates, more pixels than a tile, and masks of every density."""
    rows, cols = draw(st.integers(9, 30)), draw(st.integers(9, 30))
    bands = draw(st.integers(13, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = rng.normal(size=(draw(st.integers(1, 5)), bands)) * 10.0 ** draw(st.integers(-9, 9))
    cube = kinds[rng.integers(len(kinds), size=(rows, cols))]
    cube = cube * (1 + 10.0 ** draw(st.integers(-7, 0)) * rng.normal(size=cube.shape))
    mask = rng.random((rows, cols)) < draw(st.sampled_from([0.05, 0.5, 0.95, 1.0]))
    mask.ravel()[:2] = True
    return cube[mask], mask


def _pad(index, d2, k):
    """Bring the graph's answer (never wider than it can be) to width k."""
    extra = ((0, 0), (0, k - index.shape[1]))
    return np.pad(index, extra, constant_values=-1), np.pad(d2, extra, constant_values=np.inf)


def _assert_same_neighbors(X, found, expected):
    """Equal sets of distances, and equal indices but for near-ties; indices fit the distances."""
    (index, d2), (expected_index, expected_d2) = found, expected
    np.testing.assert_allclose(d2, expected_d2, rtol=1e-9)
    for pixel, (mine, theirs) in enumerate(zip(index, expected_index, strict=True)):
        for position in np.flatnonzero(mine != theirs):
            a = reference.squared_distances(X[pixel], X[mine[position] : mine[position] + 1])[0]
            b = reference.squared_distances(X[pixel], X[theirs[position] : theirs[position] + 1])[0]
            assert abs(a - b) <= 1e-6 * max(a, b)


@given(images(), st.integers(1, 120), st.integers(1, 12), st.booleans())
def test_window_neighbors_of_integers_are_exact(image, k, radius, disk):
    X, mask = image
    index, d2 = _pad(
        *neighbors.window_neighbors(X, mask, k, radius, "disk" if disk else "square"), k
    )
    expected_index, expected_d2 = reference.window_neighbors(X, mask, k, radius, disk)
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_array_equal(d2, expected_d2)


@given(images(integer=False), st.integers(1, 20), st.integers(1, 5))
def test_window_neighbors_of_reals(image, k, radius):
    X, mask = image
    found = _pad(*neighbors.window_neighbors(X, mask, k, radius), k)
    _assert_same_neighbors(X, found, reference.window_neighbors(X, mask, k, radius))


@given(large_images(), st.integers(1, 120), st.integers(1, 12), st.booleans())
def test_window_neighbors_of_large_images(image, k, radius, disk):
    X, mask = image
    found = _pad(*neighbors.window_neighbors(X, mask, k, radius, "disk" if disk else "square"), k)
    _assert_same_neighbors(X, found, reference.window_neighbors(X, mask, k, radius, disk))


@given(large_images(), st.integers(1, 40))
def test_global_neighbors_of_large_images(image, k):
    X, _ = image
    k = min(k, len(X) - 1)
    _assert_same_neighbors(X, neighbors.global_neighbors(X, k), reference.global_neighbors(X, k))


@given(images(), st.integers(1, 120))
def test_global_neighbors_of_integers_are_exact(image, k):
    X, _ = image
    index, d2 = _pad(*neighbors.global_neighbors(X, k), max(k, len(X) - 1))
    expected_index, expected_d2 = reference.global_neighbors(X, max(k, len(X) - 1))
    keep = min(k, len(X) - 1)
    np.testing.assert_array_equal(index[:, :keep], expected_index[:, :keep])
    np.testing.assert_array_equal(d2[:, :keep], expected_d2[:, :keep])


@given(images(integer=False), st.integers(1, 20))
def test_global_neighbors_of_reals(image, k):
    X, _ = image
    k = min(k, len(X) - 1)
    _assert_same_neighbors(X, neighbors.global_neighbors(X, k), reference.global_neighbors(X, k))


@given(images(integer=False))
def test_mean_distance(image):
    X, _ = image
    expected = np.mean([np.sqrt(reference.squared_distances(x, X)).sum() for x in X]) / (len(X) - 1)
    np.testing.assert_allclose(density.mean_distance(X), expected, rtol=1e-6, atol=1e-6)


@given(images(), st.data())
def test_nearest_outside(image, data):
    X, mask = image
    n = len(X)
    group = data.draw(hnp.arrays(np.int32, n, elements=st.integers(0, 3)))
    radius = data.draw(st.integers(1, 10))
    pixels = np.flatnonzero(data.draw(hnp.arrays(bool, n, elements=st.booleans())))
    rows, cols = (axis.astype(np.int32) for axis in np.nonzero(mask))
    found = np.empty(len(pixels), dtype=np.int64), np.empty(len(pixels))
    number = neighbors.number_pixels(mask)
    search = partial(windows.nearest_outside, X, number, rows, cols, group, pixels, radius, *found)
    for block in split(0, len(pixels), threads=2):
        search(*block)
    expected = reference.nearest_outside(X, mask, group, pixels, radius)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@given(images(), st.data(), st.sampled_from([0.5, 1.0, 2.0]))
def test_nearest_outside_in_the_whole_image(image, data, share):
    X, mask = image
    n = len(X)
    group = data.draw(hnp.arrays(np.int32, n, elements=st.integers(0, 3)))
    expected, expected_d2 = reference.nearest_outside(X, mask, group, np.arange(n), sum(mask.shape))
    middle, scale = X.mean(axis=0), neighbors.to_unit(X)
    leads, slack = neighbors.leading_coordinates(X, middle, scale)
    grown = tree.build_tree(leads)
    limits = share * expected_d2
    shared, places = neighbor_kernels.shared_groups(grown, group), np.argsort(grown.rank)
    found, d2 = np.empty(n, dtype=np.int64), np.empty(n)
    neighbor_kernels.nearest_outside(
        grown, X, group, shared, scale, slack, places, limits, found, d2, 0, n
    )
    within = expected_d2 <= limits
    np.testing.assert_array_equal(found, np.where(within, expected, -1))
    np.testing.assert_array_equal(d2, np.where(within, expected_d2, np.inf))


@given(images())
def test_nearest_denser(image):
    coordinates, _ = image
    n = len(coordinates)
    expected_parent, expected_d2 = reference.nearest_denser(coordinates)
    grown = tree.build_tree(coordinates)
    parent, d2 = np.empty(n, dtype=np.int64), np.empty(n)
    tree.nearest_denser(
        grown, tree.lowest_ranks(grown), np.zeros(n, dtype=np.int32), parent, d2, 0, n
    )
    assert d2[0] == np.inf
    d2[0] = tree.farthest(coordinates, coordinates[0])
    np.testing.assert_array_equal(parent, expected_parent)
    np.testing.assert_array_equal(d2, expected_d2)


@given(
    images(),
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from(list(STAGE1_RULES)),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_two_stage_labels(image, n_clusters, radius, stage1, wait, own_vote, random):
    coordinates, mask = image
    n = len(coordinates)
    ranking = np.array(random.sample(range(n), n))
    others = random.sample(range(1, n), min(n_clusters, n) - 1)
    mode_ranks = np.array([0, *others])
    random.shuffle(mode_ranks)
    parent, _ = modes.nearest_denser(coordinates, ranking)
    labels = label_pixels(
        coordinates,
        ranking,
        parent,
        ranking[mode_ranks],
        mask,
        Consensus(radius, stage1, "open" if wait else "labelled", own_vote),
    )
    expected = reference.two_stage_labels(
        coordinates[ranking],
        np.argwhere(mask)[ranking],
        mask.shape,
        mode_ranks,
        radius,
        stage1,
        wait,
        own_vote,
    )
    np.testing.assert_array_equal(labels[ranking], expected)


@given(st.data())
def test_connected_components(data):
    n = data.draw(st.integers(1, 30))
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=40))
    W = csr_array(coo_array((np.ones(len(ends)), np.array(ends).reshape(-1, 2).T), shape=(n, n)))
    found = edges.connected(W.indptr.astype(np.int64), W.indices.astype(np.int32))
    expected = connected_components(W, directed=True, connection="weak")[1]
    firsts = np.unique(expected, return_index=True)[1]
    numbers = np.argsort(np.argsort(firsts))  # in the order of their first pixels
    np.testing.assert_array_equal(found, numbers[expected])


@given(images(), st.integers(1, 30), st.integers(1, 4), st.sampled_from(["max", None]), st.data())
def test_weight_matrix(image, k, radius, symmetrize, data):
    X, mask = image
    index, d2 = neighbors.window_neighbors(X, mask, k, radius)
    scales = data.draw(hnp.arrays(float, len(X), elements=st.floats(2, 20)))
    W = graph.weight_matrix(index, d2, scales, symmetrize)
    assert W.has_canonical_format
    np.testing.assert_allclose(
        W.toarray(), reference.weight_matrix(index, d2, scales, symmetrize == "max"), rtol=1e-12
    )
