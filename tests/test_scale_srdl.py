"""SRDL in tiles gives every attribute of a fit in memory, bit by bit."""

import json
import os
import pickle
import random
import sys

import numpy as np
import pytest
from command_line import run_python

from spectrawalk import DL, DLSS, SRDL, Scene, SpectraWalk, progress, read_scene
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.errors import (
    DataError,
    FileError,
    GraphError,
    MemoryShortageError,
    ParameterError,
)
from spectrawalk.estimators import STAGES, forecast
from spectrawalk.io.scene_writers import write_scene
from spectrawalk.prepare.bands import prepare_scene
from spectrawalk.scale import srdl
from spectrawalk.scale.engine import open_cluster
from spectrawalk.scale.source import Source, whole_shape
from spectrawalk.scale.srdl import Table, fit_srdl, srdl_memory
from spectrawalk.scale.survey import merge, prepare, survey_tile
from spectrawalk.scale.tiles import Tile, divide
from spectrawalk.srdl.neighbors import window_neighbors

ATTRIBUTES = (
    "labels_",
    "n_clusters_",
    "modes_",
    "density_",
    "density_bandwidth_",
    "rho_",
    "mode_score_",
    "coordinates_",
    "eigenvalues_",
    "n_components_",
    "exact_density_",
    "reach_",
    "n_features_in_",
    "_mask",
    "_ranking",
    "_parent",
)
SETTINGS = {
    "crop": None,
    "mask": None,
    "bands": None,
    "band_ranges": None,
    "drop_bad_bands": True,
    "drop_water_bands": True,
    "overlap": "vnir",
    "drop_constant_bands": True,
    "mask_saturated": True,
    "saturation": None,
}


def small(**options):
    return SRDL(**{"n_clusters": 3, "n_neighbors": 20, "n_eigenpairs": 6, "radius": 5, **options})


def source_of(path, shape, n_bands, **more):
    every = tuple(range(n_bands))
    return Source(str(path), shape, counting=every, kept=every, **more)


def surveyed(path, **settings):
    """A source as the command line prepares it, in tiles of 16."""
    settings = SETTINGS | settings
    shape, pixel = whole_shape(str(path))
    source = Source(str(path), shape)
    seen = merge([survey_tile(source, tile, 1) for tile in divide(shape, 16)])
    return prepare(source, pixel, seen, settings)[0]


def saved(path, scene, mask=None):
    """Write a scene, with zeros where the mask says so; return its source."""
    cube = scene.cube if mask is None else np.where(mask[:, :, None], scene.cube, 0)
    np.save(path, cube)
    return source_of(path, scene.shape, scene.n_bands)


def assert_same(tiled, whole):
    for name in ATTRIBUTES:
        found, expected = np.asarray(getattr(tiled, name)), np.asarray(getattr(whole, name))
        assert found.dtype == expected.dtype, name
        assert np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f"), name
    if whole.wavelengths_ is None:
        assert tiled.wavelengths_ is None
    else:
        np.testing.assert_array_equal(tiled.wavelengths_, whole.wavelengths_)


def assert_tiles_change_nothing(model, source, size, folder, run=srdl.serial):
    whole = type(model)(**model.get_params()).fit(read_scene(source.path))
    assert fit_srdl(model, source, size, folder, run) is model
    assert_same(model, whole)
    assert not [name for name in os.listdir(folder) if name.startswith(".spectrawalk")]


def holes(shape, seed=0, share=0.2):
    mask = np.random.default_rng(seed).uniform(size=shape) > share
    mask[8:16, 8:16] = False  # a tile of 8 without a valid pixel
    return mask


@pytest.fixture(scope="module")
def scene():
    return make_scene((30, 26), n_bands=20, n_classes=4, random_state=7)


