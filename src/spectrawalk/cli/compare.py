"""``spectrawalk compare``: what changed between two maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, say, watch
from spectrawalk.cli.naming import in_words_of_command, naming_options
from spectrawalk.cli.options import FileName
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.scene_options import pixel_options, reading_options
from spectrawalk.cli.scene_request import SceneRequest, given_options
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.report.file_names import COMPARED, COMPARISON, COMPARISON_RECORD, MODEL

if TYPE_CHECKING:
    from rich.console import Console

    from spectrawalk.io.label_map import LabelMap
    from spectrawalk.report.comparison import ComparedMaps

_RULES = ("auto", "numbers", "spectra", "overlap")
_OWN = {"before", "after", "folder", "match", "no_report", "overwrite", "as_json", "quiet"}
_LARGEST = 10  # changes on the screen

_EXAMPLES = """\b
Examples:
  spectrawalk compare results-2019 results-2020 -o change
  spectrawalk compare fit-2019 scene-2020.hdr -o change   # labels the scene
  spectrawalk compare cover-2019.tif cover-2020.tif --match numbers -o change
"""


@click.command(short_help="Show what changed between two maps.", epilog=_EXAMPLES)
@click.argument("before", metavar="A", type=FileName())
@click.argument("after", metavar="B", type=FileName())
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="Folder for the comparison; created if it does not exist.",
)
@click.option(
    "--match",
    type=click.Choice(_RULES),
    default="auto",
    help="Which clusters are the same: those with the same number, with similar mean spectra, or "
    "with most pixels in common. auto: numbers if both maps have one legend, else spectra if both "
    "have them, else overlap.",
)
@reading_options
@pixel_options
@click.option("--no-report", is_flag=True, help=f"Leave out {COMPARISON}.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier comparison in FOLDER.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the comparison as JSON.")
@quiet_option(json=True)
@click.pass_context
def compare(
    context: click.Context,
    before: str,
    after: str,
    folder: Path,
    match: str,
    no_report: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write what changed from map A to map B to FOLDER: a change map for QGIS and a matrix.

    A and B are results folders of `spectrawalk cluster`, `cut` or `predict`, or maps of any
    program, with one whole number per pixel. B may also be a scene: then the model in A
    (`spectrawalk cluster --save-model`) labels it first, and the options about the scene count.
    Both must lie on one grid; where they overlap, they are compared pixel by pixel.
    """
    with (
        naming_options(context.command),
        output_folder(folder, COMPARED, overwrite=overwrite),
    ):
        console = results_console(quiet=quiet or as_json)
        found = _compared(context, before, after, match, options, quiet=quiet, as_json=as_json)
        with watch("writing", quiet=quiet):
            from spectrawalk.report.comparison_folder import write_comparison

            _, files, remarks = write_comparison(folder, found, page=not no_report)
    if as_json:
        click.echo((folder / COMPARISON_RECORD).read_text(encoding="ascii"), nl=False)
        return
    _describe(console, found)
    from spectrawalk.cli.report import describe_files

    say(console)
    describe_files(console, files, remarks)


def _compared(
    context: click.Context,
    before: str,
    after: str,
    match: str,
    options: dict[str, Any],
    *,
    quiet: bool,
    as_json: bool,
) -> ComparedMaps:
    from spectrawalk.io.label_map import read_label_map
    from spectrawalk.report.comparison import compare_label_maps

    is_scene = _is_scene(after)
    if not is_scene:
        given = given_options(context, _OWN)
        if given:
            raise ParameterError(
                f"{', '.join(given)} is for scenes, and '{after}' is a map; leave it out."
            )
    if _is_scene(before):
        raise FileError(
            f"'{before}' is a scene and not a map; cluster it with --save-model, and give its "
            "results folder as A."
        )
    with watch("reading", quiet=quiet):
        one = read_label_map(before)
        other = None if is_scene else read_label_map(after)
    if other is None:
        other = _labelled(before, after, options, quiet=quiet, as_json=as_json)
    with watch("comparing", quiet=quiet):
        return compare_label_maps(one, other, match)


def _is_scene(source: str) -> bool:
    """Whether an input is a scene: a file with several bands, or a published one."""
    from spectrawalk.datasets import scene_names
    from spectrawalk.io.label_map import holds_scene

    published = source in scene_names() and not Path(source).exists()
    return published or holds_scene(source)


def _labelled(
    before: str, source: str, options: dict[str, Any], *, quiet: bool, as_json: bool
) -> LabelMap:
    """Label a scene with the model of the first map."""
    from spectrawalk.cli.predict import predicted
    from spectrawalk.io.label_map import label_map_of

    place = Path(before)
    model = (place if place.is_dir() else place.parent) / MODEL
    if not model.is_file():
        raise FileError(
            f"'{source}' is a scene and not a map, and '{before}' has no {MODEL} to label it with; "
            "cluster A with --save-model, or give the results folder of B."
        )
    request = SceneRequest.from_options(source, options)
    result, record = predicted(str(model), request, quiet=quiet, as_json=as_json)
    files = [model, *map(Path, request.files)]
    return label_map_of(result, source, record, files)


def _describe(console: Console, found: ComparedMaps) -> None:
    """Print how clusters were matched and what changed."""
    from spectrawalk.results.captions import count

    rows, cols = found.comparison.codes.shape
    say(console, f"A: {found.before.title}")
    say(console, f"B: {found.after.title}")
    compared = count(found.comparison.compared, "pixel")
    have = "has" if found.comparison.compared == 1 else "have"
    overlap = f"{count(rows, 'row')} x {count(cols, 'column')}"
    say(console, f"The maps overlap in {overlap}; {compared} {have} data in both.")
    say(console, in_words_of_command(found.matched_in_words))
    _describe_matching(console, found)
    _describe_changes(console, found)
    for remark in found.remarks:
        say(console, in_words_of_command(remark))


def _describe_matching(console: Console, found: ComparedMaps) -> None:
    from rich.table import Table

    if found.rule == "numbers":
        return
    table = Table()
    for name in ("cluster of A", "cluster of B", *["spectral angle"] * bool(found.angles)):
        table.add_column(name, justify="right")
    for entry in found.comparison.entries:
        cells = ["-" if each is None else str(each) for each in entry[:2]]
        if found.angles:
            angle = None if entry.before is None else found.angles.get(entry.before)
            cells.append("-" if angle is None else f"{angle:.1f}°")
        table.add_row(*cells)
    console.print(table)


def _describe_changes(console: Console, found: ComparedMaps) -> None:
    from rich.table import Table

    from spectrawalk.results.captions import areas as in_words

    matrix = found.comparison
    changes = [each for each in matrix.changes if not matrix.is_undecided(each)]
    shown = [(f"  {found.name_of(each)}", each.pixels, each.area) for each in changes[:_LARGEST]]
    rows = [*found.sums[:2], *shown]
    rest = changes[_LARGEST:]
    if rest:
        area = None if matrix.areas is None else sum(each.area or 0.0 for each in rest)
        rows.append((f"  {len(rest)} smaller changes", sum(each.pixels for each in rest), area))
    rows += found.sums[2:]
    areas = [area for _, _, area in rows if area is not None]
    words = in_words(areas) if areas else []
    table = Table()
    table.add_column("change")
    for name in ("pixels", *["area"] * bool(areas), "share"):
        table.add_column(name, justify="right")
    for place, (name, pixels, _) in enumerate(rows):
        share = f"{pixels / matrix.compared:.1%}"
        table.add_row(name, f"{pixels:,}", *words[place : place + 1], share)
    console.print(table)
