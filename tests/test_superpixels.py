"""Superpixels: connected, as many as asked for, and along the borders of what is there."""

import numpy as np
import pytest
from scipy.ndimage import label

from spectrawalk import progress
from spectrawalk.kernels import reference
from spectrawalk.kernels import superpixels as kernels
from spectrawalk.prepare.superpixels import adjacent_pixels, superpixels

EIGHT = np.ones((3, 3))


def image_of(region, mask):
    image = np.full(mask.shape, -1)
    image[mask] = region
    return image


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("balance", [0.0, 0.01, 1.0])
def test_the_kernel_is_the_plain_greedy_choice(seed, balance):
    rng = np.random.default_rng(seed)
    mask = rng.random((5, 6)) < 0.9
    ends, _ = adjacent_pixels(mask)
    n, weights = np.count_nonzero(mask), rng.uniform(0.1, 1, len(ends))
    degree = np.bincount(ends.ravel(), np.repeat(weights, 2), minlength=n)
    gains = kernels.first_gains(ends, weights, degree, degree.sum(), balance)
    for joins in (1, n // 3, n - 4, 2 * n):
        parent, size, stay = np.arange(n, dtype=np.int32), np.ones(n, np.int32), np.ones(n)
        now, heap, length, left = gains.copy(), np.argsort(-gains, kind="stable"), len(ends), joins
        while left and length:  # in parts, as on a large image
            length, joined = kernels.join_regions(
                ends, weights, degree, degree.sum(), balance, now, heap, length,
                parent, size, stay, min(left, 3),
            )  # fmt: skip
            left -= joined
        roots = parent[parent[parent[parent[parent]]]]
        expected = reference.join_regions(ends, weights, n, balance, joins)
        assert len(set(zip(roots, expected, strict=True))) == len(set(expected)) == len(set(roots))


@pytest.mark.parametrize("count", [1, 2, 7, 60, 479, 480])
def test_as_many_as_asked_for_each_of_one_piece(count):
    X = np.random.default_rng(0).normal(size=(480, 5))
    mask = np.ones((20, 24), dtype=bool)
    region = superpixels(X, mask, count)
    assert sorted(set(region)) == list(range(count))
    image = image_of(region, mask)
    assert all(label(image == each, EIGHT)[1] == 1 for each in range(count))
    first = [int(np.argmax(region == each)) for each in range(count)]
    assert first == sorted(first)


def test_borders_are_followed():
    truth = np.kron([[0, 1, 2], [3, 4, 5]], np.ones((8, 9), dtype=int))
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(6, 30))[truth.ravel()] + rng.normal(scale=0.02, size=(truth.size, 30))
    region = superpixels(X, np.ones(truth.shape, dtype=bool), 6)
    assert len(set(zip(region, truth.ravel(), strict=True))) == 6


def test_regions_are_of_similar_size_where_nothing_is_seen():
    X = np.random.default_rng(2).normal(size=(900, 8)) * 1e-3 + 1
    sizes = np.bincount(superpixels(X, np.ones((30, 30), dtype=bool), 30))
    assert sizes.max() < 4 * sizes.mean()


def test_separate_parts_are_never_joined():
    mask = np.ones((9, 9), dtype=bool)
    mask[4] = mask[:, 4] = False
    X = np.ones((64, 3))
    region = superpixels(X, mask, 2)
    assert len(set(region)) == 4
    assert label(image_of(region, mask) >= 0, EIGHT)[1] == 4


def test_equal_spectra_and_single_pixels():
    mask = np.zeros((5, 5), dtype=bool)
    mask[0, 0] = mask[2, 2] = mask[4, 4] = True
    assert superpixels(np.ones((3, 4)), mask, 1).tolist() == [0, 1, 2]
    assert len(set(superpixels(np.ones((25, 4)), np.ones((5, 5), dtype=bool), 5))) == 5


def test_the_same_when_turned_upside_down():
    """But for ties, of which random spectra have none."""
    X = np.random.default_rng(3).normal(size=(12, 14, 4))
    mask = np.ones((12, 14), dtype=bool)
    one = superpixels(X.reshape(-1, 4), mask, 20).reshape(12, 14)
    other = superpixels(X[::-1].reshape(-1, 4), mask, 20).reshape(12, 14)[::-1]
    pairs = set(zip(one.ravel().tolist(), other.ravel().tolist(), strict=True))
    assert len(pairs) == 20


def test_progress_is_reported():
    heard = []
    with progress.listen(lambda stage, done, total: heard.append((stage, done, total))):
        superpixels(np.random.default_rng(0).normal(size=(100, 3)), np.ones((10, 10), bool), 5)
    assert heard == [("superpixels", 0, 95), ("superpixels", 1, 1)]
