"""SpectraWalk: one tree of clusters for all numbers, without tuning."""

import json

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import spectrawalk
from spectrawalk import DLSS, Result, SpectraWalk, score, threads
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError, FileError, ParameterError, SpectrawalkError
from spectrawalk.results.certainty import reliability

FIELDS = make_scene((40, 40), n_bands=30, n_classes=4, region_size=20, mixing=0.3, random_state=3)
TOWN = make_scene((40, 40), n_bands=30, n_classes=4, region_size=3, mixing=0.5, random_state=3)


@pytest.fixture(scope="module")
def model():
    return SpectraWalk().fit(FIELDS)


def test_it_finds_the_classes_of_fields_and_of_a_town(model):
    assert model.n_clusters_ == 4
    assert score(FIELDS.ground_truth, model.labels_).oa > 0.95
    assert score(TOWN.ground_truth, SpectraWalk(4).fit(TOWN).labels_).oa > 0.85


@pytest.mark.scene
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("indian_pines_subset", 0.88),
        pytest.param("salinas_a", 0.99, marks=pytest.mark.slow),
        pytest.param("samson", 0.9, marks=pytest.mark.slow),
    ],
)
def test_it_finds_the_classes_of_published_scenes(request, name, least):
    scene = request.getfixturevalue(name)
    truth = np.asarray(scene.ground_truth)
    model = SpectraWalk(len(np.unique(truth[truth > 0]))).fit(scene)
    found = score(truth, model.labels_)
    assert found.oa > least
    halves = reliability(truth, model.labels_, model.confidence_, found.matching, groups=2)
    less_confident, more_confident = 1 - halves.accuracy
    assert more_confident <= less_confident


def test_cuts_are_nested_and_keep_their_numbers(model):
    before = model.cut(1)
    assert (before == 0).all()
    for k in range(2, len(model.tree_) + 2):
        labels = model.cut(k)
        assert np.unique(labels).tolist() == list(range(k))
        changed = labels != before
        assert (labels[changed] == k - 1).all()
        assert len(np.unique(before[changed])) == 1
        before = labels
    assert np.array_equal(model.cut(model.n_clusters_), model.labels_)
    assert k >= 40


def test_the_tree_is_one_that_scipy_draws(model):
    assert is_valid_linkage(model.tree_, throw=True)
    assert (np.diff(model.tree_[:, 2]) >= 0).all()
    assert model.tree_[-1, 3] == len(model.leaf_sizes_)
    assert model.leaf_sizes_.tolist() == np.bincount(model.cut(64).ravel()).tolist()
    assert len(dendrogram(model.tree_, no_plot=True)["leaves"]) == len(model.tree_) + 1


def test_the_levels_end_with_the_number_that_is_shown(model):
    assert model.levels_[-1].n_clusters == model.n_clusters_
    assert model.verdict_.startswith(str(model.levels_[0].n_clusters))
    assert "clusters are supported" in model.verdict_


@pytest.mark.parametrize("seed", range(3))
def test_noise_and_a_single_class_have_no_structure(seed):
    noise = np.random.default_rng(seed).normal(1, 0.1, size=(30, 30, 20))
    one_class = make_scene((30, 30), n_classes=1, random_state=seed)
    for image in (noise, one_class):
        found = SpectraWalk().fit(image)
        assert found.verdict_ == "no clear structure"
        assert (found.n_clusters_, found.levels_) == (1, [])
        assert (found.labels_ == 0).all()


def test_the_detail_is_measured_and_can_be_set(model):
    assert model.detail_ < 0.1
    town = SpectraWalk(4).fit(TOWN)
    assert town.measured_detail_ > model.measured_detail_
    smooth = SpectraWalk(4, detail="fields").fit(TOWN)
    sharp = SpectraWalk(4, detail="materials").fit(TOWN)
    assert (smooth.detail_, sharp.detail_) == (0, 1)

    def edges(labels):
        return np.mean(labels[1:] != labels[:-1])

    assert edges(sharp.labels_) > edges(smooth.labels_)


def test_a_pixel_is_surer_inside_than_at_the_edge_and_errors_are_unsure(model):
    for k in (4, 7):
        confidence = model.confidence(k)
        assert confidence.dtype == np.float32
        assert 0 <= confidence.min() <= confidence.max() <= 1
    labels = SpectraWalk(4).fit(TOWN)
    right = np.isin(labels.labels_, -1)
    matching = score(TOWN.ground_truth, labels.labels_).matching
    for cluster, each in matching.items():
        right |= (labels.labels_ == cluster) & (TOWN.ground_truth == each)
    assert labels.confidence_[right].mean() > labels.confidence_[~right].mean()


