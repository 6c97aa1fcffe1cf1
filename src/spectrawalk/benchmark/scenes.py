"""Scenes of the suite: published ones, and cubes with ground truth in a folder of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spectrawalk.datasets import load_scene, scene_names
from spectrawalk.errors import DataError, FileError, SceneNotFoundError
from spectrawalk.io import read_ground_truth, read_scene
from spectrawalk.scene import Scene

PUBLISHED = ("indian-pines-subset", "salinas-a", "samson", "indian-pines", "ksc-labelled")
"""The scenes of the suite, the small ones first."""

TRUTH = "_gt"
"""What the name of a file with ground truth ends with, before its extension."""

_CUBES = ("", "_corrected")  # the second as in the names of widely used files
_BESIDE = (".xml", ".qml", ".prj", ".txt", ".md", ".json")


def choose_published(names: str) -> list[str]:
    """Parse a comma-separated list of published scenes, ``all`` (of the suite) or ``none``.

    Examples
    --------
    >>> choose_published("all")
    ['indian-pines-subset', 'salinas-a', 'samson', 'indian-pines', 'ksc-labelled']
    >>> choose_published("none")
    []
    """
    if names.strip() in ("all", "none"):
        return list(PUBLISHED) if names.strip() == "all" else []
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in scene_names()]
    if unknown or not wanted:
        found = ", ".join(map(repr, unknown)) or repr(names)
        raise SceneNotFoundError(
            f"there is no scene {found}; choose all, none, or from {', '.join(scene_names())}."
        )
    return wanted


def load_published(names: Sequence[str]) -> tuple[list[Scene], dict[str, str]]:
    """Load published scenes; those not on this machine come back by name, with the reason."""
    scenes, missing = [], {}
    for name in names:
        try:
            scenes.append(load_scene(name))
        except SceneNotFoundError as error:
            missing[name] = str(error)
    return scenes, missing


def read_folder(folder: Path) -> list[Scene]:
    """Read every cube of a folder that has ground truth beside it.

    The ground truth of ``NAME.hdr`` (or of any other format) is ``NAME_gt.*``; a cube may be called
    ``NAME_corrected`` too. Files without ground truth are passed over.

    Parameters
    ----------
    folder : path

    Raises
    ------
    FileError
        If there is no cube with ground truth, or two scenes have one name.
    DataError
        If the two differ in shape, or no pixel has a class.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "field.npy", np.ones((4, 5, 3)) + np.arange(3))
    >>> np.save(folder / "field_gt.npy", np.ones((4, 5), dtype=int))
    >>> [(scene.name, scene.shape) for scene in read_folder(folder)]
    [('field', (4, 5))]
    """
    if not folder.is_dir():
        raise FileError(f"'{folder}' is not a folder; give one with cubes and their ground truth.")
    pairs = _pairs(folder)
    if not pairs:
        raise FileError(
            f"'{folder}' holds no cube with ground truth; call the ground truth of 'scene.hdr' "
            f"'scene{TRUTH}.tif' (or .mat, .npy, .hdr)."
        )
    return [_read(name, cube, truth) for name, (cube, truth) in sorted(pairs.items())]


def _pairs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Cube and ground truth of each scene, by its name."""
    by_stem: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if not file.name.startswith(".") and file.suffix.lower() not in _BESIDE:
            by_stem.setdefault(file.stem, []).append(file)
    pairs = {}
    for stem, truths in by_stem.items():
        name = stem.removesuffix(TRUTH)
        cubes = [file for end in _CUBES for file in by_stem.get(name + end, [])]
        if name != stem and cubes:
            pairs[name] = (_one(cubes), _one(truths))
    return pairs


def _one(files: list[Path]) -> Path:
    """Choose the header of an ENVI image, or the only file."""
    headers = [file for file in files if file.suffix.lower() == ".hdr"]
    if len(files) > 1 and not headers:
        raise FileError(
            f"'{files[0]}' and '{files[1].name}' have one name, so it is not clear which to read; "
            "move one of them elsewhere."
        )
    return (headers or files)[0]


def _read(name: str, cube: Path, truth_file: Path) -> Scene:
    scene, truth = read_scene(cube), read_ground_truth(truth_file)
    if truth.shape != scene.shape:
        raise DataError(
            f"the ground truth '{truth_file}' has shape {truth.shape} but the image '{cube}' is "
            f"{scene.shape}; give one class per pixel, rows first."
        )
    if not (truth > 0).any():
        raise DataError(f"the ground truth '{truth_file}' has no pixel above 0; check the file.")
    return replace(scene, name=name, ground_truth=truth, class_names={})
