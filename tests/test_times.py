"""Diffusion times, variation of information, barycentres."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.times import diffusion_times, total_variation, variation_of_information


def entropy(labels):
    return mutual_info_score(labels, labels)


@pytest.mark.parametrize("seed", range(5))
def test_variation_of_information_is_the_metric(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(0, K, 200).astype(np.int32) for K in (2, 5, 30))
    for one, other in ((a, b), (b, c), (c, a)):
        expected = entropy(one) + entropy(other) - 2 * mutual_info_score(one, other)
        assert variation_of_information(one, other) == pytest.approx(expected)
        assert variation_of_information(one, other) == variation_of_information(other, one)
    assert variation_of_information(a, c) <= sum(
        variation_of_information(b, each) for each in (a, c)
    )
    assert variation_of_information(c, rng.permutation(30)[c]) == pytest.approx(0, abs=1e-12)


def test_large_numbers_of_clusters_do_not_overflow():
    each = np.arange(70_000, dtype=np.int32) // 2
    assert variation_of_information(each, each) == 0


def test_the_barycentre_is_among_the_most():
    rng = np.random.default_rng(0)
    base = np.repeat([0, 1, 2], 40)
    near = [np.where(rng.random(120) < 0.03, rng.integers(0, 3, 120), base) for _ in range(4)]
    labels = [np.repeat([0, 1], 60), *near, base, np.arange(120) % 2]
    total = total_variation(labels)
    assert total.argmin() == 5
    pairs = [[variation_of_information(a, b) for b in labels] for a in labels]
    np.testing.assert_allclose(total, np.sum(pairs, axis=1))


@pytest.mark.parametrize("ratio", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("stationarity", [1e-5, 0.1])
def test_the_last_time_is_stationary(ratio, stationarity):
    rng = np.random.default_rng(1)
    values = np.array([1.0, 0.999, 0.9, 0.2])
    vectors = np.column_stack([np.full(50, 7.0), 7 * rng.normal(size=(50, 3))])
    times = diffusion_times(values, vectors, ratio, stationarity)
    np.testing.assert_allclose(times, ratio ** np.arange(len(times)))

    def widest(time):
        psi = diffusion_coordinates(values, vectors / 7, time)
        return np.linalg.norm(psi[:, None] - psi, axis=2).max()

    assert widest(times[-1]) <= stationarity
    assert widest(times[-1] / ratio**2) > stationarity


def test_parts_that_never_meet_have_no_say():
    vectors = np.ones((4, 3))
    assert diffusion_times(np.array([1.0, 1.0, 0.5]), vectors, 2, 0.01)[-1] == 8
    assert diffusion_times(np.array([1.0, 1.0, 0.0]), vectors, 2, 0.01).tolist() == [1]
