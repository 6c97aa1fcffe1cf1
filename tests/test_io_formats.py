"""Readers of georeferenced formats, each against files that another library wrote."""

import numpy as np
import pytest
import rasterio
import zarr
from product_files import (
    COLS,
    CUBE,
    EPSG,
    FWHM,
    ROWS,
    TRANSFORM,
    UTM,
    WAVELENGTHS,
    same_crs,
    write_emit,
    write_enmap,
    write_envi,
    write_geotiff,
    write_prisma,
    write_v5,
    write_v73,
    write_zarr,
)

from spectrawalk import read_scene
from spectrawalk.errors import DataError, FileError, ParameterError
from spectrawalk.io import read_mask, scene_from_xarray

# The same cut-out from six formats


SIX = {
    "envi": lambda folder: write_envi(folder / "s.img"),
    "geotiff": lambda folder: write_geotiff(folder / "s.tif"),
    "mat-v5": lambda folder: write_v5(folder / "s.mat", cube=CUBE),
    "mat-v7.3": lambda folder: write_v73(folder / "s.mat", cube=CUBE),
    "zarr": lambda folder: write_zarr(folder / "s.zarr"),
    "npy": lambda folder: np.save(folder / "s.npy", CUBE) or folder / "s.npy",
}


@pytest.mark.parametrize("kind", SIX)
def test_six_formats_give_the_same_cube_and_mask(tmp_path, kind):
    scene = read_scene(SIX[kind](tmp_path))
    np.testing.assert_array_equal(scene.cube, CUBE)
    assert scene.cube.dtype == CUBE.dtype
    assert scene.cube.flags.c_contiguous
    assert scene.cube.flags.owndata or not isinstance(scene.cube.base, np.memmap)
    assert scene.mask.all()
    assert scene.name == "s"


@pytest.mark.parametrize("kind", SIX)
def test_windows_and_bands_are_read_alike(tmp_path, kind):
    path = SIX[kind](tmp_path)
    for bands in ([1, 2, 3], [5, 0, 2], None):
        part = read_scene(path, rows=slice(2, 6), cols=slice(1, None), bands=bands)
        expected = CUBE[2:6, 1:] if bands is None else CUBE[2:6, 1:, bands]
        np.testing.assert_array_equal(part.cube, expected)
        assert part.metadata["crop"] == ((2, 6), (1, COLS))
        if part.transform is not None:
            assert part.transform == (30, 0, 500_030, 0, -30, 4_000_000 - 60)
    with pytest.raises(ParameterError, match="beyond the image of 7 rows and 5 columns"):
        read_scene(path, rows=slice(0, 8))
    with pytest.raises(ParameterError, match="6 bands"):
        read_scene(path, bands=[6])
    with pytest.raises(ParameterError, match="rows=3 is not a slice"):
        read_scene(path, rows=3)
    with pytest.raises(ParameterError, match="nodata='none' is not a number"):
        read_scene(path, nodata="none")


def test_a_window_of_a_large_file_does_not_read_the_rest(tmp_path):
    """A sparse file of 200 GB: only a memory map can read a corner of it."""
    path = tmp_path / "big.img"
    with path.open("wb") as file:
        file.truncate(100_000 * 100_000 * 20)
    (tmp_path / "big.hdr").write_text(
        "ENVI\nsamples = 100000\nlines = 100000\nbands = 20\ndata type = 1\ninterleave = bsq\n"
    )
    with pytest.raises(FileError, match="no usable pixel: all 4"):
        read_scene(path, rows=slice(99_998, None), cols=slice(0, 2))


# GeoTIFF


def tag_each(path, **tags):
    with rasterio.open(path, "r+") as target:
        for name, values in tags.items():
            for band, value in enumerate(values, start=1):
                target.update_tags(band, **{name: value})


