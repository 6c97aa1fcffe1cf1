"""What a fit needs, told before it starts: memory from the arrays that it holds, time from trials.

``benchmarks/speed.py`` compares the forecast with what is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import psutil

from spectrawalk.errors import MemoryShortageError
from spectrawalk.parameters import is_automatic

PROGRAM = 380_000_000
"""Bytes of the interpreter, the libraries and the compiled kernels.

The first run on a machine compiles the kernels, which for a while takes as much again.
"""

_EDGES = 1.27
"""Entries of the symmetric graph, per neighbour of a pixel."""

_AUTO_PAIRS = 21
"""Eigenpairs that are computed to choose their number."""

_GUARDS = 8
"""Vectors that the eigensolver carries beside those wanted."""

_COARSE = 300
"""Bytes per pixel that tie the graph to the coarse one."""

_FAMILY_BYTES = 400
"""Bytes per pixel and cluster that a family's labels take where they are joined."""

_FAMILY_KEPT = 2600
"""Bytes per pixel that a family holds all the time: views, labels, one run kept whole."""

_MOST_AUTO_CLUSTERS = 12
"""Clusters that the automatic mode finds at the most when it counts them itself."""

_FAMILY_RUNS = 5
"""Single runs that a family takes as long as."""

_CGROUP = Path("/sys/fs/cgroup")

_forced: ContextVar[bool] = ContextVar("spectrawalk_forced", default=False)


def peak_memory(
    n_pixels: int,
    n_bands: int,
    n_neighbors: int = 100,
    *,
    n_eigenpairs: int | str = "auto",
    value_bytes: int = 4,
    n_family_clusters: int = 0,
) -> int:
    """Bytes that a program holds at the most while it fits an image.

    Parameters
    ----------
    n_pixels, n_bands : int
        Size of the image.
    n_neighbors : int
        k.
    n_eigenpairs : int
        M, or ``"auto"``.
    value_bytes : int
        Bytes of a value in the cube.
    n_family_clusters : int
        Clusters that the automatic mode looks for; 0 for a single run.

    Examples
    --------
    >>> round(peak_memory(1_000_000, 200) / 1e9, 1)
    6.8
    """
    cube = n_pixels * n_bands * value_bytes
    return (
        PROGRAM
        + cube
        + working_memory(n_pixels, n_bands, n_neighbors, n_eigenpairs, n_family_clusters)
    )


def working_memory(
    n_pixels: int,
    n_bands: int,
    n_neighbors: int = 100,
    n_eigenpairs: int | str = "auto",
    n_family_clusters: int = 0,
) -> int:
    """Bytes that a fit takes at the most, beside the program and the cube."""
    spectra = 8 * n_bands
    lists = 12 * n_neighbors  # neighbours, and their distances
    graph = 12 * _EDGES * n_neighbors
    pairs = _AUTO_PAIRS if n_eigenpairs == "auto" else int(n_eigenpairs)
    kept = 0
    if n_family_clusters:
        # Spectra as the family sees them, beside those that labels are predicted from.
        pairs, kept = n_family_clusters + 2, _FAMILY_KEPT + spectra
    block = 8 * (pairs - 1 + _GUARDS)
    stages = (
        spectra + spectra,  # scaling
        spectra + lists + 4 * n_neighbors + graph,
        # Three blocks of vectors, their images, and four on the way; the coarse graph.
        spectra + graph + 10 * block + _COARSE,
        spectra + spectra / 2 + 600,  # density: in single precision, and a tree
        spectra + _FAMILY_BYTES * n_family_clusters,  # labels of all runs, stacked
        3 * spectra if n_family_clusters else 0,  # smoothed, and centred
    )
    return int(n_pixels * (max(stages) + kept))


def family_clusters(parameters: Mapping[str, Any]) -> int:
    """Clusters that an estimator's family of runs looks for, at the most; 0 for a single run."""
    if not is_automatic(parameters.get("radius"), parameters.get("time")):
        return 0
    n_clusters = parameters["n_clusters"]
    return _MOST_AUTO_CLUSTERS if n_clusters == "auto" else int(n_clusters)


def run_time(n_pixels: int, n_bands: int, radius: int = 8, *, family: bool = False) -> float:
    """Seconds that a fit takes on two cores, to a factor of two; `family`: the automatic mode."""
    window = min((2 * radius + 1) ** 2, n_pixels)
    searched = min(n_pixels, 10_000)
    per_pixel = 1.6e-4 + 1.5e-10 * window * n_bands + 2e-11 * searched * n_bands
    return (1 + n_pixels * per_pixel) * (_FAMILY_RUNS if family else 1)


def available_memory() -> int:
    """Bytes that this process can still take."""
    available = int(psutil.virtual_memory().available)
    try:  # a container can have less than the machine
        limit = (_CGROUP / "memory.max").read_text()
        used = int((_CGROUP / "memory.current").read_text())
        available = min(available, max(int(limit) - used, 0))
    except (OSError, ValueError):
        pass
    return available


@contextmanager
def forced() -> Iterator[None]:
    """Let fits inside the ``with`` block start although memory seems too short.

    Examples
    --------
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.estimators import forecast
    >>> from spectrawalk.datasets import make_scene
    >>> with forecast.forced():
    ...     model = SRDL(n_clusters=2).fit(make_scene((20, 20)))
    """
    token = _forced.set(True)
    try:
        yield
    finally:
        _forced.reset(token)


def check_memory(
    n_pixels: int,
    n_bands: int,
    n_neighbors: int = 100,
    n_eigenpairs: int | str = "auto",
    n_family_clusters: int = 0,
) -> None:
    """Refuse a fit that the memory is too short for, before it starts."""
    if _forced.get() or os.environ.get("SPECTRAWALK_FORCE"):
        return
    needed = working_memory(n_pixels, n_bands, n_neighbors, n_eigenpairs, n_family_clusters)
    available = available_memory()
    if needed > available:
        raise MemoryShortageError(
            f"the fit needs about {needed / 2**30:.1f} GiB of memory for {n_pixels:,} pixels, "
            f"{n_bands} bands and n_neighbors={n_neighbors}, but only {available / 2**30:.1f} GiB "
            "are free; crop the image, drop bands, use fewer neighbours, or start it all the same "
            "with --force (forecast.forced() in Python)."
        )
