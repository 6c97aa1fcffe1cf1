"""One method on one image, in a process of its own, so that its time and memory are its own.

It finds the cube, the mask and the job in a folder and leaves the labels and what became of the job
there. It never sees ground truth.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
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
    """Do the job in `folder`; whatever goes wrong is in its outcome, as one sentence."""
    outcome: dict[str, Any] = {"error": ""}
    try:
        job = read_json(folder / JOB)
        load_plugins(job["plugins"])
        cube, mask = np.load(folder / CUBE), np.load(folder / MASK)
        labels, seconds = cluster(job["method"], job["parameters"], cube, mask)
        np.save(folder / LABELS, labels)
        outcome |= {"seconds": seconds, "peak_mb": peak_megabytes()}
    except SpectrawalkError as error:
        outcome["error"] = str(error)
    except MemoryError:
        outcome["error"] = "there is not enough memory."
    except Exception as error:  # a user's own method may raise anything
        what = str(error).strip().splitlines()
        outcome["error"] = f"{type(error).__name__}: {what[0] if what else 'no message'}"
    write_json(folder / OUTCOME, outcome)


def cluster(
    method: str, parameters: Mapping[str, Any], cube: NDArray[Any], mask: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], float]:
    """Labels of one method, and the seconds that they took.

    Imports and compilation happen before the clock starts, on a small made-up scene.
    """
    with suppress(Exception):  # what is wrong with a method shows on the real scene
        small = make_scene((16, 16), n_bands=20, n_classes=2)
        warm_up = dict(parameters) | {"n_clusters": 2}
        make_method(method, **warm_up).fit_predict(small.cube, mask=small.mask)
    estimator = make_method(method, **parameters)
    start = time.perf_counter()
    labels = np.asarray(estimator.fit_predict(cube, mask=mask))
    seconds = time.perf_counter() - start
    return _checked(method, labels, mask), seconds


def _checked(method: str, labels: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    if labels.shape != mask.shape:
        raise DataError(
            f"method '{method}' gave labels of shape {labels.shape} for an image of {mask.shape}; "
            "it must give one label per pixel."
        )
    if labels.dtype.kind not in "ui":
        raise DataError(
            f"method '{method}' gave labels of type {labels.dtype}; it must give integers."
        )
    return np.where(mask, labels, -1).astype(np.int32)


def peak_megabytes() -> float | None:
    """Largest resident memory of this process so far; None where the system does not tell.

    On Linux from the kernel's account of the address space: what getrusage says there includes
    the program that started this one.
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
