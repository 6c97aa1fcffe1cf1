"""Summary of the runs: one row per method and scene, next to the paper's figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spectrawalk.paper.published import PUBLISHED, Accuracy, method_title, scene_title
from spectrawalk.paper.runs import MethodRun

SCORES = ("oa", "aa", "kappa")
COLUMNS = (
    "method",
    "scene",
    *SCORES,
    *(f"paper_{name}" for name in SCORES),
    *(f"diff_{name}" for name in SCORES),
    *(f"sd_{name}" for name in SCORES),
    "n_seeds",
    "n_clusters",
    "note",
    "seconds",
    "peak_mb",
)
"""Columns of the comma-separated table."""

NEAR, VERY_NEAR = 0.10, 0.02
"""Largest difference from the paper's OA that counts as close, and as very close."""


@dataclass(frozen=True)
class Row:
    """One method on one scene.

    Attributes
    ----------
    method, scene : str
    mean, spread : Accuracy or None
        Mean and standard deviation (of a sample) over the seeds; None if every run failed.
    paper : Accuracy or None
        Figures of the paper, if it has this method and scene.
    n_seeds : int
        Number of runs that did not fail; 1 for a method that is not random.
    n_wanted : int or None
        Number of clusters asked for; None if the method was to find it.
    n_clusters : tuple of int
        Numbers of clusters found, each once.
    seconds, peak_mb : float or None
        Mean run time, and largest peak memory of a run.
    note : str
        Message of a failed run; empty if none failed.
    """

    method: str
    scene: str
    mean: Accuracy | None
    spread: Accuracy | None
    paper: Accuracy | None
    n_seeds: int
    n_wanted: int | None
    n_clusters: tuple[int, ...]
    seconds: float | None
    peak_mb: float | None
    note: str

    @property
    def difference(self) -> Accuracy | None:
        """Measured minus paper."""
        if self.mean is None or self.paper is None:
            return None
        return Accuracy(
            *(ours - theirs for ours, theirs in zip(self.mean, self.paper, strict=True))
        )


def sum_up(
    runs: Iterable[MethodRun], paper: Mapping[tuple[str, str], Accuracy] | None = None
) -> list[Row]:
    """Summarise runs, one row per method and scene, in the order of the runs.

    Parameters
    ----------
    runs : iterable of MethodRun
    paper : mapping, optional
        Accuracy of each (method, scene) in the paper; by default none.

    Examples
    --------
    >>> scores = {"aa": 0.5, "kappa": 0.1}
    >>> runs = [MethodRun("sc", "field", s, 3, oa=0.4 + 0.2 * s, **scores) for s in (0, 1)]
    >>> [row] = sum_up(runs)
    >>> row.n_seeds, round(row.mean.oa, 3), round(row.spread.oa, 3)
    (2, 0.5, 0.141)
    """
    grouped: dict[tuple[str, str], list[MethodRun]] = {}
    for run in runs:
        grouped.setdefault((run.method, run.scene), []).append(run)
    return [_row(group, (paper or {}).get(key)) for key, group in grouped.items()]


def paper_rows(runs: Iterable[MethodRun]) -> list[Row]:
    """Summarise runs on the paper's scenes, next to the paper's table."""
    return sum_up(runs, PUBLISHED)


