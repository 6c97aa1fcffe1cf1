"""Output files of the commands: tables and figures from scenes and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from spectrawalk.datasets import load_scene
from spectrawalk.errors import SceneNotFoundError
from spectrawalk.io.text_file import write_csv, write_text
from spectrawalk.paper import figures, readings, sweep_figures, sweeps, table
from spectrawalk.paper.heatmap import draw_table
from spectrawalk.paper.published import METHOD_TITLES
from spectrawalk.paper.runs import MethodRun, plan_jobs, run_jobs
from spectrawalk.paper.settings import paper_settings
from spectrawalk.report.figures import figure_and_patch, save_figure
from spectrawalk.scene import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Written = list[tuple[Path, str]]
"""Files, each with a short description."""

TABLE = "table"
READINGS = "readings"


def find_scenes(names: Sequence[str]) -> tuple[list[Scene], dict[str, str]]:
    """Load scenes. Missing scenes are returned by name with the reason."""
    scenes, missing = [], {}
    for name in names:
        try:
            scenes.append(load_scene(name))
        except SceneNotFoundError as error:
            missing[name] = str(error)
    if not scenes:
        raise SceneNotFoundError(" ".join(missing.values()))
    return scenes, missing


def run_paper_methods(
    scene: Scene, methods: Sequence[str], n_seeds: int, folder: Path, *, fresh: bool = False
) -> list[MethodRun]:
    """Run methods on one of the paper's scenes, SRDL, DLSS and DL with the paper's settings."""
    settings = paper_settings(scene.name)
    jobs = plan_jobs(methods, settings["srdl"]["n_clusters"], n_seeds, settings)
    return list(run_jobs(scene, jobs, folder, fresh=fresh))


def write_table(
    rows: Sequence[table.Row], missing: Sequence[str], folder: Path
) -> tuple[Written, list[str]]:
    """Write a table as Markdown, as comma-separated values and, with matplotlib, as a heat map.

    Returns the files, and a remark for each file that was not written.
    """
    markdown, values, picture = (folder / f"{TABLE}.{end}" for end in ("md", "csv", "png"))
    write_text(markdown, table.as_markdown(rows, missing))
    write_csv(values, table.COLUMNS, table.as_records(rows))
    written = [(markdown, "the table as Markdown"), (values, "the table as comma-separated values")]
    if not find_spec("matplotlib"):
        return written, [
            f"{picture.name} was not written, because matplotlib is missing; install it with "
            '`pip install "spectrawalk[figures]"`.'
        ]
    save_figure(draw_table(rows), picture)
    return [*written, (picture, "the table as a heat map")], []


def write_readings(scenes: Sequence[Scene], folder: Path) -> tuple[Written, list[str]]:
    """Score every interpretation of the paper on its scenes, and write the list.

    Returns the files, and a summary in sentences.
    """
    found = [each for scene in scenes for each in readings.score_readings(scene)]
    markdown, values = (folder / f"{READINGS}.{end}" for end in ("md", "csv"))
    write_text(markdown, readings.as_markdown(found))
    rows = [asdict(each) for each in found]
    for row in rows:
        row |= {name: f"{row[name]:.6f}" for name in table.SCORES}
    write_csv(values, readings.COLUMNS, rows)
    sentences = []
    for scene in scenes:
        of_scene = [each for each in found if each.scene == scene.name]
        sentences += [f"{scene.name}: {sentence}" for sentence in readings.remarks(of_scene)]
    written = [
        (markdown, "all interpretations as Markdown"),
        (values, "all interpretations as comma-separated values"),
    ]
    return written, sentences


def write_figures(
    scenes: Sequence[Scene], folder: Path, *, fresh: bool = False
) -> tuple[Written, list[str]]:
    """Draw every figure of the paper for the available scenes, and additional parameter grids.

    Label maps are from runs with seed 0. Runs in `folder` are reused.
    Returns the files, and a sentence for each run that failed.
    """
    figure_and_patch()  # raises an error now if matplotlib is missing
    written: Written = []
    failures: list[str] = []
    for scene in scenes:
        written += _write_pictures_of(scene, folder)
        runs = run_paper_methods(scene, list(METHOD_TITLES), 1, folder, fresh=fresh)
        failures += [f"{scene.name}: {run.method} failed: {run.error}" for run in runs if run.error]
        maps = figures.draw_label_maps(scene, runs)
        written.append(_save(maps, folder / f"labels-{scene.name}", "label maps of all methods"))
        written += _write_sweep(scene, folder)
    return written, failures


def _write_pictures_of(scene: Scene, folder: Path) -> Written:
    name = scene.name
    what = "first principal component and ground truth"
    written = [_save(figures.draw_scene(scene), folder / f"scene-{name}", what)]
    if name == "salinas-a":
        what = "neighbours of a pixel, with and without the window"
        written.append(_save(figures.draw_neighbors(scene), folder / f"neighbours-{name}", what))
    return written


def _write_sweep(scene: Scene, folder: Path) -> Written:
    name, settings = scene.name, paper_settings(scene.name)["srdl"]
    M, t = settings["n_eigenpairs"], float(settings["time"])
    points = sweeps.sweep(scene, settings["n_clusters"], settings=sweeps.grid_settings(M, t))
    numbers = folder / f"sweep-{name}.csv"
    write_csv(numbers, sweeps.COLUMNS, sweeps.as_records(points))
    curves = sweep_figures.draw_radius(name, points, M, t)
    over_pairs = sweep_figures.draw_grid(name, points, "n_eigenpairs", fixed=t, usual=M)
    over_times = sweep_figures.draw_grid(name, points, "time", fixed=M, usual=t)
    return [
        (numbers, "the values of the next three figures"),
        _save(curves, folder / f"radius-{name}", "accuracy against the radius"),
        _save(over_pairs, folder / f"grid-r-M-{name}", "OA over radius and eigenpairs"),
        _save(over_times, folder / f"grid-r-t-{name}", "OA over radius and time"),
    ]


def _save(figure: Figure, stem: Path, what: str) -> tuple[Path, str]:
    path = stem.with_name(f"{stem.name}.png")
    save_figure(figure, path)
    return path, what
