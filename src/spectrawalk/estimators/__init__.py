"""SRDL, DLSS and DL as scikit-learn estimators."""

from spectrawalk.estimators.learner import STAGES
from spectrawalk.estimators.methods import DL, DLSS, SRDL, load

__all__ = ["DL", "DLSS", "SRDL", "STAGES", "load"]
