"""``spectrawalk cluster``: a cube in, a map out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import results_console, say, watch
from spectrawalk.cli.options import Crop, IntegerOrAuto
from spectrawalk.cli.outputs import LABELS, MAP, MODEL, OVERVIEW, output_folder, write_results
from spectrawalk.errors import FileError, ParameterError

if TYPE_CHECKING:
    from spectrawalk import Scene

# Parameters that a method lacks: DL has neither a window nor a consensus.
_LACKS = {"srdl": (), "dlss": ("radius",), "dl": ("radius", "consensus_radius")}

_EXAMPLES = """\b
Examples:
  spectrawalk cluster field.npy -o field-map
  spectrawalk cluster field.mat -k 6 --variable cube -o field-map --overwrite
  spectrawalk cluster salinas-a -k 6 --radius 20 --eigenpairs 6 -o salinas
"""


@click.command(
    short_help="Cluster a scene and write a map of it.",
    epilog=_EXAMPLES,
    context_settings={"show_default": True},
)
@click.argument("scene", metavar="SCENE")
@click.option(
    "-k",
    "n_clusters",
    type=IntegerOrAuto(1),
    metavar="K|auto",
    default="auto",
    help="Number of clusters; auto finds one.",
)
@click.option(
    "-o",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="Folder for the results; made if need be.",
)
@click.option(
    "--method",
    type=click.Choice(list(_LACKS)),
    default="srdl",
    help="SRDL; DLSS, which has no window; or DL, which does not look at space at all.",
)
@click.option(
    "--radius",
    type=click.IntRange(min=1),
    metavar="R",
    default=8,
    help="Half-width of the window in which a pixel's neighbours are sought, in pixels.",
)
@click.option(
    "--neighbors",
    "n_neighbors",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    help="Neighbours of a pixel in the graph.",
)
@click.option(
    "--eigenpairs",
    "n_eigenpairs",
    type=IntegerOrAuto(2),
    metavar="M|auto",
    default="auto",
    help="Eigenpairs of the diffusion; auto looks where the eigenvalues taper.",
)
@click.option(
    "--time",
    type=click.FloatRange(min=0, min_open=True),
    metavar="T",
    default=30.0,
    help="Diffusion time: the longer, the coarser.",
)
@click.option(
    "--sigma",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    default=1.0,
    help="Spectral distance at which the weight of an edge has fallen to 1/e.",
)
@click.option(
    "--normalize",
    type=click.Choice(["pixel", "global", "band", "none"]),
    default="pixel",
    help="How spectra are scaled: each to length 1, all by one factor, each band, or not at all.",
)
@click.option(
    "--consensus-radius",
    type=click.IntRange(min=0),
    metavar="R",
    default=3,
    help="Half-width of the window in which neighbours agree on a label; 0 for none.",
)
@click.option("--variable", metavar="NAME", help="Array to read, in a file that holds several.")
@click.option(
    "--crop",
    type=Crop(),
    metavar="ROW0:ROW1,COL0:COL1",
    help="Cluster only these rows and columns, counted from 0, the last ones left out.",
)
@click.option("--save-model", is_flag=True, help=f"Also write the fitted model, {MODEL}.")
@click.option("--overwrite", is_flag=True, help="Replace results that are in FOLDER already.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_context
def cluster(
    context: click.Context,
    scene: str,
    folder: Path,
    method: str,
    variable: str | None,
    crop: tuple[slice, slice] | None,
    save_model: bool,
    overwrite: bool,
    quiet: bool,
    **parameters: Any,
) -> None:
    """Cluster the pixels of SCENE and write a map of the clusters to FOLDER.

    SCENE is a .npy, .npz or .mat file with a cube of shape (rows, cols, bands), or the name of a
    published scene such as salinas-a. Pixels that are zero in every band, or have a NaN or infinite
    value, are left out.

    FOLDER receives labels.npy (clusters from 1, 0 for no data), labels.png and overview.png.
    """
    for name in _LACKS[method]:
        value = parameters.pop(name)
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option}={value} has no meaning for {method}; leave it out.")
    names = [LABELS, MAP, OVERVIEW] + [MODEL] * save_model
    with output_folder(folder, names, overwrite=overwrite):
        _cluster(scene, variable, crop, method, parameters, folder, save_model, quiet)


def _cluster(
    name: str,
    variable: str | None,
    crop: tuple[slice, slice] | None,
    method: str,
    parameters: dict[str, Any],
    folder: Path,
    save_model: bool,
    quiet: bool,
) -> None:
    import spectrawalk
    from spectrawalk.cli import report

    console = results_console()
    with watch("reading", quiet=quiet):
        scene = find_scene(name, variable)
    if crop is not None:
        scene = crop_scene(scene, *crop)
    report.describe_scene(console, scene)

    estimator = {"srdl": spectrawalk.SRDL, "dlss": spectrawalk.DLSS, "dl": spectrawalk.DL}[method]
    if parameters["normalize"] == "none":
        parameters["normalize"] = None
    with watch(estimator.__name__, quiet=quiet) as clock:
        model = estimator(**parameters).fit(scene)
    truth = scene.ground_truth
    scores = None
    if truth is not None and (truth > 0).any():
        scores = spectrawalk.score(truth, model.labels_)
    files, remarks = write_results(folder, scene, model, scores, save_model=save_model)

    report.describe_clusters(console, scene, model, scores)
    if scores is not None:
        report.describe_scores(console, scores)
    report.describe_time(console, {estimator.__name__: clock})
    say(console)
    report.describe_files(console, files, remarks)


def find_scene(name: str, variable: str | None) -> Scene:
    """Read the file called `name`, or else load the published scene of that name."""
    from spectrawalk.datasets import load_scene, scene_names
    from spectrawalk.io import read_scene

    if Path(name).exists():
        return read_scene(name, variable=variable)
    if name not in scene_names():
        raise FileError(
            f"'{name}' does not exist, and no published scene has that name; check the spelling "
            f"and the folder, or choose one of {', '.join(scene_names())}."
        )
    if variable is not None:
        raise ParameterError(f"--variable={variable} is for files; leave it out for '{name}'.")
    return load_scene(name)


def crop_scene(scene: Scene, rows: slice, cols: slice) -> Scene:
    """Cut the given rows and columns out of a scene."""
    from spectrawalk.io import scene_from_cube

    n_rows, n_cols = scene.shape
    if rows.stop > n_rows or cols.stop > n_cols:
        raise ParameterError(
            f"--crop={rows.start}:{rows.stop},{cols.start}:{cols.stop} reaches beyond the image "
            f"of {n_rows} rows and {n_cols} columns; use at most 0:{n_rows},0:{n_cols}."
        )
    truth = scene.ground_truth
    return scene_from_cube(
        scene.cube[rows, cols],
        name=scene.name,
        source="the part of the scene that --crop takes",
        mask=scene.mask[rows, cols],
        wavelengths=scene.wavelengths,
        ground_truth=None if truth is None else truth[rows, cols],
        class_names=scene.class_names,
        metadata=scene.metadata,
    )
