"""Cluster hyperspectral images without labels, by spatially regularised diffusion learning.

Names are loaded on first use, so that ``import spectrawalk`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spectrawalk.estimators import DL, DLSS, DVIC, MSRDL, S2DL, SRDL, SpectraWalk, load
    from spectrawalk.io import read_scene
    from spectrawalk.results.comparison import Comparison, compare_maps
    from spectrawalk.results.identification import SpectralLibrary, identify_spectra
    from spectrawalk.results.result import Result
    from spectrawalk.results.scores import Scores, score
    from spectrawalk.scene import Scene

__version__ = "0.1.0"

_HOME = {
    "DL": "estimators",
    "DLSS": "estimators",
    "DVIC": "estimators",
    "MSRDL": "estimators",
    "S2DL": "estimators",
    "SRDL": "estimators",
    "SpectraWalk": "estimators",
    "load": "estimators",
    "Scene": "scene",
    "read_scene": "io",
    "Comparison": "results.comparison",
    "compare_maps": "results.comparison",
    "Result": "results.result",
    "Scores": "results.scores",
    "SpectralLibrary": "results.identification",
    "identify_spectra": "results.identification",
    "score": "results.scores",
}

__all__ = [
    "DL",
    "DLSS",
    "DVIC",
    "MSRDL",
    "S2DL",
    "SRDL",
    "Comparison",
    "Result",
    "Scene",
    "Scores",
    "SpectraWalk",
    "SpectralLibrary",
    "compare_maps",
    "identify_spectra",
    "load",
    "read_scene",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"spectrawalk.{_HOME[name]}"), name)
    raise AttributeError(f"module 'spectrawalk' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
