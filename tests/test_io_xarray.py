"""Data of xarray in, labels of xarray out: the layouts of rioxarray, odc-stac and EMIT."""

import numpy as np
import pytest
import rasterio
from product_files import (
    BANDS,
    COLS,
    CUBE,
    FWHM,
    ROWS,
    TRANSFORM,
    UTM,
    WAVELENGTHS,
    same_crs,
    write_envi,
    write_geotiff,
)

from spectrawalk import SRDL, Scene, SpectraWalk, read_scene
from spectrawalk.baselines import make_method
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError

xarray = pytest.importorskip("xarray")

Y = 4_000_000 - 30 * (np.arange(ROWS) + 0.5)
X = 500_000 + 30 * (np.arange(COLS) + 0.5)
GEO = "500000.0 30.0 0.0 4000000.0 0.0 -30.0"
PLACE = {"crs_wkt": UTM.to_wkt(), "spatial_ref": UTM.to_wkt(), "GeoTransform": GEO}


def raster(cube=CUBE, **changes):
    """As rioxarray.open_rasterio gives a file."""
    coords = {
        "band": np.arange(1, cube.shape[2] + 1),
        "x": X,
        "y": Y,
        "spatial_ref": ((), 0, PLACE),
    }
    attrs = {"_FillValue": 0, "scale_factor": 1.0, "add_offset": 0.0, "AREA_OR_POINT": "Area"}
    data = xarray.DataArray(
        np.moveaxis(cube, -1, 0),
        dims=("band", "y", "x"),
        coords=coords | changes.pop("coords", {}),
        attrs=attrs | changes,
    )
    data.encoding["grid_mapping"] = "spatial_ref"
    return data


def catalogue(**changes):
    """As odc.stac.load gives one date: an image for each band."""
    images = {
        f"B{band:02}": xarray.Variable(
            ("time", "y", "x"), CUBE[None, :, :, band], {"nodata": 0, "grid_mapping": "spatial_ref"}
        )
        for band in range(BANDS)
    }
    times = {"time": np.array(["2024-07-24"], "M8[ns]")}
    coords = {"y": Y, "x": X, **times, "spatial_ref": ((), 32633, PLACE)}
    return xarray.Dataset(images, coords=coords | changes)


def assert_placed(scene):
    np.testing.assert_array_equal(scene.cube, CUBE)
    np.testing.assert_allclose(scene.transform, TRANSFORM)
    assert same_crs(scene.crs)


# What rioxarray gives


def test_a_raster_without_wavelengths_has_none():
    scene = read_scene(raster())
    assert_placed(scene)
    assert scene.wavelengths is None  # 1, 2, 3 are the numbers of the bands
    assert scene.metadata["nodata"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"coords": {"wavelength": ("band", WAVELENGTHS)}},
        {"coords": {"wavelengths": ("band", WAVELENGTHS / 1000, {"units": "um"})}},
        {"coords": {"wavelength": ("band", WAVELENGTHS)}, "wavelength_units": "Nanometers"},
        {"coords": {"band": WAVELENGTHS}},
        {"coords": {"band": WAVELENGTHS / 1000}},
        {"coords": {"band": ("band", WAVELENGTHS / 1000, {"units": "µm"})}},
        {"long_name": tuple(f"band {w} ({w} Nanometers)" for w in WAVELENGTHS)},
        {"wavelength": WAVELENGTHS.tolist()},
    ],
)
def test_wavelengths_are_found_where_they_hide(changes):
    scene = read_scene(raster(**changes))
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    assert_placed(scene)


@pytest.mark.parametrize("numbers", [range(1, 7), [10, 20, 30, 40, 50, 60], range(400, 406)])
def test_numbers_of_bands_are_no_wavelengths(numbers):
    assert read_scene(raster(coords={"band": list(numbers)})).wavelengths is None


def test_widths_and_bad_bands_come_along():
    good = np.array([1, 1, 0, 1, 1, 1])
    coords = {"wavelength": ("band", WAVELENGTHS / 1000), "bbl": ("band", good)}
    scene = read_scene(raster(coords=coords | {"fwhm": ("band", FWHM / 1000)}))
    np.testing.assert_allclose(scene.fwhm, FWHM)
    assert scene.good_bands.tolist() == (good == 1).tolist()
    in_nm = read_scene(raster(coords={"fwhm": ("band", FWHM)}))
    np.testing.assert_allclose(in_nm.fwhm, FWHM)


