"""Published scenes: what is in them, where they are looked for, and how they are downloaded."""

import hashlib
import io
import socket
import subprocess
import sys
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
import scipy.io

from spectrawalk import progress
from spectrawalk.datasets import load_scene, lookup, registry, scene_names
from spectrawalk.datasets.lookup import find_file, find_local_file
from spectrawalk.datasets.registry import Origin, SceneFile
from spectrawalk.errors import FileError, SceneNotFoundError
from spectrawalk.prepare.bands import prepare_scene
from spectrawalk.scene.georeference import crs_name

CUBE = np.random.default_rng(0).integers(1, 900, size=(6, 5, 4)).astype(np.int16)
TRUTH = np.tile(np.array([0, 1, 10, 13, 14], dtype=np.uint8), (6, 1))


def class_counts(scene):
    values, counts = np.unique(scene.ground_truth, return_counts=True)
    return {int(v): int(n) for v, n in zip(values, counts, strict=True) if v > 0}


# The real scenes


@pytest.mark.scene
def test_indian_pines():
    scene = load_scene("indian-pines")
    assert scene.name == "indian-pines"
    assert scene.cube.shape == (145, 145, 200)
    assert scene.cube.dtype == np.uint16
    assert (scene.cube.min(), scene.cube.max()) == (955, 9604)
    assert scene.n_valid == 145 * 145
    sizes = [46, 1428, 830, 237, 483, 730, 28, 478, 20, 972, 2455, 593, 205, 1265, 386, 93]
    assert class_counts(scene) == dict(enumerate(sizes, start=1))
    assert list(scene.class_names) == list(range(1, 17))
    assert scene.class_names[16] == "Stone-Steel-Towers"


@pytest.mark.scene
def test_indian_pines_subset_is_the_papers_window(indian_pines_subset):
    scene, whole = indian_pines_subset, load_scene("indian-pines")
    assert scene.name == "indian-pines-subset"
    np.testing.assert_array_equal(scene.cube, whole.cube[:50, :25])
    np.testing.assert_array_equal(scene.ground_truth, whole.ground_truth[:50, :25])
    assert class_counts(scene) == {2: 172, 3: 344, 4: 237}
    assert scene.class_names == {2: "Corn-notill", 3: "Corn-mintill", 4: "Corn"}
    assert scene.cube.flags.c_contiguous
    assert scene.cube.base is None  # the whole scene is not kept alive


@pytest.mark.scene
def test_salinas_a(salinas_a):
    assert salinas_a.name == "salinas-a"
    assert salinas_a.cube.shape == (83, 86, 204)
    assert salinas_a.cube.dtype == np.int16
    assert (salinas_a.cube.min(), salinas_a.cube.max()) == (-9, 8373)
    assert salinas_a.n_valid == 7138
    assert class_counts(salinas_a) == {1: 391, 10: 1343, 11: 616, 12: 1525, 13: 674, 14: 799}
    assert list(salinas_a.class_names) == [1, 10, 11, 12, 13, 14]


@pytest.mark.scene
def test_enmap_potsdam_north(enmap_potsdam_north):
    scene = enmap_potsdam_north
    assert scene.name == "enmap-potsdam-north"
    assert scene.cube.shape == (64, 96, 224)
    assert scene.cube.dtype == np.float32
    assert scene.n_valid == 64 * 96
    assert class_counts(scene) == {1: 113, 2: 295, 3: 1226, 4: 806, 5: 45}
    assert scene.class_names == {}  # the file of the classes names none
    assert scene.class_name(3) == "class 3"
    assert crs_name(scene.crs) == "WGS 84 / UTM zone 33N"
    assert scene.transform == (30.0, 0.0, 364095.0, 0.0, -30.0, 5809965.0)
    np.testing.assert_allclose(
        scene.wavelengths[[0, 90, 91, 223]], [418.24, 993.083, 902.257, 2445.53]
    )
    np.testing.assert_allclose(scene.fwhm[[0, 223]], [6.99561, 7.1581])
    assert np.flatnonzero(~scene.good_bands).tolist() == list(range(129, 135))
    assert scene.metadata["nodata"] == -32768
    assert np.isin(scene.cube[:, :, ~scene.good_bands], -32768).all()


