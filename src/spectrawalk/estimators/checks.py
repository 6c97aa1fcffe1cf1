"""Checks of the parameters before a fit starts, one by one and in combination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spectrawalk.errors import GraphError, ParameterError
from spectrawalk.parameters import (
    check_choice,
    check_integer,
    check_number,
    check_seed,
    check_truth,
    is_auto,
    shown,
)
from spectrawalk.prepare.scaling import NORMALIZATIONS
from spectrawalk.srdl.labels import OPEN_PARENT, STAGE1_RULES

if TYPE_CHECKING:
    from spectrawalk.estimators.learner import DiffusionLearner

MANY = 10_000_000
"""Size of all eigenvectors together, in numbers (80 MB), up to which any number is allowed."""


def check_parameters(model: DiffusionLearner) -> int:
    """Raise an error for invalid parameters; return the seed."""
    check_labelling(model, model.n_clusters)
    if is_auto(model.radius):
        raise ParameterError(
            f"radius='auto' cannot be used; give {model._method} a radius in pixels, or use "
            "SpectraWalk, which needs none."
        )
    if model.radius is not None:
        check_integer("radius", model.radius, 1, why=", or None for no window")
    check_integer("n_neighbors", model.n_neighbors, 1)
    if isinstance(model.sigma, str):
        check_choice("sigma", model.sigma, ("mean", "self-tuning"))
    else:
        check_number("sigma", model.sigma)
    check_number("sigma_factor", model.sigma_factor)
    check_choice("symmetrize", model.symmetrize, ("max", None))
    check_choice("components", model.components, ("bridge", "split"))
    model._check_own_parameters()
    if not is_auto(model.n_eigenpairs):
        check_integer("n_eigenpairs", model.n_eigenpairs, 2, why=", or 'auto'")
    check_integer("density_neighbors", model.density_neighbors, 1)
    if not is_auto(model.density_bandwidth):
        check_number("density_bandwidth", model.density_bandwidth)
    check_choice("normalize", model.normalize, NORMALIZATIONS)
    check_choice("window", model.window, ("square", "disk"))
    check_number("jitter", model.jitter, positive=False)
    return check_seed("random_state", model.random_state)


def check_time(model: DiffusionLearner) -> None:
    """Raise an error for an invalid diffusion time."""
    if is_auto(model.time):
        raise ParameterError(
            f"time='auto' cannot be used; give {model._method} a number above 0, or use "
            "SpectraWalk, which needs no diffusion time."
        )
    check_number("time", model.time)


def check_labelling(model: DiffusionLearner, n_clusters: Any) -> None:
    """Raise an error for invalid parameters of the labelling stage, which `relabel` repeats."""
    if not is_auto(n_clusters):
        check_integer("n_clusters", n_clusters, 1, why=", or 'auto'")
    check_integer("max_clusters", model.max_clusters, 2)
    check_integer("consensus_radius", model.consensus_radius, 0)
    check_choice("stage1", model.stage1, STAGE1_RULES)
    check_choice("open_parent", model.open_parent, OPEN_PARENT)
    check_truth("own_vote", model.own_vote)


def check_enough_pixels(n_clusters: Any, n: int) -> None:
    """Raise an error for more clusters than pixels."""
    if not is_auto(n_clusters) and int(n_clusters) > n:
        raise ParameterError(
            f"n_clusters={shown(n_clusters)} but there are only {n} valid pixels; "
            "ask for fewer clusters."
        )


def check_eigenpairs(n_eigenpairs: Any, n: int) -> None:
    """Raise an error for more eigenpairs than can be computed."""
    most = most_eigenpairs(n)
    if not is_auto(n_eigenpairs) and min(int(n_eigenpairs), n) > most:
        raise ParameterError(
            f"n_eigenpairs={shown(n_eigenpairs)} is too many for {n} pixels; give at most "
            f"{most}; a few dozen are enough in practice."
        )


def check_components(n_components: int, n: int) -> None:
    """Raise an error for a graph with more connected components than possible eigenpairs."""
    most = most_eigenpairs(n)
    if n_components > most:
        raise GraphError(
            f"the graph on {n} pixels has {n_components} connected components, and "
            f"components='split' needs an eigenpair for each, but at most {most} are possible; use "
            "components='bridge', a larger radius or more n_neighbors."
        )


def most_eigenpairs(n: int) -> int:
    """Largest number of eigenpairs for n pixels."""
    return max(200, MANY // n)
