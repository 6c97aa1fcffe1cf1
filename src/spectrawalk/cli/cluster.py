"""``spectrawalk cluster``: a cube in, a map out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from spectrawalk.cli.console import quiet_option
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.options import Detail, FileName, IntegerOrAuto, WithoutAuto
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.run import Run
from spectrawalk.cli.scene_options import band_options, pixel_options, reading_options
from spectrawalk.cli.scene_request import SceneRequest, given_options, is_given
from spectrawalk.cli.tiles import TiledRequest, too_large
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
    "msrdl": ("detail", "time"),
    "dvic": ("detail", "radius", "consensus_radius"),
    "s2dl": ("detail", "consensus_radius"),
}
_NEEDS_NO = {"radius": ", which needs no radius", "time": ", which needs no diffusion time"}
_CLASSES = {
    "spectrawalk": "SpectraWalk", "srdl": "SRDL", "dlss": "DLSS", "dl": "DL", "msrdl": "MSRDL",
    "dvic": "DVIC", "s2dl": "S2DL",
}  # fmt: skip
_OWN_RADIUS = {"s2dl"}
"""Methods whose default radius is not that of --radius."""
# What may be said beside the record of a run.
_BESIDE_RECORD = {
    "sources", "folder", "record_file", "save_model", "no_report", "overwrite", "force", "quiet",
    "as_json", "dry_run",
}  # fmt: skip

_NO_FOLDER = "Missing option '-o': give a folder for the results."
_OF_TILES = {"tiles", "scheduler", "workers"}

_EXAMPLES = f"""\b
Examples:
  spectrawalk cluster field.hdr -o field-map
  spectrawalk cluster field.mat -k 6 --variable cube -o field-map --overwrite
  spectrawalk cluster field.tif --wavelengths 450:900 --dry-run
  spectrawalk cluster town.tif --detail materials -o town-map
  spectrawalk cluster large.tif --tiles auto -o large-map
  spectrawalk cluster may.hdr june.hdr -o both
  spectrawalk cluster salinas-a -k 6 --method srdl --radius 20 -o salinas
  spectrawalk cluster --from-record salinas/{RECORD} -o salinas-again
"""


@click.command(
    short_help="Cluster a scene and write a map of it.",
    epilog=_EXAMPLES,
    context_settings={"show_default": True},
)
@click.argument("sources", metavar="SCENE...", type=FileName(), nargs=-1)
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=IntegerOrAuto(1),
    metavar="K|auto",
    default="auto",
    help="Number of clusters; auto takes the largest number that the runs support (single runs: "
    "the largest drop of D_t from 2 to 30 clusters).",
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
    "paper: SRDL; DLSS, which has no window; or DL, which uses spectra only; or its successors: "
    "M-SRDL, at many diffusion times; D-VIC, with pure pixels as modes, on spectra only; or S2DL, "
    "on superpixels.",
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
    help="For srdl, msrdl and s2dl: half-width of the window in which a pixel's neighbours are "
    "searched, in pixels; 12 for s2dl if it is not given.",
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
    help="For srdl, dlss, dl, dvic and s2dl: diffusion time; a longer time gives coarser clusters.",
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
    help="For srdl, dlss and msrdl: half-width of the window of the majority vote on labels; 0 for "
    "none.",
)
@reading_options
@pixel_options
@band_options
@click.option(
    "--tiles",
    type=IntegerOrAuto(16, 2048, "a number of pixels from 16 to 2048"),
    metavar="auto|N",
    default=None,
    help="Work on tiles of N x N pixels (auto: 256), so that the scene need not fit into memory. "
    "By default only where it does not fit, and for several scenes.",
)
@click.option(
    "--scheduler",
    metavar="local|none|ADDRESS",
    default="local",
    help="What works on tiles: processes on this machine, this process alone, or the workers of a "
    "Dask scheduler, such as tcp://10.0.0.5:8786.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    default=None,
    help="Number of local processes that work on tiles; by default one for each processor.",
)
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
    sources: tuple[str, ...],
    folder: Path | None,
    record_file: Path | None,
    save_model: bool,
    no_report: bool,
    overwrite: bool,
    dry_run: bool,
    as_json: bool,
    force: bool,
    quiet: bool,
    tiles: int | str | None,
    scheduler: str,
    workers: int | None,
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

    Scenes larger than memory are clustered in tiles, with one model for all of them. Several scenes
    get one legend: the same material has the same cluster in all of them, and FOLDER has a folder
    for each. A run that was stopped goes on where it was when the same command is given again.
    """
    with naming_options(context.command):
        run = _requested_run(context, sources, record_file, options)
        in_tiles = _in_tiles(context, run, sources, tiles, scheduler, workers, force=force)
        if in_tiles is not None:
            if save_model:
                raise ParameterError(
                    "--save-model cannot be used with tiles; leave it out: the model of a run in "
                    "tiles is not kept."
                )
            if dry_run:
                in_tiles.tell_plan(folder, quiet=quiet, as_json=as_json)
                return
            if folder is None:
                raise click.UsageError(_NO_FOLDER, context)
            in_tiles.carry_out(
                folder,
                [OVERVIEW, REPORT] * (not no_report),
                overwrite=overwrite,
                quiet=quiet,
                as_json=as_json,
                force=force,
            )
            return
        extras = [MODEL] * save_model + [OVERVIEW, REPORT] * (not no_report)
        if dry_run:
            run.tell_plan(folder, extras, quiet=quiet, as_json=as_json)
            return
        if folder is None:
            raise click.UsageError(_NO_FOLDER, context)
        with output_folder(folder, RESULTS, overwrite=overwrite):
            run.carry_out(folder, extras, quiet=quiet, as_json=as_json, force=force)


