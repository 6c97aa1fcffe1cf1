"""SpectraWalk, and the methods of the paper, as scikit-learn estimators."""

from spectrawalk.estimators.methods import DL, DLSS, SRDL, load
from spectrawalk.estimators.spectrawalk import SpectraWalk
from spectrawalk.srdl.pipeline import STAGES

__all__ = ["DL", "DLSS", "SRDL", "STAGES", "SpectraWalk", "load"]
