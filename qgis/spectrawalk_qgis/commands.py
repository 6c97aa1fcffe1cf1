"""Command lines of the program, from what was chosen in the dialog. Needs no QGIS."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MAP, RECORD, REPORT = "labels.tif", "run.json", "report.html"
CERTAINTIES = ("confidence.tif", "margin.tif")
DETAILS = ("auto", "fields", "materials")
METHODS = ("spectrawalk", "srdl")

_PART = re.compile(r'^[A-Z][A-Z0-9_]+:"?(?P<file>.+?)"?(?::[^:"\\]*)?$')


def cluster(
    scene: str,
    folder: Path,
    *,
    n_clusters: int = 0,
    detail: str = "auto",
    method: str = "spectrawalk",
    radius: int | None = None,
    mask: str = "",
    wavelengths: str = "",
    extra: str = "",
) -> list[str]:
    """Command that clusters a scene; 0 clusters: their number is estimated.

    Examples
    --------
    >>> cluster("field.tif", Path("out"), n_clusters=6, wavelengths="450:900, 2000:2400")
    ... # doctest: +NORMALIZE_WHITESPACE
    ['cluster', 'field.tif', '-o', 'out', '--overwrite', '-k', '6',
     '--wavelengths', '450:900', '--wavelengths', '2000:2400']
    """
    command = ["cluster", scene, "-o", str(folder), "--overwrite"]
    if n_clusters:
        command += ["-k", str(n_clusters)]
    if detail != "auto":
        command += ["--detail", detail]
    if method != "spectrawalk":
        command += ["--method", method]
    if radius is not None:
        command += ["--radius", str(radius)]
    if mask:
        command += ["--mask", mask]
    for each in re.split(r"[\s,;]+", wavelengths.strip()):
        command += ["--wavelengths", each] if each else []
    return command + shlex.split(extra)


def contradiction(*, detail: str, method: str, radius: int | None) -> str:
    """Say what does not go together among the choices, or nothing.

    Examples
    --------
    >>> contradiction(detail="auto", method="spectrawalk", radius=12)
    'The window radius has no meaning for SpectraWalk; clear it, or choose SRDL as the method.'
    """
    if method == "spectrawalk" and radius is not None:
        return (
            "The window radius has no meaning for SpectraWalk; clear it, or choose SRDL as the "
            "method."
        )
    if method == "srdl" and detail != "auto":
        return "The detail has no meaning for SRDL; choose automatic, or SpectraWalk as the method."
    return ""


def cut(results: str, folder: Path, *, n_clusters: int) -> list[str]:
    """Command that cuts the tree of an earlier run; 0 clusters: their number is estimated."""
    number = str(n_clusters) if n_clusters else "auto"
    return ["cut", results, "-k", number, "-o", str(folder), "--overwrite"]


def name(
    results: str, *, libraries: Sequence[str], accept: bool, angle: float | None = None
) -> list[str]:
    """Command that names the clusters of an earlier run."""
    command = ["name", results]
    for each in libraries:
        command += ["--library", each]
    if angle is not None:
        command += ["--angle", str(angle)]
    return command + ["--accept"] * accept


def compare(one: str, other: str, folder: Path) -> list[str]:
    """Command that compares two maps."""
    return ["compare", one, other, "-o", str(folder), "--overwrite"]


def file_of(source: str) -> str:
    """Find the file in the source of a layer, which may name a part of it.

    Examples
    --------
    >>> file_of('NETCDF:"/data/EMIT.nc":reflectance'), file_of("/data/mask.gpkg|layername=fields")
    ('/data/EMIT.nc', '/data/mask.gpkg')
    >>> file_of('HDF5:"/data/a.he5"://HDFEOS/SWATHS/cube'), file_of("C:/data/field.tif")
    ('/data/a.he5', 'C:/data/field.tif')
    """
    path = source.split("|")[0]
    part = _PART.match(path)
    return part["file"] if part else path


def results_of(layer_file: str) -> str:
    """Find the results folder to which a map belongs; the map itself, if it belongs to none."""
    folder = Path(layer_file).parent
    return str(folder) if (folder / RECORD).is_file() else layer_file


def found_in(folder: Path) -> dict[str, Any]:
    """Read from the record of a run what it found: number of clusters, and why this number."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return dict(record["result"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
