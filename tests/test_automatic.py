"""Automatic mode: its labels, its warnings, its queries, and that results repeat."""

import copy
import json
import warnings
import weakref

import numpy as np
import pytest
import rasterio
from click.testing import CliRunner
from scipy.ndimage import gaussian_filter
from sklearn.metrics import adjusted_rand_score

import spectrawalk
from spectrawalk import DL, SRDL, score, threads
from spectrawalk.cli import main
from spectrawalk.consensus import kmeans, number
from spectrawalk.consensus.agreement import agreement
from spectrawalk.consensus.automatic import cluster_automatically
from spectrawalk.consensus.coassociation import consensus_of, distinct_rows, merge_groups
from spectrawalk.consensus.ensemble import BaseClustering, graph_features, time_for
from spectrawalk.consensus.features import feature_sets
from spectrawalk.consensus.kmeans import kmeans_labels, spatial_kmeans
from spectrawalk.consensus.leading import leading_runs
from spectrawalk.consensus.sensitivity import sensitive_parameters
from spectrawalk.datasets import make_scene
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.estimators import learner
from spectrawalk.prepare.pixels import Pixels, take_input, take_pixels
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.results.confidence import reliability
from spectrawalk.srdl import density, neighbors
from spectrawalk.srdl.neighbors import global_neighbors

AUTO = {"radius": "auto", "time": "auto", "n_eigenpairs": "auto"}


@pytest.fixture(scope="module")
def scene():
    return make_scene((20, 22), n_bands=12, n_classes=3, noise=0.02, mixing=0.3, random_state=3)


@pytest.fixture(scope="module")
def model(scene):
    return SRDL(3, **AUTO).fit(scene)


def test_finds_the_classes_of_a_clean_scene(scene, model):
    assert model.n_clusters_ == 3
    assert score(scene.ground_truth, model.labels_).oa > 0.95


def test_counts_the_clusters_itself(scene):
    model = SRDL("auto", **AUTO).fit(scene)
    assert model.n_clusters_ == 3
    assert model.verdict_ == "3, clear"
    assert model.evidence_.n_clusters == 3


def test_confident_labels_are_right_more_often():
    scene = make_scene((30, 30), n_bands=12, n_classes=4, noise=0.05, mixing=1.0, random_state=5)
    model = SRDL(4, **AUTO).fit(scene)
    truth, found = scene.ground_truth.ravel(), model.labels_.ravel()
    confident = model.confidence_.ravel() > np.median(model.confidence_)
    # Each cluster is compared with its most frequent class.
    frequent = np.array([np.bincount(truth[found == k]).argmax() for k in range(4)])
    wrong = frequent[found] != truth
    assert wrong[confident].mean() < 0.5 * wrong[~confident].mean()


def test_masked_pixels_get_neither_label_nor_confidence(scene):
    mask = np.ones(scene.shape, dtype=bool)
    mask[:4, 5:20] = False
    model = SRDL(3, **AUTO).fit(scene.cube, mask=mask)
    assert ((model.labels_ == -1) == ~mask).all()
    assert (np.isnan(model.confidence_) == ~mask).all()
    kept = model.confidence_[mask]
    assert kept.min() >= 0
    assert kept.max() <= 1


@pytest.mark.parametrize("number", [1, 2, 5])
def test_same_labels_on_any_number_of_threads(scene, model, number):
    with threads.limit(number):
        again = SRDL(3, **AUTO).fit(scene)
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.confidence_, model.confidence_)


def test_modes_lie_in_their_clusters(model):
    assert model.labels_.ravel()[model.modes_].tolist() == [0, 1, 2]


