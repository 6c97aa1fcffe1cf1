"""Readers: the same scene from every format, and one clear sentence for every broken file."""

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from product_files import CUBE, write_v5, write_v73

from spectrawalk import read_scene
from spectrawalk.errors import FileError
from spectrawalk.io import read_array, read_ground_truth

TRUTH = np.random.default_rng(1).integers(0, 4, size=(7, 5)).astype(np.uint8)


def write_npy(path: Path, **arrays: np.ndarray) -> None:
    (array,) = arrays.values()
    np.save(path, array)


def write_fortran_npy(path: Path, **arrays: np.ndarray) -> None:
    (array,) = arrays.values()
    np.save(path, np.asfortranarray(array).astype(array.dtype.newbyteorder(">")))


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    np.savez_compressed(path, **arrays)


def write_v5_plain(path: Path, **arrays: np.ndarray) -> None:
    scipy.io.savemat(path, arrays)


WRITERS = {
    "npy": (write_npy, ".npy"),
    "npy-fortran-big-endian": (write_fortran_npy, ".npy"),
    "npz": (write_npz, ".npz"),
    "mat-v5": (write_v5, ".mat"),
    "mat-v5-uncompressed": (write_v5_plain, ".mat"),
    "mat-v7.3": (write_v73, ".mat"),
}
MATLAB_WRITERS = [write_v5, write_v73]


@pytest.fixture(params=WRITERS)
def writer(request):
    return WRITERS[request.param]


# Reading scenes


def test_every_format_gives_the_same_scene(tmp_path, writer):
    write, suffix = writer
    path = tmp_path / f"field{suffix}"
    write(path, cube=CUBE)
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.cube, CUBE)
    assert scene.cube.dtype == np.uint16
    assert scene.cube.dtype.isnative
    assert scene.cube.flags.c_contiguous
    assert scene.name == "field"
    assert scene.n_valid == 35
    assert scene.metadata["file"] == str(path)


def test_extension_may_be_in_capitals_and_path_a_string(tmp_path):
    write_npy(tmp_path / "field.npy", cube=CUBE)
    os.rename(tmp_path / "field.npy", tmp_path / "FIELD.NPY")
    assert read_scene(str(tmp_path / "FIELD.NPY")).shape == (7, 5)


@pytest.mark.parametrize("bad_value", [np.nan, np.inf, -np.inf])
def test_pixels_that_are_not_finite_or_all_zero_are_masked_and_counted(tmp_path, writer, bad_value):
    write, suffix = writer
    cube = CUBE.astype(np.float32)
    cube[2, 3, 4] = bad_value
    cube[0, :2] = 0
    cube[6, 4, 1:] = 0  # one band is left: a valid spectrum
    write(tmp_path / f"field{suffix}", cube=cube)
    scene = read_scene(tmp_path / f"field{suffix}")
    expected = np.ones((7, 5), dtype=bool)
    expected[2, 3] = expected[0, 0] = expected[0, 1] = False
    np.testing.assert_array_equal(scene.mask, expected)
    assert scene.metadata["masked_not_finite"] == 1
    assert scene.metadata["masked_all_zero"] == 2


def test_a_scene_without_a_usable_pixel_is_refused(tmp_path):
    np.save(tmp_path / "dark.npy", np.zeros((3, 3, 2)))
    with pytest.raises(FileError, match=r"dark\.npy' has no usable pixel: all 9"):
        read_scene(tmp_path / "dark.npy")


# Which variable


@pytest.mark.parametrize("write", MATLAB_WRITERS)
def test_the_only_cube_is_found_among_other_variables(tmp_path, write):
    write(tmp_path / "s.mat", wavelengths=np.arange(6.0)[np.newaxis], cube=CUBE, map=TRUTH)
    scene = read_scene(tmp_path / "s.mat")
    np.testing.assert_array_equal(scene.cube, CUBE)
    assert scene.metadata["variable"] == "cube"


