"""What changed between two maps of clusters: the change matrix, and a map of the changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.results.matching import best_matching
from spectrawalk.results.scores import whole_numbers

NO_DATA, UNCHANGED, FIRST_CHANGE = 0, 1, 2
"""Values of the change map."""

_BLOCK_PIXELS = 4_000_000
_MOST_CLUSTERS = (
    4096  # the matrix has the square of it; a map with more values is no map of classes
)
_SMALL = (np.uint8, np.uint16)  # types whose values are counted without sorting
_MAPS = ("the first map", "the second map")


class Entry(NamedTuple):
    """A cluster in the legend that both maps share."""

    before: int | None
    """Its number in the first map; None if the cluster is in the second map alone."""
    after: int | None
    unlike: bool = False
    """Whether it stands for pixels that are unlike the fit, which are in no cluster."""


class Change(NamedTuple):
    """All pixels that went from one cluster to another."""

    before: int
    """Place in the legend, as is `after`."""
    after: int
    pixels: int
    area: float | None
    """In square metres."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed between two maps.

    Attributes
    ----------
    entries : tuple of Entry
        The legend that both maps share: clusters of the first map with their partners in the second
        map, then clusters of the second map that have none.
    rule : str
        How partners were found: ``"numbers"``, ``"overlap"`` or ``"given"``.
    pixels : ndarray of int, shape (entries + 1, entries + 1)
        The change matrix: pixels of entry i in the first map and j in the second map. The last row
        and column are no data. Row totals are the pixels of the clusters of the first map, column
        totals those of the second map, and all add up to the image.
    areas : ndarray, shape of `pixels`, or None
        The same in square metres; None without `row_areas`.
    changes : tuple of Change
        From the largest to the smallest. Pixels that are unlike the fit in both maps are among
        them if there are any, but :attr:`changed` does not count them.
    codes : ndarray of unsigned int, shape (rows, cols)
        The change map: 0 no data in at least one map, 1 unchanged, ``2 + i`` for ``changes[i]``.
    """

    entries: tuple[Entry, ...]
    rule: str
    pixels: NDArray[np.int64]
    areas: NDArray[np.float64] | None
    changes: tuple[Change, ...]
    codes: NDArray[Any]

    @property
    def matching(self) -> dict[int, int]:
        """Number in the second map of each cluster of the first map that has a partner."""
        return {
            each.before: each.after
            for each in self.entries
            if each.before is not None and each.after is not None
        }

    @cached_property
    def compared(self) -> int:
        """Pixels with a cluster, or unlike the fit, in both maps."""
        return int(self.pixels[:-1, :-1].sum())

    @cached_property
    def unchanged(self) -> int:
        """Pixels in the same cluster in both maps."""
        known = [not each.unlike for each in self.entries]
        return int(np.diagonal(self.pixels)[:-1][known].sum())

    @property
    def undecided(self) -> int:
        """Pixels that are unlike the fit in both maps, whether they changed is unknown."""
        return sum(each.pixels for each in self.changes if self.is_undecided(each))

    @property
    def changed(self) -> int:
        """Pixels in another cluster in the second map."""
        return self.compared - self.unchanged - self.undecided

    def is_undecided(self, change: Change) -> bool:
        """Whether a change is from unlike the fit to unlike the fit."""
        return self.entries[change.before].unlike and self.entries[change.after].unlike


def compare_maps(
    before: ArrayLike,
    after: ArrayLike,
    *,
    match: str | Mapping[int, int] = "overlap",
    no_label: int | tuple[int, int] = -1,
    unlike: tuple[int | None, int | None] = (None, None),
    row_areas: NDArray[np.float64] | None = None,
) -> Comparison:
    """Compare two maps of one place, pixel by pixel.

    Parameters
    ----------
    before, after : array of whole numbers, shape (rows, cols)
        Cluster of each pixel at two dates.
    match : "overlap", "numbers" or mapping
        Which clusters are the same. ``"overlap"`` matches them one to one so that they have
        the most pixels in common: right if most of the image did not change. ``"numbers"`` takes
        the same number for the same cluster: right for one legend, such as that of a prediction.
        A mapping gives for clusters of the first map their partners in the second map, such as
        :func:`~spectrawalk.results.matching.match_spectra` finds.
    no_label : int or pair of int
        What stands for no cluster: -1 in ``labels_``, 0 in a map that was written to a file.
    unlike : pair of int or None
        Number of the pixels that are unlike the fit, in either map. They form no cluster: without a
        common legend they match nothing.
    row_areas : ndarray of shape (rows,), optional
        Area of a pixel in each row in square metres, as
        :func:`~spectrawalk.results.cluster_map.pixel_areas` gives it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from spectrawalk import compare_maps
    >>> found = compare_maps([[0, 0, 1, 1]], [[5, 5, 3, 5]])
    >>> found.matching, found.changed, found.codes
    ({0: 5, 1: 3}, 1, array([[1, 1, 1, 2]], dtype=uint8))
    >>> found.pixels
    array([[2, 0, 0],
           [1, 1, 0],
           [0, 0, 0]])
    """
    empty = (no_label, no_label) if isinstance(no_label, int) else no_label
    images = tuple(_as_codes(*each) for each in zip(_MAPS, (before, after), empty, strict=True))
    if images[0].shape != images[1].shape:
        raise DataError(
            f"the maps have the shapes {images[0].shape} and {images[1].shape}; give two maps of "
            "one grid."
        )
    clusters = tuple(clusters_in(*each) for each in zip(_MAPS, images, empty, strict=True))
    places = tuple(_Places(found) for found in clusters)
    counts = np.zeros((len(clusters[0]) + 1, len(clusters[1]) + 1), np.int64)
    for _, pair in _pairs(images, places):
        counts += np.bincount(pair.ravel(), minlength=counts.size).reshape(counts.shape)
    if not counts[:-1, :-1].any():
        raise DataError("no pixel has a cluster in both maps; give two maps of one place.")
    rule = match if isinstance(match, str) else "given"
    entries = _legend(match, clusters, counts[:-1, :-1], unlike)
    # From the clusters of each map to the legend; no data is last in both.
    rows, cols = (
        np.array([*(_place(entries, side, each) for each in found), len(entries)])
        for side, found in enumerate(clusters)
    )
    pixels = np.zeros((len(entries) + 1,) * 2, np.int64)
    pixels[np.ix_(rows, cols)] = counts
    areas = _areas(pixels, row_areas, images, places, np.ix_(rows, cols))
    changes = _changes(entries, pixels, areas)
    codes = _change_codes(images, places, changes, (rows, cols), len(entries))
    return Comparison(entries, rule, pixels, areas, changes, codes)


def _as_codes(what: str, values: ArrayLike, no_label: int) -> NDArray[Any]:
    """Take whole numbers as they are: a map may be too large for a second copy."""
    array = np.asanyarray(values)
    if array.dtype.kind not in "ui" or np.ma.isMaskedArray(array):
        array = whole_numbers(what, values, fill=no_label)
    if array.ndim != 2 or array.size == 0:
        raise DataError(f"{what} has shape {array.shape}; a map needs (rows, cols).")
    return array


def _row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    step = max(1, _BLOCK_PIXELS // shape[1])
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def clusters_in(what: str, image: NDArray[Any], no_label: int) -> list[int]:
    """Numbers of the clusters that occur in a map, in order; `what` names it in an error.

    Examples
    --------
    >>> clusters_in("the map", np.array([[3, 0, 1]]), 0)
    [1, 3]
    """
    found: set[int] = set()
    for part in _row_blocks(image.shape):
        block = image[part]
        if image.dtype.type in _SMALL:
            values = np.flatnonzero(np.bincount(block.ravel()))
        else:
            values = np.unique(block)
        found.update(values.tolist())
        if len(found) > _MOST_CLUSTERS:
            raise DataError(
                f"{what} has more than {_MOST_CLUSTERS:,} different values; give a map of clusters "
                "or classes."
            )
    found.discard(no_label)
    if not found:
        raise DataError(
            f"{what} has no pixel with a cluster: all are {no_label}, which stands for no data; "
            "give a map that has."
        )
    return sorted(found)


class _Places:
    """Finds the place of a number in a sorted list, and the end of the list for all others."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = np.array(numbers)
        self._table = np.full(2**16, len(numbers), np.int16)
        small = [(place, each) for place, each in enumerate(numbers) if 0 <= each < 2**16]
        for place, each in small:
            self._table[each] = place

    def __call__(self, block: NDArray[Any]) -> NDArray[np.integer]:
        if block.dtype.type in _SMALL:
            return self._table[block]
        found = np.searchsorted(self._numbers, block)
        known = self._numbers[np.minimum(found, len(self._numbers) - 1)] == block
        return np.where(known, found, len(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)


def _pairs(
    images: tuple[NDArray[Any], ...], places: tuple[_Places, ...]
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Place of each pixel in the matrix of the two maps, laid out in one row; some rows a time."""
    one, other = places
    for part in _row_blocks(images[0].shape):
        yield (
            part,
            one(images[0][part]).astype(np.int64) * (len(other) + 1) + other(images[1][part]),
        )


def _legend(
    match: str | Mapping[int, int],
    clusters: tuple[list[int], ...],
    common: NDArray[np.int64],
    unlike: tuple[int | None, int | None],
) -> tuple[Entry, ...]:
    """Find which clusters are the same, and list all."""
    if match == "numbers":
        return _common_legend(clusters, unlike)
    if match == "overlap":
        kept = tuple(
            [place for place, each in enumerate(found) if each != strange]
            for found, strange in zip(clusters, unlike, strict=True)
        )
        counts = common[np.ix_(*kept)]
        rows, cols = best_matching(counts, common.sum(axis=0)[kept[1]])
        partner_of = {
            clusters[0][kept[0][row]]: clusters[1][kept[1][col]]
            for row, col in zip(rows, cols, strict=True)
            if counts[row, col]
        }
    elif isinstance(match, str):
        raise ParameterError(
            f"match='{match}' is neither 'overlap' nor 'numbers' nor a mapping of clusters."
        )
    else:
        partner_of = dict(match)
        _check_mapping(partner_of, clusters)
    taken = set(partner_of.values())
    return (
        *(Entry(each, partner_of.get(each), each == unlike[0]) for each in clusters[0]),
        *(Entry(None, each, each == unlike[1]) for each in clusters[1] if each not in taken),
    )


def _common_legend(
    clusters: tuple[list[int], ...], unlike: tuple[int | None, int | None]
) -> tuple[Entry, ...]:
    if not set(clusters[0]) & set(clusters[1]):
        raise DataError(
            f"the maps have no number in common: the first one has {_few(clusters[0])} and the "
            f"second one {_few(clusters[1])}; give match='overlap' if the numbers mean different "
            "clusters."
        )
    for one, other in ((0, 1), (1, 0)):
        strange = unlike[one]
        if strange is not None and strange != unlike[other] and strange in clusters[other]:
            raise DataError(
                f"{strange} is a cluster in {_MAPS[other]} and marks pixels that are unlike the "
                f"fit in {_MAPS[one]}, so the maps have no common legend; give match='overlap'."
            )
    return tuple(Entry(each, each, each in unlike) for each in sorted({*clusters[0], *clusters[1]}))


def _check_mapping(partner_of: Mapping[int, int], clusters: tuple[list[int], ...]) -> None:
    if len(set(partner_of.values())) < len(partner_of):
        raise ParameterError("match gives one cluster to two; give each another partner.")
    for numbers, found, what in zip(
        (list(partner_of), list(partner_of.values())), clusters, _MAPS, strict=True
    ):
        missing = set(numbers) - set(found)
        if missing:
            raise ParameterError(
                f"match names cluster {min(missing)}, which {what} does not have; it has "
                f"{_few(found)}."
            )


def _few(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:6])) + (", ..." if len(numbers) > 6 else "")


def _place(entries: tuple[Entry, ...], side: int, number: int) -> int:
    return next(place for place, each in enumerate(entries) if each[side] == number)


def _areas(
    pixels: NDArray[np.int64],
    row_areas: NDArray[np.float64] | None,
    images: tuple[NDArray[Any], ...],
    places: tuple[_Places, ...],
    where: tuple[NDArray[Any], ...],
) -> NDArray[np.float64] | None:
    """Area of each cell of the matrix; exact multiples where all pixels are alike."""
    if row_areas is None:
        return None
    if len(row_areas) != images[0].shape[0]:
        raise ParameterError(
            f"row_areas has {len(row_areas)} values for {images[0].shape[0]} rows; give one for "
            "each."
        )
    if (row_areas == row_areas[0]).all():
        return np.asarray(pixels * row_areas[0])
    shape = len(places[0]) + 1, len(places[1]) + 1
    sums = np.zeros(shape)
    for part, pair in _pairs(images, places):
        weights = np.broadcast_to(row_areas[part, np.newaxis], pair.shape).ravel()
        sums += np.bincount(pair.ravel(), weights, minlength=sums.size).reshape(shape)
    areas = np.zeros(pixels.shape)
    areas[where] = sums
    return areas


def _changes(
    entries: tuple[Entry, ...], pixels: NDArray[np.int64], areas: NDArray[np.float64] | None
) -> tuple[Change, ...]:
    """All kinds of change that occur, from the largest to the smallest."""
    found = [
        Change(row, col, int(pixels[row, col]), None if areas is None else float(areas[row, col]))
        for row, col in np.argwhere(pixels[:-1, :-1]).tolist()
        if row != col or entries[row].unlike
    ]
    return tuple(sorted(found, key=lambda each: (-each.pixels, each.before, each.after)))


def _change_codes(
    images: tuple[NDArray[Any], ...],
    places: tuple[_Places, ...],
    changes: tuple[Change, ...],
    to_entry: tuple[NDArray[np.integer], ...],
    n_entries: int,
) -> NDArray[Any]:
    kind = np.min_scalar_type(UNCHANGED + len(changes))
    of_pair = np.full((n_entries + 1,) * 2, NO_DATA, kind)
    np.fill_diagonal(of_pair[:-1, :-1], UNCHANGED)
    for code, change in enumerate(changes, start=FIRST_CHANGE):
        of_pair[change.before, change.after] = code
    table = of_pair[np.ix_(*to_entry)].ravel()
    codes = np.empty(images[0].shape, kind)
    for part, pair in _pairs(images, places):
        codes[part] = table[pair]
    return codes
