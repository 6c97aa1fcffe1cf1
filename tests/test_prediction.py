"""Labels for other images from a fit."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

from spectrawalk import DL, SRDL, Scene, progress, threads
from spectrawalk.errors import SpectrawalkError
from spectrawalk.estimators import prediction
from spectrawalk.estimators.catalogue import Catalogue, Lookup, distinct_spectra
from spectrawalk.estimators.prediction import FittedSpectra
from spectrawalk.prepare.scaling import Scaling, normalize_spectra

MATERIALS = np.random.default_rng(1).uniform(0.2, 1, (4, 20))


def stripes(seed, width=10, materials=(0, 1, 2)):
    """Stripes of one material each, with noise, and the material of each pixel."""
    truth = np.repeat(materials, width)[None, :] * np.ones((16, 1), dtype=int)
    noise = np.random.default_rng(seed).normal(scale=0.005, size=(*truth.shape, 20))
    return MATERIALS[truth] + noise, truth


@pytest.fixture(scope="module")
def model():
    return DL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(stripes(0)[0])


def material_of(model):
    """Material of each cluster."""
    return stripes(0)[1].ravel()[model.modes_]


class TestLabels:
    def test_the_same_materials_elsewhere(self, model):
        cube, truth = stripes(1, width=7, materials=(2, 0, 1, 0))
        labels = model.predict(cube)
        known = labels >= 0
        assert known.mean() > 0.9
        np.testing.assert_array_equal(material_of(model)[labels[known]], truth[known])
        np.testing.assert_array_equal(model.predict(cube.reshape(-1, 20)), labels.ravel())

    def test_what_the_fit_has_not_seen(self, model):
        cube, truth = stripes(1, materials=(0, 3, 1))
        labels = model.predict(cube)
        assert (labels[truth == 3] == -1).all()
        assert (labels[truth != 3] >= 0).mean() > 0.9

    def test_masks(self, model):
        cube, _ = stripes(1)
        expected = model.predict(cube)
        cube[3, 4] = np.nan
        mask = np.isfinite(cube).all(axis=2)
        for labels in (
            model.predict(cube, mask=mask),
            model.predict(Scene(cube, mask=mask)),
            model.predict(np.ma.masked_invalid(cube)),
        ):
            np.testing.assert_array_equal(labels, np.where(mask, expected, -1))
        assert (model.predict(cube, mask=np.zeros_like(mask)) == -1).all()

    @pytest.mark.parametrize("normalize", ["global", "band", None])
    def test_brightness_is_measured_as_in_the_fit(self, normalize):
        cube, _ = stripes(0)
        model = DL(n_clusters=3, n_neighbors=20, n_eigenpairs=5, normalize=normalize).fit(cube)
        np.testing.assert_array_equal(model.predict(cube[:3, :5]), model.labels_[:3, :5])
        assert (model.predict(3 * cube) == -1).all()

    def test_brightness_does_not_matter_to_unit_spectra(self, model):
        cube, _ = stripes(0)
        np.testing.assert_array_equal(model.predict(4 * cube), model.predict(cube))

    def test_later_settings_do_not_change_the_scaling(self, model):
        cube, _ = stripes(1)
        expected = model.predict(cube)
        other = DL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(stripes(0)[0])
        np.testing.assert_array_equal(other.set_params(normalize=None).predict(cube), expected)

    @pytest.mark.parametrize("scale", [1e-130, 1e130])
    def test_values_beyond_float32(self, scale):
        cube, _ = stripes(0)
        model = DL(n_clusters=3, n_neighbors=20, normalize=None, sigma="mean", sigma_factor=9.0)
        model.fit(cube * scale)
        np.testing.assert_array_equal(model.predict(cube * scale), model.labels_)
        assert (model.predict(cube * scale * 1e100) == -1).all()

    def test_small_differences_far_from_zero(self):
        cube, _ = stripes(0)
        model = DL(n_clusters=3, n_neighbors=20, normalize=None).fit(cube + 1e6)
        np.testing.assert_array_equal(model.predict(cube + 1e6), model.labels_)

    def test_identical_spectra_get_their_most_frequent_label(self):
        spectra = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1], [0, 1]])
        fitted = FittedSpectra.of(spectra, Scaling.of(spectra, None), reach=0.1)
        labels = fitted.labels_for(spectra, np.array([1, 0, 1, 1, 0], dtype=np.int32))
        assert labels.tolist() == [1, 1, 1, 0, 0]

    def test_progress_is_reported(self, model, monkeypatch):
        monkeypatch.setattr(prediction, "_NEW", 100)
        heard = []
        with progress.listen(lambda *report: heard.append(report)):
            labels = model.predict(stripes(1)[0])
        assert heard[0] == ("prediction", 0, 5)
        assert heard[-1] == ("prediction", 5, 5)
        monkeypatch.undo()
        np.testing.assert_array_equal(labels, model.predict(stripes(1)[0]))


@pytest.mark.parametrize("duplicates", [False, True])
def test_the_nearest_spectrum_is_exact(duplicates):
    rng = np.random.default_rng(0)
    known = rng.normal(size=(600, 12)) + 5
    if duplicates:
        known[::2] = known[1::2] + rng.normal(scale=1e-9, size=(300, 12))
    new = np.concatenate([known[:200], rng.normal(size=(200, 12)) + 5])
    fitted = FittedSpectra.of(known, Scaling.of(known, None), reach=np.inf)
    found = fitted.labels_for(new, np.arange(600, dtype=np.int32))
    distance, _ = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(known).kneighbors(new)
    np.testing.assert_allclose(
        np.linalg.norm(new - known[found], axis=1), distance.ravel(), atol=1e-6
    )


class TestNodesThatArePassedOver:
    """A new spectrum looked up alone has a box without extent: whole nodes are too far away."""

    @pytest.mark.parametrize("bands", [2, 3, 20])
    def test_none_holds_a_nearer_spectrum(self, bands):
        rng = np.random.default_rng(bands)
        known = rng.normal(size=(3000, bands)).astype(np.float32)
        labels = rng.integers(3, size=3000).astype(np.int32)
        distinct, label_of = distinct_spectra(known, labels)
        catalogue = Catalogue(known, labels)
        for new in rng.normal(size=(40, bands)).astype(np.float32):
            exact = np.linalg.norm(distinct.astype(float) - new, axis=1)
            number, distance = Lookup(catalogue, new[None]).nearest()
            assert number == exact.argmin()
            np.testing.assert_allclose(distance, exact.min(), rtol=1e-12)
            other = np.where(label_of == label_of[number], np.inf, exact)
            second, _ = Lookup(catalogue, new[None]).nearest(other_than=label_of[number])
            assert second == other.argmin()

    def test_nor_one_at_the_limit(self):
        known = np.stack([np.arange(1000), np.zeros(1000)], axis=1).astype(np.float32)
        catalogue = Catalogue(known, np.zeros(1000, dtype=np.int32))
        new = np.array([[-4, 0]], dtype=np.float32)
        assert Lookup(catalogue, new).nearest(limit=4.0)[1] == 4
        assert Lookup(catalogue, new).nearest(limit=2.0)[1] > 2


class TestMargin:
    def fitted(self, reach=np.inf):
        spectra = np.array([[0.0, 0], [0, 1], [4, 0], [0, 9]])
        fitted = FittedSpectra.of(spectra, Scaling.of(spectra, None), reach=reach)
        return fitted, np.array([0, 0, 1, 2], dtype=np.int32)

    def test_nearest_over_nearest_of_another_cluster(self):
        fitted, labels = self.fitted()
        new = np.array([[1.0, 0], [2, 0], [4, 0], [3, 0], [0, 5]])
        found, margin = fitted.labels_and_margin(new, labels)
        assert found[[0, 2, 3]].tolist() == [0, 1, 1]
        np.testing.assert_allclose(margin, [1 - 1 / 3, 0, 1, 1 - 1 / 3, 0], atol=1e-6)

    def test_unknown_spectra_have_none(self):
        fitted, labels = self.fitted(reach=1.5)
        new = np.array([[1.0, 0], [2, 0], [1e30, 0], [np.inf, 0]])
        found, margin = fitted.labels_and_margin(new, labels)
        assert found.tolist() == [0, -1, -1, -1]
        np.testing.assert_allclose(margin, [1 - 1 / 3, 0, 0, 0], atol=1e-6)

    def test_a_single_cluster_leaves_no_doubt(self):
        fitted, labels = self.fitted()
        found, margin = fitted.labels_and_margin(np.ones((3, 2)), 0 * labels)
        assert found.tolist() == [0, 0, 0]
        assert margin.tolist() == [1, 1, 1]

    @pytest.mark.parametrize("number", [1, 2, 5])
    def test_agrees_with_brute_force_on_any_number_of_threads(self, number, model):
        cube, _ = stripes(1, materials=(0, 1, 2, 1))
        fitted, labels = model._fitted_spectra, model.labels_.ravel()
        with threads.limit(number):
            found, margin = fitted.labels_and_margin(cube.reshape(-1, 20), labels)
        np.testing.assert_array_equal(found, model.predict(cube).ravel())
        new = (fitted.scaling.apply(cube.reshape(-1, 20)) - fitted.centre) / fitted.unit
        distance = np.linalg.norm(new[:, None] - fitted.spectra, axis=2)
        other = np.where(labels != found[:, None], distance, np.inf).min(axis=1)
        expected = np.where(found >= 0, 1 - distance.min(axis=1) / other, 0)
        np.testing.assert_allclose(margin, expected, atol=1e-5)
        assert 0 <= margin.min() < margin.max() <= 1

    def test_plain_labels_do_not_pay_for_it(self, monkeypatch):
        asked = []
        nearest = prediction.Lookup.nearest
        monkeypatch.setattr(
            prediction.Lookup,
            "nearest",
            lambda self, *given, **named: asked.append(named) or nearest(self, *given, **named),
        )
        fitted, labels = self.fitted(reach=2.0)
        fitted.labels_for(np.ones((3, 2)), labels)
        assert asked == [{"limit": pytest.approx(2.0 / fitted.unit, rel=1e-5)}]


class TestTheFittedImageItself:
    """The consensus may give identical spectra two labels; all others keep theirs."""

    def test_indian_pines(self, indian_pines_subset):
        model = SRDL(n_clusters=3, n_eigenpairs=10).fit(indian_pines_subset)
        np.testing.assert_array_equal(model.predict(indian_pines_subset), model.labels_)

    @pytest.mark.scene
    def test_salinas_a(self, salinas_a):
        """A third of its spectra occur more than once."""
        model = SRDL(n_clusters=6, radius=20, n_eigenpairs=6).fit(salinas_a)
        labels = model.predict(salinas_a)
        valid = model.labels_ >= 0
        assert (labels[valid] >= 0).all()
        differ = labels[valid] != model.labels_[valid]
        assert np.mean(differ) < 0.02
        spectra = normalize_spectra(salinas_a.cube[valid].astype(float), "pixel")
        _, kind, count = np.unique(
            spectra.astype(np.float32), axis=0, return_inverse=True, return_counts=True
        )
        assert (count[kind[differ]] > 1).all()


class TestBadInput:
    def test_unfitted(self):
        with pytest.raises(NotFittedError):
            SRDL().predict(stripes(0)[0])

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (np.ones((3, 4, 19)), "19 bands but the model was fitted to 20"),
            (np.ones((3, 19)), "19 features.* expecting 20"),
            (np.full((3, 4, 20), np.nan), "12 of 12 valid pixels"),
            (np.ones((2, 3, 4, 20)), "4 dimensions"),
            ("scene.mat", "read_scene"),
        ],
        ids=["bands", "columns", "NaN", "4-D", "name"],
    )
    def test_data(self, model, data, message):
        with pytest.raises(SpectrawalkError, match=message):
            model.predict(data)