@pytest.mark.parametrize("write", MATLAB_WRITERS)
def test_several_cubes_are_listed_and_one_can_be_chosen(tmp_path, write):
    path = tmp_path / "s.mat"
    write(path, raw=CUBE, corrected=CUBE[:, :, :4].astype(float), map=TRUTH)
    with pytest.raises(FileError) as caught:
        read_scene(path)
    message = str(caught.value)
    assert "raw 7x5x6 uint16" in message
    assert "corrected 7x5x4 double" in message
    assert "map" not in message
    assert "choose one with `variable`" in message
    np.testing.assert_array_equal(read_scene(path, variable="corrected").cube, CUBE[:, :, :4])


@pytest.mark.parametrize("write", MATLAB_WRITERS)
def test_no_cube_or_an_unknown_or_unfit_name_lists_what_is_there(tmp_path, write):
    path = tmp_path / "s.mat"
    write(path, gains=np.ones((1, 6)), map=TRUTH)
    with pytest.raises(FileError, match=r"no 3-D array.*gains 1x6 double, map 7x5 uint8"):
        read_scene(path)
    with pytest.raises(FileError, match=r"no variable 'cube'; it holds .*map 7x5 uint8"):
        read_scene(path, variable="cube")
    with pytest.raises(FileError, match=r"map 7x5 uint8 is not a 3-D array"):
        read_scene(path, variable="map")


def test_matlab_variables_that_are_not_numbers_are_no_candidates(tmp_path):
    cells = np.empty((2, 2, 2), dtype=object)
    cells[:] = "x"
    scipy.io.savemat(tmp_path / "s.mat", {"cells": cells, "cube": CUBE, "note": {"by": "me"}})
    np.testing.assert_array_equal(read_scene(tmp_path / "s.mat").cube, CUBE)


@pytest.mark.parametrize("write", [write_v5, write_v73])
def test_complex_numbers_are_refused(tmp_path, write):
    write(tmp_path / "s.mat", cube=CUBE + 1j)
    with pytest.raises(FileError, match=r"s\.mat.*(complex values|no 3-D array)"):
        read_scene(tmp_path / "s.mat")


def test_a_file_with_one_unnamed_array_has_no_variables(tmp_path):
    np.save(tmp_path / "s.npy", CUBE)
    with pytest.raises(FileError, match="one array without a name; do not give `variable`"):
        read_scene(tmp_path / "s.npy", variable="cube")


def test_v73_without_matlab_attributes_is_read_in_matlab_order(tmp_path):
    with h5py.File(tmp_path / "s.mat", "w") as file:
        file["cube"] = CUBE.T
    np.testing.assert_array_equal(read_scene(tmp_path / "s.mat").cube, CUBE)


def test_v73_text_and_structs_are_no_candidates(tmp_path):
    path = tmp_path / "s.mat"
    write_v73(path, cube=CUBE)
    with h5py.File(path, "a") as file:
        text = file.create_dataset("text", data=np.ones((2, 3, 4), dtype=np.uint16))
        text.attrs["MATLAB_class"] = np.bytes_("char")
        empty = file.create_dataset("empty", data=np.array([0, 0], dtype=np.uint64))
        empty.attrs["MATLAB_class"] = np.bytes_("double")
        empty.attrs["MATLAB_empty"] = np.uint8(1)
        file.create_group("info").attrs["MATLAB_class"] = np.bytes_("struct")
    np.testing.assert_array_equal(read_scene(path).cube, CUBE)
    with pytest.raises(FileError, match=r"empty 0x0 double, info scalar struct, text 4x3x2 char"):
        read_scene(path, variable="none")


def test_v73_that_declares_but_stores_nothing_is_refused(tmp_path):
    with h5py.File(tmp_path / "s.mat", "w") as file:
        file.create_dataset("cube", shape=(20, 10, 10), dtype="f8", chunks=True)
    with pytest.raises(FileError, match=r"s\.mat' declares /cube .* but stores no values"):
        read_scene(tmp_path / "s.mat")
    with h5py.File(tmp_path / "s.mat", "w") as file:
        file.create_dataset("cube", shape=(200, 100_000, 100_000), dtype="f8", chunks=True)
    with pytest.raises(FileError, match=r"s\.mat' .* declares [\d,]+ bytes of data"):
        read_scene(tmp_path / "s.mat")


