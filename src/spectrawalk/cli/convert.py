"""``spectrawalk convert``: a scene in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectrawalk.cli.console import quiet_option, results_console, say, watch
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.options import Crop, FileName
from spectrawalk.cli.scene_options import reading_options
from spectrawalk.cli.scene_request import SceneRequest

if TYPE_CHECKING:
    from spectrawalk import Scene

_EXAMPLES = """\b
Examples:
  spectrawalk convert field.mat field.tif
  spectrawalk convert EMIT_L2A_RFL_001.nc reflectance.hdr
  spectrawalk convert PRS_L2D_STD.he5 corner.zarr --crop 0:200,0:200
"""


@click.command(short_help="Write a scene in another format.", epilog=_EXAMPLES)
@click.argument("source", metavar="SCENE", type=FileName())
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@reading_options
@click.option(
    "--crop",
    type=Crop(),
    metavar="ROW0:ROW1,COL0:COL1",
    help="Write only these rows and columns, counted from 0; ROW1 and COL1 are excluded.",
)
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@quiet_option()
@click.pass_context
def convert(
    context: click.Context,
    source: str,
    target: Path,
    variable: str | None,
    nodata: float | None,
    bands_first: bool,
    crop: tuple[slice, slice] | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Write SCENE to OUT, in the format that the extension of OUT names.

    .tif is GeoTIFF; .hdr, .img or .dat is ENVI; .zarr, .mat (version 5) and .npy are arrays.
    Wavelengths, widths, bad bands, names and the place on the map are kept where the format holds
    them. Masked pixels get a value that stands for no data. All bands are kept. An EMIT scene is
    laid out on its map in GeoTIFF and ENVI.
    """
    with naming_options(context.command):
        from spectrawalk.io.lock import hold_lock, lock_beside
        from spectrawalk.io.scene_writers import check_target, write_scene, written_files

        check_target(target, overwrite=overwrite)
        request = SceneRequest(source, variable=variable, nodata=nodata, bands_first=bands_first)
        lock = lock_beside(written_files(target)[0])
        with hold_lock(lock, f"'{target}'", "wait for its end, or give another name."):
            with watch("reading", quiet=quiet):
                scene = _read(request, crop)
            with watch("writing", quiet=quiet):
                written = write_scene(target, scene, overwrite=overwrite)
    console = results_console(quiet=quiet)
    rows, cols = scene.shape
    masked = scene.mask.size - scene.n_valid
    say(
        console,
        f"{scene.name}: {rows} x {cols} pixels, {scene.n_bands} bands, {scene.cube.dtype}, "
        f"{masked:,} masked",
    )
    for path in written:
        console.print(str(path), soft_wrap=True)


def _read(request: SceneRequest, crop: tuple[slice, slice] | None) -> Scene:
    """Read a scene, of a file no more than the part that is wanted."""
    if crop is None:
        return request.read()
    if not request.is_file:
        return request.read().crop(*crop)
    top_bottom, left_right = ((part.start, part.stop) for part in crop)
    return request.read(part=(top_bottom, left_right))
