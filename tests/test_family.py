"""M-SRDL, D-VIC and S2DL: known answers, dense renderings, contract, bad input."""

import dense_family as dense
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import spectrawalk
from spectrawalk import DL, DVIC, MSRDL, S2DL, SRDL, Scene, load, progress, score, threads
from spectrawalk.datasets import make_scene
from spectrawalk.errors import FileError, SpectrawalkError
from spectrawalk.estimators.s2dl import stand_ins

FAMILY = [MSRDL, DVIC, S2DL]


@parametrize_with_checks([MSRDL(), DVIC(), S2DL()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def scene():
    return make_scene((20, 25), n_bands=12, n_classes=3, region_size=8, random_state=5)


def same(found, expected):
    return adjusted_rand_score(np.ravel(expected), np.ravel(found)) == 1


def nested(rng, per_cluster=150):
    """Four Gaussian clusters in two pairs: both 2 and 4 are right."""
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 4.0], [1.0, 4.0]])
    fine = np.repeat(np.arange(4), per_cluster)
    return centers[fine] + rng.normal(scale=0.13, size=(len(fine), 2)), fine


def mixtures(rng, n=500, noise=1e-4):
    """Three materials; most pixels are mixed, the first 60 are pure."""
    materials = rng.uniform(0.1, 1, (3, 30))
    abundances = rng.dirichlet(np.full(3, 1.0), size=n)
    material = np.repeat(np.arange(3), 20)
    abundances[:60] = np.eye(3)[material]
    cube = abundances @ materials + rng.normal(scale=noise, size=(n, 30))
    return cube.reshape(20, n // 20, 30), material, abundances, materials


class TestKnownAnswers:
    @pytest.mark.parametrize("seed", range(3))
    def test_both_levels_of_nested_clusters_are_among_the_times(self, seed):
        X, fine = nested(np.random.default_rng(seed))
        model = MSRDL(normalize=None, n_neighbors=20, n_eigenpairs=10).fit(X)
        levels = {2: fine // 2, 4: fine}
        for K, truth in levels.items():
            at = np.flatnonzero(model.n_clusters_per_time_ == K)
            assert len(at) > 0
            best = max(adjusted_rand_score(truth, model.labels_per_time_[place]) for place in at)
            assert best > 0.97
        # Coarse structure outlasts fine structure.
        fours = model.times_[model.n_clusters_per_time_ == 4]
        twos = model.times_[model.n_clusters_per_time_ == 2]
        assert fours.max() < twos.max()
        assert model.n_clusters_ in (2, 4)

    @pytest.mark.parametrize("seed", range(4))
    def test_modes_fall_on_pure_pixels(self, seed):
        cube, material, _, materials = mixtures(np.random.default_rng(seed))
        model = DVIC(n_clusters=3, n_neighbors=30, n_eigenpairs=8).fit(cube)
        assert model.n_endmembers_ == 3
        assert (model.purity_.ravel()[:60] > 0.99).all()
        assert (model.modes_ < 60).all()
        assert set(material[model.modes_]) == {0, 1, 2}
        nearest = np.linalg.norm(model.endmembers_[:, None] - materials, axis=2).min(axis=1)
        assert nearest.max() < 0.01

    def test_abundances_are_those_of_the_mixtures(self):
        cube, _, expected, materials = mixtures(np.random.default_rng(0))
        model = DVIC(n_clusters=3).fit(cube)
        order = np.linalg.norm(materials[:, None] - model.endmembers_, axis=2).argmin(axis=1)
        found = model.abundances_.reshape(-1, 3)[:, order]
        np.testing.assert_allclose(found, expected, atol=0.01)
        np.testing.assert_allclose(model.purity_, model.abundances_.max(axis=2))

    @pytest.mark.parametrize("seed", range(4))
    def test_large_homogeneous_regions(self, seed):
        """Each of four fields is one cluster, to the pixel, in spite of noise."""
        rng = np.random.default_rng(seed)
        truth = np.kron([[0, 1], [2, 3]], np.ones((20, 20), dtype=int))
        cube = rng.uniform(0.2, 1, (4, 25))[truth] + rng.normal(scale=0.02, size=(40, 40, 25))
        model = S2DL(n_clusters=4).fit(cube)
        assert same(model.labels_, truth)
        assert same(S2DL(n_clusters=4, radius=None, n_superpixels=60).fit(cube).labels_, truth)

    def test_the_family_on_indian_pines(self, indian_pines_subset):
        """With the number of classes given; the figures are those of this implementation."""
        found = {
            kind: score(
                indian_pines_subset.ground_truth,
                kind(n_clusters=3).fit(indian_pines_subset).labels_,
            ).oa
            for kind in FAMILY
        }
        assert found[MSRDL] > 0.85
        assert found[S2DL] > 0.75
        assert found[DVIC] > 0.65


class TestDenseRenderings:
    """500 pixels; the dense renderings use nothing of the package."""

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("n_clusters", ["auto", 3])
    def test_msrdl(self, seed, n_clusters):
        cube = make_scene((20, 25), n_bands=12, n_classes=3, region_size=8, random_state=seed).cube
        model = MSRDL(n_clusters, radius=6, n_neighbors=40, n_eigenpairs=8).fit(cube)
        labels, times, numbers, time = dense.msrdl(
            cube, radius=6, k=40, M=8, k_p=20, consensus=3,
            n_clusters=None if n_clusters == "auto" else n_clusters,
        )  # fmt: skip
        np.testing.assert_array_equal(model.times_, times)
        np.testing.assert_array_equal(model.n_clusters_per_time_, numbers)
        assert model.time_ == time
        assert same(model.labels_, labels)

    @pytest.mark.parametrize("seed", range(3))
    def test_dvic(self, seed):
        cube, _, _, _ = mixtures(np.random.default_rng(seed))
        model = DVIC(4, n_neighbors=30, n_eigenpairs=8).fit(cube)
        labels, modes, purity = dense.dvic(
            cube, model.endmembers_, k=30, M=8, k_p=20, time=30, n_clusters=4
        )
        np.testing.assert_allclose(model.purity_.ravel(), purity, atol=1e-9)
        assert set(model.modes_) == set(modes)
        assert same(model.labels_, labels)

    @pytest.mark.parametrize("seed", range(3))
    def test_s2dl(self, seed):
        cube = make_scene((20, 25), n_bands=12, n_classes=3, region_size=8, random_state=seed).cube
        model = S2DL(3, n_superpixels=30, n_representatives=8, radius=9, n_neighbors=30)
        model.set_params(n_eigenpairs=8).fit(cube)
        labels = dense.s2dl(
            cube, model.superpixels_.ravel(), representatives=8, radius=9, k=30, M=8, k_p=20,
            time=30, n_clusters=3,
        )  # fmt: skip
        assert same(model.labels_, labels)


class TestMSRDL:
    def test_a_time_of_its_own_is_srdl(self, scene):
        several = MSRDL(3, n_eigenpairs=6, times=[5, 30, 200.0]).fit(scene)
        assert several.times_.tolist() == [5, 30, 200]
        for place, time in enumerate(several.times_):
            single = SRDL(3, n_eigenpairs=6, time=time).fit(scene)
            np.testing.assert_array_equal(several.labels_per_time_[place], single.labels_)
            if time == several.time_:
                np.testing.assert_array_equal(several.mode_score_, single.mode_score_)
                np.testing.assert_array_equal(several.modes_, single.modes_)
        assert several.time == several.time_
        np.testing.assert_array_equal(
            several.labels_, several.labels_per_time_[several.times_ == several.time_][0]
        )

    def test_times_without_clusters_do_not_count(self):
        X, _ = nested(np.random.default_rng(0))
        model = MSRDL(normalize=None, n_neighbors=20, n_eigenpairs=10).fit(X)
        trivial = model.n_clusters_per_time_ == 1
        np.testing.assert_array_equal(np.isnan(model.total_variation_), trivial)
        assert np.nanargmin(model.total_variation_) == np.flatnonzero(model.times_ == model.time_)

    def test_no_structure_at_all_gives_two_clusters_or_more(self):
        X = np.random.default_rng(3).normal(size=(60, 3))
        assert MSRDL(normalize=None).fit(X).n_clusters_ >= 2

    def test_a_denser_grid(self, scene):
        coarse, fine = (MSRDL(3, n_eigenpairs=6, time_ratio=r).fit(scene) for r in (4.0, 2.0))
        assert set(coarse.times_[:-1]) <= set(fine.times_)
        soon = MSRDL(3, n_eigenpairs=6, stationarity=0.1).fit(scene)
        assert soon.times_[-1] < fine.times_[-1]

    def test_one_bar_for_all_times(self, scene):
        heard = []
        with progress.listen(lambda stage, done, total: heard.append(stage)):
            MSRDL(3, n_eigenpairs=6).fit(scene)
        stages = list(dict.fromkeys(heard))
        assert stages.index("times") == stages.index("density") + 1
        assert heard.count("labels") < 10


class TestS2DL:
    def test_pixels_stand_in_their_superpixels(self, scene):
        model = S2DL(3, n_superpixels=20, n_representatives=6).fit(scene)
        region, chosen = model.superpixels_, model.representatives_
        assert model.n_superpixels_ == 20
        counts = np.bincount(region.ravel())
        np.testing.assert_array_equal(np.bincount(region[chosen]), np.minimum(counts, 6))
        for each in range(20):
            own = model.density_[(region == each) & chosen]
            others = model.density_[(region == each) & ~chosen]
            assert not others.size or own.min() >= others.max()
        assert (model.mode_score_[~chosen] == 0).all()
        assert chosen.flat[model.modes_].all()

    def test_superpixels_are_whole_but_for_modes(self, scene):
        model = S2DL(4, n_superpixels=20).fit(scene)
        region, labels = model.superpixels_.ravel(), model.labels_.ravel()
        free = np.setdiff1d(np.arange(labels.size), model.modes_)
        for each in range(20):
            assert len(set(labels[free][region[free] == each])) <= 1
        np.testing.assert_array_equal(labels[model.modes_], range(4))

    def test_masked_islands(self, scene):
        mask = np.ones(scene.shape, dtype=bool)
        mask[:, 12] = mask[10] = False
        model = S2DL(3, n_superpixels=2).fit(scene, mask=mask)
        assert model.n_superpixels_ == 4
        np.testing.assert_array_equal(model.labels_ == -1, ~mask)

    def test_the_path_to_the_mode(self, scene):
        model = S2DL(3).fit(scene)
        pixel = int(np.flatnonzero(~model.representatives_)[0])
        path = model.path_to_mode(pixel)
        assert path[0] == pixel
        assert path[-1] in model.modes_
        assert model.representatives_.flat[path[1:]].all()

    def test_relabelling_is_what_a_new_fit_would_give(self, scene):
        model = S2DL(3, n_eigenpairs=8).fit(scene)
        moved = model.with_labelling(n_clusters=4, time=60, n_eigenpairs=6)
        again = S2DL(4, n_eigenpairs=6, time=60).fit(scene)
        np.testing.assert_array_equal(moved.labels_, again.labels_)
        np.testing.assert_allclose(moved.mode_score_, again.mode_score_, atol=1e-12)

    def test_ties_between_representatives_go_to_the_denser_order(self):
        X = np.array([[0.0], [1.0], [1.0], [0.2]])
        found = stand_ins(X, np.array([0, 0, 1, 1], np.int32), np.array([2, 0, 1, 3]), 1)
        assert found.tolist() == [0, 0, 2, 2]


class TestAllOfThem:
    def test_a_table_has_no_space(self, scene):
        table = scene.cube.reshape(-1, scene.n_bands)
        for kind in FAMILY:
            assert kind(n_clusters=3).fit(table).labels_.shape == (len(table),)
        np.testing.assert_array_equal(
            DVIC(n_clusters=3).fit(scene).labels_.ravel(), DVIC(n_clusters=3).fit(table).labels_
        )
        np.testing.assert_array_equal(
            S2DL(n_clusters=3).fit(table).labels_, DL(n_clusters=3).fit(table).labels_
        )

    @pytest.mark.parametrize("kind", FAMILY)
    def test_cube_scene_and_mask_agree(self, kind, scene):
        mask = np.ones(scene.shape, dtype=bool)
        mask[5:9, 3:14] = False
        cube = scene.cube.astype(float)
        cube[~mask] = np.nan
        by_argument = kind(n_clusters=3).fit(cube, mask=mask)
        by_scene = kind(n_clusters=3).fit(Scene(cube, mask=mask))
        np.testing.assert_array_equal(by_argument.labels_, by_scene.labels_)
        np.testing.assert_array_equal(by_argument.labels_ == -1, ~mask)
        for image in (by_scene.density_, by_scene.rho_, by_scene.mode_score_):
            np.testing.assert_array_equal(np.isnan(image), ~mask)

    @pytest.mark.parametrize("kind", FAMILY)
    def test_one_two_and_five_threads(self, kind):
        scene = make_scene((40, 40), n_bands=40, random_state=3)
        outputs = []
        for number in (1, 2, 5):
            with threads.limit(number):
                fit = kind(n_clusters=4).fit(scene)
            outputs.append(fit.labels_.tobytes() + fit.mode_score_.tobytes())
        assert outputs[0] == outputs[1] == outputs[2]

    @pytest.mark.parametrize("kind", FAMILY)
    def test_saved_models_come_back(self, kind, scene, tmp_path):
        mask = np.ones(scene.shape, dtype=bool)
        mask[3:5, 2:9] = False
        model = kind(n_clusters=3).fit(scene, mask=mask)
        model.save(tmp_path / "model.npz")
        loaded = load(tmp_path / "model.npz")
        assert type(loaded) is kind
        assert vars(loaded).keys() == vars(model).keys()
        for name, value in vars(model).items():
            if name != "_fitted_spectra":
                np.testing.assert_array_equal(getattr(loaded, name), value, err_msg=name)
        np.testing.assert_array_equal(loaded.relabel(5), model.relabel(5))
        np.testing.assert_array_equal(loaded.predict(scene), model.predict(scene))

    @pytest.mark.parametrize(
        ("kind", "spoil", "message"),
        [
            (MSRDL, {"times_": lambda a: a[::-1]}, "times_ does not rise"),
            (MSRDL, {"time_": lambda a: a + 0.5}, "time_ is none of its times"),
            (MSRDL, {"labels_per_time_": lambda a: a + 9}, "labels_per_time_ holds other"),
            (DVIC, {"abundances_": lambda a: a + 2}, "abundances_ holds no fractions"),
            (DVIC, {"purity_": lambda a: a / 2}, "purity_ is not the largest"),
            (DVIC, {"n_endmembers_": lambda a: a + 1}, "n_endmembers_ is another"),
            (S2DL, {"_stand_in": lambda a: a + 10**9}, "_stand_in points outside"),
            (S2DL, {"_stand_in": lambda a: np.roll(a, 1)}, "_stand_in points to no"),
            (S2DL, {"superpixels_": lambda a: a * 0 - 1}, "superpixels_ holds numbers"),
            (S2DL, {"superpixels_": lambda a: a[:, ::-1]}, "_stand_in leads out"),
        ],
    )
    def test_damaged_models(self, kind, spoil, message, scene, tmp_path):
        kind(n_clusters=3).fit(scene).save(tmp_path / "model.npz")
        with np.load(tmp_path / "model.npz") as file:
            arrays = dict(file)
        for name, change in spoil.items():
            arrays[name] = np.asarray(change(arrays[name]), dtype=arrays[name].dtype)
        np.savez(tmp_path / "model.npz", **arrays)
        with pytest.raises(FileError, match=message):
            load(tmp_path / "model.npz")

    def test_times_that_are_given_are_saved(self, scene, tmp_path):
        MSRDL(3, times=(4, np.float64(30))).fit(scene).save(tmp_path / "model.npz")
        assert load(tmp_path / "model.npz").times == [4, 30.0]

    @pytest.mark.parametrize("kind", FAMILY)
    def test_no_settings_of_a_paper_that_does_not_have_them(self, kind):
        assert not hasattr(kind, "from_paper")
        assert hasattr(spectrawalk, kind.__name__)

    @pytest.mark.parametrize("kind", FAMILY)
    def test_the_forecast_is_above_that_of_a_run(self, kind):
        settings = {"n_clusters": 3} if kind is DVIC else {"n_clusters": 3, "radius": 8}
        plain = (DL(3) if kind is DVIC else SRDL(3)).forecast(100_000, 200)
        found = kind(**settings).forecast(100_000, 200)
        assert found.memory >= plain.memory
        assert found.seconds >= plain.seconds


class TestBadInput:
    cube = make_scene((8, 9), n_bands=5, n_classes=2, region_size=4).cube

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (MSRDL(times="all"), "times='all' cannot be used; give 'auto' or a list"),
            (MSRDL(times=[]), r"times=\[\]"),
            (MSRDL(times=[1, 0]), "times=0"),
            (MSRDL(times=3), "times=3"),
            (MSRDL(time_ratio=1.0), "time_ratio=1.0 .* above 1.01"),
            (MSRDL(time_ratio=float("nan")), "time_ratio=nan"),
            (MSRDL(stationarity=0), "stationarity=0"),
            (MSRDL(n_clusters=40, times=[1e9]), "n_clusters=40 but at none of the 1 diffusion"),
            (MSRDL(radius="auto"), "radius='auto' cannot be used; give M-SRDL"),
            (DVIC(n_endmembers=1), "n_endmembers=1 .* at least 2, or 'auto'"),
            (DVIC(n_endmembers=9), "n_endmembers=9 but the spectra span only 5 dimensions"),
            (DVIC(time="auto"), "time='auto' cannot be used; give D-VIC"),
            (S2DL(n_superpixels=0), "n_superpixels=0"),
            (S2DL(n_superpixels="many"), "n_superpixels='many'"),
            (S2DL(n_representatives=0), "n_representatives=0"),
            (S2DL(time=-1), "time=-1"),
            (S2DL(n_clusters=73), "only 72 valid pixels"),
        ],
        ids=str,
    )
    def test_parameters(self, model, message):
        with pytest.raises(SpectrawalkError, match=message) as caught:
            model.fit(self.cube)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("kind", FAMILY)
    @pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e300])
    def test_very_large_and_very_small_values(self, kind, scale):
        expected = kind(n_clusters=2).fit(self.cube).labels_
        assert same(kind(n_clusters=2).fit(self.cube.astype(float) * scale).labels_, expected)

    @pytest.mark.parametrize("kind", FAMILY)
    def test_two_pixels(self, kind):
        labels = kind(n_clusters=2).fit(np.array([[[1.0, 2], [2, 1]]])).labels_
        assert labels.tolist() == [[0, 1]]

    @pytest.mark.parametrize("kind", FAMILY)
    def test_few_distinct_spectra(self, kind):
        cube = np.ones((6, 6, 3))
        cube[:, 3:] = [1, 2, 3]
        labels = kind(n_clusters=2, n_neighbors=10).fit(cube).labels_
        assert labels[0, 0] != labels[0, 5]
