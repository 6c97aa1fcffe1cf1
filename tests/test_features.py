"""FeatureSets of the spectra: what is evened out in them, and what stays."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from spectrawalk import SRDL, score
from spectrawalk.consensus.features import (
    feature_sets,
    keep_dark,
    local_mean,
    mnf_components,
    neighbors_are_alike,
    within_field_components,
)
from spectrawalk.prepare.pixels import take_pixels

AUTO = {"radius": "auto", "time": "auto", "n_eigenpairs": "auto"}


def test_dark_spectra_stay_dark():
    raw = np.array([[4.0, 3.0], [3.0, 4.0], [5.0, 0.0], [0.3, 0.4]])
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    kept = keep_dark(unit, raw)
    assert np.array_equal(kept[:3], unit[:3])
    assert np.linalg.norm(kept[3]) == pytest.approx(0.5 / (5 / 3))


def test_whitening_gives_noise_variance_one():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 60, 4)) * [1.0, 5.0, 0.2, 3.0]
    _, ratios = mnf_components(noise.reshape(-1, 4), np.ones((60, 60), bool), robust=False)
    assert ratios == pytest.approx(1, abs=0.15)


def fields(seed: int = 0):
    """Twelve fields of three kinds, which differ far less than the ground varies inside each."""
    rng = np.random.default_rng(seed)
    kinds = np.array([[1, 2, 3, 1], [3, 1, 2, 3], [2, 3, 1, 2]])
    truth = kinds.repeat(12, axis=0).repeat(12, axis=1)
    spectra = rng.normal(1.0, 0.1, size=(6, 24))
    uneven = gaussian_filter(rng.normal(size=(*truth.shape, 3)), (1.0, 1.0, 0))
    uneven /= uneven.std(axis=(0, 1))
    cube = 5 + 0.5 * uneven @ spectra[:3] + 0.15 * spectra[3:][truth - 1]
    return cube + rng.normal(0, 0.005, cube.shape), truth


def test_fields_are_found_by_contrasts_fainter_than_what_varies_inside_them():
    cube, truth = fields()
    model = SRDL(3, **AUTO).fit(cube)
    assert score(truth, model.labels_).oa > 0.9


def test_a_defective_pixel_takes_no_contrast():
    cube, truth = fields()
    sound = take_pixels(cube)
    cube = cube.copy()
    cube[15, 20, ::2] *= 3
    marred = take_pixels(cube)
    for pixels in (sound, marred):
        smoothed = local_mean(pixels.spectra, pixels.grid.mask)
        leading = within_field_components(smoothed, pixels.grid.mask)[:, :2]
        of_kind = [leading[truth.ravel() == kind] for kind in (1, 2, 3)]
        inside = np.mean([points.std(axis=0) for points in of_kind], axis=0)
        between = np.std([points.mean(axis=0) for points in of_kind], axis=0)
        assert (between > 1.5 * inside).all()


def dead_bands():
    cube = np.zeros((20, 20, 5))
    cube[..., :2] = np.random.default_rng(1).normal(5, 1, (20, 20, 2))
    return cube


def checkers():
    cube = np.ones((16, 16, 3))
    cube[::2, ::2, 0] = cube[1::2, 1::2, 0] = 2
    return cube


def small_targets():
    cube = np.ones((40, 40, 5))
    cube[5:8, 5:8, 1], cube[30:33, 30:33, 2] = 3, 4
    return cube


@pytest.mark.parametrize("make", [dead_bands, checkers, small_targets])
def test_contrasts_in_which_nothing_differs_are_left_out(make):
    pixels = take_pixels(make())
    contrast = feature_sets(pixels).within_field
    assert contrast is None or (np.ptp(contrast.points, axis=0) > 0).all()
    model = SRDL(2, normalize=None, **AUTO).fit(make())
    assert set(np.unique(model.labels_)) == {0, 1}


@pytest.mark.parametrize("shape", [(2, 3), (3, 3)])
def test_images_of_few_pixels_have_no_contrasts(shape):
    cube = np.random.default_rng(0).uniform(1, 2, size=(*shape, 5))
    assert feature_sets(take_pixels(cube)).within_field is None


def test_local_mean_sees_valid_pixels_only():
    mask = np.array([[True, True, True], [True, False, True]])
    X = np.arange(5.0)[:, None]
    assert local_mean(X, mask)[:, 0] == pytest.approx([4 / 3, 2.0, 7 / 3, 4 / 3, 7 / 3])


def test_constant_views_are_left_out():
    cube = np.ones((4, 4, 3))
    cube[0, 0] = 2
    pixels = take_pixels(cube)
    assert all(np.ptp(view.points, axis=0).max() > 0 for view in feature_sets(pixels).spectral)


def test_pixels_without_neighbours_are_no_sign_of_noise():
    noise = np.random.default_rng(0).normal(size=(20, 20, 4))
    every, scattered = np.ones((20, 20), bool), np.zeros((20, 20), bool)
    scattered[::2, ::2] = True
    assert not neighbors_are_alike(noise[every], every)
    assert neighbors_are_alike(noise[scattered], scattered)
