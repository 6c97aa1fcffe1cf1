"""Maps and spectra as other programs read them: GDAL, rasterio, SPy."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import rasterio
from other_programs import needs_gdal
from rasterio.errors import NotGeoreferencedWarning

from spectrawalk import Scene
from spectrawalk.errors import DataError, ParameterError
from spectrawalk.io.cluster_spectra import spectra_csv, spectral_library_files
from spectrawalk.io.envi_map import envi_map_files
from spectrawalk.io.geotiff_map import labels_geotiff, map_files, values_geotiff, write_map
from spectrawalk.results.cluster_map import ClusterMap, map_of, pixel_areas, to_map_grid
from spectrawalk.results.palette import cluster_colors
from spectrawalk.results.spectra import cluster_spectra
from spectrawalk.scene import Orthorectification

UTM = rasterio.CRS.from_epsg(32616).to_wkt()
LAEA = rasterio.CRS.from_epsg(3035).to_wkt()
DEGREES = rasterio.CRS.from_epsg(4326).to_wkt()
STRAIGHT = (30.0, 0.0, 500_010.0, 0.0, -30.0, 4_400_020.0)
ROTATED = (25.0, 12.0, 500_010.0, 12.0, -25.0, 4_400_020.0)


def a_map(n_clusters=3, shape=(30, 40), crs=UTM, transform=STRAIGHT):
    labels = np.random.default_rng(0).integers(-1, n_clusters, shape)
    labels.flat[: n_clusters + 1] = np.arange(-1, n_clusters)
    return ClusterMap(labels, n_clusters, crs, transform)


def write_all(folder, files):
    for name, content in files.items():
        Path(folder, name).write_bytes(content)


def gdalinfo(path):
    told = subprocess.run(["gdalinfo", "-json", str(path)], capture_output=True, check=True)
    return json.loads(told.stdout)


# GeoTIFF


@pytest.mark.parametrize(
    ("n_clusters", "dtype"), [(1, "uint8"), (255, "uint8"), (256, "uint16"), (300, "uint16")]
)
@pytest.mark.parametrize("transform", [STRAIGHT, ROTATED])
def test_a_map_is_the_same_after_write_and_read(tmp_path, n_clusters, dtype, transform):
    written = a_map(n_clusters, transform=transform)
    write_map(tmp_path / "map.tif", written)
    with rasterio.open(tmp_path / "map.tif") as read:
        assert read.crs == rasterio.CRS.from_wkt(UTM)
        assert tuple(read.transform)[:6] == transform
        assert read.nodata == 0
        assert read.dtypes == (dtype,)
        assert read.profile["tiled"]
        assert read.compression.name == "deflate"
        np.testing.assert_array_equal(read.read(1), written.labels + 1)
        np.testing.assert_array_equal(read.read_masks(1) > 0, written.labels >= 0)
        colors = read.colormap(1)
    expected = cluster_colors(n_clusters).tolist()
    assert [colors[code][:3] for code in range(1, n_clusters + 1)] == [*map(tuple, expected)]


def test_a_map_without_a_place_is_written_in_pixels(tmp_path):
    write_map(tmp_path / "map.tif", a_map(crs=None, transform=None))
    with pytest.warns(NotGeoreferencedWarning):
        read = rasterio.open(tmp_path / "map.tif")
    with read:
        assert read.crs is None
        assert read.transform.is_identity


def test_more_clusters_than_a_color_table_holds(tmp_path):
    labels = np.arange(70_000).reshape(700, 100) - 1
    (tmp_path / "map.tif").write_bytes(labels_geotiff(ClusterMap(labels, 69_999, UTM, STRAIGHT)))
    with rasterio.open(tmp_path / "map.tif") as read:
        assert read.dtypes == ("uint32",)
        np.testing.assert_array_equal(read.read(1), labels + 1)


def test_the_type_follows_the_number_of_clusters_not_the_labels_seen():
    assert ClusterMap(np.zeros((2, 2), dtype=int), 300).codes.dtype == np.uint16


def test_the_same_map_gives_the_same_bytes():
    assert map_files("map.tif", a_map()) == map_files("map.tif", a_map())


@needs_gdal
def test_gdal_reads_the_attribute_table(tmp_path):
    written = a_map()
    write_map(tmp_path / "map.tif", written)
    told = gdalinfo(tmp_path / "map.tif")
    table = told["rat"]
    columns = [(column["name"], column["usage"]) for column in table["fieldDefn"]]
    assert columns == [
        ("Value", 5), ("ClassName", 2), ("Count", 1), ("Area_m2", 0), ("Area_ha", 0),
        ("Red", 6), ("Green", 7), ("Blue", 8),
    ]  # fmt: skip
    assert [row["f"] for row in table["row"]] == [
        [c + 1, f"cluster {c + 1}", int(count), count * 900.0, round(count * 0.09, 6), *color]
        for c, (count, color) in enumerate(
            zip(written.counts.tolist(), cluster_colors(3).tolist(), strict=True)
        )
    ]
    [band] = told["bands"]
    assert band["categories"] == ["no data", "cluster 1", "cluster 2", "cluster 3"]
    assert band["noDataValue"] == 0
    assert band["description"] == "cluster"


def test_the_style_names_and_colors_every_cluster():
    style = ElementTree.fromstring(map_files("map.tif", a_map(40))["map.qml"])
    entries = style.findall("./pipe/rasterrenderer[@type='paletted']/colorPalette/paletteEntry")
    assert [(int(e.get("value")), e.get("label"), e.get("color")) for e in entries] == [
        (c + 1, f"cluster {c + 1}", "#{:02x}{:02x}{:02x}".format(*color))
        for c, color in enumerate(cluster_colors(40))
    ]


def test_real_values_keep_their_holes(tmp_path):
    values = np.array([[0.25, np.nan], [1.0, 0.0]], dtype=np.float32)
    (tmp_path / "values.tif").write_bytes(values_geotiff(values, "confidence", UTM, STRAIGHT))
    with rasterio.open(tmp_path / "values.tif") as read:
        assert np.isnan(read.nodata)
        assert read.descriptions == ("confidence",)
        np.testing.assert_array_equal(read.read(1), values)
        assert read.read(1, masked=True).mask.tolist() == [[False, True], [False, False]]


def test_labels_that_are_no_map_are_refused():
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        ClusterMap(np.array([0, 1, 1]), 2)
    with pytest.raises(ParameterError, match="n_clusters=1 but a label is 1"):
        ClusterMap(np.array([[0, 1]]), 1)
    with pytest.raises(DataError, match="must be integers"):
        ClusterMap(np.array([[0.5, 1]]), 2)


# Areas


def test_areas_follow_the_ground_units():
    feet = rasterio.CRS.from_epsg(2263).to_wkt()  # US survey feet
    square_foot = (1200 / 3937) ** 2
    np.testing.assert_allclose(
        pixel_areas(2, feet, (10.0, 0, 0, 0, -10.0, 0)), 100 * square_foot, rtol=1e-12
    )
    assert pixel_areas(1, UTM, ROTATED) == pytest.approx([25**2 + 12**2])
    assert pixel_areas(1, None, STRAIGHT) is None
    assert pixel_areas(1, UTM, None) is None
    assert pixel_areas(1, "nonsense", STRAIGHT) is None
    assert pixel_areas(1, DEGREES, (1.0, 0.1, 0, 0.1, -1.0, 0)) is None


def test_degrees_cover_the_earth():
    of_row = pixel_areas(180, DEGREES, (1.0, 0.0, -180.0, 0.0, -1.0, 90.0))
    assert of_row.sum() * 360 == pytest.approx(510_065_621.724e6, rel=1e-9)  # WGS 84, m2
    assert of_row[0] < of_row[45] < of_row[90]
    moon = rasterio.CRS.from_string("+proj=longlat +R=1737400").to_wkt()
    of_row = pixel_areas(180, moon, (1.0, 0.0, -180.0, 0.0, -1.0, 90.0))
    assert of_row.sum() * 360 == pytest.approx(4 * np.pi * 1_737_400**2)
    assert ClusterMap(np.array([[0]]), 1).areas is None


# Swath to map


def test_labels_of_a_swath_are_carried_to_the_map():
    lookup = Orthorectification(
        rows=np.array([[0, -1, 1]], dtype=np.int32),
        cols=np.array([[1, -1, 0]], dtype=np.int32),
        crs=DEGREES,
        transform=(0.5, 0.0, 10.0, 0.0, -0.5, 50.0),
    )
    scene = Scene(np.ones((2, 2, 3)), orthorectify=lookup)
    found = map_of(scene, np.array([[0, 1], [2, -1]]), 3)
    assert found.labels.tolist() == [[1, -1, 2]]
    assert (found.crs, found.transform) == (lookup.crs, lookup.transform)
    values = to_map_grid(scene, np.array([[0.1, 0.2], [0.3, np.nan]]), np.nan)
    np.testing.assert_array_equal(values, [[0.2, np.nan, 0.3]])


# ENVI


@pytest.mark.parametrize("n_clusters", [3, 300])
@pytest.mark.parametrize(("crs", "transform"), [(UTM, STRAIGHT), (LAEA, STRAIGHT), (UTM, ROTATED)])
def test_an_envi_map_is_read_by_others(tmp_path, n_clusters, crs, transform):
    import spectral

    written = a_map(n_clusters, crs=crs, transform=transform)
    write_all(tmp_path, envi_map_files("map", written, "a {field}, 2020"))
    with rasterio.open(tmp_path / "map.dat") as read:
        assert read.driver == "ENVI"
        assert read.crs == rasterio.CRS.from_wkt(crs)
        assert tuple(read.transform)[:6] == pytest.approx(transform)
        assert read.nodata == 0
        np.testing.assert_array_equal(read.read(1), written.labels + 1)
    image = spectral.open_image(str(tmp_path / "map.hdr"))
    np.testing.assert_array_equal(image.read_band(0), written.labels + 1)
    header = image.metadata
    assert header["file type"] == "ENVI Classification"
    assert header["classes"] == str(n_clusters + 1)
    assert header["class names"] == ["no data", *written.names]
    lookup = np.array(header["class lookup"], dtype=int).reshape(-1, 3)
    np.testing.assert_array_equal(lookup[1:], written.colors)


@needs_gdal
def test_gdal_reads_the_classes_of_an_envi_map(tmp_path):
    write_all(tmp_path, envi_map_files("map", a_map(), "field"))
    [band] = gdalinfo(tmp_path / "map.dat")["bands"]
    assert band["categories"] == ["no data", "cluster 1", "cluster 2", "cluster 3"]
    assert band["colorTable"]["entries"][1][:3] == [0, 114, 178]


def test_an_envi_map_without_a_place_says_nothing_of_one():
    header = envi_map_files("map", a_map(crs=None, transform=None), "field")["map.hdr"]
    assert b"map info" not in header


# Spectra


@pytest.fixture
def clustered():
    rng = np.random.default_rng(0)
    cube = rng.uniform(size=(6, 5, 4)).astype(np.float32)
    scene = Scene(
        cube,
        wavelengths=np.array([450.5, 550.0, 650.0, 2200.25]),
        fwhm=np.array([5.0, 5.0, 6.0, 9.5]),
    )
    labels = rng.integers(0, 2, size=(6, 5))
    return scene, labels


def test_the_table_of_spectra(clustered, tmp_path):
    pandas = pytest.importorskip("pandas")
    scene, labels = clustered
    (tmp_path / "spectra.csv").write_bytes(spectra_csv(scene, cluster_spectra(scene, labels)))
    table = pandas.read_csv(tmp_path / "spectra.csv", index_col="band")
    assert table["wavelength_nm"].tolist() == scene.wavelengths.tolist()
    for cluster in (0, 1):
        members = scene.cube[labels == cluster].astype(float)
        np.testing.assert_allclose(table[f"cluster_{cluster + 1}_mean"], members.mean(axis=0))
        np.testing.assert_allclose(table[f"cluster_{cluster + 1}_std"], members.std(axis=0))
    bare = Scene(scene.cube)
    assert spectra_csv(bare, cluster_spectra(bare, labels)).startswith(b"band,cluster_1_mean,")


def test_a_large_scene_is_summed_in_parts(clustered, monkeypatch):
    scene, labels = clustered
    whole = np.array(cluster_spectra(scene, labels))
    monkeypatch.setattr("spectrawalk.results.spectra._BLOCK_VALUES", 40)  # two rows
    np.testing.assert_allclose(np.array(cluster_spectra(scene, labels)), whole, rtol=1e-12)


def test_the_spectral_library_is_read_by_others(clustered, tmp_path):
    import spectral.io.envi

    scene, labels = clustered
    spectra = cluster_spectra(scene, labels)
    write_all(tmp_path, spectral_library_files("spectra", scene, spectra))
    library = spectral.io.envi.open(str(tmp_path / "spectra.hdr"), str(tmp_path / "spectra.sli"))
    assert library.names == ["cluster 1", "cluster 2"]
    np.testing.assert_allclose(library.spectra, [s.mean for s in spectra], rtol=1e-6)
    assert library.bands.centers == scene.wavelengths.tolist()
    assert library.bands.bandwidths == scene.fwhm.tolist()


def test_labels_geotiff_has_no_files_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels_geotiff(a_map())
    assert list(tmp_path.iterdir()) == []
