"""Which parameter moves the labels: runs that differ in it alone are compared."""

from __future__ import annotations

from spectrawalk.consensus.agreement import agreement_across
from spectrawalk.consensus.ensemble import BaseClustering

SENSITIVE = 0.7
"""Mean agreement (normalised mutual information) below which labels are called fragile."""

_PARAMETERS = {
    "radius": "radius",
    "extra_eigenpairs": "n_eigenpairs",
    "remains": "time",
    "density": "the kind of density",
}
"""What members differ in, and its name for the user."""


def sensitive_parameters(members: list[BaseClustering]) -> list[str]:
    """One sentence for each parameter with which the labels change, the worst first."""
    found = {name: agreement_across(members, field) for field, name in _PARAMETERS.items()}
    fragile = {
        name: value for name, value in found.items() if value is not None and value < SENSITIVE
    }
    return [
        f"the labels are fragile: runs that differ only in {name} agree to {value:.2f} "
        "(normalised mutual information; 1 is full agreement)"
        for name, value in sorted(fragile.items(), key=lambda item: item[1])
    ]