def test_masked_pixels_have_no_label_and_no_influence():
    cube = np.array(FIELDS.cube, dtype=float)
    mask = np.ones((40, 40), dtype=bool)
    mask[:8] = False
    plain = SpectraWalk(4).fit(cube, mask=mask)
    cube[:8] = 1e6
    assert np.array_equal(SpectraWalk(4).fit(cube, mask=mask).labels_, plain.labels_)
    assert (plain.labels_[:8] == -1).all()
    assert np.isnan(plain.confidence_[:8]).all()


def test_the_labels_do_not_depend_on_the_threads():
    with threads.limit(1):
        one = SpectraWalk(5).fit(TOWN)
    with threads.limit(3):
        three = SpectraWalk(5).fit(TOWN)
    assert np.array_equal(one.labels_, three.labels_)
    assert np.array_equal(one.tree_, three.tree_)


@pytest.mark.parametrize("turn", [np.flipud, np.fliplr, np.rot90, lambda x: x.swapaxes(0, 1)])
def test_the_clusters_turn_with_the_image(turn, model):
    turned = SpectraWalk(4).fit(np.ascontiguousarray(turn(np.asarray(FIELDS.cube))))
    assert adjusted_rand_score(turn(model.labels_).ravel(), turned.labels_.ravel()) > 0.99


def test_seeds_hardly_matter():
    first = SpectraWalk(4, random_state=0).fit_predict(TOWN)
    other = SpectraWalk(4, random_state=1).fit_predict(TOWN)
    assert adjusted_rand_score(first.ravel(), other.ravel()) > 0.9


def test_a_table_is_clustered_by_its_spectra():
    table = np.asarray(FIELDS.cube, dtype=float).reshape(-1, 30)
    found = SpectraWalk(4).fit(table)
    assert found.labels_.shape == (1600,)
    assert found.measured_detail_ == 0
    assert score(FIELDS.ground_truth.ravel(), found.labels_).oa > 0.8


def test_new_pixels_get_the_labels_of_the_fit(model):
    assert np.mean(model.predict(FIELDS) == model.labels_) > 0.99


@pytest.mark.parametrize(
    "image",
    [
        np.random.default_rng(0).random((2, 1, 3)),
        np.random.default_rng(0).random((3, 4, 2)),
        np.random.default_rng(0).random((1, 40, 5)),
        np.repeat(np.eye(3)[None, :2], 20, axis=0) + 0.1,
        np.random.default_rng(0).random((5, 2)),
    ],
    ids=["two pixels", "two bands", "one row", "two spectra", "a small table"],
)
def test_few_pixels_or_bands_give_a_tree_or_one_sentence(image):
    found = SpectraWalk().fit(image)
    n_leaves = len(found.tree_) + 1
    assert 1 <= found.n_clusters_ <= n_leaves
    assert np.unique(found.cut(n_leaves)).tolist() == list(range(n_leaves))
    with pytest.raises(SpectrawalkError, match=r"fewer"):
        SpectraWalk(n_clusters=n_leaves + 1).fit(image)


def test_two_distinct_spectra_are_two_clusters():
    image = np.repeat(np.eye(3)[None, :2], 20, axis=0) + 0.1
    assert len(np.unique(SpectraWalk(2).fit_predict(image))) == 2


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"detail": "roofs"}, r"detail='roofs' cannot be used; give 'auto', 'fields'"),
        ({"detail": 1.5}, r"number from 0 to 1"),
        ({"detail": True}, r"number from 0 to 1"),
        ({"detail": None}, r"number from 0 to 1"),
        ({"n_clusters": 0}, r"n_clusters=0 cannot be used"),
        ({"n_clusters": 5000}, r"only 1600 valid pixels"),
        ({"random_state": -1}, r"random_state"),
    ],
    ids=str,
)
def test_wrong_parameters_are_told_in_one_sentence(settings, told):
    with pytest.raises(ParameterError, match=told):
        SpectraWalk(**settings).fit(FIELDS)


