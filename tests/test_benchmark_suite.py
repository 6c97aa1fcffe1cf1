"""``spectrawalk benchmark --suite``: its scenes, runs, rows, ranks, sentences and page."""

import csv
import os
import re
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import assert_one_line_error, finish, run, start

from spectrawalk.baselines import METHODS as REGISTERED
from spectrawalk.baselines import Leiden, method_names
from spectrawalk.baselines.own_number import OwnDBSCAN, OwnHDBSCAN, OwnLeiden, OwnMeanShift
from spectrawalk.benchmark.findings import findings
from spectrawalk.benchmark.methods import (
    CANDIDATES,
    CHOSEN,
    FOUND,
    GIVEN,
    LABEL_FREE,
    METHODS,
    choose,
)
from spectrawalk.benchmark.page import suite_html
from spectrawalk.benchmark.ranking import Ranking, critical_difference, rank_methods, rank_rows
from spectrawalk.benchmark.scenes import read_folder
from spectrawalk.benchmark.suite import SuiteRow, run_suite
from spectrawalk.benchmark.tables import as_markdown
from spectrawalk.cli import main
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError, FileError

TINY = make_scene((14, 12), n_bands=8, n_classes=2, random_state=0)

BROKEN = """
from spectrawalk.baselines import register


class Broken:
    def __init__(self, n_clusters, random_state):
        pass

    def fit_predict(self, X, mask=None):
        raise RuntimeError("no such luck")


register("broken", Broken)
"""

PATIENT = """
import time
from pathlib import Path

import numpy as np

from spectrawalk.baselines import register


class Patient:
    def __init__(self, n_clusters, random_state):
        pass

    def fit_predict(self, X, mask=None):
        if X.shape[0] != 24 and not Path(__file__).with_name("go").exists():
            time.sleep(120)
        return np.zeros(X.shape[:2], dtype=int)


register("patient", Patient)
"""


def write_scene_and_truth(folder, name, scene=TINY):
    folder.mkdir(exist_ok=True)
    np.save(folder / f"{name}.npy", scene.cube)
    np.save(folder / f"{name}_gt.npy", scene.ground_truth)


def row(scene, method, oa, *, way=GIVEN, choice=LABEL_FREE, note=""):
    scores = {} if oa is None else dict.fromkeys(("oa", "aa", "kappa", "nmi", "ari", "purity"), oa)
    return SuiteRow(
        scene, method, method.upper(), way, choice, scores=scores, n_seeds=int(oa is not None),
        n_classes=3, n_clusters=() if oa is None else (4,), note=note,
    )  # fmt: skip


TWO_ALIKE = {
    "a": {"spectrawalk": 3, "x": 2, "y": 1},
    "b": {"spectrawalk": 2, "x": 3, "y": 1},
    "c": {"spectrawalk": 1, "x": 2, "y": 3},
}
"""Mean ranks 2, 5/3 and 7/3: Friedman's statistic is 2/3, and p is exp(-1/3)."""


@pytest.fixture
def forget_plugins():
    """Take the methods of plugins out of the registry again."""
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


# ranks


def test_mean_ranks_by_hand():
    # Ranks on the four scenes: x 1 1 2 1, y 2 2.5 1 2, z 3 2.5 3 3.
    scores = {
        "a": {"z": 0.1, "x": 0.9, "y": 0.5},
        "b": {"z": 0.5, "x": 0.9, "y": 0.5},
        "c": {"z": 0.1, "x": 0.8, "y": 0.9},
        "d": {"z": -np.inf, "x": 0.3, "y": 0.2},
    }
    found = rank_methods(scores)
    assert found.methods == ("x", "y", "z")
    assert found.mean_ranks == (1.25, 1.875, 2.875)
    # q for three methods is 2.343 (Demsar 2006, table 5).
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), abs=1e-3)
    assert found.groups == [(0, 2)]


