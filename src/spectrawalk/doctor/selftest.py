"""A small scene from file to map, with labels that must be the same on every computer."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from spectrawalk.doctor.facts import Fact, State

EXPECTED = "c2a5bee18ad9717612579e9cb229722d368f976c2c524d6ddfe1200b256e646d"
"""SHA-256 of the values of the map: labels do not depend on the computer."""

_CRS = "EPSG:32632"
_TRANSFORM = (30.0, 0.0, 600_000.0, 0.0, -30.0, 5_200_000.0)
_SHOWN_DIGITS = 12


def self_test() -> Iterator[Fact]:
    """Write a scene, read it, cluster it with SpectraWalk, write the map and read it back."""
    import numpy as np
    from numba.core import event

    from spectrawalk import Result, SpectraWalk, read_scene
    from spectrawalk.datasets import make_scene
    from spectrawalk.io import read_ground_truth, write_map, write_scene
    from spectrawalk.prepare.bands import prepare_scene
    from spectrawalk.scene.georeference import to_wkt

    begin = time.perf_counter()
    compilations: list[float] = []
    made = make_scene((40, 40), n_bands=30, n_classes=4, noise=0.01, mixing=0.3, random_state=1)
    made = replace(made, crs=to_wkt(_CRS), transform=_TRANSFORM)
    with tempfile.TemporaryDirectory() as folder:
        cube, labels = Path(folder, "scene.tif"), Path(folder, "labels.tif")
        write_scene(cube, made)
        scene, _ = prepare_scene(read_scene(cube))
        with event.install_timer("numba:compile", compilations.append):
            result = Result.of_fit(scene, SpectraWalk().fit(scene))
        write_map(labels, result.map)
        values = read_ground_truth(labels)
    if np.array_equal(values, result.map.codes):
        yield Fact("files", "a GeoTIFF is written and read back")
    else:
        advice = "report it with this output"
        yield Fact("files", "the map changed in its file", State.BROKEN, advice)
    yield _compared(values.astype(np.uint8).tobytes(), int(values.max()), values.size)
    yield _seconds(time.perf_counter() - begin, sum(compilations))


def _compared(labels: bytes, n_clusters: int, n_pixels: int) -> Fact:
    found = hashlib.sha256(labels).hexdigest()
    what = f"{n_clusters} clusters of {n_pixels:,} pixels"
    if found == EXPECTED:
        return Fact("labels", f"{what}, as expected")
    return Fact(
        "labels",
        f"{what} that are not those of other computers: their SHA-256 begins with "
        f"{found[:_SHOWN_DIGITS]} instead of {EXPECTED[:_SHOWN_DIGITS]}",
        State.BROKEN,
        "do not use maps made here, and report it with this output",
    )


def _seconds(total: float, compiling: float) -> Fact:
    of_which = f", of which {compiling:.1f} s to compile" if compiling else ""
    return Fact("time", f"{total:.1f} s{of_which}")