def test_saved_and_read_back(model, scene, tmp_path):
    model.save(tmp_path / "model.npz")
    again = spectrawalk.load(tmp_path / "model.npz")
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.predict(scene), model.predict(scene))
    assert np.array_equal(again.confidence_, model.confidence_)
    assert (again.verdict_, again.warnings_, again.time_) == (
        model.verdict_,
        model.warnings_,
        model.time_,
    )
    assert again.evidence_ == model.evidence_
    assert np.array_equal(again.query(3), model.query(3))
    answers = dict.fromkeys(map(int, again.query(3)), 7)
    again.refit_with(answers).save(tmp_path / "labelled.npz")
    assert spectrawalk.load(tmp_path / "labelled.npz").classes_.tolist() == [7]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_findings", np.array("{}")),
        ("_findings", {"stability": [[1, 0.5]]}),
        ("_findings", {"gaps": [[2, float("nan")]]}),
        ("_findings", {"stability": []}),
        ("_runs", None),
        ("confidence_", np.full((20, 22), 2.0, "f4")),
    ],
)
def test_damaged_ensemble_is_refused(model, tmp_path, name, value):
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = dict(file)
    if isinstance(value, dict):  # all the rest as it was
        value = np.array(json.dumps(json.loads(str(arrays[name])) | value))
    arrays[name] = value
    np.savez(
        tmp_path / "bad.npz", **{key: array for key, array in arrays.items() if array is not None}
    )
    with pytest.raises(FileError, match=f"bad.npz' is damaged.*{name}"):
        spectrawalk.load(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    "setting", [{"sigma": 2.0}, {"symmetrize": None}, {"components": "split"}, {"window": "disk"}]
)
def test_settings_of_a_single_run_are_refused(scene, setting):
    with pytest.raises(ParameterError, match=f"{next(iter(setting))}=.* automatic mode"):
        SRDL(3, **AUTO, **setting).fit(scene)


def test_a_later_single_fit_removes_the_ensemble(scene, model):
    model = copy.copy(model)
    model.set_params(radius=5, time=30).fit(scene)
    assert not hasattr(model, "confidence_")
    with pytest.raises(ParameterError, match="radius='auto'"):
        model.query(3)


def test_relabel_points_to_a_new_fit(model):
    with pytest.raises(ParameterError, match="n_clusters=4"):
        model.relabel(4)


def test_a_table_has_no_window(scene):
    table = scene.cube.reshape(-1, scene.n_bands)[::3]
    model = SRDL(3, **AUTO).fit(table)
    assert model.labels_.shape == (len(table),)
    assert model.n_clusters_ == 3


def radii_searched(monkeypatch):
    """Radii of all windows that neighbours are searched in from now on."""
    radii, search = [], neighbors.window_neighbors

    def listening(X, mask, k, radius, window="square"):
        radii.append(radius)
        return search(X, mask, k, radius, window)

    monkeypatch.setattr(neighbors, "window_neighbors", listening)
    return radii


@pytest.mark.parametrize(("radius", "expected"), [("auto", {4, 6, 9}), (10, {7, 10, 15})])
def test_radii_vary_around_the_given_radius(scene, monkeypatch, radius, expected):
    radii = radii_searched(monkeypatch)
    SRDL(3, radius=radius, time="auto").fit(scene)
    assert set(radii) == expected


def test_a_given_number_of_eigenpairs_is_used(scene, model):
    given = SRDL(3, **(AUTO | {"n_eigenpairs": 7})).fit(scene)
    assert (len(model.eigenvalues_), len(given.eigenvalues_)) == (3, 7)


def test_a_given_time_is_used(scene, model):
    given = SRDL(3, **(AUTO | {"time": 20.0})).fit(scene)
    assert given.time_ == 20
    assert model.time_ != 20


@pytest.mark.parametrize("settings", [{"radius": "auto"}, {"time": "auto"}])
def test_a_default_counts_as_not_given(scene, model, settings):
    one = SRDL(3, **settings).fit(scene)
    assert one.time_ == model.time_
    assert np.array_equal(one.labels_, model.labels_)
    assert np.array_equal(one.confidence_, model.confidence_)


def test_the_ensemble_of_dl_ignores_space(scene):
    order = np.random.default_rng(0).permutation(scene.mask.size)
    table = scene.cube.reshape(-1, scene.n_bands)
    in_place = DL(3, time="auto").fit(scene.cube)
    shuffled = DL(3, time="auto").fit(table[order].reshape(scene.cube.shape))
    assert adjusted_rand_score(in_place.labels_.ravel()[order], shuffled.labels_.ravel()) > 0.99
    assert np.array_equal(in_place.labels_.ravel(), DL(3, time="auto").fit(table).labels_)


def test_raw_spectra_are_not_held_during_the_fit(scene, monkeypatch):
    held = []

    def taking(*args, **kwargs):
        pixels = take_input(*args, **kwargs)
        held.append(weakref.ref(pixels.spectra))
        return pixels

    def looking(*args, **kwargs):
        assert held[0]() is None
        held.append("looked")
        return cluster_automatically(*args, **kwargs)

    monkeypatch.setattr(learner, "take_input", taking)
    monkeypatch.setattr(learner, "cluster_automatically", looking)
    SRDL(3, **AUTO).fit(scene)
    assert held[1:] == ["looked"]


def test_kmeans_and_the_number_of_clusters_sample_every_column():
    # The sample must not repeat the same columns of a square image.
    for most in (kmeans.SAMPLE, number.SAMPLE):
        assert len(np.unique(draw_pixels(1_000_000, most) % 1000)) > 950


