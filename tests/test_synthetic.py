"""Synthetic scenes: what was asked for is what comes out."""

import tracemalloc

import numpy as np
import pytest
from scipy.ndimage import label
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from spectrawalk import score
from spectrawalk.datasets import make_scene
from spectrawalk.errors import ParameterError


def class_shares(scene):
    return np.bincount(scene.ground_truth.ravel())[1:] / scene.ground_truth.size


def n_regions(scene):
    return sum(label(scene.ground_truth == c)[1] for c in scene.class_names)


def unit_spectra(scene):
    spectra = scene.cube[scene.mask].astype(np.float64)
    return spectra / np.linalg.norm(spectra, axis=1, keepdims=True)


def test_shape_and_types():
    scene = make_scene((30, 20), n_bands=12, n_classes=3)
    assert scene.cube.shape == (30, 20, 12)
    assert scene.cube.dtype == np.float32
    assert scene.cube.min() > 0
    assert scene.cube.max() < 1
    assert scene.mask.all()
    assert scene.wavelengths[[0, -1]].tolist() == [400, 2500]
    assert list(scene.class_names) == [1, 2, 3]
    assert scene.metadata["endmembers"].shape == (3, 12)


def test_same_seed_same_bytes_and_none_is_a_seed():
    first, second = make_scene((70, 70)), make_scene((70, 70), random_state=0)
    assert first.cube.tobytes() == second.cube.tobytes()
    np.testing.assert_array_equal(first.ground_truth, second.ground_truth)
    other = make_scene((70, 70), random_state=1)
    assert np.mean(first.ground_truth == other.ground_truth) < 0.5


def test_same_bytes_on_one_thread():
    with threadpool_limits(1):
        alone = make_scene((70, 70))
    assert alone.cube.tobytes() == make_scene((70, 70)).cube.tobytes()


def test_noise_leaves_the_rest_of_the_scene_as_it_is():
    quiet, loud = make_scene(noise=0.0), make_scene(noise=0.1)
    np.testing.assert_array_equal(quiet.ground_truth, loud.ground_truth)
    added = (loud.cube - quiet.cube).astype(np.float64)
    expected = 0.1 * quiet.metadata["endmembers"].mean()
    assert added.std() == pytest.approx(expected, rel=0.01)
    assert abs(added.mean()) < 0.01 * expected
    # Independent between bands, and between the blocks that the cube is made in.
    assert abs(np.corrcoef(added[..., 0].ravel(), added[..., 1].ravel())[0, 1]) < 0.05
    assert abs(np.corrcoef(added[:32].ravel(), added[32:].ravel())[0, 1]) < 0.02


def test_without_mixing_noise_and_light_every_pixel_is_its_endmember():
    scene = make_scene(n_classes=5, mixing=0, noise=0, illumination=0)
    np.testing.assert_allclose(
        scene.cube, scene.metadata["endmembers"][scene.ground_truth - 1], rtol=1e-6
    )


def test_mixtures_lie_between_the_endmembers_and_keep_their_class_on_average():
    scene = make_scene(mixing=1, noise=0, illumination=0)
    endmembers = scene.metadata["endmembers"].astype(np.float64)
    abundances = np.linalg.lstsq(endmembers.T, scene.cube.reshape(-1, 50).T, rcond=None)[0]
    np.testing.assert_allclose(abundances.sum(axis=0), 1, atol=1e-4)
    assert abundances.min() > -1e-4
    own = abundances[scene.ground_truth.ravel() - 1, np.arange(abundances.shape[1])]
    assert 0.4 < own.mean() < 0.8


def test_mixing_is_strongest_at_borders():
    scene = make_scene(noise=0, illumination=0)
    truth = scene.ground_truth
    purity = np.linalg.norm(scene.cube - scene.metadata["endmembers"][truth - 1], axis=2)
    border = np.zeros(truth.shape, dtype=bool)
    border[:, 1:] |= truth[:, 1:] != truth[:, :-1]
    border[1:] |= truth[1:] != truth[:-1]
    assert purity[border].mean() > 1.5 * purity[~border].mean()


