"""Abundances: how much of each endmember is in each pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from spectrawalk import progress
from spectrawalk.errors import ConvergenceError
from spectrawalk.threads import one_thread

_ROWS = 2_000
"""Pixels between two reports of progress, some tenths of a second."""


def abundances(X: NDArray[np.float64], endmembers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fractions of the endmembers in each pixel, by non-negative least squares.

    The coefficients of a pixel are divided by their sum, so that its brightness does not matter.

    Parameters
    ----------
    X : ndarray of shape (n, bands)
        Spectra.
    endmembers : ndarray of shape (m, bands)

    Returns
    -------
    fractions : ndarray of shape (n, m)
        From 0 to 1, of sum 1; all 0 for a pixel that no endmember explains, such as one that is
        0 in all bands.

    Examples
    --------
    >>> import numpy as np
    >>> abundances(np.array([[2.0, 2.0], [0.0, 3.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    fractions = np.empty((len(X), len(endmembers)))
    with one_thread():
        # An orthonormal basis of the endmembers leaves m numbers of each spectrum to be fitted.
        basis, triangle = np.linalg.qr(endmembers.T)
        starts = range(0, len(X), _ROWS)
        for start in progress.track("abundances", starts):
            seen = X[start : start + _ROWS] @ basis
            for place, spectrum in enumerate(seen, start=start):
                fractions[place] = _coefficients(triangle, spectrum, place)
    total = fractions.sum(axis=1, keepdims=True)
    return np.divide(fractions, total, out=fractions, where=total > 0)


def _coefficients(
    triangle: NDArray[np.float64], spectrum: NDArray[np.float64], pixel: int
) -> NDArray[np.float64]:
    try:
        return nnls(triangle, spectrum)[0]
    except RuntimeError as error:
        raise ConvergenceError(
            f"the abundances of pixel {pixel} did not converge on {len(triangle)} endmembers; ask "
            "for fewer endmembers with n_endmembers."
        ) from error
