"""Survey: one look at all pixels, tile by tile, before the fit.

It finds which bands vary and which are empty, how many pixels are masked, and keeps one spectrum of
each cell of a regular grid, so that the windows of the fit can be chosen. Nothing that it finds
depends on how the image is divided into tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.detail import detail_of_pairs
from spectrawalk.errors import DataError
from spectrawalk.prepare.bands import prepare_scene, saturation_of
from spectrawalk.scale.source import Source
from spectrawalk.scale.tiles import Tile
from spectrawalk.scene import Scene
from spectrawalk.scene.usability import count_masked, unusable_pixels

PREPARATION: dict[str, Any] = {
    "band_ranges": None,
    "drop_bad_bands": True,
    "drop_water_bands": True,
    "drop_constant_bands": True,
    "overlap": "vnir",
    "mask_saturated": True,
    "saturation": None,
}
"""Keywords of :func:`prepare_scene` about bands and saturation, with their defaults."""

SPECTRA = 2**17
"""Spectra that are kept, about; from all scenes together."""


class Seen(NamedTuple):
    """What was seen in a tile, or in several."""

    pixels: int
    valid: int
    """Pixels that are not masked."""
    masked: dict[str, int]
    """Pixels that the reader masked, by reason."""
    low: NDArray[np.float64]
    """Smallest value of each band in a valid pixel; infinite where there is none."""
    high: NDArray[np.float64]
    good: NDArray[np.bool_]
    """Bands that the file does not call bad and that hold a usable value."""
    places: NDArray[np.int64]
    """Row and column of each spectrum that was kept, shape (spectra, 2)."""
    spectra: NDArray[Any]
    """Shape (spectra, bands)."""
    beside: NDArray[Any]
    """Spectrum of the pixel to the right or below, or of the pixel itself where that is masked."""
    paired: NDArray[np.bool_]
    """Whether there is such a valid pixel, shape (spectra,)."""


def cell_size(sources: Sequence[Source]) -> int:
    """Side of the cells of which one spectrum each is kept."""
    pixels = sum(source.n_pixels for source in sources)
    return max(1, int(np.ceil(np.sqrt(pixels / SPECTRA))))


def survey_tile(source: Source, tile: Tile, cell: int) -> Seen:
    """Look at the pixels of a tile."""
    larger = tile.grown(1, source.shape)
    scene = source.read_raw(larger.rows, larger.cols)
    cube, valid = scene.cube, scene.mask
    inside = tile.inside(larger)
    spectra = cube[inside][valid[inside]]
    n_bands = scene.n_bands
    with np.errstate(invalid="ignore"):  # bands that do not count may hold NaN
        low = spectra.min(axis=0).astype(np.float64) if len(spectra) else np.full(n_bands, np.inf)
        high = spectra.max(axis=0).astype(np.float64) if len(spectra) else np.full(n_bands, -np.inf)
    rows, cols = drawn_places(tile, cell)
    usable = valid[rows - larger.top, cols - larger.left]
    rows, cols = rows[usable], cols[usable]
    down = (rows + cols) % 2  # below, or to the right
    below = np.minimum(rows - larger.top + down, scene.shape[0] - 1)
    right = np.minimum(cols - larger.left + 1 - down, scene.shape[1] - 1)
    moved = (below != rows - larger.top) | (right != cols - larger.left)
    kept = cube[rows - larger.top, cols - larger.left]
    paired = moved & valid[below, right]
    return Seen(
        tile.shape[0] * tile.shape[1],
        len(spectra),
        _masked(scene, inside),
        low,
        high,
        np.ones(n_bands, bool) if scene.good_bands is None else scene.good_bands,
        np.stack([rows, cols], axis=1),
        kept,
        np.where(paired[:, np.newaxis], cube[below, right], kept),
        paired,
    )


def _masked(scene: Scene, inside: tuple[slice, slice]) -> dict[str, int]:
    """Count the pixels that the reader masked, by reason, without those of the margin."""
    nodata = scene.metadata.get("nodata")
    reasons = unusable_pixels(scene.cube, nodata=nodata, bands=scene.good_bands)
    return count_masked(scene.mask[inside], {why: each[inside] for why, each in reasons.items()})


def drawn_places(tile: Tile, cell: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the pixels that are kept: one at a random place in each cell.

    The cells belong to the image, so the places do not depend on the tile.

    Examples
    --------
    >>> rows, cols = drawn_places(Tile(0, 8, 0, 8), 4)
    >>> sorted(zip((rows // 4).tolist(), (cols // 4).tolist()))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    down = np.arange(tile.top // cell, -(-tile.bottom // cell), dtype=np.int64)
    across = np.arange(tile.left // cell, -(-tile.right // cell), dtype=np.int64)
    down, across = (each.ravel() for each in np.meshgrid(down, across, indexing="ij"))
    mixed = _mixed(down.astype(np.uint64) << np.uint64(32) | across.astype(np.uint64))
    rows = down * cell + ((mixed >> np.uint64(32)) % np.uint64(cell)).astype(np.int64)
    cols = across * cell + ((mixed & np.uint64(2**32 - 1)) % np.uint64(cell)).astype(np.int64)
    inside = (rows >= tile.top) & (rows < tile.bottom) & (cols >= tile.left) & (cols < tile.right)
    return rows[inside], cols[inside]


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble the bits, so that neighbouring numbers give unrelated ones (SplitMix64)."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def merge(tiles: Sequence[Seen]) -> Seen:
    """Join what was seen in the tiles of one image."""
    good = np.logical_or.reduce([seen.good for seen in tiles])
    # A tile where a band is empty that has values elsewhere has no usable pixel at all.
    usable = [seen for seen in tiles if seen.good[good].all()]
    masked = [_all_masked(seen) if not seen.good[good].all() else seen.masked for seen in tiles]
    reasons = list(dict.fromkeys(why for each in masked for why in each))
    if not usable:
        usable = [tiles[0]._replace(valid=0)]
    places = np.concatenate([seen.places for seen in usable])
    order = np.lexsort(places.T[::-1])
    return Seen(
        sum(seen.pixels for seen in tiles),
        sum(seen.valid for seen in usable),
        {why: sum(each.get(why, 0) for each in masked) for why in reasons},
        np.min([seen.low for seen in usable], axis=0),
        np.max([seen.high for seen in usable], axis=0),
        good,
        places[order],
        np.concatenate([seen.spectra for seen in usable])[order],
        np.concatenate([seen.beside for seen in usable])[order],
        np.concatenate([seen.paired for seen in usable])[order],
    )


def _all_masked(seen: Seen) -> dict[str, int]:
    """Count all pixels of a tile as masked, because a band has no value in any of them."""
    why = "masked_nodata" if "masked_nodata" in seen.masked else "masked_not_finite"
    return {**dict.fromkeys(seen.masked, 0), why: seen.pixels}


def detail(sources: Sequence[Source], seen: Sequence[Seen]) -> float:
    """Share of the spectral variation that lies between adjacent pixels, in all scenes together."""
    spectra, one, other = [], [], []
    for source, each in zip(sources, seen, strict=True):
        kept = list(source.kept)
        first, second = each.spectra[:, kept], each.beside[:, kept]
        usable = ~source.saturated(first)
        both = usable & each.paired & ~source.saturated(second)
        spectra.append(first[usable].astype(np.float64))
        one.append(first[both].astype(np.float64))
        other.append(second[both].astype(np.float64))
    return detail_of_pairs(*(np.concatenate(each) for each in (spectra, one, other)))


def prepare(
    source: Source, pixel: Scene, seen: Seen, settings: dict[str, Any]
) -> tuple[Source, dict[str, Any]]:
    """Choose the bands that are used, as :func:`prepare_scene` does for a scene in memory.

    Parameters
    ----------
    source : Source
    pixel : Scene
        Any window of the scene: what is known about its bands.
    seen : Seen
        What was seen in the whole scene.
    settings : dict
        Of :func:`prepare_scene`, those about bands and saturation.

    Returns
    -------
    source : Source
        With its bands.
    preparation : dict
        For the record.
    """
    if seen.valid < 2:
        raise DataError(
            f"scene '{source.name}' has {seen.valid} usable pixels; check that it is the right "
            "file and variable, and the mask."
        )
    known = seen.low <= seen.high  # a band may hold NaN in all valid pixels, if it is a bad one
    ends = np.where(known, [seen.low, seen.high], np.nan)[np.newaxis]
    # The two ends of each band stand for all pixels: a band is constant if they are equal.
    stand_in = replace(
        pixel,
        cube=ends,
        mask=np.ones((1, 2), bool),
        name=source.name,
        good_bands=seen.good & known,
        transform=None,
        orthorectify=None,
        ground_truth=None,
        metadata={},
    )
    saturation, mask_saturated = settings["saturation"], settings["mask_saturated"]
    about_bands = {**settings, "saturation": None, "mask_saturated": False}
    _, preparation = prepare_scene(stand_in, **about_bands)
    chosen = replace(
        source,
        counting=tuple(np.flatnonzero(seen.good).tolist()),
        kept=preparation.kept_bands,
        full=saturation_of(pixel, saturation) if mask_saturated else None,
        at_least=saturation is not None,
    )
    return chosen, preparation.to_record()
