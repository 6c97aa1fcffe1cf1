"""Names, units and ellipsoids of coordinate reference systems."""

import numpy as np
import pytest
from rasterio.crs import CRS

from spectrawalk import Scene
from spectrawalk.prepare.bands import prepare_scene
from spectrawalk.prepare.inspection import describe
from spectrawalk.results.cluster_map import pixel_areas
from spectrawalk.scene.georeference import crs_ellipsoid, crs_name, crs_unit

FEET = "EPSG:2263"


@pytest.mark.parametrize(
    ("crs", "name", "unit"),
    [
        ("EPSG:32633", "WGS 84 / UTM zone 33N", "m"),
        ("EPSG:4326", "WGS 84", "degrees"),
        (FEET, "NAD83 / New York Long Island (ftUS)", "US survey foot"),
        ("EPSG:4807", "NTF (Paris)", "grads"),
        ("EPSG:7415", "Amersfoort / RD New + NAP height", "m"),
        ('LOCAL_CS["my field",UNIT["metre",1]]', "my field", "m"),
    ],
)
@pytest.mark.parametrize("version", ["given", "WKT1_GDAL", "WKT2_2019"])
def test_name_and_unit_in_every_dialect(crs, name, unit, version):
    if version != "given":
        crs = CRS.from_user_input(crs).to_wkt(version=version)
    assert crs_name(crs) == name
    assert crs_unit(crs) == unit


@pytest.mark.parametrize("crs", [None, "", "nonsense", 'PROJCS["cut short"'])
def test_what_is_no_system(crs):
    assert crs_name(crs) is None
    assert crs_unit(crs) is None
    assert crs_ellipsoid(crs) is None


@pytest.mark.parametrize(
    ("crs", "semi_major", "flattening"),
    [
        ("EPSG:4326", 6378137.0, 1 / 298.257223563),
        ("EPSG:4807", 6378249.2, 1 - 6356515 / 6378249.2),
        ("+proj=longlat +R=6371000", 6371000.0, 0.0),
        ("EPSG:32633", 6378137.0, 1 / 298.257223563),
        ("EPSG:4293", 6377483.865280419, 1 / 299.1528128),  # in German legal metres
    ],
)
def test_ellipsoids(crs, semi_major, flattening):
    found = crs_ellipsoid(crs)
    assert found == pytest.approx((semi_major, flattening), rel=1e-9, abs=1e-12)


def test_areas_on_any_ellipsoid_cover_it():
    whole = (1.0, 0.0, -180.0, 0.0, -1.0, 90.0)
    sphere = pixel_areas(180, "+proj=longlat +R=6371000", whole).sum() * 360
    assert sphere == pytest.approx(4 * np.pi * 6371000**2, rel=1e-12)
    earth = pixel_areas(180, "EPSG:4326", whole).sum() * 360
    assert earth == pytest.approx(510_065_621_724_000, rel=1e-9)
    assert pixel_areas(3, 'LOCAL_CS["my field",UNIT["metre",1]]', whole) is None


def test_inspect_tells_them():
    cube = np.random.default_rng(0).random((3, 4, 5))
    scene = Scene(cube, crs=CRS.from_user_input(FEET).to_wkt(), transform=(10, 0, 0, 0, -10, 0))
    told = describe(scene, prepare_scene(scene)[0])
    assert told["crs"] == "NAD83 / New York Long Island (ftUS)"
    assert told["unit"] == "US survey foot"
    unknown = Scene(cube, crs="a system of my own", transform=(10, 0, 0, 0, -10, 0))
    assert describe(unknown, prepare_scene(unknown)[0])["crs"] == "a system of my own"