def test_a_part_has_its_own_place():
    part = read_scene(raster()[:, 2:5, 1:4])
    np.testing.assert_allclose(part.transform, (30, 0, 500_030, 0, -30, 3_999_940))
    row = read_scene(raster()[:, 3:4, 1:4])  # one row has no step of its own
    np.testing.assert_allclose(row.transform, (30, 0, 500_030, 0, -30, 3_999_910))
    bare = raster().drop_vars(["x", "y"])
    np.testing.assert_allclose(read_scene(bare).transform, TRANSFORM)


def test_uneven_coordinates_are_no_transform():
    uneven = raster().assign_coords(y=Y + 9 * (np.arange(ROWS) == 3))
    assert read_scene(uneven).transform is None


def test_the_scene_is_that_of_the_file(tmp_path):
    rioxarray = pytest.importorskip("rioxarray")
    path = write_geotiff(tmp_path / "field.tif", nodata=int(CUBE[1, 1, 1]))
    with rasterio.open(path, "r+") as target:
        for band, wave in enumerate(WAVELENGTHS, start=1):
            target.set_band_description(band, f"band {band} ({wave} Nanometers)")
    expected = read_scene(path)
    for options in ({}, {"masked": True}, {"band_as_variable": True}):
        with rioxarray.open_rasterio(path, **options) as data:
            scene = read_scene(data)
        assert scene.transform == expected.transform
        assert same_crs(scene.crs)
        np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
        np.testing.assert_array_equal(scene.mask, expected.mask)
        assert scene.n_valid < CUBE[..., 0].size
        np.testing.assert_array_equal(scene.cube[scene.mask], CUBE[scene.mask])


def test_a_turned_image_keeps_its_place(tmp_path):
    rioxarray = pytest.importorskip("rioxarray")
    info = "{UTM, 1, 1, 500000, 4000000, 30, 30, 33, North, WGS-84, rotation=10}"
    path = write_envi(
        tmp_path / "s.img", map_info=info, wavelength=WAVELENGTHS.tolist(), wavelength_units="nm"
    )
    expected = read_scene(path)
    with rioxarray.open_rasterio(path.with_suffix(".img")) as data:
        np.testing.assert_allclose(read_scene(data).transform, expected.transform)
        np.testing.assert_allclose(read_scene(data).wavelengths, WAVELENGTHS)
        part = read_scene(data[:, 2:6, 1:4])
    np.testing.assert_allclose(
        part.transform, expected.crop(slice(2, 6), slice(1, 4)).transform, rtol=1e-9
    )


# Datasets


def test_one_image_for_each_band_is_a_cube():
    scene = read_scene(catalogue())
    assert_placed(scene)
    assert scene.band_names == tuple(f"B{band:02}" for band in range(BANDS))
    stacked = read_scene(catalogue().to_array("band"))
    assert_placed(stacked)
    assert stacked.band_names == scene.band_names


def test_images_may_tell_their_wavelengths_and_their_own_nodata():
    data = catalogue()
    for band, name in enumerate(data):
        data[name].attrs |= {"wavelength": WAVELENGTHS[band], "nodata": int(CUBE[band, 0, band])}
    scene = read_scene(data)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    assert not scene.mask[range(BANDS), 0].any()
    assert scene.n_valid >= CUBE[..., 0].size - 2 * BANDS


def test_several_dates_are_refused_in_one_sentence():
    twice = xarray.concat(
        [catalogue(), catalogue().assign_coords(time=np.array(["2025-07-24"], "M8[ns]"))], "time"
    )
    with pytest.raises(DataError, match=r"neither a single array .* nor one image for each band"):
        read_scene(twice)
    with pytest.raises(DataError, match=r"data\.isel\(time=0\)"):
        read_scene(twice.to_array("band"))
    assert_placed(read_scene(twice.isel(time=1)))


def test_a_granule_in_the_layout_of_emit():
    data = xarray.Dataset(
        {
            "reflectance": (("downtrack", "crosstrack", "bands"), CUBE.astype("f4")),
            "elev": (("downtrack", "crosstrack"), np.ones((ROWS, COLS))),
            "wavelengths": ("bands", WAVELENGTHS, {"units": "nm"}),
            "fwhm": ("bands", FWHM),
            "good_wavelengths": ("bands", np.array([1, 1, 0, 1, 1, 1], "u1")),
        }
    )
    scene = read_scene(data)
    np.testing.assert_array_equal(scene.cube, CUBE)
    np.testing.assert_allclose(scene.wavelengths, WAVELENGTHS)
    assert scene.good_bands.sum() == 5
    assert (scene.name, scene.transform) == ("reflectance", None)