class TestSameAsInMemory:
    @pytest.mark.parametrize("size", [7, 8, 13, 64])
    def test_tiles_of_any_size(self, scene, here, size):
        assert_tiles_change_nothing(small(), saved("field.npy", scene), size, here)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"window": "disk"},
            {"symmetrize": None},
            {"sigma": "mean"},
            {"sigma": "self-tuning"},
            {"normalize": None},
            {"density_bandwidth": 0.05},
            {"n_clusters": "auto", "n_eigenpairs": "auto"},
            {"radius": 12},
            {"radius": 10**30},
            {"radius": np.int8(2), "n_neighbors": np.int8(24)},
            {"radius": 1, "n_neighbors": 100},
            {"n_neighbors": 5000},
            {"stage1": "majority", "own_vote": True, "consensus_radius": 0},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("masked", [False, True], ids=["whole", "holes"])
    def test_every_setting(self, scene, here, options, masked):
        source = saved("field.npy", scene, holes(scene.shape) if masked else None)
        assert_tiles_change_nothing(small(**options), source, 8, here)

    def test_windows_with_fewer_pixels_than_neighbours(self, scene, here):
        mask = holes(scene.shape, share=0.8)
        mask[20:, :8] = False
        mask[26, 3] = True  # no other one in its window, nor in its tile
        source = saved("field.npy", scene, mask)
        assert_tiles_change_nothing(small(radius=3), source, 8, here)

    def test_parts_of_a_graph_that_are_kept_apart(self, here):
        scene = make_scene((22, 30), n_bands=12, n_classes=3, random_state=2)
        mask = np.ones(scene.shape, bool)
        mask[9:12], mask[:, 12:15] = False, False
        source = saved("field.npy", scene, mask)
        for components in ("split", "bridge"):
            model = small(radius=2, n_neighbors=8, components=components)
            assert_tiles_change_nothing(model, source, 7, here)
            assert model.n_components_ >= 4

    def test_equal_spectra_tie_by_number(self, here):
        """Whichever tile they are in."""
        rng = np.random.default_rng(0)
        spectra = rng.uniform(1, 2, (5, 6))
        scene = Scene(spectra[rng.integers(0, 5, (20, 20))])
        assert_tiles_change_nothing(small(n_eigenpairs=4), saved("field.npy", scene), 6, here)

    @pytest.mark.parametrize("size", [1, 2])
    def test_the_smallest_tiles(self, here, size):
        scene = make_scene((5, 7), n_bands=5, n_classes=2, random_state=1)
        model = small(n_clusters=2, radius=1, n_neighbors=4, n_eigenpairs=4)
        assert_tiles_change_nothing(model, saved("field.npy", scene), size, here)

    def test_a_single_row(self, here):
        scene = make_scene((1, 40), n_bands=6, n_classes=2, random_state=1)
        assert_tiles_change_nothing(small(n_clusters=2), saved("field.npy", scene), 9, here)

    def test_above_the_pixels_whose_density_is_exact(self, scene, here, monkeypatch):
        from spectrawalk.estimators import learner
        from spectrawalk.srdl import neighbors

        for module in (learner, neighbors):
            monkeypatch.setattr(module, "EXACT_SEARCH", 500)
        monkeypatch.setattr(neighbors, "SEARCH_BUDGET", 50)
        model = small(density_neighbors=1)
        assert_tiles_change_nothing(model, saved("field.npy", scene), 8, here)
        assert not model.exact_density_

    @pytest.mark.parametrize("seed", range(4))
    def test_random_scenes(self, here, seed):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(12, 34, 2).tolist())
        scene = make_scene(shape, n_bands=9, n_classes=3, random_state=seed)
        mask = rng.uniform(size=shape) > rng.uniform(0, 0.6)
        model = small(radius=int(rng.integers(1, 9)), n_neighbors=int(rng.integers(2, 60)))
        size = int(rng.integers(3, 20))
        assert_tiles_change_nothing(model, saved("field.npy", scene, mask), size, here)

    def test_a_file_with_a_no_data_value_and_bands_that_are_dropped(self, here):
        scene = make_scene((30, 34), n_bands=30, n_classes=3, random_state=5)
        cube = np.round(scene.cube * 1000).astype(np.int16)
        cube[:, :, 4] = 7  # constant
        written = Scene(cube, mask=holes(scene.shape), wavelengths=scene.wavelengths)
        write_scene("field.hdr", written)
        source = surveyed("field.hdr")
        prepared, _ = prepare_scene(read_scene("field.hdr"))
        assert len(source.kept) == prepared.n_bands < 30
        model = fit_srdl(small(), source, 11, here)
        assert_same(model, small().fit(prepared))
        assert model.wavelengths_ is not None

    def test_a_part_of_a_file_with_a_mask(self, scene, here):
        np.save("field.npy", scene.cube)
        rows, cols, mask = slice(3, 28), slice(2, 21), holes((25, 19))
        np.save("mask.npy", mask)
        source = source_of("field.npy", (25, 19), 20, corner=(3, 2), mask_file="mask.npy")
        part = read_scene("field.npy", rows=rows, cols=cols)
        assert_same(fit_srdl(small(), source, 8, here), small().fit(part, mask=mask))

    @pytest.mark.scene
    def test_a_published_scene(self, here):
        """The full Indian Pines, with the default settings."""
        scene = load_scene("indian-pines")
        source = source_of("indian-pines", scene.shape, scene.n_bands)
        assert_same(fit_srdl(SRDL(16), source, 64, here), SRDL(16).fit(scene))

    @pytest.mark.skipif(
        not os.environ.get("SPECTRAWALK_LONG"), reason="takes a minute; set SPECTRAWALK_LONG=1"
    )
    @pytest.mark.slow
    def test_a_large_scene(self, here):
        """500 x 500 pixels, in tiles and in memory: takes 80 seconds."""
        scene = make_scene((500, 500), n_bands=30, n_classes=6, random_state=3)
        scene.cube[200:264, 128:200] = scene.cube[::7, ::5] = 0
        model = SRDL(6)
        assert_tiles_change_nothing(model, saved("field.npy", scene), 64, here)
        assert not model.exact_density_


