"""Sentences about a result."""

from types import SimpleNamespace

import numpy as np
import pytest

from spectrawalk import SRDL
from spectrawalk.datasets import make_scene
from spectrawalk.results.remarks import explain_choice, explain_number, find_doubts


def drops(curve):
    """Ratios of consecutive D_t."""
    curve = np.asarray(curve)
    return curve[:-1] / curve[1:]


def test_a_clear_number_of_clusters_is_just_stated():
    curve = np.array([8.0, 7.0, 6.0, 1.0, 0.9])
    assert explain_number(drops(curve), 3, 30) == (
        "the number of clusters was chosen: 3, the largest drop of D_t from K = 2 to 30: "
        "6.00-fold; "
        "the runner-up is 2 with 1.17-fold"
    )


def test_an_unclear_number_of_clusters_is_called_so():
    curve = np.array([8.0, 7.0, 4.0, 2.0, 1.9])
    assert explain_number(drops(curve), 3, 30).endswith(
        "not a clear choice, so look at n_clusters=2 too"
    )


def test_the_runner_up_is_sought_where_the_number_was():
    curve = np.array([8.0, 7.0, 6.0, 1.0, 0.9, 1e-9])
    assert "the runner-up is 2 " in explain_number(drops(curve), 3, 4)


def test_a_number_without_alternatives_is_explained():
    assert explain_number(drops([2.0, 1.0]), 2, 30).endswith("all that are distinct")
    assert explain_number(drops([4.0, 2.0, 1.0]), 2, 30).endswith("2.00-fold")


def test_a_number_that_was_given_needs_no_explanation():
    cube = make_scene(shape=(20, 16), n_bands=10, n_classes=3, random_state=0).cube
    model = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(cube)
    assert explain_choice(model) == ""
    model = SRDL(n_neighbors=20, n_eigenpairs=5).fit(cube)
    assert f"was chosen: {model.n_clusters_}, the largest drop" in explain_choice(model)


def made_up_model(sizes, **changes):
    settings = {"n_components_": 1, "components": "bridge", "exact_density_": True, "radius": 8}
    settings |= {"n_neighbors": 100}
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return SimpleNamespace(labels_=labels, n_clusters_=len(sizes), **settings | changes)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (made_up_model([50, 50]), []),
        (made_up_model([50]), []),
        (made_up_model([90, 10]), []),
        (
            made_up_model([91, 9]),
            [
                "cluster 1 holds 91.0% of the pixels: "
                "try other values than radius=8 and n_clusters=2"
            ],
        ),
        (
            made_up_model([50, 40, 4], radius=None),
            [
                "1 cluster has fewer than 5 pixels: "
                "try other values than n_neighbors=100 and n_clusters=3"
            ],
        ),
        (
            made_up_model([50, 40], n_components_=3),
            ["the graph has 3 components, which were joined at their most similar pixels"],
        ),
        (made_up_model([50, 40], n_components_=3, components="split"), []),
        (
            made_up_model([50, 40], exact_density_=False),
            ["the density is approximate because the scene is large; labels hardly change"],
        ),
    ],
)
def test_doubtful_results_are_called_so(model, expected):
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
    assert find_doubts(model, sizes) == expected