def test_a_failed_fit_leaves_the_model_as_it_was(model):
    before, again = clone(model).fit(FIELDS), SpectraWalk().fit(FIELDS)
    again.set_params(n_clusters=2000)
    with pytest.raises(ParameterError):
        again.fit(FIELDS)
    assert np.array_equal(again.labels_, before.labels_)


def test_a_cut_needs_a_fit_and_a_number_of_the_tree(model):
    with pytest.raises(Exception, match="not fitted"):
        SpectraWalk().cut(3)
    with pytest.raises(ParameterError, match=r"more than the 64 clusters"):
        model.cut(65)
    with pytest.raises(ParameterError, match=r"at least 1"):
        model.cut(0)


def test_everything_comes_back_from_a_file(tmp_path):
    mask = np.ones((40, 40), dtype=bool)
    mask[3:5, 2:9] = False
    model = SpectraWalk(5, detail="materials", random_state=2).fit(FIELDS, mask=mask)
    model.save(tmp_path / "model.npz")
    loaded = spectrawalk.load(tmp_path / "model.npz")
    assert type(loaded) is SpectraWalk
    assert vars(loaded).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if name not in ("_fitted_spectra", "_tree", "_ensemble"):
            np.testing.assert_array_equal(getattr(loaded, name), value, err_msg=name)
    np.testing.assert_array_equal(loaded.cut(9), model.cut(9))
    np.testing.assert_array_equal(loaded.confidence(9), model.confidence(9))
    np.testing.assert_array_equal(loaded.predict(FIELDS), model.predict(FIELDS))
    with pytest.raises(FileError, match=r"holds a SpectraWalk model, not DLSS"):
        DLSS.load(tmp_path / "model.npz")


def changed(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name].copy())})


