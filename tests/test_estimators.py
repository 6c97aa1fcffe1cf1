"""The estimators' contract: shapes, masks, invariances, bad input, scikit-learn's own checks."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import spectrawalk
from spectrawalk import DL, DLSS, SRDL, Scene
from spectrawalk.datasets import make_scene
from spectrawalk.errors import SpectrawalkError


@parametrize_with_checks([SRDL(), DLSS(), DL(), SRDL(n_clusters=3, symmetrize=None)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def scene():
    return make_scene((30, 26), n_bands=30, n_classes=4, random_state=7)


@pytest.fixture(scope="module")
def stripes():
    """Three stripes of one material each, with noise: there is one right answer."""
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], 10)[None, :] * np.ones((24, 1), dtype=int)
    materials = rng.uniform(0.2, 1, (4, 20))
    return Scene(materials[truth] + rng.normal(scale=0.005, size=(24, 30, 20)), ground_truth=truth)


@pytest.fixture(scope="module")
def fitted(scene):
    return SRDL(n_clusters=4, n_eigenpairs=8).fit(scene)


def small(**options):
    return SRDL(**{"n_clusters": 3, "n_neighbors": 20, "n_eigenpairs": 6, **options})


class TestResults:
    def test_shapes(self, fitted):
        assert fitted.labels_.shape == (30, 26)
        assert fitted.coordinates_.shape == (30, 26, 8)
        assert fitted.eigenvalues_.shape == (8,)
        for image in (fitted.density_, fitted.rho_, fitted.mode_score_):
            assert image.shape == (30, 26)
            assert np.isfinite(image).all()
        assert fitted.density_.sum() == pytest.approx(1)
        np.testing.assert_allclose(fitted.mode_score_, fitted.density_ * fitted.rho_)

    def test_clusters_are_numbered_by_size_and_modes_with_them(self, fitted):
        sizes = np.bincount(fitted.labels_.ravel())
        assert len(sizes) == fitted.n_clusters_ == 4
        assert (np.diff(sizes) <= 0).all()
        np.testing.assert_array_equal(fitted.labels_.flat[fitted.modes_], range(4))
        largest = np.argsort(-fitted.mode_score_.ravel())[:4]
        assert set(fitted.modes_) == set(largest)

    def test_relabel_is_what_a_new_fit_would_give(self, fitted, scene):
        before = fitted.labels_.copy()
        for n_clusters in (1, 2, 6):
            again = SRDL(n_clusters=n_clusters, n_eigenpairs=8).fit(scene)
            np.testing.assert_array_equal(fitted.relabel(n_clusters), again.labels_)
        automatic = SRDL(n_eigenpairs=8).fit(scene)
        np.testing.assert_array_equal(fitted.relabel("auto"), automatic.labels_)
        np.testing.assert_array_equal(fitted.labels_, before)
        assert fitted.n_clusters_ == 4

    def test_cube_scene_and_mask_agree(self, scene):
        mask = np.ones(scene.shape, dtype=bool)
        mask[5:9, 3:20] = False
        cube = scene.cube.astype(float)
        cube[~mask] = np.nan
        by_argument = small().fit(cube, mask=mask)
        by_scene = small().fit(Scene(cube, mask=mask))
        np.testing.assert_array_equal(by_argument.labels_, by_scene.labels_)
        np.testing.assert_array_equal(by_argument.labels_ == -1, ~mask)
        for image in (by_scene.density_, by_scene.rho_, by_scene.mode_score_):
            np.testing.assert_array_equal(np.isnan(image), ~mask)
        assert mask.flat[by_scene.modes_].all()

    def test_a_table_has_no_space(self, scene):
        table = scene.cube.reshape(-1, scene.n_bands)
        labels = [
            kind(n_clusters=3, n_eigenpairs=6).fit(table).labels_ for kind in (SRDL, DLSS, DL)
        ]
        assert labels[0].shape == (len(table),)
        np.testing.assert_array_equal(labels[0], labels[1])
        np.testing.assert_array_equal(labels[0], labels[2])
        image = DL(n_clusters=3, n_eigenpairs=6).fit(scene).labels_
        np.testing.assert_array_equal(labels[0], image.ravel())

    def test_srdl_without_a_window_is_dlss(self, scene):
        np.testing.assert_array_equal(
            SRDL(n_clusters=3, radius=None, n_eigenpairs=6).fit(scene).labels_,
            DLSS(n_clusters=3, n_eigenpairs=6).fit(scene).labels_,
        )

    def test_a_window_that_holds_the_image_is_none(self, scene):
        graph = {"n_clusters": 3, "n_eigenpairs": 6}
        np.testing.assert_array_equal(
            SRDL(radius=30, **graph).fit(scene).labels_,
            SRDL(radius=None, **graph).fit(scene).labels_,
        )

    @pytest.mark.parametrize(
        "options",
        [
            {"window": "disk"},
            {"sigma": "mean", "sigma_factor": 3.0},
            {"sigma": "self-tuning"},
            {"symmetrize": None},
            {"components": "split"},
            {"stage1": "majority"},
            {"stage1": "most-frequent-first", "open_parent": "open", "own_vote": True},
            {"normalize": "global"},
            {"normalize": "band"},
            {"normalize": None},
            {"jitter": 0.001},
            {"density_bandwidth": 0.05},
            {"time": 2.5},
            {"consensus_radius": 0},
            {"n_eigenpairs": "auto"},
            {"radius": 100},
        ],
        ids=str,
    )
    def test_every_reading_finds_the_regions(self, stripes, options):
        model = small(n_clusters=3, **options).fit(stripes)
        truth = stripes.ground_truth.ravel()
        assert len(set(truth[model.modes_])) == 3
        # The consensus of the denser stripe reaches over its border, so this is not 1.
        assert adjusted_rand_score(truth, model.labels_.ravel()) > 0.4

    def test_disconnected_graph_is_no_error(self):
        rng = np.random.default_rng(0)
        cube = rng.normal(size=(12, 40, 5)) * 0.01 + 1
        cube[:, 20:] += np.arange(5)
        mask = np.ones((12, 40), dtype=bool)
        mask[:, 18:22] = False
        for components in ("bridge", "split"):
            model = small(n_clusters=2, radius=2, components=components).fit(cube, mask=mask)
            assert model.n_components_ == 2
            truth = np.where(np.arange(40) < 20, 0, 1) * np.ones((12, 1))
            assert adjusted_rand_score(truth[mask], model.labels_[mask]) == 1


class TestInvariance:
    def test_threads_and_runs(self, tmp_path):
        """The same bytes on 1 and 2 threads, and in a new process."""
        code = (
            "import numba, numpy as np, sys; numba.set_num_threads(int(sys.argv[1]));"
            "from spectrawalk import SRDL, DLSS;"
            "from spectrawalk.datasets import make_scene;"
            "scene = make_scene((40, 40), n_bands=40, random_state=3);"
            "fits = [SRDL().fit(scene), DLSS(n_clusters=4, symmetrize=None).fit(scene)];"
            "sys.stdout.buffer.write(b''.join("
            "a.tobytes() for f in fits for a in (f.labels_, f.mode_score_, f.coordinates_)))"
        )
        outputs = []
        for threads in ("1", "2"):
            environment = os.environ | {
                "NUMBA_NUM_THREADS": "2",
                "OPENBLAS_NUM_THREADS": threads,
                "OMP_NUM_THREADS": threads,
            }
            done = subprocess.run(
                [sys.executable, "-c", code, threads],
                capture_output=True,
                env=environment,
                check=True,
            )
            outputs.append(done.stdout)
        assert len(outputs[0]) > 10_000
        assert outputs[0] == outputs[1]

    @pytest.mark.parametrize("seed", range(10))
    def test_seeds_do_not_matter_without_jitter(self, seed):
        scene = make_scene((20, 20), n_bands=20, random_state=seed)
        model = small(random_state=seed).fit(scene)
        threads = numba.get_num_threads()
        try:
            numba.set_num_threads(1)
            again = small(random_state=None).fit(scene)
        finally:
            numba.set_num_threads(threads)
        assert model.labels_.tobytes() == again.labels_.tobytes()

    def test_jitter_depends_on_the_seed_alone(self, scene):
        densities = [
            small(jitter=0.01, random_state=seed).fit(scene).density_ for seed in (1, 1, 2)
        ]
        np.testing.assert_array_equal(densities[0], densities[1])
        assert (densities[0] != densities[2]).any()

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("window", ["square", "disk"])
    def test_flips_and_rotations(self, seed, window):
        cube = make_scene((22, 17), n_bands=20, random_state=seed).cube
        expected = small(window=window).fit(cube).labels_
        for turns in range(4):
            for flip in (False, True):
                turned = np.rot90(cube, turns)
                turned = turned[:, ::-1] if flip else turned
                labels = small(window=window).fit(np.ascontiguousarray(turned)).labels_
                labels = labels[:, ::-1] if flip else labels
                labels = np.rot90(labels, -turns)
                assert adjusted_rand_score(expected.ravel(), labels.ravel()) == 1

    @pytest.mark.parametrize("kind", [SRDL, DLSS, DL])
    def test_a_border_without_data_changes_nothing(self, scene, kind):
        model = kind(n_clusters=3, n_eigenpairs=6).fit(scene)
        padded = np.pad(scene.cube, ((3, 1), (0, 5), (0, 0)), constant_values=np.nan)
        mask = np.pad(scene.mask, ((3, 1), (0, 5)))
        again = kind(n_clusters=3, n_eigenpairs=6).fit(padded, mask=mask)
        np.testing.assert_array_equal(again.labels_[3:-1, :-5], model.labels_)
        np.testing.assert_array_equal(again.density_[3:-1, :-5], model.density_)


class TestBadInput:
    """One clear sentence each, from errors.py."""

    cube = make_scene((8, 9), n_bands=5, n_classes=2, region_size=4).cube

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_clusters": 0}, "n_clusters=0"),
            ({"n_clusters": 2.5}, "n_clusters=2.5"),
            ({"n_clusters": "many"}, "'auto'"),
            ({"n_clusters": 73}, "only 72 valid pixels"),
            ({"radius": 0}, "radius=0 .* at least 1"),
            ({"radius": 1.5}, "radius=1.5"),
            ({"n_neighbors": 0}, "n_neighbors=0"),
            ({"sigma": 0}, "sigma=0 .* above 0"),
            ({"sigma": -1.0}, "sigma=-1.0"),
            ({"sigma": float("nan")}, "sigma=nan"),
            ({"sigma": "median"}, "'self-tuning'"),
            ({"sigma": 1e-9}, "underflow"),
            ({"time": 0}, "time=0"),
            ({"n_eigenpairs": 1}, "n_eigenpairs=1"),
            ({"density_neighbors": 0}, "density_neighbors=0"),
            ({"density_bandwidth": 0}, "density_bandwidth=0"),
            ({"density_bandwidth": 1e-12}, "density_bandwidth=1e-12"),
            ({"consensus_radius": -1}, "consensus_radius=-1"),
            ({"normalize": "unit"}, "normalize='unit'"),
            ({"symmetrize": True}, "symmetrize=True"),
            ({"window": "round"}, "window='round'"),
            ({"components": "keep"}, "components='keep'"),
            ({"stage1": "all"}, "stage1='all'"),
            ({"open_parent": "closed"}, "open_parent='closed'"),
            ({"own_vote": "yes"}, "own_vote='yes'"),
            ({"jitter": -0.1}, "jitter=-0.1"),
            ({"max_clusters": 1}, "max_clusters=1"),
            ({"random_state": "x"}, "random_state='x'"),
            ({"time": 1e9}, "smaller time"),
        ],
        ids=str,
    )
    def test_parameters(self, options, message):
        with pytest.raises(SpectrawalkError, match=message) as caught:
            SRDL(**options).fit(self.cube)
        assert isinstance(caught.value, ValueError)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("cube", "message"),
        [
            (np.zeros((2, 3, 4, 5)), "4 dimensions"),
            (np.zeros((0, 3, 4)), "empty"),
            (np.zeros((3, 3, 0)), "no band"),
            (np.arange(9.0).reshape(3, 3, 1), "single band"),
            (np.ones((3, 3, 4)), "same spectrum"),
            (np.zeros((3, 3, 4)), "same spectrum"),
            (np.ones((1, 1, 4)), "only one valid pixel"),
            (np.full((3, 3, 4), "a"), "real numbers"),
            (np.full((3, 3, 4), 1j), "real numbers"),
            (np.full((3, 3, 4), np.nan), "9 of 9 valid pixels"),
            (np.where(np.arange(36).reshape(3, 3, 4) == 7, np.inf, 1.0), "1 of 9 valid pixels"),
        ],
        ids=str,
    )
    def test_cubes(self, cube, message):
        for kind in (SRDL, DLSS, DL):
            with pytest.raises(SpectrawalkError, match=message):
                kind(n_clusters=2).fit(cube)

    def test_too_many_eigenpairs(self):
        """They would take all memory and never end; a few pixels may have all of theirs."""
        cube = np.random.default_rng(0).uniform(size=(300, 300, 2))
        with pytest.raises(SpectrawalkError, match="give at most 200"):
            SRDL(n_eigenpairs=100_000).fit(cube)
        assert SRDL(n_clusters=2, n_eigenpairs=100_000).fit(self.cube).coordinates_.shape[2] == 72

    def test_raw_values_underflow(self, indian_pines_subset):
        with pytest.raises(SpectrawalkError, match=r"underflow.*sigma"):
            SRDL(n_clusters=3, normalize=None).fit(indian_pines_subset)

    def test_a_file_name_is_not_data(self):
        with pytest.raises(SpectrawalkError, match="read_scene"):
            SRDL().fit("scene.mat")

    def test_masks(self):
        with pytest.raises(SpectrawalkError, match=r"\(3, 3\).*\(8, 9\)"):
            SRDL().fit(self.cube, mask=np.ones((3, 3)))
        with pytest.raises(SpectrawalkError, match="all 72 are masked"):
            SRDL().fit(self.cube, mask=np.zeros((8, 9)))
        with pytest.raises(SpectrawalkError, match="other than 0 and 1"):
            SRDL().fit(self.cube, mask=np.full((8, 9), 255))

    def test_constant_after_scaling(self):
        cube = np.linspace(1, 2, 12).reshape(3, 4, 1) * np.array([1.0, 2, 3])
        with pytest.raises(SpectrawalkError, match="same spectrum after normalize='pixel'"):
            SRDL(n_clusters=2).fit(cube)
        SRDL(n_clusters=2, normalize="global").fit(cube)

    def test_two_pixels(self):
        assert SRDL(n_clusters=2).fit(np.array([[[1.0, 2], [2, 1]]])).labels_.tolist() == [[0, 1]]

    def test_few_distinct_spectra(self):
        cube = np.ones((6, 6, 3))
        cube[:, 3:] = [1, 2, 3]
        labels = SRDL(n_clusters=2, n_neighbors=10).fit(cube).labels_
        assert set(np.unique(labels)) == {0, 1}
        assert labels[0, 0] != labels[0, 5]

    def test_paper_scene_names(self):
        with pytest.raises(SpectrawalkError, match="'salinas-a'"):
            SRDL.from_paper("pavia")


class TestSavedModels:
    def test_round_trip(self, fitted, scene, tmp_path):
        path = tmp_path / "model.npz"
        fitted.save(path)
        loaded = spectrawalk.load(path)
        assert type(loaded) is SRDL
        assert loaded.get_params() == fitted.get_params()
        for name, value in vars(fitted).items():
            np.testing.assert_array_equal(getattr(loaded, name), value)
        np.testing.assert_array_equal(loaded.relabel(6), fitted.relabel(6))
        np.testing.assert_array_equal(SRDL.load(path).labels_, fitted.labels_)
        assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]

    def test_table_and_other_classes(self, scene, tmp_path):
        model = DL(n_clusters=2).fit(scene.cube.reshape(-1, scene.n_bands)[:200])
        model.save(tmp_path / "dl.npz")
        loaded = DL.load(tmp_path / "dl.npz")
        np.testing.assert_array_equal(loaded.relabel(3), model.relabel(3))
        with pytest.raises(SpectrawalkError, match="holds a DL model, not SRDL"):
            SRDL.load(tmp_path / "dl.npz")

    def test_bad_files(self, fitted, tmp_path):
        with pytest.raises(SpectrawalkError, match="no model file"):
            SRDL.load(tmp_path / "none.npz")
        np.savez(tmp_path / "other.npz", a=np.ones(3))
        with pytest.raises(SpectrawalkError, match="not a saved spectrawalk model"):
            SRDL.load(tmp_path / "other.npz")
        fitted.save(tmp_path / "model.npz")
        whole = (tmp_path / "model.npz").read_bytes()
        for length in (0, 10, len(whole) // 2, len(whole) - 5):
            (tmp_path / "cut.npz").write_bytes(whole[:length])
            with pytest.raises(SpectrawalkError, match=r"cut\.npz"):
                SRDL.load(tmp_path / "cut.npz")

    def test_unfitted_models_have_nothing_to_save(self, tmp_path):
        from sklearn.exceptions import NotFittedError

        with pytest.raises(NotFittedError):
            SRDL().save(tmp_path / "model.npz")
        with pytest.raises(NotFittedError):
            SRDL().relabel(2)