@pytest.mark.scene
def test_enmap_potsdam_north_is_prepared(enmap_potsdam_north):
    """Both detectors, bad bands and water vapour, as they are in a real file."""
    prepared, preparation = prepare_scene(enmap_potsdam_north)
    dropped = {step.name: len(step.bands) for step in preparation.steps if step.bands}
    assert dropped == {"drop_bad_bands": 6, "drop_water_bands": 2, "overlap": 9}
    assert prepared.n_valid == 64 * 96
    assert (np.diff(prepared.wavelengths) > 0).all()
    assert prepared.band_numbers[[0, -1]].tolist() == [1, 224]


def test_enmap_potsdam_north_where_it_is_not_at_hand(bare_machine):
    with pytest.raises(SceneNotFoundError) as caught:
        load_scene("enmap-potsdam-north")
    told = str(caught.value)
    assert told.startswith("scene 'enmap-potsdam-north' is not on this machine; ")
    assert "cube.tif and landcover.tif are a piece of enmap_potsdam.tif" in told
    assert "and are not offered for download; put copies of them into '" in told
    assert "SPECTRAWALK_DATA" in told


def test_another_file_of_a_common_name_is_not_taken_for_it(bare_machine, monkeypatch):
    (bare_machine / "cube.tif").write_bytes(b"II*\0")
    monkeypatch.setenv("SPECTRAWALK_DATA", str(bare_machine))
    with pytest.raises(SceneNotFoundError, match="is not on this machine"):
        load_scene("enmap-potsdam-north")


def test_a_changed_file_of_a_scene_is_refused(bare_machine, monkeypatch):
    folder = bare_machine / "data" / "enmap-potsdam-north"
    folder.mkdir(parents=True)
    (folder / "cube.tif").write_bytes(b"II*\0")
    monkeypatch.setenv("SPECTRAWALK_DATA", str(folder.parent))
    with pytest.raises(FileError, match=r"cube\.tif' is not the published file.*c393a547fc93"):
        load_scene("enmap-potsdam-north")


@pytest.mark.scene
def test_samson(samson):
    assert samson.name == "samson"
    assert samson.cube.shape == (95, 95, 156)
    assert (samson.cube.min(), samson.cube.max()) == (0.0, 1.0)
    assert class_counts(samson) == {1: 3015, 2: 3666, 3: 2344}
    assert list(samson.class_names.values()) == ["Rock", "Tree", "Water"]
    assert samson.n_valid == 95 * 95
    # Laid out wrongly the image would be torn: most neighbours share a class, both ways.
    for axis in (0, 1):
        assert np.mean(np.diff(samson.ground_truth, axis=axis) == 0) > 0.9


@pytest.mark.scene
def test_samson_water_is_dark_in_the_infrared(samson):
    infrared = samson.cube[..., -20:].mean(axis=2)
    means = [infrared[samson.ground_truth == c].mean() for c in (1, 2, 3)]
    assert means[2] < 0.5 * min(means[:2])


@pytest.mark.scene
def test_ksc_labelled(ksc_labelled):
    assert ksc_labelled.cube.shape == (512, 614, 176)
    assert ksc_labelled.n_valid == 5211
    np.testing.assert_array_equal(ksc_labelled.mask, ksc_labelled.ground_truth > 0)
    sizes = [761, 243, 256, 252, 161, 229, 105, 431, 520, 404, 419, 503, 927]
    assert class_counts(ksc_labelled) == dict(enumerate(sizes, start=1))
    assert ksc_labelled.metadata["saturated_values"] == 80
    if ksc_labelled.wavelengths is not None:
        assert ksc_labelled.wavelengths[0] == 439.25
        assert ksc_labelled.wavelengths[-1] == 2498.96
        # It steps back where spectrometers of the sensor overlap (three times), and where the
        # file has 2260 and 2270 nm between 2202 and 2232.
        assert np.count_nonzero(np.diff(ksc_labelled.wavelengths) < 0) == 4


