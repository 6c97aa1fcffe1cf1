"""SRDL, DLSS and DL as scikit-learn estimators."""

from spectrawalk.estimators.methods import DL, DLSS, SRDL, load
from spectrawalk.srdl.pipeline import STAGES

__all__ = ["DL", "DLSS", "SRDL", "STAGES", "load"]