def tag_imagery(path):
    with rasterio.open(path, "r+") as target:
        for band, (centre, width) in enumerate(zip(WAVELENGTHS, FWHM, strict=True), start=1):
            values = {"CENTRAL_WAVELENGTH_UM": centre / 1000, "FWHM_UM": width / 1000}
            target.update_tags(band, ns="IMAGERY", **values)


def tag_envi(path):
    with rasterio.open(path, "r+") as target:
        lists = {"wavelength": WAVELENGTHS / 1000, "fwhm": FWHM / 1000, "bbl": [1, 1, 0, 1, 1, 1]}
        texts = {name: "{" + ", ".join(map(str, each)) + "}" for name, each in lists.items()}
        target.update_tags(ns="ENVI", wavelength_units="Micrometers", **texts)


def describe_each(path):
    with rasterio.open(path, "r+") as target:
        target.descriptions = [f"band {n} ({each} nm)" for n, each in enumerate(WAVELENGTHS)]


def write_sidecar_table(path):
    lines = [f"{number},{each}" for number, each in enumerate(WAVELENGTHS, start=1)]
    path.with_suffix(".csv").write_text("\n".join(["band,wavelength_nm", *lines]))


def write_sidecar_list(path):
    path.with_suffix(".txt").write_text("\n".join(map(str, WAVELENGTHS / 1000)))


def write_sidecar_header(path):
    listed = ", ".join(map(str, WAVELENGTHS))
    path.with_suffix(".hdr").write_text(f"ENVI\nwavelength = {{{listed}}}\n")


HIDING_PLACES = {
    "band tags": lambda path: tag_each(path, wavelength=WAVELENGTHS),
    "band tags in micrometres": lambda path: tag_each(
        path, WAVELENGTH=WAVELENGTHS / 1000, WAVELENGTH_UNITS=["Micrometers"] * 6
    ),
    "IMAGERY domain": tag_imagery,
    "ENVI domain": tag_envi,
    "descriptions": describe_each,
    "table": write_sidecar_table,
    "list": write_sidecar_list,
    "header": write_sidecar_header,
}


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_geotiff_wavelengths_wherever_they_hide(tmp_path, place):
    path = write_geotiff(tmp_path / "s.tif")
    assert read_scene(path).wavelengths is None
    HIDING_PLACES[place](path)
    scene = read_scene(path)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    np.testing.assert_array_equal(scene.cube, CUBE)
    if "domain" in place:
        np.testing.assert_allclose(scene.fwhm, FWHM)
    if place == "ENVI domain":
        assert scene.good_bands.tolist() == [True, True, False, True, True, True]


def test_geotiff_place_nodata_and_mask(tmp_path):
    scene = read_scene(write_geotiff(tmp_path / "s.tif", nodata=int(CUBE[2, 2, 2])))
    assert scene.transform == TRANSFORM
    assert same_crs(scene.crs)
    assert not scene.mask[2, 2]
    path = write_geotiff(tmp_path / "t.tif", georeferenced=False)
    valid = np.ones((ROWS, COLS), dtype=np.uint8) * 255
    valid[0, :2] = 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "r+") as target:
        target.write_mask(valid)
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.mask, valid > 0)
    assert scene.transform is None
    assert scene.crs is None
    part = read_scene(path, rows=slice(0, 2), cols=slice(1, 4))
    np.testing.assert_array_equal(part.mask, valid[0:2, 1:4] > 0)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "float32", "float64"])
@pytest.mark.parametrize(
    "options", [{}, {"compress": "deflate", "tiled": True}, {"interleave": "pixel"}]
)
def test_geotiff_types_and_layouts(tmp_path, dtype, options):
    cube = CUBE.astype(dtype)
    scene = read_scene(write_geotiff(tmp_path / "s.tif", cube, **options))
    np.testing.assert_array_equal(scene.cube, cube)
    assert scene.cube.dtype == dtype