def test_unknown_names_list_the_known_ones():
    assert len(scene_names()) == 7
    with pytest.raises(SceneNotFoundError, match=r"no scene 'pavia'; .*indian-pines, .*ksc-subset"):
        load_scene("pavia")


def test_loading_a_scene_does_not_import_the_package_that_carries_it():
    code = (
        "import sys; from spectrawalk.datasets import load_scene; load_scene('indian-pines');"
        "sys.exit('tensorly' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Where files are looked for


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    """No data folder, an empty cache, and a public home that does not answer."""
    monkeypatch.delenv("SPECTRAWALK_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    cache = tmp_path / "cache"
    monkeypatch.setattr(lookup, "cache_folder", lambda: cache)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setattr(lookup, "PUBLIC_HOME", f"http://127.0.0.1:{port}")
    return tmp_path


def test_order_of_places(bare_machine, monkeypatch):
    """Data folder, installed package, cache; a folder of the scene before the folder itself."""
    origin = Origin("demo", "a page", ("cube.bin",), ("carrier", "inside"))
    package = bare_machine / "site" / "carrier"
    places = [
        bare_machine / "data" / "demo",
        bare_machine / "data",
        package / "inside",
        bare_machine / "cache" / "demo",
        bare_machine / "cache",
    ]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / "cube.bin").write_bytes(b"x")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setenv("SPECTRAWALK_DATA", str(bare_machine / "data"))
    for place in places:
        assert find_local_file(origin, SceneFile("cube.bin")) == place / "cube.bin"
        (place / "cube.bin").unlink()
    assert find_local_file(origin, SceneFile("cube.bin")) is None


def test_any_alternative_will_do(bare_machine, monkeypatch):
    monkeypatch.setenv("SPECTRAWALK_DATA", str(bare_machine))
    (bare_machine / "b.mat").write_bytes(b"x")
    origin = Origin("demo", "a page", ("b.mat",))
    assert find_file("demo", origin, SceneFile("a.npy"), SceneFile("b.mat")).name == "b.mat"


def test_a_local_file_that_is_not_the_published_one(bare_machine, monkeypatch):
    monkeypatch.setenv("SPECTRAWALK_DATA", str(bare_machine))
    (bare_machine / "SalinasA_corrected.mat").write_bytes(b"something else")
    found = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(FileError) as caught:
        load_scene("salinas-a")
    message = str(caught.value)
    assert str(bare_machine / "SalinasA_corrected.mat") in message
    assert found[:12] in message
    assert "d75684ed3ab7" in message
    assert "get it again" in message


@pytest.mark.parametrize(
    ("name", "files", "page"),
    [
        ("samson", ("samson_1.mat", "end3.mat"), registry.SAMSON_PAGE),
        ("ksc-subset", ("KSC.mat", "KSC_gt.mat"), registry.EHU_PAGE),
        ("ksc-labelled", ("KSC.mat", "KSC_gt.mat"), registry.EHU_PAGE),
    ],
)
def test_a_scene_that_is_not_downloaded_says_what_to_get(bare_machine, name, files, page):
    with pytest.raises(SceneNotFoundError) as caught:
        load_scene(name)
    message = str(caught.value)
    assert f"scene '{name}' is not on this machine" in message
    assert "download" not in message
    assert "SPECTRAWALK_DATA" in message
    assert str(bare_machine / "cache") in message
    for expected in (*files, page):
        assert expected in message


def test_a_data_folder_that_does_not_exist_is_mentioned(bare_machine, monkeypatch):
    monkeypatch.setenv("SPECTRAWALK_DATA", str(bare_machine / "typo"))
    with pytest.raises(SceneNotFoundError, match=r"typo'.* although it does not exist"):
        load_scene("samson")


# The Kennedy Space Center cube, on a file of its layout


@pytest.fixture
def ksc_files(bare_machine, monkeypatch):
    rows, cols, _ = registry.KSC_SHAPE
    bands = 8  # instead of 176, to be quick
    monkeypatch.setattr(registry, "KSC_SHAPE", (rows, cols, bands))
    cube = np.add.outer(np.add.outer(np.arange(rows), 3 * np.arange(cols)), np.arange(bands))
    truth = np.arange(rows * cols).reshape(rows, cols) % 14
    folder = bare_machine / "data" / "ksc"
    folder.mkdir(parents=True)
    scipy.io.savemat(folder / "KSC.mat", {"KSC": cube.astype(np.uint16)})
    scipy.io.savemat(folder / "KSC_gt.mat", {"KSC_gt": truth.astype(np.uint8)})
    monkeypatch.setenv("SPECTRAWALK_DATA", str(folder.parent))
    monkeypatch.setattr(registry, "KSC_TRUTH", SceneFile("KSC_gt.mat"))
    return cube, truth, folder


def test_ksc_scenes_from_the_whole_cube(ksc_files):
    cube, truth, folder = ksc_files
    subset = load_scene("ksc-subset")
    np.testing.assert_array_equal(subset.cube, cube[250:500, 400:500])
    window = truth[250:500, 400:500]
    np.testing.assert_array_equal(
        subset.ground_truth, np.where(np.isin(window, [3, 8, 9, 10]), window, 0)
    )
    assert list(subset.class_names) == [3, 8, 9, 10]
    assert subset.wavelengths is None
    assert subset.metadata["window"] == "rows 250..499, cols 400..499"

    wavelengths = np.linspace(400, 2500, 8)
    scipy.io.savemat(folder / "KSC_spec.mat", {"dataset_specBandWL": wavelengths[:, np.newaxis]})
    labelled = load_scene("ksc-labelled")
    np.testing.assert_array_equal(labelled.ground_truth, truth)
    np.testing.assert_array_equal(labelled.cube[truth > 0], cube[truth > 0])
    assert not labelled.cube[truth == 0].any()
    np.testing.assert_array_equal(labelled.mask, truth > 0)
    np.testing.assert_array_equal(labelled.wavelengths, wavelengths)


def test_ksc_files_of_the_wrong_size_are_refused(ksc_files):
    folder = ksc_files[2]
    scipy.io.savemat(folder / "KSC_spec.mat", {"dataset_specBandWL": np.ones((5, 1))})
    with pytest.raises(FileError, match=r"KSC_spec\.mat' holds 5 wavelengths for 8 bands"):
        load_scene("ksc-subset")
    scipy.io.savemat(folder / "KSC.mat", {"KSC": CUBE})
    with pytest.raises(FileError, match=r"KSC\.mat' holds a cube of shape \(6, 5, 4\)"):
        load_scene("ksc-subset")


# Downloads, from a server on this machine


def matlab_bytes(**variables) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, variables)
    return buffer.getvalue()


