"""Saved models: what is written comes back, and no file can do harm."""

import collections
import json
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import spectrawalk
from spectrawalk import DL, DLSS, SRDL, Scene
from spectrawalk.datasets import make_scene
from spectrawalk.errors import FileError, MemoryShortageError, SpectrawalkError

HEADER = "spectrawalk_model"


@pytest.fixture(scope="module")
def scene():
    return make_scene((14, 12), n_bands=8, n_classes=3, random_state=7)


@pytest.fixture(scope="module")
def fitted(scene):
    return SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(scene)


@pytest.fixture(scope="module")
def path(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    fitted.save(path)
    return path


class OwnSRDL(SRDL):
    """As a user would derive it, at the top of a module."""


class TestRoundTrip:
    @pytest.mark.parametrize("normalize", ["pixel", "global", "band", None])
    @pytest.mark.parametrize("kind", [SRDL, DLSS, DL])
    def test_everything_comes_back(self, scene, kind, normalize, tmp_path):
        mask = np.ones(scene.shape, dtype=bool)
        mask[3:5, 2:9] = False
        model = kind(n_clusters=3, normalize=normalize).fit(scene, mask=mask)
        model.save(tmp_path / "model.npz")
        loaded = spectrawalk.load(tmp_path / "model.npz")
        assert type(loaded) is kind
        assert vars(loaded).keys() == vars(model).keys()
        for name, value in vars(model).items():
            if name != "_fitted_spectra":
                np.testing.assert_array_equal(getattr(loaded, name), value, err_msg=name)
        np.testing.assert_array_equal(loaded.relabel(5), model.relabel(5))
        np.testing.assert_array_equal(loaded.predict(scene), model.predict(scene))
        np.testing.assert_array_equal(kind.load(tmp_path / "model.npz").labels_, model.labels_)
        assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]

    def test_tables_and_names_of_columns(self, scene, tmp_path):
        table = pd.DataFrame(scene.cube.reshape(-1, 8), columns=list("abcdefgh"))
        model = DL(n_clusters=2).fit(table)
        model.save(tmp_path / "dl.npz")
        loaded = DL.load(tmp_path / "dl.npz")
        assert list(loaded.feature_names_in_) == list("abcdefgh")
        assert loaded.feature_names_in_.dtype == object
        np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
        with pytest.raises(SpectrawalkError, match=r"holds a DL model, not SRDL; use DL\.load"):
            SRDL.load(tmp_path / "dl.npz")

    def test_wavelengths(self, scene, tmp_path):
        wavelengths = np.linspace(400, 2500, 8)
        model = DL(n_clusters=2).fit(Scene(scene.cube, wavelengths=wavelengths))
        model.save(tmp_path / "dl.npz")
        np.testing.assert_array_equal(DL.load(tmp_path / "dl.npz").wavelengths_, wavelengths)
        DL(n_clusters=2).fit(scene.cube).save(tmp_path / "dl.npz")
        assert DL.load(tmp_path / "dl.npz").wavelengths_ is None

    def test_classes_of_ones_own(self, scene, tmp_path):
        model = OwnSRDL(n_clusters=2).fit(scene)
        model.save(tmp_path / "own.npz")
        loaded = OwnSRDL.load(tmp_path / "own.npz")
        assert type(loaded) is OwnSRDL
        np.testing.assert_array_equal(loaded.labels_, model.labels_)
        for load in (spectrawalk.load, SRDL.load):
            with pytest.raises(FileError, match=r"holds a OwnSRDL model.*use OwnSRDL\.load"):
                load(tmp_path / "own.npz")

    def test_parameters_that_cannot_be_saved(self, scene, tmp_path):
        model = SRDL(n_clusters=np.int64(2), sigma=np.float32(1.5)).fit(scene)
        model.save(tmp_path / "model.npz")
        assert SRDL.load(tmp_path / "model.npz").n_clusters == 2
        model.set_params(sigma=np.longdouble(2))
        with pytest.raises(SpectrawalkError, match="sigma="):
            model.save(tmp_path / "model.npz")
        model.set_params(sigma="wide")
        with pytest.raises(SpectrawalkError, match="sigma='wide'"):
            model.save(tmp_path / "model.npz")
        assert SRDL.load(tmp_path / "model.npz").sigma == 1.5

    def test_unfitted_models_have_nothing_to_save(self, tmp_path):
        with pytest.raises(NotFittedError):
            SRDL().save(tmp_path / "model.npz")
        with pytest.raises(NotFittedError):
            SRDL().relabel(2)


