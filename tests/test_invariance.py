"""Labels do not depend on threads, runs, seeds, or on how the image is turned."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from spectrawalk import DL, DLSS, SRDL, threads
from spectrawalk.datasets import make_scene
from spectrawalk.kernels import blocks as kernel_blocks
from spectrawalk.kernels import selection
from spectrawalk.srdl import eigensolver, graph, modes, neighbors

SMALL = {"n_clusters": 3, "n_neighbors": 20, "n_eigenpairs": 6}


def small(**options):
    return SRDL(**SMALL | options)


class TestThreads:
    @pytest.mark.parametrize(
        "model", [SRDL(), DLSS(n_clusters=4, symmetrize=None), DL(n_clusters=4)], ids=str
    )
    def test_one_two_and_five_threads(self, model):
        """The same bytes whatever the number of threads, on a machine with any number of cores."""
        scene = make_scene((40, 40), n_bands=40, random_state=3)
        outputs = []
        for number in (1, 2, 5):
            with threads.limit(number):
                fit = model.fit(scene)
                found = (fit.labels_, fit.mode_score_, fit.coordinates_, fit.predict(scene))
            outputs.append(b"".join(array.tobytes() for array in found))
        assert len(outputs[0]) > 10_000
        assert outputs[0] == outputs[1] == outputs[2]

    def test_blocks_are_shared_among_that_many_threads(self, monkeypatch):
        """So that the test above tests something."""
        shared = []

        def run_blocks(function, blocks, number=None):
            shared.append(min(number or threads.count(), len(blocks)))
            return threads.run_blocks(function, blocks, number)

        for module in (kernel_blocks, selection, eigensolver, graph, modes, neighbors):
            monkeypatch.setattr(module, "run_blocks", run_blocks)
        with threads.limit(5):
            SRDL().fit(make_scene((60, 60), n_bands=40, random_state=3))
        assert shared.count(5) > 20

    def test_another_process_and_threads_of_libraries(self):
        """The same bytes in a new process, where BLAS and OpenMP have 1 or 2 threads."""
        code = (
            "import sys;"
            "from spectrawalk import SRDL, DLSS;"
            "from spectrawalk.datasets import make_scene;"
            "scene = make_scene((40, 40), n_bands=40, random_state=3);"
            "fits = [SRDL().fit(scene), DLSS(n_clusters=4, symmetrize=None).fit(scene)];"
            "sys.stdout.buffer.write(b''.join("
            "a.tobytes() for f in fits for a in (f.labels_, f.mode_score_, f.coordinates_)))"
        )
        outputs = []
        for number in ("1", "2"):
            environment = os.environ | {
                "SPECTRAWALK_THREADS": number,
                "OPENBLAS_NUM_THREADS": number,
                "OMP_NUM_THREADS": number,
            }
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, env=environment, check=True
            )
            outputs.append(done.stdout)
        assert len(outputs[0]) > 10_000
        assert outputs[0] == outputs[1]

    @pytest.mark.parametrize("symmetrize", ["max", None])
    @pytest.mark.parametrize("seed", range(10))
    def test_seeds_do_not_matter_without_jitter(self, seed, symmetrize):
        """Above 400 pixels, where eigenpairs are iterated."""
        scene = make_scene((22, 20), n_bands=20, random_state=seed)
        model = small(random_state=seed, symmetrize=symmetrize).fit(scene)
        with threads.limit(1), threadpool_limits(limits=1):
            again = small(random_state=None, symmetrize=symmetrize).fit(scene)
        assert model.labels_.tobytes() == again.labels_.tobytes()
        assert model.coordinates_.tobytes() == again.coordinates_.tobytes()

    def test_jitter_depends_on_the_seed_alone(self):
        scene = make_scene((20, 20), n_bands=20, random_state=7)
        densities = [
            small(jitter=0.01, random_state=seed).fit(scene).density_ for seed in (1, 1, 2)
        ]
        np.testing.assert_array_equal(densities[0], densities[1])
        assert (densities[0] != densities[2]).any()


def same_in_all_positions(model, cube, mask=None):
    """Assert that turning and flipping the image turns and flips its labels, up to renaming."""
    mask = np.ones(cube.shape[:2], dtype=bool) if mask is None else mask
    expected = model.fit(cube, mask=mask).labels_
    for turns, flip in ((0, True), (1, False), (2, True)):  # all others are made of these
        turned, turned_mask = np.rot90(cube, turns), np.rot90(mask, turns)
        if flip:
            turned, turned_mask = turned[:, ::-1], turned_mask[:, ::-1]
        labels = model.fit(np.ascontiguousarray(turned), mask=turned_mask).labels_
        labels = np.rot90(labels[:, ::-1] if flip else labels, -turns)
        np.testing.assert_array_equal(labels == -1, expected == -1)
        assert adjusted_rand_score(expected[mask], labels[mask]) == 1, (turns, flip)


def scattered_mask(shape, seed):
    mask = np.random.default_rng(seed).uniform(size=shape) > 0.2
    mask[5:8, 3:12] = False
    return mask


class TestFlipsAndRotations:
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize(
        "model",
        [
            small(),
            small(window="disk"),
            small(symmetrize=None),
            small(sigma="self-tuning"),
            small(stage1="most-frequent-first", open_parent="open", own_vote=True),
            DLSS(**SMALL),
            DLSS(**SMALL, symmetrize=None),
            DL(**SMALL),
            DL(**SMALL, symmetrize=None),
        ],
        ids=str,
    )
    def test_whole_images(self, seed, model):
        same_in_all_positions(model, make_scene((22, 17), n_bands=20, random_state=seed).cube)

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize(
        "model", [small(), small(symmetrize=None), DLSS(**SMALL), DL(**SMALL)], ids=str
    )
    def test_images_with_holes(self, seed, model):
        cube = make_scene((22, 17), n_bands=20, random_state=seed).cube
        same_in_all_positions(model, cube, scattered_mask((22, 17), seed))

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("symmetrize", ["max", None])
    def test_graphs_with_bridges(self, seed, symmetrize):
        """Strips without data cut the image into four parts."""
        cube = make_scene((22, 17), n_bands=20, random_state=seed).cube
        mask = np.ones((22, 17), dtype=bool)
        mask[9:12], mask[:, 5:8] = False, False
        model = small(n_neighbors=8, radius=2, symmetrize=symmetrize)
        same_in_all_positions(model, cube, mask)
        assert model.n_components_ >= 4

    @pytest.mark.parametrize("model", [small(), small(n_neighbors=6, radius=2)], ids=str)
    def test_a_real_image(self, indian_pines_subset, model):
        same_in_all_positions(model, indian_pines_subset.cube)

    @pytest.mark.parametrize("seed", range(3))
    def test_densities_that_underflow(self, seed):
        """Outliers have density 0, all of them: their order must not come from their places."""
        rng = np.random.default_rng(seed)
        cube = make_scene((20, 20), n_bands=20, random_state=seed).cube.astype(float)
        rows, cols = rng.integers(0, 20, (2, 12))
        cube[rows, cols] *= rng.uniform(0.2, 3, (12, 20))
        same_in_all_positions(SRDL(n_clusters=4, n_eigenpairs=5), cube)


@pytest.mark.parametrize("kind", [SRDL, DLSS, DL])
def test_a_border_without_data_changes_nothing(kind):
    scene = make_scene((30, 26), n_bands=30, n_classes=4, random_state=7)
    model = kind(n_clusters=3, n_eigenpairs=6).fit(scene)
    padded = np.pad(scene.cube, ((3, 1), (0, 5), (0, 0)), constant_values=np.nan)
    mask = np.pad(scene.mask, ((3, 1), (0, 5)))
    again = kind(n_clusters=3, n_eigenpairs=6).fit(padded, mask=mask)
    np.testing.assert_array_equal(again.labels_[3:-1, :-5], model.labels_)
    np.testing.assert_array_equal(again.density_[3:-1, :-5], model.density_)
