"""What a run in tiles needs, told before it starts: memory of all processes, and time."""

from __future__ import annotations

from spectrawalk.estimators.forecast import PROGRAM, Forecast, ensemble_memory, ensemble_time
from spectrawalk.scale.draw import GAP, PIXELS, WINDOW
from spectrawalk.scale.survey import SPECTRA

# Measured on synthetic scenes; tests/test_scale.py compares them with runs.

_TILE_VALUES = 6
"""Copies of the spectra of a tile that a worker holds at a time, as float64."""

_TILE_PIXEL = 1500
"""Bytes per pixel of a tile besides its spectra: labels of all runs, scores, neighbours."""

_MODEL = 400
"""Bytes of the model per pixel that it was fitted to: features, a search tree, labels."""

_LABEL_SECONDS = (8e-5, 2e-7)
"""Seconds per pixel that one worker takes to label it, and per pixel and band."""


def tiled_forecast(
    n_pixels: int, n_bands: int, n_scenes: int, size: int, n_workers: int, item: int
) -> Forecast:
    """Memory of all processes together, and time, of a run in tiles.

    Parameters
    ----------
    n_pixels, n_bands : int
        Of all scenes.
    n_scenes : int
    size : int
        Side of a tile.
    n_workers : int
        Processes on this machine beside the program itself; 0 for none.
    item : int
        Bytes of a value in the file.
    """
    fitted = min(n_pixels, PIXELS)
    mosaic = fitted * ((WINDOW + GAP) / WINDOW) ** 2 if n_pixels > PIXELS else fitted
    survey = min(n_pixels, SPECTRA * n_scenes) * n_bands * item * 2
    fit = PROGRAM + survey + mosaic * n_bands * item + ensemble_memory(int(fitted), n_bands)
    tile = min(size * size, n_pixels) * 1.15
    labelling = tile * (_TILE_VALUES * 8 * n_bands + _TILE_PIXEL) + _MODEL * fitted
    each = PROGRAM + labelling
    # The workers are there during the fit, but have not read any tile yet.
    memory = max(fit + n_workers * PROGRAM, fit / 2 + max(n_workers, 1) * each)
    per_pixel, per_value = _LABEL_SECONDS
    labels = n_pixels * (per_pixel + per_value * n_bands) / max(n_workers, 1)
    return Forecast(int(memory), ensemble_time(int(fitted), n_bands) + labels)
