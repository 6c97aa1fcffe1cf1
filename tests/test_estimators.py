"""The estimators' contract: shapes, masks, bad input, scikit-learn's own checks."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from spectrawalk import DL, DLSS, SRDL, Scene, progress
from spectrawalk.datasets import make_scene
from spectrawalk.errors import SpectrawalkError
from spectrawalk.estimators import STAGES
from spectrawalk.parameters import shown
from spectrawalk.srdl import modes
from spectrawalk.srdl.density import density_ranking


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

    @pytest.mark.parametrize("window", ["square", "disk"])
    def test_huge_radii_mean_the_whole_image(self, stripes, window):
        """They wrapped around in the kernels' 64 bits."""
        whole = max(stripes.shape) if window == "square" else 2 * max(stripes.shape)
        expected = small(radius=whole, window=window, consensus_radius=whole).fit(stripes)
        for huge in (2**31, 2**62, 2**63 - 1, 10**30, np.uint64(2**64 - 1)):
            found = small(radius=huge, window=window, consensus_radius=huge).fit(stripes)
            np.testing.assert_array_equal(found.labels_, expected.labels_, err_msg=str(huge))

    def test_integers_of_few_bits(self, stripes):
        few = {"radius": np.int8(100), "n_neighbors": np.int8(100), "density_neighbors": np.int8(5)}
        plain = {name: int(value) for name, value in few.items()}
        np.testing.assert_array_equal(
            small(**few).fit(stripes).labels_, small(**plain).fit(stripes).labels_
        )

    def test_masked_arrays(self, stripes):
        hidden = np.zeros(stripes.cube.shape, dtype=bool)
        hidden[4, 5, 2] = hidden[7:9, 20:, :] = True
        cube = np.ma.MaskedArray(np.where(hidden, np.nan, stripes.cube), mask=hidden)
        expected = small().fit(stripes, mask=~hidden.any(axis=2)).labels_
        np.testing.assert_array_equal(small().fit(cube).labels_, expected)
        table = small().fit(cube.reshape(-1, 20)).labels_
        np.testing.assert_array_equal(table == -1, (expected == -1).ravel())

    def test_self_tuning_scales_with_its_factor(self, scene):
        """A large factor leaves the graph as good as unweighted, whatever the scales were."""
        coordinates = [
            small(sigma=sigma, sigma_factor=factor).fit(scene).coordinates_
            for sigma, factor in (("self-tuning", 1.0), ("self-tuning", 1e6), (1e6, 1.0))
        ]
        np.testing.assert_allclose(coordinates[1], coordinates[2], atol=1e-6)
        assert np.abs(coordinates[0] - coordinates[2]).max() > 1e-3

    def test_the_densest_pixel_is_always_a_mode(self):
        """Also where rounding makes the D_t of two pixels equal; the labels start from it."""
        density = np.array([0.1026004685551504, 0.4855351387795877, 0.48553513877958776])
        model = DL(n_clusters=1).fit(np.eye(3))
        model.coordinates_ = np.array([[0.05], [0.0], [0.3]])
        model._ranking = density_ranking(density)
        model._parent, rho = modes.nearest_denser(model.coordinates_, model._ranking)
        model.density_, model.rho_ = density, rho
        assert (density * rho)[1] == (density * rho)[2]
        _, [mode] = model._label(1)
        assert mode == 2

    def test_stages_are_reported_in_order(self, scene):
        heard = []
        with progress.listen(lambda stage, done, total: heard.append(stage)):
            small().fit(scene)
        assert tuple(dict.fromkeys(heard)) == STAGES

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
            ({"radius": "best"}, "radius='best'"),
            ({"radius": "auto"}, "radius='auto' cannot be used; .*, or use SpectraWalk"),
            ({"time": "auto"}, "time='auto' cannot be used; .*, or use SpectraWalk"),
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
            ({"time": 10**400}, "time=1000"),
            ({"n_clusters": 10**5000}, "thousands of digits"),
            ({"radius": np.True_}, "radius="),
            ({"radius": np.float64(3)}, "radius="),
            ({"consensus_radius": 1.0}, "consensus_radius=1.0"),
            ({"density_bandwidth": float("nan")}, "density_bandwidth=nan"),
            ({"jitter": 1e308}, "jitter=1e\\+308"),
            ({"normalize": np.array([1, 2])}, "normalize=array"),
            ({"n_eigenpairs": np.array([2, 3])}, "n_eigenpairs=array"),
            ({"density_bandwidth": np.array([1.0, 2.0])}, "density_bandwidth=array"),
            ({"n_clusters": np.array([2, 3])}, "n_clusters=array"),
            ({"sigma": np.array([1.0, 2.0])}, "sigma=array"),
        ],
        ids=shown,
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

    @pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e200, 1e300])
    @pytest.mark.parametrize("kind", [SRDL, DL])
    def test_values_without_distances(self, scale, kind):
        with pytest.raises(SpectrawalkError, match="for float64"):
            kind(n_clusters=2, normalize=None).fit(self.cube.astype(float) * scale)
        for how in ("pixel", "global", "band"):
            expected = kind(n_clusters=2, normalize=how).fit(self.cube).labels_
            scaled = self.cube.astype(float) * scale
            found = kind(n_clusters=2, normalize=how).fit(scaled).labels_
            assert adjusted_rand_score(expected.ravel(), found.ravel()) == 1

    @pytest.mark.parametrize(
        "data",
        [None, {}, [], 3.0, [[1, 2], [1]], [[[1, 2], [1]]], (i for i in range(3))],
        ids=["None", "dict", "empty", "number", "ragged table", "ragged cube", "generator"],
    )
    def test_no_data_at_all(self, data):
        with pytest.raises(SpectrawalkError) as caught:
            SRDL().fit(data)
        assert "\n" not in str(caught.value)

    def test_sparse_tables(self):
        with pytest.raises(SpectrawalkError, match=r"[Ss]parse"):
            DL().fit(csr_array(self.cube.reshape(-1, 5)))

    def test_fewer_valid_pixels_than_clusters(self):
        mask = np.zeros((8, 9), dtype=bool)
        mask[2, 3:6] = True
        with pytest.raises(SpectrawalkError, match="n_clusters=4 but there are only 3 valid"):
            SRDL(n_clusters=4).fit(self.cube, mask=mask)
        assert SRDL(n_clusters=3).fit(self.cube, mask=mask).n_clusters_ == 3

    def test_too_many_parts(self):
        """Each would take an eigenvector as long as the image."""
        mask = np.zeros((500, 500), dtype=bool)
        mask[::3, ::3] = True
        cube = np.random.default_rng(0).uniform(size=(500, 500, 2))
        with pytest.raises(SpectrawalkError, match=r"27889 connected.*at most 358 .*'bridge'"):
            SRDL(n_clusters=3, radius=2, components="split").fit(cube, mask=mask)

    @pytest.mark.parametrize(
        "setting",
        [
            {"stage1": "bad"},
            {"open_parent": "bad"},
            {"own_vote": "bad"},
            {"consensus_radius": -1},
            {"max_clusters": 1},
        ],
        ids=str,
    )
    def test_relabel_checks_what_it_uses(self, setting):
        model = SRDL(n_clusters=2).fit(self.cube).set_params(**setting)
        with pytest.raises(SpectrawalkError, match=next(iter(setting))):
            model.relabel(3)

    @pytest.mark.parametrize("n_clusters", [0, 73, 10**5000, "many", 2.0, None], ids=shown)
    def test_relabel_for_impossible_numbers(self, n_clusters):
        model = SRDL(n_clusters=2).fit(self.cube)
        with pytest.raises(SpectrawalkError, match="n_clusters="):
            model.relabel(n_clusters)

    def test_a_failed_fit_leaves_the_model_as_it_was(self, tmp_path):
        model = SRDL(n_clusters=2, n_neighbors=10).fit(self.cube)
        before = vars(model).copy()
        model.set_params(time=1e9)  # only the last stage finds it too long
        with pytest.raises(SpectrawalkError, match="smaller time"):
            model.fit(self.cube[1:, 2:, :4])
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before if name != "time")
        fresh = SRDL(n_clusters=2, time=1e9)
        with pytest.raises(SpectrawalkError, match="smaller time"):
            fresh.fit(self.cube)
        assert not [name for name in vars(fresh) if name.endswith("_")]
        with pytest.raises(NotFittedError):
            fresh.save(tmp_path / "model.npz")

    def test_names_of_columns_do_not_outlive_their_table(self):
        table = pd.DataFrame(self.cube.reshape(-1, 5), columns=list("abcde"))
        model = DL(n_clusters=2).fit(table)
        assert list(model.feature_names_in_) == list("abcde")
        assert not hasattr(model.fit(self.cube), "feature_names_in_")

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


class TestPaperSettings:
    def test_kennedy_space_center(self):
        common = {"n_clusters": 4, "n_eigenpairs": 10, "symmetrize": None}
        own = {
            SRDL: {"radius": 20},
            DLSS: {"stage1": "most-frequent-first", "open_parent": "open", "own_vote": True},
            DL: {},
        }
        for kind, settings in own.items():
            assert (
                kind.from_paper("ksc-subset").get_params()
                == kind().get_params() | common | settings
            )

    def test_subclasses_have_their_parents_settings(self):
        class Mine(SRDL):
            pass

        model = Mine.from_paper("indian-pines-subset")
        assert type(model) is Mine
        assert model.get_params() == SRDL.from_paper("indian-pines-subset").get_params()
