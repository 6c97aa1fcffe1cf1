"""``spectrawalk predict``: labels for another scene from a saved fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import results_console, say, watch
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.outputs import RESULTS, output_folder, write_prediction
from spectrawalk.cli.scene_options import pixel_options, reading_options
from spectrawalk.cli.scene_request import SceneRequest
from spectrawalk.results.captions import count

if TYPE_CHECKING:
    from spectrawalk import Scene

_EXAMPLES = """\b
Examples:
  spectrawalk cluster field-2019.tif --save-model -o field-2019
  spectrawalk predict field-2019/model.npz field-2020.tif -o field-2020
"""


@click.command(short_help="Label another scene from a saved fit.", epilog=_EXAMPLES)
@click.argument("model_file", metavar="MODEL")
@click.argument("source", metavar="SCENE")
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="Folder for the results; made if need be.",
)
@reading_options
@pixel_options
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in FOLDER.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the run as JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_context
def predict(
    context: click.Context,
    model_file: str,
    source: str,
    folder: Path,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Label the pixels of SCENE with the clusters of MODEL and write a map to FOLDER.

    MODEL is what `spectrawalk cluster --save-model` wrote. Each pixel takes the label of the most
    similar spectrum of the fit; one that is farther from all of them than they are from their own
    neighbours (99 % of them) stays without a label. Bands are matched by wavelength, or by their
    count where wavelengths are not known.
    """
    with (
        naming_options(context.command),
        output_folder(folder, RESULTS, overwrite=overwrite),
    ):
        _predict(model_file, SceneRequest.from_options(source, options), folder, quiet, as_json)


def _predict(
    model_file: str, request: SceneRequest, folder: Path, quiet: bool, as_json: bool
) -> None:
    import spectrawalk
    from spectrawalk.cli import report
    from spectrawalk.io.run_record import record_json
    from spectrawalk.results.cluster_map import map_of

    with watch("reading", quiet=quiet):
        model = spectrawalk.load(model_file)
        scene = _matching_scene(request, model)
    console = results_console()
    console.quiet = as_json
    report.describe_scene(console, scene, "label")
    with watch("predict", quiet=quiet) as clock:
        labels = model.predict(scene)
    unknown = int(((labels < 0) & scene.mask).sum())
    record = _record(model_file, request, scene, unknown, clock.total)
    with watch("writing", quiet=quiet):
        files, remarks = write_prediction(folder, scene, labels, model.n_clusters_, record)
    if as_json:
        click.echo(record_json(record), nl=False)
        return
    areas = map_of(scene, labels, model.n_clusters_).areas
    report.describe_sizes(console, labels, model.n_clusters_, areas)
    if unknown:
        verb = "is" if unknown == 1 else "are"
        say(
            console,
            f"{count(unknown, 'pixel')} of {scene.n_valid:,} {verb} unlike any spectrum of the fit "
            "and without a label",
        )
    say(console, f"time: {clock.total:.1f} s")
    say(console)
    report.describe_files(console, files, remarks)


def _matching_scene(request: SceneRequest, model: Any) -> Scene:
    """Read the scene with the bands of the fit."""
    from spectrawalk.prepare.band_matching import match_bands

    scene = request.read()
    bands = match_bands(scene, model.n_features_in_, model.wavelengths_)
    return request.prepare(scene.select_bands(bands))


def _record(
    model_file: str, request: SceneRequest, scene: Scene, unknown: int, seconds: float
) -> dict[str, Any]:
    from spectrawalk.io.run_record import environment, file_entry, pixels_sha256

    return environment() | {
        "command": "predict",
        "model": file_entry(model_file),
        "scene": request.to_record(),
        "inputs": [file_entry(file) for file in request.files],
        "pixels_sha256": pixels_sha256(scene),
        "preparation": scene.metadata.get("preparation"),
        "result": {"valid_pixels": scene.n_valid, "unlabelled_pixels": unknown},
        "times": {"seconds": round(seconds, 3)},
    }
