"""Scenes written in other formats: what comes back is what went in."""

import os

import numpy as np
import pytest
import rasterio
import spectral.io.envi as spy
from command_line import run
from product_files import CUBE, EPSG, FWHM, TRANSFORM, WAVELENGTHS, write_emit

from spectrawalk import Scene, read_scene
from spectrawalk.errors import DataError, FileError
from spectrawalk.io.scene_writers import write_scene
from spectrawalk.scene.georeference import parse_map_info, write_map_info

MASK = np.ones(CUBE.shape[:2], dtype=bool)
MASK[1, 2] = MASK[4, 4] = False
UTM = rasterio.CRS.from_epsg(EPSG)
FORMATS = [".tif", ".hdr", ".img", ".zarr", ".mat", ".npy"]


def full_scene(dtype=np.uint16, **fields) -> Scene:
    known = {
        "mask": MASK,
        "name": "s",
        "wavelengths": WAVELENGTHS,
        "fwhm": FWHM,
        "good_bands": [True, False, True, True, True, True],
        "band_names": [f"B{band}" for band in range(6)],
        "crs": UTM.to_wkt(),
        "transform": TRANSFORM,
    }
    return Scene(CUBE.astype(dtype), **(known | fields))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.float32, np.float64])
def test_a_scene_comes_back(tmp_path, suffix, dtype):
    scene = full_scene(dtype)
    if dtype == np.uint8:
        scene = full_scene(dtype, mask=None)
    write_scene(tmp_path / f"s{suffix}", scene)
    back = read_scene(tmp_path / f"s{suffix}", **({"variable": "cube"} if suffix == ".mat" else {}))
    np.testing.assert_array_equal(back.mask, scene.mask)
    np.testing.assert_array_equal(back.cube[back.mask], scene.cube[scene.mask])
    assert back.cube.dtype == dtype
    if suffix in (".npy", ".mat"):
        return
    np.testing.assert_allclose(back.wavelengths, WAVELENGTHS)
    np.testing.assert_allclose(back.fwhm, FWHM)
    assert back.good_bands.tolist() == scene.good_bands.tolist()
    assert back.band_names == scene.band_names
    assert back.transform == TRANSFORM
    assert rasterio.CRS.from_wkt(back.crs) == UTM


def test_other_programs_read_them_too(tmp_path):
    write_scene(tmp_path / "s.hdr", full_scene())
    image = spy.open(str(tmp_path / "s.hdr"))
    np.testing.assert_array_equal(np.asarray(image.open_memmap())[MASK], CUBE[MASK])
    np.testing.assert_allclose(image.bands.centers, WAVELENGTHS)
    with rasterio.open(tmp_path / "s.img") as other:
        assert other.crs == UTM
        assert tuple(other.transform)[:6] == TRANSFORM
    write_scene(tmp_path / "s.tif", full_scene())
    with rasterio.open(tmp_path / "s.tif") as other:
        np.testing.assert_array_equal(np.moveaxis(other.read(), 0, -1)[MASK], CUBE[MASK])
        np.testing.assert_array_equal(other.read_masks(1) > 0, MASK)
        assert float(other.tags(2, ns="IMAGERY")["CENTRAL_WAVELENGTH_UM"]) == 0.55


def test_an_emit_scene_is_laid_out_on_its_map(tmp_path):
    scene = read_scene(write_emit(tmp_path / "e.nc"))
    write_scene(tmp_path / "e.tif", scene)
    back = read_scene(tmp_path / "e.tif")
    assert back.shape == (8, 6)
    np.testing.assert_array_equal(back.cube[1:, 1:], scene.cube[::-1])
    assert not back.mask[0].any()
    assert back.mask[1:, 1:].all()
    assert back.transform == scene.orthorectify.transform


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path):
    for suffix in FORMATS:
        path = tmp_path / f"s{suffix}"
        write_scene(path, full_scene(), overwrite=True)
        with pytest.raises(FileError, match=r"exists; give another name, or set `overwrite`"):
            write_scene(path, full_scene())
        write_scene(path, full_scene(mask=None), overwrite=True)
        assert not [each for each in os.listdir(tmp_path) if each.startswith(".spectrawalk")]


