"""Output files of the suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from spectrawalk.benchmark.diagram import draw_ranking
from spectrawalk.benchmark.findings import titles_of
from spectrawalk.benchmark.methods import FOUND, GIVEN
from spectrawalk.benchmark.page import rank_caption, suite_html
from spectrawalk.benchmark.ranking import rank_rows
from spectrawalk.benchmark.suite import SuiteRow
from spectrawalk.benchmark.tables import COLUMNS, as_markdown, as_records
from spectrawalk.io.atomic import atomic_path
from spectrawalk.io.text_file import write_csv, write_text
from spectrawalk.report.figures import save_figure
from spectrawalk.scene import Scene

PAGE, TABLE, VALUES = "suite.html", "suite.md", "suite.csv"
PICTURES = {GIVEN: "ranks-k-given.png", FOUND: "ranks-k-found.png"}


def write_suite(
    rows: Sequence[SuiteRow],
    scenes: Sequence[Scene],
    missing: Mapping[str, str],
    folder: Path,
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write the tables and, with matplotlib and Jinja2, the page and the pictures of the ranks.

    Returns the files, each with a short description, and a remark for what was not written.
    """
    write_text(folder / TABLE, as_markdown(rows, missing))
    write_csv(folder / VALUES, COLUMNS, as_records(rows))
    written = [
        (folder / TABLE, "findings and tables as Markdown"),
        (folder / VALUES, "all rows as comma-separated values"),
    ]
    if not (find_spec("matplotlib") and find_spec("jinja2")):
        return written, [
            f"{PAGE} was not written, because matplotlib or Jinja2 is missing; install them with "
            '`pip install "spectrawalk[figures]"`.'
        ]
    with atomic_path(folder / PAGE) as temporary:
        temporary.write_bytes(suite_html(rows, scenes, missing))
    written.insert(0, (folder / PAGE, "maps side by side, scores and ranks"))
    for way, name in PICTURES.items():
        ranking = rank_rows(rows, way)
        if ranking is not None and ranking.critical_difference is not None:
            figure = draw_ranking(ranking, titles_of(rows), rank_caption(way, ranking))
            save_figure(figure, folder / name)
            written.append((folder / name, f"mean ranks, {way}"))
    return written, []
