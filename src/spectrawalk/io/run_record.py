"""The record of a run: what went in, with which settings, on what, so that it can be repeated."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from spectrawalk import __version__
from spectrawalk.errors import FileError
from spectrawalk.results.model import TreeModel
from spectrawalk.results.result import Result
from spectrawalk.scene import Scene

RECORD_FORMAT = 1
"""Raised when older code could not repeat a run from a newer record."""

WITH_STEPS = 2
"""Format of a record with steps that were taken in the explorer."""

RECORD_NAME = "run.json"
"""File that `spectrawalk cluster` writes the record to."""

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "rasterio", "h5py")
_PARTS = ("scene", "method", "parameters", "inputs", "pixels_sha256")


def record_json(record: dict[str, Any]) -> bytes:
    r"""Encode a record as JSON that people read.

    Examples
    --------
    >>> import numpy as np
    >>> record_json({"sigma": np.float64(1.5), "sizes": np.array([3, 2])})
    b'{\n  "sigma": 1.5,\n  "sizes": [\n    3,\n    2\n  ]\n}\n'
    """
    # A name that is not Unicode, as Linux allows, is kept as an escape: JSON in ASCII knows it.
    return (json.dumps(record, indent=2, default=_plain) + "\n").encode("ascii")


def read_record(path: str | os.PathLike[str], parts: Sequence[str] = _PARTS) -> dict[str, Any]:
    """Read the record of a run, and refuse what lacks one of its `parts`."""
    try:
        record = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise FileError(
            f"the record '{path}' cannot be read: {error.strerror or error}; "
            "give the run.json of an earlier run."
        ) from error
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or any(part not in record for part in parts):
        raise FileError(
            f"'{path}' is not the record of a run; give the run.json that `spectrawalk cluster` "
            "wrote."
        )
    if record.get("format") not in (RECORD_FORMAT, WITH_STEPS):
        raise FileError(
            f"the record '{path}' has format {record.get('format')}, written by spectrawalk "
            f"{record.get('spectrawalk')}; this is {__version__}, which reads formats "
            f"{RECORD_FORMAT} and {WITH_STEPS}: repeat the run with the version that wrote it."
        )
    return record


def file_entry(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Path, size in bytes and SHA-256 of a file, or of all files in a folder."""
    whole = Path(os.path.abspath(path))
    if not whole.is_dir():
        checksum = sha256_of(whole)
        return {"path": str(whole), "bytes": whole.stat().st_size, "sha256": checksum}
    digest, size = hashlib.sha256(), 0
    for file in sorted(file for file in whole.rglob("*") if file.is_file()):
        digest.update(os.fsencode(file.relative_to(whole).as_posix()) + b"\0")
        digest.update(bytes.fromhex(sha256_of(file)))
        size += file.stat().st_size
    return {"path": str(whole), "bytes": size, "sha256": digest.hexdigest()}


def sha256_of(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hexadecimal."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(
            f"'{path}' cannot be read: {error.strerror or error}; check the file."
        ) from error


def pixels_sha256(scene: Scene) -> str:
    """SHA-256 of all that labels depend on: the valid spectra and where they lie.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> one, other = Scene(np.zeros((2, 2, 3))), Scene(np.ones((2, 2, 3)))
    >>> pixels_sha256(one) == pixels_sha256(one), pixels_sha256(one) == pixels_sha256(other)
    (True, False)
    """
    digest = hashlib.sha256(f"{scene.cube.shape} {scene.cube.dtype.name}".encode())
    digest.update(np.packbits(scene.mask).tobytes())
    for row, valid in zip(scene.cube, scene.mask, strict=True):
        digest.update(row[valid].tobytes())
    return digest.hexdigest()


def environment() -> dict[str, Any]:
    """Versions and machine, for the record."""
    return {
        "format": RECORD_FORMAT,
        "spectrawalk": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "platform": f"{sys.platform}, {platform.machine()}, {os.cpu_count()} processors",
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _plain(value: Any) -> Any:
    """Turn what NumPy made into what JSON knows."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def spread_entry(result: Result) -> list[float | None]:
    """Spread of each cluster for the record; None without pixels."""
    return [None if np.isnan(each) else round(float(each), 5) for each in result.spread]


def outcome(result: Result) -> dict[str, Any]:
    """What a run found, as plain values: its part of the record."""
    scores = None if result.scores is None else asdict(result.scores)
    found: dict[str, Any] = {
        "n_clusters": result.n_clusters,
        "sizes": result.sizes.tolist(),
        f"mean_{result.certainty.name}": result.mean_certainty.round(4).tolist(),
        "spread": spread_entry(result),
    }
    if result.predicted:
        return found | {"unlike_the_fit": int(result.unlike.sum()), "scores": scores}
    model = result.model
    if isinstance(model, TreeModel):
        return found | {
            "detail": model.detail_,
            "measured_detail": model.measured_detail_,
            "levels": [level._asdict() for level in model.levels_],
            "verdict": model.verdict_,
            "number_of_clusters": result.choice,
            "warnings": result.doubts,
            "scores": scores,
        }
    return (
        found
        | _of_successors(model)
        | {
            "n_eigenpairs": len(model.eigenvalues_),
            "graph_components": model.n_components_,
            "exact_density": bool(model.exact_density_),
            "number_of_clusters": result.choice,
            "warnings": result.doubts,
            "scores": scores,
        }
    )


def _of_successors(model: Any) -> dict[str, Any]:
    """What M-SRDL, D-VIC and S2DL find beside a run."""
    names = ("time", "n_endmembers", "n_superpixels")
    found = {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    if hasattr(model, "times_"):
        found["times"] = model.times_.tolist()
        found["clusters_per_time"] = model.n_clusters_per_time_.tolist()
    return found
