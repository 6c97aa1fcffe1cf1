"""First principal component of a scene: its most telling picture in one band."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.prepare.principal import principal_directions
from spectrawalk.results.spectra import cluster_spectra, in_blocks
from spectrawalk.scene import Scene


def first_component(scene: Scene) -> NDArray[np.float64]:
    """First principal component of the valid pixels, NaN elsewhere; bright is bright.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> first_component(Scene(np.array([[[0.0, 0.0], [3.0, 4.0]]]))).round(6)
    array([[-2.5,  2.5]])
    """
    labels = np.where(scene.mask, 0, -1)
    [(mean, _)] = cluster_spectra(scene, labels)
    centred = (spectra - mean for spectra, _ in in_blocks(scene, labels))
    direction = principal_directions(centred, 1)[:, 0]
    if direction.sum() < 0:
        direction = -direction
    image = np.full(scene.shape, np.nan)
    image[scene.mask] = np.concatenate(
        [(spectra - mean) @ direction for spectra, _ in in_blocks(scene, labels)]
    )
    return image
