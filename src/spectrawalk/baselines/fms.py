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
"""Eigenvalues of the sampled kernel below this share of the largest are dropped."""

MAX_ITER = 300
"""Largest number of iterations of diffusion and thresholding, per initialisation."""

HALVINGS = 4
"""Largest number of times that the time step is halved."""


class FMS(Baseline):
    """Piecewise-constant Mumford-Shah segmentation on the graph of all spectra.

    Minimises the total variation of the segmentation on a fully connected graph, plus `fidelity`
    times the squared distances of the spectra from the mean of their class. The graph is
    approximated by a few eigenvectors from a sample of its nodes (Nystrom extension). Each
    iteration has three steps: the class indicators diffuse, with a fidelity term to the class
    means; every pixel takes the class with the largest indicator; the class means are updated. Of
    several initialisations, the result with the lowest energy is kept.

    Parameters
    ----------
    n_clusters : int
    normalize : {"pixel", "band", "global", None}
        Scaling of the input. Default ``"pixel"`` (each spectrum has unit length): distances then
        depend on angles, as in the paper of the method. It is closest to the paper's result on the
        Indian Pines subset, and reproduces the one on Salinas A.
    fidelity : float
        Weight of the squared distances from the class means. The spectra are scaled to a total
        variance of 1.
    time_step : float
        Time of diffusion between two thresholdings. If a class becomes empty in every
        initialisation, the step is halved and all are repeated, up to four times. Small classes
        become empty if the step is too long.
    n_landmarks : int
        Number of pixels in the sample.
    n_eigenvectors : int
        Number of leading eigenvectors.
    n_init : int
        Number of initialisations.
    random_state : int or None
        Seed of the sample and the initialisations; None is 0.

    Attributes
    ----------
    time_step_ : float
        Time step of the result.

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
            results = [model.run(means) for means in progress.track("starts", starts)]
            complete = [labels for labels in results if labels is not None]
            if complete:
                return min(complete, key=lambda labels: model.energy(labels, n_clusters))
        raise ConvergenceError(
            f"FMS did not converge to {n_clusters} classes within {MAX_ITER} iterations from any "
            f"of its {n_init} initialisations; ask for fewer clusters, or give a larger fidelity."
        )


@dataclass(frozen=True)
class MumfordShah:
    """The segmentation problem: spectra, their graph, and the energy of a segmentation.

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

    def run(self, means: NDArray[np.float64]) -> NDArray[np.intp] | None:
        """Diffuse and threshold, from the given class means, until no label changes.

        None if a class becomes empty, or if there is no convergence.
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
        # The part outside the leading eigenvectors counts with eigenvalue 1.
        smooth = np.square(self.vectors.T @ indicators)
        variation = len(labels) - ((1 - self.roughness)[:, None] * smooth).sum()
        return float(variation / 2 + self.fidelity * np.square(self.X - means[labels]).sum())


def nystrom_laplacian(
    X: NDArray[np.float64], n_landmarks: int, n_eigenvectors: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leading eigenpairs of the normalised Laplacian of the full graph, from sampled columns.

    Weights are exp(-d^2 / (s_i s_j)), where s_i is the distance to the seventh nearest landmark, so
    that outliers are connected too.

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
    # Among many identical spectra the seventh distance can be 0, which would remove other edges.
    scale = np.where(scale > 0, scale, np.sqrt(d2.mean()) or 1.0)
    columns = np.exp(-d2 / (scale[:, None] * scale[landmarks]))
    # The scaled sum over the landmarks estimates the degree of a pixel and is never negative.
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
