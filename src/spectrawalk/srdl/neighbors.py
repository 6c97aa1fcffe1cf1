"""Algorithm 1, neighbours: the spectrally nearest pixels within a spatial radius, or of all."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.kernels import neighbors, windows
from spectrawalk.kernels.selection import to_single
from spectrawalk.kernels.tree import build_tree
from spectrawalk.prepare.principal import centred_blocks, principal_directions
from spectrawalk.threads import one_thread, run_blocks, split

LEADING = 12
"""Principal coordinates in which far spectra are ruled out before their distance is summed."""

EXACT_SEARCH = 50_000
"""Up to this many pixels the nearest spectra of the whole image are exact."""

SEARCH_BUDGET = 10_000
"""Above that, a pixel's nearest spectra are sought among this many, or 100 for each wanted."""


def window_neighbors(
    X: NDArray[np.float64],
    mask: NDArray[np.bool_],
    k: int,
    radius: int,
    window: str = "square",
    part: tuple[slice, slice] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find each pixel's k spectrally nearest neighbours within a spatial radius.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra of the valid pixels, in the order of the mask's True entries.
    mask : ndarray of bool, shape (rows, cols)
    k : int
        Neighbours per pixel, the pixel itself left out; fewer where the window holds fewer.
    radius : int
        Half-width r of the window.
    window : {"square", "disk"}
    part : pair of slices, optional
        Rows and columns of the image. Neighbours are searched for the pixels in this part; the rows
        of other pixels in `index` and `d2` then hold anything.

    Returns
    -------
    index : ndarray of int32, shape (n, k)
        Neighbours, nearest first, ties by index; -1 beyond the last one.
    d2 : ndarray of shape (n, k)
        Squared spectral distances; infinite beyond the last one.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [0.0, 0.0]])
    >>> index, d2 = window_neighbors(X, np.ones((1, 4), dtype=bool), k=2, radius=1)
    >>> index.tolist()
    [[1, -1], [0, 2], [1, 3], [2, -1]]
    """
    radius = min(radius, sum(mask.shape))
    k = min(k, len(X) - 1, (2 * radius + 1) ** 2 - 1)
    index = np.empty((len(X), k), dtype=np.int32)
    d2 = np.empty((len(X), k))
    number = number_pixels(mask)
    middle = X.mean(axis=0)
    scale = to_unit(X)
    tile, pixels_above = windows.TILE, np.concatenate([[0], mask.sum(axis=1).cumsum()])
    work = tile * mask.shape[1] * window_size(mask.shape, radius) * X.shape[1]
    rows, cols = part or (slice(0, mask.shape[0]), slice(0, mask.shape[1]))
    above, below = rows.start // tile, -(-rows.stop // tile)
    # One thread in a product: the tiles share the cores.
    with one_thread():
        for begin, end in progress.in_steps("neighbours", below - above, work):
            start, stop = above + begin, above + end
            top, bottom = max(0, start * tile - radius), min(len(mask), stop * tile + radius)
            first, last = pixels_above[top], pixels_above[bottom]
            single, squares = to_single(X, np.arange(first, last), middle, scale)
            search = partial(
                windows.window_neighbors,
                *(X, single, squares, first, number, radius, window == "disk", index, d2),
            )
            run_blocks(search, _blocks(start, stop, cols, mask.shape[1]))
    return index, d2


def _blocks(start: int, stop: int, cols: slice, width: int) -> list[tuple[int, int]]:
    """Blocks of the kernel's tiles that hold some columns, from one row of tiles to another."""
    across, right = -(-width // windows.TILE), -(-cols.stop // windows.TILE)
    left = cols.start // windows.TILE
    if right - left == across:
        return split(start * across, stop * across)
    return [(row * across + left, row * across + right) for row in range(start, stop)]


def window_size(shape: tuple[int, ...], radius: int) -> int:
    """Pixels in a window, at most."""
    return min(2 * radius + 1, shape[0]) * min(2 * radius + 1, shape[1])


def global_neighbors(
    X: NDArray[np.float64], k: int, stage: str = "neighbours", budget: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find each pixel's k spectrally nearest neighbours in the whole image.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
    k : int
    stage : str
        Name in the progress reports.
    budget : int, optional
        Pixels to look at, at most, from the nearest in leading coordinates outwards. By default all
        that is needed for the exact result up to 50,000 pixels, and :data:`SEARCH_BUDGET` above.

    Returns
    -------
    index, d2 : ndarray of shape (n, k)
        As from :func:`window_neighbors`.
    """
    n = len(X)
    k = min(k, n - 1)
    if budget is None:
        budget = n if n <= EXACT_SEARCH else max(SEARCH_BUDGET, 100 * k)
    index = np.empty((n, k), dtype=np.int32)
    d2 = np.empty((n, k))
    middle, scale = X.mean(axis=0), to_unit(X)
    leads, slack = leading_coordinates(X, middle, scale)
    tree = build_tree(leads)
    single, squares = to_single(X, tree.rank, middle, scale)
    nodes = neighbors.parts(tree, neighbors.BLOCK)
    work = neighbors.BLOCK * min(budget, n) * X.shape[1] / 4  # a product is faster than a sum
    search = partial(
        neighbors.global_neighbors,
        *(tree, X, single, squares, slack, max(budget, k), nodes, index, d2),
    )
    # One thread in a product: the nodes share the cores.
    with one_thread():
        for start, stop in progress.in_steps(stage, len(nodes), work):
            run_blocks(search, split(start, stop))
    return index, d2


def to_unit(X: NDArray[np.float64]) -> float:
    """Power of two that brings the values below 1, where single precision has its full range."""
    _, exponent = np.frexp(max(float(X.max()), -float(X.min())))
    return float(np.ldexp(1.0, min(-int(exponent), 1000)))


def leading_coordinates(
    X: NDArray[np.float64], middle: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float64], float]:
    """Project the scaled spectra onto their principal directions, and bound the rounding error."""
    leading = principal_directions(centred_blocks(X, middle, scale), LEADING)
    leads, longest = np.empty((len(X), leading.shape[1])), 0.0
    done = 0
    with one_thread():
        for centred in centred_blocks(X, middle, scale):
            leads[done : done + len(centred)] = centred @ leading
            longest = max(longest, float(np.square(centred).sum(axis=1).max()))
            done += len(centred)
    return leads, 1e-12 * np.sqrt(longest)


def number_pixels(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Number the valid pixels in C order, -1 where masked."""
    number = np.full(mask.shape, -1, dtype=np.int32)
    number[mask] = np.arange(np.count_nonzero(mask), dtype=np.int32)
    return number