def test_light_scales_spectra_and_varies_slowly():
    dark, lit = (make_scene((80, 60), noise=0, illumination=strength).cube for strength in (0, 0.2))
    gain = lit / dark
    np.testing.assert_allclose(gain, gain[..., :1].repeat(50, axis=2), rtol=1e-5)
    gain = gain[..., 0]
    assert gain.mean() == pytest.approx(1, abs=1e-5)
    assert 0.05 < gain.std() < 0.4
    assert np.abs(np.diff(gain, axis=0)).max() < 0.1


@pytest.mark.parametrize("imbalance", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("shape", [(64, 64), (300, 250)])
def test_class_shares_follow_the_imbalance(imbalance, shape):
    scene = make_scene(shape, n_bands=2, n_classes=4, imbalance=imbalance)
    expected = (1 + imbalance) ** -np.arange(4.0)
    np.testing.assert_allclose(class_shares(scene), expected / expected.sum(), atol=0.02)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("shape", "n_classes", "options"),
    [
        ((1, 1), 1, {}),
        ((2, 2), 4, {}),
        ((1, 9), 9, {}),
        ((9, 1), 5, {"imbalance": 50.0}),
        ((20, 20), 30, {"imbalance": 1.0}),
        ((16, 16), 6, {"region_size": 1e9}),
        ((16, 16), 6, {"region_size": 0.01}),
    ],
)
def test_every_class_is_present_whatever_the_size(shape, n_classes, options, seed):
    scene = make_scene(shape, n_bands=3, n_classes=n_classes, random_state=seed, **options)
    assert set(np.unique(scene.ground_truth)) == set(range(1, n_classes + 1))
    assert np.isfinite(scene.cube).all()


def test_regions_grow_with_region_size():
    counts = [n_regions(make_scene((96, 96), 2, region_size=size)) for size in (4, 12, 36)]
    assert counts[0] > 4 * counts[1]
    assert counts[1] > 3 * counts[2]


def test_endmembers_are_distinct_for_every_seed():
    for seed in range(20):
        endmembers = make_scene((4, 4), random_state=seed).metadata["endmembers"]
        unit = endmembers / np.linalg.norm(endmembers, axis=1, keepdims=True)
        angles = np.arccos(np.clip(unit @ unit.T, -1, 1))[np.triu_indices(4, 1)]
        assert angles.min() > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_kmeans_is_neither_perfect_nor_hopeless_at_the_defaults(seed):
    scene = make_scene(random_state=seed)
    found = KMeans(4, n_init=5, random_state=0).fit_predict(unit_spectra(scene))
    assert 0.6 < score(scene.ground_truth, found.reshape(scene.shape)).oa < 0.95


def test_memory_stays_near_the_cubes_own():
    tracemalloc.start()
    scene = make_scene((300, 300), n_bands=120)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * scene.cube.nbytes


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"shape": (0, 5)}, r"shape\[0\]=0"),
        ({"shape": (5, 2.5)}, r"shape\[1\]=2.5"),
        ({"shape": 64}, "shape=64"),
        ({"shape": (4, 4, 4)}, r"shape=\(4, 4, 4\)"),
        ({"n_bands": 1}, "n_bands=1"),
        ({"n_classes": 0}, "n_classes=0"),
        ({"shape": (2, 2), "n_classes": 5}, "n_classes=5 .* 4 pixels"),
        ({"region_size": 0}, "region_size=0"),
        ({"region_size": float("nan")}, "region_size=nan"),
        ({"mixing": 1.01}, "mixing=1.01"),
        ({"mixing": -0.1}, "mixing=-0.1"),
        ({"noise": -1}, "noise=-1"),
        ({"noise": float("inf")}, "noise=inf"),
        ({"imbalance": "high"}, "imbalance='high'"),
        ({"illumination": 2}, "illumination=2"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": 0.5}, "random_state=0.5"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ParameterError, match=named):
        make_scene(**arguments)
