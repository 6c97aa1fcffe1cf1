"""Scenes in tiles: what is surveyed, drawn, fitted and labelled does not depend on the tiles."""

from dataclasses import replace

import numpy as np
import pytest
from product_files import write_envi
from sklearn.metrics import adjusted_rand_score

from spectrawalk import Scene, SpectraWalk, read_scene, score
from spectrawalk.consensus.detail import measured_detail
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.errors import DataError, FileError
from spectrawalk.io.scene_writers import write_scene
from spectrawalk.prepare.bands import prepare_scene
from spectrawalk.results.cluster_map import ClusterMap
from spectrawalk.results.spectra import cluster_spectra
from spectrawalk.scale import draw, survey
from spectrawalk.scale.draw import draw_windows, mosaic
from spectrawalk.scale.model import TileModel
from spectrawalk.scale.run import cluster_in_tiles, found_in, look, prepared
from spectrawalk.scale.source import open_source
from spectrawalk.scale.survey import PREPARATION
from spectrawalk.scale.tiles import divide
from spectrawalk.scale.work import Work


def labels_of(run, place=0):
    """Labels and confidences of a scene of a run, put together from its tiles."""
    scene = run.scenes[place]
    codes = np.zeros(scene.source.shape, np.uint8)
    confidence = np.zeros_like(codes)
    for tile, found in scene.blocks():
        codes[tile.rows, tile.cols] = found.codes
        confidence[tile.rows, tile.cols] = found.confidence
    cluster = run.model.tree.ancestors(run.model.n_clusters)
    return np.where(codes > 0, cluster[codes.astype(int) - 1], -1), codes, confidence


def agreement(one, other):
    known = (one >= 0) & (other >= 0)
    return adjusted_rand_score(one[known], other[known])


def cluster(paths, folder, k, size=64, **how):
    folder.mkdir(exist_ok=True)
    sources = [open_source(path) for path in paths]
    return cluster_in_tiles(sources, SpectraWalk(k), folder, size=size, **how)


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    """A scene with all that a preparation looks for, in places that tiles cut through."""
    made = make_scene((90, 110), n_bands=30, n_classes=4, region_size=14, random_state=2)
    cube = (made.cube * 20_000).astype(np.int16)
    cube[:70, :70] = -1  # tiles without a valid pixel
    cube[80, 30:34, 5] = -1
    cube[:, :, 7] = 300  # constant
    cube[75:78, 100:] = 0
    cube[60, 80:90, 3] = np.iinfo(np.int16).max  # saturated
    cube[:45, 70:, 11] = -1  # no value in some tiles only, so no usable pixel there
    return write_envi(
        tmp_path_factory.mktemp("awkward") / "field.img",
        cube,
        wavelength=np.linspace(400, 2500, 30).tolist(),
        wavelength_units="Nanometers",
        bbl=(np.arange(30) != 20).astype(int).tolist(),
        data_ignore_value=-1,
        map_info="{UTM, 1, 1, 500000, 4400000, 30, 30, 33, North, WGS-84}",
    )


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    """A scene of several windows."""
    made = make_scene((150, 120), n_bands=12, n_classes=3, region_size=20, random_state=4)
    path = tmp_path_factory.mktemp("fields") / "fields.npy"
    np.save(path, made.cube)
    return path, made


