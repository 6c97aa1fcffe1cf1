"""SpectraWalk, the methods of the paper and their successors, as scikit-learn estimators."""

from spectrawalk.estimators.dvic import DVIC
from spectrawalk.estimators.loading import load
from spectrawalk.estimators.methods import DL, DLSS, SRDL
from spectrawalk.estimators.msrdl import MSRDL
from spectrawalk.estimators.s2dl import S2DL
from spectrawalk.estimators.spectrawalk import SpectraWalk
from spectrawalk.srdl.pipeline import STAGES

__all__ = ["DL", "DLSS", "DVIC", "MSRDL", "S2DL", "SRDL", "STAGES", "SpectraWalk", "load"]
