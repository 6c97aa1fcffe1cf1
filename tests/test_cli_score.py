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
from spectrawalk.datasets import make_scene
from spectrawalk.io.envi_map import envi_map_files
from spectrawalk.io.geotiff_map import write_map
from spectrawalk.io.run_record import sha256_of
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


def test_errors_name_the_option_of_the_file_at_fault():
    scipy.io.savemat("several.mat", {"a": TRUTH, "b": LABELS})
    assert "choose one with --truth-variable." in refuse("labels.npy", "several.mat")
    assert "choose one with --map-variable." in refuse("several.mat", "truth.npy")
    told = refuse("labels.npy", "truth.npy", "--truth-variable", "x")
    assert "do not give --truth-variable." in told


class TestExchangedFiles:
    """Map and ground truth the wrong way round give low scores that nobody would doubt."""

    @pytest.fixture
    def scene(self):
        scene = make_scene((40, 40), n_bands=8, n_classes=4, random_state=0)
        sparse = np.random.default_rng(0).random((40, 40)) < 0.4
        return scene.ground_truth * sparse, scene.ground_truth % 4 + 1

    def warned(self, *files):
        result = run(*files)
        assert result.exit_code == 0, result.output
        assert json.loads(run(*files, "--json").stdout)["n_pixels"]
        return result.stderr

    @pytest.mark.parametrize("written", ["labels.tif", "map.hdr", "map.dat", "out/labels.npy"])
    def test_a_map_that_spectrawalk_wrote_is_no_ground_truth(self, scene, written):
        truth, labels = scene
        cluster_map = ClusterMap(labels - 1, 4, UTM, PLACE)
        write_map("labels.tif", cluster_map)
        for name, content in envi_map_files("map", cluster_map, "a map").items():
            Path(name).write_bytes(content)
        Path("out").mkdir()
        np.save("out/labels.npy", labels)
        record = {"outputs": {"labels.npy": sha256_of("out/labels.npy")}}
        Path("out/run.json").write_text(json.dumps(record))
        np.save("truth.npy", truth)
        assert self.warned(written, "truth.npy") == ""
        assert self.warned("truth.npy", written) == (
            f"Warning: '{written}' is a map of clusters that spectrawalk wrote, but stands second, "
            "where the ground truth belongs; exchange the two files.\n"
        )
        assert self.warned(written, written) == ""  # how far two maps agree is a fair question

    def test_a_file_that_only_has_the_name(self, scene):
        truth, labels = scene
        Path("out").mkdir()
        np.save("out/labels.npy", truth)
        np.save("map.npy", labels)
        for record in ('{"outputs": {"labels.npy": "0"}}', "[]", "no JSON", '{"outputs": 3}'):
            Path("out/run.json").write_text(record)
            assert self.warned("map.npy", "out/labels.npy") == ""

    def test_plain_arrays(self, scene):
        truth, labels = scene
        np.save("truth.npy", truth)
        np.save("map.npy", labels)
        assert self.warned("map.npy", "truth.npy") == ""
        known = int((truth > 0).sum())
        assert self.warned("truth.npy", "map.npy") == (
            f"Warning: {1600 - known:,} of 1,600 pixels with a class in 'map.npy' have no cluster "
            "in 'truth.npy' and count as wrong; if 'truth.npy' is the ground truth, exchange the "
            "two files, and OA is 1.000 in place of "
            f"{known / 1600:.3f}.\n"
        )

    def test_ordinary_input_brings_no_warning(self, scene):
        truth, labels = scene
        np.save("sparse.npy", truth)
        np.save("dense.npy", labels)
        few = labels.copy()
        few[:2] = 0  # some pixels without data
        np.save("few.npy", few)
        half = labels.copy()
        half[:20] = 0  # half of the scene was masked
        np.save("half.npy", half)
        random = np.random.default_rng(1).integers(1, 40, (40, 40))
        np.save("random.npy", random)
        for map_file in ("dense.npy", "few.npy", "half.npy", "random.npy"):
            assert self.warned(map_file, "sparse.npy") == "", map_file
        for map_file in ("dense.npy", "few.npy", "random.npy"):
            assert self.warned(map_file, "dense.npy") == "", map_file
