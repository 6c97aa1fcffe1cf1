"""``spectrawalk cut``: another number of clusters from the tree of an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, watch
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.options import FileName, IntegerOrAuto
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.run import Run, record_in
from spectrawalk.cli.tiles import cut_tiles
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.report.file_names import OVERVIEW, RECORD, REPORT, RESULTS, TREE

if TYPE_CHECKING:
    from spectrawalk import Scene, SpectraWalk

_EXAMPLES = """\b
Examples:
  spectrawalk cluster field.hdr -o field-map
  spectrawalk cut field-map -k 9 -o field-9
  spectrawalk cut field-map moved/field.hdr -k auto -o field-auto
"""


@click.command(short_help="Map another number of clusters, without a new fit.", epilog=_EXAMPLES)
@click.argument("results", metavar="RESULTS", type=click.Path(path_type=Path))
@click.argument("source", metavar="[SCENE]", type=FileName(), required=False)
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=IntegerOrAuto(1),
    metavar="K|auto",
    required=True,
    help="Number of clusters; auto takes the largest number that the runs support.",
)
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="Folder for the results; created if it does not exist.",
)
@click.option(
    "--no-report", is_flag=True, help=f"Leave out {REPORT} and {OVERVIEW}, which take seconds."
)
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in FOLDER.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the run as JSON.")
@quiet_option(json=True)
@click.pass_context
def cut(
    context: click.Context,
    results: Path,
    source: str | None,
    n_clusters: int | str,
    folder: Path,
    no_report: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the results for another number of clusters to FOLDER, from the tree in RESULTS.

    RESULTS is the folder of `spectrawalk cluster` with its default method, or of an earlier cut.
    The scene is read again, unless RESULTS is of a run in tiles; SCENE says where it is, if it
    moved. A cluster keeps its number, its colour and its name as long as it is not split.
    """
    with (
        naming_options(context.command),
        output_folder(folder, RESULTS, overwrite=overwrite),
    ):
        extras = [] if no_report else [OVERVIEW, REPORT]
        _cut(results, source, n_clusters, folder, extras, quiet=quiet, as_json=as_json)


def _cut(
    results: Path,
    source: str | None,
    n_clusters: int | str,
    folder: Path,
    extras: Sequence[str],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    from spectrawalk.cli import report
    from spectrawalk.explore.edited import edited_result
    from spectrawalk.report.run_folder import write_results

    started = datetime.now(UTC)
    record = record_in(results)
    if record.get("tiles") and record["method"] == "SpectraWalk":
        if source is not None:
            raise ParameterError(f"the cut of a run in tiles needs no scene; leave '{source}' out.")
        cut_tiles(results, record, n_clusters, folder, quiet=quiet, as_json=as_json)
        return
    with watch("reading", quiet=quiet):
        fitted = _run_with_tree(results, source)
        model, cut_from = _read_tree(results, fitted)
    with watch("cut", quiet=quiet) as clock:
        of_folder, model = model, model.at(n_clusters)
        steps, remarks = _kept_names(of_folder, model, fitted)
    with watch("reading", quiet=quiet):
        scene, inputs = fitted.load()
        _check_pixels(results, model, scene)
    report.describe_scene(results_console(quiet=quiet or as_json), scene, "label")
    # The fit that gives the same labels: the record of the cut repeats it.
    parameters = {**fitted.parameters, "n_clusters": n_clusters}
    run = replace(fitted, parameters=parameters, earlier=None, steps=steps)
    with watch("writing", quiet=quiet):
        result = edited_result(scene, model, steps)
        record = run.record(result, inputs | {"cut_from": cut_from}, started, clock)
        files, others = write_results(folder, result, record, extras)
    written = (files, [*remarks, *others])
    run.tell(folder, result, written, {"the cut": clock}, quiet=quiet, as_json=as_json)


def _kept_names(
    before: SpectraWalk, after: SpectraWalk, run: Run
) -> tuple[tuple[dict[str, Any], ...], list[str]]:
    """Names and colours of the clusters that another cut leaves whole, as steps; and remarks."""
    from spectrawalk.explore.edited import kept_steps, names_kept
    from spectrawalk.explore.steps import replay

    if not run.steps:
        return (), []
    state = replay(before, run.steps)
    steps = kept_steps(state, replay(after, []))
    named = sum(cluster in state.names for cluster in state.ids)
    told = names_kept(named, sum(step["op"] == "name" for step in steps))
    return tuple(steps), [told] * bool(told)


def _run_with_tree(results: Path, source: str | None) -> Run:
    """Read the record of a run that made a tree."""
    run = Run.from_record(results / RECORD, source)
    if run.method != "SpectraWalk":
        raise FileError(
            f"'{results}' has no tree to cut: it was made by {run.method}, and only SpectraWalk "
            "makes one; cluster the scene again with the default method."
        )
    if not (results / TREE).is_file():
        raise FileError(
            f"'{results}' has no {TREE}; make it with `spectrawalk cluster --from-record "
            f"{results / RECORD} -o FOLDER`."
        )
    return run


def _read_tree(results: Path, run: Run) -> tuple[SpectraWalk, dict[str, Any]]:
    """Read the tree of a run, and note for the record what was read."""
    from spectrawalk import SpectraWalk
    from spectrawalk.io.run_record import file_entry

    earlier = run.earlier or {}
    entry = file_entry(results / TREE)
    outputs = earlier.get("outputs")
    if not isinstance(outputs, dict) or outputs.get(TREE) != entry["sha256"]:
        raise FileError(
            f"'{results / TREE}' is not the tree of the run in {RECORD}: its sha256 differs; "
            f"repeat the run with `spectrawalk cluster --from-record {results / RECORD} -o FOLDER`."
        )
    first = earlier.get("cut_from") or earlier  # the fit, where this is a cut of a cut
    return SpectraWalk.load(results / TREE), entry | {"spectrawalk": first.get("spectrawalk")}


def _check_pixels(results: Path, model: SpectraWalk, scene: Scene) -> None:
    if model.labels_.shape != scene.shape or ((model.labels_ >= 0) != scene.mask).any():
        raise FileError(
            f"'{results / TREE}' is of another image than the one that {RECORD} names; give a "
            "folder as `spectrawalk cluster` wrote it."
        )
