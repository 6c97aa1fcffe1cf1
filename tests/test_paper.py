"""The paper's table and figures, remade: runs, rows, colours, sweeps, readings."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spectrawalk import DLSS, SRDL, Scene, score
from spectrawalk.baselines import METHODS, make_method
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError, FileError, ParameterError, SceneNotFoundError
from spectrawalk.paper import figures, readings, sweep_figures, sweeps
from spectrawalk.paper.heatmap import draw_table
from spectrawalk.paper.plugins import load_plugins
from spectrawalk.paper.published import METHOD_TITLES, PUBLISHED, SCENE_TITLES
from spectrawalk.paper.runs import Job, MethodRun, choose_methods, plan_jobs, run_jobs
from spectrawalk.paper.settings import choose_scenes, paper_settings
from spectrawalk.paper.table import COLUMNS, as_markdown, as_records, paper_rows, sum_up
from spectrawalk.results.palette import NO_DATA, cluster_colors

DOCS = Path(__file__).parent.parent / "docs" / "reproduction.md"

MINE = """
import os, signal
import numpy as np
from spectrawalk.baselines import register

class Mine:
    def __init__(self, n_clusters, random_state, trick=""):
        self.n_clusters, self.trick = n_clusters, trick

    def fit_predict(self, cube, mask=None):
        if cube.shape[0] == 24:  # the warm-up before the clock starts
            return np.zeros(cube.shape[:2], dtype=int)
        if self.trick == "large":
            assert np.ones(60_000_000).sum() > 0  # 480 MB
        if self.trick == "raise":
            raise ValueError("no luck\\ntoday")
        if self.trick == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trick == "shape":
            return np.zeros(3, dtype=int)
        if self.trick == "floats":
            return np.zeros(cube.shape[:2])
        return (np.arange(cube[..., 0].size) % self.n_clusters).reshape(cube.shape[:2])

