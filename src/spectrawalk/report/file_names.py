"""The files of a run's folder: their names, and what each one is."""

from __future__ import annotations

LABELS, MAP, PICTURE, ENVI = "labels.npy", "labels.tif", "labels.png", "labels_envi"
CONFIDENCE, MARGIN = "confidence.tif", "margin.tif"
SPECTRA, OVERVIEW, REPORT = "spectra", "overview.png", "report.html"
MODEL, TREE, RECORD = "model.npz", "tree.npz", "run.json"
LEAVES, LEAF_TABLE = "leaves.tif", "leaves.npz"
NAMES, NAMES_PAGE = "names.csv", "names.html"

WHAT = {
    MAP: "map for QGIS: clusters from 1, 0 for no data; legend in the files beside it",
    REPORT: "report for the browser: maps, spectra, numbers, settings",
    OVERVIEW: "overview as a picture",
    PICTURE: "map as a picture, one pixel per pixel",
    LABELS: "labels as a NumPy array: clusters from 1, 0 for no data",
    f"{ENVI}.dat": "map for ENVI, with its header",
    CONFIDENCE: "confidence of each label, 0 to 1: the agreement of the runs",
    MARGIN: "margin of each label, 0 to 1: how much nearer its cluster is than the next one",
    f"{SPECTRA}.csv": "mean and standard deviation of each cluster's spectra",
    f"{SPECTRA}.sli": "mean spectra as an ENVI spectral library, with its header",
    TREE: "tree of clusters, for spectrawalk cut: maps of other numbers of clusters",
    MODEL: "fitted model, for spectrawalk.load and spectrawalk predict",
    LEAVES: "clusters of the finest cut, for spectrawalk cut: maps of other numbers of clusters",
    LEAF_TABLE: "tree of these clusters, with their pixels, areas and spectra",
    NAMES_PAGE: "nearest library spectra of each cluster, for the browser: tables and plots",
    NAMES: "nearest library spectra of each cluster as a table",
    RECORD: "record of the run: inputs, settings, versions, times",
}
"""Files that the screen names, in that order, and what it says of them."""

CHANGE, CHANGES, MATCHED = "change.tif", "changes.csv", "matched.tif"
COMPARISON, COMPARISON_RECORD = "compare.html", "compare.json"

WHAT_OF_COMPARISON = {
    CHANGE: "change map for QGIS: 1 unchanged, from 2 the kinds of change, 0 for no data",
    MATCHED: "map B with the numbers and colours of A",
    COMPARISON: "page for the browser: both maps, the changes, the matrix",
    CHANGES: "change matrix in pixels and hectares: rows are A, columns B",
    COMPARISON_RECORD: "record: inputs, matching, matrix, versions",
}
"""Files of a comparison, in the order of the screen."""

BESIDE = {
    CHANGE: ("change.tif.aux.xml", "change.qml"),
    MATCHED: ("matched.tif.aux.xml", "matched.qml"),
    MAP: ("labels.tif.aux.xml", "labels.qml"),
    f"{ENVI}.dat": (f"{ENVI}.hdr",),
    f"{SPECTRA}.sli": (f"{SPECTRA}.hdr",),
}
"""Files that belong to another."""

RESULTS = (*WHAT, *(beside for name in WHAT for beside in BESIDE.get(name, ())))

COMPARED = (
    *WHAT_OF_COMPARISON,
    *(beside for name in WHAT_OF_COMPARISON for beside in BESIDE.get(name, ())),
)

EXTRAS = (OVERVIEW, REPORT, TREE, MODEL, LEAVES, LEAF_TABLE, NAMES, NAMES_PAGE)
"""Files that are not always wanted, or that not every method gives."""
