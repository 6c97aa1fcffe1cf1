"""What the arrays of a saved model must be, so that no file can make a kernel go astray."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

LONGEST_TEXT = 64 * 2**20
"""Bytes of an array of text; the names of the columns take some kilobytes."""


class Declared(Protocol):
    """Shape and type of an array, known before it is read, or the array itself."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its axes."""

    @property
    def dtype(self) -> np.dtype:
        """Type of its values."""


_OF_ALL = {
    # Name: type, and shape in which n is the valid pixels, K clusters, M eigenpairs, B bands, R
    # runs, L leaves of a tree, C classes, T times and E endmembers.
    "labels_": ("i4", "image"),
    "n_clusters_": ("i8", ""),
    "reach_": ("f8", ""),
    "n_features_in_": ("i8", ""),
    "_mask": ("b1", "image"),
}
_OF_SPECTRA = {  # what only predict needs; a file with the tree alone lacks all of it
    "spectra": ("f4", "n B"),
    "spectra_centre": ("f8", "B"),
    "spectra_unit": ("f8", ""),
    "scaling": ("U", ""),
    "scaling_peak": ("f8", "scale"),
    "scaling_length": ("f8", "scale"),
}
_OF_RUN = {
    "modes_": ("i8", "K"),
    "density_": ("f8", "image"),
    "density_bandwidth_": ("f8", ""),
    "rho_": ("f8", "image"),
    "mode_score_": ("f8", "image"),
    "coordinates_": ("f8", "image M"),
    "eigenvalues_": ("f8", "M"),
    "n_components_": ("i8", ""),
    "exact_density_": ("b1", ""),
    "_ranking": ("i8", "n"),
    "_parent": ("i8", "n"),
}
_OF_TIMES = {  # M-SRDL
    "labels_per_time_": ("i4", "T image"),
    "n_clusters_per_time_": ("i8", "T"),
    "time_": ("f8", ""),
    "times_": ("f8", "T"),
    "total_variation_": ("f8", "T"),
}
_OF_UNMIXING = {  # D-VIC
    "abundances_": ("f8", "image E"),
    "endmembers_": ("f8", "E B"),
    "n_endmembers_": ("i8", ""),
    "purity_": ("f8", "image"),
}
_OF_SUPERPIXELS = {"superpixels_": ("i4", "image"), "_stand_in": ("i8", "n")}  # S2DL
_OF_TREE = {
    "confidence_": ("f4", "image"),
    "detail_": ("f8", ""),
    "measured_detail_": ("f8", ""),
    "_runs": ("u1", "R n"),
    "_weights": ("f8", "R"),
    "_even_weights": ("f8", "R"),
    "_tree_leaf": ("i4", "n"),
    "_tree_parent": ("i4", "L"),
    "_tree_height": ("f8", "L"),
}
_OF_SUCCESSORS: tuple[dict[str, tuple[str, str]], ...] = (_OF_TIMES, _OF_UNMIXING, _OF_SUPERPIXELS)
_MAY_BE_NAN = {"total_variation_"}
_OPTIONAL = {
    "wavelengths_": ("f8", "B"),
    "feature_names_in_": ("U", "B"),
}


def _of_answers(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What `refit_with` adds to a tree: classes, which are numbers or names."""
    names = "classes_" in arrays and arrays["classes_"].dtype.kind == "U"
    return {"classes_": ("U" if names else "i8", "C")}


def _layout(arrays: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Needed and optional arrays of the kind of model that these are of."""
    if "_tree_leaf" in arrays:
        spectra = _OF_SPECTRA if set(_OF_SPECTRA) & set(arrays) else {}
        return _OF_ALL | _OF_TREE | spectra, _OPTIONAL | _of_answers(arrays)
    own = [each for each in _OF_SUCCESSORS if set(each) & set(arrays)]
    return _OF_ALL | _OF_SPECTRA | _OF_RUN | (own[0] if own else {}), _OPTIONAL


_PER_BAND = ("spectra_centre", "wavelengths_", "feature_names_in_")
"""Arrays with one value per band, of which a file with the tree alone may have none."""


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
    _check_labels(arrays)
    if "_tree_leaf" in arrays:
        _check_tree(arrays)
    else:
        _check_order(arrays)
        _check_modes(arrays)
        _check_successor(arrays)
    return arrays


def _require(holds: Any, name: str, what: str) -> None:
    if not np.all(holds):
        raise DamageError(f"its array {name} {what}")


def check_names(arrays: Mapping[str, Declared]) -> None:
    """Refuse a model in which arrays are missing, or that has arrays which no model has."""
    needed, optional = _layout(arrays)
    missing = sorted(set(needed) - set(arrays))
    if missing:
        raise DamageError(f"it lacks {', '.join(missing)}")
    strange = sorted(set(arrays) - set(needed) - set(optional))
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
        "B": next((arrays[name].shape for name in _PER_BAND if name in arrays), (0,)),
        "R": arrays["_runs"].shape[:1] if "_runs" in arrays else (),
        "image": arrays["_mask"].shape,
    }
    sizes["scale"] = sizes["B"] if scaling == "band" else ()
    for name, of in (
        ("K", "modes_"),
        ("M", "eigenvalues_"),
        ("L", "_tree_parent"),
        ("C", "classes_"),
        ("T", "times_"),
    ):
        sizes[name] = arrays[of].shape if of in arrays else (0,)
    sizes["E"] = arrays["endmembers_"].shape[:1] if "endmembers_" in arrays else (0,)
    if any(len(sizes[name]) != 1 for name in "KMBLCTE"):
        raise DamageError("its arrays have the wrong number of dimensions")
    needed, optional = _layout(arrays)
    for name, (kind, shape) in (needed | optional).items():
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
    needed, optional = _layout(arrays)
    for name, (kind, shape) in (needed | optional).items():
        if name in arrays and kind.startswith("f") and name not in _MAY_BE_NAN:
            known = arrays[name][mask] if shape.startswith("image") else arrays[name]
            _require(np.isfinite(known), name, "holds values that are not finite")
    for name in ("density_bandwidth_", "spectra_unit", "scaling_peak", "scaling_length"):
        if name in arrays:
            _require(arrays[name] > 0, name, "is not above 0")
    for name in ("reach_", "n_components_"):
        if name in arrays:
            _require(arrays[name] >= 0, name, "is below 0")
    for name in ("density_", "rho_", "mode_score_"):
        if name in arrays:
            _require(arrays[name][mask] >= 0, name, "holds values below 0")
    if "confidence_" in arrays:
        known = arrays["confidence_"][mask]
        _require((known >= 0) & (known <= 1), "confidence_", "holds values outside 0..1")
    if "spectra" in arrays:
        _require(np.abs(arrays["spectra"]) <= 2, "spectra", "holds values beyond its unit")
        ways = ("pixel", "global", "band", "none")
        _require(str(arrays["scaling"]) in ways, "scaling", f"is none of {', '.join(ways)}")
    n_bands = int(arrays["n_features_in_"])
    lengths = {len(arrays[name]) for name in _PER_BAND if name in arrays} or {n_bands}
    _require(n_bands >= 1 and lengths == {n_bands}, "n_features_in_", "is not the number of bands")


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
    mask, labels = arrays["_mask"], arrays["labels_"]
    n_clusters = int(arrays["n_clusters_"])
    _require(n_clusters >= 1, "n_clusters_", "is below 1")
    _require(labels[~mask] == -1, "labels_", "labels masked pixels")
    inside = (labels[mask] >= 0) & (labels[mask] < n_clusters)
    _require(inside, "labels_", "holds labels that are no cluster's")


