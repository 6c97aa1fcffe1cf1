"""The folder that results are written to: looked at before the work, filled after it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrawalk.errors import FileError

if TYPE_CHECKING:
    from spectrawalk import Scene, Scores

LABELS, MAP, PICTURE, ENVI = "labels.npy", "labels.tif", "labels.png", "labels_envi"
CONFIDENCE, SPECTRA, OVERVIEW, REPORT = "confidence.tif", "spectra", "overview.png", "report.html"
MODEL, RECORD = "model.npz", "run.json"

_WHAT = {
    MAP: "the map for QGIS: clusters from 1, 0 for no data; legend in the files beside it",
    REPORT: "the report, for the browser: maps, spectra, numbers, settings",
    OVERVIEW: "the overview as a picture",
    PICTURE: "the map as a picture, one pixel per pixel",
    LABELS: "the labels as a NumPy array: clusters from 1, 0 for no data",
    f"{ENVI}.dat": "the map for ENVI, with its header",
    CONFIDENCE: "how sure each label is, 0 to 1",
    f"{SPECTRA}.csv": "mean and standard deviation of each cluster's spectra",
    f"{SPECTRA}.sli": "the mean spectra as an ENVI spectral library, with its header",
    MODEL: "the fitted model, for spectrawalk.load and spectrawalk predict",
    RECORD: "the record of the run: inputs, settings, versions, times",
}
"""Files that the screen names, in that order, and what it says of them."""

_BESIDE = {
    MAP: ("labels.tif.aux.xml", "labels.qml"),
    f"{ENVI}.dat": (f"{ENVI}.hdr",),
    f"{SPECTRA}.sli": (f"{SPECTRA}.hdr",),
}
"""Files that belong to another."""

RESULTS = (*_WHAT, *(name for names in _BESIDE.values() for name in names))

Paths = Mapping[str, Path]
Products = dict[tuple[str, ...], Callable[[Paths], None]]
"""Files of each product, the one it is named after last, and how to write them."""


@contextmanager
def output_folder(folder: Path, names: Sequence[str], *, overwrite: bool) -> Iterator[None]:
    """Make sure that `names` can be written to `folder`, which is made if need be.

    A folder made here, and those above it, are taken away again if the work fails before anything
    is in them.
    """
    from spectrawalk.io.atomic import finish_set, refuse_dangling_link

    refuse_dangling_link(folder)
    if folder.is_file():
        raise FileError(
            f"the output folder '{folder}' is a file, not a folder; choose another one with -o."
        )
    made: list[Path] = []
    try:
        finish_set(folder)  # of a run that was killed at the very end
        _refuse_existing(folder, names, overwrite)
        made = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        _remove_empty(made)
        raise FileError(
            f"the output folder '{folder}' cannot be written to: {error.strerror or error}; "
            "choose another one with -o."
        ) from error
    try:
        yield
    finally:
        _remove_empty(made)


def _refuse_existing(folder: Path, names: Sequence[str], overwrite: bool) -> None:
    existing = [name for name in names if (folder / name).exists()]
    if existing and not overwrite:
        more = f" and {len(existing) - 4} more" if len(existing) > 5 else ""
        named = existing[:4] if more else existing
        raise FileError(
            f"'{folder}' already holds {', '.join(named)}{more}; choose another folder with -o, or "
            "replace them with --overwrite."
        )


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for each in folders:
        if not each.is_dir() or any(each.iterdir()):
            return
        each.rmdir()


def expected_results() -> list[str]:
    """Files that a run writes if nothing hinders it, the model left out."""
    return [name for name in RESULTS if name != MODEL]


def write_results(
    folder: Path,
    scene: Scene,
    model: Any,
    scores: Scores | None,
    record: Mapping[str, Any],
    extras: Sequence[str] = (OVERVIEW, REPORT),
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write all results as one set; remove what an earlier run left besides.

    `extras` are those of the overview, the report and the model that are wanted.

    Returns
    -------
    written : list of (path, description)
    remarks : list of str
        What was left out or removed, and why.
    """
    products = map_products(scene, model.labels_, model.n_clusters_)
    products |= _fit_products(scene, model, scores, record, extras)
    return _write_set(folder, scene, products, record)