def test_groups_are_the_largest_that_cannot_be_told_apart():
    found = Ranking(tuple("wxyz"), (1.0, 2.0, 2.9, 4.1), tuple("abc"), None, 1.5)
    assert found.groups == [(0, 1), (1, 2), (2, 3)]
    assert replace(found, critical_difference=1.1).groups == [(0, 1), (1, 2)]
    assert replace(found, critical_difference=4.0).groups == [(0, 3)]
    assert replace(found, critical_difference=0.5).groups == []


def test_friedman_by_hand():
    # Mean ranks 1, 2 and 3 on four scenes: the statistic is 8, with 2 degrees of freedom.
    found = rank_methods({scene: {"x": 3.0, "y": 2.0, "z": 1.0} for scene in "abcd"})
    assert found.p_value == pytest.approx(np.exp(-8 / 2))


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_the_published_ones(n_methods, q):
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * 30))
    assert critical_difference(n_methods, 30) == pytest.approx(expected, rel=1e-3)


def test_rows_chosen_with_ground_truth_are_in_no_ranking():
    rows = [row(scene, name, oa) for scene in "ab" for name, oa in (("x", 0.8), ("y", 0.6))]
    without = rank_rows(rows, GIVEN)
    chosen = [row(scene, name, 0.99, choice=CHOSEN) for scene in "ab" for name in ("x", "y", "z")]
    assert rank_rows([*chosen, *rows], GIVEN) == without
    assert without.methods == ("x", "y")
    assert rank_rows(chosen, GIVEN) is None
    text = as_markdown([*rows, *chosen])
    label_free, _, rest = text.partition("### a\n")
    assert "Z" not in label_free.partition("### Mean ranks")[2]
    assert rest.index("not comparable") < rest.index("| Z |")


def test_a_failed_method_has_the_last_rank():
    rows = [row("a", "x", 0.5), row("a", "y", None), row("b", "x", 0.5), row("b", "y", 0.9)]
    assert rank_rows(rows, GIVEN).mean_ranks == (1.5, 1.5)


# sentences


def test_findings_say_where_the_default_method_is_best_and_where_not():
    rows = [
        row("first", "spectrawalk", 0.9), row("first", "x", 0.8),
        row("second", "spectrawalk", 0.5), row("second", "x", 0.8), row("second", "y", 0.7),
        row("third", "spectrawalk", 0.5), row("third", "x", 0.5),
        row("fourth", "spectrawalk", None, note="failed: why"), row("fourth", "x", 0.5),
        row("first", "spectrawalk", 0.4, way=FOUND), row("first", "x", 0.3, way=FOUND),
    ]  # fmt: skip
    told = findings(rows[:9])
    assert told[:4] == [
        "K given, first: SPECTRAWALK is the best, with OA 0.900; then X with 0.800.",
        "K given, second: SPECTRAWALK is not the best; it has OA 0.500, and X has 0.800; 1 more "
        "method does better.",
        "K given, third: SPECTRAWALK and X are the best, both with OA 0.500.",
        "K given, fourth: SPECTRAWALK failed: why",
    ]
    assert told[4] == (
        "K given, mean rank over 4 scenes by OA: SPECTRAWALK 1.6 of 2; the best is X with 1.4."
    )
    assert findings(rows[9:])[-1] == (
        "K found, first: SPECTRAWALK is the best, with ARI 0.400 (4 clusters, 3 classes); then X "
        "with 0.300."
    )


def test_findings_say_that_few_scenes_are_weak_evidence():
    names = ("indian-pines", "indian-pines-subset", "samson")
    rows = [row(scene, name, 0.5) for scene in names for name in ("spectrawalk", "x", "y")]
    text = " ".join(findings(rows))
    assert "With 3 scenes this test is weak" in text
    assert "differ by less than 1.9 cannot be told apart" in text  # all tie: no p-value
    rows = [row(scene, name, oa) for scene in "abc" for name, oa in TWO_ALIKE[scene].items()]
    assert "finds no difference between the methods (p = 0.72)" in " ".join(findings(rows))
    assert "a part of Indian Pines" in text


# methods and scenes


