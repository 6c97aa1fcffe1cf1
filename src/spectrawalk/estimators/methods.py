"""SRDL, DLSS and DL: the parameters of the three scikit-learn estimators of the paper."""

from __future__ import annotations

from pathlib import Path

from spectrawalk.estimators.learner import DiffusionLearner, read_learner


def load(path: str | Path) -> DiffusionLearner:
    """Read a fitted model that ``save`` wrote, whichever of the three it is."""
    return read_learner(path, (SRDL, DLSS, DL))


class SRDL(DiffusionLearner):
    """Spatially regularised diffusion learning (Murphy and Maggioni, 2019).

    Each pixel is joined to its spectrally nearest neighbours within a spatial radius. Modes are
    dense pixels far, in the diffusion distance of that graph, from any denser one; all others are
    labelled down the density order, with a spatial consensus.

    Parameters
    ----------
    n_clusters : int or "auto"
        K. ``"auto"``: where the sorted D_t falls most steeply.
    radius : int, None or "auto"
        Half-width r of the window, in pixels. None: no window (then this is DLSS). ``"auto"``, here
        or for `time`: the automatic mode, the consensus of an ensemble of runs with many radii,
        times and feature sets, some of them without a window. There, a radius or time at its
        default counts as not given; another radius is the one around which the radii lie. See
        :mod:`spectrawalk.consensus`.
    n_neighbors : int
        k, the pixel itself left out; a window that holds fewer gives all it has.
    sigma : float, "mean" or "self-tuning"
        Scale of the weights exp(-d^2 / sigma^2). With unit spectra, 1 leaves the graph practically
        unweighted, which is what works. ``"mean"``: mean neighbour distance; ``"self-tuning"``:
        each pixel's distance to its 7th neighbour; both times `sigma_factor`.
    symmetrize : {"max", None}
        Union of the edges, or each pixel's own edges only (the authors' code).
    time : float or "auto"
        Diffusion time t. ``"auto"``: the automatic mode, as for `radius`.
    n_eigenpairs : int or "auto"
        M, the trivial pair counted. ``"auto"``: where the decay of the eigenvalues tapers.
    density_neighbors : int
        Spectra that enter a pixel's density, itself left out.
    density_bandwidth : float or "auto"
        Scale of the density kernel. ``"auto"``: mean pairwise distance / 20.
    consensus_radius : int
        Half-width of the consensus window; 0 for none.
    normalize : {"pixel", "global", "band", None}
        See :func:`spectrawalk.prepare.scaling.normalize_spectra`.
    jitter : float
        Standard deviation of noise added to the raw values.
    random_state : int or None
        Seed of the jitter, and of K-means in the automatic mode; None is a fixed seed. Else, with
        jitter 0, nothing depends on it.
    window : {"square", "disk"}
        Shape of the graph's window.
    components : {"bridge", "split"}
        Join the parts of a disconnected graph by their best matches, or keep them apart and give
        each an eigenvalue 1.
    stage1 : {"most-frequent", "most-frequent-first", "majority"}
        What counts as a consensus in stage 1: see :class:`spectrawalk.srdl.labels.Consensus`.
    open_parent : {"labelled", "open"}
        In stage 1, while the nearest denser pixel is open: turn to the nearest labelled one, or
        stay open too.
    own_vote : bool
        Whether a pixel's provisional label votes in its own consensus, in stage 1.
    max_clusters : int
        Upper end of the search for K.
    sigma_factor : float
        Multiplies the adaptive choices of `sigma`.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Clusters 0..K-1 by decreasing size, -1 where masked.
    modes_ : ndarray of shape (K,)
        Flat image index of each cluster's mode.
    n_clusters_ : int
    density_, rho_, mode_score_ : ndarray, in the image's shape
        p, rho_t and D_t = p rho_t; NaN where masked.
    coordinates_ : ndarray, the image's shape + (M,)
        Diffusion coordinates; NaN where masked.
    eigenvalues_ : ndarray of shape (M,)
    density_bandwidth_ : float
    n_components_ : int
        Components of the graph before any were bridged.
    reach_ : float
        Distance between scaled spectra beyond which :meth:`predict` calls a pixel unknown.
    wavelengths_ : ndarray of shape (bands,) or None
        Centre wavelengths in nanometres, if a Scene with them was fitted.
    confidence_ : ndarray of float32, in the image's shape
        Automatic mode only: how sure each label is, 0 to 1; NaN where masked.
    verdict_ : str
        Automatic mode only: how clear the number of clusters is.
    warnings_ : list of str
        Automatic mode only: what the labels hang on, one sentence each.
    exact_density_ : bool
        Whether the nearest spectra of the whole image, which the density comes from (without a
        window the graph too), are exact. Above 50,000 pixels they are sought among 10,000
        candidates each, or 100 for each neighbour wanted, which leaves the order of the densities
        practically as it is (benchmarks/density.py).

    Examples
    --------
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
    >>> model = SRDL(n_clusters=3, n_eigenpairs=5).fit(scene)
    >>> model.labels_.shape, model.n_clusters_
    ((24, 24), 3)
    """

    _method = "SRDL"

    def __init__(
        self,
        n_clusters: int | str = "auto",
        radius: int | str | None = 8,
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float | str = 30,
        n_eigenpairs: int | str = "auto",
        density_neighbors: int = 20,
        density_bandwidth: float | str = "auto",
        consensus_radius: int = 3,
        normalize: str | None = "pixel",
        jitter: float = 0.0,
        random_state: int | None = None,
        *,
        window: str = "square",
        components: str = "bridge",
        stage1: str = "most-frequent",
        open_parent: str = "labelled",
        own_vote: bool = False,
        max_clusters: int = 30,
        sigma_factor: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.radius = radius
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.symmetrize = symmetrize
        self.time = time
        self.n_eigenpairs = n_eigenpairs
        self.density_neighbors = density_neighbors
        self.density_bandwidth = density_bandwidth
        self.consensus_radius = consensus_radius
        self.normalize = normalize
        self.jitter = jitter
        self.random_state = random_state
        self.window = window
        self.components = components
        self.stage1 = stage1
        self.open_parent = open_parent
        self.own_vote = own_vote
        self.max_clusters = max_clusters
        self.sigma_factor = sigma_factor


class DLSS(DiffusionLearner):
    """Diffusion learning with spatial consensus: SRDL without the window on the graph.

    Parameters and attributes are those of :class:`SRDL`, less `radius` and `window`.
    """

    _method = "DLSS"

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float | str = 30,
        n_eigenpairs: int | str = "auto",
        density_neighbors: int = 20,
        density_bandwidth: float | str = "auto",
        consensus_radius: int = 3,
        normalize: str | None = "pixel",
        jitter: float = 0.0,
        random_state: int | None = None,
        *,
        components: str = "bridge",
        stage1: str = "most-frequent",
        open_parent: str = "labelled",
        own_vote: bool = False,
        max_clusters: int = 30,
        sigma_factor: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.symmetrize = symmetrize
        self.time = time
        self.n_eigenpairs = n_eigenpairs
        self.density_neighbors = density_neighbors
        self.density_bandwidth = density_bandwidth
        self.consensus_radius = consensus_radius
        self.normalize = normalize
        self.jitter = jitter
        self.random_state = random_state
        self.components = components
        self.stage1 = stage1
        self.open_parent = open_parent
        self.own_vote = own_vote
        self.max_clusters = max_clusters
        self.sigma_factor = sigma_factor


class DL(DiffusionLearner):
    """Diffusion learning on spectra alone: no window, no consensus.

    Parameters and attributes are those of :class:`SRDL`, less those about space.
    """

    _method = "DL"
    _uses_space = False

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float | str = 30,
        n_eigenpairs: int | str = "auto",
        density_neighbors: int = 20,
        density_bandwidth: float | str = "auto",
        normalize: str | None = "pixel",
        jitter: float = 0.0,
        random_state: int | None = None,
        *,
        components: str = "bridge",
        max_clusters: int = 30,
        sigma_factor: float = 1.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.symmetrize = symmetrize
        self.time = time
        self.n_eigenpairs = n_eigenpairs
        self.density_neighbors = density_neighbors
        self.density_bandwidth = density_bandwidth
        self.normalize = normalize
        self.jitter = jitter
        self.random_state = random_state
        self.components = components
        self.max_clusters = max_clusters
        self.sigma_factor = sigma_factor
