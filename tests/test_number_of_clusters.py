"""How many clusters the automatic mode counts, and that it finds none in noise."""

import numpy as np
import pytest

from spectrawalk import SRDL
from spectrawalk.consensus.features import neighbors_are_alike
from spectrawalk.consensus.number import NO_STRUCTURE, Evidence, _gaps, _judge
from spectrawalk.datasets import make_scene

AUTO = {"radius": "auto", "time": "auto", "n_eigenpairs": "auto"}


@pytest.mark.parametrize("shape", [(20, 20, 12), (20, 20, 3), (12, 12, 8), "one class"])
def test_says_that_there_is_no_structure(shape):
    if shape == "one class":
        cube = make_scene((20, 20), n_bands=12, n_classes=1, random_state=2).cube
    else:
        cube = np.random.default_rng(1).normal(1.0, 0.1, size=shape)
    model = SRDL(**AUTO).fit(cube)
    assert model.verdict_ == NO_STRUCTURE
    assert model.n_clusters_ == 1


def test_clear_clusters_need_no_neighbours_of_their_kind():
    """In stripes of one row, half of a pixel's neighbours are of the other kind."""
    rng = np.random.default_rng(0)
    stripes = np.array([[1.0, 2.0, 1.5], [2.0, 1.0, 2.5]])[np.arange(30) % 2][:, None]
    cube = stripes + rng.normal(0, 0.05, size=(30, 30, 3))
    assert not neighbors_are_alike(cube.reshape(-1, 3), np.ones((30, 30), bool))
    assert SRDL(**AUTO).fit(cube).verdict_ == "2, clear"


def test_verdicts():
    assert _judge({2: 0.3, 3: 0.9, 4: 0.5}) == (3, "3, clear")
    assert _judge({4: 0.5, 5: 0.85, 6: 0.96, 8: 0.83}) == (6, "between 5 and 8, 6 most likely")
    # Of two that are as good, the larger.
    assert _judge({2: 0.9, 3: 0.6, 5: 0.89}) == (5, "between 2 and 5, 5 most likely")


@pytest.mark.parametrize(("faint", "n_clusters"), [(1, 12), (0, 2)])
def test_counts_faint_crops_on_two_kinds_of_ground(faint, n_clusters):
    """FeatureSets agree best on the two kinds of ground; the gap tells that each has six crops."""
    rng = np.random.default_rng(0)
    crop = np.repeat(np.repeat(np.arange(12).reshape(3, 4), 12, axis=0), 10, axis=1)
    ground = 8 * rng.normal(size=(2, 20))[(crop % 4) // 2]
    cube = 20 + ground + faint * rng.normal(size=(12, 20))[crop]
    cube += rng.normal(0, 0.3, size=cube.shape)
    model = SRDL("auto", **AUTO, normalize=None).fit(cube)
    assert model.n_clusters_ == n_clusters


def stripes_of(n_kinds, shape, random_state):
    """Upright strips of as many kinds, with sharp edges."""
    rng = np.random.default_rng(random_state)
    kind = np.arange(shape[1]) * n_kinds // shape[1]
    spectra = rng.uniform(0.3, 1.0, size=(n_kinds, 20))[kind]
    return spectra + rng.normal(0, 0.02, size=(*shape, 20))


@pytest.mark.parametrize("shape", [(70, 70), (1, 60)])
def test_neither_long_edges_nor_few_pixels_add_clusters(shape):
    """Smoothed, an edge is a strip of mixtures, larger than the number of neighbours."""
    found = [SRDL(**AUTO).fit(stripes_of(3, shape, seed)).n_clusters_ for seed in range(3)]
    assert found == [3, 3, 3]


def test_clear_gaps_do_not_drown_agreement():
    """Parts that hardly hang together have gaps of thousands."""
    evidence = Evidence(3, "", {2: 0.3, 3: 0.9}, {2: 5_000.0, 3: 2.0})
    assert evidence.support[3] > evidence.support[2]


def test_says_that_there_are_finer_clusters():
    """Of 24 crops no more than 12 could be counted: the two kinds of ground stand out."""
    rng = np.random.default_rng(0)
    crop = np.repeat(np.repeat(np.arange(24).reshape(4, 6), 10, axis=0), 10, axis=1)
    cube = 20 + 8 * rng.normal(size=(2, 20))[(crop % 6) // 3] + rng.normal(size=(24, 20))[crop]
    cube += rng.normal(0, 0.3, size=cube.shape)
    model = SRDL("auto", **AUTO, normalize=None).fit(cube)
    assert any("finer structure than 2" in text for text in model.warnings_)


def test_gaps_are_behind_the_number_of_clouds():
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(400, 3)) + 4 * np.eye(3)[np.arange(400) % 3]
    gaps = _gaps(clouds, 6)
    assert max(gaps, key=gaps.get) == 3
    assert min(gaps.values()) >= 1
    assert set(gaps) == {2, 3, 4, 5, 6}
