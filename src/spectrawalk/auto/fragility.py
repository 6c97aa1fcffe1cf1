"""Which parameter moves the labels: runs that differ in it alone are compared."""

from __future__ import annotations

from itertools import combinations

from spectrawalk.auto.agreement import agreement
from spectrawalk.auto.family import Member

FRAGILE = 0.7
"""Mean agreement (normalised mutual information) below which labels are called fragile."""

_PARAMETERS = {
    "radius": "radius",
    "extra_eigenpairs": "n_eigenpairs",
    "remains": "time",
    "density": "the kind of density",
}
"""What members differ in, and its name for the user."""


def fragile_parameters(members: list[Member]) -> list[str]:
    """One sentence for each parameter with which the labels change, the worst first."""
    found = {name: _agreement_across(members, field) for field, name in _PARAMETERS.items()}
    fragile = {
        name: value for name, value in found.items() if value is not None and value < FRAGILE
    }
    return [
        f"the labels are fragile: runs that differ only in {name} agree to {value:.2f} "
        "(normalised mutual information; 1 is full agreement)."
        for name, value in sorted(fragile.items(), key=lambda item: item[1])
    ]


def _agreement_across(members: list[Member], field: str) -> float | None:
    """Mean agreement of the runs that differ in one field alone; None if there are none."""
    alike: dict[tuple[object, ...], list[Member]] = {}
    for member in members:
        fields = member._asdict()
        others = tuple(fields[name] for name in fields if name not in (field, "labels"))
        alike.setdefault(others, []).append(member)
    values = [
        agreement(first.labels, second.labels)
        for group in alike.values()
        for first, second in combinations(group, 2)
    ]
    return float(sum(values) / len(values)) if values else None
