"""What a fit needs, told before it starts: memory from the arrays that it holds, time from trials.

``benchmarks/speed.py`` compares the forecast with what is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

import psutil

from spectrawalk.consensus.graphs import LARGEST_RADIUS, NEIGHBORS
from spectrawalk.consensus.resolutions import RESOLUTIONS
from spectrawalk.consensus.tree import SAMPLE as JOINED
from spectrawalk.errors import MemoryShortageError
from spectrawalk.parameters import is_auto
from spectrawalk.prepare.scaling import ROWS as SCALED_ROWS
from spectrawalk.srdl.density import MEAN_SAMPLE, ORDERED_ROWS
from spectrawalk.srdl.eigenpairs import AUTO_EIGENPAIRS
from spectrawalk.srdl.eigensolver import GUARDS
from spectrawalk.srdl.neighbors import SEARCH_BUDGET

PROGRAM = 380_000_000
"""Bytes of the interpreter, the libraries and the compiled kernels.

The first run on a machine compiles the kernels, which for a while takes as much again.
"""

# Measured on synthetic and published scenes; tests/test_forecast.py compares them with fits.

_EDGES = {True: 1.4, False: 1.5}
"""Entries of the symmetric graph per neighbour of a pixel, with a window and without."""

_BLOCKS = 16
"""Blocks of vectors in the eigensolver: three with their images, and those on the way."""

_COARSE = 300
"""Bytes per pixel that tie the graph to the coarse one."""

_DISTANCES = 60_000_000
"""Bytes of the distances between sampled pixels that are held at a time."""

_ENSEMBLE_JOINED = 11_000
"""Bytes per sampled pixel where the labels of all runs are joined into groups."""

_ENSEMBLE_KEPT = 1600
"""Bytes per pixel that an ensemble holds all the time: feature sets, and the labels of all runs."""

_ENSEMBLE_RUNS = 4
"""Single runs that an ensemble takes as long as."""

_PIXEL_SECONDS = 1.6e-4
"""Seconds per pixel of what depends neither on the window nor on the bands: the eigenpairs."""

_WINDOW_SECONDS = 1.5e-10
"""Seconds per pixel, band and pixel of its window."""

_SEARCH_SECONDS = 2e-11
"""Seconds per pixel, band and pixel of the image that is searched for the density."""

CGROUP = Path("/sys/fs/cgroup")
"""Where a container finds its limits."""

_forced: ContextVar[bool] = ContextVar("spectrawalk_forced", default=False)


class Forecast(NamedTuple):
    """What a fit is likely to take on two cores."""

    memory: int
    """Bytes at the most, beside the program and the cube."""
    seconds: float
    """To a factor of two."""


def working_memory(
    n_pixels: int,
    n_bands: int,
    n_neighbors: int = 100,
    n_eigenpairs: int | str = "auto",
    *,
    windowed: bool = True,
) -> int:
    """Bytes that one run takes at the most, beside the program and the cube.

    Parameters
    ----------
    n_pixels, n_bands : int
        Size of the image.
    n_neighbors : int
        k.
    n_eigenpairs : int
        M, or ``"auto"``.
    windowed : bool
        Whether neighbours are sought in windows, or in the whole image.

    Examples
    --------
    >>> round(working_memory(1_000_000, 200) / 1e9, 1)
    7.2
    """
    stages = _stages(n_pixels, n_bands, n_neighbors, n_eigenpairs, windowed=windowed)
    # Without a window, the distances that the density is made of are kept.
    return int(n_pixels * (not windowed) * 8 * n_neighbors + _largest(stages, n_pixels))


def ensemble_memory(n_pixels: int, n_bands: int) -> int:
    """Bytes that a fit of SpectraWalk takes at the most, beside the program and the cube."""
    spectra, most = 8 * n_bands, RESOLUTIONS[-1]
    stages = _stages(n_pixels, n_bands, NEIGHBORS, most, windowed=False)
    stages["joining"] = (spectra, _ENSEMBLE_JOINED * min(n_pixels, JOINED))
    stages["smoothing"] = (3 * spectra, 0)
    # Distances, and spectra as the ensemble sees them beside those that labels are predicted from.
    kept = 8 * NEIGHBORS + _ENSEMBLE_KEPT + spectra
    return int(n_pixels * kept + _largest(stages, n_pixels))


_Stages = dict[str, tuple[float, float]]
"""Bytes per pixel in each stage, and bytes of the parts that it goes through one at a time."""


def _stages(
    n_pixels: int, n_bands: int, n_neighbors: int, n_eigenpairs: int | str, *, windowed: bool
) -> _Stages:
    """Memory of the stages of a run."""
    spectra = 8 * n_bands
    lists = 12 * n_neighbors  # neighbours, and their distances
    graph = 12 * _EDGES[windowed] * n_neighbors
    # One eigenpair beyond, to see the gap after the last.
    pairs = AUTO_EIGENPAIRS[1] + 1 if is_auto(n_eigenpairs) else int(n_eigenpairs)
    vectors = _BLOCKS * 8 * (pairs - 1 + GUARDS)
    return {
        "scaling": (2 * spectra, 2 * spectra * min(n_pixels, SCALED_ROWS)),
        "graph": (spectra + lists + 8 * n_neighbors + graph, 0),
        "eigenpairs": (spectra + graph + vectors + _COARSE, 0),
        # The vectors are not needed any more, but the allocator often still holds their memory.
        "bandwidth": (
            spectra + 2 * 8 * pairs + vectors,
            spectra * (min(n_pixels, ORDERED_ROWS) + 3 * min(n_pixels, MEAN_SAMPLE)) + _DISTANCES,
        ),
        "density": (spectra + spectra / 2 + 600, 0),  # in single precision, and a tree
    }


def _largest(stages: _Stages, n_pixels: int) -> float:
    return max(n_pixels * each + parts for each, parts in stages.values())


def run_time(n_pixels: int, n_bands: int, radius: int | None) -> float:
    """Seconds that one run takes on two cores, to a factor of two.

    Parameters
    ----------
    n_pixels, n_bands : int
        Size of the image.
    radius : int or None
        Half-width of the window; None if neighbours are sought in the whole image.

    Examples
    --------
    >>> [round(run_time(100_000, 200, radius)) for radius in (8, 20, None)]
    [22, 26, 25]
    """
    searched = min(n_pixels, SEARCH_BUDGET)
    if radius is None:
        # One search for graph and density; it takes twice as long, as it looks for more neighbours.
        search = 2 * _SEARCH_SECONDS * searched
    else:
        window = min((2 * radius + 1) ** 2, n_pixels)
        search = _SEARCH_SECONDS * searched + _WINDOW_SECONDS * window
    return 1 + n_pixels * (_PIXEL_SECONDS + search * n_bands)


def ensemble_time(n_pixels: int, n_bands: int) -> float:
    """Seconds that a fit of SpectraWalk takes on two cores, to a factor of two."""
    return _ENSEMBLE_RUNS * run_time(n_pixels, n_bands, LARGEST_RADIUS)


def available_memory() -> int:
    """Bytes that this process can still take."""
    available = int(psutil.virtual_memory().available)
    limit = memory_limit()
    if limit is None:
        return available
    try:
        used = int((CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return available
    return min(available, max(limit - used, 0))


def memory_limit() -> int | None:
    """Bytes that a container may hold, which can be less than the machine has; None if no limit."""
    try:
        return int((CGROUP / "memory.max").read_text())
    except (OSError, ValueError):
        return None


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
    expected: Forecast, n_pixels: int, n_bands: int, *, n_neighbors: int | None = None
) -> None:
    """Refuse a fit that the memory is too short for, before it starts.

    `n_neighbors` is given if the user can choose it.
    """
    if _forced.get() or os.environ.get("SPECTRAWALK_FORCE"):
        return
    available = available_memory()
    if expected.memory > available:
        size, advice = f"{n_pixels:,} pixels and {n_bands} bands", "drop bands"
        if n_neighbors is not None:
            size = f"{n_pixels:,} pixels, {n_bands} bands and n_neighbors={n_neighbors}"
            advice = "drop bands, use fewer neighbours"
        raise MemoryShortageError(
            f"the fit needs about {expected.memory / 2**30:.1f} GiB of memory for {size}, but only "
            f"{available / 2**30:.1f} GiB are free; crop the image, {advice}, or start it all the "
            "same inside forecast.forced()."
        )
