"""The mean spectra of the clusters, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectrawalk.results.spectra import ClusterSpectrum, Row
from spectrawalk.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MAX_BANDS = 8  # of clusters with a shaded standard deviation: more would hide each other

_EXTREME = 2.0  # per cent of the values at either end that need not fit in the frame

_ROOM = 0.15  # around the others, as a part of their range

_WORTHWHILE = 4.0  # times the range of the others: below, it may be a real peak, and nothing is cut


def draw_spectra(
    ax: Axes,
    scene: Scene,
    spectra: Sequence[ClusterSpectrum],
    sizes: NDArray[np.integer],
    colors: NDArray[np.uint8],
) -> None:
    """Draw mean spectra, with a band of one standard deviation while there are few."""
    if scene.wavelengths is not None:
        x, name = np.asarray(scene.wavelengths, dtype=np.float64), "wavelength (nm)"
    else:
        x, name = np.arange(1.0, scene.n_bands + 1), "band number"
    shaded = len(spectra) <= _MAX_BANDS
    for run in unbroken_runs(x):
        marker = "." if run.stop - run.start == 1 else None
        for color, (mean, deviation) in reversed(list(zip(colors / 255, spectra, strict=True))):
            ax.plot(x[run], mean[run], color=color, lw=1.3, marker=marker)
            if shaded:
                low, high = mean - deviation, mean + deviation
                ax.fill_between(x[run], low[run], high[run], color=color, alpha=0.18, lw=0)
    title = "Mean spectra, ± 1 standard deviation" if shaded else "Mean spectra"
    low, high, all_shown = robust_limits(spectra, sizes)
    if not all_shown:
        ax.set_ylim(low, high)
        title += " (extremes cut off)"
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(name, fontsize=9)
    ax.set_ylabel("value in the cube", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.margins(x=0.01)


def robust_limits(
    spectra: Sequence[ClusterSpectrum], sizes: NDArray[np.integer]
) -> tuple[float, float, bool]:
    """Limits of the axis that a few noisy bands, or a cluster of a few odd pixels, cannot stretch.

    Parameters
    ----------
    spectra : sequence of ClusterSpectrum
    sizes : ndarray of int
        Pixels of each cluster: the larger, the more it has to say.

    Returns
    -------
    low, high : float
    all_shown : bool
        Whether all means and deviations lie between them.

    Examples
    --------
    >>> import numpy as np
    >>> flat = ClusterSpectrum(np.r_[np.linspace(0, 1, 99), 1000], np.zeros(100))
    >>> low, high, all_shown = robust_limits([flat], np.array([10]))
    >>> round(low, 2), round(high, 2), all_shown
    (0.0, 1.14, False)
    """
    values = np.array([[mean - spread, mean + spread] for mean, spread in spectra])
    values, sizes = values[sizes > 0], sizes[sizes > 0]  # of a prediction some may be empty
    if not len(values):
        return 0.0, 1.0, True
    weights = np.broadcast_to(sizes[:, np.newaxis, np.newaxis], values.shape).ravel()
    low, high = np.percentile(
        values.ravel(), [_EXTREME, 100 - _EXTREME], weights=weights, method="inverted_cdf"
    )
    room = _ROOM * (high - low)
    # Where nearly all is the same, the others are all there is to see.
    if low == high or np.ptp(values) < _WORTHWHILE * (high - low + 2 * room):
        return float(values.min()), float(values.max()), True
    low, high = max(low - room, values.min()), min(high + room, values.max())
    return float(low), float(high), False


def unbroken_runs(x: Row) -> list[slice]:
    """Split the bands at gaps, so that no line is drawn across bands that were removed."""
    steps = np.diff(x)
    if len(steps) == 0:
        return [slice(0, len(x))]
    breaks = np.flatnonzero((steps <= 0) | (steps > 4 * np.median(np.abs(steps)))) + 1
    bounds = [0, *breaks.tolist(), len(x)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]
