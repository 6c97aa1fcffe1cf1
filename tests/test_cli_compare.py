"""``spectrawalk compare`` from end to end."""

import csv
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rasterio
from command_line import finish, run, start
from other_programs import needs_gdal
from two_dates import two_dates

from spectrawalk import read_scene
from spectrawalk.io import write_scene
from spectrawalk.io.geotiff_map import write_map
from spectrawalk.results.cluster_map import ClusterMap

HURRY = ["--no-report", "--quiet"]
PLACE = {"crs": "EPSG:32633", "transform": (30.0, 0.0, 5e5, 0.0, -30.0, 4.5e6)}


@pytest.fixture(scope="module")
def dates(tmp_path_factory):
    """Two dates of a made scene, clustered: may (with its model) and june; the truth."""
    folder = tmp_path_factory.mktemp("dates")
    scene, cube, before, after = two_dates(0.3)
    scene = replace(scene, ground_truth=None, **PLACE)
    write_scene(folder / "may.tif", scene)
    write_scene(folder / "june.tif", replace(scene, cube=cube))
    for name, more in (("may", ["--save-model"]), ("june", [])):
        done = run("cluster", folder / f"{name}.tif", "-o", folder / name, "-k", "4", *HURRY, *more)
        assert done.exit_code == 0, done.output
    for name, truth in (("truth-may.tif", before), ("truth-june.tif", after)):
        write_map(folder / name, ClusterMap(truth.astype(int) - 1, 4, *PLACE.values()))
    return folder, before, after


@pytest.fixture
def there(dates, monkeypatch, tmp_path):
    """The folder of the two dates, and the truth; what is written goes to a folder of its own."""
    folder, before, after = dates
    monkeypatch.chdir(folder)
    return tmp_path / "out", before, after


def compare(*args):
    return run("compare", *args)


def refused(*args):
    done = compare(*args, "--quiet")
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


def read(path):
    with rasterio.open(path) as raster:
        return raster.read(1)


