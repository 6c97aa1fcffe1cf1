"""Active learning: which pixels a person is asked about, and what the answers do to the map."""

import copy

import numpy as np
import pytest

import spectrawalk
from spectrawalk import SpectraWalk, score, threads
from spectrawalk.consensus.queries import LeafShares, choose_pixels, propagate_labels
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.errors import FileError, ParameterError

SCENE = make_scene((40, 40), n_bands=30, n_classes=4, region_size=20, mixing=0.3, random_state=3)
TRUTH = np.asarray(SCENE.ground_truth).ravel()


@pytest.fixture(scope="module")
def fitted():
    return SpectraWalk(2).fit(SCENE)  # too few: classes are merged


@pytest.fixture
def model(fitted):
    return copy.copy(fitted)  # refit_with replaces attributes, and changes no array


def true_answers(pixels, truth=TRUTH):
    return {int(pixel): int(truth[pixel]) if truth[pixel] > 0 else None for pixel in pixels}


def test_answers_correct_the_map(model):
    merged = score(SCENE.ground_truth, model.labels_).oa
    asked = model.query(8)
    model.refit_with(true_answers(asked))
    assert model.classes_.tolist() == [1, 2, 3, 4]
    assert model.n_clusters_ == 4
    assert score(SCENE.ground_truth, model.labels_).oa > max(merged, 0.95)
    assert (model.classes_[model.labels_.ravel()[asked]] == TRUTH[asked]).all()
    assert 0 <= model.confidence_.min() <= model.confidence_.max() <= 1
    assert model.cut(2).max() == 1


@pytest.mark.parametrize("budget", [1, 5, 64, 100])
def test_no_pixel_is_chosen_twice(model, budget):
    asked = model.query(budget)
    assert len(set(asked.tolist())) == len(asked) == budget
    again = model.query(budget, true_answers(asked))
    assert len(again) == budget
    assert not set(again.tolist()) & set(asked.tolist())


def test_an_unknown_class_leads_to_another_pixel_of_the_same_leaf(model):
    first = model.query(3)
    answers = {int(first[0]): None, int(first[1]): 1, int(first[2]): ""}
    leaf = model.cut(64).ravel()
    second = model.query(5, answers)
    assert sorted(leaf[second[:2]]) == sorted(leaf[first[[0, 2]]])
    assert not set(leaf[second[2:]]) & set(leaf[first])
    third = model.query(5, answers | {int(second[0]): None, int(second[1]): 2})
    assert not set(leaf[third]) & set(leaf[first])  # not known again: probably no class at all


def test_a_pixel_without_an_answer_is_not_chosen_again_when_nothing_else_is_left(model):
    every = dict.fromkeys(range(TRUTH.size), None)
    assert len(model.query(5, every)) == 0
    del every[7]
    assert model.query(5, every).tolist() == [7]


def test_the_queries_avoid_edges_and_small_leaves(model):
    rows, cols = np.unravel_index(model.query(4), SCENE.shape)
    assert len(set(TRUTH[model.query(4)])) == 4
    edges = np.pad(SCENE.ground_truth, 1, mode="edge")
    for row, col in zip(rows, cols, strict=True):
        assert len(np.unique(edges[row : row + 3, col : col + 3])) == 1


def test_masked_pixels_are_neither_chosen_nor_accepted():
    mask = np.ones(SCENE.shape, dtype=bool)
    mask[:, 15:25] = False
    model = SpectraWalk(4).fit(SCENE, mask=mask)
    asked = model.query(80)
    assert mask.ravel()[asked].all()
    model.refit_with(true_answers(asked))
    assert (model.labels_[~mask] == -1).all()
    with pytest.raises(ParameterError, match="pixel 15 is masked"):
        model.refit_with({15: 1})


def test_names_come_back_from_a_file(model, tmp_path):
    names = np.array(["", "corn", "soil", "water", "wood"])[TRUTH]
    asked = model.query(8)
    model.refit_with({pixel: str(names[pixel]) for pixel in asked}).save(tmp_path / "model.npz")
    loaded = spectrawalk.load(tmp_path / "model.npz")
    assert loaded.classes_.tolist() == ["corn", "soil", "water", "wood"]
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert np.array_equal(loaded.query(9), model.query(9))
    np.testing.assert_array_equal(loaded.predict(SCENE), model.predict(SCENE))
    assert loaded.verdict_ == model.verdict_
    assert "is shown" not in loaded.verdict_
    assert not hasattr(loaded.at(3), "classes_")
    loaded.fit(SCENE)
    assert not hasattr(loaded, "classes_")


