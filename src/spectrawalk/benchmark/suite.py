"""The runs of the suite, and one row for each scene, method and way to set K.

Each run is a process of its own and is kept under a fingerprint of the code, the pixels and the
settings (:mod:`spectrawalk.paper.runs`), so a suite that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.benchmark.methods import CHOSEN, FOUND, GIVEN, LABEL_FREE, Method, candidates
from spectrawalk.paper.runs import Job, MethodRun, plan_jobs, run_jobs
from spectrawalk.results.scores import score
from spectrawalk.scene import Scene

SCORES = ("oa", "aa", "kappa", "nmi", "ari", "purity")

TIME_LIMIT = 600.0
"""Seconds after which a run is ended, by default."""

SEEDS = 3
"""Seeds of random methods, by default."""


@dataclass(frozen=True)
class SuiteRow:
    """One method on one scene, with one way to set K.

    Attributes
    ----------
    scene, method, title : str
        The scene, the method, and its name for people.
    way : str
        "K given" or "K found".
    choice : str
        "label-free" or "chosen with ground truth".
    settings : str
        What was chosen with ground truth; empty for label-free rows.
    scores : mapping
        Mean over the seeds of each of :data:`SCORES`; empty if every run failed.
    spread : float
        Standard deviation (of a sample) of the overall accuracy over the seeds.
    n_seeds, n_classes : int
        Runs that did not fail, and classes of the ground truth.
    n_clusters : tuple of int
        Numbers of clusters found, each once.
    seconds, peak_mb : float or None
        Mean run time, and largest peak memory of a run.
    note : str
        Message of a failed run; empty if none failed.
    labels : ndarray or None
        Labels of the first run that did not fail.
    """

    scene: str
    method: str
    title: str
    way: str
    choice: str
    settings: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.0
    n_seeds: int = 0
    n_classes: int = 0
    n_clusters: tuple[int, ...] = ()
    seconds: float | None = None
    peak_mb: float | None = None
    note: str = ""
    labels: NDArray[np.int32] | None = field(default=None, compare=False, repr=False)

    @property
    def failed(self) -> bool:
        """Whether no run of it came to an end."""
        return not self.scores


@dataclass(frozen=True)
class _Planned:
    """A row to come, and its jobs; of an oracle, one job for each setting."""

    row: SuiteRow
    jobs: Sequence[Job]
    settings: Sequence[str] = ()


def run_suite(
    scenes: Sequence[Scene],
    methods: Sequence[Method],
    folder: Path,
    *,
    n_seeds: int = SEEDS,
    oracle: bool = False,
    time_limit: float = TIME_LIMIT,
    fresh: bool = False,
    plugins: Sequence[Path] = (),
) -> list[SuiteRow]:
    """Run every method on every scene, with K given and with K found.

    Parameters
    ----------
    scenes : sequence of Scene
        With ground truth.
    methods : sequence of Method
    folder : path
        Where runs are kept.
    n_seeds : int
        Seeds of random methods.
    oracle : bool
        Whether to add rows whose setting is the best of several by ground truth.
    time_limit : float
        Seconds after which a run is ended; this is a failure.
    fresh : bool
        Whether to repeat all runs.
    plugins : sequence of path
        Python files that register methods.
    """
    plans = [_plan(scene, methods, n_seeds, oracle=oracle) for scene in scenes]
    in_all = sum(len(planned.jobs) for plan in plans for planned in plan)
    rows, before = [], 0
    outer = progress.listener()

    def count(stage: str, done: int, total: int) -> None:
        if outer is not None:
            outer(stage, before + done, in_all)

    for scene, plan in zip(scenes, plans, strict=True):
        jobs = [job for planned in plan for job in planned.jobs]
        with progress.listen(count):
            runs = run_jobs(
                scene, jobs, folder, fresh=fresh, plugins=plugins, time_limit=time_limit
            )
            for planned in plan:
                rows.append(_row(scene, planned, [next(runs) for _ in planned.jobs]))
        before += len(jobs)
    return rows


def _plan(scene: Scene, methods: Sequence[Method], n_seeds: int, *, oracle: bool) -> list[_Planned]:
    """List the rows of a scene and their jobs."""
    truth = scene.ground_truth
    assert truth is not None
    n_classes = len(np.unique(truth[truth > 0]))
    plan = []
    for way in (GIVEN, FOUND):
        for method in methods:
            factory = method.factory(way)
            if factory is None:
                continue
            row = SuiteRow(
                scene.name, method.name, method.title, way, LABEL_FREE, n_classes=n_classes
            )
            variant = "" if way == GIVEN else "own-k"
            settings = method.parameters(way, n_classes)
            jobs = [
                Job(method.name, job.seed, settings | {"random_state": job.seed}, variant, factory)
                for job in plan_jobs([method.name], n_classes, 1 if factory else n_seeds)
            ]
            plan.append(_Planned(row, jobs))
            if oracle and way == GIVEN and len(candidates(method.name, scene.name)) > 1:
                plan.append(_plan_oracle(row, method, candidates(method.name, scene.name)))
    return plan


def _plan_oracle(row: SuiteRow, method: Method, settings: Sequence[Mapping[str, Any]]) -> _Planned:
    """One job for each setting; the first, the defaults, is the run of the label-free row."""
    named = [_in_words(each) for each in settings]
    given = method.parameters(GIVEN, row.n_classes) | {"random_state": 0}
    jobs = [
        Job(method.name, 0, given | dict(each), _variant(each), method.given or "")
        for each in settings
    ]
    return _Planned(replace(row, choice=CHOSEN), jobs, named)


def _in_words(settings: Mapping[str, Any]) -> str:
    if len(settings) > _FEW:
        return "the paper's settings"
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "defaults"


def _variant(settings: Mapping[str, Any]) -> str:
    if len(settings) > _FEW:
        return "paper"
    return "-".join(f"{name}-{value}" for name, value in settings.items())


_FEW = 3  # parameters of a setting of the grids; the paper's settings name all


def _row(scene: Scene, planned: _Planned, runs: Sequence[MethodRun]) -> SuiteRow:
    """Sum up the runs of a row."""
    row, chosen = planned.row, ""
    if planned.settings:
        good = [number for number, run in enumerate(runs) if not run.error]
        if good:
            best = max(good, key=lambda number: (runs[number].oa, -number))
            chosen = f"{planned.settings[best]}; the best of {len(runs)} by OA"
            runs = [runs[best]]
    good_runs = [run for run in runs if not run.error]
    failed = [run for run in runs if run.error]
    note = ""
    if failed:
        share = f" in {len(failed)} of {len(runs)} runs" if len(runs) > 1 else ""
        note = f"failed{share}: {failed[0].error}"
    if not good_runs:
        return replace(row, note=note)
    each = [score(scene.ground_truth, run.labels) for run in good_runs]  # type: ignore[arg-type]
    peaks = [run.peak_mb for run in good_runs if run.peak_mb is not None]
    accuracies = [found.oa for found in each]
    return replace(
        row,
        settings=chosen,
        scores={name: statistics.fmean(getattr(one, name) for one in each) for name in SCORES},
        spread=statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0,
        n_seeds=len(good_runs),
        n_clusters=tuple(sorted({run.n_clusters for run in good_runs})),
        seconds=statistics.fmean(run.seconds for run in good_runs),
        peak_mb=max(peaks) if peaks else None,
        note=note,
        labels=good_runs[0].labels,
    )