@pytest.mark.parametrize("shape", [(1, 9), (2, 2), (3, 4)])
def test_tiny_images(shape):
    cube = np.random.default_rng(0).uniform(1, 2, size=(*shape, 5))
    model = SRDL(2, **AUTO).fit(cube)
    assert model.labels_.shape == shape
    assert set(model.labels_.ravel()) <= {0, 1}


@pytest.mark.parametrize("name", ["radius", "time"])
def test_other_strings_are_refused(scene, name):
    with pytest.raises(ParameterError, match=name):
        SRDL(3, **{name: "best"}).fit(scene)


def test_labels_of_queries_correct_the_map(scene):
    truth = np.asarray(scene.ground_truth).ravel()
    model = SRDL(2, **AUTO).fit(scene)  # too few: two classes are merged
    merged = score(scene.ground_truth, model.labels_).oa
    asked = model.query(20)
    assert len(set(asked.tolist())) == len(asked) <= 20
    model.refit_with({pixel: truth[pixel] for pixel in asked})
    assert model.classes_.tolist() == [1, 2, 3]
    assert score(scene.ground_truth, model.labels_).oa > max(merged, 0.9)
    assert (model.classes_[model.labels_.ravel()[asked]] == truth[asked]).all()


def test_labels_of_queries_may_be_names(scene, tmp_path):
    names = np.array(["", "corn", "soil", "water"])[scene.ground_truth.ravel()]
    model = SRDL(2, **AUTO).fit(scene)
    asked = model.query(20)
    model.refit_with({pixel: str(names[pixel]) for pixel in asked})
    assert model.classes_.tolist() == ["corn", "soil", "water"]
    assert (model.classes_[model.labels_.ravel()[asked]] == names[asked]).all()
    model.save(tmp_path / "model.npz")
    assert spectrawalk.load(tmp_path / "model.npz").classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize(
    "answers", [{}, {10**6: 1}, {0: None}, {0: ""}, {0: 1.5}, {"corn": 1}, {0: 1, 1: "corn"}]
)
def test_invalid_labels_of_queries_are_refused(model, answers):
    with pytest.raises(ParameterError, match="answers"):
        model.refit_with(answers)


def test_consensus_ignores_one_random_run():
    truth = np.repeat([0, 1, 2], 50)
    random = np.random.default_rng(0).integers(3, size=150)
    found = consensus_of([truth, (truth + 1) % 3, random, 2 - truth], 3)
    assert score(truth + 1, found.labels).oa == 1


def test_groups_are_merged_by_their_mean_similarity():
    # 0 and 1 merge first; 2 is close to 0 (0.5), but 3 is closer to the pair on average.
    similarity = np.array(
        [[1, 0.9, 0.5, 0.4], [0.9, 1, 0.1, 0.4], [0.5, 0.1, 1, 0.0], [0.4, 0.4, 0.0, 1]]
    )
    assert merge_groups(similarity, np.ones(4, dtype=int), 2).tolist() == [0, 0, 1, 0]


def test_sensitive_parameter_is_named():
    stable, changed = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    settings = [(3, 0.5, stable), (3, 0.1, stable), (9, 0.5, changed), (9, 0.1, changed)]
    runs = [
        BaseClustering("spectra", False, radius, "near", 0, decay, labels)
        for radius, decay, labels in settings
    ]
    (warning,) = sensitive_parameters(runs)
    assert "sensitive to radius: runs that differ only in radius" in warning


FIRST, SECOND = np.repeat([0, 1], 20), np.tile([0, 1], 20)


def srdl_runs(*labels):
    return [
        BaseClustering(str(number), False, 3, "near", 0, 0.5, each)
        for number, each in enumerate(labels)
    ]


def spectral_runs(*labels):
    return [run._replace(density=None) for run in srdl_runs(*labels)]


def test_kmeans_runs_lead_if_their_confidence_is_high():
    within_field = [1 - FIRST]
    runs = srdl_runs(FIRST, SECOND) + spectral_runs(SECOND)
    lead = leading_runs(runs, [SECOND, 1 - SECOND], within_field, 2)
    assert "K-means runs agree well" in lead.remark
    assert lead.leading[0] is SECOND
    assert lead.secondary[0] is FIRST
    assert lead.graph_runs == []  # the labels do not depend on the settings of SRDL runs
    same = srdl_runs(FIRST, FIRST) + spectral_runs(SECOND)
    lead = leading_runs(same, [SECOND, FIRST], within_field, 2)
    assert lead.remark == ""
    assert lead.leading == [FIRST, FIRST]
    assert lead.secondary is within_field
    lead = leading_runs(same, [SECOND, SECOND], within_field, 2)  # both are confident
    assert lead.leading[0] is SECOND
    lead = leading_runs(same, [SECOND, FIRST], [], 2)  # the image is too small for these
    assert lead.secondary[0] is SECOND
    lead = leading_runs(same, [], [], 2)  # a table has no K-means runs
    assert lead.leading[0] is FIRST
    assert lead.secondary == []


