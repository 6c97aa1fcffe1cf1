"""The rows of the suite as Markdown and as comma-separated values.

Scores stand apart from run times and memory in the Markdown, because a rerun repeats the scores
but not the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spectrawalk.benchmark.findings import NAMES, findings, label_free, titles_of
from spectrawalk.benchmark.methods import CHOSEN, FOUND, GIVEN, LABEL_FREE, METHODS, Method
from spectrawalk.benchmark.ranking import RANKED_BY, rank_rows
from spectrawalk.benchmark.suite import SCORES, SuiteRow
from spectrawalk.paper.published import scene_title

COLUMNS = (
    "scene",
    "method",
    "way",
    "choice",
    "settings",
    *SCORES,
    "sd_oa",
    "n_seeds",
    "n_classes",
    "n_clusters",
    "note",
    "seconds",
    "peak_mb",
)
"""Columns of the comma-separated values; a rerun repeats all but the last two."""

_RANKED = ("oa", "aa", "kappa", "nmi", "ari")
_WAYS = {
    GIVEN: "K given: as many clusters as there are classes",
    FOUND: "K found: each method finds the number of clusters itself",
}


def as_records(rows: Sequence[SuiteRow]) -> list[dict[str, Any]]:
    """Records of the rows with the columns of :data:`COLUMNS`; empty if unknown."""
    return [
        {
            "scene": row.scene,
            "method": row.method,
            "way": row.way,
            "choice": row.choice,
            "settings": row.settings,
            **{name: f"{row.scores[name]:.6f}" if row.scores else "" for name in SCORES},
            "sd_oa": f"{row.spread:.6f}" if row.scores else "",
            "n_seeds": row.n_seeds,
            "n_classes": row.n_classes,
            "n_clusters": " ".join(map(str, row.n_clusters)),
            "note": row.note,
            "seconds": "" if row.seconds is None else f"{row.seconds:.3f}",
            "peak_mb": "" if row.peak_mb is None else f"{row.peak_mb:.0f}",
        }
        for row in rows
    ]


def as_markdown(rows: Sequence[SuiteRow], missing: Iterable[str] = ()) -> str:
    """Write findings, mean ranks, the scores on each scene, and what the runs cost.

    Parameters
    ----------
    rows : sequence of SuiteRow
    missing : iterable of str
        Names of scenes that are not available.
    """
    parts = ["### Where the default method is best, and where it is not", ""]
    parts += [f"- {sentence}" for sentence in findings(rows)]
    parts += [
        f"- Not measured, because its files are not available: {scene_title(each)}."
        for each in missing
    ]
    parts.append("")
    if len({row.scene for row in rows}) > 1:
        parts += ["### Mean ranks of the label-free rows", ""]
        for way in (GIVEN, FOUND):
            parts += _ranks(rows, way)
    for scene in dict.fromkeys(row.scene for row in rows):
        parts += [f"### {scene_title(scene)}", "", *_scene(rows, scene)]
    parts += ["### Run time and memory", "", *_costs(rows)]
    parts += ["### How each method is set", "", *_settings(rows)]
    return "\n".join(parts).rstrip() + "\n"


def _ranks(rows: Sequence[SuiteRow], way: str) -> list[str]:
    """Mean ranks by several scores, in the order of the main one."""
    by_score = {
        name: found for name in _RANKED if (found := rank_rows(rows, way, name)) is not None
    }
    if not by_score:
        return []
    main, titles = by_score[RANKED_BY[way]], titles_of(rows)
    head = ["method", *(f"by {NAMES[name]}" for name in by_score)]
    lines = []
    for method in main.methods:
        places = [found.mean_ranks[found.methods.index(method)] for found in by_score.values()]
        lines.append([titles[method], *(f"{rank:.1f}" for rank in places)])
    ordered = f"{_WAYS[way]}. In the order of {NAMES[RANKED_BY[way]]}."
    return [ordered, "", *markdown_table(head, lines), ""]


def _scene(rows: Sequence[SuiteRow], scene: str) -> list[str]:
    parts: list[str] = []
    for way in (GIVEN, FOUND):
        found = label_free(rows, way, scene)
        if found:
            parts += [f"{_WAYS[way]} ({found[0].n_classes}). Label-free:", ""]
            parts += [*score_table(found), ""]
    chosen = chosen_rows(rows, scene)
    if chosen:
        parts += ["Chosen with ground truth, K given; not comparable with the rows above:", ""]
        parts += [*score_table(chosen), ""]
    notes = notes_on(rows, scene)
    return parts + ([*(f"- {note}" for note in notes), ""] if notes else [])


def notes_on(rows: Sequence[SuiteRow], scene: str) -> list[str]:
    """Say which runs failed on a scene, and why."""
    return [
        f"{row.title}, {row.way}: {row.note}" for row in rows if row.scene == scene and row.note
    ]


def chosen_rows(rows: Sequence[SuiteRow], scene: str) -> list[SuiteRow]:
    """Rows of a scene that were chosen with ground truth."""
    return [row for row in rows if row.scene == scene and row.choice == CHOSEN]


def score_table(rows: Sequence[SuiteRow]) -> list[str]:
    """Lines of the table of some rows of one scene."""
    settings = any(row.settings for row in rows)
    head = ["method", *(["settings"] if settings else []), *NAMES.values(), "clusters", "seeds"]
    return markdown_table(
        head,
        [
            [row.title, *([row.settings or "-"] if settings else []), *score_cells(row)]
            for row in rows
        ],
        words=2 if settings else 1,
    )


def score_cells(row: SuiteRow) -> list[str]:
    """Scores, numbers of clusters and seeds of a row, as texts."""
    if row.failed:
        return ["failed", *["-"] * (len(SCORES) + 1)]
    cells = [f"{row.scores[name]:.3f}" for name in SCORES]
    if row.n_seeds > 1:
        cells[0] += f" ± {row.spread:.3f}"
    low, high = row.n_clusters[0], row.n_clusters[-1]
    return [*cells, str(low) if low == high else f"{low} to {high}", str(row.n_seeds)]


def _costs(rows: Sequence[SuiteRow]) -> list[str]:
    """Seconds and peak memory with K given, one column for each scene."""
    scenes = list(dict.fromkeys(row.scene for row in rows))
    lines = []
    for way in (GIVEN, FOUND):
        of_way = [row for row in rows if (row.way, row.choice) == (way, LABEL_FREE)]
        for method in dict.fromkeys(row.method for row in of_way):
            at = {row.scene: row for row in of_way if row.method == method}
            title = next(iter(at.values())).title
            lines.append([title, way, *(cost_cell(at.get(scene)) for scene in scenes)])
    head = ["method", "", *(f"{scene_title(scene)}: s / MB" for scene in scenes)]
    return [*markdown_table(head, lines, words=2), ""]


def cost_cell(row: SuiteRow | None) -> str:
    """Seconds and megabytes of a row."""
    if row is None or row.seconds is None:
        return "-"
    memory = "-" if row.peak_mb is None else f"{row.peak_mb:.0f}"
    return f"{row.seconds:.1f} / {memory}"


def _settings(rows: Sequence[SuiteRow]) -> list[str]:
    lines = [[each.title, each.settings, each.seen or "nothing"] for each in methods_of(rows)]
    head = ["method", "settings", "chosen with a look at scores"]
    return markdown_table(head, lines, words=3)


def methods_of(rows: Sequence[SuiteRow]) -> list[Method]:
    """Methods that have a row."""
    known = {method.name: method for method in METHODS}
    titles = titles_of(rows)
    return [
        known.get(name, Method(name, title, "as registered", "not known"))
        for name, title in titles.items()
    ]


def markdown_table(
    head: Sequence[str], lines: Sequence[Sequence[str]], *, words: int = 1
) -> list[str]:
    """Lines of a Markdown table; the columns after the first `words` hold numbers.

    Examples
    --------
    >>> markdown_table(["method", "OA"], [["K-means", "0.5"]])
    ['| method | OA |', '| --- | ---: |', '| K-means | 0.5 |']
    """
    rule = [*["---"] * words, *["---:"] * (len(head) - words)]
    return ["| " + " | ".join(_escaped(each)) + " |" for each in (head, rule, *lines)]


def _escaped(cells: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]
