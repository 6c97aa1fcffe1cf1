import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr

from spectrawalk.datasets import make_scene
from spectrawalk.errors import GraphError
from spectrawalk.srdl import bridges, graph, neighbors
from spectrawalk.srdl.bridges import bridge_components


def islands(gap, seed=0):
    """Two islands of like spectra with masked columns between them."""
    rng = np.random.default_rng(seed)
    cube = rng.normal(size=(6, 8 + gap, 3)) * 0.01 + 1
    cube[:, 4 + gap :] += 1
    mask = np.ones(cube.shape[:2], dtype=bool)
    mask[:, 4 : 4 + gap] = False
    return cube[mask], mask


def connected_graph(X, mask, radius=2, k=10, sigma=1.0):
    index, d2 = neighbors.window_neighbors(X, mask, k, radius)
    scales = graph.local_scales(d2, sigma)
    W = graph.weight_matrix(index, d2, scales)
    return W, bridge_components(W, X, mask, scales, radius)


@pytest.mark.parametrize("gap", [3, 9, 40])
def test_bridge_joins_what_the_window_cannot(gap):
    X, mask = islands(gap)
    before, (after, n_components) = connected_graph(X, mask)
    assert n_components == graph.component_numbers(before).max() + 1 == 2
    assert graph.component_numbers(after).max() == 0
    assert abs(after - after.T).max() == 0
    added = (after - before).tocoo()
    added = set(zip(*(axis[added.data != 0].tolist() for axis in added.coords), strict=True))
    assert len(added) == 2  # one edge, in both directions


def test_bridge_is_the_best_match_and_weighs_as_any_edge():
    X, mask = islands(gap=3)
    before, (after, _) = connected_graph(X, mask)
    component = graph.component_numbers(before)
    left, right = np.flatnonzero(component == 0), np.flatnonzero(component == 1)
    d2 = np.square(X[left][:, None] - X[right][None]).sum(axis=2)
    places = np.argwhere(mask)
    reach = np.abs(places[left][:, None] - places[right][None]).max(axis=2)
    d2 = np.where(reach <= 4, d2, np.inf)  # found in the second round, of twice the radius
    i, j = np.unravel_index(d2.argmin(), d2.shape)
    assert after[left[i], right[j]] == pytest.approx(np.exp(-d2[i, j]))


def test_bridge_of_many_lone_pixels():
    rng = np.random.default_rng(1)
    mask = np.zeros((60, 60), dtype=bool)
    mask[::9, ::9] = True
    X = rng.normal(size=(mask.sum(), 3)) * 0.1
    index, d2 = neighbors.window_neighbors(X, mask, 5, 2)
    assert (index == -1).all()
    scales = graph.local_scales(d2, 1.0)
    W = graph.weight_matrix(index, d2, scales)
    W, n_components = bridge_components(W, X, mask, scales, 2)
    assert n_components == mask.sum()
    assert graph.component_numbers(W).max() == 0


def test_a_connected_graph_is_left_alone():
    rng = np.random.default_rng(0)
    X, mask = rng.normal(size=(100, 3)) * 0.1, np.ones((10, 10), dtype=bool)
    before, (after, n_components) = connected_graph(X, mask, radius=3)
    assert n_components == 1
    assert abs(before - after).max() == 0


def test_symmetric_graph_is_the_union_of_edges():
    rng = np.random.default_rng(0)
    X, mask = rng.normal(size=(64, 3)), np.ones((8, 8), dtype=bool)
    index, d2 = neighbors.window_neighbors(X, mask, 5, 3)
    directed = graph.weight_matrix(index, d2, np.ones(64), None).toarray()
    symmetric = graph.weight_matrix(index, d2, np.ones(64), "max").toarray()
    np.testing.assert_array_equal(symmetric, np.maximum(directed, directed.T))
    assert (directed != directed.T).any()
    pixel = 17
    np.testing.assert_allclose(directed[pixel, index[pixel]], np.exp(-d2[pixel]))


def test_disk_window_lies_inside_the_square():
    X, mask = np.random.default_rng(0).normal(size=(121, 2)), np.ones((11, 11), dtype=bool)
    centre = 60
    disk, _ = neighbors.window_neighbors(X, mask, 120, 3, "disk")
    square, _ = neighbors.window_neighbors(X, mask, 120, 3, "square")
    assert (disk[centre] >= 0).sum() == 28  # lattice points of a disk of radius 3, less itself
    assert (square[centre] >= 0).sum() == 48
    assert set(disk[centre]) <= set(square[centre]) | {-1}


def test_corner_window_gives_all_it_has():
    X, mask = np.random.default_rng(0).normal(size=(900, 2)), np.ones((30, 30), dtype=bool)
    index, _ = neighbors.window_neighbors(X, mask, 100, 8)
    assert (index[0] >= 0).sum() == 80


def test_adaptive_scales():
    d2 = np.array([[1.0, 4.0, np.inf], [1.0, 9.0, 16.0]])
    np.testing.assert_allclose(graph.local_scales(d2, "mean"), (1 + 2 + 1 + 3 + 4) / 5)
    np.testing.assert_allclose(graph.local_scales(d2, "mean", 2.0), 2 * 11 / 5)
    np.testing.assert_allclose(graph.local_scales(d2, "self-tuning"), [2, 4])
    np.testing.assert_allclose(graph.local_scales(d2, 0.5), [0.5, 0.5])


