"""What the arrays of a saved model must be, so that no file can make a kernel go astray."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

LONGEST_TEXT = 64 * 2**20
"""Bytes of an array of text; the findings of an automatic run take some kilobytes."""


class Declared(Protocol):
    """Shape and type of an array, known before it is read, or the array itself."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its axes."""

    @property
    def dtype(self) -> np.dtype:
        """Type of its values."""


_NEEDED = {
    # Name: type, and shape in which n is the valid pixels, K clusters, M eigenpairs, B bands.
    "labels_": ("i4", "image"),
    "modes_": ("i8", "K"),
    "n_clusters_": ("i8", ""),
    "density_": ("f8", "image"),
    "density_bandwidth_": ("f8", ""),
    "rho_": ("f8", "image"),
    "mode_score_": ("f8", "image"),
    "coordinates_": ("f8", "image M"),
    "eigenvalues_": ("f8", "M"),
    "n_components_": ("i8", ""),
    "exact_density_": ("b1", ""),
    "reach_": ("f8", ""),
    "n_features_in_": ("i8", ""),
    "_mask": ("b1", "image"),
    "_ranking": ("i8", "n"),
    "_parent": ("i8", "n"),
    "spectra": ("f4", "n B"),
    "spectra_centre": ("f8", "B"),
    "spectra_unit": ("f8", ""),
    "scaling": ("U", ""),
    "scaling_peak": ("f8", "scale"),
    "scaling_length": ("f8", "scale"),
}
_OPTIONAL = {
    "wavelengths_": ("f8", "B"),
    "feature_names_in_": ("U", "B"),
    # Of the automatic mode, with R runs.
    "confidence_": ("f4", "image"),
    "_runs": ("i2", "R n"),
    "_findings": ("U", ""),
}


class DamageError(Exception):
    """The arrays do not belong together; says in a few words why."""


def check_arrays(arrays: Arrays) -> Arrays:
    """Return the arrays of a model if their values agree.

    Parameters
    ----------
    arrays : dict of ndarray
        Of the names, types and shapes that `check_names` and `check_shapes` have seen.

    Raises
    ------
    DamageError
        With the first thing that is not as a fit leaves it.
    """
    _check_values(arrays)
    _check_order(arrays)
    _check_labels(arrays)
    _check_ensemble(arrays)
    return arrays


def _require(holds: Any, name: str, what: str) -> None:
    if not np.all(holds):
        raise DamageError(f"its array {name} {what}")


def check_names(arrays: Mapping[str, Declared]) -> None:
    """Refuse a model in which arrays are missing, or that has arrays which no model has."""
    missing = sorted(set(_NEEDED) - set(arrays))
    if missing:
        raise DamageError(f"it lacks {', '.join(missing)}")
    strange = sorted(set(arrays) - set(_NEEDED) - set(_OPTIONAL))
    if strange:
        raise DamageError(f"it holds {', '.join(strange)}, which no model has")


def check_mask(mask: Declared) -> None:
    """Refuse a mask that is none."""
    _require(
        mask.dtype == bool and len(mask.shape) in (1, 2), "_mask", "is not the mask of an image"
    )


def check_text(name: str, array: Declared) -> None:
    """Refuse a text that takes far more memory than any that a fit leaves."""
    n_bytes = math.prod(array.shape) * array.dtype.itemsize
    if n_bytes > LONGEST_TEXT:
        raise DamageError(f"its array {name} is a text of {n_bytes:,} bytes")


def check_shapes(arrays: Mapping[str, Declared], n_valid: int, scaling: str) -> None:
    """Check types and shapes, all of which follow from the mask and three numbers.

    Parameters
    ----------
    arrays : mapping of str to Declared
        Shape and type of each array; none of them has to be in memory.
    n_valid : int
        Pixels that the mask calls valid.
    scaling : str
        How spectra are scaled.
    """
    sizes = {
        "n": (n_valid,),
        "K": arrays["modes_"].shape,
        "M": arrays["eigenvalues_"].shape,
        "B": arrays["spectra_centre"].shape,
        "R": arrays["_runs"].shape[:1] if "_runs" in arrays else (),
        "image": arrays["_mask"].shape,
    }
    sizes["scale"] = sizes["B"] if scaling == "band" else ()
    for name in "KMB":
        if len(sizes[name]) != 1:
            raise DamageError("its arrays have the wrong number of dimensions")
    for name, (kind, shape) in (_NEEDED | _OPTIONAL).items():
        if name not in arrays:
            continue
        array = arrays[name]
        expected = sum((sizes[part] for part in shape.split()), ())
        found = array.dtype.kind if kind == "U" else array.dtype.str[1:]
        _require(found == kind, name, f"holds values of type {array.dtype}")
        _require(array.shape == expected, name, f"has shape {array.shape}, not {expected}")
        if kind == "U":
            check_text(name, array)


