"""The comparison methods on data for which the answer is known."""

import sys

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import LinearConstraint, minimize, nnls
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster
from sklearn.metrics import adjusted_rand_score

from spectrawalk.baselines import (
    DBSCAN,
    FMS,
    FSFDPC,
    HDBSCAN,
    HNMF,
    SMCE,
    GaussianMixture,
    ICAKMeans,
    KMeans,
    Leiden,
    PCAKMeans,
    RandomProjectionKMeans,
    SpectralClustering,
    SuperpixelKMeans,
)
from spectrawalk.baselines.dbscan import QUANTILES
from spectrawalk.baselines.fms import MumfordShah, nystrom_laplacian
from spectrawalk.baselines.fsfdpc import distance_quantile, gaussian_density
from spectrawalk.baselines.hnmf import best_threshold, first_share, two_variable_nnls
from spectrawalk.baselines.smce import sparse_affine_combinations, tangent_graph
from spectrawalk.errors import ConvergenceError, MissingDependencyError

SEEDS = range(3)


def agreement(truth, labels):
    return adjusted_rand_score(np.ravel(truth), np.ravel(labels))


# K-means and its projections


@pytest.mark.parametrize("method", [KMeans, PCAKMeans, ICAKMeans, RandomProjectionKMeans])
@pytest.mark.parametrize("seed", SEEDS)
def test_planted_clusters_are_found(method, seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2, 3], [90, 70, 50, 30])
    centers = 10 * np.eye(4, 30) + 5
    X = centers[truth] + rng.normal(scale=0.1, size=(len(truth), 30))
    np.testing.assert_array_equal(method(4, random_state=seed).fit_predict(X), truth)


def test_a_projection_keeps_as_many_dimensions_as_asked():
    """Clusters apart along the second principal axis only are lost when one is kept."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    X = np.column_stack([rng.uniform(-50, 50, 200), 10.0 * truth, rng.normal(size=200)])
    X[:, 0] -= np.polyval(np.polyfit(truth, X[:, 0], 1), truth)
    assert agreement(truth, PCAKMeans(2, n_components=1).fit_predict(X)) < 0.1


# DBSCAN


def moons(rng, n=2000):
    angle = rng.uniform(0, np.pi, n)
    truth = np.arange(n) % 2
    x = np.where(truth, 1 - np.cos(angle), np.cos(angle))
    y = np.where(truth, 0.5 - np.sin(angle), np.sin(angle))
    return np.column_stack([x, y]) + rng.normal(scale=0.04, size=(n, 2)), truth


@pytest.mark.parametrize("seed", SEEDS)
def test_dbscan_finds_moons_and_gives_noise_to_the_nearest(seed):
    rng = np.random.default_rng(seed)
    X, truth = moons(rng)
    X, truth = np.vstack([X, [1.0, -9.0]]), np.append(truth, 1)
    model = DBSCAN(2, normalize=None).fit(X)
    assert model.n_clusters_ == 2
    assert agreement(truth, model.labels_) > 0.97
    assert model.labels_[-1] == model.labels_[np.flatnonzero(truth == 1)[0]]


@pytest.mark.parametrize("n_clusters", [2, 5, 40])
def test_dbscan_has_the_cores_of_scikit_learn_at_the_smallest_fitting_radius(n_clusters):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2)) + 6 * rng.integers(0, 2, (300, 2))
    model = DBSCAN(n_clusters, normalize=None, min_samples=6).fit(X)

    d = np.sort(squareform(pdist(X)), axis=1)
    radii = np.quantile(d[:, 5], QUANTILES)
    runs = [cluster.DBSCAN(eps=radius, min_samples=6).fit(X) for radius in radii]
    misses = [abs(run.labels_.max() + 1 - n_clusters) for run in runs]
    chosen = int(np.argmin(misses))  # the first, so the smallest radius
    assert model.eps_ == pytest.approx(radii[chosen])
    assert model.n_clusters_ == runs[chosen].labels_.max() + 1
    core = runs[chosen].core_sample_indices_
    assert agreement(runs[chosen].labels_[core], model.labels_[core]) == 1


# Spectral clustering


@pytest.mark.parametrize("seed", SEEDS)
def test_spectral_clustering_follows_rings(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 150)
    angle = np.tile(np.linspace(0, 2 * np.pi, 150, endpoint=False), 3)
    X = (1 + truth[:, None]) * np.column_stack([np.cos(angle), np.sin(angle)])
    X += rng.normal(scale=0.03, size=X.shape)
    labels = SpectralClustering(3, normalize=None, n_neighbors=8, random_state=seed).fit_predict(X)
    assert agreement(truth, labels) == 1
    assert agreement(truth, KMeans(3).fit_predict(X)) < 0.1


def test_more_parts_of_the_graph_than_clusters_is_no_obstacle():
    """Two far groups of three near clumps each: six parts, and two clusters to find."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 90)
    clump = np.repeat(np.arange(6), 30)
    centers = np.array([[0, 0], [2, 0], [0, 2], [100, 0], [102, 0], [100, 2]])
    X = centers[clump] + rng.normal(scale=0.1, size=(180, 2))
    labels = SpectralClustering(2, normalize=None, n_neighbors=5).fit_predict(X)
    assert agreement(truth, labels) == 1