def test_all_kinds_of_runs_lead_together_in_between():
    mostly = np.where(np.arange(40) < 8, 1 - SECOND, SECOND)
    short = srdl_runs(FIRST, SECOND)
    long = [run._replace(decay=0.1) for run in short]
    runs = short + long + spectral_runs(1 - SECOND)
    lead = leading_runs(runs, [SECOND, mostly], [1 - FIRST], 2)
    assert "to some degree" in lead.remark
    expected = [FIRST, SECOND, 1 - SECOND, SECOND, mostly, 1 - FIRST]
    np.testing.assert_array_equal(lead.leading, expected)
    assert lead.secondary == []
    assert lead.graph_runs is runs


@pytest.mark.parametrize("n_clusters", [6, 7])
def test_spectral_clustering_runs_lead_with_many_clusters(n_clusters):
    srdl, spectral = np.arange(42) % n_clusters, np.arange(42) // (42 // n_clusters)
    random = [np.random.default_rng(seed).integers(n_clusters, size=42) for seed in range(4)]
    runs = srdl_runs(srdl) + spectral_runs(spectral, spectral)
    lead = leading_runs(runs, random, [spectral], n_clusters)
    many = n_clusters == 7
    assert lead.leading[0] is (spectral if many else srdl)
    assert ("diffusion coordinates" in lead.remark) == many
    assert lead.graph_runs == (spectral_runs(spectral, spectral) if many else srdl_runs(srdl))
    assert lead.secondary[0] is spectral
    # A single spectral clustering run would only agree with itself.
    runs = srdl_runs(srdl) + spectral_runs(spectral)
    lead = leading_runs(runs, random, [spectral], n_clusters)
    assert lead.leading[0] is srdl


def test_spectral_clustering_runs_find_many_fields():
    """Eight fields with strong variation inside: K-means of the spectra does not find them."""
    rng = np.random.default_rng(1)
    field = np.repeat(np.repeat(np.arange(8).reshape(2, 4), 24, axis=0), 12, axis=1)
    inside = gaussian_filter(rng.normal(size=(48, 48, 3)), (1.5, 1.5, 0)) @ rng.normal(size=(3, 30))
    cube = 10 + 0.4 * rng.normal(size=(8, 30))[field] + 5 * inside
    cube += rng.normal(0, 0.2, size=cube.shape)
    model = SRDL(8, **AUTO).fit(cube)
    assert any("diffusion coordinates" in warning for warning in model.warnings_)
    assert score(field + 1, model.labels_).oa > 0.9


def test_confidence_is_low_in_noise():
    table = np.random.default_rng(0).normal(size=(120, 5))
    for n_clusters in (6, 7):
        model = SRDL(n_clusters, **AUTO, normalize=None).fit(table)
        assert model.confidence_.mean() < 0.6