def test_geotiff_that_cannot_be_used(tmp_path):
    path = write_geotiff(tmp_path / "s.tif")
    path.with_suffix(".csv").write_text("wavelength\n450\n550\n")
    with pytest.raises(FileError, match=r"s\.csv' lists 2 wavelengths for 6 bands"):
        read_scene(path)
    with pytest.raises(FileError, match="complex values"):
        read_scene(write_geotiff(tmp_path / "c.tif", CUBE.astype(np.complex64)))
    (tmp_path / "cut.tif").write_bytes(path.read_bytes()[:300])
    with pytest.raises(FileError, match=r"cut\.tif' is damaged"):
        read_scene(tmp_path / "cut.tif")


# EMIT, PRISMA, EnMAP


@pytest.mark.parametrize("fill", [0, -9999])
def test_emit_stays_in_the_swath_and_knows_its_map(tmp_path, fill):
    cube = CUBE.astype(np.float32) / 4000
    cube[1, 1] = -9999
    scene = read_scene(write_emit(tmp_path / "EMIT_L2A_RFL.nc", cube, fill))
    np.testing.assert_array_equal(scene.cube, cube)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    np.testing.assert_allclose(scene.fwhm, FWHM)
    assert scene.good_bands.tolist() == [True, True, False, True, True, True]
    assert not scene.mask[1, 1]
    assert scene.n_valid == ROWS * COLS - 1
    lookup = scene.orthorectify
    assert lookup.transform == (0.0005, 0.0, 10.0, 0.0, -0.0005, 45.0)
    assert same_crs(lookup.crs, rasterio.CRS.from_epsg(4326))
    shown = lookup.apply(scene.cube[:, :, 0], fill=-1)
    np.testing.assert_array_equal(shown[1:, 1:], cube[::-1, :, 0])
    assert (shown[0] == -1).all()
    assert (shown[:, 0] == -1).all()
    part = read_scene(tmp_path / "EMIT_L2A_RFL.nc", rows=slice(4, 7), bands=[0, 2])
    np.testing.assert_array_equal(part.cube, cube[4:7, :, [0, 2]])
    shown = part.orthorectify.apply(part.cube[:, :, 0], fill=-1)
    np.testing.assert_array_equal(shown, cube[4:7, :, 0][::-1])


@pytest.mark.parametrize("centres", [False, True])
def test_prisma_as_one_cube_of_reflectances(tmp_path, centres):
    import h5py

    path = write_prisma(tmp_path / "PRS_L2D_STD.he5", centres=centres)
    scene = read_scene(path)
    assert scene.wavelengths.tolist() == [550, 900, 977, 943, 1000, 1650, 2490]
    assert scene.fwhm.tolist() == [11] * 7
    fields = "HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields"
    with h5py.File(path) as file:
        vnir, swir = (file[f"{fields}/{name}_Cube"][()] for name in ("VNIR", "SWIR"))
    np.testing.assert_allclose(scene.cube[:, :, 0], vnir[:, 2] / 65535, rtol=1e-6)
    np.testing.assert_allclose(scene.cube[:, :, 3], swir[:, 3] / 65535 * 0.5, rtol=1e-6)
    np.testing.assert_allclose(scene.transform, TRANSFORM)
    assert same_crs(scene.crs)
    assert not scene.mask[0, 0]  # outside the swath
    assert not scene.mask[0, 1]  # invalid in all bands
    assert scene.mask[3, 3]
    assert scene.metadata["flagged_pixels"] == 2
    part = read_scene(path, cols=slice(2, 5), bands=[4, 1])
    np.testing.assert_array_equal(part.cube, scene.cube[:, 2:, [4, 1]])


def test_prisma_is_the_right_way_round_whichever_axis_comes_first(tmp_path):
    plain = read_scene(write_prisma(tmp_path / "p.he5"))
    turned = read_scene(write_prisma(tmp_path / "t.he5", turned=True))
    np.testing.assert_array_equal(turned.cube, plain.cube)
    np.testing.assert_array_equal(turned.mask, plain.mask)
    assert turned.transform == plain.transform
    part = read_scene(tmp_path / "t.he5", rows=slice(2, 5), cols=slice(1, 3))
    np.testing.assert_array_equal(part.cube, plain.cube[2:5, 1:3])


