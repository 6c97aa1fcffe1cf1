"""Synthetic scenes of any size, with the ground truth that real scenes lack.

A scene is made as a sensor would see it: regions of land cover, each with its own spectrum; pixels
that mix the covers around them; light that varies over the image; noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from spectrawalk.errors import ParameterError
from spectrawalk.parameters import check_integer, check_number, check_seed
from spectrawalk.scene import Scene

# Each part draws from its own stream of random numbers, so that, for one seed, a change of the
# noise leaves the regions and the spectra as they are.
_REGIONS, _SPECTRA, _LIGHT, _PIXELS = range(4)

_BLOCK_PIXELS = 2048
"""Pixels made at a time. Each block has its own random numbers: the cube depends on this number."""

_SAMPLE_PIXELS = 40_000
"""Pixels that the class shares are fitted on."""

_BLEND_SOFTNESS = 0.4
"""Width of the transition between two regions, in standard deviations of their fields."""

_SPECKLE = 0.6
"""How much the mixture of a pixel differs from its neighbour's, in the same units."""

_CONTRAST = 0.15
"""How much the spectra of two classes differ, relative to the spectra."""


def make_scene(
    shape: tuple[int, int] = (64, 64),
    n_bands: int = 50,
    n_classes: int = 4,
    *,
    region_size: float = 12.0,
    mixing: float = 0.7,
    noise: float = 0.02,
    imbalance: float = 0.0,
    illumination: float = 0.1,
    random_state: int | None = None,
) -> Scene:
    """Make a synthetic scene.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    n_bands : int
        Bands, spread evenly from 400 to 2500 nm; at least 2.
    n_classes : int
        Kinds of land cover; at least 1, at most one per pixel. Each occurs.
    region_size : float
        Typical width of a region in pixels.
    mixing : float
        How much of other classes a pixel holds, from 0 (every pixel is pure) to 1 (pixels on a
        border hold both sides in equal parts). The class of the ground truth is the one of the
        region.
    noise : float
        Standard deviation of Gaussian noise, relative to the mean signal.
    imbalance : float
        Class c = 0, 1, ... covers a share of the image proportional to ``(1 + imbalance) ** -c``.
    illumination : float
        Standard deviation of the slowly varying brightness, relative to its mean; at most 1.
    random_state : int, optional
        Seed; None is 0. The same seed gives the same bytes.

    Returns
    -------
    Scene
        ``cube`` in float32, ``wavelengths``, and ``ground_truth`` with classes 1 to `n_classes`;
        the pure spectra are in ``metadata["endmembers"]``, shape (n_classes, n_bands).

    Examples
    --------
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((20, 30), n_bands=10, n_classes=3)
    >>> scene.cube.shape, scene.cube.dtype.name, sorted(scene.class_names)
    ((20, 30, 10), 'float32', [1, 2, 3])
    """
    rows, cols = _check_shape(shape)
    n_bands = check_integer("n_bands", n_bands, 2)
    n_classes = check_integer("n_classes", n_classes, 1)
    if n_classes > rows * cols:
        raise ParameterError(
            f"n_classes={n_classes} cannot be used with {rows * cols} pixels; each class needs one."
        )
    region_size = check_number("region_size", region_size)
    mixing = _check_part("mixing", mixing)
    noise = check_number("noise", noise, positive=False)
    imbalance = check_number("imbalance", imbalance, positive=False)
    illumination = _check_part("illumination", illumination)
    seed = check_seed("random_state", random_state)

    wavelengths = np.linspace(400.0, 2500.0, n_bands)
    endmembers = _endmembers(wavelengths, n_classes, np.random.default_rng([seed, _SPECTRA]))
    scores = _class_scores((rows, cols), n_classes, region_size, imbalance, seed)
    light = _light((rows, cols), illumination, np.random.default_rng([seed, _LIGHT]))
    cube = _cube(scores, endmembers, light, mixing, noise, seed)
    return Scene(
        cube.reshape(rows, cols, n_bands),
        name="synthetic",
        wavelengths=wavelengths,
        ground_truth=scores.argmax(axis=0).reshape(rows, cols) + 1,
        class_names={c + 1: f"class {c + 1}" for c in range(n_classes)},
        metadata={
            "endmembers": endmembers,
            "region_size": region_size,
            "mixing": mixing,
            "noise": noise,
            "imbalance": imbalance,
            "illumination": illumination,
            "random_state": seed,
        },
    )


def _check_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, cols = shape
    except (TypeError, ValueError):
        raise ParameterError(f"shape={shape!r} cannot be used; give (rows, cols).") from None
    return check_integer("shape[0]", rows, 1), check_integer("shape[1]", cols, 1)


def _check_part(name: str, value: Any) -> float:
    if check_number(name, value, positive=False) > 1:
        raise ParameterError(f"{name}={value!r} cannot be used; give a number from 0 to 1.")
    return float(value)


