"""``spectrawalk benchmark``: all methods, and one's own, on one's own scene or on many."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectrawalk.cli.benchmark_suite import (
    check_suite_options,
    run_benchmark_suite,
    suite_options,
)
from spectrawalk.cli.console import results_console
from spectrawalk.cli.counting import count_runs
from spectrawalk.cli.naming import naming
from spectrawalk.cli.options import FileName
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.reproduce import (
    fresh_option,
    methods_option,
    shared_options,
    show_cost,
    show_files,
    show_rows,
)
from spectrawalk.cli.scene_request import SceneRequest
from spectrawalk.errors import DataError, ParameterError

if TYPE_CHECKING:
    from spectrawalk import Scene

_SEEDS = 10

_EXAMPLES = """\b
Examples:
  spectrawalk benchmark salinas-a --methods k-means,sc,srdl -o salinas
  spectrawalk benchmark field.npy --ground-truth classes.npy -o field
  spectrawalk benchmark field.npy --ground-truth classes.npy -o field \\
      --methods k-means,srdl,mine --plugin mine.py
  spectrawalk benchmark --suite -o suite
  spectrawalk benchmark --suite --scenes none --cubes my-scenes -o suite
"""


@click.command(short_help="Compare methods on scenes with ground truth.", epilog=_EXAMPLES)
@click.argument("scene", metavar="[SCENE]", type=FileName(), required=False)
@click.option(
    "--ground-truth",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Class of each pixel, 0 where unknown; not needed for published scenes.",
)
@shared_options
@methods_option
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=click.IntRange(min=1),
    metavar="K",
    help="Number of clusters; by default as many as there are classes.",
)
@click.option(
    "--seeds",
    "n_seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Random seeds over which the scores of randomised methods are averaged; 10 by default, "
    "3 with --suite.",
)
@click.option("--variable", metavar="NAME", help="Cube to read, in a file with several arrays.")
@click.option(
    "--ground-truth-variable",
    metavar="NAME",
    help="Ground truth to read, in a file with several arrays.",
)
@click.option(
    "--plugin",
    "plugins",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE.py",
    help="Python file that registers a method; may be given several times.",
)
@fresh_option
@suite_options
@click.pass_context
def benchmark(
    context: click.Context,
    scene: str | None,
    ground_truth: Path | None,
    folder: Path,
    methods: str,
    n_clusters: int | None,
    n_seeds: int | None,
    variable: str | None,
    ground_truth_variable: str | None,
    plugins: tuple[Path, ...],
    fresh: bool,
    suite: bool,
    scenes: str,
    cubes: Path | None,
    oracle: bool,
    time_limit: float,
    quiet: bool,
) -> None:
    """Run methods on SCENE, or on many scenes, and compare their labels with the ground truth.

    SCENE is an image in any format that `cluster` reads, or the name of a published scene. All
    methods run with their defaults. Ground truth is used for the scores, and for the number of
    clusters. Writes table.md, table.csv and table.png to FOLDER.

    With --suite, all methods run on all published scenes on this computer, and on your own in the
    folder of --cubes: with K given, and, if they can, with K found. Writes suite.html, with maps
    side by side and mean ranks, suite.md, suite.csv and pictures of the ranks. An interrupted
    suite goes on where it stopped if you start it again with the same FOLDER.

    Add a method of your own with --plugin, or as an entry point of an installed package.
    """
    check_suite_options(context, suite=suite)
    if suite:
        run_benchmark_suite(
            folder,
            methods=methods,
            scenes=scenes,
            cubes=cubes,
            n_seeds=n_seeds,
            oracle=oracle,
            time_limit=time_limit,
            plugins=plugins,
            fresh=fresh,
            quiet=quiet,
        )
    elif scene is None:
        raise click.UsageError("Missing argument 'SCENE', or the option --suite.", context)
    else:
        _run_on_one(
            scene,
            folder,
            truth=(ground_truth, ground_truth_variable),
            methods=methods,
            n_clusters=n_clusters,
            n_seeds=n_seeds or _SEEDS,
            variable=variable,
            plugins=plugins,
            fresh=fresh,
            quiet=quiet,
        )


def _run_on_one(
    scene: str,
    folder: Path,
    *,
    truth: tuple[Path | None, str | None],
    methods: str,
    n_clusters: int | None,
    n_seeds: int,
    variable: str | None,
    plugins: tuple[Path, ...],
    fresh: bool,
    quiet: bool,
) -> None:
    """Run methods on one scene and write its table."""
    from spectrawalk.paper.plugins import load_plugins
    from spectrawalk.paper.products import write_table
    from spectrawalk.paper.runs import choose_methods, plan_jobs, run_jobs
    from spectrawalk.paper.table import sum_up

    load_plugins(plugins)
    chosen = choose_methods(methods)
    with naming(variable="--variable"):
        image = SceneRequest(scene, variable=variable).read()
    with naming(variable="--ground-truth-variable"):
        found = _with_ground_truth(image, *truth)
    assert found.ground_truth is not None
    n_classes = len(set(found.ground_truth[found.ground_truth > 0].tolist()))
    console, start = results_console(quiet=quiet), time.perf_counter()
    with output_folder(folder, [], overwrite=True), count_runs("benchmark", quiet=quiet):
        jobs = plan_jobs(chosen, n_clusters or n_classes, n_seeds)
        rows = sum_up(run_jobs(found, jobs, folder, fresh=fresh, plugins=plugins))
        files, remarks = write_table(rows, [], folder)
    show_rows(console, rows)
    show_cost(console, rows, time.perf_counter() - start)
    show_files(console, files, remarks)


def _with_ground_truth(scene: Scene, path: Path | None, variable: str | None) -> Scene:
    """Give the scene the ground truth of a file, or let it keep its own."""
    from spectrawalk.io import read_ground_truth

    if path is None:
        if variable is not None:
            raise ParameterError(
                f"--ground-truth-variable={variable} needs a file; give --ground-truth too."
            )
        if scene.ground_truth is None:
            raise ParameterError(
                f"'{scene.name}' comes without ground truth; give a file with the class of each "
                "pixel as --ground-truth."
            )
        return scene
    truth = read_ground_truth(path, variable=variable)
    if truth.shape != scene.shape:
        raise DataError(
            f"the ground truth '{path}' has shape {truth.shape} but the image of '{scene.name}' "
            f"is {scene.shape}; give one class per pixel, rows first."
        )
    if not (truth > 0).any():
        raise DataError(f"the ground truth '{path}' has no pixel above 0; check the file.")
    return replace(scene, ground_truth=truth, class_names={})
