"""SRDL, DLSS and DL, the three scikit-learn estimators of the paper, and their parameters."""

from __future__ import annotations

from spectrawalk.estimators.learner import DiffusionLearner
from spectrawalk.estimators.presets import PresetsMixin


class SRDL(PresetsMixin, DiffusionLearner):
    """Spatially regularised diffusion learning (Murphy and Maggioni, 2019).

    Each pixel is connected to its spectrally nearest neighbours within a spatial radius. The modes
    of the clusters are dense pixels with a large diffusion distance, on this graph, to any denser
    pixel. All other pixels are labelled in decreasing order of density, with a spatial consensus.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters K. ``"auto"`` takes the K at which the sorted D_t has its largest
        drop.
    radius : int or None
        Half-width r of the spatial window, in pixels. None: no window, as in DLSS.
    n_neighbors : int
        Number k of nearest neighbours of each pixel in the graph, without the pixel itself. A
        window with fewer pixels gives fewer neighbours.
    sigma : float, "mean" or "self-tuning"
        Scale of the weights exp(-d^2 / sigma^2). With unit spectra, 1 makes all weights nearly
        equal, which works best. ``"mean"``: the mean distance to the neighbours.
        ``"self-tuning"``: the distance of each pixel to its 7th neighbour.
    symmetrize : {"max", None}
        ``"max"``: two pixels are connected if either is a neighbour of the other. None: each pixel
        keeps its own edges only (a directed graph, as in the authors' code).
    time : float
        Diffusion time t.
    n_eigenpairs : int or "auto"
        Number M of eigenpairs, including the trivial one. ``"auto"``: chosen from the decay of the
        eigenvalues.
    density_neighbors : int
        Number of nearest spectra from which the density of a pixel is computed, without the pixel
        itself.
    density_bandwidth : float or "auto"
        Scale of the density kernel. ``"auto"``: 1/20 of the mean distance between two pixels.
    consensus_radius : int
        Half-width of the window of the spatial consensus, in pixels; 0 for no consensus.
    normalize : {"pixel", "global", "band", None}
        Scaling of the spectra: see :func:`spectrawalk.prepare.scaling.normalize_spectra`.
    jitter : float
        Standard deviation of the noise that is added to the raw values; 0 for none.
    random_state : int or None
        Seed of the jitter. None is the same as 0. Without jitter, labels do not depend on it.
    window : {"square", "disk"}
        Shape of the window in which neighbours are searched.
    components : {"bridge", "split"}
        Treatment of a graph with several connected components. ``"bridge"``: connect them by edges
        between their most similar pixels. ``"split"``: keep them separate; each gets an eigenvalue
        1.
    stage1 : {"most-frequent", "most-frequent-first", "majority"}
        Rule of the consensus in stage 1 of the labelling: see
        :class:`spectrawalk.srdl.labels.Consensus`.
    open_parent : {"labelled", "open"}
        What happens in stage 1 to a pixel whose nearest denser pixel is unlabelled ("open"). It
        uses the nearest denser pixel with a label, or it stays open too.
    own_vote : bool
        Whether the provisional label of a pixel votes in its own consensus in stage 1.
    max_clusters : int
        Largest K that ``n_clusters="auto"`` tries.
    sigma_factor : float
        Factor of `sigma` if it is ``"mean"`` or ``"self-tuning"``.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel, by decreasing size; -1 where masked.
    modes_ : ndarray of int, shape (K,)
        Flat image index of the mode of each cluster.
    n_clusters_ : int
        Number of clusters K.
    density_ : ndarray, in the image's shape
        Density p; NaN where masked.
    rho_ : ndarray, in the image's shape
        Diffusion distance rho_t to the nearest denser pixel; NaN where masked.
    mode_score_ : ndarray, in the image's shape
        D_t = p rho_t; NaN where masked.
    coordinates_ : ndarray, the image's shape + (M,)
        Diffusion coordinates; NaN where masked.
    eigenvalues_ : ndarray of shape (M,)
        Leading eigenvalues of the random walk, the trivial one first.
    density_bandwidth_ : float
        Scale of the density kernel.
    n_components_ : int
        Number of connected components of the graph before any were bridged.
    reach_ : float
        Distance between scaled spectra above which :meth:`predict` labels a pixel as unknown.
    exact_density_ : bool
        Whether the search for the nearest spectra of the whole image is exact. Above 50,000 pixels
        it is approximate, which hardly changes the order of the densities
        (benchmarks/density.py).
    n_features_in_ : int
        Number of bands.
    feature_names_in_ : ndarray of str
        Column names of the table, if it has them.
    wavelengths_ : ndarray of shape (bands,) or None
        Centre wavelengths in nanometres, if the input was a Scene that has them.

    References
    ----------
    J. M. Murphy and M. Maggioni, "Spectral-spatial diffusion geometry for hyperspectral image
    clustering", 2019.

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
        radius: int | None = 8,
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float = 30,
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


class DLSS(PresetsMixin, DiffusionLearner):
    """Diffusion learning with spatial consensus: SRDL without the window of the graph.

    Each pixel is connected to its spectrally nearest neighbours in the whole image. The rest is as
    in :class:`SRDL`.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters K. ``"auto"`` takes the K at which the sorted D_t has its largest
        drop.
    n_neighbors : int
        Number k of nearest neighbours of each pixel in the graph, without the pixel itself.
    sigma : float, "mean" or "self-tuning"
        Scale of the weights exp(-d^2 / sigma^2). With unit spectra, 1 makes all weights nearly
        equal, which works best. ``"mean"``: the mean distance to the neighbours.
        ``"self-tuning"``: the distance of each pixel to its 7th neighbour.
    symmetrize : {"max", None}
        ``"max"``: two pixels are connected if either is a neighbour of the other. None: each pixel
        keeps its own edges only (a directed graph, as in the authors' code).
    time : float
        Diffusion time t.
    n_eigenpairs : int or "auto"
        Number M of eigenpairs, including the trivial one. ``"auto"``: chosen from the decay of the
        eigenvalues.
    density_neighbors : int
        Number of nearest spectra from which the density of a pixel is computed, without the pixel
        itself.
    density_bandwidth : float or "auto"
        Scale of the density kernel. ``"auto"``: 1/20 of the mean distance between two pixels.
    consensus_radius : int
        Half-width of the window of the spatial consensus, in pixels; 0 for no consensus.
    normalize : {"pixel", "global", "band", None}
        Scaling of the spectra: see :func:`spectrawalk.prepare.scaling.normalize_spectra`.
    jitter : float
        Standard deviation of the noise that is added to the raw values; 0 for none.
    random_state : int or None
        Seed of the jitter. None is the same as 0. Without jitter, labels do not depend on it.
    components : {"bridge", "split"}
        Treatment of a graph with several connected components. ``"bridge"``: connect them by edges
        between their most similar pixels. ``"split"``: keep them separate; each gets an eigenvalue
        1.
    stage1 : {"most-frequent", "most-frequent-first", "majority"}
        Rule of the consensus in stage 1 of the labelling: see
        :class:`spectrawalk.srdl.labels.Consensus`.
    open_parent : {"labelled", "open"}
        What happens in stage 1 to a pixel whose nearest denser pixel is unlabelled ("open"). It
        uses the nearest denser pixel with a label, or it stays open too.
    own_vote : bool
        Whether the provisional label of a pixel votes in its own consensus in stage 1.
    max_clusters : int
        Largest K that ``n_clusters="auto"`` tries.
    sigma_factor : float
        Factor of `sigma` if it is ``"mean"`` or ``"self-tuning"``.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel, by decreasing size; -1 where masked.
    modes_ : ndarray of int, shape (K,)
        Flat image index of the mode of each cluster.
    n_clusters_ : int
        Number of clusters K.
    density_, rho_, mode_score_, coordinates_, eigenvalues_, density_bandwidth_, n_components_
        As in :class:`SRDL`.
    reach_, exact_density_, n_features_in_, feature_names_in_, wavelengths_
        As in :class:`SRDL`.

    Examples
    --------
    >>> from spectrawalk import DLSS
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
    >>> model = DLSS(n_clusters=3, n_eigenpairs=5).fit(scene)
    >>> model.labels_.shape, model.n_clusters_
    ((24, 24), 3)
    """

    _method = "DLSS"

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float = 30,
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


class DL(PresetsMixin, DiffusionLearner):
    """Diffusion learning on spectra only: SRDL without the window and the spatial consensus.

    The positions of the pixels are not used, so an image gives the same labels as a table of its
    spectra.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters K. ``"auto"`` takes the K at which the sorted D_t has its largest
        drop.
    n_neighbors : int
        Number k of nearest neighbours of each pixel in the graph, without the pixel itself.
    sigma : float, "mean" or "self-tuning"
        Scale of the weights exp(-d^2 / sigma^2). With unit spectra, 1 makes all weights nearly
        equal, which works best. ``"mean"``: the mean distance to the neighbours.
        ``"self-tuning"``: the distance of each pixel to its 7th neighbour.
    symmetrize : {"max", None}
        ``"max"``: two pixels are connected if either is a neighbour of the other. None: each pixel
        keeps its own edges only (a directed graph, as in the authors' code).
    time : float
        Diffusion time t.
    n_eigenpairs : int or "auto"
        Number M of eigenpairs, including the trivial one. ``"auto"``: chosen from the decay of the
        eigenvalues.
    density_neighbors : int
        Number of nearest spectra from which the density of a pixel is computed, without the pixel
        itself.
    density_bandwidth : float or "auto"
        Scale of the density kernel. ``"auto"``: 1/20 of the mean distance between two pixels.
    normalize : {"pixel", "global", "band", None}
        Scaling of the spectra: see :func:`spectrawalk.prepare.scaling.normalize_spectra`.
    jitter : float
        Standard deviation of the noise that is added to the raw values; 0 for none.
    random_state : int or None
        Seed of the jitter. None is the same as 0. Without jitter, labels do not depend on it.
    components : {"bridge", "split"}
        Treatment of a graph with several connected components. ``"bridge"``: connect them by edges
        between their most similar pixels. ``"split"``: keep them separate; each gets an eigenvalue
        1.
    max_clusters : int
        Largest K that ``n_clusters="auto"`` tries.
    sigma_factor : float
        Factor of `sigma` if it is ``"mean"`` or ``"self-tuning"``.

    Attributes
    ----------
    labels_ : ndarray of int32, in the image's shape
        Cluster 0..K-1 of each pixel, by decreasing size; -1 where masked.
    modes_ : ndarray of int, shape (K,)
        Flat image index of the mode of each cluster.
    n_clusters_ : int
        Number of clusters K.
    density_, rho_, mode_score_, coordinates_, eigenvalues_, density_bandwidth_, n_components_
        As in :class:`SRDL`.
    reach_, exact_density_, n_features_in_, feature_names_in_, wavelengths_
        As in :class:`SRDL`.

    Examples
    --------
    >>> from spectrawalk import DL
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
    >>> model = DL(n_clusters=3, n_eigenpairs=5).fit(scene)
    >>> model.labels_.shape, model.n_clusters_
    ((24, 24), 3)
    """

    _method = "DL"

    def __init__(
        self,
        n_clusters: int | str = "auto",
        n_neighbors: int = 100,
        sigma: float | str = 1.0,
        symmetrize: str | None = "max",
        time: float = 30,
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
