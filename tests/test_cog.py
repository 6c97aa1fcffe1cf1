"""Cloud-optimised GeoTIFF files that are written block by block."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import warnings

import numpy as np
import pytest
import rasterio
from command_line import environment, run_python
from rasterio.errors import NotGeoreferencedWarning

from spectrawalk.errors import DataError, FileError
from spectrawalk.io import cog
from spectrawalk.io.cog import read_windows, write_cog
from spectrawalk.io.geotiff_map import labels_geotiff
from spectrawalk.results.cluster_map import ClusterMap

UTM = rasterio.CRS.from_epsg(32616).to_wkt()
DEGREES = rasterio.CRS.from_epsg(4326).to_wkt()
STRAIGHT = (30.0, 0.0, 500_010.0, 0.0, -30.0, 4_400_020.0)
ROTATED = (25.0, 12.0, 500_010.1, 12.0, -25.0, 4_400_020.0)


def an_image(shape, n_classes=5, dtype=np.uint8):
    return np.random.default_rng(0).integers(0, n_classes + 1, shape).astype(dtype)


def cut(image, size=256):
    rows, cols = image.shape
    return [
        (row, col, image[row : row + size, col : col + size])
        for row in range(0, rows, size)
        for col in range(0, cols, size)
    ]


def write(path, image, blocks=None, **options):
    options = {"nodata": 0, "name": "cluster", "crs": UTM, "transform": STRAIGHT} | options
    write_cog(path, cut(image) if blocks is None else blocks, image.shape, image.dtype, **options)


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(path, **options) as source:
            return source.read(1)


def cells(image):
    """The four pixels under each pixel of the first overview."""
    rows, cols = image.shape
    return image.reshape(rows // 2, 2, cols // 2, 2).swapaxes(1, 2).reshape(rows // 2, cols // 2, 4)


# What is in the file


@pytest.mark.parametrize(
    ("shape", "overviews"),
    [((1, 1), []), ((3, 5), []), ((512, 512), []), ((1000, 700), [2]), ((1, 3000), [2, 4, 8])],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float32])
def test_pixels_are_the_same_in_a_valid_file(here, shape, overviews, dtype):
    validate = pytest.importorskip("rio_cogeo.cogeo").cog_validate
    image = an_image(shape, dtype=dtype)
    write("map.tif", image)
    with rasterio.open("map.tif") as source:
        np.testing.assert_array_equal(source.read(1), image)
        assert source.dtypes == (np.dtype(dtype).name,)
        assert source.overviews(1) == overviews
        assert source.compression.name == "deflate"
        assert source.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert source.tags(ns="IMAGE_STRUCTURE").get("PREDICTOR") == (
            "3" if dtype == np.float32 else None
        )
    if overviews:
        with rasterio.open("map.tif", overview_level=0) as source:
            assert source.compression.name == "deflate"
            assert source.block_shapes == [(512, 512)]
    assert validate("map.tif", strict=True) == (True, [], [])
    assert os.listdir() == ["map.tif"]


@pytest.mark.parametrize("crs", [UTM, DEGREES, "EPSG:3035"])
@pytest.mark.parametrize("transform", [STRAIGHT, ROTATED])
def test_place_colors_and_names_are_those_of_a_map_from_memory(here, crs, transform):
    small = ClusterMap(an_image((20, 30)).astype(int) - 1, 5, crs, transform)
    with open("small.tif", "wb") as file:
        file.write(labels_geotiff(small))
    codes = enumerate(small.colors.tolist(), start=1)
    colors = {0: (0, 0, 0, 0)} | {code: (*color, 255) for code, color in codes}
    write("map.tif", small.codes, crs=crs, transform=transform, colors=colors)
    with rasterio.open("small.tif") as expected, rasterio.open("map.tif") as found:
        assert found.crs == expected.crs == rasterio.CRS.from_user_input(crs)
        assert tuple(found.transform)[:6] == transform
        assert found.descriptions == ("cluster",)
        assert found.nodata == 0
        assert found.colormap(1) == expected.colormap(1)
        assert found.colorinterp == expected.colorinterp
        assert found.tags() == expected.tags()
        assert found.tags(1) == expected.tags(1) == {}
        np.testing.assert_array_equal(found.read(1), expected.read(1))


def test_names_of_any_letters(here):
    os.mkdir("é & <ñ> 100% 'a'")
    write("é & <ñ> 100% 'a'/größe.tif", an_image((3, 5)), name="Größe <m²> & 'more'")
    with rasterio.open("é & <ñ> 100% 'a'/größe.tif") as source:
        assert source.descriptions == ("Größe <m²> & 'more'",)


def test_a_map_without_a_place_is_written_in_silence(here):
    image = an_image((3, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write("map.tif", image, crs=None, transform=None)
        [(_, _, found)] = read_windows("map.tif")
    np.testing.assert_array_equal(found, image)
    with pytest.warns(NotGeoreferencedWarning), rasterio.open("map.tif") as source:
        assert source.crs is None


def test_real_values_keep_their_holes(here):
    image = np.random.default_rng(0).random((600, 700), dtype=np.float32)
    image[100:300, 250:] = np.nan
    write("map.tif", image, nodata=np.nan, resampling="average")
    with rasterio.open("map.tif") as source:
        assert np.isnan(source.nodata)
        assert source.read(1).tobytes() == image.tobytes()


# Overviews


@pytest.mark.parametrize(
    "classes",
    [
        np.arange(6, dtype=np.uint8),
        np.array([0, 300, 65_535], dtype=np.uint16),
        np.array([0, 70_000, 2**23 - 1], dtype=np.uint32),
    ],
    ids=["uint8", "uint16", "uint32"],
)
def test_overviews_show_the_most_frequent_class(here, classes):
    image = classes[an_image((768, 1024), len(classes) - 1)]
    image[:100] = 0
    colors = dict.fromkeys(range(6), (1, 2, 3, 255)) if classes.dtype == np.uint8 else None
    write("map.tif", image, colors=colors)
    shown = read("map.tif", overview_level=0)
    below = cells(image)
    counts = {value: (below == value).sum(axis=2) for value in classes}
    most = np.max([counts[value] for value in classes[1:]], axis=0)  # no data do not count
    np.testing.assert_array_equal(shown == 0, most == 0)
    for value in classes[1:]:
        assert (counts[value] == most)[shown == value].all()
    assert np.isin(shown, classes).all()


def test_overviews_average_what_there_is(here):
    image = np.random.default_rng(0).random((768, 1024), dtype=np.float32)
    image[image < 0.5] = np.nan
    write("map.tif", image, nodata=np.nan, resampling="average")
    below = cells(image)
    here_is = np.isfinite(below)
    with np.errstate(invalid="ignore"):
        expected = np.where(here_is, below, 0).sum(axis=2) / here_is.sum(axis=2)
    np.testing.assert_allclose(read("map.tif", overview_level=0), expected, rtol=1e-6)


# Blocks


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_bytes_depend_on_the_image_alone(here, dtype):
    image = an_image((1000, 700), dtype=dtype)
    digests = set()
    orders = [cut(image, size) for size in (64, 100, 256, 1000)]
    orders += [order[::-1] for order in orders]
    orders.append([(row, 0, image[row : row + 37]) for row in range(0, 1000, 37)])
    orders.append(cut(np.asfortranarray(image).astype(np.dtype(dtype).newbyteorder(">"))))
    for number, blocks in enumerate(orders):
        os.mkdir(str(number))
        write(f"{number}/map.tif", image, iter(blocks))
        with open(f"{number}/map.tif", "rb") as file:
            digests.add(hashlib.sha256(file.read()).hexdigest())
    assert len(digests) == 1


def test_a_map_is_relabelled_window_by_window(here):
    image = an_image((600, 700))
    write("old.tif", image)
    table = np.array([0, 3, 3, 1, 2, 2], dtype=np.uint16)
    blocks = ((row, col, table[values]) for row, col, values in read_windows("old.tif", 200))
    write("new.tif", table[image], blocks)
    np.testing.assert_array_equal(read("new.tif"), table[image])
    # A file may be read while it is replaced.
    write("old.tif", image, ((r, c, values) for r, c, values in read_windows("old.tif")))
    np.testing.assert_array_equal(read("old.tif"), image)


def test_windows_are_read_and_leave_no_settings_behind(here):
    image = an_image((600, 700))
    write("map.tif", image, crs=None, transform=None)
    before = list(warnings.filters)
    windows = read_windows("map.tif", 512)
    assert [(r, c, v.shape) for r, c, v in windows] == [
        (0, 0, (512, 512)), (0, 512, (512, 188)), (512, 0, (88, 512)), (512, 512, (88, 188)),
    ]  # fmt: skip
    stopped = read_windows("map.tif")
    next(stopped)
    assert warnings.filters == before
    assert not rasterio.env.hasenv()
    stopped.close()
    with open("map.tif", "r+b") as file:
        file.truncate(os.path.getsize("map.tif") - 100)
    with pytest.raises(FileError, match=r"'map.tif' is damaged or cut short"):
        list(read_windows("map.tif"))


def test_blocks_that_do_not_fit_are_refused(here):
    image = an_image((30, 40))
    with pytest.raises(DataError, match=r"the blocks leave out 50 pixels of 'map.tif'"):
        write("map.tif", image, [(0, 0, image[:, :35]), (0, 35, image[:20, 35:])])
    for row, col in [(1, 0), (0, 1), (-1, 0), (0, -1)]:
        with pytest.raises(
            DataError, match=rf"row {row} and column {col} lies outside the 30 x 40"
        ):
            write("map.tif", image, [(row, col, image)])
    with pytest.raises(TypeError, match="Cannot cast"):
        write("map.tif", image, [(0, 0, image.astype(int))])  # it might not fit
    with pytest.raises(DataError, match=r"'map.tif' cannot hold complex64 values"):
        write("map.tif", image.astype(np.complex64))
    assert os.listdir() == []


# What can go wrong


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError])
def test_an_error_of_a_block_is_not_ours_and_leaves_the_old_file(here, error):
    image = an_image((600, 700))
    write("map.tif", image)

    def blocks():
        yield 0, 0, image[:300]
        assert len(os.listdir()) == 2
        assert all(name == "map.tif" or name.startswith(".spectrawalk-") for name in os.listdir())
        raise error("of the block")

    with pytest.raises(error, match=r"^of the block$"):
        write("map.tif", image, blocks())
    assert os.listdir() == ["map.tif"]
    np.testing.assert_array_equal(read("map.tif"), image)


def test_files_of_gdal_that_lie_there_are_neither_read_nor_touched(here):
    for name in ("map.tif.aux.xml", "map.tif.ovr", "map.tif.msk"):
        with open(name, "w") as file:
            file.write("not of this map")
    write("map.tif", an_image((600, 700)))
    assert sorted(os.listdir()) == ["map.tif", "map.tif.aux.xml", "map.tif.msk", "map.tif.ovr"]
    for name in ("map.tif.aux.xml", "map.tif.ovr", "map.tif.msk"):
        with open(name) as file:
            assert file.read() == "not of this map"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_file_has_the_permissions_of_any_other(here):
    write("map.tif", an_image((3, 5)))
    with open("other", "w"):
        pass
    assert stat.S_IMODE(os.stat("map.tif").st_mode) == stat.S_IMODE(os.stat("other").st_mode)


def cut_short(source, made, **options):
    with open(made, "r+b") as file:
        file.truncate(os.path.getsize(made) - 10)


def lose_a_tile(source, made, **options):
    with rasterio.open(made, "r+", IGNORE_COG_LAYOUT_BREAK="YES") as target:
        target.write(np.zeros((100, 100), dtype=np.uint8), 1, window=((0, 100), (600, 700)))


def fail(source, made, **options):
    raise SystemError("Unknown GDAL Error")


@pytest.mark.parametrize("fault", [cut_short, lose_a_tile, fail])
def test_what_gdal_says_nothing_about_is_found(here, monkeypatch, fault):
    import rasterio.shutil

    copy = rasterio.shutil.copy
    monkeypatch.setattr(
        rasterio.shutil, "copy", lambda *args, **kw: (copy(*args, **kw), fault(*args, **kw))
    )
    with pytest.raises(FileError) as caught:
        write("map.tif", an_image((1000, 700)), called="field.tif")
    assert str(caught.value) == (
        "'field.tif' cannot be written: only a part of it could be written; "
        "choose another folder or file name, or make room."
    )
    assert os.listdir() == []


FULL = """
import resource, signal, sys
import numpy as np
from spectrawalk.errors import FileError
from spectrawalk.io import cog

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
image = np.random.default_rng(0).integers(0, 256, (1000, 700), dtype=np.uint8)
if sys.argv[1] == "unchecked":  # as if others filled the disk after it was looked at
    cog._check_room = lambda *args: None
