"""How many endmembers an image has: the dimension of the subspace that its signal lies in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh

from spectrawalk.prepare.principal import centred_blocks, scatter_matrix
from spectrawalk.threads import one_thread

_RIDGE = 1e-10
"""Share of the mean power of a band that is taken for rounding."""


def signal_dimension(X: NDArray[np.float64]) -> int:
    """Estimate the dimension of the signal (HySime; Bioucas-Dias and Nascimento, 2008).

    The noise of a band is what the other bands do not explain by regression; noise of different
    bands is taken to be independent. A direction belongs to the signal if leaving it out would
    lose more power of the signal than it would save of the noise.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra with more pixels than bands.

    Returns
    -------
    dimension : int
        From 1 to the number of bands.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mixed = rng.dirichlet(np.ones(3), size=500) @ rng.uniform(size=(3, 40))
    >>> signal_dimension(mixed + 0.001 * rng.normal(size=mixed.shape))
    3
    """
    n, n_bands = X.shape
    power = scatter_matrix(centred_blocks(X, np.zeros(n_bands))) / n
    noise = _noise_power(power)
    with one_thread():
        _, directions = np.linalg.eigh(power - np.diag(noise))
        kept = np.einsum("bd,bc,cd->d", directions, power, directions)
    lost = np.square(directions).T @ noise
    return max(1, int(np.count_nonzero(kept > 2 * lost)))


def _noise_power(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean square of what a band has beyond the regression on all other bands.

    It is one over the diagonal entry of the inverse correlation matrix.
    """
    scale = np.sqrt(np.where(np.diag(power) > 0, np.diag(power), 1.0))
    with one_thread():
        inverse = pinvh(power / np.outer(scale, scale) + _RIDGE * np.eye(len(power)))
    return np.square(scale) / np.diag(inverse)
