"""Mean spectra of the clusters and the files they are written to."""

import csv
import re

import numpy as np
import pytest
from command_line import SMALL, run

from spectrawalk import Scene
from spectrawalk.errors import DataError
from spectrawalk.io.cluster_spectra import spectra_csv, spectral_library_files
from spectrawalk.results.spectra import cluster_spectra


def table_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class TestValuesNearTheLimits:
    @pytest.mark.parametrize("factor", [1e300, 1.5e308, -1.5e308, 1e-300])
    def test_mean_and_deviation_are_those_of_small_values(self, factor):
        cube = np.random.default_rng(0).uniform(-1, 1, (9, 8, 4))
        cube[..., 0] = np.abs(cube[..., 0])  # so that the mean is near the limit, too
        labels = np.arange(72).reshape(9, 8) % 3
        expected = np.array(cluster_spectra(Scene(cube), labels))
        found = np.array(cluster_spectra(Scene(cube * factor), labels))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[:, 0] / factor, expected[:, 0], rtol=1e-12)
        np.testing.assert_allclose(found[:, 1] / abs(factor), expected[:, 1], rtol=1e-12)

    def test_ordinary_values_are_summed_as_ever(self):
        cube = np.random.default_rng(1).normal(size=(9, 8, 4))
        cube[..., 2] *= 1e250  # one band does not change the others
        labels = np.zeros((9, 8), dtype=int)
        [spectrum] = cluster_spectra(Scene(cube), labels)
        [others] = cluster_spectra(Scene(cube[..., [0, 1, 3]]), labels)
        np.testing.assert_array_equal(spectrum.mean[[0, 1, 3]], others.mean)
        np.testing.assert_array_equal(spectrum.deviation[[0, 1, 3]], others.deviation)

    @pytest.mark.parametrize("value", [1e39, -1e300, 1e-300])
    def test_a_library_that_cannot_hold_the_values_is_refused(self, value):
        scene = Scene(np.full((2, 2, 3), value))
        spectra = cluster_spectra(scene, np.zeros((2, 2), dtype=int))
        with pytest.raises(
            DataError, match=re.escape(f"{value:.3g}") + ".*32-bit numbers of an ENVI spectral"
        ):
            spectral_library_files("spectra", scene, spectra)
        assert f"{value}".encode() in spectra_csv(scene, spectra)

    def test_zeros_are_no_small_values(self):
        scene = Scene(np.zeros((2, 2, 3)))
        spectra = cluster_spectra(scene, np.zeros((2, 2), dtype=int))
        assert spectral_library_files("spectra", scene, spectra)["spectra.sli"] == bytes(12)

    def test_the_command_says_what_it_left_out(self, cube, here):
        np.save("huge.npy", cube.astype(float) * 1e300)
        result = run("cluster", "huge.npy", "-k", 3, "-o", "out", *SMALL)
        assert result.exit_code == 0, result.output
        rows = table_of("out/spectra.csv")
        values = [float(row[key]) for row in rows for key in row if key != "band"]
        assert np.isfinite(values).all()
        assert max(values) > 1e299
        assert "spectra.sli was left out" in " ".join(result.stdout.split())
        assert not (here / "out/spectra.sli").exists()