# Gaussian mixture


def test_gaussian_mixture_tells_crossing_gaussians_apart():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 400)
    X = rng.normal(size=(800, 2)) * np.where(truth[:, None], [10, 0.2], [0.2, 10])
    assert agreement(truth, GaussianMixture(2, normalize=None).fit_predict(X)) > 0.9
    assert agreement(truth, KMeans(2).fit_predict(X)) < 0.1


# SMCE


@pytest.mark.parametrize("seed", SEEDS)
def test_smce_takes_crossing_planes_apart(seed):
    """Two planes in four dimensions that cross in one point."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], 150)
    place = rng.uniform(-1, 1, (300, 2))
    X = np.where(np.repeat(truth[:, None] == [0, 1], 2, axis=1), np.tile(place, 2), 0.0)
    labels = SMCE(2, normalize=None, n_neighbors=20).fit_predict(X)
    assert agreement(truth, labels) > 0.97
    assert agreement(truth, KMeans(2).fit_predict(X)) < 0.5


def trefoil(t):
    return np.column_stack(
        [np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_smce_takes_interwoven_knots_apart_where_near_neighbours_mix_them(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], 200)
    t = (np.arange(400) % 200 + rng.uniform(-0.3, 0.3, 400)) * 2 * np.pi / 200
    X = trefoil(t) + 0.4 * truth[:, None] * [0, 0, 1]
    labels = SMCE(2, normalize=None, n_neighbors=20).fit_predict(X)
    assert agreement(truth, labels) == 1
    near = SpectralClustering(2, normalize=None, n_neighbors=5).fit_predict(X)
    assert agreement(truth, near) < 0.1


def test_smce_joins_along_the_line_and_not_across():
    """On two close parallel lines, a point's edges are the two next to it on its own line."""
    along = np.arange(30.0)
    lines = np.concatenate(
        [np.column_stack([along, 0 * along]), np.column_stack([along, along * 0 + 1.6])]
    )
    W = tangent_graph(lines, n_neighbors=8, sparsity=10.0).toarray()
    inner = np.flatnonzero((np.arange(60) % 30 > 1) & (np.arange(60) % 30 < 28))
    for point in inner:
        np.testing.assert_array_equal(np.flatnonzero(W[point]), [point - 1, point + 1])
    np.testing.assert_allclose(W[inner].sum(axis=1), 1, atol=1e-3)


