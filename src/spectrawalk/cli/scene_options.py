"""Options about a scene that commands share: how to read it, and what of it to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import click

from spectrawalk.cli.options import Crop, WavelengthRange


def _switch(option: str, name: str, action: str, what: str) -> Callable[[Any], Any]:
    """Make an option that excludes something, or keeps it."""
    return click.option(
        option, name, type=click.Choice([action, "keep"]), default=action, help=what
    )


_READING = (
    click.option("--variable", metavar="NAME", help="Array to read, in a file that holds several."),
    click.option(
        "--nodata",
        type=float,
        metavar="VALUE",
        help="Value that stands for no data; pixels with it in any band are excluded.",
    ),
    click.option(
        "--bands-first",
        is_flag=True,
        help="The file's cube has the shape (bands, rows, cols), as GDAL and rasterio give it.",
    ),
)

_PIXELS = (
    click.option(
        "--crop",
        type=Crop(),
        metavar="ROW0:ROW1,COL0:COL1",
        help="Use only these rows and columns, counted from 0; ROW1 and COL1 are excluded.",
    ),
    click.option(
        "--mask",
        "mask_file",
        metavar="FILE",
        help="Raster of the same size, not 0 where pixels are to be used; or polygons "
        "(GeoJSON; GeoPackage and Shapefile with the extra vector).",
    ),
    _switch("--saturated", "mask_saturated", "mask", "Pixels with a saturated band."),
    click.option(
        "--saturation",
        type=float,
        metavar="VALUE",
        help="Value at which the sensor is full, if it is not the largest of the file's type.",
    ),
)

_BANDS = (
    click.option(
        "--wavelengths",
        "band_ranges",
        type=WavelengthRange(),
        metavar="LOW:HIGH",
        multiple=True,
        help="Use only bands in this range, in nm; may be given several times.",
    ),
    _switch("--bad-bands", "drop_bad_bands", "drop", "Bands that the file calls bad."),
    _switch(
        "--water-bands",
        "drop_water_bands",
        "drop",
        "Bands in which water vapour absorbs all light: 1350-1450 and 1800-1950 nm.",
    ),
    _switch(
        "--constant-bands", "drop_constant_bands", "drop", "Bands that have one value everywhere."
    ),
    click.option(
        "--overlap",
        type=click.Choice(["vnir", "swir", "middle", "keep"]),
        default="vnir",
        help="Where two detectors see the same wavelengths: which of them to use.",
    ),
    click.option(
        "--no-preparation",
        is_flag=True,
        help="Keep all bands, and all pixels that hold data; --crop, --mask and --wavelengths "
        "still count.",
    ),
)

Command = Callable[..., Any]


def reading_options(command: Command) -> Command:
    """Add options that say how a file is read."""
    return _add(_READING, command)


def pixel_options(command: Command) -> Command:
    """Add options that say which pixels are used."""
    return _add(_PIXELS, command)


def band_options(command: Command) -> Command:
    """Add options that say which bands are used."""
    return _add(_BANDS, command)


def _add(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    return reduce(lambda inner, option: option(inner), reversed(options), command)
