import numpy as np
import pytest

from spectrawalk import Scene
from spectrawalk.errors import DataError, ParameterError
from spectrawalk.prepare.pixels import take_pixels
from spectrawalk.prepare.scaling import Scaling, add_jitter, check_distinct, normalize_spectra


def test_masked_pixels_leave_and_come_back():
    cube = np.arange(24.0).reshape(2, 3, 4)
    mask = np.array([[True, False, True], [False, True, True]])
    pixels = take_pixels(cube, mask)
    assert pixels.spectra.shape == (4, 4)
    np.testing.assert_array_equal(pixels.grid.flat_index, [0, 2, 4, 5])
    image = pixels.grid.to_image(pixels.spectra, np.nan)
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


@pytest.mark.parametrize("how", ["pixel", "band"])
def test_one_huge_value_leaves_the_others_as_they_are(how):
    """A forgotten no-data value once made all other pixels underflow to 0."""
    X = np.random.default_rng(0).uniform(size=(30, 5))
    huge = X.copy()
    huge[3 if how == "pixel" else slice(None), 2] = -1.7e308
    others = np.ones_like(X, dtype=bool)
    others[3 if how == "pixel" else slice(None), :] = False
    if how == "band":
        others[:, [0, 1, 3, 4]] = True
    np.testing.assert_array_equal(
        normalize_spectra(huge, how)[others], normalize_spectra(X, how)[others]
    )


def test_scaling_by_a_power_of_two_costs_no_digit():
    X = np.random.default_rng(0).uniform(size=(30, 5))
    plain = X / np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(normalize_spectra(X, "pixel"), plain)


@pytest.mark.parametrize("how", ["pixel", "global", "band", None])
def test_another_image_is_scaled_as_the_first(how):
    X = np.random.default_rng(0).uniform(size=(30, 5))
    scaling = Scaling.of(X, how)
    np.testing.assert_array_equal(scaling.apply(X[:3]), normalize_spectra(X, how)[:3])
    brighter = scaling.apply(2 * X[:3])
    factor = 1 if how == "pixel" else 2
    np.testing.assert_array_equal(brighter, factor * scaling.apply(X[:3]))


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


@pytest.mark.parametrize(
    ("scale", "message"), [(1e155, "too large for float64"), (1e-160, "too small for float64")]
)
def test_distances_that_are_no_numbers(scale, message):
    X = np.random.default_rng(0).uniform(size=(30, 5)) * scale
    with pytest.raises(DataError, match=message):
        check_distinct(X, None)
    check_distinct(normalize_spectra(X, "pixel"), "pixel")


@pytest.mark.parametrize("how", ["global", "band", None])
def test_a_forgotten_value_for_no_data(how):
    """Beside -3.4e38 all other pixels are the same, and would be clustered as one."""
    X = np.random.default_rng(0).uniform(size=(30, 5))
    X[4] = np.finfo(np.float32).min
    with pytest.raises(DataError, match=r"1 of 30 valid pixels have values.*`mask`"):
        check_distinct(normalize_spectra(X, how), how)
    X[4] = 1e6
    check_distinct(normalize_spectra(X, how), how)
    X[:28] = 0
    check_distinct(normalize_spectra(X, how), how)


def test_masked_arrays_bring_their_mask():
    cube = np.arange(24.0).reshape(2, 3, 4)
    hidden = np.zeros_like(cube, dtype=bool)
    hidden[0, 1, 2] = hidden[1, 0, :] = True
    masked = np.ma.MaskedArray(cube, mask=hidden)
    np.testing.assert_array_equal(take_pixels(masked).grid.flat_index, [0, 2, 4, 5])
    by_both = take_pixels(masked, mask=[[0, 1, 1], [1, 1, 1]])
    np.testing.assert_array_equal(by_both.grid.flat_index, [2, 4, 5])
    half_known = np.ma.MaskedArray(np.ones((2, 3)), mask=[[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(take_pixels(cube, half_known).grid.flat_index, [1, 2, 3, 4, 5])


def test_jitter_has_bounds():
    with pytest.raises(ParameterError, match=r"jitter=1e\+308"):
        add_jitter(np.full((50, 3), 1e308), 1e308, 0)


def test_jitter_is_seeded():
    X = np.zeros((4, 3))
    assert add_jitter(X, 0.0, 1) is X
    np.testing.assert_array_equal(add_jitter(X, 0.1, 1), add_jitter(X, 0.1, 1))
    assert (add_jitter(X, 0.1, 1) != add_jitter(X, 0.1, 2)).any()
