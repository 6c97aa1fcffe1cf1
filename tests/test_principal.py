import numpy as np
import pytest

from spectrawalk.prepare import principal
from spectrawalk.prepare.principal import centred_blocks, principal_directions
from spectrawalk.srdl.neighbors import leading_coordinates


@pytest.mark.parametrize("rows", [7, 100, 1000])
def test_directions_are_those_of_a_singular_value_decomposition(rows, monkeypatch):
    monkeypatch.setattr(principal, "_ROWS", rows)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [1, 5, 2, 8, 3, 0.5] + 4
    middle = X.mean(axis=0)
    found = principal_directions(centred_blocks(X, middle, 0.25), 4)
    expected = np.linalg.svd(X - middle)[2][:4].T
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=0)), 1, atol=1e-12)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)
    assert found.flags.c_contiguous


def test_no_more_directions_than_bands():
    X = np.random.default_rng(0).normal(size=(9, 3))
    assert principal_directions([X], 12).shape == (3, 3)


def test_leading_coordinates_keep_distances_from_growing(monkeypatch):
    monkeypatch.setattr(principal, "_ROWS", 11)
    X = np.random.default_rng(0).normal(size=(60, 20))
    leads, slack = leading_coordinates(X, X.mean(axis=0), 0.5)
    apart = np.linalg.norm(X[:, None] - X, axis=2) * 0.5
    seen = np.linalg.norm(leads[:, None] - leads, axis=2)
    assert leads.shape == (60, 12)
    assert (seen <= apart + slack).all()
    assert (seen > 0.3 * apart).mean() > 0.9
