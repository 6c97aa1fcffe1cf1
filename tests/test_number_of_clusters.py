"""Estimate of the number of clusters, and no clusters in noise."""

import numpy as np
import pytest

from spectrawalk import SRDL
from spectrawalk.consensus.features import is_spatially_correlated
from spectrawalk.consensus.number import NO_STRUCTURE, Evidence, _choose, _eigengaps
from spectrawalk.datasets import make_scene

AUTO = {"radius": "auto", "time": "auto", "n_eigenpairs": "auto"}


@pytest.mark.parametrize("shape", [(20, 20, 12), (20, 20, 3), (12, 12, 8), "one class"])
def test_reports_no_structure(shape):
    if shape == "one class":
        cube = make_scene((20, 20), n_bands=12, n_classes=1, random_state=2).cube
    else:
        cube = np.random.default_rng(1).normal(1.0, 0.1, size=shape)
    model = SRDL(**AUTO).fit(cube)
    assert model.verdict_ == NO_STRUCTURE
    assert model.n_clusters_ == 1


def test_clear_clusters_need_no_spatial_correlation():
    """In stripes of one row, half of a pixel's neighbours are of the other kind."""
    rng = np.random.default_rng(0)
    stripes = np.array([[1.0, 2.0, 1.5], [2.0, 1.0, 2.5]])[np.arange(30) % 2][:, None]
    cube = stripes + rng.normal(0, 0.05, size=(30, 30, 3))
    assert not is_spatially_correlated(cube.reshape(-1, 3), np.ones((30, 30), bool))
    assert SRDL(**AUTO).fit(cube).verdict_ == "2, clear"


def test_verdicts():
    assert _choose({2: 0.3, 3: 0.9, 4: 0.5}) == (3, "3, clear")
    assert _choose({4: 0.5, 5: 0.85, 6: 0.96, 8: 0.83}) == (6, "between 5 and 8, 6 most likely")
    # If two numbers have nearly the same support, the larger one.
    assert _choose({2: 0.9, 3: 0.6, 5: 0.89}) == (5, "between 2 and 5, 5 most likely")


@pytest.mark.parametrize(("faint", "n_clusters"), [(1, 12), (0, 2)])
def test_finds_faint_crops_on_two_kinds_of_ground(faint, n_clusters):
    """Feature sets agree best on two kinds of ground; the eigengap shows six crops on each."""
    rng = np.random.default_rng(0)
    crop = np.repeat(np.repeat(np.arange(12).reshape(3, 4), 12, axis=0), 10, axis=1)
    ground = 8 * rng.normal(size=(2, 20))[(crop % 4) // 2]
    cube = 20 + ground + faint * rng.normal(size=(12, 20))[crop]
    cube += rng.normal(0, 0.3, size=cube.shape)
    model = SRDL("auto", **AUTO, normalize=None).fit(cube)
    assert model.n_clusters_ == n_clusters


def stripes_of(n_kinds, shape, random_state):
    """Vertical strips of `n_kinds` kinds, with sharp edges."""
    rng = np.random.default_rng(random_state)
    kind = np.arange(shape[1]) * n_kinds // shape[1]
    spectra = rng.uniform(0.3, 1.0, size=(n_kinds, 20))[kind]
    return spectra + rng.normal(0, 0.02, size=(*shape, 20))


@pytest.mark.parametrize("shape", [(70, 70), (1, 60)])
def test_neither_long_edges_nor_few_pixels_add_clusters(shape):
    """A smoothed edge is a strip of mixed pixels, more than the number of neighbours."""
    found = [SRDL(**AUTO).fit(stripes_of(3, shape, seed)).n_clusters_ for seed in range(3)]
    assert found == [3, 3, 3]


def test_large_eigengaps_do_not_hide_agreement():
    """An almost disconnected graph has eigengaps of thousands."""
    evidence = Evidence(3, "", {2: 0.3, 3: 0.9}, {2: 5_000.0, 3: 2.0})
    assert evidence.support[3] > evidence.support[2]


def test_reports_finer_structure():
    """There are 24 crops on two kinds of ground, and the estimate is 2."""
    rng = np.random.default_rng(0)
    crop = np.repeat(np.repeat(np.arange(24).reshape(4, 6), 10, axis=0), 10, axis=1)
    cube = 20 + 8 * rng.normal(size=(2, 20))[(crop % 6) // 3] + rng.normal(size=(24, 20))[crop]
    cube += rng.normal(0, 0.3, size=cube.shape)
    model = SRDL("auto", **AUTO, normalize=None).fit(cube)
    assert any("finer structure than 2" in text for text in model.warnings_)


def test_the_largest_eigengap_is_at_the_number_of_groups():
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(400, 3)) + 4 * np.eye(3)[np.arange(400) % 3]
    gaps = _eigengaps(groups, 6)
    assert max(gaps, key=gaps.get) == 3
    assert min(gaps.values()) >= 1
    assert set(gaps) == {2, 3, 4, 5, 6}