def test_every_method_of_the_registry_has_its_place_and_says_how_it_is_set():
    names = [method.name for method in METHODS]
    assert set(method_names()) <= set(names)
    assert len(names) == len(set(names))
    assert all(method.settings for method in METHODS)
    assert all(method.given is not None or method.found for method in METHODS)
    assert [method.name for method in choose("srdl, k-means")] == ["srdl", "k-means"]


@pytest.mark.parametrize("kind", [OwnHDBSCAN, OwnDBSCAN, OwnMeanShift, OwnLeiden])
def test_methods_that_find_k_label_the_valid_pixels(kind):
    scene = make_scene((30, 30), n_bands=10, n_classes=3, mixing=0.1, random_state=1)
    mask = np.ones(scene.shape, dtype=bool)
    mask[:3] = False
    labels = kind().fit_predict(scene.cube, mask=mask)
    assert (labels[~mask] == -1).all()
    assert sorted(np.unique(labels[mask])) == list(range(labels.max() + 1))
    assert (kind().fit_predict(scene.cube, mask=mask) == labels).all()


@pytest.mark.parametrize("kind", [OwnLeiden, Leiden])
def test_leiden_gives_the_same_communities_in_every_call(kind, indian_pines_subset):
    first, second = (kind().fit_predict(indian_pines_subset) for _ in range(2))
    assert (first == second).all()


def test_a_folder_of_cubes_is_read_with_its_ground_truth(tmp_path):
    write_scene_and_truth(tmp_path, "field")
    write_scene_and_truth(tmp_path, "other_corrected")
    (tmp_path / "other_corrected_gt.npy").rename(tmp_path / "other_gt.npy")
    np.save(tmp_path / "alone.npy", TINY.cube)
    assert [scene.name for scene in read_folder(tmp_path)] == ["field", "other"]
    (tmp_path / "field.mat").write_bytes(b"")
    with pytest.raises(FileError, match="one name, so it is not clear which to read"):
        read_folder(tmp_path)


def test_a_folder_that_cannot_be_used_says_why(tmp_path):
    with pytest.raises(FileError, match="is not a folder"):
        read_folder(tmp_path / "nowhere")
    np.save(tmp_path / "field.npy", TINY.cube)
    with pytest.raises(FileError, match=r"call the ground truth of 'scene\.hdr' 'scene_gt\.tif'"):
        read_folder(tmp_path)
    np.save(tmp_path / "field_gt.npy", np.ones((3, 3), dtype=int))
    with pytest.raises(DataError, match=r"has shape \(3, 3\) but the image"):
        read_folder(tmp_path)
    np.save(tmp_path / "field_gt.npy", np.zeros(TINY.shape, dtype=int))
    with pytest.raises(DataError, match="no pixel above 0"):
        read_folder(tmp_path)


# the command


