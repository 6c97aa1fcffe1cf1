"""The paper's rows, on its own scenes, right to the second digit."""

import numpy as np
import pytest

from spectrawalk import DL, DLSS, SRDL, score


def measured(model, scene):
    result = score(scene.ground_truth, model.fit(scene).labels_)
    return np.array([result.oa, result.aa, result.kappa])


class TestIndianPines:
    def test_srdl(self, indian_pines_subset):
        model = SRDL(n_clusters=3, radius=8, n_eigenpairs=10)
        oa, aa, kappa = measured(model, indian_pines_subset)
        assert oa >= 0.885
        assert aa >= 0.91
        assert kappa >= 0.82

    @pytest.mark.parametrize(
        ("model", "paper", "within"),
        [
            (SRDL.from_paper("indian-pines-subset"), (0.89, 0.92, 0.83), 0.01),
            (DLSS.from_paper("indian-pines-subset"), (0.85, 0.82, 0.75), 0.02),
            (DL.from_paper("indian-pines-subset"), (0.67, 0.62, 0.44), 0.01),
            (DL(n_clusters=3, n_eigenpairs=10), (0.67, 0.62, 0.44), 0.03),
        ],
        ids=["SRDL", "DLSS", "DL", "DL symmetric"],
    )
    def test_rows(self, indian_pines_subset, model, paper, within):
        np.testing.assert_allclose(measured(model, indian_pines_subset), paper, atol=within)

    def test_automatic_number_of_clusters(self, indian_pines_subset):
        assert SRDL(n_eigenpairs=10).fit(indian_pines_subset).n_clusters_ == 3
        assert SRDL(n_eigenpairs=10, symmetrize=None).fit(indian_pines_subset).n_clusters_ == 5


@pytest.mark.scene
class TestSalinasA:
    @pytest.mark.parametrize(
        ("method", "paper", "within"),
        [
            (SRDL, (0.90, 0.93, 0.87), 0.01),
            (DLSS, (0.85, 0.90, 0.81), 0.02),
            (DL, (0.83, 0.88, 0.79), 0.03),
        ],
    )
    def test_rows(self, salinas_a, method, paper, within):
        model = method.from_paper("salinas-a")
        np.testing.assert_allclose(measured(model, salinas_a), paper, atol=within)

    def test_symmetric_graph_is_nearly_perfect(self, salinas_a):
        model = SRDL(n_clusters=6, radius=20, n_eigenpairs=6)
        assert measured(model, salinas_a)[0] >= 0.99