class TestRuns:
    def test_tasks_are_small_and_end_in_any_order(self, scene, here):
        largest = 0

        def run(function, tasks, stage):
            nonlocal largest
            order = list(enumerate(tasks))
            random.Random(stage).shuffle(order)
            for number, task in order:
                sent = pickle.dumps((function, task))
                found, given = pickle.loads(sent)
                found(*given)  # workers may do a tile twice
                answer = pickle.dumps(found(*given))
                largest = max(largest, len(sent), len(answer))
                yield number, pickle.loads(answer)

        source = saved("field.npy", scene, holes(scene.shape))
        assert_tiles_change_nothing(small(), source, 8, here, run)
        assert largest < 2000

    @pytest.mark.slow
    def test_workers_of_dask(self, scene, here):
        pytest.importorskip("distributed")
        source = saved(here / "field.npy", scene, holes(scene.shape))
        with open_cluster("local", 2) as cluster:
            assert_tiles_change_nothing(small(), source, 8, here, cluster.run)

    def test_stages_are_reported_in_order(self, scene, here):
        heard = []
        source = saved("field.npy", scene)
        with progress.listen(lambda *event: heard.append(event)):
            fit_srdl(small(), source, 16, here)
        assert tuple(dict.fromkeys(stage for stage, *_ in heard)) == ("masks", "spectra", *STAGES)
        of_tiles = [(done, total) for stage, done, total in heard if stage == "neighbours"]
        assert of_tiles == [(done, 4) for done in range(5)]

    def test_a_failure_leaves_nothing_behind(self, scene, here):
        source = saved("field.npy", scene)
        model = small().fit(scene)
        before = vars(model).copy()
        model.sigma = 1e-9
        with pytest.raises(GraphError, match="underflow"):
            fit_srdl(model, source, 8, here)
        assert os.listdir(here) == ["field.npy"]
        assert all(vars(model)[name] is value for name, value in before.items() if name != "sigma")

        def interrupted(function, tasks, stage):
            yield from srdl.serial(function, tasks[: 1 if stage == "spectra" else None], stage)
            if stage == "spectra":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit_srdl(small(), source, 8, here, interrupted)
        assert os.listdir(here) == ["field.npy"]