def test_prisma_bands_of_two_detectors_overlap(tmp_path):
    from spectrawalk.prepare.bands import prepare_scene

    scene = read_scene(write_prisma(tmp_path / "p.he5", errors=False))
    assert prepare_scene(scene)[0].wavelengths.tolist() == [550, 900, 977, 1000, 1650, 2490]
    swir, _ = prepare_scene(scene, overlap="swir")
    assert swir.wavelengths.tolist() == [550, 900, 943, 1000, 1650, 2490]


def test_enmap_by_folder_metadata_or_image(tmp_path):
    metadata = write_enmap(tmp_path / "product")
    (image,) = (tmp_path / "product").glob("*.TIF")
    for path in (tmp_path / "product", metadata, image):
        scene = read_scene(path)
        np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
        np.testing.assert_allclose(scene.fwhm, FWHM)
        assert scene.good_bands.tolist() == [True, True, False, True, True, True]
        assert scene.transform == TRANSFORM
        assert same_crs(scene.crs)
        assert scene.n_valid == ROWS * COLS - 1  # the empty band masks nothing
        assert scene.metadata["gains"] == [0.0001] * 6


def test_enmap_products_that_are_incomplete(tmp_path):
    metadata = write_enmap(tmp_path / "short", WAVELENGTHS[:4])
    with pytest.raises(FileError, match=r"describes 4 bands but .* has 6"):
        read_scene(metadata)
    (image,) = (tmp_path / "short").glob("*.TIF")
    image.unlink()
    with pytest.raises(FileError, match=r"has no image '.*SPECTRAL_IMAGE\.TIF' beside it"):
        read_scene(metadata)
    (tmp_path / "x-METADATA.XML").write_text("<level_X/>")
    with pytest.raises(FileError, match="describes no band"):
        read_scene(write_geotiff(tmp_path / "x-SPECTRAL_IMAGE.TIF"))


# Zarr and xarray


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zarr_attributes_are_kept(tmp_path, zarr_format):
    path = write_zarr(
        tmp_path / "s.zarr",
        zarr_format=zarr_format,
        wavelengths=WAVELENGTHS.tolist(),
        crs=f"EPSG:{EPSG}",
        transform=TRANSFORM,
        good_bands=[1, 1, 0, 1, 1, 1],
        _FillValue=int(CUBE[1, 1, 1]),
    )
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.cube, CUBE)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    assert scene.transform == TRANSFORM
    assert same_crs(scene.crs)
    assert scene.good_bands.tolist() == [True, True, False, True, True, True]
    assert not scene.mask[1, 1]


def test_zarr_groups_hold_one_cube(tmp_path):
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    cube = group.create_array(
        "cube", shape=(6, 7, 5), dtype="u2", dimension_names=("band", "y", "x")
    )
    cube[:] = np.moveaxis(CUBE, -1, 0)
    group.create_array("wavelength", shape=(6,), dtype="f8")[:] = WAVELENGTHS
    scene = read_scene(tmp_path / "g.zarr")
    np.testing.assert_array_equal(scene.cube, CUBE)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    group.create_array("other", shape=(2, 2, 2), dtype="u2")
    with pytest.raises(FileError, match=r"2 array of 3 axes .* choose one with `variable`"):
        read_scene(tmp_path / "g.zarr")
    np.testing.assert_array_equal(read_scene(tmp_path / "g.zarr", variable="cube").cube, CUBE)


def test_zarr_that_promises_too_much(tmp_path):
    zarr.create_array(
        tmp_path / "s.zarr", shape=(10**6, 10**6, 200), chunks=(10, 10, 10), dtype="f8"
    )
    with pytest.raises(FileError, match="declares"):
        read_scene(tmp_path / "s.zarr")