def with_first(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


DAMAGE = {
    "a leaf too high": (changed("_tree_leaf", with_first(99)), "_tree_leaf holds"),
    "an empty leaf": (changed("_tree_leaf", lambda a: a * 0), "_tree_leaf leaves"),
    "no root": (changed("_tree_parent", with_first(1)), "_tree_parent has no root"),
    "a circle": (changed("_tree_parent", lambda a: np.arange(len(a), dtype=a.dtype)), "not there"),
    "heights that rise": (changed("_tree_height", lambda a: a[::-1]), "_tree_height does not"),
    "a height less": (changed("_tree_height", lambda a: a[1:]), "_tree_height has shape"),
    "other weights": (changed("_weights", lambda a: 2 * a), "_weights does not have the sum 1"),
    "uneven": (changed("_even_weights", lambda a: 2 * a), "_even_weights does not have the sum 1"),
    "a weight less": (changed("_weights", lambda a: a[1:]), "_weights has shape"),
    "no runs": (lambda header, arrays: arrays.pop("_runs") is None, "lacks _runs"),
    "wide detail": (changed("detail_", lambda a: a + 2), "detail_ is not in 0..1"),
    "sure of too much": (changed("confidence_", lambda a: a + 2), "confidence_ holds"),
    "many clusters": (changed("n_clusters_", lambda a: a + 100), "n_clusters_ is more"),
    "arrays of a run": (lambda header, arrays: arrays.update(modes_=np.arange(3)), "modes_, which"),
    "another method": (lambda header, arrays: header.update(kind="SRDL", parameters={}), "method"),
    "a parameter": (lambda header, arrays: header["parameters"].update(detail=7), "detail=7"),
}


OF_TREE_FILE = {
    "a band less": (changed("wavelengths_", lambda a: a[1:]), "n_features_in_ is not"),
    "no bands": (changed("n_features_in_", lambda a: 0 * a), "n_features_in_ is not"),
    "a part of the spectra": (
        lambda header, arrays: arrays.update(spectra_unit=np.array(1.0)),
        "lacks scaling, scaling_length, scaling_peak, spectra, spectra_centre",
    ),
    "a number of another tree": (
        lambda header, arrays: header["parameters"].update(n_clusters=0),
        "n_clusters=0",
    ),
}


def load_damaged(file, change, folder):
    with np.load(file) as saved:
        arrays = {each: saved[each] for each in saved.files}
    header = json.loads(str(arrays.pop("spectrawalk_model")))
    change(header, arrays)
    np.savez(folder / "bad.npz", spectrawalk_model=np.array(json.dumps(header)), **arrays)
    spectrawalk.load(folder / "bad.npz")


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_told_in_one_sentence(name, model, tmp_path):
    change, told = DAMAGE[name]
    model.save(tmp_path / "model.npz")
    with pytest.raises(FileError, match=told):
        load_damaged(tmp_path / "model.npz", change, tmp_path)


@pytest.mark.parametrize("name", DAMAGE | OF_TREE_FILE)
def test_a_damaged_tree_is_told_in_one_sentence(name, model, tmp_path):
    change, told = (DAMAGE | OF_TREE_FILE)[name]
    model.save_tree(tmp_path / "tree.npz")
    with pytest.raises(FileError, match=told) as caught:
        load_damaged(tmp_path / "tree.npz", change, tmp_path)
    assert "\n" not in str(caught.value)


def test_every_byte_of_a_tree_may_be_damaged(model, tmp_path):
    model.save_tree(tmp_path / "tree.npz")
    whole = (tmp_path / "tree.npz").read_bytes()
    random = np.random.default_rng(0)
    told = []
    for place in random.integers(len(whole), size=100):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        (tmp_path / "bad.npz").write_bytes(damaged)
        try:
            spectrawalk.load(tmp_path / "bad.npz")
        except SpectrawalkError as error:
            told.append(str(error))
    assert not any("\n" in each for each in told)
    assert len(told) > 80  # the checksums of the archive find most
    (tmp_path / "bad.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"cut short"):
        spectrawalk.load(tmp_path / "bad.npz")


def test_a_tree_in_a_file_can_be_cut_but_not_predict(model, tmp_path):
    model.save(tmp_path / "model.npz")
    model.save_tree(tmp_path / "tree.npz")
    assert (tmp_path / "tree.npz").stat().st_size < (tmp_path / "model.npz").stat().st_size / 4
    loaded = spectrawalk.load(tmp_path / "tree.npz")
    assert loaded.verdict_ == model.verdict_
    for k in (1, 4, 9, 64):
        np.testing.assert_array_equal(loaded.cut(k), model.cut(k))
        np.testing.assert_array_equal(loaded.confidence(k), model.confidence(k))
    for predict in (loaded.predict, loaded.predict_with_margin):
        with pytest.raises(DataError, match=r"cannot predict; .* with `model.save`"):
            predict(FIELDS)
    loaded.at(9).save(tmp_path / "again.npz")
    np.testing.assert_array_equal(spectrawalk.load(tmp_path / "again.npz").labels_, model.cut(9))
    assert model._fitted_spectra is not None


def test_a_table_without_wavelengths_has_a_tree_file_too(tmp_path):
    table = np.random.default_rng(0).random((60, 4))
    model = SpectraWalk(3).fit(table)
    model.save_tree(tmp_path / "tree.npz")
    np.testing.assert_array_equal(spectrawalk.load(tmp_path / "tree.npz").cut(5), model.cut(5))


@pytest.mark.parametrize("k", [1, 3, 9, "auto"])
def test_a_model_can_show_another_cut(k, model):
    before = dict(vars(model))
    shown = model.at(k)
    number = 4 if k == "auto" else k
    assert (shown.n_clusters, shown.n_clusters_) == (k, number)
    np.testing.assert_array_equal(shown.labels_, model.cut(number))
    np.testing.assert_array_equal(shown.confidence_, model.confidence(number))
    assert shown.verdict_.endswith(f"{number} is shown") or number == 4
    assert shown.verdict_.partition(";")[0] == model.verdict_.partition(";")[0]
    assert shown.predict(FIELDS).max() == number - 1
    assert vars(model) == before
    fitted = SpectraWalk(k).fit(FIELDS)
    np.testing.assert_array_equal(shown.labels_, fitted.labels_)
    assert shown.verdict_ == fitted.verdict_


@pytest.mark.parametrize("k", [0, 65, "many", 2.5])
def test_a_model_shows_only_cuts_of_its_tree(k, model):
    with pytest.raises(ParameterError, match=r"n_clusters="):
        model.at(k)


def test_result_and_record_are_those_of_the_cut(model):
    result = Result.of_fit(FIELDS, model.at(9))
    assert (result.n_clusters, len(result.spectra), len(result.sizes)) == (9, 9, 9)
    np.testing.assert_array_equal(result.confidence, model.confidence(9))
    assert result.settings.startswith("SpectraWalk: 9 clusters, detail")
    assert result.choice.endswith("; 9 is shown")
