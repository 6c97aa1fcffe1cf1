"""``spectrawalk reproduce`` and ``spectrawalk benchmark``, as a user calls them."""

import csv
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import spectrawalk
from spectrawalk.baselines import METHODS
from spectrawalk.cli import main
from spectrawalk.datasets import make_scene

SOURCE = str(Path(spectrawalk.__file__).parent.parent)

MINE = """
from spectrawalk.baselines import Baseline

class Brightness(Baseline):
    def __init__(self, n_clusters=2, *, normalize=None, random_state=None):
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.random_state = random_state

    def _cluster(self, X, n_clusters, seed):
        rank = X.sum(axis=1).argsort().argsort()
        return rank * n_clusters // len(X)
"""


@pytest.fixture(autouse=True)
def _methods_stay_as_they_were():
    before = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(before)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a cube and its ground truth."""
    monkeypatch.chdir(tmp_path)
    scene = make_scene((20, 16), n_bands=10, n_classes=3, random_state=0)
    np.save("field.npy", scene.cube)
    np.save("classes.npy", scene.ground_truth)
    return tmp_path


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def start(*args, path=(), **kwargs):
    """Start the command line in a process of its own, with more folders to import from."""
    paths = [SOURCE, *map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "spectrawalk", *map(str, args)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | kwargs.pop("env", {}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **kwargs,
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def assert_refused(result, *words):
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def rows_of(folder):
    with Path(folder, "table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def without_cost(folder):
    rows = rows_of(folder)
    for row in rows:
        del row["seconds"], row["peak_mb"]
    return rows


# Help


@pytest.mark.parametrize(
    "args",
    [["reproduce"], ["reproduce", "table"], ["reproduce", "figures"], ["reproduce", "readings"],
     ["benchmark"]],
)  # fmt: skip
def test_every_help_fits_80_columns_and_has_an_example(args):
    result = run(*args, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert re.search(rf"Examples?:\n +spectrawalk {' '.join(args)}", result.stdout)


# Bad input


def test_unknown_names_list_the_known_ones(here):
    common = ["--out", "out"]
    assert_refused(
        run("reproduce", "table", "--methods", "kmeans", *common), "k-means, pca", "srdl"
    )
    for command in ("table", "figures", "readings"):
        result = run("reproduce", command, "--scenes", "samson", *common)
        assert_refused(result, "indian-pines-subset, salinas-a, ksc-subset")
    truth = ["--ground-truth", "classes.npy"]
    assert_refused(
        run("benchmark", "field.npy", *truth, "--methods", "all,best", *common), "'all', 'best'"
    )
    assert_refused(
        run("benchmark", "pavia", *common), "'pavia' does not exist", "salinas-a, samson"
    )
    assert not Path("out").exists()


def test_ground_truth_of_another_shape_is_refused_with_both_shapes(here):
    np.save("other.npy", np.ones((16, 20), dtype=int))
    result = run("benchmark", "field.npy", "--ground-truth", "other.npy", "--out", "out")
    assert_refused(result, "(16, 20)", "(20, 16)", "other.npy")
    assert not Path("out").exists()


def test_ground_truth_that_is_missing_or_empty_is_refused(here):
    assert_refused(run("benchmark", "field.npy", "--out", "out"), "--ground-truth")
    np.save("none.npy", np.zeros((20, 16), dtype=int))
    result = run("benchmark", "field.npy", "--ground-truth", "none.npy", "--out", "out")
    assert_refused(result, "no pixel above 0")
    result = run("benchmark", "field.npy", "--ground-truth-variable", "gt", "--out", "out")
    assert_refused(result, "--ground-truth too")


def test_a_folder_that_cannot_be_made_is_refused(here):
    result = run("benchmark", "field.npy", "--ground-truth", "classes.npy", "--out", "field.npy/a")
    assert_refused(result, "output folder 'field.npy/a'")


# benchmark


def test_benchmark_compares_methods_on_a_users_cube(here):
    result = run(
        "benchmark", "field.npy", "--ground-truth", "classes.npy", "--methods", "k-means,hnmf",
        "--seeds", 2, "--out", "out",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    progress = r" +[\d.]+ s  benchmark: .+  \[\d/3\]"
    assert all(re.fullmatch(progress, line) for line in result.stderr.splitlines())
    kmeans, hnmf = rows_of("out")
    assert (kmeans["method"], kmeans["scene"], kmeans["n_seeds"]) == ("k-means", "field", "2")
    assert (hnmf["method"], hnmf["n_seeds"], hnmf["n_clusters"]) == ("hnmf", "1", "3")
    assert kmeans["paper_oa"] == ""
    assert 0 < float(kmeans["oa"]) <= 1
    assert f"{float(kmeans['oa']):.3f}" in Path("out/table.md").read_text()
    assert f"{float(kmeans['oa']):.3f}" in result.stdout
    with Image.open("out/table.png") as picture:
        assert picture.width > 400


def test_any_file_name_has_a_table_with_a_picture(here):
    Path("field.npy").rename("a$b_{x$ 田.npy")
    result = run(
        "benchmark", "a$b_{x$ 田.npy", "--ground-truth", "classes.npy", "--methods", "k-means",
        "--seeds", 1, "--out", "out", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert Path("out/table.png").exists()


@pytest.mark.slow
def test_the_number_of_clusters_can_be_given_and_a_failure_is_a_row(here):
    result = run(
        "benchmark", "field.npy", "--ground-truth", "classes.npy", "--methods", "hnmf,k-means",
        "-k", 400, "--seeds", 1, "--out", "out", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    for row in rows_of("out"):
        assert row["oa"] == ""
        assert row["note"].startswith("failed: n_clusters=400 but there are only 320 valid pixels")
    assert "HNMF failed: n_clusters=400" in Path("out/table.md").read_text()


def test_a_users_method_joins_by_a_file(here):
    page = (Path(__file__).parent.parent / "docs/benchmarking.md").read_text(encoding="utf-8")
    [example] = [code for code in page.split("```") if "class Brightness" in code]
    Path("mine.py").write_text(example.removeprefix("python"))
    arguments = ["benchmark", "field.npy", "--ground-truth", "classes.npy", "--out", "out"]
    arguments += ["--plugin", "mine.py", "--methods", "brightness,hnmf", "--seeds", 1, "--quiet"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert [row["method"] for row in rows_of("out")] == ["brightness", "hnmf"]
    assert rows_of("out")[0]["note"] == ""


@pytest.mark.slow
def test_a_users_method_joins_by_the_entry_point_of_an_installed_package(here):
    site = here / "site"
    metadata = site / "brightness-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "brightness.py").write_text(MINE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: brightness\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[spectrawalk.methods]\nbrightness = brightness:Brightness\n"
    )
    arguments = ["benchmark", "field.npy", "--ground-truth", "classes.npy", "--out", "out"]
    arguments += ["--methods", "brightness", "--seeds", 1]
    code, out, err = finish(start(*arguments, path=[site]))
    assert code == 0, err
    [row] = rows_of("out")
    assert (row["method"], row["note"], row["n_clusters"]) == ("brightness", "", "3")
    assert "brightness" in out
    # Without the package it is not known.
    assert_refused(run(*arguments), "'brightness' is not known")


def test_files_in_the_working_folder_do_not_stand_in_for_modules(here):
    Path("numpy.py").write_text("raise SystemExit('the wrong numpy')")
    result = run(
        "benchmark", "field.npy", "--ground-truth", "classes.npy", "--methods", "hnmf", "--out",
        "out", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0
    assert rows_of("out")[0]["note"] == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_ctrl_c_keeps_what_is_done(here):
    arguments = ["benchmark", "field.npy", "--ground-truth", "classes.npy", "--out", "out"]
    arguments += ["--methods", "hnmf,k-means", "--seeds", 200]
    process = start(*arguments)
    for line in process.stderr:
        if "K-means" in line:
            break
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code == 130, err
    assert "Traceback" not in err
    assert not Path("out/table.csv").exists()
    kept = {file.name for file in Path("out/runs/field").iterdir()}
    assert {"hnmf-seed0.json", "hnmf-seed0.npy"} <= kept
    assert not [name for name in kept if name.startswith(".")]
    before = Path("out/runs/field/hnmf-seed0.json").read_bytes()
    again = [*arguments[:-2], "--seeds", 1, "--quiet"]
    assert run(*again).exit_code == 0
    assert Path("out/runs/field/hnmf-seed0.json").read_bytes() == before


# reproduce


@pytest.mark.slow
def test_the_table_has_the_papers_figures_and_comes_out_the_same(here):
    arguments = ["reproduce", "table", "--scenes", "indian-pines-subset", "--seeds", 2]
    arguments += ["--methods", "k-means,srdl"]
    first = run(*arguments, "--out", "a")
    assert first.exit_code == 0, first.output
    assert re.search(r"s  table: K-means on Indian Pines subset  \[0/3\]", first.stderr)
    kmeans, srdl = rows_of("a")
    assert (kmeans["paper_oa"], kmeans["paper_aa"], kmeans["paper_kappa"]) == (
        "0.43",
        "0.38",
        "0.09",
    )
    assert float(srdl["oa"]) == pytest.approx(0.891, abs=0.001)
    assert float(srdl["diff_oa"]) == pytest.approx(float(srdl["oa"]) - 0.89, abs=1e-6)
    files = {name: Path("a", name).read_bytes() for name in ("table.md", "table.csv", "table.png")}

    assert run(*arguments, "--out", "a", "--quiet").exit_code == 0
    for name, content in files.items():
        assert Path("a", name).read_bytes() == content

    assert run(*arguments, "--out", "b", "--quiet").exit_code == 0
    assert without_cost("b") == without_cost("a")
    assert Path("b/table.png").read_bytes() == files["table.png"]


def test_a_scene_that_is_not_at_hand_is_named_and_left_out(here):
    nowhere = {"SPECTRAWALK_DATA": str(here / "empty"), "XDG_CACHE_HOME": str(here / "cache")}
    arguments = ["reproduce", "table", "--methods", "hnmf", "--out", "out"]
    arguments += ["--seeds", 1]
    both = ["--scenes", "indian-pines-subset,ksc-subset"]
    code, out, err = finish(start(*arguments, *both, env=nowhere))
    assert code == 0, err
    assert "ksc-subset was left out: scene 'ksc-subset' is not on this machine; get KSC.mat" in out
    assert {row["scene"] for row in rows_of("out")} == {"indian-pines-subset"}
    text = Path("out/table.md").read_text()
    assert "### Kennedy Space Center subset" in text
    assert str(here) not in text  # the same on every machine
    code, _, err = finish(start(*arguments, "--scenes", "ksc-subset", env=nowhere))
    assert code == 2
    assert err.startswith("Error: scene 'ksc-subset' is not on this machine")


def test_readings_are_listed_and_summed_up(here):
    result = run("reproduce", "readings", "--scenes", "indian-pines-subset", "--out", "out")
    assert result.exit_code == 0, result.output
    with Path("out/readings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert sum(row["chosen"] == "True" for row in rows) == 3
    assert "interpretations of DLSS have a higher OA than SRDL" in result.stdout
    sentence = "interpretations of DLSS have a higher OA than SRDL"
    assert sentence in Path("out/readings.md").read_text()


@pytest.mark.slow
@pytest.mark.slow
def test_figures_are_drawn_and_use_the_runs_of_the_table(here):
    table = ["reproduce", "table", "--scenes", "indian-pines-subset", "--methods", "hnmf"]
    assert run(*table, "--out", "out", "--quiet").exit_code == 0
    kept = Path("out/runs/indian-pines-subset/hnmf-seed0.json").read_bytes()
    result = run("reproduce", "figures", "--scenes", "indian-pines-subset", "--out", "out")
    assert result.exit_code == 0, result.output
    assert Path("out/runs/indian-pines-subset/hnmf-seed0.json").read_bytes() == kept
    for name in ("scene", "labels", "radius", "grid-r-M", "grid-r-t"):
        with Image.open(f"out/{name}-indian-pines-subset.png") as picture:
            assert picture.width >= 900
    with Path("out/sweep-indian-pines-subset.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    [usual] = [
        float(p["oa"]) for p in points
        if (p["graph"], p["radius"], p["n_eigenpairs"], p["time"]) == ("directed", "8", "10", "30")
    ]  # fmt: skip
    assert usual == pytest.approx(0.891, abs=0.001)
    assert "neighbours was left out" in result.stdout
