"""The folder that results are written to: looked at before the work, filled after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrawalk.errors import FileError

if TYPE_CHECKING:
    from spectrawalk import Scene, Scores

LABELS, MAP, OVERVIEW, MODEL = "labels.npy", "labels.png", "overview.png", "model.npz"
RESULTS = (LABELS, MAP, OVERVIEW, MODEL)
_MAP_COLORS = 255  # as many clusters as an indexed PNG holds


@contextmanager
def output_folder(folder: Path, names: Sequence[str], *, overwrite: bool) -> Iterator[None]:
    """Make sure that `names` can be written to `folder`, which is made if need be.

    A folder made here is taken away again if the work fails before anything is in it.
    """
    existing = [name for name in names if (folder / name).exists()]
    if existing and not overwrite:
        raise FileError(
            f"'{folder}' already holds {', '.join(existing)}; choose another folder with -o, or "
            "replace them with --overwrite."
        )
    if folder.is_file():
        raise FileError(
            f"the output folder '{folder}' is a file, not a folder; choose another one with -o."
        )
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise FileError(
            f"the output folder '{folder}' cannot be written to: {error.strerror or error}; "
            "choose another one with -o."
        ) from error
    try:
        yield
    finally:
        if made and not any(folder.iterdir()):
            folder.rmdir()


def write_results(
    folder: Path, scene: Scene, model: Any, scores: Scores | None, *, save_model: bool = False
) -> tuple[list[tuple[Path, str]], list[str]]:
    """Write labels, pictures and, if asked, the model; remove what an earlier run left besides.

    Returns
    -------
    written : list of (path, description)
    remarks : list of str
        What was left out or removed, and why.
    """
    from spectrawalk.io import write_labels_npy, write_labels_png
    from spectrawalk.palette import cluster_colors

    written, remarks = [], []
    write_labels_npy(folder / LABELS, model.labels_)
    written.append((folder / LABELS, "the labels: clusters from 1, 0 for no data"))
    if model.n_clusters_ <= _MAP_COLORS:
        write_labels_png(folder / MAP, model.labels_, cluster_colors(model.n_clusters_))
        written.append((folder / MAP, "the map, one pixel per pixel"))
    else:
        remarks.append(f"{MAP} was left out: it holds at most {_MAP_COLORS} clusters.")
    trouble = _draw_overview(folder / OVERVIEW, scene, model, scores)
    if trouble:
        remarks.append(f"{OVERVIEW} was left out: {trouble}")
    else:
        written.append((folder / OVERVIEW, "the overview: map, modes, spectra"))
    if save_model:
        model.save(folder / MODEL)
        written.append((folder / MODEL, "the fitted model, for spectrawalk.load"))
    remarks += _remove_leftovers(folder, {path.name for path, _ in written})
    return written, remarks


def _draw_overview(path: Path, scene: Scene, model: Any, scores: Scores | None) -> str:
    """Draw the overview; return what hindered it, or nothing."""
    if not find_spec("matplotlib"):
        return 'it needs matplotlib; get it with `pip install "spectrawalk[figures]"`.'
    try:
        from spectrawalk.figures import overview, save_figure

        save_figure(overview(scene, model, scores=scores), path)
    except Exception as error:  # hours of work must not be lost for a picture
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"it could not be drawn ({reason})."
    return ""


def _remove_leftovers(folder: Path, written: set[str]) -> list[str]:
    """Remove results of an earlier run, which would pass for this one's; say which."""
    remarks = []
    for name in RESULTS:
        if name not in written and (folder / name).is_file():
            (folder / name).unlink()
            remarks.append(f"{name} of an earlier run was removed.")
    return remarks
