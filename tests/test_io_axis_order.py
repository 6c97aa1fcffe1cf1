"""Arrays whose bands come first, read as if they came last."""

import warnings

import numpy as np
import pytest
import scipy.io
from command_line import SMALL, run

from spectrawalk import read_scene
from spectrawalk.datasets import make_scene
from spectrawalk.errors import SceneWarning


@pytest.fixture(scope="module")
def cube():
    return make_scene((60, 60), n_bands=103, n_classes=4, random_state=0).cube


def warned(array, path="cube.npy", **options):
    np.save(path, array)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_scene(path, **options)
    return [str(each.message) for each in caught if each.category is SceneWarning]


class TestBandsFirst:
    def test_is_recognised(self, cube, here):
        assert warned(np.moveaxis(cube, 2, 0)) == [
            "'cube.npy' has the shape (103, 60, 60) and was read as 103 rows, 60 columns and 60 "
            "bands, but looks like 103 bands of 60 x 60 pixels; if it is, set bands_first."
        ]
        assert warned(np.moveaxis(cube, 2, 0), bands_first=True) == []

    def test_by_its_values_alone(self, cube, here):
        assert len(warned(np.moveaxis(cube[:40], 2, 0))) == 1
        assert len(warned(np.moveaxis(cube[:, :50], 2, 0), rows=slice(0, 20))) == 1

    def test_by_its_shape_where_values_say_nothing(self, here):
        assert len(warned(np.random.default_rng(0).random((103, 30, 30)))) == 1

    def test_whatever_else_is_in_the_values(self, cube, here):
        spoilt = np.moveaxis(cube, 2, 0).astype(float)
        spoilt[:, 3, 4] = np.nan
        spoilt[:, 5, 6] = -9999
        assert len(warned(spoilt * 1e300, nodata=-9999e300)) == 1

    def test_in_matlab_files(self, cube, here):
        scipy.io.savemat("cube.mat", {"cube": np.moveaxis(cube, 2, 0)})
        with pytest.warns(SceneWarning, match=r"103 bands of 60 x 60 pixels"):
            read_scene("cube.mat")

    def test_the_command_line_names_its_option(self, cube, here):
        np.save("cube.npy", np.moveaxis(cube, 2, 0)[:, :20, :20])
        result = run("cluster", "cube.npy", "-k", 2, "-o", "out", *SMALL)
        assert result.exit_code == 0, result.output
        assert result.stderr == (
            "Warning: 'cube.npy' has the shape (103, 20, 20) and was read as 103 rows, 20 columns "
            "and 20 bands, but looks like 103 bands of 20 x 20 pixels; if it is, set "
            "--bands-first.\n"
        )
        arguments = ["-k", 2, "-o", "again", "--bands-first", *SMALL]
        assert run("cluster", "cube.npy", *arguments).stderr == ""
        for command in (["inspect", "cube.npy"], ["convert", "cube.npy", "cube.tif"]):
            assert "set --bands-first.\n" in run(*command, "--quiet").stderr


class TestBandsLast:
    @pytest.mark.parametrize("shape", [(60, 60), (40, 60), (60, 20), (1, 60), (60, 1)])
    @pytest.mark.parametrize("n_bands", [103, 60, 40, 5])
    def test_scenes(self, here, shape, n_bands):
        for seed in range(3):
            scene = make_scene(shape, n_bands=n_bands, n_classes=3, random_state=seed)
            assert warned(scene.cube) == []

    def test_noise(self, here):
        rng = np.random.default_rng(0)
        for shape in [(6, 5, 4), (20, 16, 10), (30, 30, 103), (4, 40, 2)]:
            assert warned(rng.random(shape)) == []

    def test_bands_of_one_mean(self, cube, here):
        """As after a standardisation, which leaves no common spectrum."""
        plain = cube[:40].astype(float)
        assert warned((plain - plain.mean(axis=(0, 1))) / plain.std(axis=(0, 1))) == []

    def test_constant_values(self, here):
        assert warned(np.ones((7, 5, 3))) == []

    def test_a_published_scene(self, indian_pines_subset, here):
        assert warned(indian_pines_subset.cube) == []
        assert len(warned(np.moveaxis(indian_pines_subset.cube, 2, 0))) == 1

    @pytest.mark.scene
    def test_other_published_scenes(self, salinas_a, samson, here):
        for scene in (salinas_a, samson):
            assert warned(scene.cube) == []
            assert warned(scene.cube[:30, :50]) == []
            assert len(warned(np.moveaxis(scene.cube, 2, 0))) == 1
