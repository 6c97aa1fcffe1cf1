"""``spectrawalk score``: how well a map agrees with ground truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import results_console, warn
from spectrawalk.cli.naming import naming
from spectrawalk.cli.options import FileName
from spectrawalk.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from spectrawalk import Scores

_EXAMPLES = """\b
Examples:
  spectrawalk score field-map/labels.tif field-truth.tif
  spectrawalk score salinas/labels.npy salinas-a
  spectrawalk score labels.mat truth.mat --truth-variable gt --json
"""


@click.command(short_help="Score a map against ground truth.", epilog=_EXAMPLES)
@click.argument("map_file", metavar="MAP", type=FileName())
@click.argument("truth", metavar="TRUTH", type=FileName())
@click.option("--map-variable", metavar="NAME", help="Array of MAP, in a file that holds several.")
@click.option(
    "--truth-variable", metavar="NAME", help="Array of TRUTH, in a file that holds several."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def score(
    context: click.Context,
    map_file: str,
    truth: str,
    map_variable: str | None,
    truth_variable: str | None,
    as_json: bool,
) -> None:
    """Print how well the clusters of MAP agree with the classes of TRUTH.

    Both are rasters (GeoTIFF, ENVI) or arrays (.npy, .npz, .mat) of one shape. In MAP 0 is no data,
    in TRUTH it is unknown: only pixels with a class are scored, and one without a cluster counts as
    wrong. TRUTH may also be the name of a published scene.
    """
    import spectrawalk
    from spectrawalk.io.run_record import record_json

    with naming(variable="--map-variable"):
        labels, map_place = _read(map_file, map_variable)
    with naming(variable="--truth-variable"):
        classes, names, truth_place = _read_truth(truth, truth_variable)
    if labels.shape != classes.shape:
        raise DataError(
            f"'{map_file}' is {_size(labels)} pixels and '{truth}' is {_size(classes)}; give a map "
            "and ground truth of the same image."
        )
    if map_place and truth_place and not _same_place(map_place, truth_place):
        raise DataError(
            f"'{map_file}' and '{truth}' lie in different places or coordinate systems; bring them "
            "to one grid first."
        )
    scores = spectrawalk.score(classes, labels, no_label=0)
    _warn_if_exchanged(map_file, truth, classes, labels, scores.oa)
    rows = class_rows(classes, labels, scores, names)
    if as_json:
        click.echo(record_json(asdict(scores) | {"classes": rows}), nl=False)
        return
    console = results_console()
    _show(console, rows)
    from spectrawalk.cli.report import describe_scores

    describe_scores(console, scores)


def _warn_if_exchanged(
    map_file: str, truth: str, classes: NDArray[Any], labels: NDArray[Any], oa: float
) -> None:
    """Warn where the map seems to stand in the place of the ground truth."""
    import numpy as np

    from spectrawalk.io.own_maps import is_own_map
    from spectrawalk.results.scores import accuracy_if_exchanged

    if is_own_map(map_file):
        return
    if Path(truth).is_file() and is_own_map(truth):
        warn(
            f"'{truth}' is a map of clusters that spectrawalk wrote, but stands second, where the "
            "ground truth belongs; exchange the two files."
        )
        return
    better = accuracy_if_exchanged(classes, labels, oa)
    if better is not None:
        known = classes > 0
        lost = np.count_nonzero(known & (labels == 0))
        warn(
            f"{lost:,} of {np.count_nonzero(known):,} pixels with a class in '{truth}' have no "
            f"cluster in '{map_file}' and count as wrong; if '{map_file}' is the ground truth, "
            f"exchange the two files, and OA is {better:.3f} in place of {oa:.3f}."
        )


def class_rows(
    truth: NDArray[np.integer],
    labels: NDArray[np.integer],
    scores: Scores,
    names: dict[int, str],
) -> list[dict[str, Any]]:
    """For each class: its pixels, its cluster, and how much of either is in the other."""
    import numpy as np

    cluster_of = {matched: cluster for cluster, matched in scores.matching.items()}
    rows = []
    for each in np.unique(truth[truth > 0]).tolist():
        members = truth == each
        cluster = cluster_of.get(each)
        in_cluster = (labels == cluster) & (truth > 0)
        agreed = int(np.count_nonzero(members & in_cluster))
        rows.append(
            {
                "class": each,
                "name": names.get(each),
                "pixels": int(np.count_nonzero(members)),
                "cluster": cluster,
                "recall": agreed / int(np.count_nonzero(members)),
                "precision": agreed / max(1, int(np.count_nonzero(in_cluster))),
            }
        )
    return rows


def _show(console: Console, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table()
    for name in ("class", "pixels", "cluster", "recall", "precision"):
        table.add_column(name, justify="left" if name == "class" else "right")
    for row in rows:
        title = f"{row['class']} {row['name'] or ''}".rstrip()
        cluster = "-" if row["cluster"] is None else str(row["cluster"])
        found = row["cluster"] is not None
        accuracy = [f"{row[key]:.3f}" if found else "-" for key in ("recall", "precision")]
        table.add_row(title, f"{row['pixels']:,}", cluster, *accuracy)
    console.print(table)


def _read(path: str, variable: str | None) -> tuple[NDArray[Any], Any]:
    """Read a map or ground truth, and its place if it has one."""
    from spectrawalk.io import read_ground_truth
    from spectrawalk.io.reading import read_plane

    values = read_ground_truth(path, variable=variable)
    plane = read_plane(path, variable=variable)
    return values, None if plane.transform is None else (plane.crs, plane.transform)


def _read_truth(name: str, variable: str | None) -> tuple[NDArray[Any], dict[int, str], Any]:
    from spectrawalk.datasets import load_scene, scene_names

    if name in scene_names() and not Path(name).is_file():
        scene = load_scene(name)
        if scene.ground_truth is None:
            raise DataError(f"the scene '{name}' has no ground truth; give a file that has.")
        return scene.ground_truth, scene.class_names, None
    values, place = _read(name, variable)
    return values, {}, place


def _same_place(one: Any, other: Any) -> bool:
    """Whether two rasters lie alike, but for rounding."""
    import numpy as np
    from rasterio.crs import CRS

    (crs, transform), (other_crs, other_transform) = one, other
    if crs and other_crs and CRS.from_user_input(crs) != CRS.from_user_input(other_crs):
        return False
    pixel = np.abs(transform[:2]).max()
    return bool(np.allclose(transform, other_transform, rtol=1e-9, atol=0.01 * pixel))


def _size(image: NDArray[Any]) -> str:
    return " x ".join(map(str, image.shape))