def tampered(path, target, change):
    """Write the model to `target` with its header and arrays changed by a function."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays.pop(HEADER)))
    header = change(header, arrays) or header
    np.savez(target, **{HEADER: np.array(json.dumps(header))}, **arrays)
    return target


def put(name, index, value):
    def change(header, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return change


def replace(name, function):
    return lambda header, arrays: arrays.update({name: function(arrays[name])})


def without(name):
    return lambda header, arrays: arrays.pop(name) is None


def in_header(**entries):
    return lambda header, arrays: header | entries


def in_parameters(**entries):
    return lambda header, arrays: header | {"parameters": header["parameters"] | entries}


DAMAGE = {
    "a parent out of range": (put("_parent", 5, 10**9), "_parent leads to"),
    "a negative parent": (put("_parent", 5, -7), "_parent leaves"),
    "a parent of the densest": (put("_parent", 0, 3), "_parent gives"),
    "a circle of parents": (put("_parent", 4, 4), "_parent leads to"),
    "few parents": (replace("_parent", lambda a: a[:3]), "_parent has shape"),
    "a rank twice": (put("_ranking", 1, 0), "_ranking is not"),
    "ranks reversed": (replace("_ranking", lambda a: a[::-1]), "_ranking does not follow"),
    "ranks as floats": (replace("_ranking", lambda a: a.astype(float)), "_ranking holds values"),
    "a label too high": (put("labels_", (0, 0), 3), "labels_ holds"),
    "a label below -1": (put("labels_", (0, 0), -2), "labels_ holds"),
    "labels of another shape": (replace("labels_", lambda a: a.T), "labels_ has shape"),
    "labels as text": (replace("labels_", lambda a: a.astype(str)), "labels_ holds values"),
    "a mode outside": (put("modes_", 0, 10**12), "modes_ points outside"),
    "modes exchanged": (replace("modes_", lambda a: a[::-1]), "modes_ is not in"),
    "a mode less": (replace("modes_", lambda a: a[:-1]), "modes_ does not have"),
    "no density": (put("density_", (0, 0), np.nan), "density_ holds"),
    "another density": (replace("density_", lambda a: a[::-1]), "is damaged"),
    "scores of another fit": (replace("mode_score_", lambda a: a + 1), "mode_score_ is not"),
    "coordinates at infinity": (put("coordinates_", (1, 1, 1), np.inf), "coordinates_ holds"),
    "a coordinate less": (replace("coordinates_", lambda a: a[..., 1:]), "coordinates_ has shape"),
    "a pixel less": (put("_mask", (0, 0), False), "is damaged"),
    "a mask of numbers": (replace("_mask", lambda a: a.astype(int)), "_mask is not"),
    "a flat mask": (replace("_mask", np.ravel), "has shape"),
    "a deep mask": (replace("_mask", lambda a: a[None]), "_mask is not"),
    "a band less": (replace("spectra", lambda a: a[:, 1:]), "spectra has shape"),
    "a spectrum of NaN": (put("spectra", (2, 2), np.nan), "spectra holds"),
    "no unit": (replace("spectra_unit", lambda a: a * 0), "spectra_unit is not above 0"),
    "an unknown scaling": (replace("scaling", lambda a: np.array("log")), "scaling is none of"),
    "scaling by band": (replace("scaling", lambda a: np.array("band")), "scaling_peak has shape"),
    "bands miscounted": (replace("n_features_in_", lambda a: a + 1), "n_features_in_ is not"),
    "an array too few": (without("labels_"), "lacks labels_"),
    "a method's name": (
        lambda header, arrays: arrays.update(fit=np.zeros(3)),
        "holds fit, which no model has",
    ),
    "an unknown parameter": (in_parameters(nope=1), "SRDL has no parameter nope"),
    "a wrong parameter": (in_parameters(sigma=-1), "sigma=-1"),
    "a parameter of lists": (in_parameters(n_clusters=[1, 2]), "n_clusters="),
    "parameters in a list": (in_header(parameters=[1]), "parameters are"),
    "no kind": (in_header(kind=None), "names no class"),
    "a kind of lists": (in_header(kind=["SRDL"]), "names no class"),
    "another kind": (in_header(kind="KMeans"), "holds a KMeans model"),
    "another format": (in_header(format=1), "format 1.*fit and save"),
    "a list for a header": (lambda header, arrays: [1, 2], "header is incomplete"),
    "half a header": (lambda header, arrays: {"format": 2}, "header is incomplete"),
}


class TestDamage:
    @pytest.mark.parametrize("name", DAMAGE)
    def test_content(self, path, tmp_path, name):
        change, message = DAMAGE[name]
        target = tampered(path, tmp_path / "bad.npz", change)
        with pytest.raises(FileError, match=rf"bad\.npz.*{message}") as caught:
            spectrawalk.load(target)
        assert "\n" not in str(caught.value)

    def test_untouched_content_loads(self, path, tmp_path):
        """Otherwise the tests above would show nothing."""
        spectrawalk.load(tampered(path, tmp_path / "good.npz", lambda header, arrays: None))

    def test_other_files(self, path, tmp_path):
        with pytest.raises(FileError, match="no model file"):
            SRDL.load(tmp_path / "none.npz")
        np.savez(tmp_path / "other.npz", a=np.ones(3))
        np.save(tmp_path / "array.npy", np.ones(3))
        np.savez(tmp_path / "object.npz", **{HEADER: np.array([{}], dtype=object)})
        (tmp_path / "text.npz").write_text("hello")
        whole = path.read_bytes()
        for length in (0, 10, len(whole) // 2, len(whole) - 5):
            (tmp_path / f"cut{length}.npz").write_bytes(whole[:length])
        files = sorted(tmp_path.iterdir())
        assert len(files) == 8
        for file in files:
            with pytest.raises(FileError, match=rf"{file.name}' is not a saved spectrawalk model"):
                SRDL.load(file)

    @pytest.mark.parametrize("content", [b"hello", b"a,b\n1,2\n", b"\x80\x04K\x01.", b"", b"PK"])
    def test_what_is_no_archive_at_all(self, tmp_path, content):
        """NumPy would advise to load it as a pickle, which can run code."""
        (tmp_path / "notes.txt").write_bytes(content)
        with pytest.raises(FileError) as caught:
            spectrawalk.load(tmp_path / "notes.txt")
        assert str(caught.value) == (
            f"'{tmp_path / 'notes.txt'}' is not a saved spectrawalk model: it is no .npz archive, "
            "or is cut short; give a file that a model was saved to, such as model.npz."
        )

    @pytest.mark.parametrize("name", ["radius", "time"])
    def test_models_of_the_automatic_mode(self, path, tmp_path, name):
        def change(header, arrays):
            arrays |= {"_runs": np.zeros((2, 168), "i2"), "_findings": np.array("{}")}
            return in_parameters(**{name: "auto"})(header, arrays)

        old = tampered(path, tmp_path / "old.npz", change)
        with pytest.raises(FileError, match=r"old\.npz' holds a model of the automatic mode, .*;"):
            spectrawalk.load(old)

    @pytest.mark.parametrize("where", ["bytes", "values"])
    def test_hundreds_of_damaged_files(self, path, tmp_path, where):
        """In a process of its own, where a crash is seen."""
        command = [sys.executable, "-W", "error::RuntimeWarning", "-c", FUZZ]
        done = subprocess.run(
            [*command, path, tmp_path / "x.npz", where],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outcomes = collections.Counter(done.stdout.split())
        assert set(outcomes) <= {"refused", "loaded"}
        assert outcomes["refused"] > 200


FUZZ = """
import pathlib, sys
import numpy as np
import spectrawalk
from spectrawalk.errors import FileError