def _in_tiles(
    context: click.Context,
    run: Run,
    sources: tuple[str, ...],
    tiles: int | str | None,
    scheduler: str,
    workers: int | None,
    *,
    force: bool,
) -> TiledRequest | None:
    """Decide whether the run is in tiles: if asked for, for several scenes, or to save memory."""
    if run.earlier is not None:
        if not run.earlier.get("tiles"):
            return None
        return TiledRequest.from_record(run.earlier, run.request, scheduler, workers)
    asked = tiles is not None or len(sources) > 1
    if not asked:
        for name in ("scheduler", "workers"):
            if is_given(context, name):
                raise ParameterError(f"--{name} is for runs in tiles; add --tiles auto.")
        if force or not too_large(run.request, run.estimator()):
            return None
        if run.method not in ("SpectraWalk", "SRDL"):
            return None  # the forecast refuses it, and says why
    if run.method not in ("SpectraWalk", "SRDL") or (run.method == "SRDL" and len(sources) > 1):
        raise ParameterError(
            f"{'several scenes are' if len(sources) > 1 else '--tiles is'} not for {run.method}; "
            "leave --method out."
        )
    from spectrawalk.scale.tiles import SIZE

    requests = tuple(dataclasses.replace(run.request, source=source) for source in sources)
    size = SIZE if tiles in (None, "auto") else int(tiles)
    return TiledRequest(
        requests, run.method, run.parameters, size, scheduler, workers, chosen=not asked
    )


def _requested_run(
    context: click.Context,
    sources: tuple[str, ...],
    record_file: Path | None,
    options: dict[str, Any],
) -> Run:
    """Understand what is to be done, from the options or from the record of an earlier run."""
    if record_file is not None:
        superfluous = given_options(context, _BESIDE_RECORD | _OF_TILES - {"tiles"})
        if superfluous:
            raise ParameterError(
                f"{', '.join(superfluous)} cannot be given with --from-record, which repeats a run "
                "as it was; leave one of them out."
            )
        if len(sources) > 1:
            raise ParameterError("give one SCENE with --from-record, or none.")
        return Run.from_record(record_file, sources[0] if sources else None)
    if not sources:
        raise click.UsageError("Missing argument 'SCENE'.", context)
    request = SceneRequest.from_options(sources[0], options)
    method = options.pop("method")
    for name in _LACKS[method]:
        value = options.pop(name)
        if is_given(context, name):
            option = next(each.opts[-1] for each in context.command.params if each.name == name)
            why, advice = "", "leave it out"
            if method == "spectrawalk":
                why, advice = _NEEDS_NO.get(name, ""), "add --method srdl, or leave it out"
            raise ParameterError(f"{option}={value} has no meaning for {method}{why}; {advice}.")
    if method in _OWN_RADIUS and not is_given(context, "radius"):
        del options["radius"]
    if options.get("normalize") == "none":
        options["normalize"] = None
    return Run(request, _CLASSES[method], options)
