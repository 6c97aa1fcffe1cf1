"""The folder of a run: how each of its files is written, as one set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spectrawalk.errors import FileError, MissingDependencyError
from spectrawalk.io.atomic import atomic_set
from spectrawalk.io.cluster_spectra import spectra_csv, spectral_library_files
from spectrawalk.io.envi_map import envi_map_files
from spectrawalk.io.geotiff_map import map_files, values_geotiff
from spectrawalk.io.run_record import record_json, sha256_of
from spectrawalk.io.writers import labels_npy, labels_png
from spectrawalk.report.file_names import (
    BESIDE,
    CONFIDENCE,
    ENVI,
    EXTRAS,
    LABELS,
    MAP,
    MARGIN,
    MODEL,
    OVERVIEW,
    PICTURE,
    RECORD,
    REPORT,
    RESULTS,
    SPECTRA,
    TREE,
    WHAT,
)
from spectrawalk.results.model import TreeModel
from spectrawalk.results.result import Result

Paths = Mapping[str, Path]
Products = dict[tuple[str, ...], Callable[[Paths], None]]
"""Files of each product, the one it is named after last, and how to write them."""


def run_files(extras: Sequence[str]) -> list[str]:
    """Files that a run writes; `extras` are those that are wanted and not always there.

    A run with a tree has a confidence, any other a margin.
    """
    drawn = {OVERVIEW, REPORT}
    left_out = set(EXTRAS) - set(extras) | {MARGIN if TREE in extras else CONFIDENCE}
    if not left_out >= drawn and not _can_draw():
        left_out |= drawn
    return [name for name in RESULTS if name not in left_out]


def _can_draw() -> bool:
    """Whether the library for figures is installed."""
    from spectrawalk.report.figures import figure_and_patch

    try:
        figure_and_patch()
    except MissingDependencyError:
        return False
    return True


def write_results(
    folder: Path,
    result: Result,
    record: Mapping[str, Any],
    extras: Sequence[str] = (OVERVIEW, REPORT),
    files: Mapping[str, bytes] | None = None,
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write all results as one set; remove what an earlier run left besides.

    Parameters
    ----------
    folder : Path
    result : Result
    record : mapping
        The record of the run; the checksums of the files are added.
    extras : sequence of str
        Those of ``EXTRAS`` in ``report/file_names.py`` that are wanted. The tree of a fit
        is always written.
    files : mapping of str to bytes, optional
        Further files of the set.

    Returns
    -------
    written : list of (path, description)
    remarks : list of str
        What was left out or removed, and why.
    """
    earlier = {name for name in RESULTS if (folder / name).is_file()}
    staged: dict[str, Path] = {}
    remarks = []
    with atomic_set(folder, remove=RESULTS) as file:
        for names, write in _products(result, record, extras).items():
            trouble = _attempt(write, paths := {name: file(name) for name in names})
            if trouble:
                remarks.append(f"{names[-1]} was not written: {trouble}")
            else:
                staged |= paths
        for name, content in (files or {}).items():
            staged[name] = file(name)
            staged[name].write_bytes(content)
        checksums = {name: sha256_of(path) for name, path in staged.items()}
        file(RECORD).write_bytes(record_json({**record, "outputs": checksums}))
    written = {*staged, RECORD}
    if result.scene.orthorectify is not None:
        remarks.append(
            f"{LABELS} and {PICTURE} are in the geometry of the sensor; the other maps are "
            "orthorectified."
        )
    gone = [name for name in RESULTS if name in earlier - written]
    remarks += [f"{name} of an earlier run was removed." for name in gone]
    return [(folder / name, WHAT[name]) for name in WHAT if name in written], remarks


def _products(result: Result, record: Mapping[str, Any], extras: Sequence[str]) -> Products:
    """Maps, certainty, spectra, pictures, the model: the files of each, and how to write them."""
    scene = result.scene
    place = scene.orthorectify or scene

    def draw_overview(paths: Paths) -> None:
        from spectrawalk.report.figures import figure_and_patch, overview, save_figure

        figure_and_patch()  # or says how to get them
        save_figure(overview(result), paths[OVERVIEW])

    def write_report(paths: Paths) -> None:
        from spectrawalk.report.figures import figure_and_patch
        from spectrawalk.report.page import report_html

        figure_and_patch()
        paths[REPORT].write_bytes(report_html(result, record))

    makers = {
        OVERVIEW: draw_overview,
        REPORT: write_report,
        MODEL: lambda paths: result.model.save(paths[MODEL]),
    }
    certainty = {"confidence": CONFIDENCE, "margin": MARGIN}[result.certainty.name]
    table, library = f"{SPECTRA}.csv", (f"{SPECTRA}.hdr", f"{SPECTRA}.sli")
    return {
        (LABELS,): _encoded(lambda: {LABELS: labels_npy(result.entries)}),
        (*BESIDE[MAP], MAP): _encoded(lambda: map_files(MAP, result.map)),
        (f"{ENVI}.hdr", f"{ENVI}.dat"): _encoded(
            lambda: envi_map_files(ENVI, result.map, f"clusters of {scene.name}")
        ),
        (PICTURE,): _encoded(lambda: {PICTURE: labels_png(result.entries, result.map.colors)}),
        (certainty,): _encoded(
            lambda: {
                certainty: values_geotiff(
                    result.certainty_on_map, result.certainty.name, place.crs, place.transform
                )
            }
        ),
        (table,): _encoded(lambda: {table: spectra_csv(scene, result.spectra)}),
        library: _encoded(
            lambda: spectral_library_files(SPECTRA, scene, result.spectra, result.map.names)
        ),
        **_tree(result),
        **{(name,): makers[name] for name in extras},
    }


def _tree(result: Result) -> Products:
    """The tree of a fit that has one: for other cuts, not for other images."""
    model = result.model
    if result.predicted or not isinstance(model, TreeModel):
        return {}
    return {(TREE,): lambda paths: model.save_tree(paths[TREE])}


def _encoded(encode: Callable[[], dict[str, bytes]]) -> Callable[[Paths], None]:
    """Write what `encode` gives to the files of the same names."""

    def write(paths: Paths) -> None:
        for name, content in encode().items():
            paths[name].write_bytes(content)

    return write


def _attempt(write: Callable[[Paths], None], paths: Paths) -> str:
    """Write a product; return what hindered it, or nothing."""
    try:
        write(paths)
    except FileError:
        raise
    except Exception as error:  # hours of work must not be lost for a picture
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a full disk concerns them all
        for path in paths.values():
            path.unlink(missing_ok=True)
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"it could not be made ({reason.rstrip('.')})."
    return ""