@pytest.fixture(scope="module")
def third():
    """Fit to a part of the scene, so that windows are drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "PIXELS", 6_000)
        patch.setattr(draw, "WINDOW", 32)
        yield


@pytest.fixture(scope="module")
def drawn(fields, third, tmp_path_factory):
    """A run in tiles of 64 pixels, fitted to a part of the scene."""
    run, _ = cluster([fields[0]], tmp_path_factory.mktemp("drawn"), 3)
    return run


@pytest.mark.parametrize("size", [16, 45, 200])
def test_a_scene_is_prepared_as_in_memory(awkward, size):
    whole, expected = prepare_scene(read_scene(awkward))
    source = open_source(awkward)
    (seen,) = look([source], 1, size, run=_serial)
    (_,), (chosen,), (found,) = prepared([source], [seen], PREPARATION)
    assert chosen.kept == expected.kept_bands
    told = [(step["name"], step["dropped_bands"]) for step in found["steps"]]
    assert [each for each in told if each[1]] == [
        (step.name, list(step.bands)) for step in expected.steps if step.bands
    ]
    assert seen.valid == read_scene(awkward).n_valid
    for tile in divide(source.shape, size):
        part = chosen.read(tile.rows, tile.cols)
        assert (part.mask == whole.mask[tile.rows, tile.cols]).all()
        assert (part.cube == whole.cube[tile.rows, tile.cols]).all()
        assert part.transform[2] == 500_000 + 30 * tile.left


def _serial(function, tasks, stage):
    yield from ((number, function(*task)) for number, task in enumerate(tasks))


def test_a_survey_is_the_same_for_all_tiles(awkward):
    source = open_source(awkward)
    first, *others = (look([source], 3, size, run=_serial)[0] for size in (16, 45, 200))
    for other in others:
        for name, value in first._asdict().items():
            np.testing.assert_array_equal(getattr(other, name), value, err_msg=name)


def test_the_detail_of_a_survey_is_that_of_the_image(fields):
    path, made = fields
    source = open_source(path)
    (seen,) = look([source], 1, 64, run=_serial)
    _, (chosen,), _ = prepared([source], [seen], PREPARATION | {"drop_water_bands": False})
    expected = measured_detail(made.cube.reshape(-1, 12).astype(float), made.mask)
    assert survey.detail([chosen], [seen]) == pytest.approx(expected, rel=0.1)


def test_a_published_scene_is_read_by_window():
    scene, source = load_scene("indian-pines-subset"), open_source("indian-pines-subset")
    part = replace(source, kept=(3, 5), counting=(3, 5)).read(slice(2, 5), slice(1, 9))
    assert (part.cube == scene.cube[2:5, 1:9][:, :, [3, 5]]).all()


@pytest.mark.parametrize("size", [100, 256])
def test_tiles_of_any_size_give_the_same_bytes(fields, third, drawn, tmp_path, size):
    run, _ = cluster([fields[0]], tmp_path / "out", 3, size)
    assert run.model.to_bytes() == drawn.model.to_bytes()
    for one, other in zip(labels_of(drawn), labels_of(run), strict=True):
        assert (one == other).all()


def test_labels_agree_with_a_fit_in_memory_and_with_the_truth(fields, drawn):
    labels, _, _ = labels_of(drawn)
    in_memory = SpectraWalk(3).fit(fields[1]).labels_
    truth = fields[1].ground_truth
    assert agreement(labels, in_memory) >= 0.9
    assert score(truth, labels).oa >= score(truth, in_memory).oa - 0.02


@pytest.mark.parametrize(
    ("name", "k"),
    [("indian-pines-subset", 3), pytest.param("indian-pines", 16, marks=pytest.mark.slow)],
)
def test_a_small_scene_is_fitted_as_a_whole(name, k, tmp_path):
    scene = load_scene(name)
    run, _ = cluster([name], tmp_path / "out", k, 64)
    labels, _, _ = labels_of(run)
    in_memory = SpectraWalk(k).fit(prepare_scene(scene)[0]).labels_
    truth = scene.ground_truth
    assert score(truth, labels).oa >= score(truth, in_memory).oa - 0.03


def test_no_seam_at_the_borders_of_tiles(drawn):
    _, codes, _ = labels_of(drawn)
    moved = [np.mean(np.diff(codes.astype(int), axis=0)[row] != 0) for row in range(149)]
    others = np.delete(moved, [63, 127])
    assert np.mean([moved[63], moved[127]]) <= np.quantile(others, 0.95)


def test_two_halves_have_one_legend(fields, third, drawn, tmp_path):
    names = [tmp_path / "north.npy", tmp_path / "south.npy"]
    for name, half in zip(names, np.split(fields[1].cube, 2), strict=True):
        np.save(name, half)
    halves, _ = cluster(names, tmp_path / "halves", 3)
    labels = np.vstack([labels_of(halves, place)[0] for place in (0, 1)])
    whole, _, _ = labels_of(drawn)
    assert agreement(labels, whole) >= 0.9
    truth = fields[1].ground_truth
    assert score(truth, labels).oa >= score(truth, whole).oa - 0.02


def test_a_cover_in_one_small_place_is_found(third, tmp_path):
    made = make_scene((240, 240), n_bands=12, n_classes=3, region_size=20, random_state=1)
    cube = made.cube.copy()
    rng = np.random.default_rng(0)
    rare = np.zeros((240, 240), bool)
    rare[150:168, 30:48] = True  # 0.6 % of the scene, a tenth of which is drawn
    spectrum = 0.3 + 0.2 * np.sin(np.linspace(0, 9, 12))
    cube[rare] = spectrum + rng.normal(0, 0.01, (rare.sum(), 12))
    np.save(tmp_path / "field.npy", cube.astype(np.float32))
    run, _ = cluster([tmp_path / "field.npy"], tmp_path / "out", 4)
    _, codes, _ = labels_of(run)
    found = run.model.tree.cut(4)[codes.astype(int) - 1]
    most = np.bincount(found[rare]).argmax()
    assert np.mean(found[rare] == most) > 0.95
    assert np.mean(rare[found == most]) > 0.8  # its border is smoothed, as in memory


def test_windows_are_drawn_all_over(fields, third):
    source = open_source(fields[0])
    (seen,) = look([source], 1, 64, run=_serial)
    _, chosen, _ = prepared([source], [seen], PREPARATION)
    windows = draw_windows(chosen, [seen], 1, 0)
    assert len(windows) == len(set(windows))
    assert min(window.tile.top for window in windows) == 0
    assert max(window.tile.bottom for window in windows) > 120
    assert draw.PIXELS <= mosaic(chosen, windows).n_valid < draw.PIXELS + draw.WINDOW**2


def test_a_model_comes_back_from_its_bytes(drawn):
    content = drawn.model.to_bytes()
    again = TileModel.from_bytes(content)
    assert again.to_bytes() == content
    tile = next(divide((150, 120), 64))
    one, other = (each.label(drawn.scenes[0].source, tile) for each in (drawn.model, again))
    for before, after in zip(one, other, strict=True):
        assert (before == after).all()


def test_what_was_found_is_that_of_the_labels(awkward, tmp_path):
    run, _ = cluster([awkward], tmp_path / "out", 4, 40)
    labels, _, _ = labels_of(run)
    found, result = found_in(run, run.scenes[0])
    scene, _ = prepare_scene(read_scene(awkward))
    assert ((labels >= 0) == scene.mask).all()
    sizes = np.bincount(labels[labels >= 0], minlength=4)
    assert result.sizes.tolist() == sizes.tolist()
    assert result.map.areas.tolist() == (sizes * 900.0).tolist()
    for ours, expected in zip(result.spectra, cluster_spectra(scene, labels, 4), strict=True):
        np.testing.assert_allclose(ours.mean, expected.mean, rtol=1e-9)
        np.testing.assert_allclose(ours.deviation, expected.deviation, rtol=1e-6)
    assert result.image.shape == (90, 110)
    assert result.image.n_valid == scene.n_valid
    path = tmp_path / "leaves.npz"
    path.write_bytes(found.to_bytes())
    again = type(found).read(path, run.parameters)
    assert again.result(3).sizes.tolist() == found.result(3).sizes.tolist()


def test_areas_in_degrees_shrink_towards_the_poles(tmp_path):
    made = make_scene((40, 40), n_bands=20, n_classes=2, random_state=1)
    place = {"crs": "EPSG:4326", "transform": (0.01, 0, 10, 0, -0.01, 60)}
    write_scene(tmp_path / "field.tif", Scene(made.cube, **place))
    run, _ = cluster([tmp_path / "field.tif"], tmp_path / "out", 2, 16)
    _, result = found_in(run, run.scenes[0])
    labels, _, _ = labels_of(run)
    expected = ClusterMap(labels, 2, read_scene(tmp_path / "field.tif").crs, place["transform"])
    np.testing.assert_allclose(result.map.areas, expected.areas, rtol=1e-12)


def test_finished_parts_are_kept_and_damaged_ones_are_not(tmp_path):
    work = Work(tmp_path, {"k": 1}, overwrite=False)
    path = work.put("tile-1", b"labels")
    again = Work(tmp_path, {"k": 1}, overwrite=False)
    assert again.resumed
    assert again.get("tile-1") == b"labels"
    assert list(again.finished(["tile-1", "tile-2"])) == ["tile-1"]
    path.write_bytes(b"label")
    assert again.get("tile-1") is None
    with pytest.raises(FileError, match=r"unfinished work of a run with k=1 in place of 2"):
        Work(tmp_path, {"k": 2}, overwrite=False)
    other = Work(tmp_path, {"k": 2}, overwrite=True)
    assert not other.resumed
    other.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_run_goes_on_with_its_finished_tiles(fields, third, drawn, tmp_path):
    def stopping(function, tasks, stage):
        for number, result in _serial(function, tasks, stage):
            if stage == "tiles" and number == 7:
                raise KeyboardInterrupt
            yield number, result

    with pytest.raises(KeyboardInterrupt):
        cluster([fields[0]], tmp_path / "out", 3, 40, run=stopping)
    called = []

    def counting(function, tasks, stage):
        called.append((stage, len(tasks)))
        yield from _serial(function, tasks, stage)

    run, _ = cluster([fields[0]], tmp_path / "out", 3, 40, run=counting)
    assert run.resumed == 7
    assert called == [("tiles", 12 - 7)]
    assert (labels_of(run)[1] == labels_of(drawn)[1]).all()


def test_scenes_without_common_bands_are_refused(fields, tmp_path):
    for name, low in (("one", 400.0), ("other", 5000.0)):
        scene = Scene(fields[1].cube[:50, :50], wavelengths=np.linspace(low, low + 1000, 12))
        write_scene(tmp_path / f"{name}.tif", scene)
    with pytest.raises(DataError, match="has no band for 12 of the model's 12"):
        cluster([tmp_path / "one.tif", tmp_path / "other.tif"], tmp_path / "out", 3)


def test_a_scene_without_a_usable_pixel_is_refused(tmp_path):
    np.save(tmp_path / "empty.npy", np.zeros((30, 40, 8), np.uint16))
    with pytest.raises(DataError, match="scene 'empty' has 0 usable pixels"):
        cluster([tmp_path / "empty.npy"], tmp_path / "out", 3)


def test_a_scene_of_one_class_has_no_structure(tmp_path):
    noise = np.random.default_rng(0).normal(1.0, 0.1, (60, 70, 12)).astype(np.float32)
    np.save(tmp_path / "noise.npy", noise)
    run, _ = cluster([tmp_path / "noise.npy"], tmp_path / "out", "auto")
    assert run.model.n_clusters == 1
    _, result = found_in(run, run.scenes[0])
    assert result.model.verdict_ == "no clear structure"
    assert result.sizes.tolist() == [4200]