def test_xarray_in_any_order_of_dimensions():
    xarray = pytest.importorskip("xarray")
    y, x = 4_000_000 - 30 * (np.arange(ROWS) + 0.5), 500_000 + 30 * (np.arange(COLS) + 0.5)
    data = xarray.DataArray(
        np.moveaxis(CUBE, -1, 0),
        dims=("band", "y", "x"),
        coords={"y": y, "x": x, "wavelength": ("band", WAVELENGTHS)},
        name="field",
        attrs={"_FillValue": int(CUBE[1, 1, 1])},
    ).assign_coords(spatial_ref=xarray.DataArray(0, attrs={"crs_wkt": UTM.to_wkt()}))
    for scene in (scene_from_xarray(data), read_scene(data.transpose("x", "band", "y"))):
        np.testing.assert_array_equal(scene.cube, CUBE)
        np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
        np.testing.assert_allclose(scene.transform, TRANSFORM)
        assert same_crs(scene.crs)
        assert not scene.mask[1, 1]
        assert scene.name == "field"
    part = read_scene(data, rows=slice(1, 3), bands=[0, 1])
    np.testing.assert_array_equal(part.cube, CUBE[1:3, :, :2])


def test_an_estimator_takes_a_data_array_the_right_way_round():
    xarray = pytest.importorskip("xarray")
    from spectrawalk import SRDL, Scene

    cube = np.random.default_rng(0).random((9, 8, 5))
    data = xarray.DataArray(np.moveaxis(cube, -1, 0), dims=("band", "y", "x"))
    model = SRDL(n_clusters=2, radius=2, n_neighbors=8, n_eigenpairs=4)
    np.testing.assert_array_equal(model.fit(data).labels_.copy(), model.fit(Scene(cube)).labels_)


def test_xarray_that_is_no_scene():
    xarray = pytest.importorskip("xarray")
    with pytest.raises(DataError, match="2 dimensions"):
        scene_from_xarray(xarray.DataArray(np.ones((2, 3))))
    with pytest.raises(DataError, match="do not tell rows, columns and bands apart"):
        scene_from_xarray(xarray.DataArray(np.ones((2, 3, 4)), dims=("x", "b", "c")))
    cube = (("y", "x", "band"), np.ones((2, 3, 4)))
    with pytest.raises(DataError, match=r"Dataset of xarray holds a 2x3x4, b 2x3x4, and neither"):
        read_scene(xarray.Dataset({"a": cube, "b": cube}))
    two = xarray.Dataset({"a": cube, "b": cube})
    assert read_scene(two, variable="b").name == "b"
    with pytest.raises(DataError, match=r"holds nothing called 'c'"):
        read_scene(two, variable="c")
    with pytest.raises(DataError, match="Dataset of xarray holds nothing"):
        read_scene(xarray.Dataset())
    dates = xarray.DataArray(np.ones((2, 3, 4, 5)), dims=("time", "y", "x", "band"))
    with pytest.raises(DataError, match=r"4 dimensions .* data\.isel\(time=0\)"):
        read_scene(dates)
    with pytest.raises(FileError, match="ndarray is neither the name of a file"):
        read_scene(np.ones((2, 3, 4)))


# Masks


def test_masks_of_rasters(tmp_path):
    scene = read_scene(write_geotiff(tmp_path / "s.tif"))
    plane = np.zeros((ROWS, COLS, 1), dtype=np.uint8)
    plane[1:4, 2:] = 255
    mask = read_mask(write_geotiff(tmp_path / "m.tif", plane), scene)
    np.testing.assert_array_equal(mask, plane[:, :, 0] > 0)
    with_nodata = write_geotiff(tmp_path / "n.tif", plane, nodata=255)
    assert not read_mask(with_nodata, scene).any()
    np.save(tmp_path / "m.npy", plane[:, :, 0] > 0)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.npy", scene), mask)