def test_self_tuning_scale_is_never_zero():
    d2 = np.array([[0.0, 0.0], [0.0, 4.0]])
    assert (graph.local_scales(d2, "self-tuning") > 0).all()
    with pytest.raises(GraphError, match="jitter"):
        graph.local_scales(np.zeros((2, 2)), "self-tuning")


def test_underflowing_weights_are_an_error():
    index, d2 = np.array([[1], [0]], dtype=np.int32), np.full((2, 1), 1e6)
    with pytest.raises(GraphError, match=r"2 of 2 pixels.*larger sigma"):
        graph.weight_matrix(index, d2, np.ones(2))


def test_limited_search_is_nearly_exact():
    scene = make_scene((60, 60), n_bands=40, noise=0.1)
    X = scene.cube.reshape(-1, 40).astype(float)
    exact, exact_d2 = neighbors.global_neighbors(X, 10)
    limited, d2 = neighbors.global_neighbors(X, 10, budget=1000)
    assert (d2 >= exact_d2).all()  # it can only miss some, never invent any
    assert np.mean([np.isin(a, b).mean() for a, b in zip(limited, exact, strict=True)]) > 0.9
    assert spearmanr(exact_d2.sum(axis=1), d2.sum(axis=1))[0] > 0.99


@pytest.mark.slow
def test_the_search_gives_its_memory_back():
    """Queues that grew inside a loop over the pixels once took 13 GB here."""
    code = (
        "import numpy, resource; from spectrawalk.srdl import neighbors;"
        "X = numpy.random.default_rng(0).normal(size=(60_000, 30));"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "neighbors.global_neighbors(X, 100, budget=2000);"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 600  # megabytes; the result itself is 70


def test_parts_too_far_apart_to_bridge_are_an_error():
    """It once looked for a bridge for ever."""
    X = np.random.default_rng(0).uniform(size=(144, 4))
    X[70] = 1e200
    W = np.diag(np.ones(143), 1) + np.diag(np.ones(143), -1)
    W[70] = W[:, 70] = 0
    with pytest.raises(GraphError):
        bridge_components(csr_array(W), X, np.ones((12, 12), bool), np.ones(144), 2)


def parts(rng, shape, count):
    """A graph in parts of equal size at random places, and spectra without ties."""
    n = shape[0] * shape[1]
    X = rng.normal(size=(n, 5))
    group = rng.permutation(np.arange(n) % count)
    W = (group[:, None] == group) & ~np.eye(n, dtype=bool)
    return csr_array(W.astype(float)), X, group


def joined(W, X, mask, radius):
    """The graph once its parts are joined, as a set of edges."""
    found, count = bridge_components(W, X, mask, np.ones(len(X)), radius)
    assert connected_components(found)[0] == 1
    return found.toarray() > 0, count


@pytest.mark.parametrize("seed", range(6))
def test_bridges_in_the_whole_image_are_those_of_a_window_around_all(seed):
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=(30, 20)) < 0.9
    # Rounded, so that some distances are equal.
    X = rng.normal(size=(mask.sum(), 4)).round(seed % 3)
    component = rng.choice(5, size=len(X), p=[0.6, 0.25, 0.1, 0.04, 0.01]).astype(np.int32)
    whole = bridges._best_bridges(bridges._WholeImage(X), component)
    window = bridges._best_bridges(bridges._Windows(X, mask, 30), component)
    np.testing.assert_array_equal(whole[0], window[0])
    np.testing.assert_array_equal(whole[1], window[1])


@pytest.mark.parametrize("radius", [1, 3, None])
@pytest.mark.parametrize("seed", range(6))
def test_bridges_turn_with_the_image(seed, radius):
    """Parts of equal size, so that no order of theirs may matter."""
    rng = np.random.default_rng(seed)
    shape, mask = (6, 7), np.ones((6, 7), bool)
    W, X, _ = parts(rng, shape, int(rng.integers(2, 8)))
    edges, _ = joined(W, X, mask, radius)
    for axis in (0, 1):
        order = np.flip(np.arange(42).reshape(shape), axis).ravel()
        turned, _ = joined(csr_array(W[order][:, order]), X[order], mask, radius)
        np.testing.assert_array_equal(turned, edges[order][:, order])


@pytest.mark.parametrize("seed", range(6))
def test_every_part_gets_its_best_match_outside(seed):
    """Without a window and in one round, all bridges are known: the largest part has one too."""
    rng = np.random.default_rng(seed)
    W, X, group = parts(rng, (5, 8), 3)
    d2 = np.square(X[:, None] - X).sum(axis=2)
    d2[group[:, None] == group] = np.inf
    expected = W.toarray() > 0
    for part in range(3):
        inside = np.flatnonzero(group == part)
        one, other = np.unravel_index(d2[inside].argmin(), (len(inside), 40))
        expected[inside[one], other] = expected[other, inside[one]] = True
    found, count = joined(W, X, np.ones((5, 8), bool), None)
    assert count == 3
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e200])
def test_scales_beyond_the_range_of_their_squares(scale):
    """d / s is an ordinary number although neither square is."""
    index, d2 = np.array([[1], [0]], dtype=np.int32), np.ones((2, 1))
    if scale > 1:
        W = graph.weight_matrix(index, d2, np.full(2, scale))
        np.testing.assert_array_equal(W.toarray(), [[0, 1], [1, 0]])
    else:
        with pytest.raises(GraphError):
            graph.weight_matrix(index, d2, np.full(2, scale))