def test_more_classes_than_leaves_come_back_from_a_file(tmp_path):
    image = np.repeat([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], 8, axis=0).reshape(4, 4, 3)
    model = SpectraWalk(2).fit(image).refit_with({0: 5, 1: 6, 2: 7})
    model.save(tmp_path / "model.npz")
    assert spectrawalk.load(tmp_path / "model.npz").classes_.tolist() == [5, 6, 7]


@pytest.mark.parametrize("classes", [[1, 1, 2, 3], [1, 2, 3], [[1, 2], [3, 4]], [1.0, 2, 3, 4]])
def test_damaged_classes_are_refused(model, tmp_path, classes):
    model.refit_with(true_answers(model.query(8))).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as saved:
        arrays = dict(saved)
    np.savez(tmp_path / "damaged.npz", **(arrays | {"classes_": np.array(classes)}))
    with pytest.raises(FileError, match="damaged"):
        spectrawalk.load(tmp_path / "damaged.npz")


WRONG = [{}, {10**6: 1}, {2**70: 1}, {-1: 1}, {0: None}, {0: " "}, {0: 1.5}, {0: 2**63}]
WRONG += [{"corn": 1}, {0: 1, 1: "corn"}]


@pytest.mark.parametrize("answers", WRONG)
def test_wrong_answers_are_told_in_one_sentence(model, answers):
    before = model.labels_
    with pytest.raises(ParameterError, match="answers"):
        model.refit_with(answers)
    assert model.labels_ is before


@pytest.mark.parametrize("budget", [0, 2.5, "many"])
def test_a_wrong_budget_is_told_in_one_sentence(model, budget):
    with pytest.raises(ParameterError, match="budget"):
        model.query(budget)


def test_the_pixels_do_not_depend_on_the_threads(model):
    with threads.limit(1):
        single = model.query(20)
    with threads.limit(2):
        assert np.array_equal(model.query(20), single)


def test_a_table_has_queries_too():
    table = np.asarray(SCENE.cube, dtype=float).reshape(-1, 30)[::3]
    model = SpectraWalk(2).fit(table)
    truth = TRUTH[::3]
    model.refit_with(true_answers(model.query(12), truth))
    assert (model.classes_[model.labels_] == truth).mean() > 0.8


@pytest.mark.parametrize("budget", [1, 3, 10])
def test_one_leaf_is_queried_as_often_as_it_has_pixels(budget):
    n = 6
    found = LeafShares.of(np.zeros((1, n), dtype=np.uint8), np.ones(1), np.zeros(n, dtype=np.int32))
    for mask in (np.ones(n, dtype=bool), np.ones((2, 3), dtype=bool)):
        chosen = choose_pixels(found, mask, budget, {})
        assert len(set(chosen.tolist())) == len(chosen) == min(budget, n)


def test_an_outlier_is_not_queried_before_a_large_leaf_that_is_divided():
    halves = np.repeat([0, 1, 2, 3], [40, 30, 30, 1])
    runs = np.stack([halves, np.minimum(halves, 2), np.where(halves == 2, 1, halves)])
    found = LeafShares.of(runs, np.full(3, 1 / 3), halves.astype(np.int32))
    chosen = choose_pixels(found, np.ones(101, dtype=bool), 3, {})
    assert set(halves[chosen]) == {0, 1, 2}


def test_an_answer_from_inside_a_leaf_wins():
    runs = np.array([[0, 0, 0, 0, 1]])  # no run separates the two leaves of the first four pixels
    found = LeafShares.of(runs, np.ones(1), np.array([0, 0, 1, 1, 2], dtype=np.int32))
    assert propagate_labels(found, {0: 0, 3: 1}).tolist() == [0, 0, 1, 1, 0]
    assert propagate_labels(found, {3: 1, 4: 0}).tolist() == [1, 1, 1, 1, 0]


@pytest.mark.scene
def test_ten_queries_name_the_fields_of_the_indian_pines_subset():
    scene = load_scene("indian-pines-subset")
    truth = np.asarray(scene.ground_truth)
    model = SpectraWalk(3).fit(scene)

    def accuracy(budget):
        model.refit_with(true_answers(model.query(budget), truth.ravel()))
        known = truth > 0
        return (model.classes_[model.labels_[known]] == truth[known]).mean()

    three, five, ten = accuracy(3), accuracy(5), accuracy(10)
    assert ten >= 0.95
    assert five >= three
