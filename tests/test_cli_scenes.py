"""The commands ``inspect`` and ``convert``."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from product_files import (
    CUBE,
    WAVELENGTHS,
    write_emit,
    write_enmap,
    write_envi,
    write_geotiff,
    write_prisma,
)

import spectrawalk
from spectrawalk import Scene, read_scene
from spectrawalk.cli import main
from spectrawalk.io.scene_writers import write_scene


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*args):
    return CliRunner().invoke(main, list(map(str, args)), catch_exceptions=False)


def refused(*args) -> str:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[-1].startswith("Error: ")
    return lines[-1]


def test_inspect_tells_what_is_there():
    write_envi(
        Path("field.img"),
        wavelength=WAVELENGTHS.tolist(),
        bbl=[1, 0, 0, 1, 1, 0],
        map_info="{UTM, 1, 1, 500000, 4000000, 30, 30, 33, North, WGS-84, units=Meters}",
    )
    result = run("inspect", "field.hdr")
    assert result.exit_code == 0
    for line in (
        "format       ENVI file",
        "size         7 rows x 5 columns, 6 bands, 0.4 KiB of uint16",
        "wavelengths  450.5 to 2200 nm",
        "bad bands    3 (2-3, 6; counted from 1)",
        "place        WGS 84 / UTM zone 33N, pixels of 30 x 30 m, "
        "upper left corner 500000, 4000000",
        "field: 7 rows x 5 columns, 3 bands, 35 pixels to cluster",
        "3 bands are excluded: called bad by the file, or empty",
    ):
        assert line in result.stdout.splitlines()


@pytest.mark.parametrize("write", [write_emit, write_prisma, write_enmap])
def test_inspect_as_json(write):
    write(Path("product"))
    result = run("inspect", "product", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["rows"], found["cols"]) == (7, 5)
    assert found["crs"].startswith("WGS 84")
    assert found["used"]["bands"] == found["bands"] - 1
    assert len(found["used"]["kept_bands"]) == found["used"]["bands"]
    assert found["used"]["pixels"] <= 35


def test_inspect_takes_the_options_of_cluster():
    write_envi(Path("field.img"), wavelength=WAVELENGTHS.tolist())
    np.save("mask.npy", np.arange(35).reshape(7, 5) < 10)
    options = ["--wavelengths", "400:700", "--mask", "mask.npy", "--crop", "0:4,0:5"]
    found = json.loads(run("inspect", "field.hdr", "--json", *options).stdout)
    assert found["used"]["bands"] == 3
    assert found["used"]["pixels"] == 10
    assert (found["used"]["rows"], found["rows"]) == (4, 7)


@pytest.mark.parametrize("target", ["out.tif", "out.hdr", "out.zarr", "out.mat", "out.npy"])
def test_convert_writes_what_the_extension_says(target):
    write_geotiff(Path("field.tif"))
    result = run("convert", "field.tif", target)
    assert result.exit_code == 0
    assert target in result.stdout.splitlines()
    variable = {"variable": "cube"} if target == "out.mat" else {}
    np.testing.assert_array_equal(read_scene(target, **variable).cube, CUBE)
    assert "exists" in refused("convert", "field.tif", target)
    assert run("convert", "field.tif", target, "--overwrite", "--crop", "1:3,0:2").exit_code == 0
    np.testing.assert_array_equal(read_scene(target, **variable).cube, CUBE[1:3, :2])


def test_a_crop_of_a_huge_file_reads_no_more_than_that():
    with Path("big.img").open("wb") as file:
        file.truncate(100_000 * 100_000 * 20)  # 200 GB, of which the disk holds nothing
        file.seek(100_000 * 7 + 3)
        file.write(bytes(range(1, 20)))
    Path("big.hdr").write_text(
        "ENVI\nsamples=100000\nlines=100000\nbands=20\ndata type=1\ninterleave=bsq\n"
    )
    crop = ["--crop", "7:9,3:22", "--quiet"]
    found = json.loads(run("inspect", "big.hdr", "--json", "--no-preparation", *crop).stdout)
    assert (found["rows"], found["cols"], found["used"]["pixels"]) == (2, 19, 19)
    assert run("convert", "big.hdr", "part.npy", *crop).exit_code == 0
    assert np.load("part.npy")[0, :, 0].tolist() == list(range(1, 20))


def test_convert_knows_published_scenes():
    assert run("convert", "indian-pines-subset", "pines.tif", "--quiet").exit_code == 0
    assert read_scene("pines.tif").shape == (50, 25)


@pytest.mark.parametrize("command", [["inspect"], ["convert"]])
def test_files_that_cannot_be_read(command):
    end = ["out.tif"] if command == ["convert"] else []
    Path("empty.tif").touch()
    Path("web.tif").write_text("<html>")
    write_envi(Path("lone.img"))
    Path("lone.img").unlink()
    write_envi(Path("few.img"), wavelength=[1, 2])
    np.save("field.npy", CUBE)
    for name, message in (
        ("gone.tif", "does not exist"),
        ("empty.tif", "is empty"),
        ("web.tif", "is not a GeoTIFF file"),
        ("lone.hdr", "header without its binary file"),
        ("few.hdr", "2 values of 'wavelength' for 6 bands"),
    ):
        assert message in refused(*command, name, *end, "--quiet")
    assert "without a name" in refused(*command, "field.npy", *end, "--variable", "x", "--quiet")
    crop = ["--crop", "0:99,0:5", "--quiet"]
    assert "--crop=0:99,0:5 reaches beyond" in refused(*command, "field.npy", *end, *crop)
    assert not Path("out.tif").exists()


def test_masks_that_do_not_fit():
    write_geotiff(Path("field.tif"))
    write_geotiff(Path("small.tif"), np.ones((3, 5, 1), dtype=np.uint8))
    write_geotiff(Path("far.tif"), np.ones((7, 5, 1), dtype=np.uint8), crs=32632)
    inspect = ["inspect", "field.tif", "--quiet", "--mask"]
    assert "3 x 5 pixels but the scene has 7 x 5" in refused(*inspect, "small.tif")
    assert "UTM zone 32N but the scene in WGS 84 / UTM zone 33N" in refused(*inspect, "far.tif")
    assert "does not exist" in refused(*inspect, "gone.tif")


def test_convert_to_places_that_cannot_be():
    np.save("field.npy", CUBE)
    assert "end in .tif" in refused("convert", "field.npy", "out.doc", "--quiet")
    assert "no folder" in refused("convert", "field.npy", "gone/out.tif", "--quiet")


def test_wavelengths_in_micrometres_are_given_back_in_nanometres():
    write_scene("field.tif", Scene(CUBE, wavelengths=WAVELENGTHS))
    told = refused("inspect", "field.tif", "--wavelengths", "0.45:0.9", "--quiet")
    assert told == (
        "Error: --wavelengths holds 0.45:0.9, which looks like micrometres; give nanometres: "
        "450:900."
    )
    assert run("inspect", "field.tif", "--wavelengths", "450:900", "--quiet").exit_code == 0


class TestErrorsNameOptions:
    """The library speaks of parameters, the command line of its options."""

    def test_overwrite(self):
        np.save("field.npy", CUBE)
        Path("field.tif").touch()
        told = refused("convert", "field.npy", "field.tif", "--quiet")
        assert told == "Error: 'field.tif' exists; give another name, or set --overwrite."

    def test_options_for_arrays(self):
        write_geotiff(Path("field.tif"))
        told = refused("inspect", "field.tif", "--variable", "x", "--quiet")
        assert told == (
            "Error: 'field.tif' is a GeoTIFF file, which has no named arrays; do not give "
            "--variable."
        )
        told = refused("inspect", "field.tif", "--bands-first", "--quiet")
        assert told == (
            "Error: 'field.tif' is a GeoTIFF file, which knows the order of its axes; do not give "
            "--bands-first."
        )

    def test_no_library_text_names_an_option(self):
        """The names of options belong to the command line alone."""
        source = Path(spectrawalk.__file__).parent
        option = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
        for folder in ("io", "scene", "prepare", "datasets"):
            for file in (source / folder).glob("*.py"):
                tree = ast.parse(file.read_text(encoding="utf-8"))
                for text in (each for each in ast.walk(tree) if isinstance(each, ast.Constant)):
                    if isinstance(text.value, str) and "spectrawalk cluster" not in text.value:
                        assert not option.search(text.value), f"{file.name}: {text.value}"