for limit in map(int, sys.argv[2:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        cog.write_cog("map.tif", [(0, 0, image)], image.shape, "u1", nodata=0, name="cluster")
    except FileError as error:
        assert "'map.tif' cannot be written: " in str(error), error
        continue
    raise SystemExit(f"cut at {limit} bytes, and nothing said")
"""


@pytest.mark.parametrize("checked", ["checked", "unchecked"])
def test_a_file_that_may_not_grow(here, checked):
    image = np.random.default_rng(0).integers(0, 256, (1000, 700), dtype=np.uint8)
    write("whole.tif", image, crs=None, transform=None)
    whole = os.path.getsize("whole.tif")
    os.remove("whole.tif")
    limits = [0, 1000, 20_000, *range(image.size - 5000, whole, 20_011), *range(whole - 10, whole)]
    done = subprocess.run(
        [sys.executable, "-c", FULL, checked, *map(str, limits)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(watched=False),
    )
    assert done.returncode == 0, done.stderr
    # Libtiff prints by itself; only the look at the disk beforehand can keep it from that.
    assert checked == "unchecked" or done.stderr == ""
    assert os.listdir() == []


def test_a_disk_that_is_really_full(here):
    """File systems of a few megabytes in memory, where the system lets us make them."""
    os.mkdir("small")
    mount = "mount -t tmpfs -o size={} tmpfs small"
    unshare = ["unshare", "-m", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, mount.format("1m")], capture_output=True).returncode
    ):
        pytest.skip("this system does not let us mount a file system")
    code = (
        "import numpy as np; from spectrawalk.io.cog import write_cog; "
        "image = np.random.default_rng(0).integers(0, 256, (1000, 700), dtype=np.uint8); "
        "write_cog('small/map.tif', [(0, 0, image)], image.shape, 'u1', nodata=0, name='cluster')"
    )
    for size, files in (("256k", ""), ("2m", ""), ("4m", "map.tif\n")):
        done = subprocess.run(
            [*unshare, f'{mount.format(size)} && {sys.executable} -c "{code}"; ls -A small'],
            capture_output=True,
            text=True,
            check=False,
            env=environment(watched=False),
        )
        assert done.stdout == files, done.stderr
        if not files:
            assert "FileError: 'small/map.tif' cannot be written: No space left" in done.stderr
            assert "_tiff" not in done.stderr


def test_a_folder_that_is_not_there(here):
    with pytest.raises(FileError, match=r"'nowhere/map.tif' cannot be written: No such file"):
        write("nowhere/map.tif", an_image((3, 5)))


# Memory

MEMORY = """
import numpy as np
from spectrawalk.io.cog import read_windows, write_cog

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024

def blocks(size=250):
    rng = np.random.default_rng(0)
    for row in range(0, 8000, size):
        for col in range(0, 8000, size):
            yield row, col, rng.integers(1, 200, (size, size), dtype=np.uint8)

def write(path, blocks):
    write_cog(path, blocks, shape, np.uint8, nodata=0, name="cluster")

shape = (1, 1)
write("small.tif", [(0, 0, np.ones(shape, dtype=np.uint8))])
before = peak()
shape = (8000, 8000)
write("map.tif", blocks())
write("again.tif", read_windows("map.tif"))
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_memory_does_not_grow_with_the_image(here):
    done = run_python(MEMORY, watched=False)
    assert done.returncode == 0, done.stderr
    # The image takes 64 MB and GDAL's cache is bounded by 128; twice the image would be more.
    assert float(done.stdout) < 300


def test_gdal_works_in_little_memory(here):
    """GDAL takes a number below 100,000 for megabytes, and rasterio for bytes."""
    with cog._gdal():
        assert rasterio.env.get_gdal_config("GDAL_CACHEMAX") == 128 * 2**20
