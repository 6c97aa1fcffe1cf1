"""What all comparison methods promise alike, and the registry."""

import sys
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from spectrawalk import Scene, baselines
from spectrawalk.baselines import METHODS, STOCHASTIC, Baseline, make_method, method_names, register
from spectrawalk.datasets import make_scene
from spectrawalk.errors import (
    ConvergenceError,
    DataError,
    GraphError,
    MissingDependencyError,
    ParameterError,
    SpectrawalkError,
    StructureError,
)

OWN = ["k-means", "pca", "ica", "rp", "dbscan", "sc", "gmm", "smce", "hnmf", "fms", "fsfdpc"]
PAPER_ORDER = [*OWN, "dl", "dlss", "srdl"]
LATER = ["msrdl", "dvic", "s2dl", "hdbscan", "leiden", "superpixels"]
BASELINES = [*OWN, "hdbscan", "leiden", "superpixels"]


@pytest.fixture(scope="module")
def scene():
    return make_scene((20, 18), n_classes=3, random_state=2)


@pytest.fixture(autouse=True)
def _methods_stay_as_they_were():
    before = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(before)


@pytest.mark.parametrize("name", BASELINES)
def test_labels_have_the_image_shape_and_are_numbered_by_size(name, scene):
    model = make_method(name, n_clusters=3)
    labels = model.fit_predict(scene)
    assert labels.shape == scene.shape
    assert labels.dtype == np.int32
    assert labels is model.labels_
    sizes = np.bincount(labels.ravel())
    assert len(sizes) == model.n_clusters_
    assert (np.diff(sizes) <= 0).all()
    assert sizes.min() > 0


@pytest.mark.parametrize("name", [*OWN, "hdbscan"])
def test_masked_pixels_hold_anything_and_change_nothing(name, scene):
    mask = np.ones(scene.shape, dtype=bool)
    mask[3:6, 4:9] = False
    cube = scene.cube.astype(float)
    spoiled = np.where(mask[:, :, None], cube, np.nan)
    labels = make_method(name, n_clusters=3).fit_predict(spoiled, mask=mask)
    assert (labels[~mask] == -1).all()
    table = make_method(name, n_clusters=3).fit_predict(cube[mask])
    np.testing.assert_array_equal(labels[mask], table)
    np.testing.assert_array_equal(
        labels, make_method(name, n_clusters=3).fit_predict(Scene(spoiled, mask=mask))
    )


@pytest.mark.parametrize("name", BASELINES)
def test_same_seed_same_labels_on_any_number_of_threads(name, scene):
    with threadpool_limits(limits=1):
        one = make_method(name, n_clusters=3).fit_predict(scene)
    with threadpool_limits(limits=2):
        two = make_method(name, n_clusters=3, random_state=0).fit_predict(scene)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", sorted(set(BASELINES) - STOCHASTIC))
def test_methods_without_chance_do_not_heed_the_seed(name, scene):
    labels = [make_method(name, n_clusters=3, random_state=s).fit_predict(scene) for s in (0, 7)]
    np.testing.assert_array_equal(*labels)


def test_the_seed_is_heeded_where_there_is_chance():
    cube = np.random.default_rng(0).uniform(1, 2, (15, 15, 6))
    labels = [make_method("rp", n_clusters=4, random_state=s).fit_predict(cube) for s in (0, 1)]
    assert (labels[0] != labels[1]).any()


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("how", ["pixel", "band", "global", None])
def test_every_method_takes_every_normalisation(name, how, scene):
    model = make_method(name, n_clusters=3, normalize=how)
    assert model.fit(scene).labels_.shape == scene.shape


@pytest.mark.parametrize("name", BASELINES)
def test_what_it_is_fed_matters_as_named(name, scene):
    """Scaling one band changes nothing after normalize="band", and one pixel after "pixel"."""
    cube = scene.cube.astype(float)
    band_scaled, pixel_scaled = cube.copy(), cube.copy()
    band_scaled[:, :, 2] *= 4.0
    pixel_scaled[5, 5] *= 4.0
    for how, scaled in (("band", band_scaled), ("pixel", pixel_scaled)):
        model = make_method(name, n_clusters=3, normalize=how)
        np.testing.assert_array_equal(clone(model).fit_predict(cube), model.fit_predict(scaled))