@pytest.mark.parametrize("suffix", FORMATS)
def test_nothing_is_left_of_a_write_that_fails(tmp_path, monkeypatch, suffix):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FileError, match="cannot be written: No space left"):
        write_scene(tmp_path / f"s{suffix}", full_scene())
    assert os.listdir(tmp_path) == []


def test_targets_that_make_no_sense(tmp_path):
    with pytest.raises(FileError, match=r"s\.doc' cannot be written: .* end in \.tif"):
        write_scene(tmp_path / "s.doc", full_scene())
    with pytest.raises(FileError, match="there is no folder"):
        write_scene(tmp_path / "gone" / "s.tif", full_scene())


def test_a_value_for_no_data_must_be_free(tmp_path):
    cube = CUBE.copy()
    cube[0, 0] = 0
    scene = full_scene(mask=MASK)
    write_scene(tmp_path / "a.tif", Scene(cube, mask=MASK))  # 0 is taken, so the largest value is
    with rasterio.open(tmp_path / "a.tif") as other:
        assert other.nodata == 65535
    cube[0, 1] = 65535
    with pytest.raises(DataError, match="no value is left to mark them with"):
        write_scene(tmp_path / "b.tif", Scene(cube, mask=MASK))
    assert scene.cube[1, 2, 0] == CUBE[1, 2, 0]  # writing does not change the scene


@pytest.mark.parametrize("angle", [0.0, 12.5, -100.0])
def test_map_info_and_back(angle):
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    transform = (30 * cosine, 20 * sine, 5e5, 30 * sine, -20 * cosine, 4e6)
    fields = write_map_info(transform, UTM.to_wkt())
    back, crs = parse_map_info(fields["map info"].strip("{}").split(", "))
    np.testing.assert_allclose(back, transform, rtol=1e-12, atol=1e-9)
    assert rasterio.CRS.from_wkt(crs) == UTM


@pytest.mark.parametrize("transform", [(30, 0, 0, 0, 30, 0), (30, 10, 0, 0, -30, 0)])
def test_a_transform_that_envi_cannot_express(tmp_path, transform):
    with pytest.raises(DataError, match="mirrors or shears"):
        write_scene(tmp_path / "s.hdr", full_scene(transform=transform))


class TestLinksThatLeadNowhere:
    @pytest.mark.parametrize("suffix", FORMATS)
    @pytest.mark.parametrize("folder", ["", "gone/"])
    @pytest.mark.parametrize("overwrite", [False, True])
    def test_as_a_file(self, here, suffix, folder, overwrite):
        os.symlink(f"{folder}missing{suffix}", f"s{suffix}")
        with pytest.raises(FileError) as caught:
            write_scene(f"s{suffix}", full_scene(), overwrite=overwrite)
        assert str(caught.value) == (
            f"'s{suffix}' is a symbolic link to '{folder}missing{suffix}', which does not exist; "
            "remove the link, or create what it leads to, or give another name."
        )
        assert os.listdir() == [f"s{suffix}"]

    def test_as_the_folder_of_a_file(self, here):
        os.symlink("missing", "out")
        with pytest.raises(FileError, match="'out' is a symbolic link to 'missing', which does"):
            write_scene("out/s.tif", full_scene())

    def test_a_link_that_leads_to_itself(self, here):
        os.symlink("s.tif", "s.tif")
        with pytest.raises(FileError, match=r"'s\.tif' is a symbolic link to 's\.tif', which does"):
            write_scene("s.tif", full_scene())

    def test_a_link_to_a_file_is_followed(self, here):
        write_scene("real.tif", full_scene())
        os.symlink("real.tif", "s.tif")
        write_scene("s.tif", full_scene(np.float32), overwrite=True)
        assert os.path.islink("s.tif")
        assert read_scene("real.tif").cube.dtype == np.float32

    @pytest.mark.parametrize("folder", ["out", "out/deeper"])
    def test_as_the_folder_of_a_run(self, here, folder):
        np.save("field.npy", CUBE)
        os.symlink("missing", "out")
        result = run("cluster", "field.npy", "-k", 2, "-o", folder)
        assert result.exit_code == 2
        assert result.stderr == (
            "Error: 'out' is a symbolic link to 'missing', which does not exist; remove the link, "
            "or create what it leads to, or give another name.\n"
        )
