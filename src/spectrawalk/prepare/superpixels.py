"""Superpixels: connected regions of adjacent pixels with similar spectra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.kernels import superpixels as kernels
from spectrawalk.prepare.principal import centred_blocks, principal_directions
from spectrawalk.threads import one_thread

PIXELS_EACH = 20
"""Pixels of a superpixel, on average, where their number is not given.

With 40, S2DL puts two modes into one of four homogeneous fields of a made scene
(``tests/test_family.py``). Scores of real scenes were seen too: docs/decisions/family.md.
"""

COMPONENTS = 3
"""Principal components in which adjacent pixels are compared."""

BALANCE = 0.5
"""Weight of the balance between the sizes of the superpixels, as in the paper of the method."""

_JOINS = 20_000
"""Regions that are joined at a time, in some tenths of a second."""

_NEIGHBORS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Offsets to half of the eight adjacent pixels."""


def superpixels(
    X: NDArray[np.float64], mask: NDArray[np.bool_], n_superpixels: int
) -> NDArray[np.int32]:
    """Divide an image into entropy-rate superpixels (Liu, Tuzel, Ramalingam and Chellappa, 2011).

    The image is a graph of adjacent pixels. Edges are chosen greedily, each time the one that adds
    most to the entropy rate of the random walk along the chosen edges, which favours homogeneous
    regions, and to the balance of the sizes of the regions.

    Adjacent pixels are compared in the three leading principal components. The scale of the weights
    is the mean squared difference between adjacent pixels.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra of the valid pixels.
    mask : ndarray of bool, shape (rows, cols)
        Where the n pixels lie.
    n_superpixels : int
        From 1 to n. If the valid pixels fall into more parts than this, each part is a superpixel.

    Returns
    -------
    region : ndarray of int32, shape (n,)
        Superpixel of each pixel, numbered in the order of their first pixels.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.repeat([[0.0, 0.0, 1.0, 1.0]], 3, axis=0)
    >>> X = np.column_stack([image.ravel(), 1 - image.ravel()])
    >>> superpixels(X, np.ones((3, 4), dtype=bool), 2).reshape(3, 4)[0].tolist()
    [0, 0, 1, 1]
    """
    n = len(X)
    ends, apart = adjacent_pixels(mask)
    weights = _weights(X, ends, apart)
    degree = np.bincount(ends.ravel(), np.repeat(weights, 2), minlength=n)
    total = float(degree.sum())
    parent, size = np.arange(n, dtype=np.int32), np.ones(n, dtype=np.int32)
    stay = np.ones(n)
    entropy = kernels.first_gains(ends, weights, degree, total, 0.0)
    balance = 0.0
    if len(entropy):
        # Equal for all edges: what two single pixels add to the balance when they are joined.
        alike = 1 - 2 * np.log(2) / n
        balance = BALANCE * n_superpixels * float(entropy.max()) / alike
    gains = kernels.first_gains(ends, weights, degree, total, balance)
    heap = np.argsort(-gains, kind="stable")  # an ordered list is a heap
    length, wanted, done = len(heap), n - int(n_superpixels), 0
    while done < wanted and length > 0:
        progress.report("superpixels", done, wanted)
        length, joined = kernels.join_regions(
            ends, weights, degree, total, balance, gains, heap, length,
            parent, size, stay, min(_JOINS, wanted - done),
        )  # fmt: skip
        done += joined
    progress.report("superpixels", 1, 1)
    return _numbered(parent)


def adjacent_pixels(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Pairs of valid pixels that share a side or a corner, and their squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> pairs, d2 = adjacent_pixels(np.array([[True, True], [False, True]]))
    >>> pairs.tolist(), d2.tolist()
    ([[0, 1], [1, 2], [0, 2]], [1.0, 1.0, 2.0])
    """
    rows, cols = mask.shape
    number = np.full(mask.shape, -1, dtype=np.int32)
    number[mask] = np.arange(np.count_nonzero(mask), dtype=np.int32)
    pairs, d2 = [], []
    for down, right in _NEIGHBORS:
        here = number[: rows - down, max(-right, 0) : cols - max(right, 0)]
        there = number[down:, max(right, 0) : cols - max(-right, 0)]
        both = (here >= 0) & (there >= 0)
        pairs.append(np.column_stack([here[both], there[both]]))
        d2.append(np.full(len(pairs[-1]), float(down**2 + right**2)))
    return np.concatenate(pairs), np.concatenate(d2)


def _weights(
    X: NDArray[np.float64], ends: NDArray[np.int32], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Similarity of adjacent pixels, above 0."""
    middle = X.mean(axis=0)
    directions = principal_directions(centred_blocks(X, middle), COMPONENTS)
    with one_thread():
        leading = np.concatenate([block @ directions for block in centred_blocks(X, middle)])
    d2 = np.square(leading[ends[:, 0]] - leading[ends[:, 1]]).sum(axis=1) * apart
    mean = float(d2.mean()) if len(d2) else 0.0
    # Far beyond the scale all pairs are alike; a weight of 0 would divide by 0.
    return np.exp(-np.minimum(d2 / mean, 100.0)) if mean > 0 else np.ones(len(d2))


def _numbered(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the trees of a forest in the order of their first pixels."""
    root = parent
    while (root[root] != root).any():
        root = root[root]
    _, first, inverse = np.unique(root, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int32)
    order[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return order[inverse]