def table(folder):
    with (folder / "suite.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for each in rows:
        del each["seconds"], each["peak_mb"]
    return rows


@pytest.mark.slow
def test_a_method_that_fails_is_a_row_and_a_rerun_gives_the_same_table(here, forget_plugins):
    for name in ("field", "meadow"):
        write_scene_and_truth(here / "mine", name)
    (here / "broken.py").write_text(BROKEN)
    arguments = [
        "benchmark", "--suite", "--scenes", "none", "--cubes", "mine", "--methods",
        "k-means,broken", "--plugin", "broken.py", "--seeds", "1", "-o", "out",
    ]  # fmt: skip
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "suite: K-means on field" in result.stderr
    assert "[3/4]" in result.stderr
    assert "broken on meadow, K given: failed: RuntimeError: no such luck" in result.stdout
    rows = table(here / "out")
    assert [(each["scene"], each["method"]) for each in rows] == [
        ("field", "k-means"), ("field", "broken"), ("meadow", "k-means"), ("meadow", "broken"),
    ]  # fmt: skip
    assert [bool(each["oa"]) for each in rows] == [True, False, True, False]
    page = (here / "out/suite.html").read_text(encoding="utf-8")
    assert "no such luck" in page
    assert re.findall(r'(?:src|href)="(?!data:|#)', page) == []
    assert (here / "out/ranks-k-given.png").read_bytes().startswith(b"\x89PNG")
    markdown = (here / "out/suite.md").read_text(encoding="utf-8")
    assert run(*arguments, "--fresh").exit_code == 0
    assert table(here / "out") == rows
    costs = "### Run time and memory"
    again = (here / "out/suite.md").read_text(encoding="utf-8")
    assert again.partition(costs)[0] == markdown.partition(costs)[0]


@pytest.mark.slow
def test_an_interrupted_suite_goes_on_and_a_run_that_is_too_slow_is_a_row(here, forget_plugins):
    write_scene_and_truth(here / "mine", "field")
    (here / "patient.py").write_text(PATIENT)
    arguments = [
        "benchmark", "--suite", "--scenes", "none", "--cubes", "mine", "--methods",
        "k-means,patient", "--plugin", "patient.py", "--seeds", "1", "-o", "out",
    ]  # fmt: skip
    kept = here / "out/runs/field/k-means-seed0.json"
    process = start(*arguments)
    while not kept.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.5)  # the next run is under way
    os.kill(process.pid, signal.SIGINT)
    code, _, err = finish(process)
    assert code == 130, err
    assert not (here / "out/suite.csv").exists()
    written = kept.stat().st_mtime_ns

    result = run(*arguments, "--time-limit", "4")
    assert result.exit_code == 0, result.output
    why = "failed: it took longer than 4 s and was ended."
    assert [each["note"] for each in table(here / "out")] == ["", why]
    assert f"patient on field, K given: {why}" in result.stdout
    assert kept.stat().st_mtime_ns == written

    (here / "go").touch()  # now it would be quick, but is known to be too slow
    assert run(*arguments, "--time-limit", "4").exit_code == 0
    assert table(here / "out")[1]["note"] == why
    assert run(*arguments, "--time-limit", "60").exit_code == 0  # it has more time
    last = table(here / "out")[1]
    assert (last["note"], last["n_clusters"]) == ("", "1")
    assert kept.stat().st_mtime_ns == written


@pytest.mark.slow
def test_an_oracle_adds_marked_rows_that_are_at_least_as_good(tmp_path, monkeypatch):
    monkeypatch.setitem(CANDIDATES, "dl", ({"n_eigenpairs": 3},))
    rows = run_suite([TINY], choose("dl"), tmp_path, oracle=True)
    assert [(each.way, each.choice) for each in rows] == [
        (GIVEN, LABEL_FREE), (GIVEN, CHOSEN), (FOUND, LABEL_FREE),
    ]  # fmt: skip
    usual, chosen, _ = rows
    assert chosen.scores["oa"] >= usual.scores["oa"]
    assert chosen.settings.endswith("the best of 2 by OA")
    assert len(list((tmp_path / "runs/synthetic").glob("*.json"))) == 3  # the defaults ran once
    page = suite_html(rows, [TINY], {"pavia": "it is far away."}).decode()
    assert "Chosen with ground truth, K given: not comparable" in page
    assert "pavia was left out: it is far away." in page


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["salinas-a", "--suite"], "SCENE cannot be used with --suite"),
        (["--suite", "-k", "3"], "--clusters cannot be used with --suite"),
        (["salinas-a", "--oracle"], "--oracle is for the suite; give --suite too."),
        ([], "Missing argument 'SCENE', or the option --suite."),
        (["--suite", "--scenes", "mars"], "there is no scene 'mars'"),
        (["--suite", "--scenes", "none"], "give --scenes or --cubes"),
        (["--suite", "--methods", "best"], "method 'best' is not known"),
        (["--suite", "--cubes", "nowhere"], "'nowhere' is not a folder"),
        (["--suite", "--cubes", "mine"], "two scenes are called 'samson'"),
    ],
)
def test_wrong_requests_are_refused(here, arguments, why):
    write_scene_and_truth(here / "mine", "samson")
    result = CliRunner().invoke(main, ["benchmark", *arguments, "-o", "out"])
    assert_one_line_error(result.exit_code, result.stderr)
    assert why in result.stderr
    assert not (here / "out").exists()