def _row(runs: Sequence[MethodRun], paper: Accuracy | None) -> Row:
    good = [run for run in runs if not run.error]
    failed = [run for run in runs if run.error]
    note = ""
    if failed:
        share = "" if len(runs) == 1 else f" with {len(failed)} of {len(runs)} seeds"
        note = f"failed{share}: {failed[0].error}"
    values = [[getattr(run, name) for run in good] for name in SCORES]
    peaks = [run.peak_mb for run in good if run.peak_mb is not None]
    return Row(
        runs[0].method,
        runs[0].scene,
        mean=Accuracy(*map(statistics.fmean, values)) if good else None,
        spread=Accuracy(*map(_deviation, values)) if good else None,
        paper=paper,
        n_seeds=len(good),
        n_wanted=runs[0].n_wanted,
        n_clusters=tuple(sorted({run.n_clusters for run in good})),
        seconds=statistics.fmean(run.seconds for run in good) if good else None,
        peak_mb=max(peaks) if peaks else None,
        note=note,
    )


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def as_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Records of the rows with the columns of :data:`COLUMNS`; empty if unknown."""
    return [_record(row) for row in rows]


def _record(row: Row) -> dict[str, Any]:
    record: dict[str, Any] = {"method": row.method, "scene": row.scene}
    for prefix, accuracy, digits in (
        ("", row.mean, 6),
        ("paper_", row.paper, 2),
        ("diff_", row.difference, 6),
        ("sd_", row.spread, 6),
    ):
        for place, name in enumerate(SCORES):
            value = "" if accuracy is None else f"{accuracy[place] + 0.0:.{digits}f}"
            record[prefix + name] = value
    return record | {
        "n_seeds": row.n_seeds,
        "n_clusters": " ".join(map(str, row.n_clusters)),
        "note": row.note,
        "seconds": "" if row.seconds is None else f"{row.seconds:.3f}",
        "peak_mb": "" if row.peak_mb is None else f"{row.peak_mb:.0f}",
    }


def as_markdown(rows: Sequence[Row], missing: Sequence[str] = ()) -> str:
    """Write a table for each scene, followed by a summary.

    Parameters
    ----------
    rows : sequence of Row
    missing : sequence of str
        Names of the scenes that are not available.
    """
    parts = []
    for scene in dict.fromkeys(row.scene for row in rows):
        of_scene = [row for row in rows if row.scene == scene]
        parts += [f"### {scene_title(scene)}", _scene_table(of_scene)]
        parts += [f"- {sentence}" for sentence in remarks(of_scene)]
        parts.append("")
    for scene in missing:
        parts += [
            f"### {scene_title(scene)}",
            "\nNot measured: the files of this scene are not available.\n",
        ]
    return "\n".join(parts)


def _scene_table(rows: Sequence[Row]) -> str:
    compared = any(row.paper is not None for row in rows)
    head = ["method", "OA", "AA", "kappa"]
    if compared:
        head += ["paper OA / AA / kappa", "difference"]
    head += ["seeds", "seconds", "peak MB"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in rows:
        cells = [method_title(row.method)]
        if row.mean is None or row.spread is None:
            cells += ["-"] * 3
        else:
            cells += [
                f"{value:.3f}" + (f" ± {spread:.3f}" if row.n_seeds > 1 else "")
                for value, spread in zip(row.mean, row.spread, strict=True)
            ]
        if compared:
            cells.append("-" if row.paper is None else _together(row.paper, ".2f"))
            cells.append("-" if row.difference is None else _together(row.difference, "+.2f"))
        cells += [
            str(row.n_seeds),
            "-" if row.seconds is None else f"{row.seconds:.1f}",
            "-" if row.peak_mb is None else f"{row.peak_mb:.0f}",
        ]
        lines.append(cells)
    return "\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _together(accuracy: Accuracy, pattern: str) -> str:
    # Rounded first to avoid -0.00.
    return " / ".join(format(round(value, 2) + 0.0, pattern) for value in accuracy)


def remarks(rows: Sequence[Row]) -> list[str]:
    """Summarise the rows of one scene in sentences."""
    sentences = []
    ranked = sorted((row for row in rows if row.mean is not None), key=_oa, reverse=True)
    if len(ranked) > 1:
        first, second = ranked[:2]
        sentences.append(
            f"Highest OA: {method_title(first.method)} with {_oa(first):.3f}, "
            f"then {method_title(second.method)} with {_oa(second):.3f}."
        )
    distance = {row.method: row.difference.oa for row in ranked if row.difference is not None}
    if distance:
        near, very_near = (
            sum(abs(value) <= limit for value in distance.values()) for limit in (NEAR, VERY_NEAR)
        )
        text = (
            f"{near} of {len(distance)} methods are within {NEAR:.2f} of the paper's OA, "
            f"{very_near} of them within {VERY_NEAR:.2f}"
        )
        far = [
            f"{method_title(method)} ({value:+.2f})"
            for method, value in distance.items()
            if abs(value) > NEAR
        ]
        sentences.append(text + (f"; not within {NEAR:.2f}: {', '.join(far)}." if far else "."))
    sentences += [f"{method_title(row.method)} {row.note}" for row in rows if row.note]
    for row in rows:
        if row.n_clusters and row.n_clusters != (row.n_wanted,):
            found = " or ".join(map(str, row.n_clusters))
            sentences.append(
                f"{method_title(row.method)} found {found} clusters, and {row.n_wanted} were asked "
                "for."
            )
    return sentences


def _oa(row: Row) -> float:
    return row.mean.oa if row.mean is not None else float("-inf")
