"""``spectrawalk demo``: SpectraWalk beside the paper's first experiment, in a minute."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, say, watch
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.run import PAPER_METHODS, Run
from spectrawalk.cli.scene_request import NO_PREPARATION, SceneRequest
from spectrawalk.errors import SceneNotFoundError
from spectrawalk.report.file_names import RESULTS
from spectrawalk.results.captions import describe_settings

if TYPE_CHECKING:
    from spectrawalk import Scene

SCENE, METHOD = "indian-pines-subset", "SpectraWalk"

_FOLDER = "spectrawalk-demo"

_EXAMPLE = """\b
Examples:
  spectrawalk demo
  spectrawalk demo -o my-folder
"""


@click.command(short_help="Cluster a piece of the Indian Pines scene.", epilog=_EXAMPLE)
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Folder for the results. By default {_FOLDER}, which every run overwrites.",
)
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in FOLDER.")
@quiet_option()
def demo(folder: Path | None, overwrite: bool, quiet: bool) -> None:
    """Cluster a piece of the Indian Pines scene with SpectraWalk, and as the paper did.

    Runs SpectraWalk, and SRDL, DLSS and DL with the settings that reproduce the paper. Prints
    their scores beside the paper's, and writes the results of SpectraWalk to FOLDER.
    """
    folder = folder or Path(_FOLDER)
    overwrite = overwrite or folder == Path(_FOLDER)
    with output_folder(folder, RESULTS, overwrite=overwrite):
        _demo(folder, quiet)


def _demo(folder: Path, quiet: bool) -> None:
    import spectrawalk
    from spectrawalk.cli import report
    from spectrawalk.paper.published import PUBLISHED
    from spectrawalk.report.run_folder import write_results
    from spectrawalk.results.result import Result

    console, started = results_console(quiet=quiet), datetime.now(UTC)
    with watch("loading", quiet=quiet):
        estimators = {
            method: getattr(spectrawalk, method).from_paper(SCENE) for method in PAPER_METHODS
        }
        n_clusters = estimators["SRDL"].n_clusters  # the number of classes, as in the paper
        estimators = {METHOD: spectrawalk.SpectraWalk(n_clusters), **estimators}
    run = Run(SceneRequest(SCENE, **NO_PREPARATION), METHOD, estimators[METHOD].get_params())
    with watch("reading", quiet=quiet):
        scene, inputs = _load(run)
    assert scene.ground_truth is not None
    report.describe_scene(console, scene)

    models, scores, clocks = {}, {}, {}
    for method, estimator in estimators.items():
        with watch(method, quiet=quiet) as clocks[method]:
            models[method] = estimator.fit(scene)
        scores[method] = spectrawalk.score(scene.ground_truth, models[method].labels_)
    with watch("writing", quiet=quiet):
        result = Result.of_fit(scene, models[METHOD])
        record = run.record(result, inputs, started, clocks[METHOD])
        files, remarks = write_results(folder, result, record)

    say(console, result.settings)
    say(console, f"with the settings of the paper, {describe_settings(models['SRDL'])}")
    paper = {method: PUBLISHED[method.lower(), SCENE] for method in PAPER_METHODS}
    report.compare_with_paper(console, scores, paper)
    report.describe_clusters(console, result)
    report.describe_time(console, clocks)
    say(console)
    report.describe_files(console, files, remarks)
    say(console)
    say(console, "Open report.html in a browser. Now your own scene:")
    say(console, "  spectrawalk cluster FILE -o FOLDER")


def _load(run: Run) -> tuple[Scene, dict[str, Any]]:
    try:
        return run.load()
    except SceneNotFoundError as error:
        raise SceneNotFoundError(
            f"{str(error).rstrip('.')}; or, more simply, let `pip install "
            '"spectrawalk[demo]"` bring it along.'
        ) from error
