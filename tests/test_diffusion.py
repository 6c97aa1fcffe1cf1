"""Eigenpairs against dense solvers: no pair missing, and the identity behind eq. (2)."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import block_diag, csr_array, diags_array, kron, random_array

from spectrawalk.datasets import make_scene
from spectrawalk.prepare.pixels import take_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.srdl import eigensolver, graph, neighbors
from spectrawalk.srdl.bridges import bridge_components
from spectrawalk.srdl.eigenpairs import diffusion_coordinates, leading_eigenpairs, taper


def windowed(shape=(40, 40), k=20, radius=4, connect=True, **options):
    """The graph of a synthetic scene."""
    pixels = take_pixels(make_scene(shape, n_bands=20, **options))
    X = normalize_spectra(pixels.spectra, "pixel")
    index, d2 = neighbors.window_neighbors(X, pixels.grid.mask, k, radius)
    scales = graph.local_scales(d2, 1.0)
    W = graph.weight_matrix(index, d2, scales)
    return bridge_components(W, X, pixels.grid.mask, scales, radius)[0] if connect else W


def ring(n):
    ones = np.ones(n)
    return csr_array(diags_array([ones[1:], ones[1:], [1.0], [1.0]], offsets=[1, -1, n - 1, 1 - n]))


def blocks(count, size, coupling, seed=0):
    """Dense-ish random blocks in a chain, joined by edges of weight `coupling`."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(count):
        part = random_array((size, size), density=0.2, rng=rng)
        parts.append(part + part.T + ring(size))
    W = block_diag(parts, format="lil")
    for left in range(0, (count - 1) * size, size):
        if coupling:
            W[left, left + size] = W[left + size, left] = coupling
    return csr_array(W)


def extreme(side, k, radius, share):
    """A graph of noise whose scale is a small share of the distances: weights down to 1e-100."""
    X, mask = np.random.default_rng(0).normal(size=(side * side, 6)), np.ones((side, side), bool)
    index, d2 = neighbors.window_neighbors(X, mask, k, radius)
    scales = graph.local_scales(d2, share * np.sqrt(np.median(d2[np.isfinite(d2)])))
    W = graph.weight_matrix(index, d2, scales)
    return bridge_components(W, X, mask, scales, radius)[0]


GRAPHS = {
    "scene": lambda: windowed(),
    "noisy scene": lambda: windowed((54, 54), noise=0.2, random_state=3),
    "scene in parts": lambda: windowed(noise=0.001, k=8, radius=2, connect=False),
    "ring (all pairs double)": lambda: ring(1001),
    "torus (fourfold)": lambda: csr_array(kron(ring(30), np.eye(30)) + kron(np.eye(30), ring(30))),
    "12 blocks, coupling 1e-3": lambda: blocks(12, 60, 1e-3),
    "12 blocks, coupling 1e-8": lambda: blocks(12, 60, 1e-8),
    "30 blocks, coupling 1e-6": lambda: blocks(30, 50, 1e-6),
    "8 components": lambda: blocks(8, 70, 0),
    "extreme weights, k=3": lambda: extreme(30, 3, 3, 0.1),
    "extreme weights, k=20": lambda: extreme(24, 20, 1, 0.06),
    "small": lambda: blocks(3, 9, 0.1),
    "singletons": lambda: block_diag([ring(50), np.zeros((1, 1)), ring(450)], format="csr"),
}


@cache
def solved(name):
    """A graph, the roots of its degrees, and its leading eigenpairs by a dense solver."""
    W = GRAPHS[name]()
    degree = W.sum(axis=1)
    # A pixel without neighbours stays where it is: its P is the identity.
    dense = W.toarray() + np.diag((degree == 0).astype(float))
    root = np.sqrt(np.where(degree > 0, degree, 1.0))
    n = len(root)
    values, vectors = eigh(dense / np.outer(root, root), subset_by_index=(max(0, n - 60), n - 1))
    return W, root, values[::-1], vectors[:, ::-1]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("m", [3, 10, 21])
def test_no_eigenpair_is_missing(name, m):
    W, root, exact_values, exact = solved(name)
    values, vectors = leading_eigenpairs(W, m)
    count = len(values)
    assert count >= min(m, W.shape[0])
    np.testing.assert_allclose(values, exact_values[:count], atol=1e-11)

    # Compare the subspaces up to a cut that lies in a real gap.
    gaps = -np.diff(exact_values[: count + 1])
    cuts = np.flatnonzero(gaps > 1e-6) + 1
    if len(cuts):
        cut = int(cuts[-1])
        angle = subspace_angles(vectors[:, :cut] * root[:, None], exact[:, :cut])
        assert angle.max() < 1e-6