def write_prediction(
    folder: Path,
    scene: Scene,
    labels: Any,
    n_clusters: int,
    record: Mapping[str, Any],
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write the labels that a model gave another scene; see :func:`write_results`."""
    return _write_set(folder, scene, map_products(scene, labels, n_clusters), record)


def _write_set(
    folder: Path, scene: Scene, products: Products, record: Mapping[str, Any]
) -> tuple[list[tuple[Path, str]], list[str]]:
    from spectrawalk.io.atomic import atomic_set
    from spectrawalk.io.run_record import record_json, sha256_of

    earlier = {name for name in RESULTS if (folder / name).is_file()}
    staged: dict[str, Path] = {}
    remarks = []
    with atomic_set(folder, remove=RESULTS) as file:
        for names, write in products.items():
            trouble = _attempt(write, paths := {name: file(name) for name in names})
            if trouble:
                remarks.append(f"{names[-1]} was left out: {trouble}")
            else:
                staged |= paths
        checksums = {name: sha256_of(path) for name, path in staged.items()}
        file(RECORD).write_bytes(record_json({**record, "outputs": checksums}))
    written = {*staged, RECORD}
    if scene.orthorectify is not None:
        remarks.append(
            f"{LABELS} and {PICTURE} are in the geometry of the sensor; the other maps are "
            "orthorectified."
        )
    gone = [name for name in RESULTS if name in earlier - written]
    remarks += [f"{name} of an earlier run was removed." for name in gone]
    return [(folder / name, _WHAT[name]) for name in _WHAT if name in written], remarks


def map_products(scene: Scene, labels: Any, n_clusters: int) -> Products:
    """The labels in all formats: names of the files, and how to write them."""
    from spectrawalk.io.envi_map import envi_map_files
    from spectrawalk.io.geotiff_map import map_files
    from spectrawalk.io.writers import labels_npy, labels_png
    from spectrawalk.results.cluster_map import map_of
    from spectrawalk.results.palette import cluster_colors

    cluster_map = map_of(scene, labels, n_clusters)
    return {
        (LABELS,): _encoded(lambda: {LABELS: labels_npy(labels)}),
        (*_BESIDE[MAP], MAP): _encoded(lambda: map_files(MAP, cluster_map)),
        (f"{ENVI}.hdr", f"{ENVI}.dat"): _encoded(
            lambda: envi_map_files(ENVI, cluster_map, f"clusters of {scene.name}")
        ),
        (PICTURE,): _encoded(lambda: {PICTURE: labels_png(labels, cluster_colors(n_clusters))}),
    }


def _fit_products(
    scene: Scene,
    model: Any,
    scores: Scores | None,
    record: Mapping[str, Any],
    extras: Sequence[str],
) -> Products:
    """What else a fit gives: confidence, spectra, pictures, the model."""
    from spectrawalk.io.cluster_spectra import spectra_csv, spectral_library_files
    from spectrawalk.io.geotiff_map import values_geotiff
    from spectrawalk.results.cluster_map import to_map_grid
    from spectrawalk.results.confidence import confidence_image
    from spectrawalk.results.spectra import cluster_spectra

    # The automatic mode has its own: how far its runs agree.
    confidence = getattr(model, "confidence_", None)
    if confidence is None:
        confidence = confidence_image(model.coordinates_, model.modes_)
    on_map = to_map_grid(scene, confidence, float("nan"))
    place = scene.orthorectify or scene
    spectra = cluster_spectra(scene, model.labels_)
    table, library = f"{SPECTRA}.csv", (f"{SPECTRA}.hdr", f"{SPECTRA}.sli")

    def draw_overview(paths: Paths) -> None:
        from spectrawalk.report.figures import figure_and_patch, overview, save_figure

        figure_and_patch()  # or says how to get them
        save_figure(overview(scene, model, scores=scores), paths[OVERVIEW])

    def write_report(paths: Paths) -> None:
        from spectrawalk.report import report_html
        from spectrawalk.report.figures import figure_and_patch

        figure_and_patch()
        page = report_html(scene, model, scores=scores, confidence=confidence, record=record)
        paths[REPORT].write_bytes(page)

    makers = {
        OVERVIEW: draw_overview,
        REPORT: write_report,
        MODEL: lambda paths: model.save(paths[MODEL]),
    }
    return {
        (CONFIDENCE,): _encoded(
            lambda: {CONFIDENCE: values_geotiff(on_map, "confidence", place.crs, place.transform)}
        ),
        (table,): _encoded(lambda: {table: spectra_csv(scene, spectra)}),
        library: _encoded(lambda: spectral_library_files(SPECTRA, scene, spectra)),
        **{(name,): makers[name] for name in extras},
    }


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
