"""Before clustering: which bands and pixels of a scene are used, and why the others are not.

Every step is a pure function of the scene and can be switched off. The record of the run lists what
each step excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.parameters import check_choice
from spectrawalk.scene import Scene, check_bands
from spectrawalk.scene.usability import constant_bands, equals, unusable_pixels

WATER_VAPOUR = ((1350.0, 1450.0), (1800.0, 1950.0))
"""Windows, in nanometres, in which water vapour leaves hardly any light to measure."""

OVERLAPS = ("vnir", "swir", "middle", "keep")
"""What to keep where two detectors see the same wavelengths."""

_SHORTEST = 30.0  # nanometres: no imaging spectrometer measures there, and all do in micrometres
_MOST_DETECTORS = 5  # more runs of ascending wavelengths than this are no detectors but disorder


@dataclass(frozen=True)
class Step:
    """What one step of the preparation excluded.

    Attributes
    ----------
    name : str
        The keyword of :func:`prepare_scene` that controls it.
    bands : tuple of int
        Bands that it dropped, counted from 0 in the scene as it was given.
    pixels : int
        Pixels that it masked and no step before it had.
    reason : str
        Why, in a few words; or why it had nothing to do.
    """

    name: str
    bands: tuple[int, ...]
    pixels: int
    reason: str


@dataclass(frozen=True)
class Preparation:
    """All steps in order, and the bands that are left, counted from 0 in the scene as given."""

    steps: tuple[Step, ...]
    kept_bands: tuple[int, ...]

    def to_record(self) -> dict[str, Any]:
        """Give plain values for a JSON file."""
        return {
            "steps": [
                {
                    "name": step.name,
                    "reason": step.reason,
                    "dropped_bands": list(step.bands),
                    "masked_pixels": step.pixels,
                }
                for step in self.steps
            ],
            "kept_bands": list(self.kept_bands),
        }


def prepare_scene(
    scene: Scene,
    *,
    crop: tuple[slice, slice] | None = None,
    mask: ArrayLike | None = None,
    bands: ArrayLike | None = None,
    band_ranges: Sequence[tuple[float, float]] | None = None,
    drop_bad_bands: bool = True,
    drop_water_bands: bool = True,
    overlap: str = "vnir",
    drop_constant_bands: bool = True,
    mask_saturated: bool = True,
    saturation: float | None = None,
) -> tuple[Scene, Preparation]:
    """Exclude unusable bands and pixels, and list each exclusion with its reason.

    Pixels without data are masked by the readers already; here they are sought again among the
    bands that are left.

    Parameters
    ----------
    scene : Scene
    crop : pair of slices, optional
        Rows and columns to keep.
    mask : array of bool, shape (rows, cols) of the scene as given, optional
        True where a pixel may be used; see :func:`spectrawalk.io.read_mask` for files.
    bands : array of int or bool, optional
        Bands to keep, counted from 0.
    band_ranges : sequence of (low, high), optional
        Wavelengths to keep, in nanometres, both ends included.
    drop_bad_bands : bool
        Drop the bands that the file calls bad, and those without a single value.
    drop_water_bands : bool
        Drop the bands in `WATER_VAPOUR`.
    overlap : {"vnir", "swir", "middle", "keep"}
        Where two detectors see the same wavelengths: the bands of the detector for shorter waves,
        for longer waves, each up to the middle of the overlap, or all.
    drop_constant_bands : bool
        Drop bands that have one value in all valid pixels.
    mask_saturated : bool
        Mask pixels that reach `saturation` in any band that is left.
    saturation : float, optional
        Value at which the sensor is full. By default the largest value of the cube's type, for
        integers of at least 16 bits, and none for other types.

    Returns
    -------
    scene : Scene
        Its ``metadata["preparation"]`` is the record below.
    preparation : Preparation
        What each step did.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> cube = np.random.default_rng(0).random((4, 5, 5))
    >>> scene = Scene(cube, wavelengths=[450, 650, 1400, 1650, 2200])
    >>> prepared, preparation = prepare_scene(scene)
    >>> prepared.n_bands, preparation.kept_bands
    (4, (0, 1, 3, 4))
    >>> [(step.name, step.bands) for step in preparation.steps if step.bands]
    [('drop_water_bands', (2,))]
    """
    _check_choices(scene, overlap, band_ranges, saturation)
    steps: list[Step] = []
    scene = _use_mask(scene, mask, steps)
    if crop is not None:
        scene = scene.crop(*crop)
    kept = np.ones(scene.n_bands, dtype=bool)

    def drop(name: str, unwanted: NDArray[np.bool_], reason: str) -> None:
        newly = kept & unwanted
        kept[newly] = False
        steps.append(Step(name, tuple(np.flatnonzero(newly).tolist()), 0, reason))
        if not kept.any():
            raise DataError(
                f"scene '{scene.name}': no band is left after {name} ({reason}); switch that step "
                "off or choose other bands."
            )

    if bands is not None:
        drop("bands", _not_chosen(bands, scene.n_bands), "not among the chosen bands")
    if band_ranges is not None:
        drop("band_ranges", ~_within(scene, band_ranges), "outside the chosen wavelengths")
    if drop_bad_bands:
        drop("drop_bad_bands", *_bad(scene))
    if drop_water_bands:
        drop("drop_water_bands", *_water(scene))
    if overlap != "keep":
        drop("overlap", *_overlapping(scene, kept, overlap))
    if drop_constant_bands:
        constant = constant_bands(scene.cube, scene.mask)
        if constant[kept].all():
            full = saturation_of(scene, saturation) if mask_saturated else None
            _explain_constant(scene, kept, steps, full)
        drop("drop_constant_bands", constant, "one value everywhere")
    if not kept.all():
        scene = scene.select_bands(kept)
    scene = _mask_unusable(scene, steps)
    if mask_saturated:
        scene = _mask_saturated(scene, saturation, steps)
    preparation = Preparation(tuple(steps), tuple(np.flatnonzero(kept).tolist()))
    record = scene.metadata | {"preparation": preparation.to_record()}
    return replace(scene, metadata=record), preparation


def overlapping_bands(
    wavelengths: NDArray[np.float64], keep: str, considered: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Find the bands to drop so that no two detectors see the same wavelengths.

    A detector is a run of bands of ascending (or descending) wavelengths; the next one begins where
    they step back.

    Parameters
    ----------
    wavelengths : ndarray of shape (bands,)
        In the order of the file.
    keep : {"vnir", "swir", "middle"}
        As `overlap` of :func:`prepare_scene`.
    considered : ndarray of bool, shape (bands,), optional
        Bands that are still in use; the others neither overlap nor are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> wavelengths = np.array([400, 700, 950, 990, 910, 960, 1100.0])
    >>> np.flatnonzero(overlapping_bands(wavelengths, "vnir"))
    array([4, 5])
    >>> np.flatnonzero(overlapping_bands(wavelengths, "swir"))
    array([2, 3])
    >>> np.flatnonzero(overlapping_bands(wavelengths, "middle"))
    array([3, 4])
    """
    unwanted = np.zeros(len(wavelengths), dtype=bool)
    detectors = _detectors(wavelengths)
    if considered is not None:
        detectors = [each[considered[each]] for each in detectors]
    detectors = sorted(
        (each for each in detectors if each.size), key=lambda d: wavelengths[d].min()
    )
    for shorter, longer in pairwise(detectors):
        first, last = wavelengths[longer].min(), wavelengths[shorter].max()
        if first > last:
            continue
        border = {"vnir": last, "swir": first, "middle": (first + last) / 2}[keep]
        if keep == "swir":
            unwanted[shorter[wavelengths[shorter] >= border]] = True
        else:
            unwanted[longer[wavelengths[longer] <= border]] = True
            unwanted[shorter[wavelengths[shorter] > border]] = True
    return unwanted


