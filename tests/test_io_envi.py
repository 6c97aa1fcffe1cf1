"""The reader of ENVI files, against files that another library wrote."""

import numpy as np
import pytest
import rasterio
from click.testing import CliRunner
from product_files import (
    COLS,
    CUBE,
    FWHM,
    ROWS,
    TRANSFORM,
    WAVELENGTHS,
    same_crs,
    write_envi,
)

from spectrawalk import read_scene
from spectrawalk.cli import main
from spectrawalk.errors import FileError
from spectrawalk.io import read_ground_truth
from spectrawalk.scene.georeference import crs_name, parse_map_info

ENVI_TYPES = ["u1", "i2", "i4", "f4", "f8", "u2", "u4", "i8", "u8"]


@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
@pytest.mark.parametrize("dtype", ENVI_TYPES)
@pytest.mark.parametrize("byte_order", [0, 1])
def test_envi_as_spy_writes_it(tmp_path, interleave, dtype, byte_order):
    cube = CUBE.astype(dtype)
    header = write_envi(tmp_path / "s.img", cube, interleave, byte_order)
    for path in (header, tmp_path / "s.img"):
        scene = read_scene(path)
        np.testing.assert_array_equal(scene.cube, cube)
        assert scene.cube.dtype == np.dtype(dtype)
        assert scene.cube.dtype.isnative


def test_envi_says_all_it_knows(tmp_path):
    header = write_envi(
        tmp_path / "s.dat",
        wavelength=[f"{each / 1000:.5f}" for each in WAVELENGTHS],
        fwhm=[f"{each / 1000:.5f}" for each in FWHM],
        wavelength_units="Micrometers",
        bbl=[1, 1, 0, 1, 1, 0],
        band_names=[f"B{band}" for band in range(6)],
        map_info="{UTM, 1, 1, 500000, 4000000, 30, 30, 33, North, WGS-84, units=Meters}",
        data_ignore_value=int(CUBE[3, 3, 0]),
        reflectance_scale_factor=10000,
    )
    scene = read_scene(header)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    np.testing.assert_allclose(scene.fwhm, FWHM)
    assert scene.good_bands.tolist() == [True, True, False, True, True, False]
    assert scene.band_names == ("B0", "B1", "B2", "B3", "B4", "B5")
    assert scene.transform == TRANSFORM
    assert same_crs(scene.crs)
    assert not scene.mask[3, 3]
    assert scene.metadata["reflectance_scale_factor"] == 10000
    np.testing.assert_array_equal(scene.cube, CUBE)
    assert read_scene(header, nodata=np.nan).mask.all()
    with rasterio.open(tmp_path / "s.dat") as other:  # GDAL is of the same opinion
        assert tuple(other.transform)[:6] == scene.transform
        assert other.crs == rasterio.CRS.from_wkt(scene.crs)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("Nanometers", 1), ("nm", 1), ("Micrometers", 1000), ("um", 1000), ("Unknown", 1), ("", 1)],
)
def test_envi_units_of_wavelengths(tmp_path, unit, factor):
    values = [f"{each / factor}" for each in WAVELENGTHS]
    fields = {"wavelength_units": unit} if unit else {}
    scene = read_scene(write_envi(tmp_path / "s.img", wavelength=values, **fields))
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)


def test_envi_wavelengths_of_unknown_unit_are_guessed_by_their_size(tmp_path):
    values = [f"{each / 1000}" for each in WAVELENGTHS]
    header = write_envi(tmp_path / "s.img", wavelength=values, wavelength_units="Unknown")
    np.testing.assert_allclose(read_scene(header).wavelengths, WAVELENGTHS)


def test_envi_header_offset_and_names_of_files(tmp_path):
    header = write_envi(tmp_path / "s.img", interleave="bil")
    binary = (tmp_path / "s.img").read_bytes()
    text = header.read_text().replace("header offset = 0", "header offset = 100")
    header.unlink()
    (tmp_path / "s.img").unlink()
    (tmp_path / "s").write_bytes(bytes(100) + binary)
    (tmp_path / "s.hdr").write_text(text)
    (tmp_path / "t.raw").write_bytes(bytes(100) + binary)
    (tmp_path / "t.raw.hdr").write_text(text)
    (tmp_path / "t.txt").write_text("not the binary")
    for name in ("s", "s.hdr", "t.raw", "t.raw.hdr"):
        np.testing.assert_array_equal(read_scene(tmp_path / name).cube, CUBE)


@pytest.mark.parametrize("angle", [0, 30, -47.5, 90])
def test_envi_rotation_as_gdal_reads_it(tmp_path, angle):
    info = f"{{UTM, 1, 1, 500000, 4000000, 30, 30, 33, North, WGS-84, rotation={angle}}}"
    scene = read_scene(write_envi(tmp_path / "s.img", map_info=info))
    with rasterio.open(tmp_path / "s.img") as other:
        np.testing.assert_allclose(scene.transform, tuple(other.transform)[:6], atol=1e-6)


def test_envi_tie_point_stays_where_it_is_when_turned():
    info = "UTM, 3.5, 2, 500000, 4000000, 30, 20, 33, South, WGS-84, rotation=30"
    (a, b, c, d, e, f), crs = parse_map_info(info.split(", "))
    assert a * 2.5 + b * 1 + c == pytest.approx(500_000)
    assert d * 2.5 + e * 1 + f == pytest.approx(4_000_000)
    assert np.hypot(a, d) == pytest.approx(30)
    assert np.hypot(b, e) == pytest.approx(20)
    assert a * b + d * e == pytest.approx(0)
    assert same_crs(crs, rasterio.CRS.from_epsg(32733))


