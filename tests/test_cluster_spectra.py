"""Mean spectra of the clusters and the files they are written to."""

import csv
import re

import numpy as np
import pytest
from command_line import LOUD, SMALL, run

from spectrawalk import Scene, read_scene
from spectrawalk.errors import DataError
from spectrawalk.io.cluster_spectra import spectra_csv, spectral_library_files
from spectrawalk.prepare.bands import prepare_scene
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
        result = run("cluster", "huge.npy", "-k", 3, "-o", "out", *LOUD)
        assert result.exit_code == 0, result.output
        rows = table_of("out/spectra.csv")
        values = [float(row[key]) for row in rows for key in row if key != "band"]
        assert np.isfinite(values).all()
        assert max(values) > 1e299
        assert "spectra.sli was not written" in " ".join(result.stdout.split())
        assert not (here / "out/spectra.sli").exists()


class TestNumbersOfBands:
    def test_are_those_of_the_file(self, tmp_path):
        np.save(tmp_path / "field.npy", np.random.default_rng(0).random((4, 5, 9)))
        scene = read_scene(tmp_path / "field.npy", bands=[1, 3, 4, 5, 8])
        assert scene.band_numbers.tolist() == [2, 4, 5, 6, 9]
        scene, _ = prepare_scene(scene, bands=[0, 2, 4])
        assert scene.crop(slice(0, 3), slice(1, 4)).band_numbers.tolist() == [2, 5, 9]
        spectra = cluster_spectra(scene, np.zeros((4, 5), dtype=int))
        rows = spectra_csv(scene, spectra).decode().splitlines()
        assert [row.partition(",")[0] for row in rows] == ["band", "2", "5", "9"]
        header = spectral_library_files("spectra", scene, spectra)["spectra.hdr"].decode()
        assert "band names = {band 2, band 5, band 9}\n" in header

    def test_names_of_the_file_come_first(self):
        scene = Scene(np.ones((2, 2, 3)), band_names=("red", "green", "blue")).select_bands([2, 0])
        spectra = cluster_spectra(scene, np.zeros((2, 2), dtype=int))
        header = spectral_library_files("spectra", scene, spectra)["spectra.hdr"].decode()
        assert "band names = {blue, red}\n" in header

    def test_with_wavelengths_they_are_not_needed(self):
        scene = Scene(np.ones((2, 2, 3)), wavelengths=[450, 550, 650])
        spectra = cluster_spectra(scene, np.zeros((2, 2), dtype=int))
        assert b"band names" not in spectral_library_files("s", scene, spectra)["s.hdr"]

    def test_a_run_without_the_water_bands(self, cube, here):
        np.save("field.npy", cube)
        (here / "field.hdr").write_text(
            "ENVI\nsamples = 16\nlines = 20\nbands = 10\ndata type = 4\ninterleave = bip\n"
            "byte order = 0\nwavelength units = nm\n"
            "wavelength = {500, 700, 900, 1100, 1400, 1500, 1600, 1900, 2100, 2200}\n"
        )
        cube.astype("<f4").tofile("field.img")
        assert run("cluster", "field.hdr", "-k", 3, "-o", "out", *SMALL).exit_code == 0
        rows = table_of("out/spectra.csv")
        assert [int(row["band"]) for row in rows] == [1, 2, 3, 4, 6, 7, 9, 10]
        assert [float(row["wavelength_nm"]) for row in rows][3:5] == [1100, 1500]

    @pytest.mark.parametrize("numbers", [[1, 2], [0, 1, 2], [1.5, 2, 3]])
    def test_one_for_each_band(self, numbers):
        with pytest.raises(DataError, match="band_numbers"):
            Scene(np.ones((2, 2, 3)), band_numbers=numbers)
