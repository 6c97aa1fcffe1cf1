"""``spectrawalk cluster``: the record of a run, its repetition, plans, and sets of results."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import rasterio
from click.testing import CliRunner
from command_line import LOUD, LOUD_PICTURES, SMALL, run_python
from product_files import write_enmap, write_envi

import spectrawalk
from spectrawalk.cli import main
from spectrawalk.cli.scene_request import SceneRequest
from spectrawalk.io.run_record import read_record, sha256_of
from spectrawalk.report.file_names import RESULTS
from spectrawalk.report.run_folder import run_files


@pytest.fixture
def field(tmp_path, monkeypatch, cube):
    """A working folder with a scene, field.npy."""
    monkeypatch.chdir(tmp_path)
    np.save("field.npy", cube)
    return "field.npy"


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def succeed(*args):
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


def refuse(*args):
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


# The record


def test_the_record_says_what_went_in_and_what_came_out(field):
    succeed("cluster", field, "-k", 3, "--crop", "0:18,0:16", "-o", "out", *SMALL)
    record = read_record("out/run.json")
    assert record["spectrawalk"] == spectrawalk.__version__
    assert record["packages"]["numpy"] == np.__version__
    [entry] = record["inputs"]
    assert entry == {
        "path": str(Path(field).resolve()),
        "bytes": Path(field).stat().st_size,
        "sha256": sha256_of(field),
    }
    assert record["method"] == "SRDL"
    assert record["parameters"]["n_clusters"] == 3
    assert record["parameters"]["random_state"] is None
    assert record["scene"]["crop"] == [[0, 18], [0, 16]]
    assert record["image"]["rows"] == 18
    assert record["result"]["n_clusters"] == 3
    assert sum(record["result"]["sizes"]) == 18 * 16
    assert set(record["times"]["stages"]) >= {"neighbours", "labels"}
    assert [step["name"] for step in record["preparation"]["steps"]]
    written = {path.name for path in Path("out").iterdir()} - {"run.json"}
    assert record["outputs"] == {name: sha256_of(Path("out", name)) for name in written}


def test_a_run_is_repeated_from_its_record_byte_for_byte(field, monkeypatch):
    options = ["--method", "dlss", "--time", 12.5, "--crop", "1:19,0:15", "--overlap", "swir"]
    succeed("cluster", field, "-k", 3, "-o", "out", *options, *SMALL)
    record = Path("out/run.json").resolve()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    succeed("cluster", "--from-record", record, "-o", "again", "--quiet", "--no-report")
    for name in ("labels.tif", "labels.npy", "labels_envi.dat", "margin.tif", "spectra.csv"):
        assert Path("again", name).read_bytes() == record.with_name(name).read_bytes()
    assert json.loads(record.read_bytes())["scene"] == read_record("again/run.json")["scene"]


def test_a_record_is_strict_json_for_any_value(field):
    succeed("cluster", field, "-k", 3, "--nodata", "nan", "-o", "out", *SMALL)
    text = Path("out/run.json").read_text()
    json.loads(text, parse_constant=pytest.fail)
    succeed("cluster", "--from-record", "out/run.json", "-o", "again", "--quiet", "--no-report")
    assert Path("again/labels.tif").read_bytes() == Path("out/labels.tif").read_bytes()


@pytest.mark.scene
def test_a_published_scene_is_repeated_too(field):
    succeed("cluster", "indian-pines-subset", "-k", 3, "-o", "out", *SMALL)
    succeed("cluster", "--from-record", "out/run.json", "-o", "again", "--quiet", "--no-report")
    assert Path("again/labels.tif").read_bytes() == Path("out/labels.tif").read_bytes()


def test_an_input_that_changed_is_refused(field, cube):
    succeed("cluster", field, "-k", 3, "-o", "out", *SMALL)
    again = ["--from-record", "out/run.json", "-o", "again", "--quiet"]
    shutil.move(field, "moved.npy")
    assert "does not exist" in refuse("cluster", *again)
    succeed("cluster", "moved.npy", *again, "--no-report")
    np.save(field, cube + 1)
    assert "is not the file of the record" in refuse("cluster", *again, "--overwrite")
    assert Path("again/labels.tif").read_bytes() == Path("out/labels.tif").read_bytes()


def entry_of(path):
    path = Path(path)
    return {
        "path": str(path.resolve()),
        "bytes": path.stat().st_size,
        "sha256": sha256_of(path),
    }


@pytest.mark.parametrize("named", ["envi.hdr", "envi.img"])
def test_both_files_of_an_envi_image_are_in_the_record(field, cube, named):
    write_envi(Path("envi.img"), cube)
    write_envi(Path("mask.img"), np.ones((*cube.shape[:2], 1), dtype=np.uint8))
    arguments = ["-k", 3, "--mask", "mask.hdr", "-o", "out", *SMALL]
    succeed("cluster", named, *arguments)
    other = "envi.img" if named == "envi.hdr" else "envi.hdr"
    inputs = read_record("out/run.json")["inputs"]
    assert inputs == [entry_of(each) for each in (named, "mask.hdr", other, "mask.img")]
    again = ["--from-record", "out/run.json", "-o", "again", "--quiet", "--no-report"]
    succeed("cluster", *again)
    values = bytearray(Path("envi.img").read_bytes())
    values[7] ^= 1
    Path("envi.img").write_bytes(values)
    told = refuse("cluster", *again, "--overwrite")
    assert f"'{Path('envi.img').resolve()}' is not the file of the record" in told


def test_a_record_from_before_names_the_header_alone(field, cube):
    write_envi(Path("envi.img"), cube)
    np.save("mask.npy", np.ones(cube.shape[:2], dtype=np.uint8))
    succeed("cluster", "envi.hdr", "--mask", "mask.npy", "-k", 3, "-o", "out", *SMALL)
    record = json.loads(Path("out/run.json").read_bytes())
    record["inputs"] = [entry_of("envi.hdr"), entry_of("mask.npy")]
    Path("before.json").write_text(json.dumps(record))
    again = ["--from-record", "before.json", "-o", "again", "--quiet", "--no-report"]
    succeed("cluster", *again)
    assert Path("again/labels.tif").read_bytes() == Path("out/labels.tif").read_bytes()


def test_a_header_without_its_binary_file_is_said_so(field, cube):
    write_envi(Path("envi.img"), cube)
    succeed("cluster", "envi.hdr", "-k", 3, "-o", "out", *SMALL)
    Path("envi.img").unlink()
    again = ["--from-record", "out/run.json", "-o", "again", "--quiet", "--no-report"]
    assert "header without its binary file" in refuse("cluster", *again)
    Path("envi.hdr").unlink()
    assert "which the record names, does not exist" in refuse("cluster", *again)


def test_all_files_of_an_enmap_product_are_in_the_record(tmp_path):
    metadata = write_enmap(tmp_path)
    for named in sorted(tmp_path.glob("*METADATA.XML")) + sorted(tmp_path.glob("*SPECTRAL_IMAGE*")):
        files = SceneRequest(str(named)).files
        assert len(files) == 2
        assert {Path(file).suffix for file in files} == {".XML", ".TIF"}
        assert files[0] == str(named)
    assert metadata


def test_a_mask_that_changed_is_refused(field, cube):
    mask = np.ones(cube.shape[:2], dtype=np.uint8)
    mask[:3] = 0
    np.save("mask.npy", mask)
    succeed("cluster", field, "--mask", "mask.npy", "-k", 3, "-o", "out", *SMALL)
    assert not np.load("out/labels.npy")[:3].any()
    assert len(read_record("out/run.json")["inputs"]) == 2
    np.save("mask.npy", 1 - mask)
    again = refuse("cluster", "--from-record", "out/run.json", "-o", "again")
    assert "'" + str(Path("mask.npy").resolve()) + "' is not the file of the record" in again


def test_pixels_that_changed_though_the_file_did_not(field):
    succeed("cluster", field, "-k", 3, "-o", "out", *SMALL)
    record = json.loads(Path("out/run.json").read_bytes())
    record["pixels_sha256"] = "0" * 64
    Path("run.json").write_text(json.dumps(record))
    told = refuse("cluster", "--from-record", "run.json", "-o", "again", "--quiet")
    assert "are not those of the record" in told
    assert not Path("again").exists()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda record: record.pop("parameters"), "is not the record of a run"),
        (lambda record: record.update(format=99), "has format 99"),
        (lambda record: record.update(method="KMeans"), "with which method"),
        (lambda record: record["parameters"].update(colour=1), "a parameter that SRDL does not"),
        (lambda record: record["scene"].update(colour=1), "which scene was used"),
        (lambda record: record["scene"].update(crop=[1, 2]), "which scene was used"),
        (lambda record: record["parameters"].update(radius=-1), "--radius=-1"),
        (lambda record: record["parameters"].update(radius="auto"), "in automatic mode, which"),
        (lambda record: record["parameters"].update(time="auto"), "in automatic mode, which"),
    ],
)
def test_a_record_that_makes_no_sense(field, change, expected):
    succeed("cluster", field, "-k", 3, "-o", "out", *SMALL)
    record = json.loads(Path("out/run.json").read_bytes())
    change(record)
    Path("run.json").write_text(json.dumps(record))
    told = refuse("cluster", "--from-record", "run.json", "-o", "again", "--quiet")
    assert expected in told


def test_a_record_that_is_none(field):
    Path("notes.json").write_text("[1, 2")
    assert "not the record" in refuse("cluster", "--from-record", "notes.json", "-o", "again")
    assert "cannot be read" in refuse("cluster", "--from-record", "missing.json", "-o", "again")
    assert not Path("again").exists()


def test_a_repeated_run_takes_no_other_settings(field):
    succeed("cluster", field, "-k", 3, "-o", "out", *SMALL)
    told = refuse("cluster", "--from-record", "out/run.json", "--radius", 3, "-k", 2, "-o", "again")
    assert "-k, --radius cannot be given with --from-record" in told


def test_a_record_of_another_version_is_remarked_upon(field):
    succeed("cluster", field, "-k", 3, "-o", "out", *LOUD)
    record = json.loads(Path("out/run.json").read_bytes())
    Path("run.json").write_text(json.dumps(record | {"spectrawalk": "0.0.9"}))
    told = succeed("cluster", "--from-record", "run.json", "-o", "again", "--no-report")
    assert "the record is of spectrawalk 0.0.9" in told


# JSON and plans


def test_json_is_the_record_and_nothing_else(field):
    told = succeed("cluster", field, "-k", 3, "-o", "out", "--json", *SMALL)
    assert json.loads(told) == json.loads(Path("out/run.json").read_bytes())


def test_a_dry_run_tells_and_writes_nothing(field):
    told = succeed("cluster", field, "--dry-run", "-o", "out", *LOUD)
    assert "field: 20 rows x 16 columns, 10 bands, 320 pixels to cluster" in told
    assert "SRDL: number of clusters auto, window radius 8, 20 neighbours, sigma 1" in told
    assert "nothing was written; a run would write to 'out':" in told
    assert told.splitlines()[-1] == "  " + ", ".join(run_files([]))
    assert not Path("out").exists()
    plan = json.loads(succeed("cluster", field, "--dry-run", "--json", *LOUD))
    assert plan["image"]["valid_pixels"] == 320
    assert plan["would_write"] == run_files([])


@pytest.mark.parametrize(
    "options", [[], ["--no-report"], ["--save-model"], ["--no-report", "--save-model"]], ids=str
)
def test_a_dry_run_lists_exactly_what_a_run_writes(options, field):
    arguments = ["cluster", field, "-k", 3, "-o", "out", *options, *LOUD_PICTURES]
    told = succeed(*arguments, "--dry-run")
    listed = told.splitlines()[-1].strip().split(", ")
    plan = json.loads(succeed(*arguments, "--dry-run", "--json"))
    assert not Path("out").exists()
    succeed(*arguments)
    written = {file.name for file in Path("out").iterdir()}
    assert set(listed) == set(plan["would_write"]) == written
    assert len(listed) == len(written)


def test_a_dry_run_does_not_promise_pictures_that_cannot_be_drawn(field):
    arguments = [*map(str, ["cluster", field, "-k", 3, "-o", "out", *LOUD_PICTURES])]
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from spectrawalk.cli import main\n"
        f"main({arguments} + sys.argv[1:])"
    )
    told = run_python(code.replace("sys.argv[1:]", "['--dry-run']")).stdout
    assert run_python(code).returncode == 0
    listed = told.splitlines()[-1].strip().split(", ")
    assert set(listed) == {file.name for file in Path("out").iterdir()}
    assert "overview.png" not in listed
    assert "report.html" not in listed


def test_a_dry_run_finds_what_is_wrong(field):
    assert "no meaning for dl" in refuse(
        "cluster", field, "--dry-run", "--method", "dl", "--radius", 3
    )
    assert "does not exist" in refuse("cluster", "missing.npy", "--dry-run")


def test_without_a_folder_nothing_is_done(field):
    assert "Missing option '-o'" in refuse("cluster", field)


# Bands and pixels


def test_bands_are_chosen_in_nanometres(field, cube):
    profile = {"driver": "GTiff", "height": 20, "width": 16, "count": 10, "dtype": "float32"}
    with rasterio.open(
        "field.tif", "w", crs="EPSG:32616", transform=rasterio.Affine(30, 0, 5e5, 0, -30, 4e6),
        **profile,
    ) as raster:  # fmt: skip
        raster.write(np.moveaxis(cube, 2, 0))
        for band in range(10):
            raster.update_tags(band + 1, wavelength=str(1000 + 50 * band), wavelength_units="nm")
    told = succeed("cluster", "field.tif", "-k", 3, "-o", "out", *LOUD)
    assert "3 bands are excluded: water vapour, 1350 to 1450 nm" in told
    areas = told
    record = read_record("out/run.json")
    assert record["image"]["bands"] == 7
    told = succeed(
        "cluster", "field.tif", "-k", 3, "-o", "narrow", "--wavelengths", "1000:1150",
        "--wavelengths", "1400:1450", "--water-bands", "keep", *LOUD,
    )  # fmt: skip
    assert read_record("narrow/run.json")["preparation"]["kept_bands"] == [0, 1, 2, 3, 8, 9]
    succeed("cluster", "field.tif", "-k", 3, "-o", "all", "--no-preparation", *LOUD)
    assert read_record("all/run.json")["image"]["bands"] == 10
    sizes = np.bincount(np.load("out/labels.npy").ravel())[1:]
    for size in sizes:
        assert re.search(rf" {size} . +[\d.]+% . +{size * 0.09:.2f} ha ", areas), areas
    with rasterio.open("all/labels.tif") as read:
        assert read.crs == rasterio.CRS.from_epsg(32616)
        assert tuple(read.transform)[:6] == (30, 0, 5e5, 0, -30, 4e6)
    assert "--wavelengths" in refuse("cluster", field, "--wavelengths", "900:450", "-o", "no")


@pytest.mark.scene
def test_the_folder_may_have_the_name_of_the_scene(field):
    for extra in ([], ["--overwrite"]):
        succeed(
            "cluster", "indian-pines-subset", "-k", 3, "-o", "indian-pines-subset", *SMALL, *extra
        )
    assert Path("indian-pines-subset/labels.tif").exists()


def test_a_radius_beyond_any_image(field):
    huge = "99999999999999999999"
    succeed("cluster", field, "-k", 3, "-o", "out", "--radius", huge, *SMALL)
    succeed("cluster", field, "-k", 3, "-o", "far", "--radius", 20, *SMALL)
    assert Path("out/labels.tif").read_bytes() == Path("far/labels.tif").read_bytes()
    refuse("cluster", field, "-k", huge, "-o", "no", *SMALL)
    refuse("cluster", field, "--crop", f"0:{huge},0:5", "-o", "no", *SMALL)


# The folder


def test_any_result_of_an_earlier_run_is_kept_without_overwrite(field):
    for name in RESULTS:
        shutil.rmtree("out", ignore_errors=True)
        Path("out").mkdir()
        Path("out", name).write_text("precious")
        assert f"already holds {name}" in refuse("cluster", field, "-o", "out", *SMALL)
        assert Path("out", name).read_text() == "precious"


def test_many_existing_results_are_not_all_named(field):
    succeed("cluster", field, "-k", 3, "-o", "out", *SMALL)
    told = refuse("cluster", field, "-k", 3, "-o", "out", *SMALL)
    assert " more; choose another folder" in told
    assert len(told) < 250


def test_a_failed_run_takes_all_its_empty_folders_away(field):
    refuse("cluster", field, "-k", 1000, "-o", "new/inner/out", *SMALL)
    assert not Path("new").exists()


def test_a_set_that_was_nearly_in_place_is_finished_first(field):
    succeed("cluster", field, "-k", 3, "-o", "out", *SMALL)
    ready = Path("out/.spectrawalk-ready")
    ready.mkdir()
    Path("out/labels.tif").rename(ready / "0000-labels.tif")
    refuse("cluster", field, "-k", 3, "-o", "out", *SMALL)
    assert not ready.exists()
    with rasterio.open("out/labels.tif") as read:
        assert read.shape == (20, 16)


def test_a_folder_that_takes_no_file_is_refused_in_one_sentence(field):
    if not Path("/proc/self").exists():
        pytest.skip("needs a folder that nobody can write to, as Linux has")
    assert "output folder '/proc/out' cannot be written to" in refuse(
        "cluster", field, "-o", "/proc/out"
    )