def test_few_distinct_spectra_give_no_warning():
    points = np.array([[0, 1.0], [1, 0], [1, 1], [3, 1]])[np.arange(60) % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SRDL(3, **AUTO, normalize=None).fit(points)
    assert model.n_clusters_ == 3


def test_runs_with_more_eigenpairs_are_used_if_no_others_found_the_clusters():
    points = np.array([[0, 1.0], [1, 0], [1, 1], [2, 1], [3, 3]])[np.arange(40) % 5]
    model = SRDL(2, radius="auto", time=100, normalize=None).fit(points)
    assert len(np.unique(model.labels_)) == 2


def test_reported_bandwidth_is_that_of_the_density(model, scene):
    pixels = take_pixels(scene)
    unit = normalize_spectra(pixels.spectra.astype(float), "pixel")
    sets = feature_sets(Pixels(unit, pixels.grid))
    first, _ = graph_features(sets, 3)[0]
    _, d2 = global_neighbors(first.points, 20)
    expected = density.kernel_density(d2, model.density_bandwidth_)
    np.testing.assert_allclose(model.density_.ravel(), expected, rtol=1e-6)


def test_secondary_runs_decide_which_groups_are_merged():
    groups = np.repeat([0, 1, 2, 3], 10)
    runs = [groups, (groups + 1) % 4]  # four groups, all equally far from each other
    first, second = np.array([0, 0, 1, 1])[groups], np.array([0, 1, 0, 1])[groups]
    for secondary in (first, second):
        assert agreement(consensus_of(runs, 2, [secondary]).labels, secondary) == pytest.approx(1)
    # They have no effect on single pixels, nor on their confidence.
    changed = first.copy()
    changed[0] = 1
    found = consensus_of(runs, 2, [changed])
    assert agreement(found.labels, first) == pytest.approx(1)
    assert found.confidence[0] == found.confidence[1]


def test_distinct_rows_equal_those_of_numpy():
    rng = np.random.default_rng(6)
    for width in (1, 8, 63, 64, 65, 200):
        rows = rng.random((50, width)) < 0.02
        expected, number, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        found, first, found_count = distinct_rows(rows)
        assert np.array_equal(found, number.ravel())
        assert np.array_equal(rows[first], expected)
        assert np.array_equal(found_count, count)


def test_markov_random_field_reduces_noise():
    scene = make_scene(
        (40, 40), n_bands=12, n_classes=3, noise=0.3, mixing=0.0, illumination=0.0, random_state=3
    )
    pixels = take_pixels(scene)
    start = kmeans_labels(pixels.spectra, 3, 0)
    found = {
        strength: score(
            scene.ground_truth,
            spatial_kmeans(pixels.spectra, pixels.grid.mask, start, strength).reshape(40, 40),
        ).oa
        for strength in (0.0, 2.0)
    }
    assert found[2.0] > found[0.0] + 0.05


def test_spatial_kmeans_rotates_with_the_image():
    rng = np.random.default_rng(4)
    image = rng.normal(size=(9, 7, 2))
    mask = rng.random((9, 7)) < 0.8
    start = rng.integers(0, 3, size=(9, 7)).astype(np.int32)

    def run(image, mask, start):
        labels = np.full(mask.shape, -1)
        labels[mask] = spatial_kmeans(image[mask], mask, start[mask], 1.0)
        return labels

    rotated = run(np.rot90(image), np.rot90(mask), np.rot90(start))
    assert np.array_equal(np.rot90(run(image, mask, start)), rotated)


def test_time_gives_the_decay():
    assert 0.97 ** time_for(np.array([1.0, 0.97]), 0.1) == pytest.approx(0.1)


def test_graphs_use_different_numbers_of_within_field_components(scene):
    sets = feature_sets(take_pixels(scene))
    names = [features.name for features, _ in graph_features(sets, 3)]
    assert names == ["within-field 3", "within-field 5", "within-field 7", "mnf"]
    # A scene with four bands has four components.
    sets = feature_sets(take_pixels(scene.cube[..., :4]))
    names = [features.name for features, _ in graph_features(sets, 3)]
    assert names == ["within-field 3", "within-field 4", "mnf"]


@pytest.mark.slow
@pytest.mark.scene
@pytest.mark.parametrize(
    ("name", "least"),
    [("indian_pines_subset", 0.88), ("salinas_a", 0.99), ("samson", 0.95), ("ksc_labelled", 0.58)],
)
def test_real_scenes(request, name, least):
    scene = request.getfixturevalue(name)
    truth = np.asarray(scene.ground_truth)
    model = SRDL(len(np.unique(truth[truth > 0])), **AUTO).fit(scene)
    found = score(truth, model.labels_)
    assert found.oa > least
    halves = reliability(truth, model.labels_, model.confidence_, found.matching, groups=2)
    less_confident, more_confident = 1 - halves.accuracy
    assert more_confident <= less_confident / 2


def test_without_a_window_the_ensemble_has_none(scene):
    model = SRDL(3, radius=None, time="auto").fit(scene)
    assert score(scene.ground_truth, model.labels_).oa > 0.9


@pytest.mark.parametrize("option", ["--radius", "--time"])
def test_either_option_of_the_command_line_starts_automatic_mode(scene, here, option):
    np.save("cube.npy", scene.cube)
    arguments = ["cluster", "cube.npy", "-k", "3", option, "auto"]
    result = CliRunner().invoke(main, [*arguments, "-o", "out", "--no-report"])
    assert result.exit_code == 0, result.output
    assert "by agreement of feature sets and eigengap: " in result.output
    with rasterio.open("out/confidence.tif") as file:
        written = file.read(1)
    assert np.array_equal(written, SRDL(3, **AUTO).fit(scene.cube).confidence_)
