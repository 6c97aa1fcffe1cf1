"""The comparison methods' rows of the paper's table, with what each is fed by default."""

import numpy as np
import pytest

from spectrawalk import score
from spectrawalk.baselines import make_method


def scores(scene, name, n_clusters, **parameters):
    labels = make_method(name, n_clusters=n_clusters, **parameters).fit_predict(scene)
    result = score(scene.ground_truth, labels)
    return np.array([result.oa, result.aa, result.kappa])


INDIAN_PINES = [
    ("k-means", (0.43, 0.38, 0.09), 0.01),
    ("pca", (0.43, 0.38, 0.10), 0.01),
    ("ica", (0.41, 0.36, 0.06), 0.01),
    ("dbscan", (0.63, 0.62, 0.43), 0.14),
    ("sc", (0.54, 0.45, 0.24), 0.01),
    ("gmm", (0.44, 0.35, 0.02), 0.08),
    ("smce", (0.52, 0.45, 0.22), 0.01),
    ("hnmf", (0.41, 0.32, -0.02), 0.02),
    ("fms", (0.57, 0.50, 0.27), 0.10),
    ("fsfdpc", (0.58, 0.51, 0.26), 0.06),
]

SALINAS_A = [
    ("ica", (0.57, 0.56, 0.44), 0.01),
    ("dbscan", (0.71, 0.71, 0.63), 0.03),
    ("sc", (0.83, 0.88, 0.80), 0.01),
    ("hnmf", (0.63, 0.66, 0.53), 0.01),
    ("fms", (0.70, 0.81, 0.65), 0.02),
    ("fsfdpc", (0.63, 0.61, 0.54), 0.08),
]


@pytest.mark.parametrize(("name", "paper", "within"), INDIAN_PINES)
def test_indian_pines_subset(indian_pines_subset, name, paper, within):
    np.testing.assert_allclose(scores(indian_pines_subset, name, 3), paper, atol=within)


def test_random_projections_in_the_mean(indian_pines_subset):
    over_seeds = [scores(indian_pines_subset, "rp", 3, random_state=seed) for seed in range(10)]
    np.testing.assert_allclose(np.mean(over_seeds, axis=0), (0.51, 0.51, 0.26), atol=0.08)


@pytest.mark.slow
@pytest.mark.scene
@pytest.mark.slow
@pytest.mark.parametrize(("name", "paper", "within"), SALINAS_A)
def test_salinas_a(salinas_a, name, paper, within):
    np.testing.assert_allclose(scores(salinas_a, name, 6), paper, atol=within)


@pytest.mark.scene
@pytest.mark.parametrize("name", ["k-means", "pca", "rp"])
def test_salinas_a_on_unit_bands(salinas_a, name):
    """The paper's three rows of K-means on Salinas A are those of bands scaled to unit length."""
    measured = scores(salinas_a, name, 6, normalize="band")
    np.testing.assert_allclose(measured, (0.63, 0.66, 0.52), atol=0.01)
