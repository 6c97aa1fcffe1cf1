"""One method on one image, in a separate process, so that time and memory are measured separately.

The process reads the cube, the mask and the job from a folder, and writes the labels and the
outcome there. It has no access to ground truth.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.baselines import make_method
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError, SpectrawalkError
from spectrawalk.io.text_file import read_json, write_json
from spectrawalk.paper.plugins import load_plugins

CUBE, MASK, JOB, LABELS, OUTCOME = "cube.npy", "mask.npy", "job.json", "labels.npy", "outcome.json"


def main(folder: Path) -> None:
    """Do the job in `folder`. If it fails, the outcome contains a one-line message."""
    outcome: dict[str, Any] = {"error": ""}
    try:
        job = read_json(folder / JOB)
        load_plugins(job["plugins"])
        cube, mask = np.load(folder / CUBE), np.load(folder / MASK)
        make = _in_module(job["factory"]) if job["factory"] else partial(make_method, job["method"])
        labels, seconds = cluster(job["method"], make, job["parameters"], cube, mask)
        np.save(folder / LABELS, labels)
        outcome |= {"seconds": seconds, "peak_mb": peak_megabytes()}
    except SpectrawalkError as error:
        outcome["error"] = str(error)
    except MemoryError:
        outcome["error"] = (
            "there is not enough memory; use a smaller image or a machine with more memory."
        )
    except Exception as error:  # a user's own method can raise any exception
        what = str(error).strip().splitlines()
        outcome["error"] = f"{type(error).__name__}: {what[0] if what else 'no message'}"
    write_json(folder / OUTCOME, outcome)


def _in_module(name: str) -> Callable[..., Any]:
    """Find what ``"module:name"`` names."""
    module, _, inside = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), inside)
    return found


def cluster(
    method: str,
    make: Callable[..., Any],
    parameters: Mapping[str, Any],
    cube: NDArray[Any],
    mask: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], float]:
    """Labels of one method, and its run time in seconds.

    A first run on a small synthetic scene imports and compiles everything before the timing starts.
    It has enough pixels for runs of SRDL inside SpectraWalk.
    """
    with suppress(Exception):  # an error of the method also occurs on the real scene
        small = make_scene((24, 24), n_bands=20, n_classes=2)
        given = isinstance(parameters.get("n_clusters"), int)
        warm_up = dict(parameters) | ({"n_clusters": 2} if given else {})
        make(**warm_up).fit_predict(small.cube, mask=small.mask)
    estimator = make(**parameters)
    start = time.perf_counter()
    labels = np.asarray(estimator.fit_predict(cube, mask=mask))
    seconds = time.perf_counter() - start
    return _checked(method, labels, mask), seconds


def _checked(method: str, labels: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    if labels.shape != mask.shape:
        raise DataError(
            f"method '{method}' returned labels of shape {labels.shape} for an image of shape "
            f"{mask.shape}; it must return one label per pixel."
        )
    if labels.dtype.kind not in "ui":
        raise DataError(
            f"method '{method}' returned labels of type {labels.dtype}; it must return integers."
        )
    return np.where(mask, labels, -1).astype(np.int32)


def peak_megabytes() -> float | None:
    """Peak resident memory of this process so far; None if the system does not report it.

    On Linux the value comes from /proc, because getrusage includes the parent process there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024
