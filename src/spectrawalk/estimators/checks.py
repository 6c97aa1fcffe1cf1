"""What a fit refuses before it does any work: parameters that cannot be used, alone or together."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from spectrawalk.errors import GraphError, ParameterError
from spectrawalk.parameters import (
    check_choice,
    check_integer,
    check_number,
    check_seed,
    check_truth,
    is_auto,
    is_automatic,
    shown,
)
from spectrawalk.prepare.scaling import NORMALIZATIONS
from spectrawalk.srdl.labels import OPEN_PARENT, STAGE1_RULES

if TYPE_CHECKING:
    from spectrawalk.estimators.learner import DiffusionLearner

MANY = 10_000_000
"""Numbers up to which the eigenvectors that one may ask for are no burden to any machine."""

_OF_SINGLE_RUNS = (
    "window",
    "sigma",
    "sigma_factor",
    "symmetrize",
    "components",
    "density_bandwidth",
)
"""Parameters that the automatic mode does not look at."""


def check_parameters(model: DiffusionLearner) -> int:
    """Refuse parameters that cannot work; return the seed."""
    check_labelling(model, model.n_clusters)
    if model.radius is not None and not is_auto(model.radius):
        check_integer("radius", model.radius, 1, why=", None for no window, or 'auto'")
    check_integer("n_neighbors", model.n_neighbors, 1)
    if isinstance(model.sigma, str):
        check_choice("sigma", model.sigma, ("mean", "self-tuning"))
    else:
        check_number("sigma", model.sigma)
    check_number("sigma_factor", model.sigma_factor)
    check_choice("symmetrize", model.symmetrize, ("max", None))
    check_choice("components", model.components, ("bridge", "split"))
    if not is_auto(model.time):
        check_number("time", model.time)
    if not is_auto(model.n_eigenpairs):
        check_integer("n_eigenpairs", model.n_eigenpairs, 2, why=", or 'auto'")
    check_integer("density_neighbors", model.density_neighbors, 1)
    if not is_auto(model.density_bandwidth):
        check_number("density_bandwidth", model.density_bandwidth)
    check_choice("normalize", model.normalize, NORMALIZATIONS)
    check_choice("window", model.window, ("square", "disk"))
    check_number("jitter", model.jitter, positive=False)
    if is_automatic(model.radius, model.time):
        check_left_to_family(model)
    return check_seed("random_state", model.random_state)


def check_left_to_family(model: DiffusionLearner) -> None:
    """Refuse settings of a single run that the automatic mode would ignore."""
    defaults = {
        name: parameter.default for name, parameter in signature(type(model)).parameters.items()
    }
    for name in _OF_SINGLE_RUNS:
        value = getattr(model, name)
        if name in defaults and value != defaults[name]:
            raise ParameterError(
                f"{name}={shown(value)} has no effect in the automatic mode, which chooses it by "
                "itself; leave it out, or give numbers for radius and time."
            )


def check_labelling(model: DiffusionLearner, n_clusters: Any) -> None:
    """Refuse what the labelling stage cannot use; the other parameters are the fit's alone."""
    if not is_auto(n_clusters):
        check_integer("n_clusters", n_clusters, 1, why=", or 'auto'")
    check_integer("max_clusters", model.max_clusters, 2)
    check_integer("consensus_radius", model.consensus_radius, 0)
    check_choice("stage1", model.stage1, STAGE1_RULES)
    check_choice("open_parent", model.open_parent, OPEN_PARENT)
    check_truth("own_vote", model.own_vote)


def check_enough_pixels(n_clusters: Any, n: int) -> None:
    """Refuse more clusters than there are pixels."""
    if not is_auto(n_clusters) and int(n_clusters) > n:
        raise ParameterError(
            f"n_clusters={shown(n_clusters)} but there are only {n} valid pixels; "
            "ask for fewer clusters."
        )


def check_eigenpairs(n_eigenpairs: Any, n: int) -> None:
    """Refuse more eigenpairs than memory and patience can bear."""
    most = most_eigenpairs(n)
    if not is_auto(n_eigenpairs) and min(int(n_eigenpairs), n) > most:
        raise ParameterError(
            f"n_eigenpairs={shown(n_eigenpairs)} is too many for {n} pixels; give at most "
            f"{most}: a few dozen are plenty in practice."
        )


def check_components(n_components: int, n: int) -> None:
    """Refuse more parts of the graph than can have an eigenpair each."""
    most = most_eigenpairs(n)
    if n_components > most:
        raise GraphError(
            f"the graph on {n} pixels falls into {n_components} parts, and components='split' "
            f"takes an eigenpair for each, of which {most} are the most; use components='bridge', "
            "a larger radius or more n_neighbors."
        )


def most_eigenpairs(n: int) -> int:
    """How many eigenpairs n pixels may have."""
    return max(200, MANY // n)
