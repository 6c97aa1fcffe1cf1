"""Labels for pixels outside a fit: each run is extended to them, and they descend the same tree.

A K-means run labels a pixel by its means; with a Markov random field, the neighbours add to that.
An SRDL run gives a pixel the label of the nearest pixel of the fit in the features of the run
(Bengio et al., 2004, extend spectral clustering in a similar way), and then the most frequent label
around it, as its spatial consensus does. So a label is a function of the pixel and of a few pixels
around it: images larger than memory are labelled in tiles, and the tiles need not be joined.

References
----------
Y. Bengio, J.-F. Paiement, P. Vincent, O. Delalleau, N. Le Roux and M. Ouimet, "Out-of-sample
extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering", NIPS 16, 2004.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.features import SMOOTHING, Projection, keep_dark
from spectrawalk.consensus.kmeans import MeansRule
from spectrawalk.consensus.resolutions import CONSENSUS_RADIUS, BaseClusterings, Rules
from spectrawalk.consensus.tree import Descent
from spectrawalk.kernels import extension as kernels
from spectrawalk.kernels.tree import Tree, nearest
from spectrawalk.prepare.pixels import Pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.srdl.neighbors import number_pixels

ITERATIONS = 4
"""Iterations of the Markov random field. After four, 0.1 % of the labels differ from those after
25; each one widens the margin of a tile."""

NEAREST = 5
"""Pixels of the fit whose labels in an SRDL run a pixel is given the most frequent of."""

HALO = max(ITERATIONS, SMOOTHING // 2 + max(CONSENSUS_RADIUS.values()))
"""Pixels around a tile that the labels inside it depend on."""

_COLUMNS = 64
"""Scores of K-means runs that are computed at a time."""


class Extension(NamedTuple):
    """What labels any pixel as the runs of a fit would."""

    dark_length: float
    """Spectra that are shorter are not scaled to unit length; see :func:`keep_dark`."""
    rules: Rules
    features: list[str]
    """Feature set of each run."""
    descent: Descent
    points: dict[str, NDArray[np.float64]]
    """Features of the pixels of the fit, for each feature set of SRDL runs."""
    labels: dict[str, NDArray[np.uint8]]
    """Their labels in the SRDL runs on each feature set, shape (runs, n)."""

    @classmethod
    def of(
        cls, pixels: Pixels, dark_length: float, found: BaseClusterings, descent: Descent
    ) -> Self:
        """Keep what is needed of the runs on some pixels, given their scaled spectra."""
        rules, features = found.rules, np.array(found.features)
        points = {
            name: _features(name, projection, pixels.spectra, pixels.grid.mask)
            for name, projection in rules.projections.items()
        }
        srdl = np.array([rule is None for rule in rules.runs])
        labels = {name: found.labels[srdl & (features == name)] for name in points}
        return cls(dark_length, rules, found.features, descent, points, labels)

    def scaled(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale spectra as those of the fit; shape (n, bands)."""
        return keep_dark(normalize_spectra(raw, "pixel"), raw, self.dark_length)


def run_labels(extension: Extension, trees: dict[str, Tree], pixels: Pixels) -> NDArray[np.uint8]:
    """Label in each run, shape (runs, n).

    Parameters
    ----------
    extension : Extension
    trees : dict
        Tree over ``extension.points`` of each feature set.
    pixels : Pixels
        Scaled spectra of a tile. Labels are right at least `HALO` pixels inside its borders.
    """
    spectra, mask = pixels.spectra, pixels.grid.mask
    number = number_pixels(mask)
    found = np.empty((len(extension.features), len(spectra)), dtype=np.uint8)
    srdl = np.array([rule is None for rule in extension.rules.runs])
    features = np.array(extension.features)
    for name, projection in extension.rules.projections.items():
        points = _features(name, projection, spectra, mask)
        runs = np.flatnonzero(srdl & (features == name))
        k = min(NEAREST, len(extension.points[name]))
        near = np.empty((len(points), k), dtype=np.int64)
        nearest(trees[name], points, near)
        voted = np.empty((len(runs), len(spectra)), dtype=np.uint8)
        radius = CONSENSUS_RADIUS[name]
        kernels.vote_around(extension.labels[name], near, number, radius, voted)
        found[runs] = voted
        _by_means(extension, np.flatnonzero(~srdl & (features == name)), points, number, found)
    halves = np.flatnonzero(~srdl & ~np.isin(features, list(extension.rules.projections)))
    _by_means(extension, halves, spectra, number, found)
    return found


def leaves(extension: Extension, labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Leaf of the tree of each pixel, from its labels in all runs, shape (runs, n)."""
    leaf = np.empty(labels.shape[1], dtype=np.uint8)
    descent = extension.descent
    kernels.descend(
        np.ascontiguousarray(labels.T),
        descent.first.astype(np.int64),
        descent.parent,
        descent.towards,
        leaf,
    )
    return leaf


def _features(
    name: str, projection: Projection, spectra: NDArray[np.float64], mask: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Features of the pixels of a tile."""
    if name == "within-field":
        image = np.zeros((*mask.shape, spectra.shape[1]))
        image[mask] = spectra
        smoothed = np.empty_like(image)
        kernels.mean_around(image, mask, SMOOTHING // 2, smoothed)
        spectra = smoothed[mask]
    offsets = -(projection.mean @ projection.directions)
    points = np.empty((len(spectra), len(offsets)))
    kernels.linear_scores(spectra, np.ascontiguousarray(projection.directions), offsets, points)
    return np.clip(points, projection.low, projection.high)


def _by_means(
    extension: Extension,
    runs: NDArray[np.intp],
    points: NDArray[np.float64],
    number: NDArray[np.int32],
    found: NDArray[np.uint8],
) -> None:
    """Labels of K-means runs, some at a time."""
    rules = [extension.rules.runs[run] for run in runs]
    start = 0
    while start < len(runs):
        stop, columns = start, 0
        while stop < len(runs) and (columns == 0 or columns + _width(rules[stop]) <= _COLUMNS):
            columns += _width(rules[stop])
            stop += 1
        some: list[Any] = rules[start:stop]
        weights = np.ascontiguousarray(np.concatenate([rule.weights for rule in some], axis=1))
        offsets = np.concatenate([rule.offsets for rule in some])
        scores = np.empty((len(points), len(offsets)))
        kernels.linear_scores(points, weights, offsets, scores)
        first = np.concatenate([[0], np.cumsum([_width(rule) for rule in some])])
        labels = np.empty((len(some), len(points)), dtype=np.uint8)
        kernels.largest_in_groups(scores, first, labels)
        for place, rule in enumerate(some):
            if rule.strength > 0:
                own = np.ascontiguousarray(scores[:, first[place] : first[place + 1]])
                kernels.random_field(own, number, rule.strength, ITERATIONS, labels[place])
        found[runs[start:stop]] = labels
        start = stop


def _width(rule: MeansRule | None) -> int:
    return 0 if rule is None else len(rule.offsets)
