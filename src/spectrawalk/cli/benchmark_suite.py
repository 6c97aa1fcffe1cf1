"""``spectrawalk benchmark --suite``: all methods on many scenes with ground truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import results_console, say
from spectrawalk.cli.counting import count_runs
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.reproduce import show_cost, show_files, show_left_out
from spectrawalk.cli.scene_request import is_given
from spectrawalk.errors import ParameterError, SceneNotFoundError

if TYPE_CHECKING:
    from rich.console import Console

Command = Callable[..., Any]

ALONE = ("scenes", "cubes", "oracle", "time_limit")
"""Parameters that only the suite has."""

NOT_HERE = ("scene", "ground_truth", "n_clusters", "variable", "ground_truth_variable")
"""Parameters that the suite does not have."""


def suite_options(command: Command) -> Command:
    """Add the options of the suite."""
    for option in reversed(
        [
            click.option(
                "--suite",
                is_flag=True,
                help="Run all methods on all published scenes at hand, in place of SCENE.",
            ),
            click.option(
                "--scenes",
                default="all",
                show_default=True,
                metavar="all|none|A,B,...",
                help="With --suite: published scenes to use, separated by commas; all are Indian "
                "Pines and its subset, Salinas A, Samson and the labelled pixels of KSC.",
            ),
            click.option(
                "--cubes",
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="With --suite: folder of your own scenes; the ground truth of NAME.hdr is "
                "NAME_gt.tif, in any formats.",
            ),
            click.option(
                "--oracle",
                is_flag=True,
                help="With --suite: add rows whose settings are the best of several by ground "
                "truth; they are marked, and in no ranking.",
            ),
            click.option(
                "--time-limit",
                type=click.FloatRange(min=0, min_open=True),
                default=600,
                show_default=True,
                metavar="SECONDS",
                help="With --suite: end a run after this time; its row then has the reason.",
            ),
        ]
    ):
        command = option(command)
    return command


def check_suite_options(context: click.Context, *, suite: bool) -> None:
    """Refuse options that have no meaning with, or without, ``--suite``."""
    names = {param.name: param for param in context.command.params}
    unwanted = NOT_HERE if suite else ALONE
    for name in unwanted:
        if is_given(context, name):
            param = names[name]
            option = "SCENE" if isinstance(param, click.Argument) else param.opts[-1]
            if not suite:
                raise ParameterError(f"{option} is for the suite; give --suite too.")
            raise ParameterError(
                f"{option} cannot be used with --suite; choose published scenes with --scenes, and "
                "give a folder of your own with --cubes."
            )


def run_benchmark_suite(
    folder: Path,
    *,
    methods: str,
    scenes: str,
    cubes: Path | None,
    n_seeds: int | None,
    oracle: bool,
    time_limit: float,
    plugins: Sequence[Path],
    fresh: bool,
    quiet: bool,
) -> None:
    """Run the suite and write its page and tables to a folder."""
    from spectrawalk.benchmark.methods import choose
    from spectrawalk.benchmark.products import write_suite
    from spectrawalk.benchmark.scenes import choose_published, load_published, read_folder
    from spectrawalk.benchmark.suite import SEEDS, run_suite
    from spectrawalk.paper.plugins import load_plugins

    load_plugins(plugins)
    chosen, names = choose(methods), choose_published(scenes)
    own = [] if cubes is None else read_folder(cubes)
    _refuse_two_of_one_name([*names, *(scene.name for scene in own)])
    console, start = results_console(quiet=quiet), time.perf_counter()
    with output_folder(folder, [], overwrite=True), count_runs("suite", quiet=quiet):
        at_hand, missing = load_published(names)
        at_hand += own
        if not at_hand:
            raise SceneNotFoundError(
                " ".join(missing.values()) or "no scene is left; give --scenes or --cubes."
            )
        rows = run_suite(
            at_hand,
            chosen,
            folder,
            n_seeds=n_seeds or SEEDS,
            oracle=oracle,
            time_limit=time_limit,
            fresh=fresh,
            plugins=plugins,
        )
        files, remarks = write_suite(rows, at_hand, missing, folder)
    _show(console, rows, missing)
    show_cost(console, rows, time.perf_counter() - start)
    show_files(console, files, remarks)


def _refuse_two_of_one_name(names: Sequence[str]) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise ParameterError(
                f"two scenes are called '{name}'; rename the files in the folder of --cubes, or "
                "leave the published scene out with --scenes."
            )


def _show(console: Console, rows: Sequence[Any], missing: Mapping[str, str]) -> None:
    """Print the mean ranks, what they say of the default method, and what failed."""
    from rich.table import Table

    from spectrawalk.benchmark.findings import NAMES, findings, titles_of
    from spectrawalk.benchmark.methods import FOUND, GIVEN, LABEL_FREE
    from spectrawalk.benchmark.ranking import RANKED_BY, rank_rows
    from spectrawalk.paper.published import scene_title

    titles = titles_of(rows)
    for way in (GIVEN, FOUND):
        ranking = rank_rows(rows, way)
        if ranking is None:
            continue
        score = RANKED_BY[way]
        table = Table(title=f"{way}, label-free: {NAMES[score]}", title_justify="left")
        table.add_column("method")
        for scene in ranking.scenes:
            table.add_column(scene_title(scene), justify="right")
        several = len(ranking.scenes) > 1
        if several:
            table.add_column("mean rank", justify="right")
        found = {
            (row.method, row.scene): row
            for row in rows
            if (row.way, row.choice) == (way, LABEL_FREE)
        }
        for method, rank in zip(ranking.methods, ranking.mean_ranks, strict=True):
            of_method = [found[method, scene] for scene in ranking.scenes]
            cells = ["failed" if row.failed else f"{row.scores[score]:.3f}" for row in of_method]
            table.add_row(titles[method], *cells, *([f"{rank:.1f}"] if several else []))
        console.print(table)
    for row in rows:
        if row.note:
            say(console, f"{row.title} on {scene_title(row.scene)}, {row.way}: {row.note}")
    say(console)
    for sentence in findings(rows):
        say(console, sentence)
    show_left_out(console, missing)
