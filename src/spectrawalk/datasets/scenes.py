"""Load a published scene by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spectrawalk.datasets import registry
from spectrawalk.datasets.lookup import find_file, find_local_file
from spectrawalk.errors import FileError, SceneNotFoundError
from spectrawalk.io import read_array, read_ground_truth, read_scene, scene_from_cube
from spectrawalk.scene import Scene

INDIAN_PINES_WINDOW = (slice(0, 50), slice(0, 25))
"""The subset of the paper, found by matching its K-means scores over all windows."""

KSC_WINDOW = (slice(250, 500), slice(400, 500))
KSC_WINDOW_CLASSES = (3, 8, 9, 10)
"""The paper does not say which 250 x 100 pixels it used; these are the probable ones."""

_SATURATED = 65535


def scene_names() -> list[str]:
    """List the names that :func:`load_scene` knows.

    Examples
    --------
    >>> from spectrawalk.datasets import scene_names
    >>> "indian-pines" in scene_names()
    True
    """
    return list(_LOADERS)


def load_scene(name: str) -> Scene:
    """Load a published scene with its ground truth.

    The files are looked for in the folder that the environment variable ``SPECTRAWALK_DATA`` names
    (there, or in a folder of the scene inside), then in an installed package that carries them
    (``tensorly`` has Indian Pines), then in the user's cache; what is missing is downloaded from
    its public home if its checksum is known.

    Parameters
    ----------
    name : str
        ``"indian-pines"`` (145 x 145 pixels), ``"indian-pines-subset"`` (50 x 25, as in the paper),
        ``"salinas-a"`` (83 x 86), ``"samson"`` (95 x 95), ``"ksc-subset"`` (250 x 100),
        ``"ksc-labelled"`` (512 x 614, all masked but the pixels with ground truth) or
        ``"enmap-potsdam-north"`` (64 x 96, on the map, with wavelengths).

    Returns
    -------
    Scene
        With ``ground_truth`` (0 where unknown) and ``class_names``.

    Raises
    ------
    SceneNotFoundError
        If there is no scene of that name, or its files are neither here nor to be downloaded; the
        message says what to get and where to put it.
    FileError
        If a file is damaged or not the published one.

    Examples
    --------
    >>> from spectrawalk.datasets import load_scene
    >>> scene = load_scene("indian-pines-subset")
    >>> scene.shape, scene.n_bands, scene.class_names[4]
    ((50, 25), 200, 'Corn')
    """
    if name not in scene_names():
        raise SceneNotFoundError(
            f"there is no scene {name!r}; choose one of {', '.join(scene_names())}, or read a file "
            "of your own with spectrawalk.read_scene."
        )
    return _LOADERS[name](name)


def _indian_pines(name: str) -> Scene:
    cube = find_file(name, registry.INDIAN_PINES, *registry.INDIAN_PINES_CUBE)
    truth = find_file(name, registry.INDIAN_PINES, *registry.INDIAN_PINES_TRUTH)
    return _with_classes(
        read_scene(cube), name, read_ground_truth(truth), registry.INDIAN_PINES_CLASSES
    )


def _indian_pines_subset(name: str) -> Scene:
    return _window(_indian_pines(name), *INDIAN_PINES_WINDOW)


def _salinas_a(name: str) -> Scene:
    cube = find_file(name, registry.SALINAS_A, registry.SALINAS_A_CUBE)
    truth = find_file(name, registry.SALINAS_A, registry.SALINAS_A_TRUTH)
    return _with_classes(
        read_scene(cube), name, read_ground_truth(truth), registry.SALINAS_A_CLASSES
    )


def _ksc_subset(name: str) -> Scene:
    scene = _window(_ksc(name), *KSC_WINDOW)
    assert scene.ground_truth is not None
    kept = np.where(np.isin(scene.ground_truth, KSC_WINDOW_CLASSES), scene.ground_truth, 0)
    return _with_classes(scene, name, kept, scene.class_names)


def _ksc_labelled(name: str) -> Scene:
    """Load the labelled pixels from their own small file, or else from the whole cube."""
    path = find_local_file(registry.KSC, registry.KSC_LABELLED)
    if path is None:
        whole = _ksc(name)
        assert whole.ground_truth is not None
        cube = np.where(whole.ground_truth[..., np.newaxis] > 0, whole.cube, 0)
        truth, source = whole.ground_truth, whole.metadata["file"]
    else:
        spectra, row, col, classes = (read_array(path, key) for key in ("X", "row", "col", "y"))
        cube = np.zeros(registry.KSC_SHAPE, dtype=spectra.dtype)
        truth = np.zeros(registry.KSC_SHAPE[:2], dtype=np.int64)
        cube[row, col], truth[row, col] = spectra, classes
        source = str(path)
    scene = scene_from_cube(
        cube,
        name=name,
        source=f"'{source}'",
        mask=truth > 0,
        wavelengths=_ksc_wavelengths(),
        metadata={"file": source, "saturated_values": int(np.count_nonzero(cube == _SATURATED))},
    )
    return _with_classes(scene, name, truth, registry.KSC_CLASSES)


def _ksc(name: str) -> Scene:
    """Load the whole Kennedy Space Center scene; its cube has no published checksum."""
    path = find_file(name, registry.KSC, registry.KSC_CUBE)
    scene = read_scene(path)
    if scene.cube.shape != registry.KSC_SHAPE:
        raise FileError(
            f"'{path}' holds a cube of shape {scene.cube.shape} instead of {registry.KSC_SHAPE}; "
            f"get KSC.mat from {registry.KSC.page}."
        )
    truth = read_ground_truth(find_file(name, registry.KSC, registry.KSC_TRUTH))
    return _with_classes(
        replace(scene, wavelengths=_ksc_wavelengths()), name, truth, registry.KSC_CLASSES
    )


def _ksc_wavelengths() -> NDArray[np.float64] | None:
    """Read the wavelengths, in nanometres, from a file that not everybody has.

    They are not in ascending order: the spectrometers of the sensor overlap.
    """
    path = find_local_file(registry.KSC, registry.KSC_WAVELENGTHS)
    if path is None:
        return None
    wavelengths = read_array(path, "dataset_specBandWL").ravel().astype(np.float64)
    if wavelengths.size != registry.KSC_SHAPE[2]:
        raise FileError(
            f"'{path}' holds {wavelengths.size} wavelengths for {registry.KSC_SHAPE[2]} bands; "
            "delete or rename it: the scene can do without."
        )
    return wavelengths


def _samson(name: str) -> Scene:
    path = find_file(name, registry.SAMSON, registry.SAMSON_CUBE)
    truth = find_file(name, registry.SAMSON, registry.SAMSON_ABUNDANCES)
    scene = read_scene(path)
    rows, cols = scene.shape
    # One row for each class; the pixels run down the columns of the image.
    dominant = read_array(truth, "A").argmax(axis=0).reshape(cols, rows).T + 1
    return _with_classes(scene, name, dominant, registry.SAMSON_CLASSES)


def _enmap_potsdam_north(name: str) -> Scene:
    origin = registry.ENMAP_POTSDAM_NORTH
    cube = find_file(name, origin, registry.ENMAP_POTSDAM_NORTH_CUBE)
    truth = find_file(name, origin, registry.ENMAP_POTSDAM_NORTH_TRUTH)
    return _with_classes(
        read_scene(cube), name, read_ground_truth(truth), registry.ENMAP_POTSDAM_NORTH_CLASSES
    )


def _with_classes(
    scene: Scene, name: str, truth: NDArray[np.integer], names: Mapping[int, str]
) -> Scene:
    """Give the scene its name, its ground truth and the names of the classes in it."""
    present = {value: text for value, text in names.items() if np.any(truth == value)}
    return replace(scene, name=name, ground_truth=truth, class_names=present)


def _window(scene: Scene, rows: slice, cols: slice) -> Scene:
    """Cut a window out that is a scene of its own, in which pixels are counted anew."""
    part = scene.crop(rows, cols)
    assert part.ground_truth is not None
    record = {key: value for key, value in part.metadata.items() if key != "crop"}
    record["window"] = f"rows {rows.start}..{rows.stop - 1}, cols {cols.start}..{cols.stop - 1}"
    return _with_classes(
        replace(part, metadata=record), part.name, part.ground_truth, part.class_names
    )


_LOADERS: dict[str, Callable[[str], Scene]] = {
    "indian-pines": _indian_pines,
    "indian-pines-subset": _indian_pines_subset,
    "salinas-a": _salinas_a,
    "samson": _samson,
    "ksc-subset": _ksc_subset,
    "ksc-labelled": _ksc_labelled,
    "enmap-potsdam-north": _enmap_potsdam_north,
}
