"""Number of endmembers, endmembers and abundances of mixtures that are known."""

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import LinearRegression

from spectrawalk import progress
from spectrawalk.errors import ParameterError
from spectrawalk.unmixing.abundances import abundances
from spectrawalk.unmixing.endmembers import find_endmembers
from spectrawalk.unmixing.subspace import _noise_power, signal_dimension


def mixed(rng, m, n=1500, bands=60, noise=1e-3):
    """Mixtures of m materials; pixels 0..m-1 are pure."""
    fractions = rng.dirichlet(np.ones(m), size=n)
    fractions[:m] = np.eye(m)
    materials = rng.uniform(0.1, 1, (m, bands))
    return fractions @ materials + rng.normal(scale=noise, size=(n, bands)), fractions, materials


@pytest.mark.parametrize("m", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3, 5e-3])
def test_the_dimension_of_the_signal(m, noise):
    X, _, _ = mixed(np.random.default_rng(m), m, noise=noise)
    assert signal_dimension(X) == m


def test_noise_is_what_regression_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6)) + 2
    expected = []
    for band in range(6):
        others = np.delete(X, band, axis=1)
        fit = LinearRegression(fit_intercept=False).fit(others, X[:, band])
        expected.append(np.square(X[:, band] - fit.predict(others)).mean())
    np.testing.assert_allclose(_noise_power(X.T @ X / 400), expected, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_bands_that_are_empty_or_equal(scale):
    X, _, _ = mixed(np.random.default_rng(1), 4)
    X[:, 5] = 0
    X[:, 7] = X[:, 8]
    assert 4 <= signal_dimension(scale * X) <= 5


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("m", [2, 3, 5, 9])
def test_pure_pixels_are_the_endmembers(m, seed):
    X, _, _ = mixed(np.random.default_rng(seed), m, noise=1e-5)
    assert sorted(find_endmembers(X, m)) == list(range(m))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_simplex_is_the_largest_or_nearly(m, seed):
    """Of spectra without pure pixels, against every combination; the search may end lower."""
    X = np.random.default_rng(seed).normal(size=(22, 8))
    centred = X - X.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    points = np.column_stack([centred @ directions[: m - 1].T, np.ones(len(X))])
    subsets = np.array(list(itertools.combinations(range(len(X)), m)))
    largest = np.abs(np.linalg.det(points[subsets])).max()
    found = np.abs(np.linalg.det(points[find_endmembers(X, m)]))
    assert 0.8 * largest < found < largest * (1 + 1e-9)


def test_no_corner_can_move_to_enlarge_the_simplex():
    X = np.random.default_rng(3).normal(size=(300, 10))
    corners = find_endmembers(X, 6)
    centred = X - X.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    points = np.column_stack([centred @ directions[:5].T, np.ones(300)])
    volume = np.abs(np.linalg.det(points[corners]))
    for place in range(6):
        others = np.tile(points[corners], (300, 1, 1))
        others[:, place] = points
        assert np.abs(np.linalg.det(others)).max() <= volume * (1 + 1e-6)


def test_more_endmembers_than_dimensions():
    X = np.random.default_rng(0).dirichlet(np.ones(3), size=50) @ np.eye(3, 7)
    assert len(set(find_endmembers(X, 3))) == 3
    with pytest.raises(ParameterError, match="n_endmembers=4 but the spectra span only 2 dim"):
        find_endmembers(X, 4)


def test_abundances_of_known_mixtures():
    X, fractions, materials = mixed(np.random.default_rng(2), 5, n=300, noise=0.0)
    brightness = np.random.default_rng(3).uniform(0.2, 4, (300, 1))
    np.testing.assert_allclose(abundances(brightness * X, materials), fractions, atol=1e-9)


def test_abundances_are_the_least_squares_of_all_bands():
    rng = np.random.default_rng(4)
    X, materials = rng.uniform(size=(200, 30)), rng.uniform(size=(7, 30))
    expected = np.array([nnls(materials.T, x)[0] for x in X])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(abundances(X, materials), expected, atol=1e-9)


def test_pixels_that_no_endmember_explains():
    found = abundances(np.array([[0.0, 0.0], [-1.0, -1.0], [1.0, 0.0]]), np.eye(2))
    assert found.tolist() == [[0, 0], [0, 0], [1, 0]]


def test_progress_is_reported():
    heard = []
    with progress.listen(lambda stage, done, total: heard.append((stage, done, total))):
        abundances(np.ones((4500, 2)), np.eye(2))
    assert heard == [("abundances", done, 3) for done in range(4)]
