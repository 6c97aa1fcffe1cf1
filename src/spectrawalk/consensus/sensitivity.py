"""Parameters that the labels are sensitive to, from pairs of runs that differ in one parameter."""

from __future__ import annotations

from spectrawalk.consensus.agreement import agreement_across
from spectrawalk.consensus.ensemble import BaseClustering

SENSITIVE = 0.7
"""The labels are sensitive to a parameter if the mean agreement (normalised mutual information) is
below this value."""

_PARAMETERS = {
    "radius": "radius",
    "extra_eigenpairs": "n_eigenpairs",
    "decay": "time",
    "density": "the kind of density",
}
"""Fields of a base clustering, and their names for the user."""


def sensitive_parameters(runs: list[BaseClustering]) -> list[str]:
    """One sentence for each parameter that the labels are sensitive to, lowest agreement first."""
    found = {name: agreement_across(runs, field) for field, name in _PARAMETERS.items()}
    sensitive = {
        name: value for name, value in found.items() if value is not None and value < SENSITIVE
    }
    return [
        f"the labels are sensitive to {name}: runs that differ only in {name} agree to {value:.2f} "
        "(normalised mutual information; 1 is full agreement)"
        for name, value in sorted(sensitive.items(), key=lambda item: item[1])
    ]
