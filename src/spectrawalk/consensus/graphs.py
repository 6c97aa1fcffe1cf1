"""Graphs of the ensemble: each is built once, and its eigenpairs and densities serve all runs.

Weights are nearly equal, and neighbours are searched in a window or in the whole image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.prepare.pixels import Grid
from spectrawalk.srdl import pipeline
from spectrawalk.srdl.density import BANDWIDTH_SHARE, density_ranking
from spectrawalk.srdl.eigenpairs import diffusion_coordinates
from spectrawalk.srdl.neighbors import global_neighbors
from spectrawalk.srdl.pipeline import Density, GraphSettings, Neighbors

NEIGHBORS = 50
"""Neighbours of a pixel in each graph."""

RADIUS_SHARE = 0.3
"""Radius of the window, as a share of the shorter side of the image..."""

LARGEST_RADIUS = 16
"""...but at most this, so that the search time per pixel does not grow with the image."""

DECAY = 0.5
"""Value of lambda^t of the last eigenvalue used: it defines the diffusion time t."""

DENSITY_NEIGHBORS = {"near": 20, "wide": 100}
"""Nearest spectra from which each kind of density is computed."""

WEIGHT_SCALE = 10.0
"""Scale sigma of the weights, in units of the typical distance. Nearly equal weights work best."""

TOLERANCE = 1e-6
"""Largest residual of an eigenvector. One of many runs needs less precision than a single run."""

MEAN_SAMPLE = 3_000
"""Pixels whose mean distance sets the bandwidth of the density "near"."""


class SolvedGraph(NamedTuple):
    """A graph, the eigenpairs of its random walk, and two kinds of density."""

    eigenvalues: NDArray[np.float64]
    eigenvectors: NDArray[np.float64]
    densities: dict[str, Density]
    """The paper's density ("near"), and one from more spectra ("wide")."""
    neighbors: NDArray[np.int32]
    """Neighbours of each pixel in the graph, shape (n, k); -1 where there are fewer."""


def window_radius(mask: NDArray[np.bool_]) -> int:
    """Radius of the window in which neighbours are searched, in pixels.

    Examples
    --------
    >>> import numpy as np
    >>> [window_radius(np.ones(shape, dtype=bool)) for shape in ((30, 50), (500, 500))]
    [9, 16]
    """
    return max(2, min(round(RADIUS_SHARE * min(mask.shape)), LARGEST_RADIUS))


def solve_graphs(
    points: NDArray[np.float64], grid: Grid, radii: Iterable[int | None], n_eigenpairs: int
) -> Iterator[SolvedGraph]:
    """Build a graph of each radius on the same features, and compute its leading eigenpairs.

    Parameters
    ----------
    points : ndarray of shape (n, m)
        Features of each pixel.
    grid : Grid
    radii : list of int or None
        Half-width of the window of each graph; None: neighbours in the whole image.
    n_eigenpairs : int

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(80, 2))
    >>> grid = Grid(np.ones((8, 10), dtype=bool))
    >>> near, anywhere = solve_graphs(points, grid, [2, None], 5)
    >>> near.eigenvectors.shape, near.neighbors.shape, anywhere.neighbors.shape
    ((80, 5), (80, 24), (80, 50))
    """
    radii = list(radii)
    densities, found = _search(points, keep=None in radii)
    for radius in radii:
        settings, near = GraphSettings(NEIGHBORS, radius), found
        if radius is not None:
            near = pipeline.nearest_neighbors(points, grid, settings)
        graph = _nearly_unweighted_graph(points, grid, near, settings)
        index = near.index
        del near  # for a large image, the distances take as much memory as everything else
        values, vectors = pipeline.random_walk(graph, n_eigenpairs, TOLERANCE)
        yield SolvedGraph(values, vectors, densities, index)


def diffusion_at(solved: SolvedGraph, n_eigenpairs: int) -> NDArray[np.float64]:
    """Diffusion coordinates of the leading eigenpairs, shape (n, M)."""
    m = min(n_eigenpairs, len(solved.eigenvalues))
    values = solved.eigenvalues[:m]
    coordinates = diffusion_coordinates(values, solved.eigenvectors[:, :m], time_for(values))
    return np.ascontiguousarray(coordinates)


def time_for(eigenvalues: NDArray[np.float64]) -> float:
    """Time t at which lambda^t of the last eigenvalue is 0.5, for images of any size.

    Examples
    --------
    >>> import numpy as np
    >>> round(time_for(np.array([1.0, 0.99, 0.98])))
    34
    """
    last = float(np.clip(np.abs(eigenvalues[-1]), 1e-6, 1 - 1e-12))
    return float(np.log(DECAY) / np.log(last))


def _nearly_unweighted_graph(
    points: NDArray[np.float64], grid: Grid, near: Neighbors, settings: GraphSettings
) -> pipeline.Graph:
    """Graph with nearly equal weights: sigma is ten times the typical distance."""
    present = np.isfinite(near.d2)
    typical = float(np.sqrt(np.mean(near.d2, where=present))) if present.any() else 0.0
    sigma = WEIGHT_SCALE * typical if typical > 0 else 1.0
    return pipeline.neighbor_graph(near, points, grid, replace(settings, sigma=sigma))


def _search(points: NDArray[np.float64], *, keep: bool) -> tuple[dict[str, Density], Neighbors]:
    """Search the whole image for the nearest spectra: two kinds of density, and neighbours.

    If `keep` is false, the neighbours have no columns: no graph uses them.
    """
    index, d2 = global_neighbors(points, max(NEIGHBORS, *DENSITY_NEIGHBORS.values()))
    near, many = (d2[:, :k] for k in DENSITY_NEIGHBORS.values())
    mean = np.sqrt(many).mean(axis=1)
    floor = 1e-9 * float(mean.max()) or 1.0
    wide = 1 / np.maximum(mean, floor)
    wide /= wide.sum()
    # If nearly all pixels are equal, the mean distance can be 0, and any bandwidth works.
    bandwidth = pipeline.automatic_bandwidth(points, MEAN_SAMPLE) or 1.0 / BANDWIDTH_SHARE
    # In noisy data, all distances can be much larger than the paper's bandwidth.
    while not np.exp(-near / bandwidth**2).sum() > 0:
        bandwidth *= 2
    kept = NEIGHBORS if keep else 0
    densities = {
        "near": pipeline.rank_by_density(near, bandwidth),
        "wide": Density(wide, density_ranking(wide, many)),
    }
    return densities, Neighbors(index[:, :kept].copy(), d2[:, :kept].copy())
