"""``spectrawalk score``."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
import scipy.io
from click.testing import CliRunner

from spectrawalk import score
from spectrawalk.cli import main
from spectrawalk.io.geotiff_map import write_map
from spectrawalk.results.cluster_map import ClusterMap

UTM = rasterio.CRS.from_epsg(32616).to_wkt()
PLACE = (30.0, 0.0, 5e5, 0.0, -30.0, 4e6)

TRUTH = np.array([[1, 1, 1, 4], [4, 4, 0, 0], [7, 1, 4, 4]])
LABELS = np.array([[2, 2, 0, 1], [1, 1, 1, 2], [2, 2, 1, 2]])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("labels.npy", LABELS.astype(np.uint8))
    np.save("truth.npy", TRUTH)


def run(*args):
    return CliRunner().invoke(main, ["score", *map(str, args)])


def refuse(*args):
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_the_scores_are_those_of_the_library():
    expected = score(TRUTH, LABELS, no_label=0)
    told = json.loads(run("labels.npy", "truth.npy", "--json").stdout)
    assert told["oa"] == expected.oa
    assert told["matching"] == {"1": 4, "2": 1}
    for name in ("aa", "kappa", "nmi", "ari", "purity", "n_pixels"):
        assert told[name] == getattr(expected, name)
    assert told["classes"] == [
        {"class": 1, "name": None, "pixels": 4, "cluster": 2, "recall": 3 / 4, "precision": 3 / 5},
        {"class": 4, "name": None, "pixels": 5, "cluster": 1, "recall": 4 / 5, "precision": 1.0},
        {"class": 7, "name": None, "pixels": 1, "cluster": None, "recall": 0.0, "precision": 0.0},
    ]


def test_a_table_for_people():
    out = run("labels.npy", "truth.npy").stdout
    assert "OA 0.700" in out
    lines = [line.replace("│", " ").split() for line in out.splitlines()]
    assert ["4", "5", "1", "0.800", "1.000"] in lines
    assert ["7", "1", "-", "-", "-"] in lines


def test_rasters_and_matlab_files_are_read_alike():
    expected = run("labels.npy", "truth.npy", "--json").stdout
    write_map("labels.tif", ClusterMap(LABELS - 1, 2, UTM, PLACE))
    scipy.io.savemat("truth.mat", {"gt": TRUTH, "other": TRUTH * 2})
    assert run("labels.tif", "truth.npy", "--json").stdout == expected
    told = run("labels.npy", "truth.mat", "--truth-variable", "gt", "--json")
    assert told.stdout == expected


@pytest.mark.scene
def test_the_truth_of_a_published_scene_has_names():
    np.save("labels.npy", np.ones((50, 25), dtype=np.uint8))
    result = run("labels.npy", "indian-pines-subset")
    assert result.exit_code == 0, result.output
    assert "3 Corn-mintill" in result.stdout


def test_maps_that_do_not_fit_are_refused():
    np.save("small.npy", TRUTH[:2])
    assert "'labels.npy' is 3 x 4 pixels and 'small.npy' is 2 x 4" in refuse(
        "labels.npy", "small.npy"
    )
    write_map("here.tif", ClusterMap(LABELS - 1, 2, UTM, PLACE))
    write_map("there.tif", ClusterMap(LABELS - 1, 2, UTM, (30.0, 0, 6e5, 0, -30.0, 4e6)))
    assert "different places" in refuse("here.tif", "there.tif")
    other = rasterio.CRS.from_epsg(32617).to_wkt()
    write_map("there.tif", ClusterMap(LABELS - 1, 2, other, PLACE))
    assert "different places" in refuse("here.tif", "there.tif")
    np.save("empty.npy", np.zeros_like(TRUTH))
    assert "nothing to score" in refuse("labels.npy", "empty.npy")
    assert "missing.npy" in refuse("labels.npy", "missing.npy")
    Path("text.npy").write_text("no array")
    assert "text.npy" in refuse("text.npy", "truth.npy")