@pytest.mark.parametrize("name", BASELINES)
def test_bad_input_is_refused_in_one_sentence(name):
    good = np.random.default_rng(0).uniform(1, 2, (8, 8, 4))
    nan = good.copy()
    nan[0, 0, 0] = np.nan
    cases = [
        (DataError, {}, nan, None),
        (DataError, {}, np.ones((8, 8, 4)), None),
        (DataError, {}, good[0, 0], None),
        (DataError, {}, good, np.ones((7, 8), dtype=bool)),
        (DataError, {}, good, np.zeros((8, 8), dtype=bool)),
        (ParameterError, {"n_clusters": 0}, good, None),
        (ParameterError, {"n_clusters": 2.5}, good, None),
        (ParameterError, {"n_clusters": 65}, good, None),
        (ParameterError, {"normalize": "unit"}, good, None),
        (ParameterError, {"random_state": -1}, good, None),
    ]
    for error, parameters, cube, mask in cases:
        model = make_method(name, **({"n_clusters": 2} | parameters))
        with pytest.raises(error) as caught:
            model.fit(cube, mask=mask)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(OWN) - {"dbscan", "ica", "sc"}))
def test_fewer_distinct_spectra_than_clusters_is_said(name):
    cube = np.repeat([[[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]], 20, axis=0)
    with pytest.raises((StructureError, ConvergenceError)):
        make_method(name, n_clusters=4).fit(cube)


def test_no_convergence_is_an_error_of_ours():
    noise = np.random.default_rng(0).uniform(size=(12, 12, 6))
    with pytest.raises(ConvergenceError, match="ICAKMeans did not converge on 144 pixels"):
        make_method("ica", n_clusters=4, max_iter=1).fit(noise)
    with pytest.raises(ConvergenceError, match="max_iter"):
        make_method("gmm", n_clusters=4, max_iter=1).fit(noise)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("k-means", {"n_init": 0}),
        ("pca", {"n_components": 0}),
        ("ica", {"max_iter": 0}),
        ("dbscan", {"min_samples": 1}),
        ("sc", {"n_neighbors": 0}),
        ("gmm", {"regularization": 0}),
        ("smce", {"sparsity": -1.0}),
        ("smce", {"n_neighbors": 2.5}),
        ("hnmf", {"margin": 0}),
        ("fms", {"time_step": 0}),
        ("fms", {"n_landmarks": 1}),
        ("fsfdpc", {"neighbor_share": float("nan")}),
    ],
)
def test_a_method_names_its_own_bad_parameter(name, parameters, scene):
    (parameter,) = parameters
    with pytest.raises(ParameterError, match=parameter):
        make_method(name, n_clusters=3, **parameters).fit(scene)


def test_a_complete_graph_is_refused():
    cube = np.random.default_rng(0).uniform(1, 2, (8, 8, 4))
    with pytest.raises(GraphError, match="n_neighbors=100 connects each of the 64 pixels"):
        make_method("sc", n_clusters=2).fit(cube)


