"""``spectrawalk cluster``: what it writes and prints, and how it ends."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from command_line import (
    LOUD,
    LOUD_PICTURES,
    PICTURES,
    SMALL,
    assert_one_line_error,
    finish,
    run,
    run_python,
    start,
)
from PIL import Image

import spectrawalk
from spectrawalk import SRDL
from spectrawalk.estimators import STAGES
from spectrawalk.report.file_names import MODEL, OVERVIEW, REPORT
from spectrawalk.report.run_folder import run_files
from spectrawalk.results.palette import cluster_colors


def test_cluster_writes_labels_map_and_overview(cube, here):
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "-k", 3, "-o", "new/folder", *PICTURES)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""

    expected = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(cube).labels_
    labels = np.load("new/folder/labels.npy")
    np.testing.assert_array_equal(labels, expected + 1)
    with Image.open("new/folder/labels.png") as picture:
        pixels = np.asarray(picture.convert("RGB"))
    np.testing.assert_array_equal(pixels, cluster_colors(3)[expected])
    with Image.open("new/folder/overview.png") as picture:
        assert picture.width == 1800
    assert {file.name for file in Path("new/folder").iterdir()} == set(
        run_files([OVERVIEW, REPORT])
    )


def test_cluster_sums_up_what_it_found(cube, here):
    np.save("field.npy", cube)
    out = run("cluster", "field.npy", "-k", 3, "-o", "out", "--no-report").stdout
    assert "field: 20 rows x 16 columns, 10 bands, 320 pixels to cluster\n" in out
    sizes = np.bincount(np.load("out/labels.npy").ravel())[1:]
    rows = re.findall(r"(\d+) . (#[0-9a-f]{6}) . +(\d+) . +([\d.]+)%", out)
    assert rows == [
        (str(c + 1), "#{:02x}{:02x}{:02x}".format(*color), str(size), f"{size / 320:.1%}"[:-1])
        for c, (size, color) in enumerate(zip(sizes, cluster_colors(3), strict=True))
    ]
    for stage in ("neighbours", "eigenpairs", "labels"):
        assert re.search(rf"time of SpectraWalk: .*{stage} [\d.]+ s", out)
    assert re.search(r"agreement of the runs: [\d, and]+ clusters are", out)
    assert str(Path("out/labels.npy")) in out
    assert "was chosen" not in out
    assert "OA" not in out


def test_masked_pixels_are_counted_with_the_reason(cube, here):
    spoilt = cube.astype(float)
    spoilt[0, :4, 2] = np.nan
    spoilt[5, 5] = 0
    np.save("field.npy", spoilt)
    result = run("cluster", "field.npy", "-k", 2, "-o", "out", *LOUD)
    assert "315 pixels to cluster" in result.stdout
    assert (
        "5 pixels are masked and get no label (4 NaN or infinite, 1 zero in every band)"
        in result.stdout
    )
    labels = np.load("out/labels.npy")
    assert (labels == 0).sum() == 5
    assert not labels[0, :4].any()


def test_an_automatic_number_of_clusters_is_explained(cube, here):
    np.save("field.npy", cube)
    out = run("cluster", "field.npy", "-o", "out", *LOUD).stdout
    found = np.load("out/labels.npy").max()
    assert re.search(
        rf"was chosen: {found}, the largest drop of D_t from K = 2 to 30: [\d.]+-fold; the", out
    )


def test_cluster_says_how_the_result_was_made(cube, here):
    np.save("field.npy", cube)
    arguments = ["field.npy", "--method", "srdl", "--neighbors", 20, "--radius", 5, "--save-model"]
    out = run("cluster", *arguments, "-o", "out", "--crop", "0:20,2:16").stdout
    model = spectrawalk.load("out/model.npz")
    assert (
        f"SRDL: {model.n_clusters_} clusters (estimated), window radius 5, 20 neighbours, sigma 1, "
        f"symmetric graph, {len(model.eigenvalues_)} eigenpairs (estimated), time 30, "
        "consensus radius 3, spectra scaled to length 1; rows 0 to 19 and columns 2 to 15 of the "
        "scene\n"
    ) in out


def test_any_file_name_gives_all_results_and_no_noise(cube, here):
    name = "cost $5 ^_{$ 水田" + "a" * 150
    np.save(f"{name}.npy", cube)
    code, out, err = finish(start("cluster", f"{name}.npy", "-k", 3, "-o", "out", *LOUD_PICTURES))
    noise = [line for line in err.splitlines() if not re.match(r" +[\d.]+ s  \w+: ", line)]
    assert (code, noise) == (0, [])
    assert Path("out/overview.png").stat().st_size > 0
    assert "not written" not in out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="file names are always Unicode there")
def test_a_file_name_that_is_not_unicode(cube, here):
    np.save("field.npy", cube)
    Path("field.npy").rename("f\udcffeld.npy")
    code, _, err = finish(start("cluster", "f\udcffeld.npy", "-k", 3, "-o", "out", *PICTURES))
    assert (code, err) == (0, "")
    assert Path("out/overview.png").stat().st_size > 0


def test_a_picture_that_cannot_be_drawn_is_left_out(cube, here, monkeypatch):
    def fail(*args, **kwargs):
        raise ValueError("no\nink")

    monkeypatch.setattr("spectrawalk.report.figures.overview", fail)
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "-k", 3, "-o", "out", "--save-model", *LOUD_PICTURES)
    assert result.exit_code == 0, result.output
    assert "overview.png was not written: it could not be made (no ink)." in result.stdout
    expected = set(run_files([REPORT, MODEL]))
    assert {file.name for file in Path("out").iterdir()} == expected


def test_no_file_of_an_earlier_run_passes_for_one_of_this(cube, here):
    np.save("field.npy", cube)
    Path("out").mkdir()
    Path("out/model.npz").write_text("precious")
    arguments = ["cluster", "field.npy", "-k", 3, "-o", "out", *LOUD]
    result = run(*arguments)
    assert_one_line_error(result.exit_code, result.stderr)
    assert Path("out/model.npz").read_text() == "precious"
    result = run(*arguments, "--overwrite")
    assert "model.npz of an earlier run was removed." in result.stdout
    assert not Path("out/model.npz").exists()


def test_a_value_for_no_data_is_masked_and_counted(cube, here):
    spoilt = cube.astype(float)
    spoilt[0, :5] = -9999
    spoilt[3, 3, 1] = -9999
    np.save("field.npy", spoilt)
    arguments = ["cluster", "field.npy", "-k", 2, "-o", "out", "--overwrite", "--no-report"]
    hint = "5 pixels are -9999 in every band; if that means no data, give --nodata -9999\n"
    assert hint in run(*arguments).stdout
    result = run(*arguments, "--nodata", -9999)
    assert "6 pixels are masked and get no label (6 at the no-data value)" in result.stdout
    assert hint not in result.stdout
    assert (np.load("out/labels.npy") == 0).sum() == 6
    result = run(*arguments, "--nodata", -9999, "--crop", "0:20,4:16")
    assert "1 pixel is masked and gets no label (1 at the no-data value)" in result.stdout
    assert hint not in run(*arguments, "--crop", "1:20,0:16").stdout


def test_bands_may_come_first(cube, here):
    np.save("gdal.npy", np.moveaxis(cube, 2, 0))
    result = run("cluster", "gdal.npy", "--bands-first", "-k", 3, "-o", "out", *LOUD)
    assert "gdal: 20 rows x 16 columns, 10 bands" in result.stdout
    expected = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(cube).labels_
    np.testing.assert_array_equal(np.load("out/labels.npy"), expected + 1)


@pytest.mark.parametrize("method", ["dlss", "DL", "dvic"])
def test_other_methods(method, cube, here):
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "-k", 3, "-o", "out", *SMALL, "--method", method)
    assert result.exit_code == 0, result.output
    estimator = getattr(spectrawalk, method.upper())
    expected = estimator(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(cube).labels_
    np.testing.assert_array_equal(np.load("out/labels.npy"), expected + 1)


@pytest.mark.parametrize(
    ("method", "told", "kept"),
    [
        ("msrdl", r"time \d+ \(estimated from \d+ times\)", {"time", "times", "clusters_per_time"}),
        ("dvic", r"\d+ endmembers? \(estimated\)", {"n_endmembers"}),
        ("s2dl", r"window radius 12, \d+ superpixels \(estimated\)", {"n_superpixels"}),
    ],
)
def test_successors_of_srdl(method, told, kept, cube, here):
    np.save("field.npy", cube)
    command = ["cluster", "field.npy", "--method", method, "--neighbors", 20, "--eigenpairs", 5]
    result = run(*command, "-k", 3, "-o", "out", "--save-model")
    assert result.exit_code == 0, result.output
    assert re.search(told, result.stdout)
    record = json.loads(Path("out/run.json").read_text())
    assert kept <= set(record["result"])
    model = spectrawalk.load("out/model.npz")
    np.testing.assert_array_equal(np.load("out/labels.npy"), model.labels_ + 1)
    again = run("cluster", "--from-record", "out/run.json", "-o", "again")
    assert again.exit_code == 0, again.output
    assert Path("again/labels.tif").read_bytes() == Path("out/labels.tif").read_bytes()
    shorter = run(*command, "-o", "plan", "--dry-run")
    assert f"{method.upper()}: number of clusters auto" in shorter.stdout


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("msrdl", "--time"),
        ("dvic", "--radius"),
        ("s2dl", "--consensus-radius"),
        ("dvic", "--tiles"),
    ],
)
def test_successors_refuse_what_they_lack(method, option, cube, here):
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "--method", method, option, 32, "-o", "out")
    assert result.exit_code == 2
    assert option in result.stderr


def test_parameters_reach_the_estimator(cube, here):
    np.save("field.npy", cube)
    parameters = ["--radius", 4, "--time", 10, "--sigma", 2, "--normalize", "none"]
    parameters += ["--consensus-radius", 1, "--save-model"]
    result = run("cluster", "field.npy", "-k", 3, "-o", "out", *parameters, *SMALL)
    assert result.exit_code == 0, result.output
    model = spectrawalk.load("out/model.npz")
    assert isinstance(model, SRDL)
    changed = {"n_clusters": 3, "n_neighbors": 20, "n_eigenpairs": 5, "radius": 4, "time": 10}
    changed |= {"sigma": 2, "normalize": None, "consensus_radius": 1}
    assert model.get_params() == SRDL(**changed).get_params()
    np.testing.assert_array_equal(model.labels_ + 1, np.load("out/labels.npy"))


def test_crop_takes_a_part(cube, here):
    np.save("whole.npy", cube)
    np.save("part.npy", cube[2:14, 3:16])
    for name, crop in (("whole", ["--crop", "2:14,3:16"]), ("part", [])):
        result = run("cluster", f"{name}.npy", "-k", 2, "-o", name, *crop, "--no-report", "--quiet")
        assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load("whole/labels.npy"), np.load("part/labels.npy"))


def test_a_variable_of_a_matlab_file_is_chosen(cube, here):
    scipy.io.savemat("field.mat", {"first": cube, "second": cube[:10]})
    result = run("cluster", "field.mat", "--variable", "second", "-k", 2, "-o", "out", "--quiet")
    assert result.exit_code == 0, result.output
    assert np.load("out/labels.npy").shape == (10, 16)


@pytest.mark.scene
def test_a_published_scene_is_scored(here):
    result = run(
        "cluster",
        "indian-pines-subset",
        "-k",
        3,
        "-o",
        "out",
        "--no-report",
    )
    assert result.exit_code == 0, result.output
    [oa] = re.findall(r"ground truth of 753 pixels: OA ([\d.]+)", result.stdout)
    assert float(oa) >= 0.885
    assert "matched with" in result.stdout


def test_progress_goes_to_stderr_one_line_per_stage(cube, here):
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "-k", 3, "-o", "out", *LOUD)
    stages = re.findall(r"^ +[\d.]+ s  SRDL: (\w+)$", result.stderr, flags=re.MULTILINE)
    assert tuple(stages) == STAGES
    assert "SRDL: neighbours" not in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
def test_progress_in_a_terminal_has_bars(cube, here):
    np.save("field.npy", cube)
    ours, theirs = os.openpty()
    process = start("cluster", "field.npy", "-k", 3, "-o", "out", *LOUD, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += (chunk := os.read(ours, 4096))
        except OSError:  # how Linux says that the other end was closed
            break
        if not chunk:
            break
    code, out, _ = finish(process)
    os.close(ours)
    assert code == 0
    assert b"neighbours" in seen
    assert b"100%" in seen
    assert "neighbours" in out  # the times, after the work


def test_existing_results_are_kept_without_overwrite(cube, here):
    np.save("field.npy", cube)
    Path("out").mkdir()
    Path("out/labels.npy").write_text("precious")
    arguments = ["cluster", "field.npy", "-k", 3, "-o", "out", *SMALL]
    result = run(*arguments)
    assert_one_line_error(result.exit_code, result.stderr)
    assert "already holds labels.npy" in result.stderr
    assert Path("out/labels.npy").read_text() == "precious"
    assert [file.name for file in Path("out").iterdir()] == ["labels.npy"]
    assert run(*arguments, "--overwrite").exit_code == 0
    assert np.load("out/labels.npy").shape == (20, 16)


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(cube, here):
    np.save("field.npy", cube)
    for folder in ("field.npy", "field.npy/inside"):
        result = run("cluster", "field.npy", "-k", 3, "-o", folder)
        assert_one_line_error(result.exit_code, result.stderr)
        assert f"output folder '{folder}'" in result.stderr
        assert result.stdout == ""  # not even the scene was read


def test_a_failed_run_takes_its_empty_folder_away(cube, here):
    np.save("field.npy", cube)
    assert run("cluster", "field.npy", "-k", 10_000, "-o", "out").exit_code == 2
    assert not Path("out").exists()


def test_without_matplotlib_the_picture_is_left_out_and_the_rest_written(cube, here):
    np.save("field.npy", cube)
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from spectrawalk.cli import main\n"
        f"main(['cluster', 'field.npy', '-k', '3', '-o', 'out', *{LOUD_PICTURES}])"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert 'pip install "spectrawalk[figures]"' in done.stdout
    expected = set(run_files([]))
    assert {file.name for file in Path("out").iterdir()} == expected


@pytest.mark.slow
def test_a_file_name_that_the_terminal_cannot_show_is_no_trouble(cube, here, monkeypatch):
    np.save("füld.npy", cube)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, out, err = finish(start("cluster", "füld.npy", "-k", 3, "-o", "out", *LOUD))
    assert code == 0, err
    assert out.startswith(r"f\xfcld: 20 rows x 16 columns")


def test_an_output_folder_that_is_a_file_is_called_so(cube, here):
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "-o", "field.npy")
    assert "output folder 'field.npy' is a file, not a folder; " in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pipe")
@pytest.mark.parametrize("arguments", [["cluster", "field.npy", "-o", "out", *SMALL], []])
def test_a_reader_that_leaves_early_does_not_stop_the_work(arguments, cube, here):
    np.save("field.npy", cube)
    ours, theirs = os.pipe()
    process = start(*arguments, stdout=theirs)
    os.close(theirs)
    os.close(ours)
    code, _, err = finish(process)
    assert (code, err) == (0, "")
    assert Path("out/labels.tif").exists() is bool(arguments)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize(
    ("sent", "code", "last"),
    [
        (signal.SIGINT, 130, "Interrupted: no file is half-written."),
        (signal.SIGTERM, 143, "Terminated: no file is half-written."),
    ],
)
def test_an_interruption_leaves_nothing_behind(sent, code, last, here):
    rng = np.random.default_rng(0)
    np.save("large.npy", rng.uniform(size=(250, 250, 40)).astype(np.float32))
    process = start("cluster", "large.npy", "-o", "out")
    for line in process.stderr:
        if "neighbours" in line:
            break
    process.send_signal(sent)
    ended, _, err = finish(process)
    assert ended == code
    assert err.splitlines()[-1] == last
    assert "Traceback" not in err
    assert not Path("out").exists()


def test_long_names_do_what_short_ones_do(cube, here):
    np.save("field.npy", cube)
    assert run("cluster", "field.npy", "-k", 3, "-o", "short", *SMALL).exit_code == 0
    assert run("cluster", "field.npy", "--clusters", 3, "--out", "long", *SMALL).exit_code == 0
    short, long = (np.load(f"{name}/labels.npy") for name in ("short", "long"))
    np.testing.assert_array_equal(short, long)