whole = pathlib.Path(sys.argv[1]).read_bytes()
target = pathlib.Path(sys.argv[2])
rng = np.random.default_rng(0)
with np.load(sys.argv[1]) as file:
    arrays = {name: file[name] for name in file.files}

def flip_bytes():
    damaged = bytearray(whole)
    # Half of them in the directory at the end, where the archive says how to read itself.
    low = len(whole) - 2500 if rng.random() < 0.5 else 0
    for place in rng.integers(low, len(whole), rng.integers(1, 4)):
        damaged[place] ^= int(rng.integers(1, 256))
    target.write_bytes(damaged)

def change_values():
    name = rng.choice([name for name in arrays if arrays[name].dtype.kind in "bif"])
    damaged = arrays[name].copy()
    values = [-(2**31), -2, -1, 0, 1, 5, 2**31 - 1] if damaged.dtype.kind != "f" else [
        -1.0, 0.0, 1e-30, 1e30, np.nan, np.inf, -np.inf]
    for place in rng.integers(0, damaged.size, rng.integers(1, 4)):
        damaged.flat[place] = rng.choice(values)
    np.savez(target, **arrays | {name: damaged})

for _ in range(400):
    flip_bytes() if sys.argv[3] == "bytes" else change_values()
    try:
        model = spectrawalk.load(target)
    except FileError:
        print("refused")
    else:
        model.relabel(2)
        model.relabel("auto")
        model.predict(np.ones((2, 8)))
        print("loaded")