def test_sparse_combinations_are_the_minimisers():
    rng = np.random.default_rng(0)
    k = 6
    directions = rng.normal(size=(4, k, 5))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    gram = directions @ directions.transpose(0, 2, 1)
    cost = rng.uniform(0.02, 0.2, (4, k))
    found = sparse_affine_combinations(gram, cost)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-3)
    for G, price, c in zip(gram, cost, found, strict=True):
        # As a smooth problem in the positive and the negative part.
        def objective(parts, G=G, price=price):
            v = parts[:k] - parts[k:]
            return v @ G @ v / 2 + price @ (parts[:k] + parts[k:])

        sums_to_one = LinearConstraint(np.r_[np.ones(k), -np.ones(k)], 1, 1)
        start = np.full(2 * k, 1 / k) * np.r_[np.ones(k), np.zeros(k)]
        best = minimize(
            objective, start, method="SLSQP", bounds=[(0, None)] * 2 * k,
            constraints=[sums_to_one], options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        assert objective(np.r_[np.maximum(c, 0), np.maximum(-c, 0)]) <= best.fun + 1e-3
        np.testing.assert_allclose(c, best.x[:k] - best.x[k:], atol=1e-2)


def test_smce_gives_identical_spectra_one_label():
    rng = np.random.default_rng(0)
    distinct = np.concatenate([rng.normal(0, 1, (40, 3)), rng.normal(20, 1, (40, 3))])
    which = rng.integers(80, size=300)
    labels = SMCE(2, normalize=None, n_neighbors=10).fit_predict(distinct[which])
    assert all(len(set(labels[which == i])) <= 1 for i in range(80))
    assert agreement(which >= 40, labels) == 1


# HNMF


def endmembers(rng, count, bands=40):
    """Smooth non-negative spectra, each with a peak of its own."""
    band, peak = np.arange(bands), np.linspace(5, bands - 5, count)[:, None]
    return 0.2 + rng.uniform(0.8, 1.2, (count, 1)) * np.exp(-np.square((band - peak) / 6))


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_hnmf_finds_the_dominant_endmember_of_mixtures(seed, count):
    rng = np.random.default_rng(seed)
    truth = rng.integers(count, size=600)
    mixing = rng.dirichlet(np.full(count, 0.5), size=600)
    shares = 0.75 * np.eye(count)[truth] + 0.25 * mixing
    brightness = rng.uniform(0.3, 3, (600, 1))  # which is no matter of material
    X = brightness * (shares @ endmembers(rng, count)) + rng.uniform(0, 0.01, (600, 40))
    labels = HNMF(count, normalize=None).fit_predict(X)
    assert agreement(truth, labels) > 0.97


def test_rank_two_factorisation_recovers_the_shares():
    rng = np.random.default_rng(0)
    ends = endmembers(rng, 2)
    ends /= np.linalg.norm(ends, axis=1, keepdims=True)
    share = np.concatenate([[0.0, 1.0], rng.uniform(size=200)])
    found = first_share(share[:, None] * ends[0] + (1 - share)[:, None] * ends[1])
    found = found if found[1] > found[0] else 1 - found
    np.testing.assert_allclose(found, share, atol=1e-6)


def test_two_variable_nnls_is_nnls():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 7))
    for basis in (rng.normal(size=(2, 7)), np.ones((2, 7)), np.eye(2, 7) * [[1], [0]]):
        amounts = two_variable_nnls(basis, X)
        assert amounts.min() >= 0
        error = np.linalg.norm(X - amounts @ basis, axis=1)
        np.testing.assert_allclose(error, [nnls(basis.T, x)[1] for x in X], atol=1e-10)


def test_the_cut_is_balanced_and_keeps_away_from_pixels():
    gap_off_centre = np.concatenate([np.linspace(0, 0.3, 40), np.linspace(0.5, 1, 60)])
    assert 0.3 < best_threshold(gap_off_centre, 0.05) < 0.5
    no_gap = np.linspace(0, 1, 1001)
    assert best_threshold(no_gap, 0.05) == pytest.approx(0.5, abs=0.1)
    assert best_threshold(np.zeros(5), 0.05) is None


def test_hnmf_splits_first_where_the_error_falls_most():
    """A far, small cluster and a large one of two near parts: with K=2 the far one is split off."""
    rng = np.random.default_rng(0)
    ends = np.array([[1.0, 0, 0, 0.2], [0.95, 0.3, 0, 0.2], [0, 0, 1.0, 0]])
    truth = np.repeat([0, 1, 2], 100)
    X = ends[truth] + rng.uniform(0, 0.01, (300, 4))
    labels = HNMF(2, normalize=None).fit_predict(X)
    assert agreement(truth == 2, labels) == 1
    assert agreement(truth, HNMF(3, normalize=None).fit_predict(X)) == 1


# FMS


def noisy_plane(rng, noise):
    """A piecewise-constant image of a disk and a bar on a ground, with noise."""
    row, col = np.mgrid[:36, :40]
    truth = np.zeros((36, 40), dtype=int)
    truth[(row - 12) ** 2 + (col - 12) ** 2 < 81] = 1
    truth[25:32, 8:36] = 2
    spectra = rng.uniform(1, 2, (3, 30))
    return spectra[truth] + rng.normal(scale=noise, size=(36, 40, 30)), truth


