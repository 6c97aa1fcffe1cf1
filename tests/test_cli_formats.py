"""``spectrawalk cluster`` from file to map: formats, swaths, masks."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from click.testing import CliRunner
from command_line import LOUD, SMALL
from product_files import (
    write_emit,
    write_envi,
    write_geotiff,
    write_v5,
    write_v73,
    write_zarr,
)

from spectrawalk.cli import main
from spectrawalk.datasets import make_scene
from spectrawalk.estimators import load
from spectrawalk.results.certainty import mode_margin

SIX = {
    "envi": lambda cube: write_envi(Path("field.img"), cube),
    "geotiff": lambda cube: write_geotiff(Path("field.tif"), cube),
    "mat-v5": lambda cube: write_v5(Path("field.mat"), cube=cube),
    "mat-v7.3": lambda cube: write_v73(Path("field73.mat"), cube=cube),
    "zarr": lambda cube: write_zarr(Path("field.zarr"), cube),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cluster(*args):
    result = CliRunner().invoke(main, ["cluster", *map(str, args)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_six_formats_give_the_same_labels(indian_pines_subset):
    cube = indian_pines_subset.cube[:30]
    options = ["-k", 3, "--no-preparation", "--quiet", "--no-report"]
    np.save("field.npy", cube)
    cluster("field.npy", "-o", "npy", *options)
    expected = Path("npy/labels.npy").read_bytes()
    pixels = json.loads(Path("npy/run.json").read_bytes())["pixels_sha256"]
    for name, write in SIX.items():
        cluster(write(cube), "-o", name, *options)
        assert Path(name, "labels.npy").read_bytes() == expected, name
        assert json.loads(Path(name, "run.json").read_bytes())["pixels_sha256"] == pixels, name
        with rasterio.open(Path(name, "labels_envi.dat")) as read:
            np.testing.assert_array_equal(read.read(1), np.load("npy/labels.npy"))


def test_a_repeated_run_finds_files_in_a_folder_too():
    cube = make_scene(shape=(20, 16), n_bands=6, n_classes=3, random_state=0).cube
    path = write_zarr(Path("field.zarr"), cube)
    cluster(path, "-k", 3, "-o", "out", *SMALL)
    again = ["--from-record", "out/run.json", "--quiet", "--no-report"]
    cluster(*again, "-o", "again")
    assert Path("again/labels.tif").read_bytes() == Path("out/labels.tif").read_bytes()
    write_zarr(Path("other.zarr"), cube + 1)
    result = CliRunner().invoke(main, ["cluster", "other.zarr", *again, "-o", "no"])
    assert result.exit_code == 2
    assert "'other.zarr' is not the file of the record" in result.stderr


def test_labels_of_an_emit_scene_are_laid_out_on_its_map():
    cube = make_scene(shape=(20, 16), n_bands=6, n_classes=3, random_state=0).cube
    write_emit(Path("emit.nc"), cube.astype(np.float32))
    told = cluster("emit.nc", "-k", 3, "-o", "out", "--save-model", *LOUD)
    assert "labels.npy and labels.png are in the geometry of the sensor" in told
    labels = np.load("out/labels.npy")
    assert labels.shape == (20, 16)
    with rasterio.open("out/labels.tif") as read:
        on_map = read.read(1)
        assert read.crs == rasterio.CRS.from_epsg(4326)
        assert tuple(read.transform)[:6] == (0.0005, 0, 10, 0, -0.0005, 45)
    assert on_map.shape == (21, 17)
    np.testing.assert_array_equal(on_map[1:, 1:], labels[::-1])
    assert not on_map[0].any()
    assert not on_map[:, 0].any()
    model = load("out/model.npz")
    with rasterio.open("out/margin.tif") as read:
        margin = read.read(1)
    expected = mode_margin(model.coordinates_, model.modes_).image[::-1]
    np.testing.assert_array_equal(margin[1:, 1:], expected)
    assert np.isnan(margin[0]).all()


def test_polygons_say_where_to_look():
    cube = make_scene(shape=(20, 16), n_bands=6, n_classes=3, random_state=0).cube
    write_geotiff(Path("field.tif"), cube)
    corners = [(0, 0), (300, 0), (300, -600), (0, -600), (0, 0)]  # metres, from the upper left
    ring = [[500_000.0 + x, 4_000_000.0 + y] for x, y in corners]
    polygon = {"type": "Polygon", "coordinates": [ring]}
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32633"}}
    Path("west.geojson").write_text(json.dumps(polygon | {"crs": crs}))
    told = cluster("field.tif", "--mask", "west.geojson", "-k", 2, "-o", "out", *LOUD)
    assert "200 pixels to cluster" in told
    labels = np.load("out/labels.npy")
    assert labels[:, :10].all()
    assert not labels[:, 10:].any()
