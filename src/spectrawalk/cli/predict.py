"""``spectrawalk predict``: labels for another scene from a saved fit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import StageClock, quiet_option, results_console, say, watch
from spectrawalk.cli.naming import naming, naming_options
from spectrawalk.cli.options import FileName
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.scene_options import pixel_options, reading_options
from spectrawalk.cli.scene_request import SceneRequest
from spectrawalk.errors import FileError
from spectrawalk.report.file_names import MODEL, REPORT, RESULTS
from spectrawalk.results.captions import count

if TYPE_CHECKING:
    from spectrawalk import Scene
    from spectrawalk.estimators.learner import DiffusionLearner
    from spectrawalk.results.result import Result

_EXAMPLES = """\b
Examples:
  spectrawalk cluster field-2019.tif --save-model -o field-2019
  spectrawalk predict field-2019/model.npz field-2020.tif -o field-2020
"""


@click.command(short_help="Label another scene from a saved fit.", epilog=_EXAMPLES)
@click.argument("model_file", metavar="MODEL", type=FileName())
@click.argument("source", metavar="SCENE", type=FileName())
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="Folder for the results; created if it does not exist.",
)
@reading_options
@pixel_options
@click.option("--no-report", is_flag=True, help=f"Leave out {REPORT}, which takes seconds.")
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in FOLDER.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the run as JSON.")
@quiet_option(json=True)
@click.pass_context
def predict(
    context: click.Context,
    model_file: str,
    source: str,
    folder: Path,
    no_report: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Label the pixels of SCENE with the clusters of MODEL and write a map to FOLDER.

    MODEL is what `spectrawalk cluster --save-model` wrote, or the folder that has it. Each pixel
    takes the label of the most similar spectrum of the fit. One that is farther from all of them
    than they are from their own neighbours (99 % of them) is in no cluster: the map marks it
    "unlike the fit". Bands are matched by wavelength, or by their count where wavelengths are not
    known.
    """
    with (
        naming_options(context.command),
        naming(**{"model.save": "--save-model of `spectrawalk cluster`"}),
        output_folder(folder, RESULTS, overwrite=overwrite),
    ):
        model_file = _model_in(model_file)
        request = SceneRequest.from_options(source, options)
        extras = [] if no_report else [REPORT]
        _predict(model_file, request, folder, extras, quiet=quiet, as_json=as_json)


def _model_in(given: str) -> str:
    """Path of the model: what was given, or the model in a results folder."""
    if not Path(given).is_dir():
        return given
    file = Path(given) / MODEL
    if not file.is_file():
        raise FileError(f"'{given}' has no {MODEL}; cluster it with --save-model.")
    return str(file)


def _predict(
    model_file: str,
    request: SceneRequest,
    folder: Path,
    extras: Sequence[str],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    from spectrawalk.cli import report
    from spectrawalk.report.file_names import RECORD
    from spectrawalk.report.run_folder import write_results

    result, record = predicted(model_file, request, quiet=quiet, as_json=as_json)
    scene = result.scene
    console = results_console(quiet=quiet or as_json)
    with watch("writing", quiet=quiet):
        files, remarks = write_results(folder, result, record, extras)
    if as_json:
        click.echo((folder / RECORD).read_text(encoding="ascii"), nl=False)
        return
    report.describe_clusters(console, result)
    unlike = int(result.unlike.sum())
    if unlike:
        verb = "is" if unlike == 1 else "are"
        say(
            console,
            f"{count(unlike, 'pixel')} of {scene.n_valid:,} {verb} unlike any spectrum of the fit "
            f"and {verb} in no cluster",
        )
    if result.scores is not None:
        report.describe_scores(console, result.scores)
    say(console, f"time: {record['times']['seconds']:.1f} s")
    say(console)
    report.describe_files(console, files, remarks)


def predicted(
    model_file: str, request: SceneRequest, *, quiet: bool, as_json: bool
) -> tuple[Result, dict[str, Any]]:
    """Label a scene; give the result and its record."""
    import spectrawalk
    from spectrawalk.cli import report
    from spectrawalk.results.result import Result

    started = datetime.now(UTC)
    with watch("reading", quiet=quiet):
        model = spectrawalk.load(model_file)
        scene = _matching_scene(request, model)
    report.describe_scene(results_console(quiet=quiet or as_json), scene, "label")
    with watch("predict", quiet=quiet) as clock:
        labels, margin = model.predict_with_margin(scene)
    result = Result.of_prediction(scene, model, labels, margin)
    return result, _record(model_file, request, result, started, clock)


def _matching_scene(request: SceneRequest, model: DiffusionLearner) -> Scene:
    """Read the scene with the bands of the fit."""
    from spectrawalk.prepare.band_matching import match_bands

    scene = request.read()
    bands = match_bands(scene, model.n_features_in_, model.wavelengths_)
    return request.prepare(scene.select_bands(bands))


def _record(
    model_file: str,
    request: SceneRequest,
    result: Result,
    started: datetime,
    clock: StageClock,
) -> dict[str, Any]:
    from spectrawalk.io.run_record import environment, file_entry, outcome, pixels_sha256

    scene = result.scene
    return environment() | {
        "command": "predict",
        "model": _model_entry(model_file),
        "scene": request.to_record(),
        "inputs": [file_entry(file) for file in request.files],
        "pixels_sha256": pixels_sha256(scene),
        "preparation": scene.metadata.get("preparation"),
        "result": {"valid_pixels": scene.n_valid, **outcome(result)},
        "times": {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(clock.total, 3),
        },
    }


def _model_entry(model_file: str) -> dict[str, Any]:
    """Describe the model for the record, with the run that fitted it if its record lies beside."""
    from spectrawalk.io.run_record import RECORD_NAME, file_entry, read_record
    from spectrawalk.io.shared_legend import fit_entry

    entry = file_entry(model_file)
    try:
        record = read_record(Path(model_file).with_name(RECORD_NAME))
    except FileError:
        return entry
    outputs = record.get("outputs")
    is_its = isinstance(outputs, dict) and entry["sha256"] in outputs.values()
    fit = fit_entry(record) if is_its else None
    return entry if fit is None else entry | {"fit": fit}
