"""Eigenpairs against dense solvers: no pair missing, and the identity behind eq. (2)."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import block_diag, csr_array, diags_array, kron, random_array

from spectrawalk import graph
from spectrawalk.datasets import make_scene
from spectrawalk.diffusion import diffusion_coordinates, leading_eigenpairs, taper
from spectrawalk.preparation import normalize_spectra, take_pixels


def windowed(shape=(40, 40), k=20, radius=4, connect=True, **options):
    """The graph of a synthetic scene."""
    pixels = take_pixels(make_scene(shape, n_bands=20, **options))
    X = normalize_spectra(pixels.spectra, "pixel")
    index, d2 = graph.window_neighbors(X, pixels.mask, k, radius)
    scales = graph.local_scales(d2, 1.0)
    W = graph.weight_matrix(index, d2, scales)
    return graph.bridge_components(W, X, pixels.mask, scales, radius)[0] if connect else W


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
    index, d2 = graph.window_neighbors(X, pixels.mask, 20, 6)
    W = graph.weight_matrix(index, d2, np.ones(len(X)), symmetrize=None)
    assert abs(W - W.T).max() > 0
    values, vectors = leading_eigenpairs(W, 6, symmetric=False)
    exact = np.linalg.eigvals(W.toarray() / W.sum(axis=1)[:, None])
    np.testing.assert_allclose(values, np.sort(np.abs(exact))[::-1][:6], atol=1e-10)
    assert np.ptp(vectors[:, 0]) == 0
    np.testing.assert_allclose(np.linalg.norm(vectors[:, 1], axis=0), 1, atol=1e-8)


def test_taper_counts_the_trivial_pair():
    values = np.concatenate([np.linspace(1, 0.9, 7), np.linspace(0.5, 0.3, 14)])
    assert taper(values) == 7
    values, vectors = leading_eigenpairs(blocks(7, 60, 1e-3), "auto")
    assert len(values) == 7
    assert vectors.shape == (420, 7)


def test_taper_of_a_tiny_graph_takes_all():
    values, _ = leading_eigenpairs(ring(4), "auto")
    assert len(values) == 4
