"""The folder of a comparison: how each of its files is written, as one set."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import MissingDependencyError
from spectrawalk.io.atomic import atomic_set
from spectrawalk.io.attribute_table import attribute_table
from spectrawalk.io.cog import write_cog
from spectrawalk.io.geotiff_map import BAND_NAME, color_table
from spectrawalk.io.label_map import LabelMap
from spectrawalk.io.qgis_style import qgis_style
from spectrawalk.io.run_record import environment, file_entry, record_json, sha256_of
from spectrawalk.report.comparison import ComparedMaps, change_value
from spectrawalk.report.comparison_page import comparison_html
from spectrawalk.report.file_names import (
    BESIDE,
    CHANGE,
    CHANGES,
    COMPARED,
    COMPARISON,
    COMPARISON_RECORD,
    MATCHED,
    WHAT_OF_COMPARISON,
)
from spectrawalk.results.captions import areas as in_words
from spectrawalk.results.cluster_map import ClusterMap
from spectrawalk.results.comparison import Entry

_HECTARE = 10_000.0
_NO_DATA = "no data"


def write_comparison(
    folder: Path, found: ComparedMaps, *, page: bool = True
) -> tuple[dict[str, Any], list[tuple[Path, str]], list[str]]:
    """Write all files of a comparison as one set; remove what an earlier one left besides.

    The map with the numbers of A is written if B has other numbers, or no file of its own.

    Returns
    -------
    record : dict
        What ``compare.json`` holds.
    written : list of (path, description)
    remarks : list of str
        What was left out, and why.
    """
    record = comparison_record(found)
    remarks = []
    with atomic_set(folder, remove=COMPARED) as file:
        staged = _write_map(folder, file, CHANGE, "change", found, found.change_map)
        if found.rule != "numbers" or found.after.is_new:
            staged |= _write_map(folder, file, MATCHED, BAND_NAME, found, found.matched_map)
        staged[CHANGES] = file(CHANGES)
        staged[CHANGES].write_bytes(changes_csv(found))
        if page:
            path = file(COMPARISON)
            try:
                path.write_bytes(comparison_html(found, record))
                staged[COMPARISON] = path
            except MissingDependencyError as error:
                remarks.append(f"{COMPARISON} was not written: {error}")
        record["outputs"] = {name: sha256_of(path) for name, path in staged.items()}
        file(COMPARISON_RECORD).write_bytes(record_json(record))
    names = {*staged, COMPARISON_RECORD}
    told = [(folder / name, what) for name, what in WHAT_OF_COMPARISON.items() if name in names]
    return record, told, remarks


def _write_map(
    folder: Path, file: Any, name: str, band: str, found: ComparedMaps, legend: ClusterMap
) -> dict[str, Path]:
    """Write a map and the files beside it; the raster comes last, as its legend is there then."""
    staged = {each: file(each) for each in (*BESIDE[name], name)}
    table, style = (staged[each] for each in BESIDE[name])
    table.write_bytes(attribute_table(legend))
    style.write_bytes(qgis_style(_with_areas(legend)))
    is_change = name == CHANGE
    kind = np.min_scalar_type(legend.n_entries)
    write_cog(
        staged[name],
        found.change_blocks() if is_change else found.matched_blocks(),
        found.comparison.codes.shape,
        kind,
        nodata=0,
        name=band,
        colors=color_table(legend) if kind.itemsize <= 2 else None,  # TIFF has no larger table
        called=folder / name,
        crs=found.crs,
        transform=found.transform,
    )
    return staged


def _with_areas(legend: ClusterMap) -> ClusterMap:
    """Add the area, or the pixels, to each name: QGIS shows names, but no attribute table."""
    sizes = [f"{n:,} px" for n in legend.counts] if legend.areas is None else in_words(legend.areas)
    names = tuple(f"{name} ({size})" for name, size in zip(legend.names, sizes, strict=True))
    assert legend.legend is not None
    return ClusterMap(legend.labels, legend.n_clusters, legend=legend.legend._replace(names=names))


def changes_csv(found: ComparedMaps) -> bytes:
    """Encode the change matrix: from the clusters of A (rows) to those of B (columns).

    Pixels come first, then hectares where the map has a place on the ground. The totals of the rows
    are the clusters of A, those of the columns the clusters of B.

    Examples
    --------
    >>> from spectrawalk.report.comparison import compare_label_maps
    >>> one = LabelMap(np.array([[1, 1, 2]], np.uint8), 0, "may")
    >>> other = LabelMap(np.array([[3, 1, 0]], np.uint8), 0, "june")
    >>> found = compare_label_maps(one, other, "numbers")
    >>> print(changes_csv(found).decode().splitlines()[1])
    class 1,1,0,1,0,2
    """
    matrix = found.comparison
    names = [*found.names, _NO_DATA, "total"]
    parts = [("pixels", _with_totals(matrix.pixels))]
    if matrix.areas is not None:
        parts.append(("ha", (_with_totals(matrix.areas) / _HECTARE).round(6)))
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["from", *(f"to {name} ({unit})" for unit, _ in parts for name in names)])
    for place, name in enumerate(names):
        table.writerow([name, *(each for _, part in parts for each in part[place].tolist())])
    return text.getvalue().encode()


def _with_totals(matrix: NDArray[Any]) -> NDArray[Any]:
    wide = np.column_stack([matrix, matrix.sum(axis=1)])
    return np.vstack([wide, wide.sum(axis=0)])


def comparison_record(found: ComparedMaps) -> dict[str, Any]:
    """All that is known of a comparison, but for its outputs, as plain values."""
    matrix = found.comparison
    compared = matrix.compared
    return environment() | {
        "command": "compare",
        "inputs": {"A": _input(found.before), "B": _input(found.after)},
        "grid": {
            "rows": matrix.codes.shape[0],
            "cols": matrix.codes.shape[1],
            "crs": found.crs,
            "transform": found.transform,
        },
        "matching": {"rule": found.rule, "why": found.why},
        "legend": [
            {
                "name": name,
                "A": entry.before,
                "B": entry.after,
                "spectral_angle_degrees": _angle(found, entry),
            }
            for name, entry in zip(found.names, matrix.entries, strict=True)
        ],
        "pixels": {
            "compared": compared,
            "unchanged": matrix.unchanged,
            "changed": matrix.changed,
            "unlike_the_fit_in_both": matrix.undecided,
        },
        "changes": list(_changes(found)),
        "matrix": {
            "names": [*found.names, _NO_DATA],
            "pixels": matrix.pixels,
            "area_m2": None if matrix.areas is None else matrix.areas.round(3),
        },
        "remarks": found.remarks,
    }


def _changes(found: ComparedMaps) -> Iterator[Mapping[str, Any]]:
    matrix = found.comparison
    for place, each in enumerate(matrix.changes):
        yield {
            "value": change_value(place),
            "from": found.names[each.before],
            "to": found.names[each.after],
            "pixels": each.pixels,
            "share": round(each.pixels / matrix.compared, 6),
            "area_m2": None if each.area is None else round(each.area, 3),
        }


def _input(one: LabelMap) -> dict[str, Any]:
    return {"path": one.title, "files": [file_entry(file) for file in one.files]}


def _angle(found: ComparedMaps, entry: Entry) -> float | None:
    angle = None if entry.before is None else found.angles.get(entry.before)
    return None if angle is None else round(angle, 3)
