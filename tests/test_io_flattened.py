"""MATLAB files that hold a cube as a table of bands x pixels, as the scenes for unmixing do."""

import numpy as np
import pytest
import scipy.io
from command_line import LOUD, assert_one_line_error, run
from product_files import BANDS, COLS, CUBE, ROWS, write_v5, write_v73

from spectrawalk import read_scene
from spectrawalk.errors import FileError

TABLE = CUBE.transpose(2, 1, 0).reshape(BANDS, -1)  # bands x pixels, the pixels down the columns
SIZES = {"nRow": np.float64(ROWS), "nCol": np.float64(COLS)}


@pytest.mark.parametrize("write", [write_v5, write_v73])
@pytest.mark.parametrize("names", [("V", "nRow", "nCol"), ("Y", "Lines", "Columns")])
def test_a_flattened_cube_is_read_the_right_way_up(tmp_path, write, names):
    table, rows, cols = names
    sizes = {rows: np.full((1, 1), ROWS), cols: np.full((1, 1), COLS)}
    scene = read_scene(write(tmp_path / "s.mat", **{table: TABLE}, **sizes))
    np.testing.assert_array_equal(scene.cube, CUBE)
    assert scene.cube.flags.c_contiguous
    assert scene.metadata["variable"] == table


def test_pixels_first_and_a_part(tmp_path):
    path = write_v5(tmp_path / "s.mat", X=TABLE.T, **SIZES)
    scene = read_scene(path, rows=slice(2, 6), cols=slice(1, 3), bands=[4, 0])
    np.testing.assert_array_equal(scene.cube, CUBE[2:6, 1:3][:, :, [4, 0]])
    assert scene.band_numbers.tolist() == [5, 1]


def test_the_number_of_bands_or_a_name_tells_tables_apart(tmp_path):
    shares = np.ones((3, ROWS * COLS))
    told = write_v5(tmp_path / "told.mat", V=TABLE, A=shares, nBand=float(BANDS), **SIZES)
    np.testing.assert_array_equal(read_scene(told).cube, CUBE)
    untold = write_v5(tmp_path / "untold.mat", V=TABLE, A=shares, **SIZES)
    with pytest.raises(FileError, match=r"more than one table of 35 pixels \(.*V 6x35"):
        read_scene(untold)
    np.testing.assert_array_equal(read_scene(untold, variable="V").cube, CUBE)


def test_what_beside_a_cube_must_not_change_it(tmp_path):
    path = write_v5(tmp_path / "s.mat", cube=CUBE, endmembers=np.ones((BANDS, 3)), **SIZES)
    np.testing.assert_array_equal(read_scene(path).cube, CUBE)


def test_sizes_that_do_not_fit_are_one_sentence(tmp_path):
    wrong = write_v5(tmp_path / "s.mat", V=TABLE, nRow=8.0, nCol=float(COLS))
    done = run("cluster", wrong, *LOUD, "-o", tmp_path / "out")
    err = done.stderr
    assert_one_line_error(done.exit_code, err)
    assert "8 rows and 5 columns, but holds V 6x35" in err
    assert "no table of 40 pixels" in err
    half = write_v5(tmp_path / "half.mat", V=TABLE, nRow=7.5, nCol=float(COLS))
    with pytest.raises(FileError, match=r"7\.5 rows and 5 columns"):
        read_scene(half)
    lost = write_v5(tmp_path / "lost.mat", V=TABLE, nRow=np.nan, nCol=np.inf)
    with pytest.raises(FileError, match="nan rows and inf columns"):
        read_scene(lost)
    with pytest.raises(FileError, match="do not give `bands_first`"):
        read_scene(write_v5(tmp_path / "f.mat", V=TABLE, **SIZES), bands_first=True)
    with pytest.raises(FileError, match="no variable 'W'"):
        read_scene(write_v5(tmp_path / "w.mat", V=TABLE, **SIZES), variable="W")


def test_a_command_on_a_flattened_file_gives_a_map_the_right_way_up(tmp_path):
    cube = np.full((20, 30, 5), [5.0, 4, 3, 2, 1])
    cube[:8] = cube[:8, :, ::-1]  # another material on top
    cube += np.random.default_rng(0).normal(0, 0.01, cube.shape)
    path = tmp_path / "s.mat"
    table = cube.transpose(2, 1, 0).reshape(5, -1)
    scipy.io.savemat(path, {"Y": table, "nRow": 20, "nCol": 30, "maxValue": 5})
    done = run("cluster", path, "-k", 2, *LOUD, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    labels = np.load(tmp_path / "out" / "labels.npy")
    np.testing.assert_array_equal(labels, np.where(np.arange(20)[:, None] < 8, 2, 1) * np.ones(30))


@pytest.mark.scene
def test_the_published_file_is_the_published_scene(samson):
    path = samson.metadata["file"]
    table = scipy.io.loadmat(path)["V"]
    scene = read_scene(path)
    assert scene.cube.shape == (95, 95, 156)
    for row, col in ((0, 0), (0, 94), (94, 0), (40, 7)):
        np.testing.assert_array_equal(scene.cube[row, col], table[:, 95 * col + row])
    np.testing.assert_array_equal(scene.cube, samson.cube)
