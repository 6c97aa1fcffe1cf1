"""Algorithm 1, first half: join each pixel to its spectrally nearest neighbours in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk import progress
from spectrawalk.errors import GraphError
from spectrawalk.kernels import edges, neighbors, windows
from spectrawalk.kernels.selection import to_single
from spectrawalk.kernels.tree import build_tree
from spectrawalk.threads import one_thread

LEADING = 12
"""Principal coordinates in which far spectra are ruled out before their distance is summed."""

EXACT_SEARCH = 50_000
"""Up to this many pixels the nearest spectra of the whole image are exact."""

SEARCH_BUDGET = 10_000
"""Above that, a pixel's nearest spectra are sought among this many, or 100 for each wanted."""

SELF_TUNING_NEIGHBOR = 7
"""Which neighbour's distance is a pixel's own scale in self-tuning weights."""


def window_neighbors(
    X: NDArray[np.float64],
    mask: NDArray[np.bool_],
    k: int,
    radius: int,
    window: str = "square",
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
    # One thread in a product: the tiles share the cores.
    with one_thread():
        for start, stop in progress.in_steps("neighbours", -(-len(mask) // tile), work):
            top, bottom = max(0, start * tile - radius), min(len(mask), stop * tile + radius)
            first, last = pixels_above[top], pixels_above[bottom]
            single, squares = to_single(X, np.arange(first, last), middle, scale)
            windows.window_neighbors(
                X, single, squares, first, number, start, stop, radius, window == "disk", index, d2
            )
    return index, d2


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
    # One thread in a product: the nodes share the cores.
    with one_thread():
        for start, stop in progress.in_steps(stage, len(nodes), work):
            neighbors.global_neighbors(
                tree, X, single, squares, slack, max(budget, k), nodes[start:stop], index, d2
            )
    return index, d2


def to_unit(X: NDArray[np.float64]) -> float:
    """Power of two that brings the values below 1, where single precision has its full range."""
    _, exponent = np.frexp(max(float(X.max()), -float(X.min())))
    return float(np.ldexp(1.0, min(-int(exponent), 1000)))


def leading_coordinates(
    X: NDArray[np.float64], middle: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float64], float]:
    """Project the scaled spectra onto their principal directions, and bound the rounding error."""
    blocks = [slice(start, start + 65_536) for start in range(0, len(X), 65_536)]
    covariance = np.zeros((X.shape[1], X.shape[1]))
    longest = 0.0
    with one_thread():
        for block in blocks:
            centred = (X[block] - middle) * scale
            covariance += centred.T @ centred
            longest = max(longest, float(np.square(centred).sum(axis=1).max()))
        _, directions = np.linalg.eigh(covariance)
        leading = np.ascontiguousarray(directions[:, : -LEADING - 1 : -1])
        leads = np.concatenate([((X[block] - middle) * scale) @ leading for block in blocks])
    return leads, 1e-12 * np.sqrt(longest)


def number_pixels(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Number the valid pixels in C order, -1 where masked."""
    number = np.full(mask.shape, -1, dtype=np.int32)
    number[mask] = np.arange(np.count_nonzero(mask), dtype=np.int32)
    return number


def local_scales(
    d2: NDArray[np.float64], sigma: float | str, factor: float = 1.0
) -> NDArray[np.float64]:
    """Scale s_i of each pixel; an edge then weighs exp(-d^2 / (s_i s_j)).

    Parameters
    ----------
    d2 : ndarray of shape (n, k)
        Squared neighbour distances, infinite where there is no neighbour.
    sigma : float, "mean" or "self-tuning"
        One scale for all, as in the paper; the mean neighbour distance; or each pixel's distance
        to its 7th neighbour.
    factor : float
        Multiplies the two adaptive choices.
    """
    n = len(d2)
    if not isinstance(sigma, str):
        return np.full(n, float(sigma))
    present = np.isfinite(d2)
    distance = np.sqrt(np.where(present, d2, 0.0))
    counts = present.sum(axis=1)
    mean = distance.sum() / max(int(counts.sum()), 1)
    if mean == 0:
        raise GraphError(
            f"sigma={sigma!r} cannot be set: all neighbour distances are 0; give sigma a number, "
            "or tell identical pixels apart with jitter."
        )
    if sigma == "mean":
        return np.full(n, factor * mean)
    own = distance[np.arange(n), np.minimum(counts, SELF_TUNING_NEIGHBOR) - 1]
    # Among many identical pixels the 7th distance can be 0, which would cut all other edges.
    return factor * np.where((counts > 0) & (own > 0), own, mean)


def weight_matrix(
    index: NDArray[np.int32],
    d2: NDArray[np.float64],
    scales: NDArray[np.float64],
    symmetrize: str | None = "max",
) -> csr_array:
    """Weights W(x, y) = exp(-|x - y|^2 / sigma^2) of the neighbour graph.

    Parameters
    ----------
    index, d2 : ndarray of shape (n, k)
        Neighbours as from :func:`window_neighbors`.
    scales : ndarray of shape (n,)
        As from :func:`local_scales`.
    symmetrize : {"max", None}
        Union of the edges of both directions, or each pixel's own edges only.
    """
    n, k = index.shape
    start, positions = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    if symmetrize == "max":
        # A pair has one distance, so that the larger of two weights is the one that there is.
        room = np.empty(n * k, dtype=np.int32 if n * k < 2**31 else np.int64)
        start, positions = edges.incoming(index, room)
    indptr = np.zeros(n + 1, dtype=np.int64)
    steps = progress.ranges(n, 200 * k)
    for begin, end in steps:
        indptr[begin + 1 : end + 1] = edges.count_edges(index, d2, start, positions, begin, end)
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.int32)
    weights = np.empty(indptr[-1])
    for begin, end in steps:
        edges.fill_edges(index, d2, scales, start, positions, indptr, indices, weights, begin, end)
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)  # SciPy gives both arrays the wider type of the two
    W = csr_array((weights, indices, indptr), shape=(n, n))
    if not weights.all():
        _check_weights(W, d2, scales)
        W.eliminate_zeros()
    return W


def _check_weights(W: csr_array, d2: NDArray[np.float64], scales: NDArray[np.float64]) -> None:
    lost = np.count_nonzero((W.sum(axis=1) == 0) & np.isfinite(d2).any(axis=1))
    if lost:
        typical = float(np.sqrt(np.median(d2[np.isfinite(d2)])))
        raise GraphError(
            f"the weights of all edges underflow to 0 at {lost} of {len(d2)} pixels: sigma="
            f"{np.median(scales):.3g} is far below the typical neighbour distance {typical:.3g}; "
            "give a larger sigma, or normalize='pixel'."
        )


def entries(W: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Row starts, columns and values, in the types that the kernels are compiled for."""
    return W.indptr.astype(np.int64, copy=False), W.indices.astype(np.int32, copy=False), W.data


def component_numbers(W: csr_array) -> NDArray[np.int32]:
    """Weakly connected component of each pixel, 0 for the largest, then by decreasing size."""
    indptr, indices, _ = entries(W)
    component = edges.connected(indptr, indices)
    count = int(component.max()) + 1
    by_size = np.argsort(-np.bincount(component, minlength=count), kind="stable")
    position = np.empty(count, dtype=np.int32)
    position[by_size] = np.arange(count, dtype=np.int32)
    return position[component]