def _check_values(arrays: Arrays) -> None:
    """Check that numbers are numbers, and NaN only where masked."""
    mask = arrays["_mask"]
    _require(mask.sum() >= 2, "_mask", "has no two valid pixels")
    for name, (kind, shape) in (_NEEDED | _OPTIONAL).items():
        if name in arrays and kind.startswith("f"):
            known = arrays[name][mask] if shape.startswith("image") else arrays[name]
            _require(np.isfinite(known), name, "holds values that are not finite")
    for name in ("density_bandwidth_", "spectra_unit", "scaling_peak", "scaling_length"):
        _require(arrays[name] > 0, name, "is not above 0")
    for name in ("reach_", "n_components_"):
        _require(arrays[name] >= 0, name, "is below 0")
    for name in ("density_", "rho_", "mode_score_"):
        _require(arrays[name][mask] >= 0, name, "holds values below 0")
    _require(np.abs(arrays["spectra"]) <= 2, "spectra", "holds values beyond its unit")
    ways = ("pixel", "global", "band", "none")
    _require(str(arrays["scaling"]) in ways, "scaling", f"is none of {', '.join(ways)}")
    n_bands = len(arrays["spectra_centre"])
    _require(arrays["n_features_in_"] == n_bands, "n_features_in_", "is not the number of bands")


def _check_order(arrays: Arrays) -> None:
    """Check the density order, which the kernels follow without looking."""
    mask, ranking, parent = arrays["_mask"], arrays["_ranking"], arrays["_parent"]
    n = len(ranking)
    _require(np.sort(ranking) == np.arange(n), "_ranking", "is not an order of the pixels")
    density, score = arrays["density_"][mask], arrays["mode_score_"][mask]
    _require(np.diff(density[ranking]) <= 0, "_ranking", "does not follow the density")
    _require(parent[0] == -1, "_parent", "gives the densest pixel a denser one")
    _require(parent[1:] >= 0, "_parent", "leaves a pixel without a denser one")
    _require(parent[1:] < np.arange(1, n), "_parent", "leads to pixels that are not denser")
    _require(
        np.isclose(score, density * arrays["rho_"][mask], rtol=1e-9, atol=0),
        "mode_score_",
        "is not the product of density_ and rho_",
    )
    # The labels start from the densest pixel.
    densest = score[ranking[0]]
    _require(densest >= score.max() * (1 - 1e-9), "mode_score_", "is not largest where densest")


def _check_labels(arrays: Arrays) -> None:
    mask, labels, modes = arrays["_mask"], arrays["labels_"], arrays["modes_"]
    n_clusters = int(arrays["n_clusters_"])
    _require(len(modes) == n_clusters >= 1, "modes_", "does not have one entry per cluster")
    _require(labels[~mask] == -1, "labels_", "labels masked pixels")
    inside = (labels[mask] >= 0) & (labels[mask] < n_clusters)
    _require(inside, "labels_", "holds labels that are no cluster's")
    _require((modes >= 0) & (modes < labels.size), "modes_", "points outside the image")
    _require(labels.ravel()[modes] == np.arange(n_clusters), "modes_", "is not in its clusters")


def _check_ensemble(arrays: Arrays) -> None:
    """Check what the automatic mode adds: all of it, or nothing."""
    names = {"confidence_", "_runs", "_findings"}
    present = names & set(arrays)
    if not present:
        return
    if present != names:
        raise DamageError(f"it lacks {', '.join(sorted(names - present))}")
    known = arrays["confidence_"][arrays["_mask"]]
    _require((known >= 0) & (known <= 1), "confidence_", "holds values outside 0..1")
    _require(arrays["_runs"] >= 0, "_runs", "holds labels below 0")
    _require(len(arrays["_runs"]) > 0, "_runs", "is empty")
