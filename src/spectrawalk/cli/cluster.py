"""``spectrawalk cluster``: a cube in, a map out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.captions import describe_crop, describe_settings
from spectrawalk.cli.console import results_console, say, watch
from spectrawalk.cli.options import Crop, IntegerOrAuto
from spectrawalk.cli.outputs import MODEL, RESULTS, output_folder, write_results
from spectrawalk.errors import FileError, ParameterError, SpectrawalkError

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
    help="Number of clusters; auto takes the largest drop of D_t from 2 to 30 clusters.",
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
    type=click.Choice(list(_LACKS), case_sensitive=False),
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
    type=click.Choice(["pixel", "global", "band", "none"], case_sensitive=False),
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
    "--nodata",
    type=float,
    metavar="VALUE",
    help="Value that stands for no data; pixels with it in any band are left out.",
)
@click.option(
    "--bands-first",
    is_flag=True,
    help="The file's cube has the shape (bands, rows, cols), as GDAL and rasterio give it.",
)
@click.option(
    "--crop",
    type=Crop(),
    metavar="ROW0:ROW1,COL0:COL1",
    help="Cluster only these rows and columns, counted from 0, the last ones left out.",
)
@click.option("--save-model", is_flag=True, help=f"Also write the fitted model, {MODEL}.")
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in FOLDER.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_context
def cluster(
    context: click.Context,
    scene: str,
    folder: Path,
    method: str,
    variable: str | None,
    nodata: float | None,
    bands_first: bool,
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
    if parameters["normalize"] == "none":
        parameters["normalize"] = None
    with output_folder(folder, RESULTS, overwrite=overwrite), naming_options(context.command):
        with watch("loading", quiet=quiet):
            import spectrawalk

            estimator = getattr(spectrawalk, method.upper())(**parameters)
        with watch("reading", quiet=quiet):
            image = find_scene(scene, variable, nodata=nodata, bands_first=bands_first)
            if crop is not None:
                image = crop_scene(image, *crop, nodata=nodata)
        _cluster(image, estimator, folder, save_model, quiet)


def _cluster(scene: Scene, estimator: Any, folder: Path, save_model: bool, quiet: bool) -> None:
    """Fit, write, print."""
    import spectrawalk
    from spectrawalk.cli import report

    console, method = results_console(), type(estimator).__name__
    report.describe_scene(console, scene)
    with watch(method, quiet=quiet) as clock:
        model = estimator.fit(scene)
    truth = scene.ground_truth
    scores = None
    with watch("writing", quiet=quiet):
        if truth is not None and (truth > 0).any():
            scores = spectrawalk.score(truth, model.labels_)
        files, remarks = write_results(folder, scene, model, scores, save_model=save_model)

    crop = describe_crop(scene.metadata)
    say(console, describe_settings(model) + (f"; {crop}" if crop else ""))
    report.describe_clusters(console, scene, model, scores)
    report.describe_doubts(console, model)
    if scores is not None:
        report.describe_scores(console, scores)
    report.describe_time(console, {method: clock})
    say(console)
    report.describe_files(console, files, remarks)


@contextmanager
def naming_options(command: click.Command) -> Iterator[None]:
    """Let errors about a parameter speak of the option that sets it."""
    try:
        yield
    except SpectrawalkError as error:
        told = in_options(str(error), command.params)
        if told == str(error):
            raise
        raise type(error)(told) from error


def in_options(message: str, params: Sequence[click.Parameter]) -> str:
    """Replace names of Python parameters by those of options.

    A name that is also a word, as time is, is taken for a parameter only before an equals sign.
    """
    for param in params:
        if isinstance(param, click.Option) and param.name:
            ending = r"\b" if "_" in param.name else "(?==)"
            message = re.sub(rf"(?<![\w-]){param.name}{ending}", param.opts[-1], message)
    return re.sub(r"(?<![\w-])(-\w)=", r"\1 ", message)


def find_scene(
    name: str, variable: str | None, *, nodata: float | None = None, bands_first: bool = False
) -> Scene:
    """Read the file called `name`, or else load the published scene of that name."""
    from spectrawalk.datasets import load_scene, scene_names
    from spectrawalk.io import read_scene

    if Path(name).exists():
        return read_scene(name, variable=variable, nodata=nodata, bands_first=bands_first)
    if name not in scene_names():
        raise FileError(
            f"'{name}' does not exist, and no published scene has that name; check the spelling "
            f"and the folder, or choose one of {', '.join(scene_names())}."
        )
    for option, given in (
        (f"--variable={variable}", variable is not None),
        (f"--nodata={nodata}", nodata is not None),
        ("--bands-first", bands_first),
    ):
        if given:
            raise ParameterError(f"{option} is for files; leave it out for '{name}'.")
    return load_scene(name)


def crop_scene(scene: Scene, rows: slice, cols: slice, *, nodata: float | None = None) -> Scene:
    """Cut the given rows and columns out of a scene, and note in its metadata which they are."""
    from spectrawalk.io import scene_from_cube

    n_rows, n_cols = scene.shape
    if rows.stop > n_rows or cols.stop > n_cols:
        raise ParameterError(
            f"--crop={rows.start}:{rows.stop},{cols.start}:{cols.stop} reaches beyond the image "
            f"of {n_rows} rows and {n_cols} columns; use at most 0:{n_rows},0:{n_cols}."
        )
    truth = scene.ground_truth
    of_the_whole = {"constant_pixels", "constant_value"}
    kept = {key: value for key, value in scene.metadata.items() if key not in of_the_whole}
    return scene_from_cube(
        scene.cube[rows, cols],
        name=scene.name,
        source="the part of the scene that --crop takes",
        mask=scene.mask[rows, cols],
        wavelengths=scene.wavelengths,
        ground_truth=None if truth is None else truth[rows, cols],
        class_names=scene.class_names,
        nodata=nodata,
        metadata=kept | {"crop": ((rows.start, rows.stop), (cols.start, cols.stop))},
    )
