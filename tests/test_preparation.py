import numpy as np
import pytest

from spectrawalk import Scene
from spectrawalk.errors import DataError, ParameterError
from spectrawalk.preparation import add_jitter, check_distinct, normalize_spectra, take_pixels


def test_masked_pixels_leave_and_come_back():
    cube = np.arange(24.0).reshape(2, 3, 4)
    mask = np.array([[True, False, True], [False, True, True]])
    pixels = take_pixels(cube, mask)
    assert pixels.spectra.shape == (4, 4)
    np.testing.assert_array_equal(pixels.flat_index, [0, 2, 4, 5])
    image = pixels.to_image(pixels.spectra, np.nan)
    np.testing.assert_array_equal(image[mask], cube[mask])
    assert np.isnan(image[~mask]).all()


def test_a_scene_brings_its_own_mask():
    mask = np.array([[True, False], [True, True]])
    scene = Scene(np.ones((2, 2, 3)), mask=mask)
    assert len(take_pixels(scene).spectra) == 3
    assert len(take_pixels(scene, [[0, 1], [1, 1]]).spectra) == 2


def test_masked_pixels_may_hold_anything():
    cube = np.ones((2, 2, 3))
    cube[0, 0] = [np.nan, np.inf, -np.inf]
    assert len(take_pixels(cube, [[False, True], [True, True]]).spectra) == 3
    with pytest.raises(DataError, match=r"1 of 4 valid pixels.*mask"):
        take_pixels(cube)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_unit_spectra_at_any_scale(scale):
    X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]) * scale
    np.testing.assert_allclose(normalize_spectra(X, "pixel"), [[0.6, 0.8], [0, 0], [-1, 0]])


def test_global_and_band_scaling():
    X = np.array([[3.0, 4.0], [6.0, 8.0]])
    np.testing.assert_allclose(normalize_spectra(X, "global"), X / 7.5)
    np.testing.assert_allclose(np.linalg.norm(normalize_spectra(X, "band"), axis=0), 1)
    assert normalize_spectra(X, None) is X


def test_unknown_normalisation():
    with pytest.raises(ParameterError, match="'pixel', 'global', 'band' or None"):
        normalize_spectra(np.ones((2, 2)), "unit")


def test_multiples_of_one_spectrum_are_the_same_after_scaling():
    X = np.outer(np.linspace(1, 3, 50), np.random.default_rng(0).uniform(size=7))
    check_distinct(X, None)
    with pytest.raises(DataError, match=r"same spectrum after normalize='pixel'"):
        check_distinct(normalize_spectra(X, "pixel"), "pixel")


def test_jitter_is_seeded():
    X = np.zeros((4, 3))
    assert add_jitter(X, 0.0, 1) is X
    np.testing.assert_array_equal(add_jitter(X, 0.1, 1), add_jitter(X, 0.1, 1))
    assert (add_jitter(X, 0.1, 1) != add_jitter(X, 0.1, 2)).any()