@pytest.mark.parametrize("noise", [0.02, 0.15])
@pytest.mark.parametrize("seed", SEEDS)
def test_fms_segments_a_piecewise_constant_image(seed, noise):
    cube, truth = noisy_plane(np.random.default_rng(seed), noise)
    labels = FMS(3, normalize=None, random_state=seed).fit_predict(cube)
    assert agreement(truth, labels) > 0.98


def test_fms_comes_down_from_a_spoiled_segmentation():
    rng = np.random.default_rng(0)
    cube, truth = noisy_plane(rng, 0.15)
    X = cube.reshape(-1, 30) - cube.mean(axis=(0, 1))
    X /= np.sqrt(np.square(X).sum(axis=1).mean())
    laplacian = nystrom_laplacian(X, 300, 100, rng)
    model = MumfordShah(X, *laplacian, fidelity=1.0, time_step=1.0)
    spoiled = np.where(rng.uniform(size=len(X)) < 0.3, rng.integers(3, size=len(X)), truth.ravel())
    settled = model.run(np.stack([X[spoiled == k].mean(axis=0) for k in range(3)]))
    assert agreement(truth, settled) > 0.98
    assert model.energy(settled, 3) < 0.8 * model.energy(spoiled, 3)
    # Nothing to gain by moving some pixels elsewhere.
    for k in range(3):
        moved = settled.copy()
        moved[rng.choice(len(X), 20)] = k
        assert model.energy(settled, 3) < model.energy(moved, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_fms_finds_planted_clumps(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(7), 60)
    X = 10 * np.eye(7, 9)[truth] + rng.normal(scale=0.3, size=(420, 9))
    assert agreement(truth, FMS(7, normalize=None, random_state=seed).fit_predict(X)) == 1


def test_fms_takes_shorter_steps_where_long_ones_lose_a_class():
    cube, _ = noisy_plane(np.random.default_rng(0), 0.15)
    assert FMS(3, normalize=None).fit(cube).time_step_ == 1.0
    too_many = FMS(4, normalize=None).fit(cube)  # one more than there are
    assert too_many.n_clusters_ == 4
    assert too_many.time_step_ < 1.0
    with pytest.raises(ConvergenceError, match="did not converge to 40 classes"):
        FMS(40, normalize=None, n_init=2).fit(cube)


def test_nystrom_with_all_landmarks_is_the_full_graph():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    values, vectors = nystrom_laplacian(X, 80, 10, rng)
    d2 = squareform(pdist(X, "sqeuclidean"))
    scale = np.sqrt(np.sort(d2, axis=1)[:, 7])
    W = np.exp(-d2 / np.outer(scale, scale))
    degree = W.sum(axis=1)
    exact = eigh(np.eye(80) - W / np.sqrt(np.outer(degree, degree)), eigvals_only=True)
    np.testing.assert_allclose(values, exact[:10], atol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-8)


# FSFDPC


@pytest.mark.parametrize("seed", SEEDS)
def test_density_peaks_follow_spirals(seed):
    """Three spiral arms that thin out, as in the method's own paper."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 110)
    along = np.tile(np.linspace(0, 1, 110) ** 0.8, 3)
    angle = 1.6 * np.pi * along + truth * 2 * np.pi / 3
    X = (3 + 14 * along)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += rng.normal(scale=0.03, size=X.shape)
    assert agreement(truth, FSFDPC(3).fit_predict(X)) == 1
    assert agreement(truth, KMeans(3).fit_predict(X)) < 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_density_peaks_of_unequal_size_shape_and_spread(seed):
    rng = np.random.default_rng(seed)
    sizes = [300, 200, 120, 60, 60]
    centers = np.array([[0, 0], [14, 0], [0, 13], [12, 12], [20, 14]])
    spreads = np.array([[2, 2], [0.7, 2.2], [2.5, 0.8], [0.7, 0.7], [0.7, 0.7]])
    truth = np.repeat(np.arange(5), sizes)
    X = centers[truth] + spreads[truth] * rng.normal(size=(sum(sizes), 2))
    model = FSFDPC(5).fit(X)
    assert agreement(truth, model.labels_) > 0.97
    np.testing.assert_array_equal(np.sort(truth[model.centers_]), np.arange(5))


def test_density_and_cutoff_are_those_of_all_pairs(monkeypatch):
    monkeypatch.setattr("spectrawalk.baselines.fsfdpc.BLOCK_ENTRIES", 1000)
    X = np.random.default_rng(0).normal(size=(150, 4))
    X -= X.mean(axis=0)
    d = pdist(X)
    for share in (0.01, 0.02, 0.5):
        assert distance_quantile(X, share) == pytest.approx(np.quantile(d, share), rel=5e-3)
    expected = np.exp(-np.square(squareform(d) / 0.7)).sum(axis=1) - 1
    np.testing.assert_allclose(gaussian_density(X, 0.7), expected, atol=1e-10)


# HDBSCAN, Leiden, superpixels


@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_hdbscan_finds_the_number_asked_for(seed, n_clusters):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), [200, 60, 200, 60])
    centers = np.array([[0, 0], [3, 0], [0, 40], [3, 40]])
    X = centers[truth] + rng.normal(scale=0.3, size=(len(truth), 2))
    model = HDBSCAN(n_clusters, normalize=None, min_samples=5).fit(X)
    assert model.n_clusters_ == n_clusters
    assert agreement(truth if n_clusters == 4 else truth // 2, model.labels_) == 1
    # Only clusters as large as the smallest are found.
    assert (model.min_cluster_size_ > 60) == (n_clusters == 2)


def test_hdbscan_is_that_of_scikit_learn_at_the_size_chosen():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(scale=s, size=(150, 3)) + 4 * s for s in (0.5, 1.0, 2.0)])
    model = HDBSCAN(2, normalize=None, n_components=3, min_samples=10).fit(X)
    expected = cluster.HDBSCAN(
        min_cluster_size=model.min_cluster_size_, min_samples=10, copy=True
    ).fit_predict(X)
    clustered = expected >= 0
    assert agreement(expected[clustered], model.labels_[clustered]) == 1


def fields(rng, noise):
    truth = np.kron([[0, 1], [2, 0]], np.ones((15, 15), dtype=int))
    return rng.uniform(0.2, 1, (3, 20))[truth] + rng.normal(scale=noise, size=(30, 30, 20)), truth


@pytest.mark.parametrize("seed", SEEDS)
def test_leiden_finds_fields(seed):
    """The window connects no field with a distant one of the same material."""
    rng = np.random.default_rng(seed)
    cube, _ = fields(rng, 0.01)
    four = np.kron([[0, 1], [2, 3]], np.ones((15, 15), dtype=int))
    model = Leiden(4, radius=6, n_neighbors=20).fit(cube)
    assert model.n_clusters_ == 4
    assert agreement(four, model.labels_) > 0.95


def test_leiden_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sknetwork.clustering", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'spectrawalk\[benchmark\]'"):
        Leiden(3).fit(np.random.default_rng(0).uniform(size=(8, 8, 4)))


@pytest.mark.parametrize("seed", SEEDS)
def test_superpixels_even_noise_out_before_k_means(seed):
    """Noise so strong that many single pixels cannot be told apart."""
    cube, truth = fields(np.random.default_rng(seed), 0.5)
    model = SuperpixelKMeans(3, normalize=None, n_superpixels=16).fit(cube)
    single = agreement(truth, KMeans(3).fit_predict(cube))
    assert agreement(truth, model.labels_) > max(0.75, single + 0.2)


def test_a_superpixel_counts_with_its_pixels():
    """Two superpixels of one pixel differ more than two of many; the many are kept apart."""
    cube = np.zeros((10, 11, 2))
    cube[:, :5, 0], cube[:, 5:10, 0] = 1.0, 2.0
    cube[0, 10, 0], cube[1:, 10, 0] = 3.3, 3.3
    mask = np.ones((10, 11), dtype=bool)
    mask[1:, 10] = False
    labels = SuperpixelKMeans(2, normalize=None, n_superpixels=3).fit_predict(cube, mask=mask)
    assert labels[0, 0] != labels[0, 9]
    assert labels[0, 9] == labels[0, 10]
