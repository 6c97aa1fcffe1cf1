"""Draw: the windows of the scenes that the model is fitted to.

Half of the pixels come from windows that are spread evenly over the scenes. The other windows are
chosen one by one so that every kind of spectrum has its share: kinds are K-means clusters of the
spectra of the survey, and the next window is the one that adds most of what is still missing. So a
cover that lives in a small part of a scene is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.prepare.principal import centred_blocks, principal_directions
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.scale.source import Source
from spectrawalk.scale.survey import Seen
from spectrawalk.scale.tiles import Tile, divide
from spectrawalk.scene import Scene
from spectrawalk.threads import one_thread

PIXELS = 2**18
"""Pixels that the model is fitted to, about. A scene with fewer is fitted as a whole."""

WINDOW = 64
"""Side of a window: several times the radius in which the ensemble searches neighbours."""

GAP = 8
"""Masked pixels between the windows: more than the lags of the within-field components, so that
features do not mix. Neighbours in a graph may lie in the next window, as in any image."""

KINDS = 128
"""Kinds of spectra that should all be drawn."""

COMPONENTS = 12
"""Principal components in which kinds are told apart; scaled to equal variance."""


class Window(NamedTuple):
    """A part of one of several scenes."""

    scene: int
    tile: Tile


def draw_windows(
    sources: Sequence[Source], seen: Sequence[Seen], cell: int, seed: int
) -> list[Window]:
    """Choose the windows; all of the scenes, as one window each, if they are small enough.

    `cell` is the size of the cells of the survey. What is chosen is in the order of the scenes, and
    from top to bottom and left to right in each.
    """
    whole = [Window(i, Tile(0, s.shape[0], 0, s.shape[1])) for i, s in enumerate(sources)]
    if sum(each.valid for each in seen) <= PIXELS:
        return whole
    windows = [
        Window(i, tile) for i, source in enumerate(sources) for tile in divide(source.shape, WINDOW)
    ]
    window_of, spectra = [], []
    start = 0
    for source, each in zip(sources, seen, strict=True):
        across = -(-source.shape[1] // WINDOW)
        usable = ~source.saturated(each.spectra[:, list(source.kept)])
        rows, cols = each.places[usable].T // WINDOW
        window_of.append(start + rows * across + cols)
        spectra.append(each.spectra[usable][:, list(source.kept)].astype(np.float64))
        start += across * -(-source.shape[0] // WINDOW)
    kinds = _kinds_of(np.concatenate(spectra), seed)
    shape = len(windows), int(kinds.max()) + 1
    counts = np.zeros(shape)
    np.add.at(counts, (np.concatenate(window_of), kinds), float(cell * cell))
    return [windows[i] for i in sorted(_choose(counts, PIXELS, seed))]


def _choose(counts: NDArray[np.float64], most: int, seed: int) -> list[int]:
    """Choose rows (windows) until their pixels are `most`; `counts` is pixels of each kind.

    Examples
    --------
    >>> counts = np.full((40, 2), [100.0, 0.0])
    >>> counts[17] = [0.0, 100.0]
    >>> 17 in _choose(counts, 400, seed=0)
    True
    """
    pixels = counts.sum(axis=1)
    full = np.flatnonzero(pixels > pixels.max() / 2)  # not those at the edge of the scene
    wanted = max(1, round(most / 2 / pixels[full].mean()))
    edges = np.linspace(0, len(full), min(wanted, len(full)) + 1).astype(np.intp)
    chosen = full[np.random.default_rng(seed).integers(edges[:-1], edges[1:])].tolist()
    have = counts[chosen].sum(axis=0)
    share = most / counts.shape[1]
    left = np.setdiff1d(np.flatnonzero(pixels > 0), chosen)
    while have.sum() < most and len(left):
        missing = np.maximum(share - have, 0)
        gain = np.minimum(counts[left], missing).sum(axis=1)
        best = int(left[gain.argmax()])
        chosen.append(best)
        have = have + counts[best]
        left = left[left != best]
    return chosen


def _kinds_of(spectra: NDArray[np.float64], seed: int) -> NDArray[np.intp]:
    """Kind of each spectrum: its cluster by K-means in whitened principal components."""
    from sklearn.cluster import KMeans

    unit = normalize_spectra(spectra, "pixel")
    mean = unit.mean(axis=0)
    directions = principal_directions(centred_blocks(unit, mean), COMPONENTS)
    with one_thread(openmp=True):
        components = (unit - mean) @ directions
        spread = components.std(axis=0)
        components /= np.where(spread > 0, spread, 1.0)
        n_kinds = min(KINDS, len(np.unique(components, axis=0)))
        found = KMeans(n_kinds, n_init=1, random_state=seed).fit_predict(components)
    return np.asarray(found, dtype=np.intp)


def mosaic(sources: Sequence[Source], windows: Sequence[Window]) -> Scene:
    """Put the windows into one image, with masked pixels between them.

    They lie in rows of about equal length, in their order, so that windows that are near each other
    in the scene mostly are in the mosaic.
    """
    heights = [window.tile.shape[0] for window in windows]
    widths = [window.tile.shape[1] for window in windows]
    across = max(1, round(np.sqrt(len(windows))))
    down = -(-len(windows) // across)
    pitch = max(heights) + GAP, max(widths) + GAP
    shape = down * pitch[0] - GAP, min(across, len(windows)) * pitch[1] - GAP
    cube, mask, first = None, np.zeros(shape, bool), None
    for place, (index, tile) in enumerate(windows):
        scene = sources[index].read(tile.rows, tile.cols)
        if cube is None or first is None:
            first = scene
            cube = np.zeros((*shape, scene.n_bands), dtype=scene.cube.dtype)
        top, left = (place // across) * pitch[0], (place % across) * pitch[1]
        part = slice(top, top + tile.shape[0]), slice(left, left + tile.shape[1])
        cube[part], mask[part] = scene.cube, scene.mask
    assert cube is not None  # there is at least one window
    assert first is not None
    return Scene(
        cube,
        mask=mask,
        name="drawn windows",
        wavelengths=first.wavelengths,
        fwhm=first.fwhm,
        band_names=first.band_names,
        band_numbers=first.band_numbers,
    )