def test_the_matrix_equals_the_truth_and_areas_sum_to_the_scene(there):
    out, before, after = there
    done = compare("truth-may.tif", "truth-june.tif", "--match", "numbers", "-o", out, "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    expected = np.zeros((5, 5), int)
    np.add.at(expected, (before - 1, after - 1), 1)
    assert record["matrix"]["pixels"] == expected.tolist()
    assert np.sum(record["matrix"]["area_m2"]) == before.size * 900
    codes = read(out / "change.tif")
    np.testing.assert_array_equal(codes == 1, before == after)
    for each in record["changes"]:
        one, other = (int(each[side].removeprefix("cluster ")) for side in ("from", "to"))
        np.testing.assert_array_equal(codes == each["value"], (before == one) & (after == other))
    rows = list(csv.DictReader((out / "changes.csv").open()))
    for row, counts in zip(rows[:4], expected, strict=False):
        assert [int(row[f"to cluster {k} (pixels)"]) for k in range(1, 5)] == counts[:4].tolist()
    assert float(rows[-1]["to total (ha)"]) == pytest.approx(before.size * 0.09)
    assert not (out / "matched.tif").exists()  # the numbers of B are those of A


def test_two_runs_are_matched_by_their_spectra(there):
    out, before, after = there
    done = compare("may", "june", "-o", out)
    assert done.exit_code == 0, done.output
    assert "matched by mean spectra (spectral angle): 4 of 4 in A" in done.stdout
    assert "clustered separately" in done.stdout
    names = {path.name for path in out.iterdir()}
    assert names == {
        *("change.tif", "change.tif.aux.xml", "change.qml", "changes.csv"),
        *("matched.tif", "matched.tif.aux.xml", "matched.qml", "compare.html", "compare.json"),
    }
    codes, one, matched = (
        read(path) for path in (out / "change.tif", "may/labels.tif", out / "matched.tif")
    )
    np.testing.assert_array_equal(codes == 1, one == matched)
    # The labels of a run are not the truth, but nearly so.
    assert np.mean((codes > 1) == (before != after)) > 0.9
    record = json.loads((out / "compare.json").read_text())
    assert record["matching"]["rule"] == "spectra"
    assert record["inputs"]["A"]["files"][0]["path"].endswith("may/labels.tif")
    page = (out / "compare.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "Largest changes" in page
    assert "Change matrix" in page
    legend = (out / "change.qml").read_text()
    assert legend.count("<paletteEntry") == 1 + len(record["changes"])
    assert " ha)" in legend
    assert "<Name>Area_ha</Name>" in (out / "change.tif.aux.xml").read_text()


def test_a_scene_is_labelled_with_the_model_of_the_first_map(there):
    out, _, _ = there
    done = compare("may", "june.tif", "-o", out / "scene", "--no-report")
    assert done.exit_code == 0, done.output
    assert "both are labelled with one model" in done.stdout
    run("predict", "may/model.npz", "june.tif", "-o", out / "labels", "--no-report", "--quiet")
    np.testing.assert_array_equal(
        read(out / "scene" / "matched.tif"), read(out / "labels" / "labels.tif")
    )
    assert compare("may", out / "labels", "-o", out / "map", "--quiet").exit_code == 0
    one, other = ((out / name / "change.tif").read_bytes() for name in ("scene", "map"))
    assert one == other
    assert not (out / "scene" / "compare.html").exists()


def test_a_prediction_is_not_clustered_separately_whatever_the_rule(there):
    out, _, _ = there
    labels = out.parent / "labels"
    run("predict", "may", "june.tif", "-o", labels, "--no-report", "--quiet")
    done = compare("may", labels, "--match", "spectra", "-o", out, "--no-report")
    assert done.exit_code == 0, done.output
    assert "clustered separately" not in done.stdout
    assert "both are labelled with one model" in done.stdout
    overlap = "The maps overlap in 40 rows x 50 columns; 2,000 pixels have data in both."
    assert overlap in done.stdout


def test_the_cut_of_a_map_with_names_has_its_legend(there):
    out, _, _ = there
    named = out.parent / "named"
    shutil.copytree("may", named)
    record = json.loads((named / "run.json").read_text())
    record |= {"format": 2, "steps": [{"op": "name", "cluster": 0, "name": "maize"}]}
    (named / "run.json").write_text(json.dumps(record))
    assert run("cut", named, "-k", 6, "-o", named / "six", *HURRY).exit_code == 0
    for other in ("may", named / "six"):
        done = compare(named, other, "-o", out, "--no-report", "--overwrite")
        assert done.exit_code == 0, done.output
        assert "the numbers mean the same clusters in both maps" in done.stdout
        assert "clustered separately" not in done.stdout


def test_pixels_unlike_the_fit_have_an_entry_of_their_own(there):
    out, _, _ = there
    scene = read_scene("may.tif")
    cube = scene.cube.copy()
    cube[:4, :9] = cube[:4, :9, ::-1] ** 3
    write_scene(out.parent / "strange.tif", replace(scene, cube=cube))
    done = compare("may/labels.tif", out.parent / "strange.tif", "-o", out, "--json", "--quiet")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    strange = read(out / "matched.tif") == 5
    assert strange[:4, :9].all()
    names = [*(f"cluster {k}" for k in range(1, 5)), "unlike the fit", "no data"]
    assert record["matrix"]["names"] == names
    assert np.sum(record["matrix"]["pixels"], axis=0)[4] == strange.sum()
    assert "unlike the fit" in {each["to"] for each in record["changes"]}
    assert record["pixels"]["changed"] >= strange.sum()


def test_the_same_input_gives_the_same_bytes(there):
    out, _, _ = there
    for name in ("one", "other"):
        assert compare("may", "june", "-o", out / name, "--quiet").exit_code == 0
    for path in (out / "one").iterdir():
        assert path.read_bytes() == (out / "other" / path.name).read_bytes(), path.name


def test_nothing_is_replaced_without_being_asked(there):
    out, _, _ = there
    again = ("may", "june", "-o", out, "--no-report", "--quiet")
    assert compare(*again).exit_code == 0
    assert "already holds change.tif" in refused(*again[:-1])
    (out / "notes.txt").write_text("mine")
    done = compare(
        "truth-may.tif", "truth-june.tif", "--match", "numbers", *again[2:], "--overwrite"
    )
    assert done.exit_code == 0
    assert done.stdout == ""
    assert not (out / "matched.tif").exists()  # of the comparison before
    assert (out / "notes.txt").exists()


def test_a_map_without_a_place_has_pixels_only(there):
    out, before, after = there
    np.save(out.parent / "one.npy", before)
    np.save(out.parent / "other.npy", after + 10)
    done = compare(out.parent / "one.npy", out.parent / "other.npy", "-o", out, "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["matrix"]["area_m2"] is None
    assert record["matching"]["rule"] == "overlap"
    assert record["pixels"]["changed"] == (before != after).sum()
    assert "(ha)" not in (out / "changes.csv").read_text()


def test_what_cannot_be_compared_is_refused_in_one_sentence(there):
    out, before, _ = there
    home = out.parent
    shifted = (30.0, 0.0, 5e5 + 15, 0.0, -30.0, 4.5e6)
    labels = before.astype(int) - 1
    write_map(home / "shifted.tif", ClusterMap(labels, 4, "EPSG:32633", shifted))
    write_map(home / "zone.tif", ClusterMap(labels, 4, "EPSG:32632", PLACE["transform"]))
    write_map(home / "empty.tif", ClusterMap(labels * 0 - 1, 4, *PLACE.values()))
    np.save(home / "other.npy", before + 10)
    (home / "empty-folder").mkdir()
    assert "0.50 of a pixel across and 0.00 down; warp" in refused(
        "truth-may.tif", home / "shifted.tif", "-o", out
    )
    assert "UTM zone 33N and the second one in WGS 84 / UTM zone 32N" in refused(
        "truth-may.tif", home / "zone.tif", "-o", out
    )
    assert "the second map has no pixel with a cluster" in refused(
        "truth-may.tif", home / "empty.tif", "-o", out
    )
    assert "is no results folder: it has no run.json" in refused(
        "may", home / "empty-folder", "-o", out
    )
    assert "no number in common" in refused(
        "truth-may.tif", home / "other.npy", "--match", "numbers", "-o", out
    )
    assert "cannot be matched by spectra" in refused(
        "truth-may.tif", "truth-june.tif", "--match", "spectra", "-o", out
    )
    assert "'june' has no model.npz to label it with" in refused("june", "may.tif", "-o", out)
    assert "--crop is for scenes, and 'june' is a map" in refused(
        "may", "june", "--crop", "0:5,0:5", "-o", out
    )
    assert "'may.tif' is a scene and not a map" in refused("may.tif", "june", "-o", out)
    assert "does not exist" in refused("may", home / "missing.tif", "-o", out)
    assert not out.exists()


@needs_gdal
def test_a_map_warped_as_the_error_says_is_compared(there):
    out, before, _ = there
    coarse = (60.0, 0.0, 5e5, 0.0, -60.0, 4.5e6)
    out.mkdir()
    shutil.copytree("may", out / "coarse")
    write_map(
        out / "coarse" / "labels.tif",
        ClusterMap(read("may/labels.tif")[::2, ::2].astype(int) - 1, 4, "EPSG:32633", coarse),
    )
    told = refused("may", out / "coarse", "-o", out / "change")
    assert "pixels of 30 x 30 and 60 x 60" in told
    command = told.split("`")[1]
    command = command.replace("SECOND.tif", "labels.tif").replace("WARPED.tif", "warped.tif")
    subprocess.run(command.split(), check=True, cwd=out / "coarse", capture_output=True)
    done = compare("may", out / "coarse" / "warped.tif", "-o", out / "change", "--json", "--quiet")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record["matching"]["rule"] == "numbers"  # its record lies beside it
    assert record["pixels"]["compared"] == before.size


def test_the_installed_command_compares(there):
    out, _, _ = there
    code, told, trouble = finish(start("compare", "may", "june", "-o", out, "--no-report"))
    assert code == 0, trouble
    assert str(out / "change.tif") in told
    assert Path(out / "change.tif").is_file()
