"""Colour composite of three bands: the scene as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import ParameterError
from spectrawalk.parameters import shown
from spectrawalk.results.palette import NO_DATA
from spectrawalk.scene import Scene

NATURAL = (650.0, 550.0, 450.0)
"""Wavelengths of red, green and blue, in nm."""

INFRARED = (850.0, 650.0, 550.0)
"""Wavelengths of a colour infrared picture, in nm: plants are red."""

STRETCH = (2.0, 98.0)
"""Percentiles of the valid pixels between which a band is stretched."""

_NEAR = 60.0  # nm from a wanted wavelength to a band that stands for it
_SAMPLE = 200_000  # pixels that percentiles are taken of


class ColorBands(NamedTuple):
    """The bands of a composite."""

    bands: tuple[int, int, int]
    """Red, green and blue, counted from 0."""
    name: str
    """What such a picture is called: true colour, colour infrared or false colour."""
    caption: str
    """The wavelengths, or the numbers of the bands where they are not known."""


class Picture(NamedTuple):
    """A composite as a report shows it."""

    name: str
    """As in :class:`ColorBands`, as is `caption`."""
    caption: str
    image: NDArray[np.uint8]
    """Shape (rows, cols, 3), grey where masked."""


def color_bands(scene: Scene) -> ColorBands:
    """Choose the bands of the most natural picture that a scene has.

    True colour where there is visible light, else colour infrared, else bands spread over the
    spectrum. The caption has the wavelengths, or the numbers of the bands in the file.

    Examples
    --------
    >>> import numpy as np
    >>> color_bands(Scene(np.ones((1, 1, 4)), wavelengths=[440, 560, 640, 900]))
    ColorBands(bands=(2, 1, 0), name='true colour', caption='640, 560 and 440 nm')
    >>> color_bands(Scene(np.ones((1, 1, 5))))
    ColorBands(bands=(3, 2, 1), name='false colour', caption='bands 4, 3 and 2')
    """
    waves = scene.wavelengths
    if waves is not None:
        for name, wanted in (("true colour", NATURAL), ("colour infrared", INFRARED)):
            away = np.abs(np.subtract.outer(wanted, waves))
            if away.min(axis=1).max() <= _NEAR:
                return _described(scene, away.argmin(axis=1).tolist(), name)
    n = scene.n_bands
    return _described(scene, [(n - 1) * 3 // 4, n // 2, n // 4], "false colour")


def _described(scene: Scene, bands: Sequence[int], name: str) -> ColorBands:
    red, green, blue = bands
    if scene.wavelengths is None:
        first, second, third = scene.band_numbers[[red, green, blue]]
        return ColorBands((red, green, blue), name, f"bands {first}, {second} and {third}")
    first, second, third = scene.wavelengths[[red, green, blue]]
    caption = f"{first:.0f}, {second:.0f} and {third:.0f} nm"
    return ColorBands((red, green, blue), name, caption)


def composite(
    scene: Scene, bands: Sequence[int], low: float = STRETCH[0], high: float = STRETCH[1]
) -> NDArray[np.uint8]:
    """Three bands as a picture, each stretched on its own; black where masked.

    Parameters
    ----------
    scene : Scene
    bands : sequence of int
        Red, green and blue, counted from 0.
    low, high : float
        Percentiles of the valid pixels that become 0 and 255.

    Returns
    -------
    ndarray of uint8, shape (rows, cols, 3)

    Examples
    --------
    >>> import numpy as np
    >>> composite(Scene(np.array([[[0.0], [1.0], [2.0]]])), [0, 0, 0], 0, 100)[0, :, 0].tolist()
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
    return np.stack([_stretched(scene, band, low, high) for band in bands], axis=2)


def color_picture(scene: Scene) -> Picture:
    """Picture of a scene in the bands of :func:`color_bands`.

    Examples
    --------
    >>> import numpy as np
    >>> cube = np.array([[[0, 2, 4], [2, 4, 6], [1, 1, 1]]])
    >>> picture = color_picture(Scene(cube, mask=[[True, True, False]]))
    >>> picture.name, picture.image[0].tolist()
    ('false colour', [[0, 0, 0], [255, 255, 255], [204, 204, 204]])
    """
    chosen = color_bands(scene)
    image = composite(scene, chosen.bands)
    image[~scene.mask] = NO_DATA
    return Picture(chosen.name, chosen.caption, image)


def _stretched(scene: Scene, band: int, low: float, high: float) -> NDArray[np.uint8]:
    values = scene.cube[:, :, band].astype(np.float32)
    valid = scene.mask & np.isfinite(values)
    known = values[valid]
    sample = known[:: max(1, len(known) // _SAMPLE)]
    bottom, top = np.percentile(sample, [low, high]) if len(sample) else (0.0, 1.0)
    scaled = (values - bottom) * (255 / (top - bottom if top > bottom else 1))
    return np.where(valid, np.rint(np.clip(scaled, 0, 255)), 0).astype(np.uint8)