def test_hnmf_refuses_spectra_that_are_largely_negative():
    cube = np.random.default_rng(0).normal(size=(8, 8, 4))
    with pytest.raises(DataError, match="Negative values"):
        make_method("hnmf", n_clusters=2).fit(cube)


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_no_array_of_all_pairs(name):
    n = 6000
    rng = np.random.default_rng(0)
    table = np.repeat(np.eye(4)[:3] + 1, n // 3, axis=0) + rng.normal(scale=0.1, size=(n, 4))
    make_method(name, n_clusters=3).fit(table[::10])  # compiled code and caches are not the point
    tracemalloc.start()
    try:
        make_method(name, n_clusters=3).fit(table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * n * n / 2


SKLEARN_CHECKED = [
    baselines.KMeans(3),
    baselines.PCAKMeans(3),
    baselines.ICAKMeans(3),
    baselines.RandomProjectionKMeans(3),
    baselines.DBSCAN(3, min_samples=5),
    baselines.SpectralClustering(3, n_neighbors=5),
    baselines.GaussianMixture(3),
    baselines.SMCE(3),
    baselines.HNMF(3),
    baselines.FMS(3),
    baselines.FSFDPC(3),
]


def _expected_failures(estimator):
    noise = "FastICA does not converge on the check's uniform noise, and says so"
    if isinstance(estimator, baselines.ICAKMeans):
        return {"check_dtype_object": noise, "check_dict_unchanged": noise}
    if isinstance(estimator, baselines.HNMF):
        return {"check_clustering": "the check's data are negative, which HNMF refuses"}
    return {}


@pytest.mark.slow
@parametrize_with_checks(SKLEARN_CHECKED, expected_failed_checks=_expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_registry_has_the_papers_methods_in_its_order():
    assert method_names()[:14] == PAPER_ORDER
    assert method_names()[14:20] == LATER
    assert {*PAPER_ORDER, *LATER} >= STOCHASTIC


@pytest.mark.parametrize("name", [*PAPER_ORDER, *LATER])
def test_every_method_is_made_by_name_with_the_common_parameters(name):
    model = make_method(name, n_clusters=4, random_state=3)
    assert (model.n_clusters, model.random_state) == (4, 3)
    assert METHODS[name](n_clusters=4).get_params().keys() >= {"normalize"}


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(ParameterError, match=r"'kmeans' is not known.*k-means, pca, .*srdl"):
        make_method("kmeans")


class Stripes(Baseline):
    def __init__(self, n_clusters=2, *, normalize=None, random_state=None):
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.random_state = random_state

    def _cluster(self, X, n_clusters, seed):
        return np.arange(len(X)) % n_clusters


def test_a_new_method_joins(scene):
    register("stripes", Stripes)
    assert method_names()[-1] == "stripes"
    labels = make_method("stripes", n_clusters=3, random_state=0).fit_predict(scene)
    np.testing.assert_array_equal(labels.ravel(), np.arange(labels.size) % 3)


def test_register_refuses_what_cannot_work():
    with pytest.raises(ParameterError, match="there is a method 'sc' already"):
        register("sc", Stripes)
    register("sc", Stripes, replace=True)
    assert isinstance(make_method("sc"), Stripes)
    with pytest.raises(ParameterError, match="cannot be called"):
        register("new", 3)
    with pytest.raises(ParameterError, match="cannot name a method"):
        register(" ", Stripes)
    register("empty", dict)
    with pytest.raises(ParameterError, match="has no fit_predict"):
        make_method("empty")


def test_a_method_of_another_package_joins_through_its_entry_point(tmp_path, monkeypatch):
    (tmp_path / "other_package.py").write_text(
        "from spectrawalk.baselines import KMeans\nclass Mine(KMeans):\n    pass\n"
    )
    info = tmp_path / "other_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[spectrawalk.methods]\nmine = other_package:Mine\nbroken = no_such_module:Thing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert {"mine", "broken"} <= set(method_names())
    assert type(make_method("mine", n_clusters=2)).__name__ == "Mine"
    with pytest.raises(MissingDependencyError, match=r"'broken'.*cannot be loaded"):
        make_method("broken")
    sys.modules.pop("other_package")


def test_too_few_clusters_found_is_said():
    class OneCluster(Stripes):
        def _cluster(self, X, n_clusters, seed):
            return np.zeros(len(X), dtype=int)

    with pytest.raises(SpectrawalkError, match="OneCluster found 1 clusters but n_clusters=2"):
        OneCluster(2).fit(np.random.default_rng(0).uniform(size=(5, 5, 3)))
