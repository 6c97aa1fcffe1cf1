"""``spectrawalk reproduce``: the paper's table and figures, from the scenes at hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, say
from spectrawalk.cli.counting import count_runs
from spectrawalk.cli.outputs import output_folder

if TYPE_CHECKING:
    from rich.console import Console

_EXAMPLES = """\b
Examples:
  spectrawalk reproduce table -o reproduction
  spectrawalk reproduce figures -o reproduction
  spectrawalk reproduce readings -o reproduction
"""

Command = Callable[..., Any]


def shared_options(command: Command) -> Command:
    """Add the options that all commands about tables and figures have."""
    for option in reversed(
        [
            click.option(
                "-o",
                "--out",
                "folder",
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                required=True,
                help="Folder for the results; created if it does not exist. Finished runs in "
                "it are used again.",
            ),
            quiet_option(),
        ]
    ):
        command = option(command)
    return command


scenes_option = click.option(
    "--scenes",
    default="all",
    show_default=True,
    metavar="all|A,B,...",
    help="Scenes of the paper to use, separated by commas.",
)
fresh_option = click.option(
    "--fresh", is_flag=True, help="Repeat all runs, also those that are finished in FOLDER."
)
seeds_option = click.option(
    "--seeds",
    "n_seeds",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Random seeds over which the scores of randomised methods are averaged.",
)
methods_option = click.option(
    "--methods",
    default="all",
    show_default=True,
    metavar="all|A,B,...",
    help="Methods to run, separated by commas.",
)


@click.group(
    short_help="Reproduce the paper's table and figures.",
    invoke_without_command=True,
    epilog=_EXAMPLES,
)
@click.pass_context
def reproduce(context: click.Context) -> None:
    """Reproduce the paper's table and figures from the scenes on this computer.

    Scenes that are missing are listed and skipped. An interrupted command continues where it
    stopped if you start it again with the same folder.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@reproduce.command(
    short_help="Compare scores with the paper's table.",
    epilog="""\b
Example:
  spectrawalk reproduce table -o reproduction
""",
)
@shared_options
@scenes_option
@methods_option
@seeds_option
@fresh_option
def table(folder: Path, scenes: str, methods: str, n_seeds: int, fresh: bool, quiet: bool) -> None:
    """Run the paper's methods on its scenes and compare the scores with the paper's.

    Writes table.md, table.csv and table.png. Each run is a process of its own, so that its memory
    can be measured. Finished runs are kept in FOLDER/runs and are not repeated.
    """
    from spectrawalk.paper.products import find_scenes, run_paper_methods, write_table
    from spectrawalk.paper.published import METHOD_TITLES
    from spectrawalk.paper.runs import choose_methods
    from spectrawalk.paper.settings import choose_scenes
    from spectrawalk.paper.table import paper_rows

    chosen = list(METHOD_TITLES) if methods.strip() == "all" else choose_methods(methods)
    wanted = choose_scenes(scenes)
    console, start = results_console(quiet=quiet), time.perf_counter()
    with output_folder(folder, [], overwrite=True), count_runs("table", quiet=quiet):
        at_hand, missing = find_scenes(wanted)
        runs = []
        for scene in at_hand:
            runs += run_paper_methods(scene, chosen, n_seeds, folder, fresh=fresh)
        rows = paper_rows(runs)
        files, remarks = write_table(rows, list(missing), folder)
    show_rows(console, rows)
    show_left_out(console, missing)
    show_cost(console, rows, time.perf_counter() - start)
    show_files(console, files, remarks)


@reproduce.command(
    short_help="Score every reading of what the paper leaves open.",
    epilog="""\b
Example:
  spectrawalk reproduce readings -o reproduction
""",
)
@shared_options
@scenes_option
def readings(folder: Path, scenes: str, quiet: bool) -> None:
    """Score SRDL, DLSS and DL under every reading of what the paper leaves open.

    Writes readings.md and readings.csv.
    """
    from spectrawalk.paper.products import find_scenes, write_readings
    from spectrawalk.paper.settings import choose_scenes

    wanted = choose_scenes(scenes)
    console = results_console(quiet=quiet)
    with output_folder(folder, [], overwrite=True), count_runs("readings", quiet=quiet):
        at_hand, missing = find_scenes(wanted)
        files, sentences = write_readings(at_hand, folder)
    for sentence in sentences:
        say(console, sentence)
    show_left_out(console, missing)
    show_files(console, files, [])


@reproduce.command(
    short_help="Draw the paper's figures.",
    epilog="""\b
Example:
  spectrawalk reproduce figures -o reproduction
""",
)
@shared_options
@scenes_option
@fresh_option
def figures(folder: Path, scenes: str, fresh: bool, quiet: bool) -> None:
    """Draw the paper's figures, and grids that show how sensitive the method is to parameters.

    Writes the figures as pictures, and the values of the curves. Label maps are taken from the
    runs of `reproduce table` if they are in FOLDER.
    """
    from spectrawalk.paper.products import find_scenes, write_figures
    from spectrawalk.paper.settings import choose_scenes

    wanted = choose_scenes(scenes)
    console = results_console(quiet=quiet)
    with output_folder(folder, [], overwrite=True), count_runs("figures", quiet=quiet):
        at_hand, missing = find_scenes(wanted)
        files, failures = write_figures(at_hand, folder, fresh=fresh)
    show_left_out(console, missing)
    if "salinas-a" not in [scene.name for scene in at_hand]:
        say(console, "the figure of a pixel's neighbours was left out: it is of salinas-a.")
    show_files(console, files, failures)


def show_rows(console: Console, rows: Sequence[Any]) -> None:
    """Print one line per method and scene."""
    from rich.table import Table

    from spectrawalk.paper.published import method_title, scene_title

    for scene in dict.fromkeys(row.scene for row in rows):
        of_scene = [row for row in rows if row.scene == scene]
        compared = any(row.paper is not None for row in of_scene)
        table = Table(title=scene_title(scene), title_justify="left")
        table.add_column("method")
        for name in ("OA", "AA", "kappa"):
            table.add_column(name, justify="right")
            if compared:
                table.add_column("paper", justify="right", style="dim")
        table.add_column("seconds", justify="right")
        table.add_column("MB", justify="right")
        for row in of_scene:
            cells = [method_title(row.method)]
            for place in range(3):
                cells.append("-" if row.mean is None else f"{row.mean[place]:.3f}")
                if compared:
                    cells.append("" if row.paper is None else f"{row.paper[place]:.2f}")
            cells.append("-" if row.seconds is None else f"{row.seconds:.1f}")
            cells.append("-" if row.peak_mb is None else f"{row.peak_mb:.0f}")
            table.add_row(*cells)
        console.print(table)
        for row in of_scene:
            if row.note:
                say(console, f"{method_title(row.method)} {row.note}")


def show_left_out(console: Console, missing: Mapping[str, str]) -> None:
    """Name the scenes that were not at hand, and say how to get them."""
    for name, why in missing.items():
        say(console, f"{name} was left out: {why}")


def show_cost(console: Console, rows: Sequence[Any], elapsed: float) -> None:
    """Print the time of the command and the largest memory of any run."""
    peaks = [row.peak_mb for row in rows if row.peak_mb is not None]
    peak = f", the largest run took {max(peaks):.0f} MB" if peaks else ""
    say(console, f"all runs: {elapsed:.0f} s{peak}")


def show_files(console: Console, files: Sequence[tuple[Path, str]], remarks: Sequence[str]) -> None:
    """Print what was written where."""
    from spectrawalk.cli.report import describe_files

    say(console)
    describe_files(console, files, remarks)