"""


def with_member(path, target, name, header, n_zeros):
    """Write the model to `target` with an array of so many bytes of zeros, in a small file."""
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for member in whole.infolist():
            if member.filename != f"{name}.npy":
                out.writestr(member, whole.read(member))
        with out.open(f"{name}.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(n_zeros >> 20):
                file.write(bytes(1 << 20))
    return target


LARGE = 192 << 20

SMALL_FILES_OF_LARGE_ARRAYS = {
    "an array of no model": ("more", "|u1", (LARGE,), "holds more, which no model has"),
    "too many spectra": ("spectra", "<f4", (LARGE // 32, 8), "spectra has shape"),
    "too large a mask": ("_mask", "|b1", (LARGE // 16, 16), "has shape"),
    "too large an image": ("labels_", "<i4", (LARGE // 64, 16), "labels_ has shape"),
    "a long text": (
        "feature_names_in_",
        f"<U{LARGE // 4 // 8}",
        (8,),
        "feature_names_in_ is a text of 201,326,592 bytes",
    ),
    "a long header": (HEADER, f"<U{LARGE // 4}", (), "spectrawalk_model is a text of 201"),
    "many names": ("feature_names_in_", f"<U{LARGE // 32}", (8,), "feature_names_in_ is a text of"),
    "less than declared": ("spectra", "<f4", (LARGE, 8), "declares"),
    "numbers beyond all": ("spectra", "<f4", (2**62, 8), "declares"),
}


class TestMemory:
    @pytest.mark.parametrize("name", SMALL_FILES_OF_LARGE_ARRAYS)
    def test_nothing_large_is_unpacked_before_it_is_refused(self, path, tmp_path, name):
        array, kind, shape, message = SMALL_FILES_OF_LARGE_ARRAYS[name]
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        target = with_member(path, tmp_path / "bad.npz", array, header, LARGE)
        assert target.stat().st_size < LARGE / 100
        tracemalloc.start()
        try:
            with pytest.raises(FileError, match=rf"bad\.npz.*{message}") as caught:
                spectrawalk.load(target)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < LARGE / 10
        assert "\n" not in str(caught.value)

    def test_more_than_there_is(self, path, monkeypatch):
        monkeypatch.setattr("spectrawalk.estimators.forecast.available_memory", lambda: 1000)
        with pytest.raises(MemoryShortageError, match=r"model\.npz' holds .* but only .* are free"):
            spectrawalk.load(path)
