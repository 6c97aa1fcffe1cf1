"""The stages of Algorithms 1 to 3 in order: the only place that wires them.

Algorithm 1: :func:`nearest_neighbors`, :func:`neighbor_graph`, :func:`random_walk`, and
:func:`~spectrawalk.srdl.eigenpairs.diffusion_coordinates`. Algorithm 2: :func:`rank_by_density`,
:func:`ascend`, :func:`choose_modes`. Algorithm 3: :func:`label_from_modes`. The estimators, the
ensemble and the sweeps of the paper call these with their own settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spectrawalk.kernels.tree import Tree
from spectrawalk.prepare.pixels import Grid
from spectrawalk.progress import report
from spectrawalk.srdl import density, eigensolver, graph, modes, neighbors
from spectrawalk.srdl.bridges import bridge_components
from spectrawalk.srdl.eigenpairs import leading_eigenpairs
from spectrawalk.srdl.labels import Consensus, label_pixels

STAGES = ("neighbours", "graph", "bridges", "eigenpairs", "bandwidth", "density", "modes", "labels")
"""Stages of a run, in order, as progress reports name them; no bridges with components="split"."""


@dataclass(frozen=True)
class GraphSettings:
    """How pixels are joined; the parameters of the estimators have the same names and meanings."""

    n_neighbors: int = 100
    radius: int | None = None
    window: str = "square"
    sigma: float | str = 1.0
    sigma_factor: float = 1.0
    symmetrize: str | None = "max"
    components: str = "bridge"


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Nearest neighbours of each pixel, nearest first."""

    index: NDArray[np.int32]
    """Shape (n, k); -1 where there are fewer."""
    d2: NDArray[np.float64]
    """Squared distances, shape (n, k); infinite where there are fewer."""

    def first(self, k: int) -> Neighbors:
        """Keep the k nearest."""
        return Neighbors(self.index[:, :k], self.d2[:, :k])


class Graph(NamedTuple):
    """Weights of the neighbour graph."""

    W: csr_array
    n_components: int
    """Before any were bridged."""
    symmetric: bool


class Density(NamedTuple):
    """Density p of each pixel, and the pixels from the densest to the sparsest."""

    p: NDArray[np.float64]
    ranking: NDArray[np.intp]


class Ascent(NamedTuple):
    """From each pixel to its diffusion-nearest denser one: all that modes and labels need."""

    coordinates: NDArray[np.float64]
    """Diffusion coordinates, shape (n, M)."""
    density: Density
    parent: NDArray[np.int64]
    """In ranks, as from :func:`spectrawalk.srdl.modes.nearest_denser`."""
    rho: NDArray[np.float64]
    """Distance to the nearest denser pixel, shape (n,)."""

    @property
    def mode_score(self) -> NDArray[np.float64]:
        """D_t(x) = p(x) rho_t(x), shape (n,)."""
        return self.density.p * self.rho


def nearest_neighbors(
    X: NDArray[np.float64], grid: Grid, settings: GraphSettings, at_least: int = 0
) -> Neighbors:
    """Spectrally nearest neighbours within the window; of all pixels without one, or in a table.

    Without a window `at_least` asks for more neighbours than the graph needs, so that one search
    can serve the density too.
    """
    k, radius = settings.n_neighbors, _window_radius(grid, settings)
    if radius is None:
        return Neighbors(*neighbors.global_neighbors(X, max(k, at_least)))
    return Neighbors(*neighbors.window_neighbors(X, grid.mask, k, radius, settings.window))


def _window_radius(grid: Grid, settings: GraphSettings) -> int | None:
    """Radius of the window; None without one, or in a table, which has no space."""
    return None if settings.radius is None or not grid.is_image else grid.clip(settings.radius)


def neighbor_graph(
    near: Neighbors, X: NDArray[np.float64], grid: Grid, settings: GraphSettings
) -> Graph:
    """Weights between neighbours, and bridges between the components that they form."""
    report("graph", 0, 1)
    scales = graph.local_scales(near.d2, settings.sigma, settings.sigma_factor)
    W = graph.weight_matrix(near.index, near.d2, scales, settings.symmetrize)
    report("graph", 1, 1)
    symmetric = settings.symmetrize is not None
    if settings.components == "split":
        return Graph(W, int(graph.component_numbers(W).max()) + 1, symmetric)
    radius = _window_radius(grid, settings)
    W, n_components = bridge_components(W, X, grid.mask, scales, radius)
    built = max(n_components - 1, 1)
    report("bridges", built, built)
    return Graph(W, n_components, symmetric)


def random_walk(
    graph: Graph, n_eigenpairs: int | str, tolerance: float = eigensolver.TOLERANCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading eigenvalues and eigenvectors of the walk.

    See :func:`spectrawalk.srdl.eigenpairs.leading_eigenpairs`.
    """
    report("eigenpairs", 0, 1)
    pairs = leading_eigenpairs(
        graph.W, n_eigenpairs, symmetric=graph.symmetric, tolerance=tolerance
    )
    report("eigenpairs", 1, 1)
    return pairs


def automatic_bandwidth(X: NDArray[np.float64], most: int = density.MEAN_SAMPLE) -> float:
    """Bandwidth of the density kernel: a twentieth of the mean distance between pixels."""
    return density.mean_distance(X, most) / density.BANDWIDTH_SHARE


def rank_by_density(d2: NDArray[np.float64], bandwidth: float) -> Density:
    """Density from the squared distances to the nearest spectra of the image, shape (n, k_p)."""
    p = density.kernel_density(d2, bandwidth)
    return Density(p, density.density_ranking(p, d2))


def ascend(coordinates: NDArray[np.float64], density: Density, grown: Tree | None = None) -> Ascent:
    """Find the diffusion-nearest denser pixel of each pixel.

    `grown` is the kd-tree of the coordinates, if it serves several densities.
    """
    parent, rho = modes.nearest_denser(coordinates, density.ranking, grown)
    return Ascent(coordinates, density, parent, rho)


def choose_modes(ascent: Ascent, n_clusters: int | str, max_clusters: int) -> modes.Modes:
    """Pixels of the K largest D_t, and the ratios between consecutive ones.

    Of equal D_t the denser wins, so that the densest pixel, from which labelling starts, is always
    a mode.
    """
    ranking = ascent.density.ranking
    found = modes.find_modes(ascent.mode_score[ranking], n_clusters, max_clusters)
    return found._replace(pixels=ranking[found.pixels])


def label_from_modes(
    ascent: Ascent,
    mode_pixels: NDArray[np.intp],
    grid: Grid,
    consensus: Consensus,
    grown: Tree | None = None,
) -> NDArray[np.int32]:
    """Labels down the density order, shape (n,); label c is that of ``mode_pixels[c]``."""
    coordinates, ranking = ascent.coordinates, ascent.density.ranking
    return label_pixels(
        coordinates, ranking, ascent.parent, mode_pixels, grid.mask, consensus, grown
    )