CUBE_BYTES, TRUTH_BYTES = matlab_bytes(salinasA_corrected=CUBE), matlab_bytes(salinasA_gt=TRUTH)


class Handler(BaseHTTPRequestHandler):
    """Serve `server.files`; a value that is an exception class says what goes wrong."""

    def do_GET(self):
        self.server.requests.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        if content is TimeoutError:
            time.sleep(1.5)
            return
        self.send_response(200)
        if content is ConnectionError:
            content = CUBE_BYTES[: len(CUBE_BYTES) // 2]
            self.send_header("Content-Length", str(len(CUBE_BYTES)))
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def public_home(bare_machine, monkeypatch):
    """A server that offers Salinas A with small files of our own, and their checksums."""
    for attribute, content in (("SALINAS_A_CUBE", CUBE_BYTES), ("SALINAS_A_TRUTH", TRUTH_BYTES)):
        checksum = hashlib.sha256(content).hexdigest()
        file = replace(getattr(registry, attribute), sha256=checksum)
        monkeypatch.setattr(registry, attribute, file)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files = {
        f"/{registry.SALINAS_A_CUBE.address}": CUBE_BYTES,
        f"/{registry.SALINAS_A_TRUTH.address}": TRUTH_BYTES,
    }
    server.requests = []
    monkeypatch.setattr(lookup, "PUBLIC_HOME", f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def cached_files(folder):
    return sorted(path.name for path in folder.joinpath("cache").rglob("*") if path.is_file())


CUBE_ADDRESS = f"/{registry.SALINAS_A_CUBE.address}"


def test_download_once_then_from_the_cache(public_home, bare_machine, capfd):
    reports = []
    with progress.listen(lambda *report: reports.append(report)):
        scene = load_scene("salinas-a")
    np.testing.assert_array_equal(scene.cube, CUBE)
    np.testing.assert_array_equal(scene.ground_truth, TRUTH)
    assert cached_files(bare_machine) == ["SalinasA_corrected.mat", "SalinasA_gt.mat"]
    assert reports[-1] == ("download SalinasA_gt.mat", len(TRUTH_BYTES), len(TRUTH_BYTES))
    assert len(public_home.requests) == 2
    load_scene("salinas-a")
    assert len(public_home.requests) == 2
    assert capfd.readouterr() == ("", "")


def test_download_with_the_wrong_checksum_keeps_nothing(public_home, bare_machine):
    public_home.files[CUBE_ADDRESS] = CUBE_BYTES + b"changed"
    expected = registry.SALINAS_A_CUBE.sha256[:12]
    with pytest.raises(FileError, match=f"{CUBE_ADDRESS}' .* {expected}, so nothing was kept"):
        load_scene("salinas-a")
    assert cached_files(bare_machine) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "the server answered 404"),
        (ConnectionError, "the connection failed or broke off"),
        (TimeoutError, "the connection failed or broke off"),
    ],
)
def test_download_that_fails_keeps_nothing_and_says_why(
    public_home, bare_machine, monkeypatch, content, reason
):
    monkeypatch.setattr(lookup, "TIMEOUT_SECONDS", 0.5)
    public_home.files[CUBE_ADDRESS] = content
    with pytest.raises(SceneNotFoundError) as caught:
        load_scene("salinas-a")
    message = str(caught.value)
    assert f"{CUBE_ADDRESS}' could not be downloaded ({reason})" in message
    assert registry.EHU_PAGE in message
    assert str(bare_machine / "cache" / "salinas-a") in message
    assert cached_files(bare_machine) == []


def test_a_failed_download_can_be_tried_again(public_home, bare_machine):
    public_home.files[CUBE_ADDRESS] = ConnectionError
    with pytest.raises(SceneNotFoundError):
        load_scene("salinas-a")
    public_home.files[CUBE_ADDRESS] = CUBE_BYTES
    assert load_scene("salinas-a").shape == (6, 5)


@pytest.mark.parametrize("name", ["salinas-a", "indian-pines"])
def test_no_server(bare_machine, monkeypatch, name):
    monkeypatch.setattr(registry, "INDIAN_PINES", replace(registry.INDIAN_PINES, package_folder=()))
    with pytest.raises(SceneNotFoundError, match=r"_corrected\.mat' could not be downloaded"):
        load_scene(name)
    assert cached_files(bare_machine) == []


def test_a_cache_that_cannot_be_written(public_home, bare_machine):
    (bare_machine / "cache").write_text("a file where the folder should be")
    with pytest.raises(SceneNotFoundError, match=r"could not be downloaded \(Not a directory\)"):
        load_scene("salinas-a")
