"""Colour composite of three bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import ParameterError
from spectrawalk.parameters import shown
from spectrawalk.scene import Scene

NATURAL = (650.0, 550.0, 450.0)
"""Wavelengths of red, green and blue, in nm."""

_SAMPLE = 200_000  # pixels that percentiles are taken of


def default_bands(scene: Scene) -> tuple[int, int, int]:
    """Bands of red, green and blue; spread over the bands where wavelengths are not known.

    Examples
    --------
    >>> import numpy as np
    >>> default_bands(Scene(np.ones((1, 1, 4)), wavelengths=[440, 560, 640, 900]))
    (2, 1, 0)
    >>> default_bands(Scene(np.ones((1, 1, 5))))
    (3, 2, 1)
    """
    n = scene.n_bands
    waves = scene.wavelengths
    # An infrared image has no red, green or blue.
    if waves is not None and waves.min() < 500 and waves.max() > 600:
        red, green, blue = (int(np.abs(waves - wanted).argmin()) for wanted in NATURAL)
    else:
        red, green, blue = (n - 1) * 3 // 4, n // 2, n // 4
    return red, green, blue


def composite(scene: Scene, bands: Sequence[int], low: float, high: float) -> bytes:
    """Three bands as bytes, red, green and blue of each pixel; each stretched on its own.

    Parameters
    ----------
    scene : Scene
    bands : sequence of int
        Red, green and blue, counted from 0.
    low, high : float
        Percentiles of the valid pixels that become 0 and 255.

    Examples
    --------
    >>> import numpy as np
    >>> list(composite(Scene(np.array([[[0.0], [1.0], [2.0]]])), [0, 0, 0], 0, 100))[::3]
    [0, 128, 255]
    """
    if len(bands) != 3 or not all(0 <= band < scene.n_bands for band in bands):
        raise ParameterError(
            f"bands={shown(list(bands))} cannot be used; give three from 0 to {scene.n_bands - 1}."
        )
    if not 0 <= low < high <= 100:
        raise ParameterError(
            f"low={low:g} and high={high:g} cannot be used; give percentiles from 0 to 100, the "
            "lower one first."
        )
    planes = [_stretched(scene, band, low, high) for band in bands]
    return np.stack(planes, axis=2).tobytes()


def _stretched(scene: Scene, band: int, low: float, high: float) -> NDArray[np.uint8]:
    values = scene.cube[:, :, band].astype(np.float32)
    valid = scene.mask & np.isfinite(values)
    known = values[valid]
    sample = known[:: max(1, len(known) // _SAMPLE)]
    bottom, top = np.percentile(sample, [low, high]) if len(sample) else (0.0, 1.0)
    scaled = (values - bottom) * (255 / (top - bottom if top > bottom else 1))
    return np.where(valid, np.rint(np.clip(scaled, 0, 255)), 0).astype(np.uint8)
