"""``spectrawalk explore``: a local web page on a scene or the results of a run."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import FAILED, quiet_option, results_console, say, watch
from spectrawalk.cli.naming import in_words_of_command, naming_options
from spectrawalk.cli.options import FileName
from spectrawalk.cli.run import Run
from spectrawalk.cli.scene_options import band_options, pixel_options, reading_options
from spectrawalk.cli.scene_request import NO_PREPARATION, SceneRequest, given_options
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.report.file_names import RECORD

if TYPE_CHECKING:
    from spectrawalk.explore.runs import Opened

DEMO = "indian-pines-subset"
_PORT = 8765
_BESIDE_RESULTS = {"source", "folder", "port", "no_browser", "quiet"}

_EXAMPLES = """\b
Examples:
  spectrawalk explore
  spectrawalk explore field.hdr -o field-maps
  spectrawalk explore field-map
"""


@click.command(
    short_help="See, change and understand a clustering in the browser.", epilog=_EXAMPLES
)
@click.argument("source", metavar="[SCENE|RESULTS]", type=FileName(), required=False)
@click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for exports and the session; by default RESULTS, or spectrawalk-explore-NAME "
    "for a scene.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=_PORT,
    show_default=True,
    help="Port of the server; if it is in use, the next free one.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@reading_options
@pixel_options
@band_options
@quiet_option()
@click.pass_context
def explore(
    context: click.Context,
    source: str | None,
    folder: Path | None,
    port: int,
    no_browser: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Show a clustering in a page of the browser, where it can be changed and exported.

    RESULTS is the folder of an earlier run. A SCENE is clustered first; its results are kept in
    FOLDER, and used the next time. Without either, a small scene is shown. The page is served from
    this computer to its own user only. Ctrl-C stops it; the steps that were taken are kept.
    """
    from spectrawalk.explore.serve import check_installed, serve

    with naming_options(context.command):
        check_installed()
        results = None if source is None else Path(source)
        if results is not None and (results / RECORD).is_file():
            superfluous = given_options(context, _BESIDE_RESULTS)
            if superfluous:
                raise ParameterError(
                    f"{', '.join(superfluous)} cannot be given with a results folder, which says "
                    "how its scene was read; leave it out."
                )
            _refuse_tiles(results)
            home = folder or results
            open_run = partial(_open_results, results, folder, quiet=quiet)
        else:
            request = _requested_scene(source, options)
            home = folder or Path(f"spectrawalk-explore-{Path(request.source).stem}")
            open_run = partial(_open_scene, request, home, quiet=quiet)

        def open_naming_options() -> Opened:
            with naming_options(context.command):  # in the thread that opens the scene
                return open_run()

        shown = serve(
            open_naming_options, port, home, partial(_tell, no_browser=no_browser), _tell_failure
        )
    if not shown:
        context.exit(FAILED)


def _refuse_tiles(results: Path) -> None:
    """Refuse the results of a run in tiles."""
    if (Run.from_record(results / RECORD, None).earlier or {}).get("tiles"):
        raise FileError(
            f"'{results}' holds the results of a run in tiles, and the explorer needs a scene that "
            "fits into memory; explore a part of the scene: `spectrawalk explore SCENE --crop "
            "ROW0:ROW1,COL0:COL1`, or open labels.tif in QGIS."
        )


def _tell(address: str, *, no_browser: bool) -> None:
    """Print the address, and open it."""
    console = results_console()
    say(console, f"The explorer is at {address}")
    say(console, "The address works once. Press Ctrl-C to stop.")
    sys.stdout.flush()
    if not no_browser:
        import webbrowser

        webbrowser.open(address)


def _tell_failure(sentence: str) -> None:
    click.echo("Error: " + " ".join(in_words_of_command(sentence).split()), err=True)


def _requested_scene(source: str | None, options: dict[str, Any]) -> SceneRequest:
    request = SceneRequest.from_options(source or DEMO, options)
    if request.is_file and not Path(request.source).exists():
        request.read()  # says so
    return request if source is not None else replace(request, **NO_PREPARATION)


def _open_scene(request: SceneRequest, folder: Path, *, quiet: bool) -> Opened:
    """Cluster a scene and keep the results, or take those of the last time."""
    from spectrawalk.cli.outputs import output_folder

    if (folder / RECORD).is_file():
        earlier = Run.from_record(folder / RECORD, None)
        if earlier.request.to_record() != request.to_record():
            raise FileError(
                f"'{folder}' holds the results of another scene or of other options; choose "
                f"another folder with -o, or explore it as it is: `spectrawalk explore {folder}`."
            )
        return _open_results(folder, None, quiet=quiet)
    run = Run(request, "SpectraWalk", {})
    with output_folder(folder, [RECORD], overwrite=False):
        run.carry_out(folder, [], quiet=quiet, as_json=False, force=False)
    return _open_results(folder, None, quiet=quiet)


def _open_results(results: Path, folder: Path | None, *, quiet: bool) -> Opened:
    """Read the run of a results folder; fit it again if its model was not kept."""
    from spectrawalk.explore.runs import Opened
    from spectrawalk.explore.session import SESSION

    run = Run.from_record(results / RECORD, None)
    with watch("reading", quiet=quiet):
        scene, inputs = run.load()
    model = run.fitted(results, scene, quiet=quiet)
    about = f"{inputs['pixels_sha256']} {run.method} {sorted(run.parameters.items())!r}"
    return Opened(
        scene=scene,
        model=model,
        parameters=run.parameters,
        record=_Recorder(run, inputs),
        output=folder or results,
        session=(folder or results) / SESSION,
        about=about,
        steps=run.steps,
    )


class _Recorder:
    """Makes the records of exports: those of runs with the same scene."""

    def __init__(self, run: Run, inputs: dict[str, Any]) -> None:
        self._run, self._inputs = run, inputs

    def __call__(
        self, result: Any, method: str, parameters: Any, steps: Any, seconds: float
    ) -> dict[str, Any]:
        from datetime import UTC, datetime

        from spectrawalk.cli.console import StageClock

        run = Run(self._run.request, method, dict(parameters), steps=tuple(steps))
        clock = StageClock()
        clock.stop()
        record = run.record(result, self._inputs, datetime.now(UTC), clock)
        record["times"]["seconds"] = round(seconds, 3)
        return record
