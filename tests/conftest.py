"""Real scenes for tests; those not at hand are skipped with the reason."""

import pytest

from spectrawalk import Scene
from spectrawalk.datasets import load_scene
from spectrawalk.errors import SceneNotFoundError


def _load_or_skip(name: str) -> Scene:
    try:
        return load_scene(name)
    except SceneNotFoundError as error:
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
