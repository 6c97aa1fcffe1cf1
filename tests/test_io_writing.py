"""Writers: whole files or none, labels as files have them."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from spectrawalk.errors import DataError, FileError, ParameterError
from spectrawalk.io import atomic_path, write_labels_npy, write_labels_png

# Atomic writing


def write_half(target: Path, failure: type[BaseException]) -> None:
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        raise failure


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_atomic_path_leaves_nothing_after_a_failure(tmp_path, failure):
    target = tmp_path / "out.txt"
    with pytest.raises(failure):
        write_half(target, failure)
    assert os.listdir(tmp_path) == []
    target.write_text("old")
    with pytest.raises(failure):
        write_half(target, failure)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_full_disk_is_a_file_error(tmp_path):
    def fill_the_disk() -> None:
        with atomic_path(tmp_path / "out.txt"):
            raise OSError(28, os.strerror(28))

    with pytest.raises(FileError, match=r"out\.txt' cannot be written: No space left"):
        fill_the_disk()
    assert os.listdir(tmp_path) == []


def test_atomic_path_replaces_at_the_end(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with atomic_path(target) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_atomic_path_gives_ordinary_permissions(tmp_path):
    (tmp_path / "ordinary").touch()
    with atomic_path(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_atomic_path_writes_through_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_path(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_atomic_path_refuses_what_it_cannot_write(tmp_path):
    with pytest.raises(FileError, match=r"no folder .*missing'; create it"):
        atomic_path(tmp_path / "missing" / "a.npy").__enter__()
    with pytest.raises(FileError, match="it is a folder"):
        atomic_path(tmp_path).__enter__()
    with pytest.raises(FileError, match=r"cannot be written: File name too long"):
        atomic_path(tmp_path / f"a.{'x' * 252}").__enter__()


@pytest.mark.skipif(sys.platform != "linux", reason="needs folders of the Linux kernel")
def test_atomic_path_in_a_folder_that_takes_no_files():
    with pytest.raises(FileError, match=r"'/proc/out\.npy' cannot be written"):
        atomic_path("/proc/out.npy").__enter__()
    with pytest.raises(FileError, match="device or a pipe"):
        atomic_path("/dev/null").__enter__()
    assert not Path("/dev/null").is_file()


# Writing labels


@pytest.mark.parametrize(
    ("highest", "dtype"), [(3, np.uint8), (254, np.uint8), (255, np.uint16), (70000, np.uint32)]
)
def test_labels_in_npy_count_from_one_in_the_smallest_type(tmp_path, highest, dtype):
    labels = np.array([[0, -1], [highest, 1]])
    write_labels_npy(tmp_path / "labels.npy", labels)
    written = np.load(tmp_path / "labels.npy")
    assert written.dtype == dtype
    np.testing.assert_array_equal(written, labels + 1)


def test_labels_keep_the_name_that_was_asked_for(tmp_path):
    write_labels_npy(tmp_path / "labels", np.zeros((2, 2), dtype=np.int8))
    assert os.listdir(tmp_path) == ["labels"]


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 40, 255])
def test_png_is_indexed_pixel_exact_and_transparent_where_masked(tmp_path, n_clusters):
    rng = np.random.default_rng(n_clusters)
    colors = rng.integers(0, 256, size=(n_clusters, 3)).astype(np.uint8)
    labels = rng.integers(-1, n_clusters, size=(13, 9))
    labels[0, 0], labels[1, 1] = -1, n_clusters - 1
    write_labels_png(tmp_path / "map.png", labels, colors)
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.mode == "P"
        assert picture.size == (9, 13)
        np.testing.assert_array_equal(np.asarray(picture), labels + 1)
        pixels = np.asarray(picture.convert("RGBA"))
    masked = labels < 0
    np.testing.assert_array_equal(pixels[..., 3], np.where(masked, 0, 255))
    np.testing.assert_array_equal(pixels[~masked, :3], colors[labels[~masked]])


def test_png_refuses_what_it_cannot_show(tmp_path):
    path, red = tmp_path / "map.png", np.array([[255, 0, 0]], dtype=np.uint8)
    labels = np.zeros((3, 3), dtype=int)
    with pytest.raises(ParameterError, match="1 rows for 2 clusters"):
        write_labels_png(path, labels + 1, red)
    with pytest.raises(ParameterError, match="256 rows"):
        write_labels_png(path, labels, np.repeat(red, 256, axis=0))
    with pytest.raises(ParameterError, match="shape"):
        write_labels_png(path, labels, red[0])
    with pytest.raises(ParameterError, match="whole numbers from 0 to 255"):
        write_labels_png(path, labels, red / 255)
    with pytest.raises(DataError, match=r"shape \(9,\)"):
        write_labels_png(path, labels.ravel(), red)
    for bad in (labels - 2, labels + 0.5):
        with pytest.raises(DataError, match="must be integers"):
            write_labels_png(path, bad, red)
    assert os.listdir(tmp_path) == []
