import numpy as np
import pytest

from spectrawalk import SRDL, SpectraWalk
from spectrawalk.datasets import make_scene
from spectrawalk.io.run_record import outcome
from spectrawalk.report.page import report_html
from spectrawalk.results.certainty import margin_of, mode_margin, reliability
from spectrawalk.results.result import Result


def test_the_margin_compares_the_two_nearest_modes():
    modes = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 4.0]])
    pixels = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [10.0, 0.0], [7.0, 0.0]])
    expected = [1, 1 - 1 / 3, 0, 1, 1 - 3 / 7]
    np.testing.assert_allclose(margin_of(pixels, modes), expected, atol=1e-7)


def test_one_mode_leaves_no_choice_and_two_in_one_place_all_of_it():
    pixels = np.array([[0.0], [2.0], [np.nan]])
    np.testing.assert_array_equal(margin_of(pixels, np.array([[1.0]])), [1, 1, np.nan])
    margin = margin_of(np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]]))
    np.testing.assert_array_equal(margin, [0, 0])


def test_many_pixels_are_taken_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    pixels, modes = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    whole = margin_of(pixels, modes)
    monkeypatch.setattr("spectrawalk.results.certainty._AT_ONCE", 12)
    np.testing.assert_array_equal(margin_of(pixels, modes), whole)


def test_the_image_of_a_fit_is_certain_on_its_modes_and_empty_where_masked():
    scene = make_scene(shape=(20, 20), n_bands=10, n_classes=3, random_state=0)
    mask = np.ones((20, 20), dtype=bool)
    mask[:2] = False
    model = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(scene, mask=mask)
    margin = mode_margin(model.coordinates_, model.modes_).image
    assert np.isnan(margin[:2]).all()
    assert margin[mask].min() >= 0
    assert margin[mask].max() <= 1
    assert margin.flat[model.modes_] == pytest.approx(1)


def test_reliability_rises_where_certainty_tells_right_from_wrong():
    truth = np.repeat([1, 2], 50)
    labels = np.repeat([0, 1], 50)
    labels[::10] = 1 - labels[::10]
    right = labels == truth - 1
    told = reliability(truth, labels, np.where(right, 0.9, 0.1), {0: 1, 1: 2})
    assert told.accuracy.tolist() == [0.0] + [1.0] * 9
    assert told.certainty[0] == pytest.approx(0.1)
    unknown = reliability(np.zeros(5, int), np.zeros(5, int), np.ones(5), {0: 1}, groups=1)
    assert len(unknown.accuracy) == 0


def test_a_result_has_a_confidence_or_a_margin_and_says_which():
    scene = make_scene(shape=(20, 20), n_bands=10, n_classes=3, random_state=0)
    single = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(scene)
    many = SpectraWalk(n_clusters=3).fit(scene)
    of_single, of_many = Result.of_fit(scene, single), Result.of_fit(scene, many)
    predicted = Result.of_prediction(scene, many, *many.predict_with_margin(scene))
    assert [each.certainty.name for each in (of_single, of_many, predicted)] == [
        "margin",
        "confidence",
        "margin",
    ]
    assert len({each.certainty.meaning for each in (of_single, of_many, predicted)}) == 3
    np.testing.assert_array_equal(of_many.confidence, many.confidence_)
    assert of_single.margin.flat[single.modes_] == pytest.approx(1)
    assert np.nanmax(predicted.margin) == 1
    with pytest.raises(AttributeError, match=r"a fit of SRDL has no confidence but a margin; use"):
        of_single.confidence  # noqa: B018
    with pytest.raises(AttributeError, match=r"a fit of SpectraWalk has no margin but a conf"):
        of_many.margin  # noqa: B018
    with pytest.raises(AttributeError, match=r"a prediction has no confidence but a margin; use"):
        predicted.confidence  # noqa: B018


def test_the_report_and_the_record_call_a_margin_by_its_name():
    scene = make_scene(shape=(20, 20), n_bands=10, n_classes=3, random_state=0)
    for model, name, other in (
        (SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5), "margin", "confidence"),
        (SpectraWalk(n_clusters=3), "confidence", "margin"),
    ):
        result = Result.of_fit(scene, model.fit(scene))
        page = report_html(result, record={}).decode()
        assert f"<b>{name.capitalize()}</b>, {result.certainty.meaning}" in page
        assert f"mean {name} of a tenth of the pixels" in page
        assert f'"certainty": "{name}"' in page
        assert f"mean {other}" not in page
        assert outcome(result)[f"mean_{name}"] == result.mean_certainty.round(4).tolist()
