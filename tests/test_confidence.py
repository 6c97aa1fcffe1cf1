import numpy as np
import pytest

from spectrawalk import SRDL
from spectrawalk.datasets import make_scene
from spectrawalk.results.confidence import confidence_image, mode_margin, reliability


def test_the_margin_compares_the_two_nearest_modes():
    modes = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 4.0]])
    pixels = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [10.0, 0.0], [7.0, 0.0]])
    expected = [1, 1 - 1 / 3, 0, 1, 1 - 3 / 7]
    np.testing.assert_allclose(mode_margin(pixels, modes), expected, atol=1e-7)


def test_one_mode_leaves_no_choice_and_two_in_one_place_all_of_it():
    pixels = np.array([[0.0], [2.0], [np.nan]])
    np.testing.assert_array_equal(mode_margin(pixels, np.array([[1.0]])), [1, 1, np.nan])
    margin = mode_margin(np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]]))
    np.testing.assert_array_equal(margin, [0, 0])


def test_many_pixels_are_taken_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    pixels, modes = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    whole = mode_margin(pixels, modes)
    monkeypatch.setattr("spectrawalk.results.confidence._AT_ONCE", 12)
    np.testing.assert_array_equal(mode_margin(pixels, modes), whole)


def test_the_image_of_a_fit_is_certain_on_its_modes_and_empty_where_masked():
    scene = make_scene(shape=(20, 20), n_bands=10, n_classes=3, random_state=0)
    mask = np.ones((20, 20), dtype=bool)
    mask[:2] = False
    model = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(scene, mask=mask)
    confidence = confidence_image(model.coordinates_, model.modes_)
    assert np.isnan(confidence[:2]).all()
    assert confidence[mask].min() >= 0
    assert confidence[mask].max() <= 1
    assert confidence.flat[model.modes_] == pytest.approx(1)


def test_reliability_rises_where_confidence_tells_right_from_wrong():
    truth = np.repeat([1, 2], 50)
    labels = np.repeat([0, 1], 50)
    labels[::10] = 1 - labels[::10]
    right = labels == truth - 1
    told = reliability(truth, labels, np.where(right, 0.9, 0.1), {0: 1, 1: 2})
    assert told.accuracy.tolist() == [0.0] + [1.0] * 9
    assert told.confidence[0] == pytest.approx(0.1)
    unknown = reliability(np.zeros(5, int), np.zeros(5, int), np.ones(5), {0: 1}, groups=1)
    assert len(unknown.accuracy) == 0