@pytest.fixture(scope="module")
def model(scene, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiles")
    return fit_srdl(small(), saved(folder / "field.npy", scene), 8, folder)


class TestTheModel:
    def test_it_cannot_predict_or_be_saved(self, model, scene, tmp_path):
        for call in (
            lambda: model.predict(scene),
            lambda: model.predict_with_margin(scene),
            lambda: model.save(tmp_path / "model.npz"),
        ):
            with pytest.raises(DataError, match=r"fitted in tiles .* predict nor be saved"):
                call()
        assert os.listdir(tmp_path) == []

    def test_it_can_be_labelled_anew(self, model, scene):
        whole = small().fit(scene.cube)
        np.testing.assert_array_equal(model.relabel(5), whole.relabel(5))
        assert_same(model.with_labelling(time=10), whole.with_labelling(time=10))

    def test_a_fit_in_memory_predicts_again(self, scene, here):
        model = fit_srdl(small(), saved("field.npy", scene), 8, here)
        np.testing.assert_array_equal(model.fit(scene).predict(scene), model.labels_)


class TestErrors:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (DLSS(3), "DLSS has no window .* method='srdl' or method='spectrawalk'"),
            (DL(3), "DL has no window"),
            (SpectraWalk(3), "SpectraWalk has no window"),
            (small(radius=None), "radius=None cannot be used in tiles"),
            (small(normalize="global"), "normalize='global' cannot .* use normalize='pixel'"),
            (small(normalize="band"), "normalize='band' cannot"),
            (small(jitter=0.1), "jitter=0.1 cannot .* use jitter=0"),
            (small(radius=0), "radius=0"),
            (small(n_clusters=781), "only 780 valid pixels"),
        ],
        ids=str,
    )
    def test_parameters(self, scene, here, model, message):
        source = saved("field.npy", scene)
        with pytest.raises(ParameterError, match=message) as caught:
            fit_srdl(model, source, 8, here)
        assert "\n" not in str(caught.value)
        assert os.listdir(here) == ["field.npy"]

    @pytest.mark.parametrize("n", [0, 1])
    def test_too_few_pixels(self, scene, here, n):
        mask = np.zeros(scene.shape, bool)
        mask.flat[:n] = True
        with pytest.raises(DataError, match=f"'field' has {n} usable pixels"):
            fit_srdl(small(), saved("field.npy", scene, mask), 8, here)

    def test_pixels_that_are_all_the_same(self, here):
        with pytest.raises(DataError, match="same spectrum"):
            fit_srdl(small(), saved("field.npy", Scene(np.ones((20, 20, 4)))), 8, here)

    def test_a_single_band(self, scene, here):
        np.save("field.npy", scene.cube)
        source = Source("field.npy", scene.shape, counting=(0,), kept=(0,))
        with pytest.raises(DataError, match="single band"):
            fit_srdl(small(), source, 8, here)

    def test_too_little_memory(self, scene, here, monkeypatch):
        source = saved("field.npy", scene)
        monkeypatch.setattr(forecast, "available_memory", lambda: 100_000)
        with pytest.raises(MemoryShortageError, match=r"about 0\.\d GiB .* 780 pixels, 20 bands"):
            fit_srdl(small(), source, 8, here)
        with forecast.forced():
            assert fit_srdl(small(), source, 8, here).n_clusters_ == 3

    def test_too_little_room_on_the_disk(self, scene, here, monkeypatch):
        source = saved("field.npy", scene)
        full = srdl.shutil.disk_usage(here)._replace(free=100_000)
        monkeypatch.setattr(srdl.shutil, "disk_usage", lambda path: full)
        with pytest.raises(FileError, match=r"scratch files .* need 0\.0 GiB, .* free in '.*'; "):
            fit_srdl(small(), source, 8, here)
        assert os.listdir(here) == ["field.npy"]

    def test_no_such_folder(self, scene, here):
        with pytest.raises(FileError, match=r"'.*nowhere' cannot be written: No such file"):
            fit_srdl(small(), saved("field.npy", scene), 8, here / "nowhere")

    def test_a_disk_that_fills_up_meanwhile(self, here):
        table = Table("/dev/full", (3, 2), "f8")
        with pytest.raises(FileError, match="cannot be written: No space left"):
            table.write(np.arange(3), np.zeros((3, 2)))

    def test_a_file_that_changes_meanwhile(self, scene, here):
        source = saved("field.npy", scene)

        def run(function, tasks, stage):
            yield from srdl.serial(function, tasks, stage)
            saved("field.npy", scene, holes(scene.shape))

        with pytest.raises(FileError, match=r"'field.npy' has changed while it was being read"):
            fit_srdl(small(), source, 8, here, run)


