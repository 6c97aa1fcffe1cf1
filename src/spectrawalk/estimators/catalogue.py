"""Known spectra with their labels, in which new spectra are looked up."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.kernels.matches import BLOCK, nearest_known
from spectrawalk.kernels.neighbors import parts, shared_groups
from spectrawalk.kernels.tree import build_tree
from spectrawalk.prepare.principal import centred_blocks, principal_directions
from spectrawalk.threads import one_thread, run_blocks, split

_LEADING = 12
"""Principal coordinates in which far spectra are ruled out before they are compared."""


class Catalogue:
    """Distinct spectra with their most frequent labels, and a kd-tree over them.

    Parameters
    ----------
    spectra : ndarray of float32, shape (n, bands)
        Around zero, so that products in single precision lose little.
    labels : ndarray of int32, shape (n,)
        Of identical spectra with several labels the most frequent counts, of two as frequent the
        smaller.

    Examples
    --------
    >>> import numpy as np
    >>> spectra = np.array([[0, 1], [0, 1], [2, 0]], dtype=np.float32)
    >>> catalogue = Catalogue(spectra, np.array([1, 1, 0], dtype=np.int32))
    >>> number, distance = Lookup(catalogue, spectra[2:] + 1).nearest()
    >>> catalogue.labels[number].tolist(), distance.round(3).tolist()
    ([0], [1.414])
    """

    def __init__(self, spectra: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
        spectra, self.labels = distinct_spectra(spectra, labels)
        self.longest = float(lengths(spectra).max())
        self.directions = principal_directions(centred_blocks(spectra, _origin(spectra)), _LEADING)
        self.tree = build_tree(self.leads(spectra))
        self.spectra = spectra[self.tree.rank]
        self.halves = np.square(self.spectra).sum(axis=1) / 2
        self.shared = shared_groups(self.tree, self.labels)

    def leads(self, spectra: NDArray[np.float32]) -> NDArray[np.float64]:
        """Project spectra onto the leading directions of the known ones."""
        with one_thread():
            blocks = centred_blocks(spectra, _origin(spectra))
            return np.concatenate([block @ self.directions for block in blocks])


class Lookup:
    """Some new spectra, to be compared with those of a catalogue.

    Parameters
    ----------
    catalogue : Catalogue
    new : ndarray of float32, shape (m, bands)
        Finite; at least one.
    """

    def __init__(self, catalogue: Catalogue, new: NDArray[np.float32]) -> None:
        self.catalogue = catalogue
        self._tree = build_tree(catalogue.leads(new))
        self._new = new[self._tree.rank]
        self._lengths = lengths(self._new)

    def nearest(
        self, limit: float = np.inf, other_than: NDArray[np.int32] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Nearest known spectrum of each new one; of equals the first.

        Parameters
        ----------
        limit : float
            Distance beyond which none need be found.
        other_than : ndarray of int32, shape (m,), optional
            Label that the nearest of each must not have.

        Returns
        -------
        number : ndarray of int64, shape (m,)
            Position in the catalogue's `labels`; -1 where there is none.
        distance : ndarray of shape (m,)
            Infinite where there is none.
        """
        known, m, rank = self.catalogue, len(self._new), self._tree.rank
        avoid = np.full(m, -1, np.int32) if other_than is None else other_than[rank]
        by_tree, d2 = np.empty(m, np.int64), np.empty(m)
        nodes = parts(self._tree, BLOCK)
        search = partial(
            nearest_known,
            *(known.tree, known.spectra, known.halves, known.longest, known.labels, known.shared),
            *(self._tree, self._new, self._lengths, avoid, limit, nodes, by_tree, d2),
        )
        work = BLOCK * known.spectra.size / 8  # a product is faster than a sum
        with one_thread():  # in a product: the nodes share the cores
            for start, stop in progress.ranges(len(nodes), work):
                run_blocks(search, split(start, stop))
        number, distance = np.empty(m, np.int64), np.empty(m)
        number[rank], distance[rank] = by_tree, np.sqrt(d2)
        return number, distance


def distinct_spectra(
    spectra: NDArray[np.float32], labels: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return each distinct spectrum once, with its most frequent label."""
    rows = np.ascontiguousarray(spectra + np.float32(0))  # no -0, which differs from 0 in its bits
    as_one = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(as_one, return_index=True, return_inverse=True)
    votes = np.zeros((len(first), int(labels.max()) + 1), dtype=np.int32)
    np.add.at(votes, (inverse, labels), 1)
    return rows[first], votes.argmax(axis=1).astype(np.int32)


def lengths(X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Lengths of spectra; infinite for those beyond all numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def _origin(spectra: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.zeros(spectra.shape[1])
