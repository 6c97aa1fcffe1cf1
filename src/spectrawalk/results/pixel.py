"""One pixel of a scene: its spectrally nearest pixels, with a window and without one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.scene import Scene

_BLOCK_VALUES = 4_000_000


class Near(NamedTuple):
    """Spectrally nearest pixels of one pixel, the nearest first."""

    pixels: NDArray[np.intp]
    """Flat image indices."""
    distances: NDArray[np.float64]
    """Distances of the spectra, each scaled to length 1."""


def spectral_distances(scene: Scene, pixel: int) -> NDArray[np.float64]:
    """Distance of each spectrum from that of a pixel, each scaled to length 1, shape (rows, cols).

    Infinite where masked, and at the pixel itself.

    Examples
    --------
    >>> import numpy as np
    >>> scene = Scene(np.array([[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]]))
    >>> spectral_distances(scene, 0).round(3).tolist()
    [[inf, 0.0, 1.414]]
    """
    rows, cols = scene.shape
    own = _unit(scene.cube.reshape(-1, scene.n_bands)[pixel][np.newaxis].astype(np.float64))[0]
    found = np.full((rows, cols), np.inf)
    step = max(1, _BLOCK_VALUES // max(1, cols * scene.n_bands))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        valid = scene.mask[part]
        # Single precision orders all but spectra that are practically the same.
        spectra = scene.cube[part][valid].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", spectra, spectra))
        cosines = (spectra @ own.astype(np.float32)) / np.where(lengths > 0, lengths, 1)
        squares = np.where(lengths > 0, 2.0, 1.0) - 2 * cosines.astype(np.float64)
        found[part][valid] = np.sqrt(np.maximum(squares, 0.0))
    found.flat[pixel] = np.inf
    return found


def nearest_pixels(scene: Scene, pixel: int, k: int, radius: int) -> tuple[Near, Near]:
    """Find the k nearest pixels within a square window around a pixel, and in the whole image.

    Examples
    --------
    >>> import numpy as np
    >>> scene = Scene(np.array([[[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]]))
    >>> windowed, everywhere = nearest_pixels(scene, 0, k=1, radius=1)
    >>> windowed.pixels.tolist(), everywhere.pixels.tolist()
    ([1], [2])
    """
    distances = spectral_distances(scene, pixel)
    row, col = divmod(pixel, scene.shape[1])
    top, left = max(0, row - radius), max(0, col - radius)
    window = np.full_like(distances, np.inf)
    part = (slice(top, row + radius + 1), slice(left, col + radius + 1))
    window[part] = distances[part]
    return _nearest(window, k), _nearest(distances, k)


def _nearest(distances: NDArray[np.float64], k: int) -> Near:
    flat = distances.ravel()
    k = min(k, int(np.isfinite(flat).sum()))
    if k == 0:
        return Near(np.empty(0, np.intp), np.empty(0))
    some = np.flatnonzero(flat <= np.partition(flat, k - 1)[k - 1])
    chosen = some[np.argsort(flat[some], kind="stable")][:k]
    return Near(chosen, flat[chosen])


def _unit(spectra: NDArray[np.floating]) -> NDArray[np.floating]:
    lengths = np.linalg.norm(spectra, axis=1, keepdims=True)
    return spectra / np.where(lengths > 0, lengths, 1)