register("mine", Mine)
"""


@pytest.fixture(scope="module")
def scene():
    return make_scene((20, 18), n_bands=10, n_classes=3, random_state=2)


@pytest.fixture(autouse=True)
def _methods_stay_as_they_were():
    before = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(before)


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def run_mine(scene, folder, plugin, trick):
    job = Job("mine", 0, {"n_clusters": 3, "random_state": 0, "trick": trick})
    [run] = run_jobs(scene, [job], folder, plugins=[plugin])
    return run


# What the paper printed


def test_the_printed_table_is_whole_and_in_the_order_of_the_methods():
    assert list(METHOD_TITLES) == list(METHODS)[:14]
    assert set(PUBLISHED) == {(method, scene) for method in METHOD_TITLES for scene in SCENE_TITLES}
    assert PUBLISHED["hnmf", "indian-pines-subset"] == (0.41, 0.32, -0.02)
    assert PUBLISHED["fms", "salinas-a"] == (0.70, 0.81, 0.65)
    assert PUBLISHED["srdl", "ksc-subset"] == (0.85, 0.75, 0.79)


def test_methods_and_scenes_are_chosen_by_name():
    assert choose_methods("all")[:14] == list(METHOD_TITLES)
    assert choose_methods(" srdl,sc ,srdl") == ["srdl", "sc"]
    for wrong in ("sc,kmeans", "", ","):
        with pytest.raises(ParameterError, match="choose all, or from k-means, pca, ica"):
            choose_methods(wrong)
    with pytest.raises(SceneNotFoundError, match="indian-pines-subset, salinas-a, ksc-subset"):
        choose_scenes("samson")


def test_only_methods_with_chance_in_them_have_several_seeds():
    jobs = plan_jobs(["sc", "srdl", "mine"], 3, 4, {"srdl": {"radius": 5, "random_state": None}})
    assert [(job.method, job.seed) for job in jobs] == [
        *(("sc", seed) for seed in range(4)),
        ("srdl", 0),
        *(("mine", seed) for seed in range(4)),  # nobody knows
    ]
    assert jobs[0].parameters == {"n_clusters": 3, "random_state": 0}
    assert jobs[4].parameters == {"n_clusters": 3, "radius": 5, "random_state": 0}


# Runs


def test_a_run_gives_what_the_method_gives(scene, tmp_path):
    jobs = plan_jobs(["k-means", "dl"], 3, 2, {"dl": {"n_neighbors": 20, "n_eigenpairs": 5}})
    runs = list(run_jobs(scene, jobs, tmp_path))
    assert [(run.method, run.seed) for run in runs] == [("k-means", 0), ("k-means", 1), ("dl", 0)]
    for job, run in zip(jobs, runs, strict=True):
        labels = make_method(job.method, **job.parameters).fit_predict(scene)
        np.testing.assert_array_equal(run.labels, labels)
        expected = score(scene.ground_truth, labels)
        assert (run.oa, run.aa, run.kappa) == (expected.oa, expected.aa, expected.kappa)
        assert run.n_clusters == run.n_wanted == 3
        assert 0 < run.seconds < 30
        assert run.peak_mb > 50


def test_what_is_done_is_not_done_again(scene, tmp_path):
    jobs = plan_jobs(["hnmf"], 3, 1)
    [first] = run_jobs(scene, jobs, tmp_path)
    [again] = run_jobs(scene, jobs, tmp_path)
    assert again == first  # the measured seconds too, to the last digit
    np.testing.assert_array_equal(again.labels, first.labels)
    [fresh] = run_jobs(scene, jobs, tmp_path, fresh=True)
    assert fresh.seconds != first.seconds
    assert replace(fresh, seconds=0, peak_mb=0) == replace(first, seconds=0, peak_mb=0)
    assert sorted(file.name for file in (tmp_path / "runs/synthetic").iterdir()) == [
        "hnmf-seed0.json",
        "hnmf-seed0.npy",
    ]


@pytest.mark.slow
def test_runs_of_other_settings_data_or_code_are_not_taken(scene, tmp_path, plugin):
    first = run_mine(scene, tmp_path, plugin, "")
    assert run_mine(scene, tmp_path, plugin, "").seconds == first.seconds
    assert run_mine(scene, tmp_path, plugin, "other settings").seconds != first.seconds
    second = run_mine(scene, tmp_path, plugin, "")
    flipped = replace(scene, ground_truth=scene.ground_truth[::-1])
    assert run_mine(flipped, tmp_path, plugin, "").seconds != second.seconds
    third = run_mine(scene, tmp_path, plugin, "")
    plugin.write_text(MINE + "\n# mended\n")
    assert run_mine(scene, tmp_path, plugin, "").seconds != third.seconds


@pytest.mark.slow
def test_a_damaged_record_is_done_again(scene, tmp_path, plugin):
    first = run_mine(scene, tmp_path, plugin, "")
    record, labels = (tmp_path / f"runs/synthetic/mine-seed0.{end}" for end in ("json", "npy"))
    for spoil in (
        lambda: record.write_text("{"),
        lambda: record.write_text("[]"),
        lambda: record.write_text(json.dumps(json.loads(record.read_text()) | {"extra": 1})),
        lambda: labels.write_bytes(labels.read_bytes()[:50]),
        labels.unlink,
    ):
        spoil()
        run = run_mine(scene, tmp_path, plugin, "")
        assert (run.oa, run.error) == (first.oa, "")
        np.testing.assert_array_equal(run.labels, first.labels)


@pytest.mark.parametrize(
    ("trick", "sentence"),
    [
        ("raise", "ValueError: no luck"),
        ("die", "ended by signal 9"),
        ("shape", "labels of shape (3,) for an image of shape (20, 18)"),
        ("floats", "labels of type float64"),
    ],
)
def test_a_method_that_fails_says_why(scene, tmp_path, plugin, trick, sentence):
    run = run_mine(scene, tmp_path, plugin, trick)
    assert sentence in run.error
    assert math.isnan(run.oa)
    assert not list((tmp_path / "runs/synthetic").iterdir())  # to be tried again


def test_a_failure_of_the_package_is_its_own_sentence_and_the_others_go_on(scene, tmp_path):
    jobs = [
        *plan_jobs(["dl"], 3, 1, {"dl": {"sigma": -1}}),
        *plan_jobs(["nobody"], 3, 1),
        *plan_jobs(["hnmf"], 3, 1),
    ]
    wrong, unknown, good = run_jobs(scene, jobs, tmp_path)
    assert wrong.error == "sigma=-1 cannot be used; give a finite number above 0."
    assert "method 'nobody' is not known; choose one of k-means" in unknown.error
    assert good.error == ""


@pytest.mark.slow
def test_the_peak_is_that_of_the_run_itself(scene, tmp_path, plugin):
    ballast = np.ones(40_000_000)  # 320 MB in this process must not count
    large = run_mine(scene, tmp_path, plugin, "large").peak_mb
    small = run_mine(scene, tmp_path, plugin, "").peak_mb
    assert ballast.any()
    assert 450 < large - small < 520
    assert small < 300


def test_a_scene_without_ground_truth_is_refused(tmp_path):
    with pytest.raises(DataError, match="no ground truth"):
        list(run_jobs(Scene(np.ones((4, 4, 3))), plan_jobs(["hnmf"], 2, 1), tmp_path))


def test_masked_pixels_have_no_label(scene, tmp_path):
    mask = np.ones(scene.shape, dtype=bool)
    mask[:3] = False
    [run] = run_jobs(replace(scene, mask=mask), plan_jobs(["k-means"], 3, 1), tmp_path)
    np.testing.assert_array_equal(run.labels >= 0, mask)


def test_a_plugin_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(FileError, match=r"nothing\.py' is not a Python file"):
        load_plugins([tmp_path / "nothing.py"])
    broken = tmp_path / "broken.py"
    broken.write_text("import nowhere_to_be_found")
    with pytest.raises(FileError, match=r"broken\.py' cannot be run .*nowhere_to_be_found"):
        load_plugins([broken])


# Rows


def made_up(method="sc", seeds=(0.2, 0.4), **more):
    scores = {"aa": 0.5, "kappa": 0.1, "seconds": 1.0, "peak_mb": 100.0, "n_clusters": 3} | more
    return [
        MethodRun(method, "salinas-a", seed, 3, oa=oa, **scores) for seed, oa in enumerate(seeds)
    ]


def test_rows_have_mean_and_spread_over_seeds():
    [row] = paper_rows(made_up())
    assert row.mean == pytest.approx((0.3, 0.5, 0.1))
    assert row.spread == pytest.approx((0.1 * 2**0.5, 0, 0))
    assert row.difference == pytest.approx((0.3 - 0.83, 0.5 - 0.88, 0.1 - 0.80))
    assert (row.n_seeds, row.seconds, row.peak_mb) == (2, 1.0, 100.0)
    [alone] = sum_up(made_up(seeds=(0.2,)))
    assert alone.spread == (0, 0, 0)
    assert alone.paper is None


def test_records_have_all_columns_and_empty_cells_where_nothing_is_known():
    failed = MethodRun("gmm", "salinas-a", 0, 3, error="it went wrong.")
    good, bad = as_records(paper_rows([*made_up(), failed]))
    assert tuple(good) == tuple(bad) == COLUMNS
    assert COLUMNS[:6] == ("method", "scene", "oa", "aa", "kappa", "paper_oa")
    assert COLUMNS[-2:] == ("seconds", "peak_mb")
    assert good["oa"] == "0.300000"
    assert good["paper_oa"] == "0.83"
    assert good["sd_oa"] == "0.141421"
    assert (bad["oa"], bad["seconds"], bad["n_seeds"]) == ("", "", 0)
    assert bad["paper_kappa"] == "0.55"
    assert bad["note"] == "failed: it went wrong."


def test_a_method_that_fails_with_some_seeds_has_the_mean_of_the_others():
    runs = [*made_up(seeds=(0.2, 0.4)), MethodRun("sc", "salinas-a", 2, 3, error="no.")]
    [row] = sum_up(runs)
    assert row.mean.oa == pytest.approx(0.3)
    assert row.note == "failed with 1 of 3 seeds: no."


def test_the_markdown_says_what_it_shows():
    runs = [
        *made_up("sc", (0.8,)),
        *made_up("dl", (0.5,), n_clusters=2),
        MethodRun("gmm", "salinas-a", 0, 3, error="it went wrong."),
    ]
    text = as_markdown(paper_rows(runs), missing=["ksc-subset"])
    assert "| SC | 0.800 | 0.500 | 0.100 | 0.83 / 0.88 / 0.80 | -0.03 / -0.38 / -0.70 |" in text
    assert "| GMM | - | - | - | 0.64 / 0.61 / 0.55 | - | 0 | - | - |" in text
    assert "- Highest OA: SC with 0.800, then DL with 0.500." in text
    assert (
        "- 1 of 2 methods are within 0.10 of the paper's OA, 0 of them within 0.02; not within "
        "0.10: DL (-0.33)."
    ) in text
    assert "- GMM failed: it went wrong." in text
    assert "- DL found 2 clusters, and 3 were asked for." in text
    assert re.search(r"### Kennedy Space Center subset\s+Not measured: ", text)
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_without_the_paper_its_columns_are_left_out():
    text = as_markdown(sum_up(made_up()))
    assert "paper" not in text
    assert "0.300 ± 0.141" in text


def test_the_heat_map_shows_every_number():
    failed = MethodRun("gmm", "salinas-a", 0, 3, error="no.")
    figure = draw_table(paper_rows([*made_up(), failed]))
    measured, difference = figure.axes
    assert [text.get_text() for text in measured.texts] == ["0.30", "0.50", "0.10", *["failed"] * 3]
    assert [text.get_text() for text in difference.texts][:3] == ["-0.53", "-0.38", "-0.70"]
    assert [tick.get_text() for tick in measured.get_yticklabels()] == ["SC", "GMM"]


# Figures


def test_a_cluster_has_the_colour_of_its_class():
    truth = np.array([[5, 5, 9, 9, 0, 0]])
    labels = np.array([[2, 2, 0, 0, 1, -1]])
    scene = Scene(np.ones((1, 6, 2)), ground_truth=truth)
    of_class = figures.colors_of_classes(scene)
    assert of_class == dict(zip((5, 9), map(tuple, cluster_colors(2).tolist()), strict=True))
    image = figures.paint_by_class(scene, labels, of_class)
    expected = [of_class[5]] * 2 + [of_class[9]] * 2 + [tuple(cluster_colors(3)[2]), NO_DATA]
    assert [tuple(color) for color in image[0].tolist()] == expected


def test_neighbors_are_the_nearest_spectra(scene):
    spectra = scene.cube.astype(float) / np.linalg.norm(scene.cube, axis=2, keepdims=True)
    d2 = ((spectra - spectra[7, 8]) ** 2).sum(axis=2)
    d2[7, 8] = np.inf
    rows, cols = np.indices(scene.shape)
    near = np.maximum(abs(rows - 7), abs(cols - 8)) <= 4
    for radius, allowed in ((None, np.isfinite(d2)), (4, near)):
        ranked = np.sort(np.where(allowed, d2, np.inf).ravel())
        found = figures.neighbors_of(scene, (7, 8), 15, radius)
        np.testing.assert_array_equal(found, allowed & (d2 <= ranked[14]))


def test_label_maps_show_every_method_and_the_ground_truth(scene):
    labels = scene.ground_truth.astype(np.int32) - 1
    good = MethodRun("hnmf", "synthetic", 0, 3, oa=1.0, n_clusters=3, labels=labels)
    failed = MethodRun("gmm", "synthetic", 0, 3, error="no.")
    figure = figures.draw_label_maps(scene, [good, failed])
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == ["HNMF\nOA 1.00", "GMM\nfailed", "Ground truth"]
    drawn, _, truth, *_ = figure.axes
    np.testing.assert_array_equal(drawn.images[0].get_array(), truth.images[0].get_array())
    [legend] = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["class 1", "class 2", "class 3"]


def test_the_neighbours_figure_marks_the_pixel_and_the_window(scene):
    figure = figures.draw_neighbors(scene, (7, 8), k=15, radius=4)
    *_, everywhere, window = figure.axes
    for ax in (everywhere, window):
        yellow = (ax.images[0].get_array() == figures._YELLOW).all(axis=2)
        assert yellow.sum() == 15
        assert [line.get_xydata().tolist() for line in ax.lines] == [[[8, 7]]]
    [frame] = window.patches
    assert (frame.get_x(), frame.get_y(), frame.get_width()) == (3.5, 2.5, 9)


# Sweeps


def test_a_sweep_gives_what_the_estimator_gives(indian_pines_subset):
    settings = [(10, 30.0), (5, 3.0)]
    points = sweeps.sweep(indian_pines_subset, 3, [6, 8], settings)
    assert len(points) == 8
    for point in points:
        model = SRDL(
            n_clusters=3,
            radius=point.radius,
            symmetrize=sweeps.GRAPHS[point.graph],
            n_eigenpairs=point.n_eigenpairs,
            time=point.time,
        ).fit(indian_pines_subset)
        expected = score(indian_pines_subset.ground_truth, model.labels_)
        assert point.oa == pytest.approx(expected.oa, abs=0.002)
        assert point.kappa == pytest.approx(expected.kappa, abs=0.004)


def test_the_grids_cross_at_the_usual_setting():
    settings = sweeps.grid_settings(7, 30.0)
    assert settings.count((7, 30.0)) == 1
    assert {M for M, t in settings if t == 30.0} == {*sweeps.EIGENPAIRS, 7}
    assert {t for M, t in settings if M == 7} == set(sweeps.TIMES)


def point(graph, radius, n_eigenpairs, time, oa):
    return sweeps.Point(graph, radius, n_eigenpairs, time, oa, oa - 0.1, oa - 0.2)


def test_radius_curves_show_both_graphs_and_the_papers_radius():
    points = [
        point(graph, radius, 10, 30.0, radius / 20)
        for graph in ("symmetric", "directed")
        for radius in (8, 4)
    ]
    points.append(point("symmetric", 6, 5, 30.0, 0.9))  # of another M: not drawn
    [ax] = sweep_figures.draw_radius("indian-pines-subset", points, 10, 30.0).axes
    curves = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert curves["OA, symmetric graph"] == [[4, 0.2], [8, 0.4]]
    assert len(curves) == 7
    assert curves["the paper's r = 8"][0][0] == 8


def test_grids_put_each_value_into_its_cell():
    points = [
        point(graph, radius, M, 30.0, radius / 100 + M / 10)
        for graph in ("symmetric", "directed")
        for radius in (8, 4)
        for M in (5, 3)
    ]
    figure = sweep_figures.draw_grid("indian-pines-subset", points, "n_eigenpairs", 30.0, usual=5)
    for ax in figure.axes:
        np.testing.assert_allclose(ax.images[0].get_array(), [[0.34, 0.54], [0.38, 0.58]])
        [frame] = ax.patches
        assert (frame.get_x(), frame.get_y()) == (0.5, 0.5)
    assert "t = 30" in figure.get_suptitle()


# Readings


def test_one_reading_of_dlss_beats_srdl(indian_pines_subset):
    found = readings.score_readings(indian_pines_subset)
    assert len(found) == 2 * (12 + 12 + 1)
    chosen = {each.method: each for each in found if each.chosen}
    assert sum(each.chosen for each in found) == 3
    expected = score(
        indian_pines_subset.ground_truth,
        DLSS.from_paper("indian-pines-subset").fit_predict(indian_pines_subset),
    )
    assert chosen["DLSS"].oa == expected.oa
    best = max(each.oa for each in found if each.method == "DLSS")
    assert best > chosen["SRDL"].oa
    sentences = "\n".join(readings.remarks(found))
    assert re.search(rf"interpretations of DLSS have a higher OA than SRDL .*{best:.3f}", sentences)


# The documentation


def documented_rows():
    """OA, AA and kappa of each method on the Indian Pines subset, as the docs have it."""
    text = DOCS.read_text(encoding="utf-8")
    section = text.split("### Indian Pines subset")[1].split("###")[0]
    names = {title: method for method, title in METHOD_TITLES.items()}
    rows = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in names:
            rows[names[cells[0]]] = [float(cell.split(" ")[0]) for cell in cells[1:4]]
    return rows


@pytest.mark.parametrize("method", ["k-means", "hnmf", "fsfdpc", "dl", "dlss", "srdl"])
def test_the_documented_table_is_what_the_code_gives(method, indian_pines_subset):
    rows = documented_rows()
    assert list(rows) == list(METHOD_TITLES)
    seeds = 10 if method == "k-means" else 1
    jobs = plan_jobs([method], 3, seeds, paper_settings("indian-pines-subset"))
    found = []
    for job in jobs:
        labels = make_method(method, **job.parameters).fit_predict(indian_pines_subset)
        result = score(indian_pines_subset.ground_truth, labels)
        found.append((result.oa, result.aa, result.kappa))
    np.testing.assert_allclose(np.mean(found, axis=0), rows[method], atol=0.0011)


def test_k_means_gives_the_papers_row():
    np.testing.assert_allclose(documented_rows()["k-means"], (0.43, 0.38, 0.09), atol=0.01)
