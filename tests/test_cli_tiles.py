"""``spectrawalk cluster --tiles`` and several scenes: the results of runs in tiles."""

import json
import shutil

import numpy as np
import pytest
import rasterio
from command_line import assert_one_line_error, run
from product_files import write_emit

from spectrawalk import Scene, read_scene
from spectrawalk.datasets import make_scene
from spectrawalk.estimators import forecast
from spectrawalk.io.scene_writers import write_scene
from spectrawalk.report.file_names import (
    CONFIDENCE,
    LEAF_TABLE,
    LEAVES,
    MAP,
    OVERVIEW,
    RECORD,
    REPORT,
)

ALONE = ["--scheduler", "none", "--quiet"]
FILES = {
    MAP, "labels.tif.aux.xml", "labels.qml", CONFIDENCE, LEAVES, LEAF_TABLE, RECORD,
    "spectra.csv", "spectra.hdr", "spectra.sli",
}  # fmt: skip


def succeed(*args):
    done = run(*args)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def refuse(*args):
    done = run(*args)
    assert_one_line_error(done.exit_code, done.stderr)
    return done.stderr


def raster(path):
    with rasterio.open(path) as source:
        return source.read(1)


def names(folder):
    return {path.name for path in folder.iterdir()} - {".spectrawalk-lock"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scene, and the results of a run in tiles on it."""
    folder = tmp_path_factory.mktemp("tiles")
    made = make_scene((70, 60), n_bands=20, n_classes=3, region_size=14, random_state=1)
    mask = np.ones((70, 60), bool)
    mask[:9, :11] = False
    scene = Scene(
        made.cube,
        mask=mask,
        wavelengths=made.wavelengths,
        metadata={"nodata": -1.0},
        crs="EPSG:32633",
        transform=(30, 0, 500_000, 0, -30, 4_400_000),
    )
    write_scene(folder / "field.tif", scene)
    succeed("cluster", folder / "field.tif", "-k", 3, "--tiles", 32, "-o", folder / "three", *ALONE)
    return folder


@pytest.fixture
def results(folder, tmp_path):
    """A copy of the results that may be spoiled."""
    return shutil.copytree(folder / "three", tmp_path / "copy")


def test_all_results_are_written(folder):
    assert names(folder / "three") == FILES | {OVERVIEW, REPORT}
    record = json.loads((folder / "three" / RECORD).read_text())
    assert record["tiles"]["size"] == 32
    assert record["image"]["valid_pixels"] == 70 * 60 - 9 * 11
    assert record["image"]["masked_nodata"] == 99
    assert sum(record["result"]["sizes"]) == record["image"]["valid_pixels"]
    assert set(record["outputs"]) == (FILES | {OVERVIEW, REPORT}) - {RECORD}


def test_the_maps_have_their_place_and_legend(folder):
    cogeo = pytest.importorskip("rio_cogeo.cogeo")
    for name in (MAP, CONFIDENCE, LEAVES):
        with rasterio.open(folder / "three" / name) as source:
            assert source.crs.to_epsg() == 32633
            assert tuple(source.transform)[:6] == (30, 0, 500_000, 0, -30, 4_400_000)
            assert source.shape == (70, 60)
        valid, errors, _ = cogeo.cog_validate(folder / "three" / name)
        assert valid, errors
    codes = raster(folder / "three" / MAP)
    assert (codes[:9, :11] == 0).all()
    assert set(np.unique(codes)) == {0, 1, 2, 3}
    confidence = raster(folder / "three" / CONFIDENCE)
    assert (np.isnan(confidence) == (codes == 0)).all()
    assert np.nanmin(confidence) >= 0
    assert np.nanmax(confidence) <= 1
    with rasterio.open(folder / "three" / MAP) as source:
        assert source.colormap(1)[1][:3] == (0, 114, 178)
    legend = (folder / "three" / "labels.tif.aux.xml").read_text()
    assert f"<F>{np.count_nonzero(codes == 1)}</F>" in legend


def test_tiles_of_another_size_give_the_same_maps(folder, tmp_path):
    succeed(
        "cluster", folder / "field.tif", "-k", 3, "--tiles", 45, "-o", tmp_path / "other",
        "--no-report", *ALONE,
    )  # fmt: skip
    for name in (MAP, CONFIDENCE, LEAVES):
        same = [(each / name).read_bytes() for each in (folder / "three", tmp_path / "other")]
        assert same[0] == same[1], name


def test_a_record_repeats_the_run(folder, tmp_path):
    succeed("cluster", "--from-record", folder / "three" / RECORD, "-o", tmp_path / "again", *ALONE)
    same = [(each / MAP).read_bytes() for each in (folder / "three", tmp_path / "again")]
    assert same[0] == same[1]


def test_srdl_in_tiles_writes_the_maps_of_a_run_in_memory(folder, tmp_path):
    common = ["cluster", folder / "field.tif", "-k", 3, "--method", "srdl", "--neighbors", 20]
    succeed(*common, "--tiles", 25, "-o", tmp_path / "tiles", *ALONE)
    succeed(*common, "-o", tmp_path / "memory", "--no-report", "--quiet")
    assert names(tmp_path / "tiles") == names(tmp_path / "memory")
    for name in (MAP, "labels.tif.aux.xml", "labels.npy", "margin.tif", "labels.png"):
        same = [(tmp_path / each / name).read_bytes() for each in ("tiles", "memory")]
        assert same[0] == same[1], name
    tables = [
        np.genfromtxt(tmp_path / each / "spectra.csv", delimiter=",", skip_header=1)
        for each in ("tiles", "memory")
    ]
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-7)


def test_several_scenes_have_a_folder_each_and_one_legend(folder, tmp_path):
    scene = read_scene(folder / "field.tif")
    for name, rows in (("north", slice(0, 35)), ("south", slice(35, 70))):
        write_scene(tmp_path / f"{name}.tif", scene.crop(rows, slice(0, 60)))
    told = succeed(
        "cluster", tmp_path / "north.tif", tmp_path / "south.tif", "-k", 3, "--no-report",
        "--scheduler", "none", "-o", tmp_path / "both",
    )  # fmt: skip
    assert names(tmp_path / "both") == {"north", "south"}
    codes = np.vstack([raster(tmp_path / "both" / name / MAP) for name in ("north", "south")])
    whole = raster(folder / "three" / MAP)
    pairs = np.zeros((4, 4), int)
    np.add.at(pairs, (whole.ravel(), codes.ravel()), 1)
    assert pairs.max(axis=1).sum() > 0.97 * codes.size
    assert "north:" in told
    assert "south:" in told
    with rasterio.open(tmp_path / "both" / "south" / MAP) as source:
        assert source.transform.f == 4_400_000 - 30 * 35


def test_a_cut_needs_no_scene(results, tmp_path):
    succeed("cut", results, "-k", 5, "-o", tmp_path / "five", "--quiet")
    before, after = raster(results / MAP), raster(tmp_path / "five" / MAP)
    assert set(np.unique(after)) == {0, 1, 2, 3, 4, 5}
    assert (after[(after > 0) & (after <= 3)] == before[(after > 0) & (after <= 3)]).all()
    assert json.loads((tmp_path / "five" / RECORD).read_text())["result"]["n_clusters"] == 5
    assert CONFIDENCE not in names(tmp_path / "five")
    told = succeed("cut", results, "-k", "auto", "-o", tmp_path / "auto")
    assert "confidence.tif and report.html were left out" in told.replace("\n", " ")
    assert "more than the" in refuse("cut", results, "-k", 99, "-o", tmp_path / "many")
    (results / LEAVES).write_bytes(b"other")
    assert "its sha256 differs" in refuse("cut", results, "-k", 4, "-o", tmp_path / "four")


def test_the_explorer_says_that_it_needs_a_scene_in_memory(results):
    assert "run in tiles" in refuse("explore", results, "--no-browser")


def test_a_crop_and_a_mask(folder, tmp_path):
    mask = np.ones((70, 60), np.uint8)
    mask[40:, 30:] = 0
    np.save(tmp_path / "mask.npy", mask)
    succeed(
        "cluster", folder / "field.tif", "-k", 3, "--tiles", 16, "--crop", "5:65,10:60", "--mask",
        tmp_path / "mask.npy", "-o", tmp_path / "part", "--no-report", *ALONE,
    )  # fmt: skip
    codes = raster(tmp_path / "part" / MAP)
    expected = read_scene(folder / "field.tif").mask & (mask > 0)
    assert ((codes > 0) == expected[5:65, 10:60]).all()
    with rasterio.open(tmp_path / "part" / MAP) as source:
        assert (source.transform.c, source.transform.f) == (500_300, 4_399_850)
    assert not list((tmp_path / "part").glob(".spectrawalk-mask*"))


def test_a_map_in_the_geometry_of_the_sensor_is_orthorectified(tmp_path):
    cube = np.array(make_scene((40, 30), n_bands=6, n_classes=2, random_state=1).cube)
    write_emit(tmp_path / "granule.nc", cube)
    common = ["cluster", tmp_path / "granule.nc", "-k", 2, "--no-report"]
    succeed(*common, "--tiles", 16, "-o", tmp_path / "tiles", *ALONE)
    succeed(*common, "-o", tmp_path / "memory", "--quiet")
    profiles, codes = [], []
    for each in ("tiles", "memory"):
        with rasterio.open(tmp_path / each / MAP) as source:
            profiles.append((source.shape, source.transform, source.crs))
            codes.append(source.read(1))
    assert profiles[0] == profiles[1]
    assert ((codes[0] > 0) == (codes[1] > 0)).all()
    assert np.mean(codes[0] == codes[1]) > 0.9
    table = (tmp_path / "tiles" / "labels.tif.aux.xml").read_text()
    assert f"<F>{np.count_nonzero(codes[0] == 1)}</F>" in table


def test_tiles_are_chosen_where_a_scene_does_not_fit_into_memory(folder, tmp_path, monkeypatch):
    answers = iter([0])
    monkeypatch.setattr(forecast, "available_memory", lambda: next(answers, 10**12))
    small = forecast.Forecast(10**6, 1.0)
    monkeypatch.setattr("spectrawalk.scale.forecast.tiled_forecast", lambda *_: small)
    told = succeed("cluster", folder / "field.tif", "-k", 3, "-o", tmp_path / "out", "--dry-run")
    assert "the scene does not fit into memory, so it is clustered in tiles" in told
    assert not (tmp_path / "out").exists()


def test_too_little_memory_for_tiles_is_said_before_the_work(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(forecast, "available_memory", lambda: 0)
    told = refuse(
        "cluster", folder / "field.tif", "--tiles", "auto", "-o", tmp_path / "out", *ALONE
    )
    assert "the run needs about" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--tiles", "3"], "neither 'auto' nor a number of pixels from 16 to 2048"),
        (["--scheduler", "none"], "--scheduler is for runs in tiles; add --tiles auto"),
        (["--workers", "2"], "--workers is for runs in tiles; add --tiles auto"),
        (["--tiles", "auto", "--method", "dlss"], "--tiles is not for DLSS"),
        (["--tiles", "auto", "--save-model"], "--save-model cannot be used with tiles"),
        (["--tiles", "auto", "--scheduler", "tcp://127.0.0.1:9"], "no Dask scheduler answers"),
        (
            ["--tiles", "auto", "--scheduler", "none", "--crop", "0:900,0:9"],
            "reaches beyond the image",
        ),
        (
            ["--tiles", "auto", "--method", "srdl", "--normalize", "band", "--scheduler", "none"],
            "--normalize",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(folder, tmp_path, options, sentence):
    told = refuse("cluster", folder / "field.tif", "-o", tmp_path / "out", "--quiet", *options)
    assert sentence in told
    assert not (tmp_path / "out").exists()


def test_a_scene_that_is_not_there_is_named(tmp_path):
    told = refuse("cluster", tmp_path / "a.tif", tmp_path / "b.tif", "-o", tmp_path / "out", *ALONE)
    assert f"'{tmp_path / 'a.tif'}' does not exist" in told
