"""Parts of the ensemble: groups, K-means, diffusion times."""

import warnings
import weakref

import numpy as np
import pytest

from spectrawalk import SpectraWalk, score
from spectrawalk.consensus import kmeans, tree
from spectrawalk.consensus.coassociation import distinct_rows
from spectrawalk.consensus.graphs import DECAY, time_for
from spectrawalk.consensus.kmeans import kmeans as kmeans_run
from spectrawalk.consensus.kmeans import spatial_kmeans
from spectrawalk.consensus.resolutions import RESOLUTIONS, base_clusterings
from spectrawalk.datasets import make_scene
from spectrawalk.estimators import spectrawalk
from spectrawalk.prepare.pixels import take_input, take_pixels


def test_distinct_rows_equal_those_of_numpy():
    rng = np.random.default_rng(6)
    for width in (1, 8, 63, 64, 65, 200):
        rows = rng.random((50, width)) < 0.02
        expected, number, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        found, first, found_count = distinct_rows(rows)
        assert np.array_equal(found, number.ravel())
        assert np.array_equal(rows[first], expected)
        assert np.array_equal(found_count, count)


def test_markov_random_field_reduces_noise():
    scene = make_scene(
        (40, 40), n_bands=12, n_classes=3, noise=0.3, mixing=0.0, illumination=0.0, random_state=3
    )
    pixels = take_pixels(scene)
    start, _ = kmeans_run(pixels.spectra, 3, 0)
    found = {
        strength: score(
            scene.ground_truth,
            spatial_kmeans(pixels.spectra, pixels.grid.mask, start, strength)[0].reshape(40, 40),
        ).oa
        for strength in (0.0, 2.0)
    }
    assert found[2.0] > found[0.0] + 0.05


def test_spatial_kmeans_rotates_with_the_image():
    rng = np.random.default_rng(4)
    image = rng.normal(size=(9, 7, 2))
    mask = rng.random((9, 7)) < 0.8
    start = rng.integers(0, 3, size=(9, 7)).astype(np.int32)

    def run(image, mask, start):
        labels = np.full(mask.shape, -1)
        labels[mask], _ = spatial_kmeans(image[mask], mask, start[mask], 1.0)
        return labels

    rotated = run(np.rot90(image), np.rot90(mask), np.rot90(start))
    assert np.array_equal(np.rot90(run(image, mask, start)), rotated)


def test_kmeans_does_not_depend_on_the_order_of_the_pixels_nor_on_signs(monkeypatch):
    monkeypatch.setattr(kmeans, "SAMPLE", 200)  # fewer than there are pixels
    rng = np.random.default_rng(0)
    points = rng.normal(size=(900, 4)) + 3 * rng.integers(0, 3, size=(900, 1))
    order = rng.permutation(900)
    labels, _ = kmeans_run(points, 5, 0)
    assert np.array_equal(kmeans_run(points[order], 5, 0)[0], labels[order])
    mirrored = points * [-1, 1, 1, -1]
    assert np.array_equal(kmeans_run(mirrored, 5, 0)[0], labels)


@pytest.mark.parametrize("missing", [1, 3], ids=["in between", "the last one"])
def test_a_cluster_may_be_missing_in_the_sample(monkeypatch, missing):
    # The sample has pixels of three of the four clusters of the second run.
    quarters = np.repeat([0, 1, 2, 3], 25)
    drawn = np.flatnonzero(quarters != missing)
    monkeypatch.setattr(tree, "draw_pixels", lambda *_: drawn)
    runs = np.stack([quarters % 2, quarters, quarters]).astype(np.uint8)
    found, _ = tree.cluster_tree(runs, np.full(3, 1 / 3))
    cut = found.cut(found.n_leaves)
    assert len(np.unique(cut)) == 3
    for quarter in range(4):  # no quarter is divided
        assert len(np.unique(cut[quarters == quarter])) == 1
    assert (
        len({int(cut[quarters == quarter][0]) for quarter in range(4) if quarter != missing}) == 3
    )


def test_few_distinct_spectra_give_no_warning():
    points = np.array([[0, 1.0], [1, 0], [1, 1], [3, 1]])[np.arange(60) % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectraWalk(3, detail=0.5).fit(points)
    assert model.n_clusters_ == 3


def test_time_gives_the_decay():
    assert 0.97 ** time_for(np.array([1.0, 0.97])) == pytest.approx(DECAY)


@pytest.mark.parametrize(
    ("detail", "features"),
    [
        (0.0, {"within-field", "spectra"}),
        (0.5, {"within-field", "spectra", "halves"}),
        (1.0, {"halves"}),
    ],
)
def test_every_feature_set_has_runs_for_every_number(detail, features):
    found = base_clusterings(take_pixels(make_scene((24, 24), random_state=1)), detail, 0)
    assert set(found.features) == features
    for name in features:
        pairs = zip(found.numbers, found.features, strict=True)
        assert {k for k, each in pairs if each == name} >= set(RESOLUTIONS[:5])
    for labels, k in zip(found.labels, found.numbers, strict=True):
        assert len(np.unique(labels)) <= k


def test_runs_of_an_ensemble_count_alike_and_feature_sets_are_even_witnesses():
    found = base_clusterings(take_pixels(make_scene((24, 24), random_state=1)), 0.3, 0)
    halves = np.array(found.features) == "halves"
    for weights in (found.weights, found.even_weights):
        assert weights[halves].sum() == pytest.approx(0.3)
        assert weights.sum() == pytest.approx(1)
    assert np.ptp(found.weights[~halves]) == pytest.approx(0)
    within = np.array(found.features) == "within-field"
    assert found.even_weights[within].sum() == pytest.approx(0.35)


def test_raw_spectra_are_not_held_during_the_fit(monkeypatch):
    held = []

    def taking(*args, **kwargs):
        pixels = take_input(*args, **kwargs)
        held.append(weakref.ref(pixels.spectra))
        return pixels

    def looking(*args, **kwargs):
        assert held[0]() is None
        held.append("looked")
        return base_clusterings(*args, **kwargs)

    monkeypatch.setattr(spectrawalk, "take_input", taking)
    monkeypatch.setattr(spectrawalk, "base_clusterings", looking)
    SpectraWalk(3).fit(make_scene((20, 22), n_bands=12))
    assert held[1:] == ["looked"]