def _endmembers(
    wavelengths: NDArray[np.float64], n_classes: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw one smooth positive spectrum per class, shape (n_classes, bands).

    All share the rise and the water absorptions of a land surface; each class bends that curve in
    its own direction. The directions are orthogonal as far as there are enough, so that no seed
    gives two classes that are nearly the same.
    """
    position = np.linspace(0.0, 1.0, len(wavelengths))
    surface = 0.15 + 0.3 * (1 - np.exp(-3 * position))
    for centre, depth, width in ((1400, 0.4, 50), (1900, 0.5, 60)):
        surface *= 1 - depth * np.exp(-0.5 * ((wavelengths - centre) / width) ** 2)
    n_waves = max(6, n_classes)
    waves = np.sqrt(2) * np.cos(np.pi * np.outer(np.arange(1, n_waves + 1), position))
    directions = np.linalg.qr(rng.standard_normal((n_waves, n_waves)))[0][:n_classes]
    return (surface * np.exp(_CONTRAST * directions @ waves)).astype(np.float32)


def _class_scores(
    shape: tuple[int, int], n_classes: int, region_size: float, imbalance: float, seed: int
) -> NDArray[np.float32]:
    """Smooth random fields, shape (n_classes, pixels); the highest one at a pixel is its class."""
    scores = np.empty((n_classes, shape[0] * shape[1]), dtype=np.float32)
    # A region wider than the image looks no different, and its filter would take for ever.
    widths = [min(region_size / 3, extent) for extent in shape]
    for c in range(n_classes):
        white = np.random.default_rng([seed, _REGIONS, c]).standard_normal(shape, dtype=np.float32)
        field = gaussian_filter(white, sigma=widths, mode="reflect").ravel()
        field -= field.mean(dtype=np.float64)
        scores[c] = field / max(float(field.std(dtype=np.float64)), 1e-12)
    shares = (1.0 + imbalance) ** -np.arange(n_classes)
    scores += _fit_biases(scores, shares / shares.sum())[:, np.newaxis]
    _lift_absent_classes(scores)
    return scores


def _fit_biases(scores: NDArray[np.float32], shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """Find what to add to each field so that class c is the highest on ``shares[c]`` of the image.

    Classes that cover too little are raised by the logarithm of what they lack, in ever smaller
    steps.
    """
    stride = -(-scores.shape[1] // _SAMPLE_PIXELS)
    sample = scores[:, ::stride].astype(np.float64)
    biases = np.zeros(len(shares))
    for step in np.geomspace(0.5, 0.02, 60):
        highest = (sample + biases[:, np.newaxis]).argmax(axis=0)
        found = np.bincount(highest, minlength=len(shares)) / sample.shape[1]
        biases += step * np.log((shares + 1e-4) / (found + 1e-4))
    return biases.astype(np.float32)


def _lift_absent_classes(scores: NDArray[np.float32]) -> None:
    """Give each class that is nowhere the highest the pixel where it lacks least, in place."""
    classes = scores.argmax(axis=0)
    counts = np.bincount(classes, minlength=len(scores))
    for absent in np.flatnonzero(counts == 0):
        highest = scores.max(axis=0)
        # The only pixel of another class is not for the taking.
        lack = np.where(counts[classes] > 1, highest - scores[absent], np.inf)
        pixel = lack.argmin()
        scores[absent, pixel] = np.nextafter(highest[pixel], np.float32(np.inf))
        counts[classes[pixel]] -= 1
        counts[absent], classes[pixel] = 1, absent


def _light(
    shape: tuple[int, int], strength: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Brightness of each pixel around 1, shape (pixels,): a few waves as long as the image."""
    down, across = (np.linspace(0.0, 1.0, n)[:, np.newaxis] for n in shape)
    brightness = np.zeros(shape)
    n_waves = 6
    for _ in range(n_waves):
        down_rate, across_rate = rng.uniform(-1.5, 1.5, size=2)
        phase = rng.uniform(0, 2 * np.pi)
        brightness += np.cos(2 * np.pi * (down_rate * down + across_rate * across.T) + phase)
    # A cosine has variance 1/2; the exponential keeps the light positive.
    gain = np.exp(strength * brightness / np.sqrt(n_waves / 2))
    return (gain / gain.mean()).astype(np.float32).ravel()


def _cube(
    scores: NDArray[np.float32],
    endmembers: NDArray[np.float32],
    light: NDArray[np.float32],
    mixing: float,
    noise: float,
    seed: int,
) -> NDArray[np.float32]:
    """Mix and light the spectra and add noise, block by block, shape (pixels, bands)."""
    n_pixels, n_bands = len(light), endmembers.shape[1]
    cube = np.empty((n_pixels, n_bands), dtype=np.float32)
    noise_scale = np.float32(noise * endmembers.mean(dtype=np.float64))
    for block, start in enumerate(range(0, n_pixels, _BLOCK_PIXELS)):
        pixels = slice(start, start + _BLOCK_PIXELS)
        rng = np.random.default_rng([seed, _PIXELS, block])
        abundances = _abundances(scores[:, pixels], mixing, rng)
        # Summed class by class, because a matrix product may differ between thread counts.
        spectra = np.zeros((abundances.shape[1], n_bands), dtype=np.float32)
        for abundance, endmember in zip(abundances, endmembers, strict=True):
            spectra += abundance[:, np.newaxis] * endmember
        spectra *= light[pixels, np.newaxis]
        spectra += noise_scale * rng.standard_normal(spectra.shape, dtype=np.float32)
        cube[pixels] = spectra
    return cube


def _abundances(
    scores: NDArray[np.float32], mixing: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Share of each class in each pixel, shape (n_classes, pixels); the sums are 1.

    A pixel is pure to the part ``1 - mixing``; the rest is a soft maximum of the fields, which is
    even between two regions and nearly pure inside one, with a speckle of its own.
    """
    speckle = rng.standard_normal(scores.shape, dtype=np.float32)
    blurred = (scores + np.float32(_SPECKLE) * speckle) / np.float32(_BLEND_SOFTNESS)
    blend = np.exp(blurred - blurred.max(axis=0))
    abundances = np.float32(mixing) * (blend / blend.sum(axis=0))
    abundances[scores.argmax(axis=0), np.arange(scores.shape[1])] += np.float32(1 - mixing)
    return abundances
