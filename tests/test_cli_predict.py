"""``spectrawalk predict``, and how bands are matched."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from click.testing import CliRunner
from scipy.spatial.distance import cdist

from spectrawalk import SRDL, Scene
from spectrawalk.cli import main
from spectrawalk.errors import DataError
from spectrawalk.prepare.band_matching import match_bands
from spectrawalk.report.run_folder import run_files
from spectrawalk.results.palette import UNLIKE

WAVELENGTHS = np.linspace(450, 900, 10)


@pytest.fixture
def model(tmp_path, monkeypatch, cube):
    """A working folder with a model, model.npz."""
    monkeypatch.chdir(tmp_path)
    fitted = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5)
    fitted.fit(Scene(cube, wavelengths=WAVELENGTHS)).save("model.npz")
    return fitted


def write_geotiff(path, cube, wavelengths):
    rows, cols, bands = cube.shape
    with rasterio.open(
        path, "w", driver="GTiff", height=rows, width=cols, count=bands, dtype=cube.dtype,
        crs="EPSG:32616", transform=rasterio.Affine(30, 0, 5e5, 0, -30, 4e6),
    ) as raster:  # fmt: skip
        raster.write(np.moveaxis(cube, 2, 0))
        for band, wavelength in enumerate(wavelengths, start=1):
            raster.update_tags(band, wavelength=str(wavelength), wavelength_units="nm")


def run(*args):
    return CliRunner().invoke(main, ["predict", *map(str, args)])


def refuse(*args):
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_results_folder_stands_for_its_model(model, cube):
    write_geotiff("other.tif", cube, WAVELENGTHS)
    Path("fit").mkdir()
    Path("model.npz").rename("fit/model.npz")
    result = run("fit", "other.tif", "-o", "out", "--no-report")
    assert result.exit_code == 0, result.output
    record = json.loads(Path("out/run.json").read_bytes())
    assert Path(record["model"]["path"]) == Path("fit/model.npz").resolve()
    assert "fit" not in record["model"]  # nothing is known of the run
    Path("empty").mkdir()
    told = refuse("empty", "other.tif", "-o", "other")
    assert "'empty' has no model.npz; cluster it with --save-model" in told


def test_another_scene_is_labelled_and_the_unknown_left_out(model, cube):
    strange = cube.copy()
    strange[0, :5] = strange[0, :5, ::-1] ** 3
    write_geotiff("other.tif", strange, WAVELENGTHS)
    result = run("model.npz", "other.tif", "-o", "out")
    assert result.exit_code == 0, result.output
    expected = model.predict(strange)
    assert (expected[0, :5] == -1).all()
    unknown = (expected < 0).sum()
    assert f"{unknown} pixels of 320 are unlike any spectrum of the fit" in result.stdout
    with rasterio.open("out/labels.tif") as read:
        np.testing.assert_array_equal(read.read(1), np.where(expected < 0, 4, expected + 1))
        assert read.crs == rasterio.CRS.from_epsg(32616)
    assert {path.name for path in Path("out").iterdir()} == set(run_files(["report.html"]))
    result = json.loads(Path("out/run.json").read_bytes())["result"]
    assert (result["valid_pixels"], result["unlike_the_fit"]) == (320, unknown)
    assert result["sizes"] == np.bincount(expected[expected >= 0]).tolist()


def test_no_data_and_unlike_the_fit_are_two_entries_of_the_legend(model, cube):
    strange = cube.copy()
    strange[0, :5] = strange[0, :5, ::-1] ** 3
    strange[1] = 0  # no data
    write_geotiff("other.tif", strange, WAVELENGTHS)
    assert run("model.npz", "other.tif", "-o", "out", "--quiet").exit_code == 0
    with rasterio.open("out/labels.tif") as read:
        codes, nodata, colors = read.read(1), read.nodata, read.colormap(1)
    assert nodata == 0
    assert (codes[0, :5] == 4).all()
    assert (codes[1] == 0).all()
    assert colors[4][:3] == UNLIKE
    legend = Path("out/labels.tif.aux.xml").read_text()
    assert "<Category>unlike the fit</Category>" in legend
    assert 'label="unlike the fit"' in Path("out/labels.qml").read_text()
    assert "unlike the fit" in Path("out/labels_envi.hdr").read_text()
    page = Path("out/report.html").read_text()
    assert "unlike the fit" in page
    assert "Spectra of the clusters" in page


def test_a_prediction_has_a_margin_and_spectra(model, cube):
    noisy = cube + np.random.default_rng(0).normal(0, 0.003, cube.shape).astype(cube.dtype)
    write_geotiff("other.tif", noisy, WAVELENGTHS)
    assert run("model.npz", "other.tif", "-o", "out", "--quiet").exit_code == 0
    labels, margin = model.predict_with_margin(noisy)
    assert np.array_equal(labels, model.predict(noisy))
    with rasterio.open("out/margin.tif") as read:
        np.testing.assert_array_equal(read.read(1), margin)
    known = labels >= 0
    assert 0 <= margin[known].min() < margin[known].max() <= 1
    means = [noisy[labels == cluster].mean(axis=0, dtype=float) for cluster in range(3)]
    written = np.loadtxt("out/spectra.csv", delimiter=",", skiprows=1, ndmin=2)
    header = Path("out/spectra.csv").read_text().splitlines()[0].split(",")
    for cluster, mean in enumerate(means, start=1):
        column = header.index(f"cluster_{cluster}_mean")
        np.testing.assert_allclose(written[:, column], mean, rtol=1e-6)


def test_the_margin_is_that_to_the_nearest_other_cluster(model, cube):
    rng = np.random.default_rng(1)
    new = cube.reshape(-1, cube.shape[2])[rng.integers(320, size=50)].astype(float)
    new *= rng.normal(1, 0.02, new.shape)
    labels, margin = model.predict_with_margin(new.reshape(5, 10, -1))
    unit = lambda X: X / np.linalg.norm(X, axis=-1, keepdims=True)  # noqa: E731
    away = cdist(unit(new), unit(cube.reshape(-1, cube.shape[2]).astype(float)))
    fitted = model.labels_.ravel()
    nearest = np.array([away[:, fitted == cluster].min(axis=1) for cluster in range(3)])
    first, second, _ = np.sort(nearest, axis=0)
    expected = np.where(labels.ravel() >= 0, 1 - first / second, 0)
    np.testing.assert_allclose(margin.ravel(), expected, atol=1e-4)


def test_bands_are_matched_by_wavelength(model, cube):
    more = np.concatenate([cube[..., ::-1], np.ones((20, 16, 2), dtype=cube.dtype)], axis=2)
    write_geotiff("other.tif", more, [*(WAVELENGTHS[::-1] + 3), 1500, 1600])
    told = run("model.npz", "other.tif", "-o", "out", "--quiet", "--json")
    assert told.exit_code == 0, told.output
    np.testing.assert_array_equal(np.load("out/labels.npy"), model.predict(cube) + 1)
    assert json.loads(told.stdout)["command"] == "predict"


def test_a_scene_without_wavelengths_needs_as_many_bands(model, cube):
    np.save("same.npy", cube)
    assert run("model.npz", "same.npy", "-o", "out", "--quiet").exit_code == 0
    np.save("fewer.npy", cube[..., :8])
    told = refuse("model.npz", "fewer.npy", "-o", "no", "--quiet")
    assert "has 8 bands and the model was fitted to 10" in told
    assert "bands are matched by their count, which must be the same" in told
    help_text = " ".join(run("--help").stdout.split())
    assert "matched by wavelength, or by their count where wavelengths are not known" in help_text
    assert not Path("no").exists()


def test_a_scene_of_another_sensor_is_refused(model, cube):
    write_geotiff("other.tif", cube, WAVELENGTHS + 26)
    told = refuse("model.npz", "other.tif", "-o", "no", "--quiet")
    assert "no band for 1 of the model's 10, such as 450.0 nm" in told


def test_what_is_no_model_is_refused(model, cube):
    np.save("same.npy", cube)
    assert "model" in refuse("same.npy", "same.npy", "-o", "no")
    assert "missing.npz" in refuse("missing.npz", "same.npy", "-o", "no")
    Path("out").mkdir()
    Path("out/labels.tif").write_text("precious")
    assert "already holds labels.tif" in refuse("model.npz", "same.npy", "-o", "out")
    assert Path("out/labels.tif").read_text() == "precious"


def test_matching_asks_for_half_the_spacing():
    scene = Scene(np.ones((1, 1, 3)), wavelengths=[500, 524, 576])
    with pytest.raises(DataError, match=r"550\.0 nm, where its nearest is at 524\.0 nm"):
        match_bands(scene, 2, np.array([500.0, 550.0]))
    np.testing.assert_array_equal(match_bands(scene, 2, np.array([500.0, 560.0])), [0, 2])
    np.testing.assert_array_equal(match_bands(scene, 1, np.array([2000.0])), [2])
