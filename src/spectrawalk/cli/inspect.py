"""``spectrawalk inspect``: the contents of a file, and what a run would use of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, watch
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.options import FileName
from spectrawalk.cli.scene_options import band_options, pixel_options, reading_options
from spectrawalk.cli.scene_request import SceneRequest

if TYPE_CHECKING:
    from rich.console import Console

_EXAMPLES = """\b
Examples:
  spectrawalk inspect field.hdr
  spectrawalk inspect EMIT_L2A_RFL_001.nc --json
  spectrawalk inspect field.tif --wavelengths 450:900 --mask fields.geojson
"""


@click.command(
    "inspect",
    short_help="Show a file's contents and what a run would use.",
    epilog=_EXAMPLES,
    context_settings={"show_default": True},
)
@click.argument("source", metavar="SCENE", type=FileName())
@reading_options
@pixel_options
@band_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@quiet_option(json=True)
@click.pass_context
def inspect(
    context: click.Context, source: str, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Show the contents of SCENE, what of it a run would mask or exclude, and what a run needs.

    The options about pixels and bands are those of `cluster`. Nothing is written.
    """
    with naming_options(context.command):
        from spectrawalk import SpectraWalk
        from spectrawalk.cli.report import describe_forecast, describe_scene, forecast
        from spectrawalk.io.run_record import record_json
        from spectrawalk.prepare.inspection import describe

        request = SceneRequest.from_options(source, options)
        with watch("reading", quiet=quiet or as_json):
            scene, prepared = request.read_and_prepare()
            found = describe(scene, prepared)
            expected = forecast(prepared, SpectraWalk())  # the default of `cluster`
    if as_json:
        click.echo(record_json(found | {"forecast": expected}), nl=False)
        return
    console = results_console(quiet=quiet)
    show(console, found)
    describe_scene(console, prepared)
    describe_forecast(console, expected)


def show(console: Console, found: dict[str, Any]) -> None:
    """Print what is in a scene, a line for each thing that is known."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(found):
        if text and console.is_terminal:
            table.add_row(name, text)
        elif text:  # a line stays whole in a file or a pipe
            console.print(f"{name:<12} {text}", soft_wrap=True)
    if console.is_terminal:
        console.print(table)
    console.print()


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    from spectrawalk.results.captions import count

    size = (
        f"{count(found['rows'], 'row')} x {count(found['cols'], 'column')}, {found['bands']} bands"
    )
    low_high = found["values"]
    return [
        ("file", found.get("file", found["name"])),
        ("header", found.get("header", "")),
        ("format", found.get("format", "").removeprefix("a ").removeprefix("an ")),
        ("array", found.get("variable", "")),
        ("size", f"{size}, {_bytes(found['bytes'])} of {found['type']}"),
        ("values", "" if low_high is None else f"{low_high[0]:g} to {low_high[1]:g}"),
        ("no data", "" if found["nodata"] is None else f"{found['nodata']:g}"),
        ("wavelengths", _span(found["wavelengths_nm"], "nm") or "not known"),
        ("widths", _span(found["fwhm_nm"], "nm at half maximum")),
        ("bad bands", _bad_bands(found["bad_bands"])),
        ("place", _place(found)),
    ]


def _span(ends: Sequence[float] | None, unit: str) -> str:
    if ends is None:
        return ""
    low, high = (f"{end:g}" for end in ends)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def _bytes(number: int) -> str:
    return f"{number / 2**20:,.1f} MiB" if number >= 2**20 else f"{number / 2**10:.1f} KiB"


def _bad_bands(bands: list[int]) -> str:
    """List bands, counted from 1 as most programs do, in runs."""
    if not bands:
        return ""
    runs: list[list[int]] = []
    for band in bands:
        if runs and band == runs[-1][1] + 1:
            runs[-1][1] = band
        else:
            runs.append([band, band])
    shown = [f"{low + 1}" if low == high else f"{low + 1}-{high + 1}" for low, high in runs]
    return f"{len(bands)} ({', '.join(shown)}; counted from 1)"


def _place(found: dict[str, Any]) -> str:
    if found["pixel_size"] is None:
        return "not on the map"
    width, height = found["pixel_size"]
    x, y = found["upper_left"]
    crs = found["crs"] or "unknown coordinate system"
    swath = "; in sensor geometry, with a table to lay it out" * found["needs_orthorectification"]
    size = f"{width:g} x {height:g} {found['unit'] or ''}".rstrip()
    return f"{crs}, pixels of {size}, upper left corner {x:.10g}, {y:.10g}{swath}"