def _check_modes(arrays: Arrays) -> None:
    labels, modes = arrays["labels_"], arrays["modes_"]
    n_clusters = int(arrays["n_clusters_"])
    _require(len(modes) == n_clusters, "modes_", "does not have one entry per cluster")
    _require((modes >= 0) & (modes < labels.size), "modes_", "points outside the image")
    _require(labels.ravel()[modes] == np.arange(n_clusters), "modes_", "is not in its clusters")


def _check_successor(arrays: Arrays) -> None:
    """Check what M-SRDL, D-VIC and S2DL have beside a run."""
    mask = arrays["_mask"]
    if "times_" in arrays:
        times, each = arrays["times_"], arrays["n_clusters_per_time_"]
        _require((times > 0) & (np.diff(times, prepend=0.0) > 0), "times_", "does not rise from 0")
        _require(np.isin(arrays["time_"], times), "time_", "is none of its times")
        found = arrays["labels_per_time_"][:, mask]
        _require((found >= 0) & (found < each[:, None]), "labels_per_time_", "holds other labels")
    if "purity_" in arrays:
        fractions = arrays["abundances_"][mask]
        _require(
            fractions.shape[1] == arrays["n_endmembers_"], "n_endmembers_", "is another number"
        )
        _require((fractions >= 0) & (fractions <= 1 + 1e-9), "abundances_", "holds no fractions")
        largest = fractions.max(axis=1)
        _require(largest == arrays["purity_"][mask], "purity_", "is not the largest abundance")
    if "_stand_in" in arrays:
        stand_in, region = arrays["_stand_in"], arrays["superpixels_"][mask]
        n = len(stand_in)
        _require((stand_in >= 0) & (stand_in < n), "_stand_in", "points outside the image")
        _require(stand_in[stand_in] == stand_in, "_stand_in", "points to no representative")
        _require(region == region[stand_in], "_stand_in", "leads out of a superpixel")
        _require((region >= 0) & (region < n), "superpixels_", "holds numbers of no superpixel")


def _check_tree(arrays: Arrays) -> None:
    """Check that each cluster is split from one before it, and that every leaf has a pixel."""
    leaf, parent, height = (arrays[f"_tree_{name}"] for name in ("leaf", "parent", "height"))
    n_leaves = len(parent)
    _require(n_leaves > 0 and parent[0] == 0, "_tree_parent", "has no root")
    earlier = (parent >= 0) & (parent[:n_leaves] < np.maximum(np.arange(n_leaves), 1))
    _require(earlier, "_tree_parent", "splits a cluster that is not there yet")
    _require((leaf >= 0) & (leaf < n_leaves), "_tree_leaf", "holds labels that are no leaf's")
    _require(np.bincount(leaf, minlength=n_leaves) > 0, "_tree_leaf", "leaves a leaf empty")
    in_order = (height >= 0) & (height <= 1) & (np.diff(height, prepend=1.0) <= 0)
    _require(in_order, "_tree_height", "does not fall from 1 to 0")
    for name in ("_weights", "_even_weights"):
        weights = arrays[name]
        _require(len(weights) > 0 and (weights >= 0).all(), name, "holds weights below 0")
        _require(abs(weights.sum() - 1) < 1e-6, name, "does not have the sum 1")
    if "classes_" in arrays:
        classes = arrays["classes_"]
        _require(len(classes) == arrays["n_clusters_"], "classes_", "is not one name per cluster")
        _require(len(np.unique(classes)) == len(classes), "classes_", "holds a class twice")
    else:
        _require(arrays["n_clusters_"] <= n_leaves, "n_clusters_", "is more than there are leaves")
    _require((arrays["detail_"] >= 0) & (arrays["detail_"] <= 1), "detail_", "is not in 0..1")
