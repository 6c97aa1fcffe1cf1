"""Two maps from files, compared: what the change map, the table, the page and the record show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.io.label_map import LabelMap
from spectrawalk.io.map_matching import partner_angles, spectral_partners
from spectrawalk.io.shared_legend import (
    common_origin,
    edited_apart,
    is_clustered,
    shared_legend,
)
from spectrawalk.report.pictures import thinning
from spectrawalk.results.captions import count
from spectrawalk.results.cluster_map import UNLIKE_NAME, ClusterMap, Legend, pixel_areas
from spectrawalk.results.comparison import (
    FIRST_CHANGE,
    Change,
    Comparison,
    Entry,
    compare_maps,
)
from spectrawalk.results.palette import UNLIKE, Color, cluster_colors
from spectrawalk.scene.alignment import Place, common_window, shifted

RULES = ("auto", "numbers", "spectra", "overlap")

UNCHANGED_COLOR: Color = (233, 230, 218)
"""Pale, so that changes stand out; no cluster and no missing data have it."""

_DARKEST = 0.45  # of the light of a cluster's colour, for the rarest change to it
_BLOCK_ROWS = 512


@dataclass(frozen=True, eq=False)
class ComparedMaps:
    """Two maps on one grid, and what changed between them.

    Attributes
    ----------
    before, after : LabelMap
        Cut to the pixels that both have.
    comparison : Comparison
    rule : str
        How clusters were matched: ``"numbers"``, ``"spectra"`` or ``"overlap"``.
    why : str
        Why by this rule.
    angles : dict
        Spectral angle in degrees between the mean spectra of partners, by the number of the
        cluster in the first map; empty where the spectra are not known.
    """

    before: LabelMap
    after: LabelMap
    comparison: Comparison
    rule: str
    why: str
    angles: Mapping[int, float]

    @property
    def crs(self) -> str | None:
        """Coordinate system of the grid, from the map that has one."""
        return self.before.crs or self.after.crs

    @property
    def transform(self) -> Any:
        """Place of the grid on the ground, from the map that has one."""
        return self.before.transform or self.after.transform

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each entry of the shared legend."""
        return tuple(self._name(each) for each in self.comparison.entries)

    def _name(self, entry: Entry) -> str:
        number = entry.after if entry.before is None else entry.before
        if entry.unlike:
            alone = self.rule != "numbers"
            owner = " of A" * (alone and entry.after is None)
            return UNLIKE_NAME + (owner or " of B" * (alone and entry.before is None))
        if entry.before is not None and entry.before in self.before.names:
            return self.before.names[entry.before]
        shared = entry.before is None or self.rule == "numbers"
        if shared and entry.after in self.after.names:
            return self.after.names[entry.after] + " of B" * (entry.before is None)
        thing = "cluster" if self.before.is_own or self.after.is_own else "class"
        return f"{thing} {number}" + " of B" * (entry.before is None)

    @cached_property
    def colors(self) -> NDArray[np.uint8]:
        """Colour of each entry of the shared legend: that of the first map, shape (entries, 3)."""
        entries = self.comparison.entries
        numbers = [each.before for each in entries if each.before is not None]
        first = max(numbers) if self.before.is_own or self.rule == "numbers" else len(numbers)
        colors = []
        alone = 0
        for place, entry in enumerate(entries):
            number = entry.before
            if entry.unlike:
                colors.append(UNLIKE)
            elif number is None:
                colors.append(_palette(first + alone))
                alone += 1
            elif number in self.before.colors:
                colors.append(self.before.colors[number])
            elif self.rule == "numbers" and number in self.after.colors:
                colors.append(self.after.colors[number])
            else:
                colors.append(_palette(number - 1 if self.before.is_own else place))
        return np.array(colors, dtype=np.uint8)

    @cached_property
    def change_names(self) -> tuple[str, ...]:
        """Name of each value of the change map, from 1: unchanged, and each kind of change."""
        return ("unchanged", *(self.name_of(each) for each in self.comparison.changes))

    def name_of(self, change: Change) -> str:
        """Name of a kind of change."""
        if change.before == change.after:
            return f"{UNLIKE_NAME} in both"
        return f"{self.names[change.before]} → {self.names[change.after]}"

    @cached_property
    def change_colors(self) -> NDArray[np.uint8]:
        """Colour of each value of the change map, from 1, shape (kinds + 1, 3).

        A change has the colour of the cluster that it leads to. Where several lead to one, the
        smaller ones are darker.
        """
        changes = self.comparison.changes
        colors = [np.array(UNCHANGED_COLOR, float)]
        to, so_far = Counter(each.after for each in changes), Counter[int]()
        for change in changes:
            light = 1 - (1 - _DARKEST) * so_far[change.after] / max(1, to[change.after] - 1)
            so_far[change.after] += 1
            colors.append(self.colors[change.after] * light)
        return np.rint(colors).astype(np.uint8)

    @cached_property
    def change_map(self) -> ClusterMap:
        """Legend of the change map with its counts and areas; its pixels are thinned."""
        matrix = self.comparison
        kinds = [(each.before, each.after) for each in matrix.changes]
        known = [place for place, each in enumerate(matrix.entries) if not each.unlike]

        def of_kinds(values: NDArray[Any]) -> NDArray[Any]:
            return np.array([values[known, known].sum(), *(values[kind] for kind in kinds)])

        return self._legend_map(matrix.codes, self.change_names, self.change_colors, of_kinds)

    @cached_property
    def matched_map(self) -> ClusterMap:
        """Legend of the second map in the numbers of the shared one; its pixels are thinned."""
        return self._legend_map(
            self.after_entries(self._thin(self.after.codes)) + 1,
            self.names,
            self.colors,
            lambda values: values.sum(axis=0)[:-1],
            thin=True,
        )

    def _legend_map(
        self,
        codes: NDArray[Any],
        names: tuple[str, ...],
        colors: NDArray[np.uint8],
        total: Any,
        *,
        thin: bool = False,
    ) -> ClusterMap:
        """Make a map whose counts and areas are those of the whole, from the change matrix."""
        labels = (codes if thin else self._thin(codes)).astype(np.int32) - 1
        shown = ClusterMap(
            labels, len(names), self.crs, self.transform, legend=Legend(names, colors)
        )
        areas = None if self.comparison.areas is None else total(self.comparison.areas)
        vars(shown).update(counts=total(self.comparison.pixels), areas=areas)
        return shown

    def _thin(self, image: NDArray[Any]) -> NDArray[Any]:
        step = thinning(image.shape)
        return image[::step, ::step]

    def before_entries(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Place in the shared legend of pixels of the first map; -1 where there is no data."""
        return _lookup(codes, {each.before: i for i, each in enumerate(self.comparison.entries)})

    def after_entries(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Place in the shared legend of pixels of the second map; -1 where there is no data."""
        return _lookup(codes, {each.after: i for i, each in enumerate(self.comparison.entries)})

    def matched_blocks(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Second map in the numbers of the shared legend, some rows at a time."""
        kind = np.min_scalar_type(len(self.names))
        for top in range(0, self.after.codes.shape[0], _BLOCK_ROWS):
            part = self.after.codes[top : top + _BLOCK_ROWS]
            yield top, 0, (self.after_entries(part) + 1).astype(kind)

    def change_blocks(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Values of the change map, some rows at a time."""
        for top in range(0, self.comparison.codes.shape[0], _BLOCK_ROWS):
            yield top, 0, self.comparison.codes[top : top + _BLOCK_ROWS]

    @property
    def sums(self) -> list[tuple[str, int, float | None]]:
        """Pixels and area in square metres: unchanged, changed, undecided if any, compared."""
        matrix = self.comparison
        pixels = [("unchanged", matrix.unchanged), ("changed", matrix.changed)]
        pixels += [(f"{UNLIKE_NAME} in both", matrix.undecided)] * bool(matrix.undecided)
        pixels.append(("compared", matrix.compared))
        if matrix.areas is None:
            return [(name, n, None) for name, n in pixels]
        same = self.change_map.areas[0]  # type: ignore[index]
        unknown = sum(each.area or 0.0 for each in matrix.changes if matrix.is_undecided(each))
        whole = float(matrix.areas[:-1, :-1].sum())
        areas = [float(same), whole - float(same) - unknown, *[unknown] * bool(matrix.undecided)]
        return [(*each, area) for each, area in zip(pixels, [*areas, whole], strict=True)]

    @property
    def matched_in_words(self) -> str:
        """How the clusters were matched, and how many have a partner."""
        entries = [each for each in self.comparison.entries if not each.unlike]
        if self.rule == "numbers":
            return f"the numbers mean the same clusters in both maps: {self.why}"
        n_before = sum(each.before is not None for each in entries)
        n_after = sum(each.after is not None for each in entries)
        pairs = sum(None not in each[:2] for each in entries)
        how = {"spectra": "mean spectra (spectral angle)", "overlap": "common pixels"}[self.rule]
        why = f", {self.why}" * bool(self.why)
        return (
            f"clusters are matched by {how}{why}: {pairs} of {n_before} in A have a partner among "
            f"the {n_after} in B"
        )

    @property
    def _of_clustering(self) -> str:
        """What the records say of a part of the change that comes from the clustering."""
        records = (self.before.record, self.after.record)
        if not (self.before.is_own and self.after.is_own):
            return ""  # another program made a map, perhaps without clusters
        origin = common_origin(*records)
        if origin and edited_apart(*records):
            return (
                f"{origin}, but the clusters of at least one map were edited by hand, so a part of "
                "the change can come from that"
            )
        if origin:
            by_number = f"{origin}, so clusters with one number are the same; leave out `match`"
            return by_number * (self.rule != "numbers")
        advice = (
            "so a part of the change can come from the clustering; to avoid that, label both dates "
            "with one model (`spectrawalk predict`) or cluster both scenes in one run"
        )
        if all(map(is_clustered, records)):
            return f"the maps were clustered separately, {advice}"
        unknown = f"the records do not show whether the maps were clustered together, {advice}"
        return unknown * (self.rule != "numbers")

    @property
    def remarks(self) -> list[str]:
        """What is worth a second look."""
        found, matrix = [], self.comparison
        if self._of_clustering:
            found.append(self._of_clustering)
        if self.rule == "overlap" and matrix.unchanged < matrix.compared / 2:
            found.append(
                "less than half of the pixels are unchanged under the best matching by common "
                "pixels, which may then be wrong; give results folders, whose clusters are "
                "matched by their spectra"
            )
        clusters = [each for each in matrix.entries if not each.unlike]
        if self.rule == "spectra" and any(None in each[:2] for each in clusters):
            found.append(
                "A cluster has no partner if no cluster of the other map is similar enough. If "
                "only the calibration differs, try `match=overlap`."
            )
        if matrix.undecided:
            found.append(
                f"{count(matrix.undecided, 'pixel')} {_is(matrix.undecided)} unlike the fit in "
                "both maps and count neither as changed nor as unchanged"
            )
        left_out = int(matrix.pixels.sum() - matrix.compared)
        if left_out:
            found.append(
                f"{count(left_out, 'pixel')} {_is(left_out)} without data in at least one map"
            )
        return found


def compare_label_maps(before: LabelMap, after: LabelMap, match: str = "auto") -> ComparedMaps:
    """Compare two maps from files where they lie on each other.

    Parameters
    ----------
    before, after : LabelMap
    match : str
        One of :data:`RULES`. ``"auto"`` takes numbers if both runs have one legend, else spectra if
        both maps have them in the same bands, else overlap.

    Examples
    --------
    >>> one = LabelMap(np.array([[1, 1, 2, 2]], np.uint8), 0, "may")
    >>> other = LabelMap(np.array([[3, 3, 1, 3]], np.uint8), 0, "june")
    >>> found = compare_label_maps(one, other)
    >>> found.rule, found.change_names
    ('overlap', ('unchanged', 'class 2 → class 1'))
    """
    before, after = _on_common_grid(before, after)
    partners = spectral_partners(before, after)
    rule, why = _choose(match, before, after, partners is not None)
    if rule == "spectra":
        assert partners is not None
        by: str | dict[int, int] = {each.before: each.after for each in partners}
        if not by:
            raise DataError(
                "no cluster of the second map is like one of the first map by its mean spectrum; "
                "check that both show one place in the same units, or match by overlap "
                "(match='overlap')."
            )
    else:
        by = rule
    place = before if before.transform is not None else after
    comparison = compare_maps(
        before.codes,
        after.codes,
        match=by,
        no_label=(before.no_data, after.no_data),
        unlike=(before.unlike, after.unlike),
        row_areas=pixel_areas(before.codes.shape[0], before.crs or after.crs, place.transform),
    )
    angles = partner_angles(before, after, comparison.matching)
    return ComparedMaps(before, after, comparison, rule, why, angles)


def _on_common_grid(before: LabelMap, after: LabelMap) -> tuple[LabelMap, LabelMap]:
    maps = (before, after)
    places = [Place(each.codes.shape, each.crs, each.transform) for each in maps]
    windows = common_window(*places)
    cut = [
        replace(each, codes=each.codes[window], transform=shifted(each.transform, window))
        for each, window in zip(maps, windows, strict=True)
    ]
    return cut[0], cut[1]


def _choose(match: str, before: LabelMap, after: LabelMap, has_spectra: bool) -> tuple[str, str]:
    """Choose the rule, and say why."""
    if match not in RULES:
        raise ParameterError(f"match='{match}' is none of {', '.join(RULES)}.")
    if match == "spectra" and not has_spectra:
        raise DataError(
            "the clusters cannot be matched by spectra: not both maps have a table of mean spectra "
            "in the same bands beside them; match by overlap (match='overlap')."
        )
    if match != "auto":
        return match, "as asked for"
    why = shared_legend(before.record, after.record)
    if why:
        return "numbers", why
    if has_spectra:
        return "spectra", ""
    return "overlap", "because not both maps have mean spectra in the same bands"


def _lookup(codes: NDArray[Any], places: Mapping[int | None, int]) -> NDArray[np.int32]:
    found = np.full(codes.shape, -1, np.int32)
    for number, place in places.items():
        if number is not None:
            found[codes == number] = place
    return found


def _palette(place: int) -> Color:
    return tuple(cluster_colors(max(0, place) + 1)[-1].tolist())


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def change_value(place: int) -> int:
    """Value in the change map of a kind of change, by its place among them."""
    return FIRST_CHANGE + place