def test_a_map_in_degrees():
    coords = {"latitude": 45 - 0.01 * np.arange(ROWS), "longitude": 10 + 0.01 * np.arange(COLS)}
    data = xarray.DataArray(
        CUBE, dims=("latitude", "longitude", "wavelengths"), coords=coords, attrs={"crs": 4326}
    ).assign_coords(wavelengths=WAVELENGTHS)
    scene = read_scene(data)
    np.testing.assert_allclose(scene.transform, (0.01, 0, 9.995, 0, -0.01, 45.005))
    assert same_crs(scene.crs, rasterio.CRS.from_epsg(4326))


# Labels


@pytest.fixture(scope="module")
def made():
    scene = make_scene((ROWS + 9, COLS + 9), n_bands=8, n_classes=2, random_state=0)
    data = xarray.DataArray(
        scene.cube.transpose(2, 1, 0),
        dims=("band", "x", "y"),
        coords={
            "x": 500_015 + 30.0 * np.arange(COLS + 9),
            "y": 4_000_000 - 30.0 * np.arange(ROWS + 9),
            "wavelength": ("band", np.linspace(450, 900, 8)),
            "spatial_ref": ((), 0, PLACE),
        },
        name="field",
    )
    return scene, data


def assert_like(labels, data, expected):
    assert isinstance(labels, xarray.DataArray)
    assert labels.dims == ("y", "x")
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(labels.x, data.x)
    np.testing.assert_array_equal(labels.y, data.y)
    assert same_crs(labels.spatial_ref.attrs["crs_wkt"])
    assert "wavelength" not in labels.coords


@pytest.mark.parametrize(
    "model",
    [
        SRDL(n_clusters=2, n_neighbors=10, n_eigenpairs=4),
        SpectraWalk(n_clusters=2),
        make_method("k-means", n_clusters=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_xarray_in_gives_xarray_out(made, model):
    scene, data = made
    expected = model.fit(scene).labels_
    assert isinstance(model.fit_predict(scene), np.ndarray)
    assert_like(model.fit_predict(data), data, expected)
    assert isinstance(model.labels_, np.ndarray)  # as everywhere in scikit-learn
    if hasattr(model, "predict"):
        np.testing.assert_allclose(model.wavelengths_, np.linspace(450, 900, 8))
        assert_like(model.predict(data), data, model.predict(scene))
        labels, margin = model.predict_with_margin(data)
        assert_like(labels, data, model.predict(scene))
        assert (labels.name, margin.name) == ("labels", "margin")


def test_a_mask_may_be_of_xarray_in_any_order(made):
    scene, data = made
    mask = np.ones(scene.shape, dtype=bool)
    mask[:3, :5] = False
    given = xarray.DataArray(mask.T, dims=("x", "y"))
    model = SRDL(n_clusters=2, n_neighbors=10, n_eigenpairs=4)
    labels = model.fit_predict(data, mask=given)
    np.testing.assert_array_equal(labels == -1, ~mask)
    np.testing.assert_array_equal(labels, model.fit_predict(Scene(scene.cube, mask=mask)))


def test_a_dataset_of_images_and_a_table_give_xarray_too(made):
    scene, data = made
    model = SRDL(n_clusters=2, n_neighbors=10, n_eigenpairs=4)
    images = data.drop_vars("wavelength").transpose("band", "y", "x").to_dataset("band")
    images = images.rename({band: f"b{band}" for band in images.data_vars})
    assert_like(model.fit_predict(images), data, model.fit_predict(scene))
    table = xarray.DataArray(
        scene.cube.reshape(-1, 8), dims=("pixel", "band"), coords={"pixel": range(100, 324)}
    )
    labels = model.fit_predict(table)
    assert labels.dims == ("pixel",)
    assert labels.pixel[0] == 100
    np.testing.assert_array_equal(labels, model.fit_predict(scene.cube.reshape(-1, 8)))


def test_rioxarray_knows_the_place_of_labels(made):
    pytest.importorskip("rioxarray")
    _, data = made
    labels = SRDL(n_clusters=2, n_neighbors=10, n_eigenpairs=4).fit_predict(data)
    assert labels.rio.crs == UTM
    assert tuple(labels.rio.transform())[:6] == (30, 0, 500_000, 0, -30, 4_000_015)
