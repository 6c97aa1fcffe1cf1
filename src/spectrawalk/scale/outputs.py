"""Write the results of a scene that was labelled tile by tile, as one set of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.io.atomic import atomic_set
from spectrawalk.io.attribute_table import attribute_table
from spectrawalk.io.cluster_spectra import spectra_csv, spectral_library_files
from spectrawalk.io.cog import write_cog
from spectrawalk.io.geotiff_map import BAND_NAME, color_table
from spectrawalk.io.qgis_style import qgis_style
from spectrawalk.io.run_record import outcome, record_json, sha256_of, spread_entry
from spectrawalk.report.file_names import (
    BESIDE,
    CONFIDENCE,
    LEAF_TABLE,
    LEAVES,
    MAP,
    OVERVIEW,
    RECORD,
    REPORT,
    RESULTS,
    SPECTRA,
    WHAT,
)
from spectrawalk.results.result import Result
from spectrawalk.scale.found import Found, cut_blocks
from spectrawalk.scale.model import NO_CONFIDENCE

Blocks = Iterator[tuple[int, int, NDArray[Any]]]


def write_tiled(
    folder: Path,
    found: Found,
    result: Result,
    blocks: Callable[[str, int], Blocks],
    record: Mapping[str, Any],
    extras: Sequence[str] = (OVERVIEW, REPORT),
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write all results of a scene; remove what an earlier run left besides.

    Parameters
    ----------
    folder : Path
    found : Found
    result : Result
        As ``found.result`` gives it.
    blocks : callable
        Gives the blocks of the map of "codes" or "confidence", anew at each call; see
        ``SceneInTiles.map_blocks``.
    record : mapping
        The record of the run; its outcome and the checksums of the files are added.
    extras : sequence of str
        Those of the overview and the report that are wanted.

    Returns
    -------
    written : list of (path, description)
    remarks : list of str
        What was left out or removed, and why.
    """

    def confidences() -> Blocks:
        for top, left, percents in blocks("confidence", NO_CONFIDENCE):
            values = percents.astype(np.float32) / np.float32(100)
            values[percents == NO_CONFIDENCE] = np.nan
            yield top, left, values

    place: dict[str, Any] = {"crs": found.crs, "transform": found.transform}
    with atomic_set(folder, remove=RESULTS) as file:
        remarks: list[str] = []
        table = file(LEAF_TABLE)
        table.write_bytes(found.to_bytes())
        staged = {LEAF_TABLE: table, LEAVES: file(LEAVES)}
        write_cog(
            staged[LEAVES], blocks("codes", 0), found.shape, np.uint8,
            nodata=0, name="leaf", called=folder / LEAVES, **place,
        )  # fmt: skip
        staged[CONFIDENCE] = file(CONFIDENCE)
        write_cog(
            staged[CONFIDENCE], confidences(), found.shape, np.float32,
            nodata=np.nan, name="confidence", resampling="average", called=folder / CONFIDENCE,
            **place,
        )  # fmt: skip
        staged |= _write_map(folder, file, found, result, staged[LEAVES])
        staged |= _write_spectra(file, result)
        record = {**record, "result": outcome(result)}
        for name in extras:
            trouble = _draw(name, file(name), result, record)
            if trouble:
                remarks.append(f"{name} was not written: {trouble}")
            else:
                staged[name] = file(name)
        remarks += _finish(folder, file, staged, record)
    return _written(folder, [*staged, RECORD]), remarks


def write_cut(
    folder: Path, found: Found, result: Result, leaves: Path, record: Mapping[str, Any]
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write the map and the spectra of another number of clusters, from the map of leaves."""
    with atomic_set(folder, remove=RESULTS) as file:
        staged = _write_map(folder, file, found, result, leaves)
        staged |= _write_spectra(file, result)
        found_out = {
            "n_clusters": result.n_clusters,
            "sizes": result.sizes.tolist(),
            "spread": spread_entry(result),
        }
        remarks = _finish(folder, file, staged, {**record, "result": found_out})
    remarks.append(
        f"{CONFIDENCE} and {REPORT} were left out: they need the runs of the fit, and a cut of a "
        "scene in tiles has the tree only."
    )
    return _written(folder, [*staged, RECORD]), remarks


def _write_map(
    folder: Path, file: Any, found: Found, result: Result, leaves: Path
) -> dict[str, Path]:
    cluster = found.tree.ancestors(result.n_clusters)
    staged = {**_write_names(file, result), MAP: file(MAP)}
    write_cog(
        staged[MAP], cut_blocks(leaves, cluster), found.shape, np.uint8,
        nodata=0, name=BAND_NAME, colors=color_table(result.map), called=folder / MAP,
        crs=found.crs, transform=found.transform,
    )  # fmt: skip
    return staged


def write_legend(
    folder: Path, result: Result, record: Mapping[str, Any], files: Mapping[str, bytes]
) -> list[str]:
    """Write the names and colours of a result into its folder, with further files; give remarks."""
    drawn = [name for name in (REPORT, OVERVIEW) if (folder / name).is_file()]
    with atomic_set(folder) as file:
        staged = _write_names(file, result) | _write_spectra(file, result)
        for name, content in files.items():
            staged[name] = file(name)
            staged[name].write_bytes(content)
        checksums = {name: sha256_of(path) for name, path in staged.items()}
        outputs = {**record["outputs"], **checksums}
        file(RECORD).write_bytes(record_json({**record, "outputs": outputs}))
    return [f"{' and '.join(drawn)} of the run in tiles still show numbers."] if drawn else []


def _write_names(file: Any, result: Result) -> dict[str, Path]:
    """Write what has the names and colours of the clusters, beside the map."""
    legend, style = BESIDE[MAP]
    staged = {legend: file(legend), style: file(style)}
    staged[legend].write_bytes(attribute_table(result.map))
    staged[style].write_bytes(qgis_style(result.map))
    return staged


def _write_spectra(file: Any, result: Result) -> dict[str, Path]:
    contents = {f"{SPECTRA}.csv": spectra_csv(result.scene, result.spectra)}
    contents |= spectral_library_files(SPECTRA, result.scene, result.spectra, result.map.names)
    staged = {name: file(name) for name in contents}
    for name, path in staged.items():
        path.write_bytes(contents[name])
    return staged


def _draw(name: str, path: Path, result: Result, record: Mapping[str, Any]) -> str:
    """Draw the overview or the report; return what hindered it, or nothing."""
    from spectrawalk.report.figures import figure_and_patch, overview, save_figure
    from spectrawalk.report.page import report_html

    try:
        figure_and_patch()
        if name == OVERVIEW:
            save_figure(overview(result), path)
        else:
            path.write_bytes(report_html(result, record))
    except Exception as error:  # hours of work must not be lost for a picture
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a full disk concerns them all
        path.unlink(missing_ok=True)
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _finish(
    folder: Path, file: Any, staged: Mapping[str, Path], record: Mapping[str, Any]
) -> list[str]:
    """Write the record, and list files of an earlier run that will be removed."""
    checksums = {name: sha256_of(path) for name, path in staged.items()}
    file(RECORD).write_bytes(record_json({**record, "outputs": checksums}))
    gone = [name for name in RESULTS if (folder / name).is_file() and name not in {*staged, RECORD}]
    return [f"{name} of an earlier run was removed." for name in gone]


def _written(folder: Path, names: Sequence[str]) -> list[tuple[Path, str]]:
    return [(folder / name, WHAT[name]) for name in WHAT if name in names]
