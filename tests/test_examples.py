"""The examples run as they are."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import rasterio

EXAMPLES = Path(__file__).parent.parent / "examples"

# Together about 20 seconds: each clusters a real or made scene as its reader would.
pytestmark = pytest.mark.slow


@pytest.fixture
def run_example(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    return lambda name: runpy.run_path(str(EXAMPLES / name))


def test_first_map(run_example):
    found = run_example("plot_first_map.py")
    with rasterio.open(found["folder"] / "labels.tif") as source:
        np.testing.assert_array_equal(source.read(1), found["result"].labels + 1)


def test_emit_granule(run_example):
    found = run_example("plot_emit_granule.py")
    scene, result = found["scene"], found["result"]
    assert scene.metadata["format"] == "an EMIT L2A file"
    assert scene.orthorectify is not None
    assert result.map.labels.shape == (80, 84)
    # The strip lies on the map once: as many cells have a cluster as the table has pixels.
    assert (result.map.labels >= 0).sum() == found["inside"].sum() > 2_500
    with rasterio.open(found["path"].with_name("labels.tif")) as source:
        assert source.crs == rasterio.CRS.from_epsg(4326)


def test_comparing_methods(run_example):
    scores = run_example("plot_comparing_methods.py")["scores"]
    assert list(scores) == ["SpectraWalk", "SRDL", "spectral clustering", "K-means"]
    assert scores["SRDL"].oa > scores["spectral clustering"].oa > scores["K-means"].oa


def test_all_examples_are_run():
    here = Path(__file__).read_text(encoding="utf-8")
    names = [path.name for path in EXAMPLES.glob("*.py")]
    assert len(names) == 3
    assert all(f'run_example("{name}")' in here for name in names)
