"""The runs of a table. Each run is a separate process, is done once, and is kept in a folder.

A run is one method with one seed on one scene. Its result is kept under the names of the method and
the scene, with a fingerprint of everything that it depends on. So an interrupted table continues
where it stopped, and results of older code, other data or other settings are never reused.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spectrawalk
from spectrawalk import progress
from spectrawalk.baselines import STOCHASTIC, method_names
from spectrawalk.baselines.registry import ENTRY_POINT_GROUP
from spectrawalk.errors import DataError, FileError, ParameterError
from spectrawalk.io.atomic import atomic_path
from spectrawalk.io.text_file import read_json, write_json
from spectrawalk.paper import child
from spectrawalk.paper.published import LATER_TITLES, METHOD_TITLES, method_title, scene_title
from spectrawalk.results.scores import score
from spectrawalk.scene import Scene

RUNS = "runs"
"""Folder inside the output folder where runs are kept."""

_NOT_IN_RUNS = {"benchmark", "cli", "doctor", "explore", "paper", "report", "scale"}
"""Parts of the package that affect neither labels nor scores."""

_OWN_METHODS = METHOD_TITLES | LATER_TITLES

_HOME = str(Path(spectrawalk.__file__).resolve().parent.parent)
# With -P, files in the user's folder do not hide modules of the same name. The package is imported
# from the same folder as here, even if this was a relative path.
_START_CHILD = """
import sys
from pathlib import Path
sys.path.append(sys.argv[2])
from spectrawalk.paper.child import main
main(Path(sys.argv[1]))
"""


@dataclass(frozen=True)
class Job:
    """One method with one seed, to be run.

    Attributes
    ----------
    method, seed
        The method and the seed.
    parameters : mapping
        Parameters of the estimator, with ``random_state`` and, where it is given, ``n_clusters``.
    variant : str
        Tells jobs of one method apart that differ in their parameters only.
    factory : str
        ``"module:name"`` of the estimator; by default the registry has it under `method`.
    """

    method: str
    seed: int
    parameters: Mapping[str, Any]
    variant: str = ""
    factory: str = ""


@dataclass(frozen=True)
class MethodRun:
    """Result of one method with one seed on one scene.

    Attributes
    ----------
    method, scene, seed
        The method, the name of the scene and the seed.
    oa, aa, kappa : float
        Agreement with the ground truth; NaN if the run failed.
    n_wanted, n_clusters : int
        Number of clusters asked for (None if the method is to find it), and found.
    seconds : float
        Run time of the method, without imports and compilation.
    peak_mb : float or None
        Peak resident memory of the process, with the interpreter and its libraries.
    error : str
        One-line message if the run failed; empty otherwise.
    timed_out : bool
        Whether it failed because it took too long.
    variant : str
        That of the job.
    """

    method: str
    scene: str
    seed: int
    n_wanted: int | None
    oa: float = float("nan")
    aa: float = float("nan")
    kappa: float = float("nan")
    n_clusters: int = 0
    seconds: float = float("nan")
    peak_mb: float | None = None
    error: str = ""
    timed_out: bool = False
    variant: str = ""
    labels: NDArray[np.int32] | None = field(default=None, compare=False, repr=False)


def choose_methods(names: str) -> list[str]:
    """Parse a comma-separated list of methods, or ``all``.

    ``all`` is the fourteen methods of the paper, later ones, and all registered ones.

    Examples
    --------
    >>> choose_methods("sc, k-means")
    ['sc', 'k-means']
    """
    known = method_names()
    if names.strip() == "all":
        return known
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        found = ", ".join(map(repr, unknown)) or repr(names)
        raise ParameterError(
            f"method {found} is not known; choose all, or from {', '.join(known)}."
        )
    return wanted


def plan_jobs(
    methods: Sequence[str],
    n_clusters: int,
    n_seeds: int,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Job]:
    """List the jobs of a table: random methods once per seed, other methods once.

    Parameters
    ----------
    methods : sequence of str
    n_clusters : int
    n_seeds : int
        The seeds are 0, 1, ... Registered methods run with all of them, because they may be random.
    settings : mapping, optional
        Parameters of each method that differ from its defaults.

    Examples
    --------
    >>> [(job.method, job.seed) for job in plan_jobs(["sc", "hnmf"], n_clusters=3, n_seeds=2)]
    [('sc', 0), ('sc', 1), ('hnmf', 0)]
    """
    jobs = []
    for method in methods:
        given = dict((settings or {}).get(method, {}))
        depends = method in STOCHASTIC or method not in _OWN_METHODS
        for seed in range(n_seeds if depends else 1):
            parameters = {"n_clusters": n_clusters} | given | {"random_state": seed}
            jobs.append(Job(method, seed, parameters))
    return jobs


def run_jobs(
    scene: Scene,
    jobs: Sequence[Job],
    folder: Path,
    *,
    fresh: bool = False,
    plugins: Sequence[Path] = (),
    time_limit: float | None = None,
) -> Iterator[MethodRun]:
    """Run the jobs on a scene with ground truth, or reuse the results that were kept.

    Parameters
    ----------
    scene : Scene
    jobs : sequence of Job
    folder : path
        Runs are kept here, in ``runs/<scene>``. Failed runs are not kept and run again, but for
        those that took too long.
    fresh : bool
        Whether to repeat all runs.
    plugins : sequence of path
        Python files that register methods.
    time_limit : float, optional
        Seconds after which a run is ended, which counts as a failure. Further seeds of the same job
        are not tried then.

    Yields
    ------
    MethodRun
        In the order of the jobs, with labels. Each is kept before it is yielded.
    """
    if scene.ground_truth is None or not (scene.ground_truth > 0).any():
        raise DataError(f"scene '{scene.name}' has no ground truth; give one for the scores.")
    place = folder / RUNS / _file_name(scene.name)
    place.mkdir(parents=True, exist_ok=True)
    data = fingerprint_of_scene(scene)
    too_slow: dict[tuple[str, str], MethodRun] = {}
    with _scene_on_disk(scene, place) as work:
        for done, job in enumerate(jobs):
            stage = f"{method_title(job.method)} on {scene_title(scene.name)}"
            progress.report(stage, done, len(jobs))
            same = (job.method, job.variant)
            run = too_slow.get(same)
            if run is None:
                kept = place / "-".join(map(_file_name, filter(None, [*same, f"seed{job.seed}"])))
                fingerprint = _fingerprint(job, data, plugins)
                run = None if fresh else _find(kept, fingerprint, time_limit)
                if run is None:
                    run = _run_job(scene, job, work, plugins, time_limit)
                    if run.timed_out or not run.error:
                        _keep(kept, run, fingerprint, time_limit)
            if run.timed_out:
                too_slow[same] = run
            yield replace(run, scene=scene.name, seed=job.seed)
            progress.report(stage, done + 1, len(jobs))


def fingerprint_of_scene(scene: Scene) -> str:
    """Digest of the pixels, the mask and the ground truth."""
    digest = hashlib.sha256()
    for array in (scene.cube, scene.mask, scene.ground_truth):
        array = np.ascontiguousarray(array)
        digest.update(f"{array.shape}{array.dtype}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _fingerprint(job: Job, data: str, plugins: Sequence[Path]) -> str:
    """Digest of everything that affects labels and scores."""
    own = () if job.method in _OWN_METHODS else _sources_of_method(job.method, plugins)
    record = {
        "parameters": dict(job.parameters),
        "method": job.method,
        "factory": job.factory,
        "scene": data,
        "code": _fingerprint_of_code(),
        "own": [hashlib.sha256(file.read_bytes()).hexdigest() for file in own],
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


@cache
def _fingerprint_of_code() -> str:
    """Digest of the package and of the versions of the numerical libraries."""
    digest = hashlib.sha256()
    home = Path(spectrawalk.__file__).parent
    for file in sorted(home.rglob("*.py")):
        inside = file.relative_to(home)
        if inside.parts[0] not in _NOT_IN_RUNS:
            digest.update(inside.as_posix().encode() + file.read_bytes())
    for library in ("numpy", "scipy", "scikit-learn", "numba"):
        digest.update(f"{library} {version(library)}".encode())
    return digest.hexdigest()


def _sources_of_method(method: str, plugins: Sequence[Path]) -> list[Path]:
    """Known source files of a registered method."""
    files = list(plugins)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name == method:
            try:
                spec = find_spec(entry.module)
            except ImportError:  # the run itself reports this
                spec = None
            if spec is not None and spec.origin is not None and Path(spec.origin).is_file():
                files.append(Path(spec.origin))
    return files


def _scene_on_disk(scene: Scene, place: Path) -> TemporaryDirectory[str]:
    """Write the cube and the mask, which the child process reads, into a temporary folder."""
    work = TemporaryDirectory(prefix=".spectrawalk-", dir=place)
    np.save(Path(work.name, child.CUBE), scene.cube)
    np.save(Path(work.name, child.MASK), scene.mask)
    return work


def _run_job(
    scene: Scene, job: Job, work: str, plugins: Sequence[Path], time_limit: float | None
) -> MethodRun:
    folder = Path(work)
    for leftover in (child.LABELS, child.OUTCOME):
        (folder / leftover).unlink(missing_ok=True)
    record = {"method": job.method, "factory": job.factory, "parameters": dict(job.parameters)}
    write_json(folder / child.JOB, record | {"plugins": [str(Path(p).resolve()) for p in plugins]})
    wanted = job.parameters.get("n_clusters")
    n_wanted = wanted if isinstance(wanted, int) else None
    failed = MethodRun(job.method, scene.name, job.seed, n_wanted, variant=job.variant)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _START_CHILD, str(folder.resolve()), _HOME],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
            timeout=time_limit,
        )
    except subprocess.TimeoutExpired:
        why = f"it took longer than {time_limit:g} s and was ended."
        return replace(failed, error=why, timed_out=True)
    if not (folder / child.OUTCOME).exists():
        return replace(failed, error=_why_it_died(done))
    outcome = read_json(folder / child.OUTCOME)
    if outcome["error"]:
        return replace(failed, error=" ".join(outcome["error"].split()))
    labels = np.load(folder / child.LABELS)
    assert scene.ground_truth is not None
    scores = score(scene.ground_truth, labels)
    return replace(
        failed,
        oa=scores.oa,
        aa=scores.aa,
        kappa=scores.kappa,
        n_clusters=len(np.unique(labels[labels >= 0])),
        seconds=outcome["seconds"],
        peak_mb=outcome["peak_mb"],
        labels=labels,
    )


def _why_it_died(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return (
            f"its process was ended by signal {-done.returncode}, possibly because memory ran out."
        )
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    return f"its process ended with code {done.returncode}: {last[0]}"


def _find(kept: Path, fingerprint: str, time_limit: float | None) -> MethodRun | None:
    """Read a run that was kept, if code, data and settings are the same.

    One that took too long counts only if it had as much time as there is now.
    """
    record_file, labels_file = kept.with_suffix(".json"), kept.with_suffix(".npy")
    if not record_file.is_file():
        return None
    try:
        record = read_json(record_file)
        limit = record.pop("time_limit", None)
        if record.pop("fingerprint", None) != fingerprint:
            return None
        if record.get("timed_out"):
            return MethodRun(**record) if limit == time_limit else None
        return MethodRun(**record, labels=np.load(labels_file))
    except (FileError, TypeError, ValueError, OSError):
        return None  # damaged: run again


def _keep(kept: Path, run: MethodRun, fingerprint: str, time_limit: float | None) -> None:
    record_file = kept.with_suffix(".json")
    record_file.unlink(missing_ok=True)  # a record must never belong to other labels
    if run.labels is not None:
        with atomic_path(kept.with_suffix(".npy")) as temporary:
            np.save(temporary, run.labels)
    record = asdict(replace(run, labels=None)) | {"fingerprint": fingerprint}
    record["time_limit"] = time_limit if run.timed_out else None
    del record["labels"]
    write_json(record_file, record)


def _file_name(name: str) -> str:
    """File name that is valid on every file system."""
    return re.sub(r"[^\w-]+", "_", name) or "_"