def test_masks_of_another_size_place_or_system(tmp_path):
    scene = read_scene(write_geotiff(tmp_path / "s.tif"))
    plane = np.ones((ROWS, COLS, 1), dtype=np.uint8)
    with pytest.raises(FileError, match=r"m\.tif' has 6 x 5 pixels but the scene has 7 x 5"):
        read_mask(write_geotiff(tmp_path / "m.tif", plane[1:]), scene)
    moved = rasterio.Affine(30, 0, 500_030, 0, -30, 4_000_000)
    with pytest.raises(FileError, match="lies in another place"):
        read_mask(write_geotiff(tmp_path / "m.tif", plane, transform=moved), scene)
    with pytest.raises(FileError, match=r"UTM zone 32N but the scene in WGS 84 / UTM zone 33N"):
        read_mask(write_geotiff(tmp_path / "m.tif", plane, crs=32632), scene)


def polygon_over(rows, cols, crs=EPSG):
    """A polygon around whole pixels of the scene, in longitude and latitude."""
    from rasterio.warp import transform_geom

    corners = [(cols[0], rows[0]), (cols[1], rows[0]), (cols[1], rows[1]), (cols[0], rows[1])]
    ring = [(500_000 + 30 * col, 4_000_000 - 30 * row) for col, row in [*corners, corners[0]]]
    return transform_geom(crs, "OGC:CRS84", {"type": "Polygon", "coordinates": [ring]})


def test_masks_of_polygons(tmp_path):
    import json

    scene = read_scene(write_geotiff(tmp_path / "s.tif"))
    feature = {"type": "Feature", "properties": {}, "geometry": polygon_over((1, 4), (2, 5))}
    collection = {"type": "FeatureCollection", "features": [feature]}
    expected = np.zeros((ROWS, COLS), dtype=bool)
    expected[1:4, 2:5] = True
    for content in (collection, feature, feature["geometry"]):
        (tmp_path / "m.geojson").write_text(json.dumps(content))
        np.testing.assert_array_equal(read_mask(tmp_path / "m.geojson", scene), expected)
    pyogrio, shapely = pytest.importorskip("pyogrio"), pytest.importorskip("shapely")
    shapes = np.array([shapely.to_wkb(shapely.geometry.shape(feature["geometry"]))], dtype=object)
    for name in ("m.gpkg", "m.shp"):
        pyogrio.raw.write(
            tmp_path / name, shapes, field_data=[np.array([1])], fields=["id"],
            geometry_type="Polygon", crs="OGC:CRS84",
        )  # fmt: skip
        np.testing.assert_array_equal(read_mask(tmp_path / name, scene), expected)


def test_masks_of_polygons_that_cannot_be_used(tmp_path):
    import json

    path = tmp_path / "m.geojson"
    path.write_text(json.dumps(polygon_over((1, 4), (2, 5))))
    np.save(tmp_path / "s.npy", CUBE)
    with pytest.raises(FileError, match="has no place on the map"):
        read_mask(path, read_scene(tmp_path / "s.npy"))
    scene = read_scene(write_geotiff(tmp_path / "s.tif"))
    for text, message in (
        ("[1, 2]", "is not GeoJSON"),
        ("{", "damaged"),
        ('{"type": "Point", "coordinates": [1, 2]}', "holds no polygon"),
        ('{"type": "Polygon", "coordinates": "here"}', "damaged"),
    ):
        path.write_text(text)
        with pytest.raises(FileError, match=message):
            read_mask(path, scene)


def test_polygons_reach_the_swath_through_the_lookup(tmp_path):
    import json

    scene = read_scene(write_emit(tmp_path / "e.nc"))
    west, north = 10.0 + 0.0005 * 2, 45.0 - 0.0005 * 1
    ring = [[west, north], [west + 0.001, north], [west + 0.001, north - 0.0005],
            [west, north - 0.0005], [west, north]]  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    expected = np.zeros((ROWS, COLS), dtype=bool)
    expected[ROWS - 1, 1:3] = True
    np.testing.assert_array_equal(read_mask(tmp_path / "m.json", scene), expected)
