"""Bands of one scene that correspond to those of another: by wavelength, or by their count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError
from spectrawalk.scene import Scene


def match_bands(
    scene: Scene, n_bands: int, wavelengths: NDArray[np.float64] | None
) -> NDArray[np.intp]:
    """Find the bands of `scene` that correspond to those of a fit.

    Parameters
    ----------
    scene : Scene
        Where to look.
    n_bands : int
        Number of bands of the fit.
    wavelengths : ndarray of shape (n_bands,) or None
        Of the fit, in nanometres. A band of the scene corresponds to one of the fit if it is the
        nearest, and nearer than half the distance to the fit's next band. Where the fit or the
        scene has no wavelengths, the bands are taken in their order, and their count must be the
        same.

    Returns
    -------
    ndarray of int, shape (n_bands,)

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> scene = Scene(np.ones((1, 1, 4)), wavelengths=[400.0, 451.0, 500.0, 549.0])
    >>> match_bands(scene, 3, np.array([450.0, 500.0, 550.0]))
    array([1, 2, 3])
    """
    if wavelengths is None or scene.wavelengths is None:
        if scene.n_bands != n_bands:
            raise DataError(
                f"scene '{scene.name}' has {scene.n_bands} bands and the model was fitted to "
                f"{n_bands}; without wavelengths on both sides bands are matched by their count, "
                "which must be the same: give a scene with the same bands."
            )
        return np.arange(n_bands)
    away = np.abs(scene.wavelengths[:, np.newaxis] - wavelengths)
    nearest = away.argmin(axis=0)
    distance = away[nearest, np.arange(n_bands)]
    missing = np.flatnonzero(distance > half_spacing(wavelengths))
    if missing.size:
        first = missing[0]
        raise DataError(
            f"scene '{scene.name}' has no band for {missing.size} of the model's {n_bands}, such "
            f"as {wavelengths[first]:.1f} nm, where its nearest is at "
            f"{scene.wavelengths[nearest[first]]:.1f} nm; give a scene of the same sensor, or fit "
            "to the wavelengths that both have."
        )
    return nearest


def half_spacing(wavelengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the distance from each band to its nearest neighbour."""
    order = np.argsort(wavelengths, kind="stable")
    gaps = np.diff(wavelengths[order])
    half = np.empty(len(wavelengths))
    half[order] = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf)) / 2
    return half
