"""``spectrawalk cluster``: a cube in, a map out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spectrawalk.cli.console import quiet_option
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.options import Detail, IntegerOrAuto, WithoutAuto
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.run import Run
from spectrawalk.cli.scene_options import band_options, pixel_options, reading_options
from spectrawalk.cli.scene_request import SceneRequest, given_options, is_given
from spectrawalk.errors import ParameterError
from spectrawalk.report.file_names import MODEL, OVERVIEW, RECORD, REPORT, RESULTS

# Parameters of single runs, and those that a method lacks: DL has neither a window nor a consensus.
_OF_RUNS = (
    "radius", "n_neighbors", "n_eigenpairs", "time", "sigma", "normalize", "consensus_radius",
)  # fmt: skip
_LACKS = {
    "spectrawalk": _OF_RUNS,
    "srdl": ("detail",),
    "dlss": ("detail", "radius"),
    "dl": ("detail", "radius", "consensus_radius"),
}
_NEEDS_NO = {"radius": ", which needs no radius", "time": ", which needs no diffusion time"}
_CLASSES = {"spectrawalk": "SpectraWalk", "srdl": "SRDL", "dlss": "DLSS", "dl": "DL"}
# What may be said beside the record of a run.
_BESIDE_RECORD = {
    "source", "folder", "record_file", "save_model", "no_report", "overwrite", "force", "quiet",
    "as_json", "dry_run",
}  # fmt: skip

_EXAMPLES = f"""\b
Examples:
  spectrawalk cluster field.hdr -o field-map
  spectrawalk cluster field.mat -k 6 --variable cube -o field-map --overwrite
  spectrawalk cluster field.tif --wavelengths 450:900 --dry-run
  spectrawalk cluster town.tif --detail materials -o town-map
  spectrawalk cluster salinas-a -k 6 --method srdl --radius 20 -o salinas
  spectrawalk cluster --from-record salinas/{RECORD} -o salinas-again
"""


@click.command(
    short_help="Cluster a scene and write a map of it.",
    epilog=_EXAMPLES,
    context_settings={"show_default": True},
)
@click.argument("source", metavar="SCENE", required=False)
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=IntegerOrAuto(1),
    metavar="K|auto",
    default="auto",
    help="Number of clusters; auto takes the largest number that the runs support (srdl, dlss and "
    "dl: the largest drop of D_t from 2 to 30 clusters).",
)
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the results; created if it does not exist.",
)
@click.option(
    "--method",
    type=click.Choice(list(_LACKS), case_sensitive=False),
    default="spectrawalk",
    help="SpectraWalk, the consensus of many runs, without tuning; or a single run as in the "
    "paper: SRDL; DLSS, which has no window; or DL, which uses spectra only.",
)
@click.option(
    "--detail",
    type=Detail(),
    metavar="D|auto",
    default="auto",
    help="For spectrawalk: from 0 (fields) to 1 (materials); auto measures how much adjacent "
    "pixels differ.",
)
@click.option(
    "--radius",
    type=WithoutAuto(click.IntRange(min=1), "radius"),
    metavar="R",
    default=8,
    help="For srdl: half-width of the window in which a pixel's neighbours are searched, in "
    "pixels.",
)
@click.option(
    "--neighbors",
    "n_neighbors",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    help="For single runs: neighbours of a pixel in the graph.",
)
@click.option(
    "--eigenpairs",
    "n_eigenpairs",
    type=IntegerOrAuto(2),
    metavar="M|auto",
    default="auto",
    help="For single runs: number of eigenpairs; auto takes the largest gap between eigenvalues.",
)
@click.option(
    "--time",
    type=WithoutAuto(click.FloatRange(min=0, min_open=True), "diffusion time"),
    metavar="T",
    default=30.0,
    help="For single runs: diffusion time; a longer time gives coarser clusters.",
)
@click.option(
    "--sigma",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    default=1.0,
    help="For single runs: spectral distance at which the weight of an edge has fallen to 1/e.",
)
@click.option(
    "--normalize",
    type=click.Choice(["pixel", "global", "band", "none"], case_sensitive=False),
    default="pixel",
    help="For single runs: how spectra are scaled; each to length 1, all by one factor, each band, "
    "or not at all.",
)
@click.option(
    "--consensus-radius",
    type=click.IntRange(min=0),
    metavar="R",
    default=3,
    help="For srdl and dlss: half-width of the window of the majority vote on labels; 0 for none.",
)
@reading_options
@pixel_options
@band_options
@click.option(
    "--from-record",
    "record_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Repeat the run that wrote this {RECORD}; SCENE says where its input is, if it moved.",
)
@click.option(
    "--no-report", is_flag=True, help=f"Leave out {REPORT} and {OVERVIEW}, which take seconds."
)
@click.option("--save-model", is_flag=True, help=f"Also write the fitted model, {MODEL}.")
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in FOLDER.")
@click.option("--dry-run", is_flag=True, help="Print what a run would do; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the run as JSON.")
@click.option("--force", is_flag=True, help="Start even if the memory seems too small.")
@quiet_option(json=True)
@click.pass_context
def cluster(
    context: click.Context,
    source: str | None,
    folder: Path | None,
    record_file: Path | None,
    save_model: bool,
    no_report: bool,
    overwrite: bool,
    dry_run: bool,
    as_json: bool,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Cluster the pixels of SCENE and write a map of the clusters to FOLDER.

    SCENE is an image with a cube of shape (rows, cols, bands), or the name of a published scene
    such as salinas-a. Unusable pixels (no data, NaN, zero in every band) and bands (bad, constant,
    water vapour) are excluded; `spectrawalk inspect SCENE` lists them.

    FOLDER receives the map as GeoTIFF (clusters from 1, 0 for no data) with a legend for QGIS, as
    ENVI file, PNG and NumPy array, the spectra of the clusters, the confidence of each label (its
    margin, if a single run gave it), a report for the browser, and a record from which the run can
    be repeated.
    """
    with naming_options(context.command):
        run = _requested_run(context, source, record_file, options)
        extras = [MODEL] * save_model + [OVERVIEW, REPORT] * (not no_report)
        if dry_run:
            run.tell_plan(folder, extras, quiet=quiet, as_json=as_json)
            return
        if folder is None:
            raise click.UsageError("Missing option '-o': give a folder for the results.", context)
        with output_folder(folder, RESULTS, overwrite=overwrite):
            run.carry_out(folder, extras, quiet=quiet, as_json=as_json, force=force)


def _requested_run(
    context: click.Context, source: str | None, record_file: Path | None, options: dict[str, Any]
) -> Run:
    """Understand what is to be done, from the options or from the record of an earlier run."""
    if record_file is not None:
        superfluous = given_options(context, _BESIDE_RECORD)
        if superfluous:
            raise ParameterError(
                f"{', '.join(superfluous)} cannot be given with --from-record, which repeats a run "
                "as it was; leave one of them out."
            )
        return Run.from_record(record_file, source)
    if source is None:
        raise click.UsageError("Missing argument 'SCENE'.", context)
    request = SceneRequest.from_options(source, options)
    method = options.pop("method")
    for name in _LACKS[method]:
        value = options.pop(name)
        if is_given(context, name):
            option = next(each.opts[-1] for each in context.command.params if each.name == name)
            why, advice = "", "leave it out"
            if method == "spectrawalk":
                why, advice = _NEEDS_NO.get(name, ""), "add --method srdl, or leave it out"
            raise ParameterError(f"{option}={value} has no meaning for {method}{why}; {advice}.")
    if options.get("normalize") == "none":
        options["normalize"] = None
    return Run(request, _CLASSES[method], options)
