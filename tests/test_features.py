"""Feature sets: MNF components, within-field components, smoothing."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from spectrawalk import SpectraWalk, score
from spectrawalk.consensus.features import (
    keep_dark,
    local_mean,
    mnf_components,
    varies,
    within_field_components,
)
from spectrawalk.prepare.pixels import take_pixels


def test_dark_spectra_stay_dark():
    raw = np.array([[4.0, 3.0], [3.0, 4.0], [5.0, 0.0], [0.3, 0.4]])
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    kept = keep_dark(unit, raw)
    assert np.array_equal(kept[:3], unit[:3])
    assert np.linalg.norm(kept[3]) == pytest.approx(0.5 / (5 / 3))


def test_the_leading_mnf_component_is_smooth_although_other_bands_vary_more():
    rng = np.random.default_rng(0)
    image = rng.normal(size=(60, 60, 4)) * [1.0, 5.0, 0.2, 3.0]
    slope = np.linspace(-1, 1, 60)[:, None] * np.ones(60)
    image[..., 2] += slope
    components, _ = mnf_components(image.reshape(-1, 4), np.ones((60, 60), bool))
    leading = components[:, 0]
    assert abs(np.corrcoef(leading, slope.ravel())[0, 1]) > 0.9


def fields(seed: int = 0):
    """Twelve fields of three kinds, with more variation inside fields than between kinds."""
    rng = np.random.default_rng(seed)
    kinds = np.array([[1, 2, 3, 1], [3, 1, 2, 3], [2, 3, 1, 2]])
    truth = kinds.repeat(12, axis=0).repeat(12, axis=1)
    spectra = rng.normal(1.0, 0.1, size=(6, 24))
    uneven = gaussian_filter(rng.normal(size=(*truth.shape, 3)), (1.0, 1.0, 0))
    uneven /= uneven.std(axis=(0, 1))
    cube = 5 + 0.5 * uneven @ spectra[:3] + 0.15 * spectra[3:][truth - 1]
    return cube + rng.normal(0, 0.005, cube.shape), truth


def test_finds_fields_that_differ_less_than_the_variation_inside_them():
    cube, truth = fields()
    model = SpectraWalk(3).fit(cube)
    assert score(truth, model.labels_).oa > 0.9


def test_a_defective_pixel_does_not_change_the_leading_components():
    cube, truth = fields()
    sound = take_pixels(cube)
    cube = cube.copy()
    cube[15, 20, ::2] *= 3
    defective = take_pixels(cube)
    for pixels in (sound, defective):
        smoothed = local_mean(pixels.spectra, pixels.grid.mask)
        leading = within_field_components(smoothed, pixels.grid.mask)[0][:, :2]
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
def test_constant_within_field_components_are_excluded(make):
    pixels = take_pixels(make())
    smoothed = local_mean(pixels.spectra, pixels.grid.mask)
    components, _ = within_field_components(smoothed, pixels.grid.mask)
    assert (np.ptp(components, axis=0) > 0).all()
    assert set(np.unique(SpectraWalk(2).fit(make()).labels_)) == {0, 1}


@pytest.mark.parametrize("shape", [(2, 3), (3, 3)])
def test_images_of_few_pixels_have_no_within_field_components(shape):
    cube = np.random.default_rng(0).uniform(1, 2, size=(*shape, 5))
    mask = np.ones(shape, dtype=bool)
    assert within_field_components(cube.reshape(-1, 5), mask)[0].shape[1] == 0


def test_local_mean_uses_valid_pixels_only():
    mask = np.array([[True, True, True], [True, False, True]])
    X = np.arange(5.0)[:, None]
    assert local_mean(X, mask)[:, 0] == pytest.approx([4 / 3, 2.0, 7 / 3, 4 / 3, 7 / 3])


def test_constant_components_do_not_vary():
    assert not varies(np.ones((4, 2)))
    assert not varies(np.empty((4, 0)))
    assert varies(np.eye(2))