@pytest.mark.parametrize("name", ["12 blocks, coupling 1e-3", "scene", "small"])
@pytest.mark.parametrize("time", [1, 5])
def test_eigenvalue_sum_is_the_weighted_row_distance(name, time):
    """Over all pairs, eq. (2) is the row distance of P^t weighted by 1 / stationary."""
    W = GRAPHS[name]()
    W = W[:300][:, :300] if name == "scene" else W
    W = csr_array(W)
    degree = W.sum(axis=1)
    stationary = degree / degree.sum()
    rows = np.linalg.matrix_power(W.toarray() / degree[:, None], time)
    weighted = rows / np.sqrt(stationary)
    n = len(degree)
    coordinates = diffusion_coordinates(*leading_eigenpairs(W, n), time)
    assert coordinates.shape == (n, n)
    rng = np.random.default_rng(0)
    for x, y in rng.integers(0, n, (200, 2)):
        found = np.linalg.norm(coordinates[x] - coordinates[y])
        expected = np.linalg.norm(weighted[x] - weighted[y])
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("lost", [0, 4])
@pytest.mark.parametrize("name", ["scene", "noisy scene"])
def test_a_pair_that_the_coarse_graph_does_not_show_is_found(name, lost, monkeypatch):
    """All of the start but the random part are eigenvectors, with which it could end at once."""
    W, _, exact_values, exact = solved(name)
    shown = np.delete(exact[:, 1:10], lost, axis=1)
    monkeypatch.setattr(eigensolver.CoarseGraph, "leading", lambda self, m: shown[:, :m])
    values, vectors = eigensolver.leading_pairs(csr_array(W), 5)
    np.testing.assert_allclose(values, exact_values[1:6], atol=1e-11)
    assert subspace_angles(vectors, exact[:, 1:6]).max() < 1e-6


def test_pairs_are_lost_without_the_random_part(monkeypatch):
    """So that the test above tests something."""
    W, _, exact_values, exact = solved("scene")
    shown = np.delete(exact[:, 1:20], 0, axis=1)
    monkeypatch.setattr(eigensolver.CoarseGraph, "leading", lambda self, m: shown[:, :m])
    monkeypatch.setattr(eigensolver, "_RANDOM", 0)
    values, _ = eigensolver.leading_pairs(csr_array(W), 5)
    assert values[0] < exact_values[1] - 1e-4


def test_coarse_graphs_are_coarsened_until_they_can_be_factorised(monkeypatch):
    W, _, exact_values, _ = solved("noisy scene")
    monkeypatch.setattr(eigensolver, "_MOST_GROUPS", 40)
    assert eigensolver.CoarseGraph(eigensolver.Walk(csr_array(W))).n_groups <= 40
    np.testing.assert_allclose(leading_eigenpairs(W, 8)[0], exact_values[:8], atol=1e-11)


@pytest.mark.parametrize("size", [30, 60])
def test_pixels_that_are_tied_weakly_do_not_get_rounding_errors_for_coordinates(size):
    """Dense and iterative: a pixel that hangs on one other by a weight of 1e-25 is like it."""
    core = blocks(10, size, 1e-2)
    n = core.shape[0]
    W = block_diag([core, np.zeros((1, 1))], format="lil")
    W[0, n] = W[n, 0] = 1e-25
    values, vectors = leading_eigenpairs(csr_array(W), 6)
    np.testing.assert_allclose(vectors[n] * values, vectors[0], rtol=1e-6)


def test_many_equal_eigenvalues_of_a_small_graph():
    """A solver for a part of the pairs failed on it."""
    W = np.ones((20, 20)) - np.eye(20)
    W[7] = W[:, 7] = 1e-13
    values, vectors = leading_eigenpairs(csr_array(W), 5)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(values[0], 1)


def test_first_vector_is_constant_one():
    values, vectors = leading_eigenpairs(GRAPHS["scene"](), 4)
    assert values[0] == 1
    assert (vectors[:, 0] == 1).all()


def test_each_component_has_an_eigenvalue_one_of_its_own():
    values, vectors = leading_eigenpairs(blocks(8, 70, 0), 3)
    np.testing.assert_array_equal(values, np.ones(8))
    for vector in vectors.T:
        assert len(np.unique(vector)) == 2  # constant on its component, zero elsewhere