def test_a_table_takes_any_rows(here):
    table = Table("table", (7, 2), "i4")
    table.create()
    for numbers in ([0], [2, 3, 6], [], [1, 4, 5]):
        table.write(np.array(numbers, dtype=np.int32), np.array([[n, -n] for n in numbers]))
    np.testing.assert_array_equal(table.read(), [[n, -n] for n in range(7)])


@pytest.mark.parametrize("window", ["square", "disk"])
def test_neighbours_of_a_part(window):
    rng = np.random.default_rng(0)
    mask = rng.uniform(size=(40, 37)) > 0.3
    X = rng.uniform(size=(mask.sum(), 6))
    whole = window_neighbors(X, mask, 20, 4, window)
    number = np.full(mask.shape, -1)
    number[mask] = np.arange(len(X))
    for tile in (Tile(0, 40, 0, 37), Tile(3, 21, 9, 30), Tile(39, 40, 36, 37), Tile(8, 16, 0, 37)):
        part = tile.rows, tile.cols
        found = window_neighbors(X, mask, 20, 4, window, part=part)
        own = number[part][mask[part]]
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_array_equal(one[own], other[own])


def test_the_memory_does_not_hold_the_spectra():
    in_memory = forecast.working_memory(10**6, 400)
    assert srdl_memory(10**6, 400) < in_memory - 2e9
    assert srdl_memory(10**6, 4000) > srdl_memory(10**6, 400)  # in single precision, for a while
    assert srdl_memory(10**4, 400, largest=10**6) > 1e10  # a radius as large as the scene


MEASURE = """
import json, re, sys, threading, time
from pathlib import Path
import numpy as np
from spectrawalk import SRDL, progress
from spectrawalk.datasets import make_scene
from spectrawalk.scale.source import Source
from spectrawalk.scale.srdl import fit_srdl

every = tuple(range(100))
np.save("small.npy", make_scene((30, 30), n_bands=100).cube)
fit_srdl(SRDL(4), Source("small.npy", (30, 30), counting=every, kept=every), 16, ".")  # compiles

def held():
    # Without pages of files, which the system takes back where memory is needed.
    return 1024 * int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

before, peaks, stage = held(), {}, "start"

def watch():
    while True:
        peaks[stage] = max(peaks.get(stage, 0), held() - before)
        time.sleep(0.01)

def heard(name, done, total):
    global stage
    stage = name

threading.Thread(target=watch, daemon=True).start()
with progress.listen(heard):
    fit_srdl(SRDL(4), Source("field.npy", (200, 200), counting=every, kept=every), 32, ".")
print(json.dumps(peaks))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_the_cube_is_never_in_memory(here):
    np.save("field.npy", make_scene((200, 200), n_bands=100, n_classes=4).cube)
    done = run_python(MEASURE, watched=False)
    assert done.returncode == 0, done.stderr
    peaks = json.loads(done.stdout)
    spectra = 200 * 200 * 100 * 8
    assert max(peaks.get(stage, 0) for stage in ("masks", "spectra", "neighbours")) < spectra
    expected = srdl_memory(200 * 200, 100, largest=48 * 48)
    assert 0.4 * expected < max(peaks.values()) < expected