def test_envi_coordinate_system_string_goes_before_map_info(tmp_path):
    wkt = rasterio.CRS.from_epsg(3035).to_wkt(version="WKT1_ESRI")
    header = write_envi(tmp_path / "s.img", map_info="{Arbitrary, 1, 1, 0, 0, 30, 30}")
    with header.open("a") as file:
        file.write(f"coordinate system string = {{{wkt}}}\n")
    assert "LAEA" in read_scene(header).crs.upper()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("samples = 5", "samples = 500000000000", r"has 420 bytes .* declares"),
        ("bands = 6", "bands = 5", r"has 420 bytes .* declares 350"),
        ("bands = 6", "bands = -6", r"'bands = -6', where a whole number of at least 1"),
        ("bands = 6", "", r"has no 'bands'"),
        ("bands = 6", "bands = " + "9" * 5000, r"where a whole number"),
        ("data type = 12", "data type = 6", "complex values"),
        ("data type = 12", "data type = 7", "'data type = 7', where one of"),
        ("interleave = bip", "interleave = bop", "'interleave = bop', where bsq, bil or bip"),
        ("byte order = 0", "byte order = 2", "byte order"),
        ("byte order = 0", "wavelength = {1, 2}", "lists 2 values of 'wavelength' for 6 bands"),
        ("byte order = 0", "bbl = {1, x}", "'bbl = {1, x}', where a list of numbers"),
        ("byte order = 0", "file compression = 1", "compressed"),
        ("byte order = 0", "file type = ENVI Spectral Library", "spectral library"),
    ],
)
def test_envi_headers_that_lie(tmp_path, old, new, message):
    header = write_envi(tmp_path / "s.img")
    text = header.read_text()
    assert old in text
    header.write_text(text.replace(old, new))
    with pytest.raises(FileError, match=message):
        read_scene(header)


def test_envi_pairs_that_are_none(tmp_path):
    header = write_envi(tmp_path / "s.img")
    (tmp_path / "s.img").rename(tmp_path / "other.img")
    with pytest.raises(FileError, match=r"s\.hdr' is a header without its binary file"):
        read_scene(header)
    with pytest.raises(FileError, match=r"there is no 'other\.hdr' beside it"):
        read_scene(tmp_path / "other.img")
    with pytest.raises(FileError, match="do not give `variable`"):
        read_scene(write_envi(tmp_path / "t.img"), variable="x")


def test_envi_classification_is_ground_truth(tmp_path):
    classes = np.arange(35, dtype=np.uint8).reshape(ROWS, COLS)
    header = write_envi(tmp_path / "gt.img", classes[:, :, np.newaxis], "bsq")
    np.testing.assert_array_equal(read_ground_truth(header), classes)
    with pytest.raises(FileError, match="has 6 bands where a single one is needed"):
        read_ground_truth(write_envi(tmp_path / "cube.img"))


@pytest.mark.scene
def test_a_file_that_the_makers_of_a_sensor_wrote(aviris_ng_file):
    """AVIRIS-NG: a rotated map, bands called bad, and a value for no data that no field names."""
    scene = read_scene(aviris_ng_file)
    assert scene.cube.shape == (10, 10, 432)
    assert scene.cube.dtype == np.float32
    assert scene.metadata["constant_pixels"] == 60
    assert scene.metadata["constant_value"] == pytest.approx(-0.005)
    np.testing.assert_allclose(scene.wavelengths[[0, -1]], [346.29958, 2505.03637])
    assert scene.fwhm.shape == scene.good_bands.shape == (432,)
    assert 0 < np.count_nonzero(~scene.good_bands) < 200
    assert crs_name(scene.crs) == "WGS 84 / UTM zone 12N"
    a, b, _, d, e, _ = scene.transform
    assert np.hypot(a, d) == pytest.approx(2.7)
    assert np.degrees(np.arctan2(d, a)) == pytest.approx(-66)
    assert (b, e) == pytest.approx((d, -a))
    masked = read_scene(aviris_ng_file, nodata=-0.005)
    assert (masked.n_valid, masked.metadata["masked_nodata"]) == (40, 60)
    header = read_scene(aviris_ng_file.with_suffix(".hdr"))
    np.testing.assert_array_equal(header.cube, scene.cube)
    with rasterio.open(aviris_ng_file) as other:
        np.testing.assert_array_equal(np.moveaxis(other.read(), 0, -1), scene.cube)


@pytest.mark.scene
def test_the_command_line_on_that_file(aviris_ng_file):
    told = CliRunner().invoke(main, ["inspect", str(aviris_ng_file)])
    assert told.exit_code == 0, told.output
    assert "60 pixels are -0.005 in every band; if that means no data, give --nodata -0.005" in (
        " ".join(told.stdout.split())
    )
    empty = ["inspect", str(aviris_ng_file), "--crop", "4:10,0:10", "--quiet"]
    told = CliRunner().invoke(main, empty)
    assert told.exit_code == 2
    assert "all 60 valid pixels hold -0.005 in every band, which is likely the value" in told.stderr
