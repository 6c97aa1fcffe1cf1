"""Real scenes for tests; those not at hand are skipped with the reason."""

import os
from pathlib import Path

import pytest

from spectrawalk import Scene, read_scene
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.errors import SceneNotFoundError

collect_ignore = ["inside_qgis.py"]  # for QGIS's Python


def _load_or_skip(name: str) -> Scene:
    try:
        return load_scene(name)
    except SceneNotFoundError as error:
        if os.environ.get("SPECTRAWALK_REQUIRE_SCENES"):
            raise  # the scenes are said to be there, so that a skip would hide a fault
        pytest.skip(str(error))


def _find_or_skip(folder: str, name: str) -> Path:
    """Find a file that is no published scene, in the folder of SPECTRAWALK_DATA."""
    path = Path(os.environ.get("SPECTRAWALK_DATA", "data"), folder, name)
    if not path.is_file():
        assert not os.environ.get("SPECTRAWALK_REQUIRE_SCENES"), f"'{path}' is missing"
        pytest.skip(f"'{path}' is not on this machine")
    return path


@pytest.fixture(scope="session")
def indian_pines_subset() -> Scene:
    return load_scene("indian-pines-subset")  # never skips: a test dependency carries it


@pytest.fixture(scope="session")
def salinas_a() -> Scene:
    return _load_or_skip("salinas-a")


@pytest.fixture(scope="session")
def samson() -> Scene:
    return _load_or_skip("samson")


@pytest.fixture(scope="session")
def ksc_labelled() -> Scene:
    return _load_or_skip("ksc-labelled")


@pytest.fixture(scope="session")
def enmap_potsdam_north() -> Scene:
    return _load_or_skip("enmap-potsdam-north")


@pytest.fixture(scope="session")
def aviris_ng_file() -> Path:
    """An ENVI image that its sensor's makers wrote, of which 60 of 100 pixels hold no data."""
    return _find_or_skip("aviris-ng", "ang20150422t163638_corr_v1e_crop.img")


@pytest.fixture(scope="session")
def aviris_ng(aviris_ng_file) -> Scene:
    return read_scene(aviris_ng_file)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def cube():
    """A small image with three classes."""
    return make_scene(shape=(20, 16), n_bands=10, n_classes=3, random_state=0).cube


@pytest.fixture(scope="session")
def usgs_library() -> Path:
    """The USGS library splib07, resampled to AVIRIS, as ENVI spectral library."""
    return _find_or_skip("usgs-library", "s07_AV95_envi.sli")


@pytest.fixture(scope="session")
def samson_endmembers() -> Path:
    """The published endmembers of Samson: rock, tree and water."""
    return _find_or_skip("samson", "end3.mat")
