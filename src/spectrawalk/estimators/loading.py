"""Reading a fitted model of any class."""

from __future__ import annotations

from pathlib import Path

from spectrawalk.estimators.dvic import DVIC
from spectrawalk.estimators.learner import DiffusionLearner
from spectrawalk.estimators.methods import DL, DLSS, SRDL
from spectrawalk.estimators.msrdl import MSRDL
from spectrawalk.estimators.s2dl import S2DL
from spectrawalk.estimators.saved import read_saved
from spectrawalk.estimators.spectrawalk import SpectraWalk


def load(path: str | Path) -> DiffusionLearner | SpectraWalk:
    """Read a fitted model that ``save`` wrote."""
    return read_saved(path, (SpectraWalk, SRDL, DLSS, DL, MSRDL, DVIC, S2DL))
