"""The mean spectra of the clusters as a small SVG, in the text colour of the page around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spectrawalk.report.spectra_plot import robust_limits, unbroken_runs
from spectrawalk.results.spectra import ClusterSpectrum

_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 10, 8, 40  # room around the curves
_MOST_CURVES = 24  # those of the largest clusters
_MOST_POINTS = 300  # of a curve; more than the picture can show
_TICKS = 5


def spectra_svg(
    spectra: Sequence[ClusterSpectrum],
    sizes: NDArray[np.integer],
    colors: NDArray[np.uint8],
    wavelengths: NDArray[np.float64] | None,
    unit: str,
) -> str:
    """Draw mean spectra; needs no library for figures.

    Parameters
    ----------
    spectra : sequence of ClusterSpectrum
    sizes : ndarray of int
        Pixels of each cluster. Of more than 24 clusters the largest are drawn.
    colors : ndarray of uint8, shape (K, 3)
    wavelengths : ndarray of shape (bands,) or None
    unit : str
        What to call the values.

    Examples
    --------
    >>> import numpy as np
    >>> flat = ClusterSpectrum(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    >>> svg = spectra_svg([flat], np.array([9]), np.array([[0, 114, 178]]), None, "value")
    >>> svg.count("<polyline"), "band number" in svg
    (1, True)
    """
    drawn = [each for each in np.argsort(-sizes, kind="stable")[:_MOST_CURVES] if sizes[each] > 0]
    n_bands = len(spectra[0].mean)
    x = np.arange(1.0, n_bands + 1) if wavelengths is None else np.asarray(wavelengths)
    low, high, _ = robust_limits([spectra[each] for each in drawn], sizes[drawn])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    across = _scale(float(x.min()), float(x.max()), _LEFT, _WIDTH - _RIGHT)
    down = _scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    name = "band number" if wavelengths is None else "wavelength (nm)"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="mean spectra of the clusters" style="max-width:100%;height:auto" '
        'font-size="11" fill="currentColor">'
        f"{_axes(float(x.min()), float(x.max()), low, high, name, unit)}"
        f"{''.join(_curves(spectra, drawn, colors, x, across, down))}</svg>"
    )


def _curves(
    spectra: Sequence[ClusterSpectrum],
    drawn: Sequence[int],
    colors: NDArray[np.uint8],
    x: NDArray[np.float64],
    across: tuple[float, float],
    down: tuple[float, float],
) -> list[str]:
    """One line for each run of unbroken bands, the largest cluster on top."""
    lines = []
    step = -(-len(x) // _MOST_POINTS)
    for cluster in reversed(drawn):
        values = np.clip(down[0] + down[1] * spectra[cluster].mean, _TOP - 2, _HEIGHT - _BOTTOM + 2)
        color = "#{:02x}{:02x}{:02x}".format(*colors[cluster].tolist())
        for run in unbroken_runs(x):
            some = slice(run.start, run.stop, step)
            places = zip(across[0] + across[1] * x[some], values[some], strict=True)
            points = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
            lines.append(
                f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>'
            )
    return lines


def _axes(first: float, last: float, low: float, high: float, name: str, unit: str) -> str:
    """Frame, numbers and names of both axes."""
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    across, down = _scale(first, last, _LEFT, right), _scale(low, high, floor, _TOP)
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{floor}H{right}" fill="none" stroke="currentColor" '
        'stroke-opacity=".5"/>'
    ]
    for tick in _ticks(first, last):
        at = across[0] + across[1] * tick
        parts.append(f'<text x="{at:.1f}" y="{floor + 14}" text-anchor="middle">{tick:g}</text>')
    for tick in _ticks(low, high):
        at = down[0] + down[1] * tick
        parts.append(
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>'
            f'<path d="M{_LEFT} {at:.1f}H{right}" stroke="currentColor" stroke-opacity=".12"/>'
        )
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle:g}" y="{_HEIGHT - 8}" text-anchor="middle">{name}</text>')
    turned = f"rotate(-90 12 {floor / 2:g})"
    parts.append(
        f'<text x="12" y="{floor / 2:g}" text-anchor="middle" transform="{turned}">{unit}</text>'
    )
    return "".join(parts)


def _scale(low: float, high: float, at_low: float, at_high: float) -> tuple[float, float]:
    """Offset and factor that carry values to places on the page."""
    factor = (at_high - at_low) / (high - low if high > low else 1.0)
    return at_low - factor * low, factor


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, about five."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / _TICKS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
    numbers = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return [float(f"{number:.6g}") for number in numbers]
