"""``spectrawalk demo``: the paper's first experiment, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectrawalk.captions import describe_settings
from spectrawalk.cli.console import results_console, say, watch
from spectrawalk.cli.outputs import RESULTS, output_folder, write_results
from spectrawalk.errors import SceneNotFoundError

if TYPE_CHECKING:
    from spectrawalk import Scene

SCENE = "indian-pines-subset"
PAPER = {"SRDL": (0.89, 0.92, 0.83), "DLSS": (0.85, 0.82, 0.75), "DL": (0.67, 0.62, 0.44)}
"""OA, AA and kappa in the table of the paper."""

_FOLDER = "spectrawalk-demo"

_EXAMPLE = """\b
Example:
  spectrawalk demo
  spectrawalk demo -o my-folder
"""


@click.command(epilog=_EXAMPLE)
@click.option(
    "-o",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Folder for the results. By default {_FOLDER}, which is written anew on every run.",
)
@click.option("--overwrite", is_flag=True, help="Replace results that are in FOLDER already.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def demo(folder: Path | None, overwrite: bool, quiet: bool) -> None:
    """Cluster a piece of the Indian Pines scene as the paper did.

    Runs SRDL and the two methods it grew out of, DLSS and DL, with the settings that reproduce the
    paper, prints their scores beside the paper's, and writes the labels and a picture of what SRDL
    found.
    """
    folder = folder or Path(_FOLDER)
    overwrite = overwrite or folder == Path(_FOLDER)
    with output_folder(folder, RESULTS, overwrite=overwrite):
        _demo(folder, quiet)


def _demo(folder: Path, quiet: bool) -> None:
    import spectrawalk
    from spectrawalk.cli import report

    console = results_console()
    with watch("loading", quiet=quiet):
        learners = {method: getattr(spectrawalk, method) for method in PAPER}
    with watch("reading", quiet=quiet):
        scene = _load_scene()
    assert scene.ground_truth is not None
    report.describe_scene(console, scene)

    models, scores, clocks = {}, {}, {}
    for method, learner in learners.items():
        estimator = learner.from_paper(SCENE)
        with watch(method, quiet=quiet) as clocks[method]:
            models[method] = estimator.fit(scene)
        scores[method] = spectrawalk.score(scene.ground_truth, models[method].labels_)
    with watch("writing", quiet=quiet):
        files, remarks = write_results(folder, scene, models["SRDL"], scores["SRDL"])

    say(console, f"with the settings of the paper, {describe_settings(models['SRDL'])}")
    report.compare_with_paper(console, scores, PAPER)
    report.describe_clusters(console, scene, models["SRDL"], scores["SRDL"])
    report.describe_time(console, clocks)
    say(console)
    report.describe_files(console, files, remarks)
    say(console)
    say(console, "Now your own scene, from a .npy or .mat file of shape (rows, cols, bands):")
    say(console, "  spectrawalk cluster FILE -k auto -o FOLDER")


def _load_scene() -> Scene:
    from spectrawalk.datasets import load_scene

    try:
        return load_scene(SCENE)
    except SceneNotFoundError as error:
        raise SceneNotFoundError(
            f"{str(error).rstrip('.')}; or, more simply, let `pip install "
            '"spectrawalk[demo]"` bring it along.'
        ) from error
