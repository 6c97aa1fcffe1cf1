"""Real scenes for tests; those not at hand are skipped with the reason."""

import os

import pytest

from spectrawalk import Scene
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.errors import SceneNotFoundError


def _load_or_skip(name: str) -> Scene:
    try:
        return load_scene(name)
    except SceneNotFoundError as error:
        if os.environ.get("SPECTRAWALK_REQUIRE_SCENES"):
            raise  # the scenes are said to be there, so that a skip would hide a fault
        pytest.skip(str(error))


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


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def cube():
    """A small image with three classes."""
    return make_scene(shape=(20, 16), n_bands=10, n_classes=3, random_state=0).cube
