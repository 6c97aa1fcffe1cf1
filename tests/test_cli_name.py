"""``spectrawalk name``: names for clusters from spectral libraries."""

import csv
import json
import shutil

import numpy as np
import pytest
from command_line import assert_one_line_error, run

from spectrawalk import read_scene
from spectrawalk.io import write_scene
from spectrawalk.io.run_record import sha256_of
from spectrawalk.report.file_names import RECORD, RESULTS
from spectrawalk.scene import Scene

BANDS = np.arange(420.0, 2400, 40)
MATERIALS = {
    "rust": 0.5 - 0.2 * np.exp(-(((BANDS - 900) / 200) ** 2)),
    "clay": 0.6 - 0.2 * np.exp(-(((BANDS - 2200) / 150) ** 2)),
    "moss": 0.3 + 0.2 * (BANDS > 720),
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a scene of three known materials, its clusters, and libraries."""
    folder = tmp_path_factory.mktemp("named")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [8, 10, 6])[:, np.newaxis] * np.ones((1, 20), int)
    cube = np.array(list(MATERIALS.values()))[truth]
    cube = cube * (1 + 0.02 * rng.standard_normal(cube.shape))
    scene = Scene(
        cube.astype(np.float32),
        wavelengths=BANDS,
        fwhm=np.full(len(BANDS), 40.0),
        crs="EPSG:32633",
        transform=(30.0, 0.0, 5e5, 0.0, -30.0, 5.8e6),
    )
    write_scene(folder / "field.tif", scene)
    done = run("cluster", folder / "field.tif", "-k", 3, "--quiet", "-o", folder / "map")
    assert done.exit_code == 0, done.stderr
    library(folder / "all.csv", MATERIALS)
    return folder


def library(path, materials):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["wavelength (nm)", *materials])
        table.writerows(zip(BANDS, *materials.values(), strict=True))
    return path


@pytest.fixture
def folder(fitted, here):
    shutil.copytree(fitted, here, dirs_exist_ok=True)
    return here


def found_names(folder):
    """Name of each material's cluster, by the map."""
    labels = np.load(folder / "map" / "labels.npy")
    return {name: labels[row, 3] for name, row in zip(MATERIALS, (2, 12, 22), strict=True)}


def test_every_cluster_gets_its_name(folder):
    done = run("name", "map", "--library", "all.csv", "--json")
    assert done.exit_code == 0, done.stderr
    told = {each["cluster"]: each["name"] for each in json.loads(done.stdout)["clusters"]}
    assert told == {cluster: name for name, cluster in found_names(folder).items()}
    rows = list(csv.DictReader((folder / "map" / "names.csv").open()))
    assert len(rows) == 9
    assert [row["within_limit"] for row in rows if row["rank"] == "1"] == ["yes"] * 3
    page = (folder / "map" / "names.html").read_text()
    assert page.count("<svg") == 3
    assert "http://" not in page.replace("http://www.w3.org", "")
    # Nothing else changed.
    assert "cluster 1" in (folder / "map" / "labels.qml").read_text()


def test_without_the_right_one_there_is_no_good_match(folder):
    for name, cluster in found_names(folder).items():
        rest = {each: values for each, values in MATERIALS.items() if each != name}
        library(folder / "rest.csv", rest)
        done = run("name", "map", "--library", "rest.csv", "--json")
        told = {each["cluster"]: each["name"] for each in json.loads(done.stdout)["clusters"]}
        assert told[cluster] is None
        assert sum(each is not None for each in told.values()) == 2


def test_the_screen(folder):
    done = run("name", "map", "--library", "all.csv")
    assert done.exit_code == 0, done.stderr
    assert "compared with 3 library spectra" in done.stdout
    assert "rust" in done.stdout
    assert "names.html" in done.stdout


def test_accepted_names_are_everywhere(folder):
    before = {name: sha256_of(folder / "map" / name) for name in ("labels.npy", "confidence.tif")}
    done = run("name", "map", "--library", "all.csv", "--accept")
    assert done.exit_code == 0, done.stderr
    assert "3 of 3 clusters named" in done.stdout
    for file in ("labels.qml", "labels.tif.aux.xml", "labels_envi.hdr", "spectra.hdr",
                 "report.html"):  # fmt: skip
        text = (folder / "map" / file).read_text()
        assert all(name in text for name in MATERIALS), file
    for name, known in before.items():
        assert sha256_of(folder / "map" / name) == known
    record = json.loads((folder / "map" / RECORD).read_text())
    assert record["names"]["clusters"].keys() == {"1", "2", "3"}
    for name, known in record["outputs"].items():
        assert sha256_of(folder / "map" / name) == known
    # The record repeats the run with its names, byte for byte.
    done = run("cluster", "--from-record", folder / "map" / RECORD, "-o", "again", "--quiet")
    assert done.exit_code == 0, done.stderr
    for file in ("labels.tif", "labels.qml", "labels.tif.aux.xml", "spectra.hdr"):
        assert sha256_of(folder / "again" / file) == sha256_of(folder / "map" / file), file


def test_a_saved_model_stays_as_it_is(folder):
    run("cluster", "field.tif", "-k", 3, "--save-model", "-o", "model", "--quiet", "--no-report")
    before = sha256_of(folder / "model" / "model.npz")
    done = run("name", "model", "--library", "all.csv", "--accept")
    assert done.exit_code == 0, done.stderr
    assert sha256_of(folder / "model" / "model.npz") == before
    done = run("predict", "model/model.npz", "field.tif", "-o", "again", "--quiet", "--no-report")
    assert done.exit_code == 0, done.stderr


def test_our_own_named_spectra_are_a_library(folder):
    run("name", "map", "--library", "all.csv", "--accept", "--quiet")
    done = run("name", "map", "--library", "map/spectra.sli", "--json")
    told = {each["cluster"]: each["name"] for each in json.loads(done.stdout)["clusters"]}
    assert told == {cluster: name for name, cluster in found_names(folder).items()}


def test_two_clusters_of_one_name_are_told_apart(folder):
    library(folder / "one.csv", {"stone": np.full(len(BANDS), 0.5)})
    done = run("name", "map", "--library", "one.csv", "--angle", 1.5, "--accept")
    assert done.exit_code == 0, done.stderr
    style = (folder / "map" / "labels.qml").read_text()
    assert all(f'"stone ({number})"' in style for number in (1, 2, 3))


def test_a_single_run_and_a_cut_can_be_named(folder):
    run("cut", "map", "-k", 2, "-o", "two", "--quiet")
    run("cluster", "field.tif", "--method", "srdl", "-k", 3, "--neighbors", 20, "--no-report",
        "-o", "single", "--quiet")  # fmt: skip
    for where in ("two", "single"):
        done = run("name", where, "--library", "all.csv", "--accept")
        assert done.exit_code == 0, done.stderr
        assert "rust" in (folder / where / "labels.qml").read_text()
    assert not (folder / "single" / "report.html").exists()


def test_a_run_in_tiles_can_be_named(folder):
    done = run("cluster", "field.tif", "-k", 3, "--tiles", 16, "--scheduler", "none", "--quiet",
               "-o", "tiled")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    before = sha256_of(folder / "tiled" / "labels.tif")
    done = run("name", "tiled", "--library", "all.csv", "--accept")
    assert done.exit_code == 0, done.stderr
    for file in ("labels.qml", "labels.tif.aux.xml", "spectra.hdr"):
        assert all(name in (folder / "tiled" / file).read_text() for name in MATERIALS), file
    assert sha256_of(folder / "tiled" / "labels.tif") == before
    record = json.loads((folder / "tiled" / RECORD).read_text())
    for name, known in record["outputs"].items():
        assert sha256_of(folder / "tiled" / name) == known


def test_the_cut_of_a_named_run_in_tiles_keeps_its_names(folder):
    run("cluster", "field.tif", "-k", 3, "--tiles", 16, "--scheduler", "none", "--quiet",
        "-o", "tiled")  # fmt: skip
    run("name", "tiled", "--library", "all.csv", "--accept", "--quiet")
    named = json.loads((folder / "tiled" / RECORD).read_text())["names"]["clusters"]
    done = run("cut", "tiled", "-k", 4, "-o", "four")
    assert done.exit_code == 0, done.stderr
    assert "names kept: 2 of 3" in done.stdout
    legend = (folder / "four" / "labels.qml").read_text()
    record = json.loads((folder / "four" / RECORD).read_text())
    kept = record["names"]["clusters"]
    assert len(kept) == 2
    assert kept.items() <= named.items()
    assert all(f'"{name}"' in legend for name in kept.values())


def test_a_new_run_removes_old_names(folder):
    run("name", "map", "--library", "all.csv", "--quiet")
    done = run("cluster", "field.tif", "-k", 2, "-o", "map", "--overwrite", "--no-report")
    assert "names.csv of an earlier run was removed" in done.stdout
    assert not (folder / "map" / "names.html").exists()
    assert {each.name for each in (folder / "map").iterdir()} <= set(RESULTS)


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("wavelength (nm),a\n9000,1\n9100,2\n9200,3\n", "give a library of the same range"),
            ("wavelength (nm),a\n400,1\n450,2\n500,3\n", "with 4 bands in common"),
            ("wavelength,a\n101,1\n102,2\n103,3\n", "names no unit"),
            ("wavelength (nm),a\n450,1\n550,two\n650,3\n", "'two' is no number"),
        ],
    )
    def test_libraries(self, folder, text, told):
        (folder / "bad.csv").write_text(text)
        done = run("name", "map", "--library", "bad.csv", "--quiet")
        assert_one_line_error(done.exit_code, done.stderr)
        assert told in done.stderr
        assert not (folder / "map" / "names.csv").exists()

    def test_a_folder_without_a_record(self, folder):
        (folder / "empty").mkdir()
        done = run("name", "empty", "--library", "all.csv")
        assert_one_line_error(done.exit_code, done.stderr)
        assert "no results folder" in done.stderr
        assert list((folder / "empty").iterdir()) == []

    def test_a_prediction(self, folder):
        run("cluster", "field.tif", "-k", 3, "--save-model", "-o", "model", "--quiet",
            "--no-report")  # fmt: skip
        run("predict", "model/model.npz", "field.tif", "-o", "labels", "--quiet", "--no-report")
        done = run("name", "labels", "--library", "all.csv", "--accept")
        assert_one_line_error(done.exit_code, done.stderr)
        assert "where the model was fitted" in done.stderr
        assert run("name", "labels", "--library", "all.csv").exit_code == 0

    def test_a_record_without_the_spread(self, folder):
        path = folder / "map" / RECORD
        record = json.loads(path.read_text())
        del record["result"]["spread"]
        path.write_text(json.dumps(record))
        done = run("name", "map", "--library", "all.csv")
        assert_one_line_error(done.exit_code, done.stderr)
        assert "--angle" in done.stderr
        assert run("name", "map", "--library", "all.csv", "--angle", 0.1).exit_code == 0

    def test_a_scene_that_moved(self, folder):
        path = folder / "map" / RECORD
        record = json.loads(path.read_text())
        record["scene"]["source"] = "/no/longer/field.tif"
        path.write_text(json.dumps(record))
        done = run("name", "map", "--library", "all.csv", "--accept", "--quiet")
        assert_one_line_error(done.exit_code, done.stderr)
        assert "does not exist" in done.stderr
        done = run("name", "map", "field.tif", "--library", "all.csv", "--accept")
        assert done.exit_code == 0, done.stderr


