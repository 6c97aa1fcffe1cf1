"""FMS: fast Mumford-Shah segmentation on a graph (Meng, Merkurjev, Koniges and Bertozzi, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances

from spectrawalk import progress
from spectrawalk.baselines.base import Baseline
from spectrawalk.errors import ConvergenceError
from spectrawalk.parameters import check_integer, check_number
from spectrawalk.srdl.graph import SELF_TUNING_NEIGHBOR

RANK_TOLERANCE = 1e-6
"""Directions of the sampled kernel weaker than this share of the strongest are left out."""

MAX_ITER = 300
"""Rounds of diffusion and thresholding within which a start must come to rest."""

HALVINGS = 4
"""How often the time step is halved before giving up."""


class FMS(Baseline):
    """Piecewise-constant Mumford-Shah segmentation on the graph of all spectra.

    Seeks the least total variation of the segmentation on a fully connected graph plus `fidelity`
    times the squared distances of the spectra from the mean of their class. Few eigenvectors of
    the graph, from a sample of its nodes (Nystrom), stand for the graph. Then, in turn: the
    indicators of the classes diffuse for a while, pulled towards the classes whose means are near;
    every pixel takes its largest indicator; the class means follow. Of several starts the one with
    the lowest energy is kept.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        What it is fed. Default ``"pixel"``, each spectrum to unit length, which makes distances
        those of angles as in the method's own paper; nearest to the row of the Indian Pines subset,
        and it gives the row of Salinas A.
    fidelity : float
        Weight of the class means, in units in which the spectra have variance 1 in all.
    time_step : float
        How long the indicators diffuse between two thresholdings. It is halved, and halved again,
        while every start loses a class, as small classes do when steps are long.
    n_landmarks : int
        Pixels sampled.
    n_eigenvectors : int
        Leading eigenvectors used.
    n_init : int
        Starts.
    random_state : int or None
        Seed of the sample and the starts; None is 0.

    Attributes
    ----------
    time_step_ : float
        The step that was used.

    Examples
    --------
    >>> from spectrawalk.baselines import FMS
    >>> from spectrawalk.datasets import make_scene
    >>> FMS(3).fit_predict(make_scene((12, 12), n_classes=3)).shape
    (12, 12)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: str | None = "pixel",
        fidelity: float = 1.0,
        time_step: float = 1.0,
        n_landmarks: int = 300,
        n_eigenvectors: int = 100,
        n_init: int = 10,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.fidelity = fidelity
        self.time_step = time_step
        self.n_landmarks = n_landmarks
        self.n_eigenvectors = n_eigenvectors
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, X: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.intp]:
        n_landmarks = check_integer("n_landmarks", self.n_landmarks, 2)
        n_eigenvectors = check_integer("n_eigenvectors", self.n_eigenvectors, 1)
        n_init = check_integer("n_init", self.n_init, 1)
        fidelity = check_number("fidelity", self.fidelity, positive=False)
        time_step = check_number("time_step", self.time_step)
        rng = np.random.default_rng(seed)
        X = X - X.mean(axis=0)
        X /= np.sqrt(np.square(X).sum(axis=1).mean())
        roughness, vectors = nystrom_laplacian(X, n_landmarks, n_eigenvectors, rng)
        starts = [
            kmeans_plusplus(X, n_clusters, random_state=int(start))[0]
            for start in rng.integers(2**31, size=n_init)
        ]
        for halvings in range(HALVINGS + 1):
            self.time_step_ = time_step / 2**halvings
            model = MumfordShah(X, roughness, vectors, fidelity, self.time_step_)
            settled = [model.settle(means) for means in progress.track("starts", starts)]
            whole = [labels for labels in settled if labels is not None]
            if whole:
                return min(whole, key=lambda labels: model.energy(labels, n_clusters))
        raise ConvergenceError(
            f"from none of its {n_init} starts did FMS come to rest in {MAX_ITER} rounds with all "
            f"{n_clusters} classes left; ask for fewer clusters, or give a larger fidelity."
        )


