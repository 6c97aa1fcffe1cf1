import numpy as np
import pytest

from spectrawalk.errors import DataError, StructureError
from spectrawalk.srdl import density, modes


def test_mean_distance_of_a_sample_is_close_and_free_of_order():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(15_000, 4)), np.zeros((9_000, 4))])
    sampled = density.mean_distance(X)
    shuffled = X[rng.permutation(len(X))]
    assert density.mean_distance(shuffled) == sampled
    part = X[rng.permutation(len(X))[:4000]]
    nearly = np.sqrt(np.square(part[:, None] - part[None, :200]).sum(axis=2)).mean()
    assert sampled == pytest.approx(nearly, rel=0.03)


def test_mean_distance_is_exact_up_to_its_limit():
    X = np.random.default_rng(0).normal(size=(300, 3))
    distance = np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2))
    assert density.mean_distance(X) == pytest.approx(distance.sum() / (300 * 299), rel=1e-13)


def test_density_sums_to_one_and_orders_by_nearness():
    p = density.kernel_density(np.array([[0.0, 1.0], [1.0, 1.0], [4.0, 9.0]]), bandwidth=1.0)
    assert p.sum() == pytest.approx(1)
    assert list(density.density_ranking(p)) == [0, 1, 2]


def test_ranking_breaks_ties_by_index():
    assert list(density.density_ranking(np.array([0.2, 0.3, 0.2, 0.3]))) == [1, 3, 0, 2]


def test_density_that_underflows_everywhere_is_an_error():
    with pytest.raises(DataError, match="density_bandwidth"):
        density.kernel_density(np.full((3, 2), 1e6), bandwidth=1.0)


def test_densest_pixel_has_the_largest_score():
    rng = np.random.default_rng(0)
    coordinates, p = rng.normal(size=(200, 3)), rng.uniform(size=200)
    parent, rho = modes.nearest_denser(coordinates, density.density_ranking(p))
    assert parent[0] == -1
    assert np.argmax(p * rho) == np.argmax(p)
    densest = np.argmax(p)
    farthest = np.linalg.norm(coordinates - coordinates[densest], axis=1).max()
    assert rho[densest] == pytest.approx(farthest)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([9, 8, 7, 1, 0.9, 0.8], 3),
        ([9, 1, 0.9, 0.1], 3),  # K = 1 is not a clustering, whatever its ratio
        ([9, 8, 0, 0], 2),  # a zero ends the range
        ([9, 8, 7, 0], 2),
        ([9, 0, 0], 1),
    ],
)
def test_number_of_clusters(curve, expected):
    scores = np.array(curve, dtype=float)
    assert len(modes.find_modes(scores, "auto", 30).pixels) == expected


def test_number_of_clusters_stays_in_its_range():
    curve = np.array([9.0, 8, 7, 6, 5, 0.001])
    assert len(modes.find_modes(curve, "auto", 30).pixels) == 5
    assert len(modes.find_modes(curve, "auto", 4).pixels) == 4


def test_modes_are_the_largest_scores_ties_by_index():
    found = modes.find_modes(np.array([1.0, 5, 3, 5, 3]), 4, 30)
    assert found.pixels.tolist() == [1, 3, 2, 4]


def test_more_modes_than_stand_apart_is_an_error():
    with pytest.raises(StructureError, match="only 2 of 4"):
        modes.find_modes(np.array([1.0, 0, 2, 0]), 3, 30)
    with pytest.raises(StructureError, match="smaller time"):
        modes.find_modes(np.zeros(4), 2, 30)


def test_mutual_nearest_pixels_are_ranked_by_their_neighbours_not_by_index():
    """Their distance decides the density alone; the second neighbour tells them apart."""
    d2 = np.array([[0.0, 2000.0], [0.0, 1000.0], [1.0, 1.0]])
    p = density.kernel_density(d2, 1.0)
    assert p[0] == p[1]
    assert density.density_ranking(p, d2).tolist() == [1, 0, 2]
    assert density.density_ranking(p, d2[[1, 0, 2]]).tolist() == [0, 1, 2]
    assert density.density_ranking(p).tolist() == [0, 1, 2]


def test_the_density_does_not_depend_on_the_order_of_the_pixels():
    rng = np.random.default_rng(0)
    d2 = np.sort(rng.exponential(size=(5000, 20)), axis=1)
    order = rng.permutation(5000)
    np.testing.assert_array_equal(
        density.kernel_density(d2, 0.7)[order], density.kernel_density(d2[order], 0.7)
    )


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-160, 1e160, 1e300])
def test_bandwidths_whose_squares_are_no_numbers(bandwidth):
    d2 = np.array([[1.0], [4.0]])
    if bandwidth > 1:
        np.testing.assert_allclose(density.kernel_density(d2, bandwidth), 0.5)
    else:
        with pytest.raises(DataError):
            density.kernel_density(d2, bandwidth)