@pytest.mark.scene
class TestRealScenes:
    def test_samson(self, here, samson_endmembers):
        """Each cluster gets the name of its endmember; without it, none."""
        from scipy.io import loadmat, savemat

        done = run("cluster", "samson", "-k", 3, "--no-report", "--quiet", "-o", "map")
        assert done.exit_code == 0, done.stderr
        done = run("name", "map", "--library", samson_endmembers, "--json")
        names = [each["name"] for each in json.loads(done.stdout)["clusters"]]
        truth = np.argmax(loadmat(samson_endmembers)["A"], axis=0).reshape(95, 95, order="F")
        labels = np.load("map/labels.npy")
        most = [np.bincount(truth[labels == cluster]).argmax() for cluster in (1, 2, 3)]
        assert names == [("1-rock", "2-Tree", "3-water")[each] for each in most]
        endmembers = loadmat(samson_endmembers)["M"]
        for cluster, material in enumerate(most):
            kept = [each for each in range(3) if each != material]
            savemat("two.mat", {"M": endmembers[:, kept]})
            done = run("name", "map", "--library", "two.mat", "--json")
            assert json.loads(done.stdout)["clusters"][cluster]["name"] is None

    def test_vegetation_in_potsdam(self, here, enmap_potsdam_north, usgs_library):
        """Clusters with a high vegetation index are matched with plants."""
        import os

        path = os.path.join(os.environ["SPECTRAWALK_DATA"], "enmap-potsdam-north", "cube.tif")
        done = run("cluster", path, "--no-report", "--quiet", "-o", "map")
        assert done.exit_code == 0, done.stderr
        done = run("name", "map", "--library", usgs_library, "--json")
        scene, labels = read_scene(path), np.load("map/labels.npy")
        red, infrared = (np.abs(scene.wavelengths - wanted).argmin() for wanted in (660, 860))
        plants = (
            "pine", "fir", "spruce", "grass", "marsh", "wetland", "brush", "oak", "conifer",
            "cattail", "willow", "aspen", "sedge", "meadow", "rangeland", "lichen", "leaf",
            "douglas", "s.america", "sage", "maple", "juniper", "walnut",
        )  # fmt: skip
        seen = 0
        for each in json.loads(done.stdout)["clusters"]:
            mean = scene.cube[labels == each["cluster"]].mean(axis=0)
            index = (mean[infrared] - mean[red]) / (mean[infrared] + mean[red])
            if index < 0.55:
                continue
            seen += 1
            assert each["name"] is not None
            assert any(plant in each["name"].lower() for plant in plants), each["name"]
        assert seen >= 2