@dataclass(frozen=True)
class MumfordShah:
    """The segmentation problem: spectra, their graph, and what a segmentation costs.

    Attributes
    ----------
    X : ndarray of shape (n, bands)
    roughness : ndarray of shape (m,)
        Leading eigenvalues of the graph Laplacian, smallest first.
    vectors : ndarray of shape (n, m)
        Their eigenvectors, orthonormal.
    fidelity, time_step : float
    """

    X: NDArray[np.float64]
    roughness: NDArray[np.float64]
    vectors: NDArray[np.float64]
    fidelity: float
    time_step: float

    def settle(self, means: NDArray[np.float64]) -> NDArray[np.intp] | None:
        """Diffuse and threshold, from the given class means, until no label changes.

        None if a class loses all its pixels on the way, or there is no end.
        """
        misfit = self._misfit(means)
        labels = misfit.argmin(axis=1)
        for _ in range(MAX_ITER):
            if len(np.unique(labels)) < len(means):
                return None
            indicators = np.eye(len(means))[labels]
            means = (indicators.T @ self.X) / indicators.sum(axis=0)[:, None]
            before, labels = labels, self._threshold(indicators, self._misfit(means))
            if np.array_equal(labels, before):
                return labels
        return None

    def _misfit(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared distance of each spectrum from each class mean, shape (n, K)."""
        return np.asarray(euclidean_distances(self.X, means, squared=True))

    def _threshold(
        self, indicators: NDArray[np.float64], misfit: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """One implicit step of diffusion in the eigenvectors, then the largest indicator."""
        pulled = self.vectors.T @ (indicators - self.time_step * self.fidelity * misfit)
        diffused = self.vectors @ (pulled / (1 + self.time_step * self.roughness)[:, None])
        return diffused.argmax(axis=1)

    def energy(self, labels: NDArray[np.intp], n_clusters: int) -> float:
        """Total variation on the graph plus the weighted squared distances from the means."""
        indicators = np.eye(n_clusters)[labels]
        means = (indicators.T @ self.X) / indicators.sum(axis=0)[:, None]
        # What lies outside the leading eigenvectors counts as rough, with eigenvalue 1.
        smooth = np.square(self.vectors.T @ indicators)
        variation = len(labels) - ((1 - self.roughness)[:, None] * smooth).sum()
        return float(variation / 2 + self.fidelity * np.square(self.X - means[labels]).sum())


def nystrom_laplacian(
    X: NDArray[np.float64], n_landmarks: int, n_eigenvectors: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading eigenpairs of the normalised Laplacian of the full graph, from sampled columns.

    Weights are exp(-d^2 / (s_i s_j)), with s_i the distance to the seventh nearest landmark, so
    that outliers are joined too.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
    n_landmarks, n_eigenvectors : int
    rng : numpy.random.Generator

    Returns
    -------
    eigenvalues : ndarray of shape (m,)
        In [0, 1], increasing; m is at most `n_eigenvectors` and the rank of the sample.
    eigenvectors : ndarray of shape (n, m)
        Orthonormal.
    """
    n = len(X)
    landmarks = np.sort(rng.choice(n, min(n_landmarks, n), replace=False))
    m = len(landmarks)
    d2 = np.asarray(euclidean_distances(X, X[landmarks], squared=True))
    d2[landmarks, np.arange(m)] = 0.0
    nearest = min(SELF_TUNING_NEIGHBOR, m - 1)
    scale = np.sqrt(np.partition(d2, nearest, axis=1)[:, nearest])
    # Among many identical spectra the seventh distance can be 0, which would cut all other edges.
    scale = np.where(scale > 0, scale, np.sqrt(d2.mean()) or 1.0)
    columns = np.exp(-d2 / (scale[:, None] * scale[landmarks]))
    # The sum over the landmarks, scaled up, estimates a pixel's degree and is never negative.
    degree = columns.sum(axis=1) * (n / m)
    columns /= np.sqrt(degree[:, None] * degree[landmarks])
    values, directions = eigh(columns[landmarks])
    kept = values > RANK_TOLERANCE * values[-1]
    # S = C A^-1 C' = F F': its eigenvectors are the left singular vectors of the slim factor F.
    factor = columns @ (directions[:, kept] / np.sqrt(values[kept]))
    values, directions = eigh(factor.T @ factor)
    leading = np.argsort(-values, kind="stable")[:n_eigenvectors]
    leading = leading[values[leading] > RANK_TOLERANCE * values[-1]]
    vectors = factor @ (directions[:, leading] / np.sqrt(values[leading]))
    return 1 - np.minimum(values[leading], 1.0), vectors