# Files that are not what they should be


@pytest.mark.parametrize("read", [read_scene, read_ground_truth])
def test_paths_that_are_no_readable_file(tmp_path, read):
    with pytest.raises(FileError, match=r"gone\.npy' does not exist"):
        read(tmp_path / "gone.npy")
    (tmp_path / "folder.mat").mkdir()
    with pytest.raises(FileError, match=r"folder\.mat' is a folder"):
        read(tmp_path / "folder.mat")
    (tmp_path / "empty.mat").touch()
    with pytest.raises(FileError, match=r"empty\.mat' is empty \(0 bytes\)"):
        read(tmp_path / "empty.mat")
    (tmp_path / "scene.xyz").write_bytes(b"something")
    with pytest.raises(FileError, match=r"extension '\.xyz' .* end in \.npy, \.npz, \.nc"):
        read(tmp_path / "scene.xyz")
    (tmp_path / "scene").write_bytes(b"something")
    with pytest.raises(FileError, match=r"scene' has no extension"):
        read(tmp_path / "scene")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(FileError, match="device or a pipe"):
        read_scene(tmp_path / "pipe.npy")


def test_what_a_file_holds_decides_not_its_extension(tmp_path):
    np.save(tmp_path / "a.npy", CUBE)
    write_v73(tmp_path / "b.mat", cube=CUBE)
    for old, new in (("a.npy", "a.mat"), ("a.mat", "a"), ("b.mat", "b.npy")):
        os.rename(tmp_path / old, tmp_path / new)
        np.testing.assert_array_equal(read_scene(tmp_path / new).cube, CUBE)


@pytest.mark.parametrize("suffix", ["mat", "npy", "npz", "tif", "hdr", "nc", "he5"])
def test_a_file_that_is_not_what_its_extension_says(tmp_path, suffix):
    path = tmp_path / f"c.{suffix}"
    path.write_text("<html>Not found</html>" * 50)
    with pytest.raises(FileError, match=r"c\.\w+' is named .* get or write the file again"):
        read_scene(path)


@pytest.mark.parametrize("shape", [(), (7,), (7, 5), (2, 3, 4, 5), (0, 5, 6)])
def test_an_npy_that_is_no_cube(tmp_path, shape):
    np.save(tmp_path / "s.npy", np.ones(shape))
    with pytest.raises(FileError, match=r"s\.npy' holds no 3-D array \(rows, cols, bands\)"):
        read_scene(tmp_path / "s.npy")