@pytest.mark.parametrize("size", [300, 900])
def test_directed_pairs_are_those_of_a_dense_solver(size):
    """Dense below the switch, iterative above it; the graph itself is not symmetric."""
    pixels = take_pixels(make_scene((30, size // 30), n_bands=20))
    X = normalize_spectra(pixels.spectra, "pixel")
    index, d2 = neighbors.window_neighbors(X, pixels.grid.mask, 20, 6)
    W = graph.weight_matrix(index, d2, np.ones(len(X)), symmetrize=None)
    assert abs(W - W.T).max() > 0
    values, vectors = leading_eigenpairs(W, 6, symmetric=False)
    exact = np.linalg.eigvals(W.toarray() / W.sum(axis=1)[:, None])
    np.testing.assert_allclose(values, np.sort(np.abs(exact))[::-1][:6], atol=1e-10)
    assert np.ptp(vectors[:, 0]) == 0
    np.testing.assert_allclose(np.linalg.norm(vectors[:, 1], axis=0), 1, atol=1e-8)


def exact_moduli(W):
    degree = W.sum(axis=1)
    return np.sort(np.abs(np.linalg.eigvals(W.toarray() / degree[:, None])))[::-1]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_directed_graphs_with_several_ends_miss_no_pair(k):
    """Few neighbours leave parts from which no way leads out, each with an eigenvalue 1."""
    pixels = take_pixels(make_scene((30, 30), n_bands=20, noise=0.05))
    X = normalize_spectra(pixels.spectra, "pixel")
    index, d2 = neighbors.window_neighbors(X, pixels.grid.mask, k, 6)
    W = graph.weight_matrix(index, d2, np.ones(len(X)), symmetrize=None)
    W, _ = bridge_components(W, X, pixels.grid.mask, np.ones(len(X)), 6)
    exact = exact_moduli(W)
    if k == 2:
        assert exact[1] > 1 - 1e-9
    values, vectors = leading_eigenpairs(W, 12, symmetric=False)
    np.testing.assert_allclose(values, exact[:12], atol=1e-7)
    ones = np.count_nonzero(values > 1 - 1e-9)
    P = diags_array(1 / W.sum(axis=1)) @ W
    np.testing.assert_allclose(P @ vectors[:, :ones], vectors[:, :ones], atol=1e-7)
    assert np.linalg.matrix_rank(vectors[:, :ones]) == ones


def test_a_directed_walk_without_return_gives_as_many_pairs_as_asked_for():
    """With one neighbour each, nearly all eigenvalues are 0, and most without a vector."""
    n = 441
    ahead = np.minimum(np.arange(n) + 1, n - 1)
    ahead[-1] = n - 2
    W = csr_array((np.ones(n), ahead, np.arange(n + 1)), shape=(n, n))
    values, vectors = leading_eigenpairs(W, 5, symmetric=False)
    assert vectors.shape == (n, 5)
    np.testing.assert_allclose(values[:2], 1, atol=1e-7)
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("n", [100, 900])
def test_a_directed_walk_to_and_fro_keeps_its_eigenvalue_of_minus_one(n):
    """On a ring of even length the walk swaps two halves: lambda = -1 beside the trivial 1."""
    values, vectors = leading_eigenpairs(ring(n), 2, symmetric=False)
    np.testing.assert_allclose(values, 1, atol=1e-9)
    assert (values <= 1).all()
    assert np.ptp(vectors[:, 0]) == 0
    np.testing.assert_allclose(vectors[::2, 1], -vectors[1::2, 1], atol=1e-7)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("spare", [0, 1, 2, 3])
def test_nearly_all_pairs_may_be_asked_for(symmetric, spare):
    W = blocks(10, 45, 0.1)
    values, vectors = leading_eigenpairs(W, 450 - spare, symmetric=symmetric)
    assert len(values) == 450 - spare
    assert vectors.shape == (450, 450 - spare)


def test_many_components_do_not_fill_the_memory():
    """One vector per component; full ones per component and pair would be 60 times as many."""
    parts = block_diag([ring(4)] * 600, format="csr")
    tracemalloc.start()
    values, _ = leading_eigenpairs(parts, 601)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(values) == 601
    assert peak < 4 * 8 * 601 * 2400


def test_taper_counts_the_trivial_pair():
    values = np.concatenate([np.linspace(1, 0.9, 7), np.linspace(0.5, 0.3, 14)])
    assert taper(values) == 7
    values, vectors = leading_eigenpairs(blocks(7, 60, 1e-3), "auto")
    assert len(values) == 7
    assert vectors.shape == (420, 7)


def test_taper_of_a_tiny_graph_takes_all():
    values, _ = leading_eigenpairs(ring(4), "auto")
    assert len(values) == 4


def test_eigenvalues_that_rounding_put_above_one_do_not_grow_with_time():
    coordinates = diffusion_coordinates(np.array([1 + 2e-16, 0.5]), np.ones((3, 2)), 1e308)
    np.testing.assert_array_equal(coordinates, np.tile([1.0, 0.0], (3, 1)))
