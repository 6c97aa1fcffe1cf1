"""Which clusters of two maps from files have similar mean spectra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spectrawalk.io.label_map import LabelMap
from spectrawalk.results.comparison import clusters_in
from spectrawalk.results.matching import Partners, common_bands, match_spectra, spectral_angles


def _spectra(before: LabelMap, after: LabelMap) -> tuple[Any, ...] | None:
    """Numbers and mean spectra of both maps, in the bands that both have; None without any."""
    one, other = before.spectra, after.spectra
    if one is None or other is None:
        return None
    if one.wavelengths is not None and other.wavelengths is not None:
        bands = common_bands(one.wavelengths, other.wavelengths)
    else:
        numbers_of_bands = (each.band_numbers.astype(np.float64) for each in (one, other))
        bands = common_bands(*numbers_of_bands)
    if bands is None:
        return None
    sides = []
    for each, chosen in zip((before, after), bands, strict=True):
        assert each.spectra is not None
        # Clusters that the window leaves out have no part in it.
        there = clusters_in(f"'{each.title}'", each.codes, each.no_data)
        numbers = [number for number in there if 1 <= number <= len(each.spectra.means)]
        means = each.spectra.means[np.array(numbers, dtype=int) - 1][:, chosen]
        sides.append((numbers, means))
    return tuple(sides)


def spectral_partners(before: LabelMap, after: LabelMap) -> list[Partners] | None:
    """Match clusters of two maps by their mean spectra; None where there are none to compare.

    Examples
    --------
    >>> from spectrawalk.io.cluster_spectra import StoredSpectra
    >>> known = StoredSpectra(np.ones((1, 3)), np.arange(3), None, None, ("cluster 1",))
    >>> one = LabelMap(np.array([[1]]), 0, "may", spectra=known)
    >>> [(each.before, each.after) for each in spectral_partners(one, one)]
    [(1, 1)]
    """
    found = _spectra(before, after)
    if found is None:
        return None
    (numbers, means), (numbers_after, means_after) = found
    return [
        Partners(numbers[one], numbers_after[other], angle)
        for one, other, angle in match_spectra(means, means_after)
    ]


def partner_angles(
    before: LabelMap, after: LabelMap, matching: Mapping[int, int]
) -> dict[int, float]:
    """Spectral angle of partners in degrees, by the number in the first map, where it is known."""
    found = _spectra(before, after)
    if found is None:
        return {}
    (numbers, means), (numbers_after, means_after) = found
    angles = np.degrees(spectral_angles(means, means_after))
    pairs = [
        (one, numbers.index(one), numbers_after.index(other))
        for one, other in matching.items()
        if one in numbers and other in numbers_after
    ]
    return {
        one: float(angles[row, col]) for one, row, col in pairs if np.isfinite(angles[row, col])
    }