class Trap:
    """Unpickling this would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_pickled_objects_are_refused_and_not_run(tmp_path, suffix):
    objects = np.array([[[Trap(tmp_path / "sprung")]]], dtype=object)
    (np.save if suffix == ".npy" else np.savez)(tmp_path / f"s{suffix}", objects)
    with pytest.raises(FileError, match="pickled Python objects"):
        read_scene(tmp_path / f"s{suffix}")
    assert not (tmp_path / "sprung").exists()


def test_structured_arrays_are_refused(tmp_path):
    np.save(tmp_path / "s.npy", np.zeros((2, 2, 2), dtype=[("a", "f4"), ("b", "f4")]))
    with pytest.raises(FileError, match="no 3-D array"):
        read_scene(tmp_path / "s.npy")
    with pytest.warns(UserWarning, match="format 3.0"):
        np.save(tmp_path / "t.npy", np.zeros((2, 2, 2), dtype=[("Ω", "f4")]))
    with pytest.raises(FileError, match=r"version 3\.0"):
        read_scene(tmp_path / "t.npy")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("shape", [(100_000, 100_000, 200), (2**40, 2**40, 2**40)])
def test_a_header_that_promises_too_much_allocates_nothing(tmp_path, suffix, shape):
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    data = buffer.getvalue() + bytes(800)
    path = tmp_path / f"s{suffix}"
    if suffix == ".npy":
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("cube.npy", data)
    with pytest.raises(FileError, match=r"declares \d+ bytes of data but 800 are there"):
        read_scene(path)


def test_trailing_bytes_are_not_overlooked(tmp_path):
    np.save(tmp_path / "s.npy", CUBE)
    with (tmp_path / "s.npy").open("ab") as file:
        np.save(file, CUBE)
    with pytest.raises(FileError, match=r"declares 420 bytes of data but \d+ are there"):
        read_scene(tmp_path / "s.npy")


def test_a_file_cut_anywhere_is_named_and_never_read_as_something_else(tmp_path, writer):
    write, suffix = writer
    write(tmp_path / f"whole{suffix}", cube=CUBE)
    content = (tmp_path / f"whole{suffix}").read_bytes()
    path = tmp_path / f"cut{suffix}"
    for length in sorted({*range(1, len(content), 1 + len(content) // 150), len(content) - 1}):
        path.write_bytes(content[:length])
        try:
            scene = read_scene(path)
        except FileError as error:
            assert f"cut{suffix}" in str(error)  # noqa: PT017 (cut padding may be harmless)
        else:
            np.testing.assert_array_equal(scene.cube, CUBE)
            assert length > 0.9 * len(content)


def version_5_bytes(order: str, value_type: int, compressed: bool) -> bytes:
    """Write a MATLAB file by hand: byte order and type code of the values as wanted."""

    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(f"{order}2I", kind, len(data)) + data + bytes(-len(data) % 8)

    matrix = (
        element(6, struct.pack(f"{order}2I", 11, 0))  # an array of class uint16
        + element(5, struct.pack(f"{order}3i", *CUBE.shape))
        + element(1, b"cube")
        + element(value_type, CUBE.astype(f"{order}u2").tobytes(order="F"))
    )
    matrix = element(14, matrix)
    if compressed:
        packed = zlib.compress(matrix)
        matrix = struct.pack(f"{order}2I", 15, len(packed)) + packed
    version = b"\x00\x01IM" if order == "<" else b"\x01\x00MI"
    return b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + version + matrix


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("compressed", [False, True])
def test_an_unknown_type_code_does_not_end_the_process(tmp_path, order, compressed):
    """SciPy alone would crash on it, without an exception."""
    path = tmp_path / "s.mat"
    path.write_bytes(version_5_bytes(order, 4, compressed))
    np.testing.assert_array_equal(read_scene(path).cube, CUBE)
    path.write_bytes(version_5_bytes(order, 0x8004, compressed))
    with pytest.raises(FileError, match=r"s\.mat' is damaged: .* cube .* unknown type 32772"):
        read_scene(path)


def test_tags_that_hide_the_type_code_do_not_end_the_process(tmp_path):
    """Two bytes are enough: one that hides the name from a careless look, one type code."""
    path = tmp_path / "s.mat"
    write_v5_plain(path, cube=CUBE)
    content = bytearray(path.read_bytes())
    content[138], content[184] = 105, 248
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"s\.mat' is damaged"):
        read_scene(path)


def test_damaged_bytes_never_raise_anything_but_a_file_error(tmp_path, writer):
    write, suffix = writer
    write(tmp_path / f"whole{suffix}", cube=CUBE)
    content = bytearray((tmp_path / f"whole{suffix}").read_bytes())
    rng = np.random.default_rng(3)
    path = tmp_path / f"damaged{suffix}"
    for _ in range(60):
        damaged = content.copy()
        for position in rng.integers(0, len(content), size=8):
            damaged[position] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read_scene(path)
        except FileError as error:
            assert f"damaged{suffix}" in str(error)  # noqa: PT017 (some damage is invisible)


# Ground truth


def test_every_format_gives_the_same_ground_truth(tmp_path, writer):
    write, suffix = writer
    write(tmp_path / f"gt{suffix}", gt=TRUTH.astype(float))
    truth = read_ground_truth(tmp_path / f"gt{suffix}")
    np.testing.assert_array_equal(truth, TRUTH)
    assert truth.dtype == np.int64


@pytest.mark.parametrize("write", MATLAB_WRITERS)
def test_the_map_is_found_among_scalars_vectors_and_fractions(tmp_path, write):
    path = tmp_path / "gt.mat"
    others = {"n": np.ones((1, 1)), "v": np.ones((1, 9)), "f": TRUTH + 0.5, "cube": CUBE}
    write(path, gt=TRUTH, **others)
    np.testing.assert_array_equal(read_ground_truth(path), TRUTH)
    write(path, **others)
    with pytest.raises(FileError, match=r"no 2-D array \(rows, cols\) of whole numbers.*f 7x5"):
        read_ground_truth(path)
    write(path, gt=TRUTH, other=TRUTH, f=TRUTH + 0.5)
    with pytest.raises(
        FileError, match=r"more than one .*\(gt 7x5 uint8, other 7x5 uint8\).*`variable`"
    ):
        read_ground_truth(path)
    np.testing.assert_array_equal(read_ground_truth(path, variable="other"), TRUTH)
    with pytest.raises(FileError, match="not whole numbers"):
        read_ground_truth(path, variable="f")
    with pytest.raises(FileError, match="no variable 'x'"):
        read_ground_truth(path, variable="x")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0, -1], [2, 1]]), "negative values .the least is -1"),
        (np.array([[0, np.nan], [2, 1]]), "no 2-D array"),
        (np.array([0, 1, 2]), "no 2-D array"),
        (CUBE, "no 2-D array"),
    ],
)
def test_arrays_that_are_no_ground_truth(tmp_path, array, message):
    np.save(tmp_path / "gt.npy", array)
    with pytest.raises(FileError, match=message):
        read_ground_truth(tmp_path / "gt.npy")


def test_read_array_gives_any_shape(tmp_path):
    write_v5(tmp_path / "s.mat", n=np.array([[95]]), cube=CUBE)
    assert read_array(tmp_path / "s.mat", "n").item() == 95
    with pytest.raises(FileError, match="no variable 'm'"):
        read_array(tmp_path / "s.mat", "m")


def test_nodata_value_masks(tmp_path):
    cube = np.arange(60.0).reshape(4, 5, 3) + 1
    cube[0] = -9999
    cube[1, 1, 2] = -9999
    np.save(tmp_path / "field.npy", cube)
    scene = read_scene(tmp_path / "field.npy", nodata=-9999)
    assert scene.n_valid == 14
    assert scene.metadata["masked_nodata"] == 6
    unmarked = read_scene(tmp_path / "field.npy")
    assert unmarked.n_valid == 20
    assert unmarked.metadata["constant_pixels"] == 5
    assert unmarked.metadata["constant_value"] == -9999


def test_bands_first(tmp_path):
    cube = np.arange(60.0).reshape(4, 5, 3) + 1
    np.save(tmp_path / "field.npy", np.moveaxis(cube, -1, 0))
    scene = read_scene(tmp_path / "field.npy", bands_first=True)
    np.testing.assert_array_equal(scene.cube, cube)


def test_a_band_without_any_value_is_bad_and_masks_no_pixel(tmp_path):
    cube = np.ones((4, 5, 3))
    cube[:, :, 1] = np.nan
    cube[2, 2, 0] = np.nan
    np.save(tmp_path / "field.npy", cube)
    scene = read_scene(tmp_path / "field.npy")
    assert scene.good_bands.tolist() == [True, False, True]
    assert scene.n_valid == 19
    np.save(tmp_path / "empty.npy", np.full((4, 5, 3), np.nan))
    with pytest.raises(FileError, match=r"empty\.npy' has no usable pixel"):
        read_scene(tmp_path / "empty.npy")