def _detectors(wavelengths: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Split the bands where the wavelengths turn back."""
    order = np.arange(len(wavelengths))
    if np.count_nonzero(np.diff(wavelengths) < 0) > len(wavelengths) / 2:
        order = order[::-1]
    breaks = np.flatnonzero(np.diff(wavelengths[order]) <= 0) + 1
    if len(breaks) >= _MOST_DETECTORS:
        return []
    return np.split(order, breaks)


def _check_choices(
    scene: Scene,
    overlap: str,
    band_ranges: Sequence[tuple[float, float]] | None,
    saturation: float | None,
) -> None:
    check_choice("overlap", overlap, OVERLAPS)
    if saturation is not None and not isinstance(saturation, Real):
        raise ParameterError(f"saturation={saturation!r} is not a number; give one, or none.")
    if band_ranges is None:
        return
    if scene.wavelengths is None:
        raise DataError(
            f"band_ranges needs wavelengths, and scene '{scene.name}' has none; choose by the "
            "number of the band, or give a file that has them."
        )
    ranges = np.asarray(band_ranges, dtype=object)
    if ranges.ndim != 2 or ranges.shape[1] != 2 or not all(low <= high for low, high in ranges):
        raise ParameterError(
            f"band_ranges={band_ranges!r} is not a list of pairs of wavelengths; give (low, "
            "high) in nanometres, the lower one first."
        )
    for low, high in ranges:
        if high < _SHORTEST:
            raise ParameterError(
                f"band_ranges holds {low:g}:{high:g}, which looks like micrometres; give "
                f"nanometres: {low * 1000:g}:{high * 1000:g}."
            )


def _use_mask(scene: Scene, mask: ArrayLike | None, steps: list[Step]) -> Scene:
    if mask is None:
        return scene
    before = scene.mask
    chosen = replace(scene, mask=mask).mask  # type: ignore[arg-type]  # Scene checks it
    scene = replace(scene, mask=before & chosen)
    steps.append(Step("mask", (), int(np.count_nonzero(before & ~chosen)), "outside the mask"))
    if not scene.n_valid:
        raise DataError(
            f"scene '{scene.name}': the mask leaves no valid pixel; check that it covers the scene "
            "and is true where pixels are to be used."
        )
    return scene


def _not_chosen(bands: ArrayLike, n_bands: int) -> NDArray[np.bool_]:
    unwanted = np.ones(n_bands, dtype=bool)
    unwanted[check_bands(bands, n_bands)] = False
    return unwanted


def _within(scene: Scene, ranges: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    inside = np.zeros(scene.n_bands, dtype=bool)
    if scene.wavelengths is not None:
        for low, high in ranges:
            inside |= (scene.wavelengths >= low) & (scene.wavelengths <= high)
    return inside


def _bad(scene: Scene) -> tuple[NDArray[np.bool_], str]:
    if scene.good_bands is None:
        return np.zeros(scene.n_bands, dtype=bool), "the file calls no band bad"
    return ~scene.good_bands, "called bad by the file, or empty"


def _water(scene: Scene) -> tuple[NDArray[np.bool_], str]:
    if scene.wavelengths is None:
        return np.zeros(scene.n_bands, dtype=bool), "not done: the wavelengths are not known"
    windows = " and ".join(f"{low:.0f} to {high:.0f} nm" for low, high in WATER_VAPOUR)
    return _within(scene, WATER_VAPOUR), f"water vapour, {windows}"


def _overlapping(
    scene: Scene, considered: NDArray[np.bool_], keep: str
) -> tuple[NDArray[np.bool_], str]:
    if scene.wavelengths is None:
        return np.zeros(scene.n_bands, dtype=bool), "not done: the wavelengths are not known"
    preferred = {
        "vnir": "shorter waves preferred",
        "swir": "longer waves preferred",
        "middle": "parted in the middle",
    }[keep]
    unwanted = overlapping_bands(scene.wavelengths, keep, considered)
    return unwanted, f"seen by two detectors, {preferred}"


def _explain_constant(
    scene: Scene, kept: NDArray[np.bool_], steps: Sequence[Step], full: float | None
) -> None:
    """Say why no band varies, where that is about the pixels and not about the bands."""
    n = scene.n_valid
    if n == 1:
        raise DataError(f"scene '{scene.name}': {_only_pixel(scene, steps)}")
    if n == 0:
        raise DataError(f"scene '{scene.name}': all pixels are masked; check the mask.")
    spectrum = scene.cube[tuple(np.argwhere(scene.mask)[0])][kept]
    if not np.isfinite(spectrum).all():
        return
    if (spectrum != spectrum[0]).any():
        raise DataError(
            f"scene '{scene.name}': all {n} valid pixels hold the same spectrum in the bands that "
            "are used, so there is nothing to cluster; choose other bands, or another scene or "
            "part."
        )
    found = (
        f"hold {spectrum[0]:g} in every band, which is likely the value for no data"
        if full is None or spectrum[0] < full
        else f"are saturated: they hold {spectrum[0]:g}, the largest value of the sensor, in every "
        "band"
    )
    raise DataError(
        f"scene '{scene.name}': all {n} valid pixels {found}; choose another scene or another part "
        "of it."
    )


def _only_pixel(scene: Scene, steps: Sequence[Step]) -> str:
    needed = "clustering needs at least 2"
    if any(step.name == "mask" and step.pixels for step in steps):
        return (
            f"the mask leaves only one valid pixel; {needed}: check that the mask is true where "
            "pixels are to be used."
        )
    if scene.mask.size == 1:
        return f"the image is a single pixel; {needed}."
    return (
        f"only one of {scene.mask.size} pixels is valid; {needed}: check the scene, or choose a "
        "larger part of it."
    )


def saturation_of(scene: Scene, saturation: float | None) -> float | None:
    """Value at which the sensor is full: the given one, or the largest of its type; else None."""
    if saturation is not None:
        return saturation
    is_integer = scene.cube.dtype.kind in "ui" and scene.cube.dtype.itemsize >= 2
    return int(np.iinfo(scene.cube.dtype).max) if is_integer else None


def _mask_unusable(scene: Scene, steps: list[Step]) -> Scene:
    """Mask what the bands that are left cannot use; NaN in a band that was kept by choice."""
    reasons = unusable_pixels(scene.cube, nodata=scene.metadata.get("nodata"))
    unusable = np.logical_or.reduce(list(reasons.values()))
    return _without(scene, unusable, "usable", "no data, not finite or zero in all bands", steps)


def _mask_saturated(scene: Scene, saturation: float | None, steps: list[Step]) -> Scene:
    full = saturation_of(scene, saturation)
    if full is None:
        nowhere = np.zeros(scene.shape, dtype=bool)
        reason = "not done: the value of saturation is not known"
        return _without(scene, nowhere, "mask_saturated", reason, steps)
    saturated = np.zeros(scene.shape, dtype=bool)
    for band in range(scene.n_bands):
        plane = scene.cube[:, :, band]
        saturated |= equals(plane, full) if saturation is None else plane >= full
    return _without(scene, saturated, "mask_saturated", f"{full:g} or more in a band", steps)


def _without(
    scene: Scene, unwanted: NDArray[np.bool_], name: str, reason: str, steps: list[Step]
) -> Scene:
    newly = scene.mask & unwanted
    steps.append(Step(name, (), int(np.count_nonzero(newly)), reason))
    if not newly.any():
        return scene
    if newly.sum() == scene.n_valid:
        raise DataError(
            f"scene '{scene.name}': no pixel is left after {name} ({reason}); switch that step off "
            "or check the scene."
        )
    return replace(scene, mask=scene.mask & ~newly)
