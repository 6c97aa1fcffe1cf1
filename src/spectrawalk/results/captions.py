"""Words about a result, for the terminal and for pictures: how it was made, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spectrawalk.results.model import Model, TreeModel, TreeSettings
    from spectrawalk.scene import Scene

_HECTARE = 10_000.0  # square metres
_SCALING = {
    "pixel": "spectra scaled to length 1",
    "global": "spectra scaled by one factor",
    "band": "bands scaled to length 1",
    None: "spectra not scaled",
}


def describe_settings(model: Model | TreeSettings) -> str:
    """Say with which method and parameters a result was made, those found by itself included.

    Of an estimator that is not fitted yet it says what it is going to find by itself.

    Examples
    --------
    >>> from spectrawalk import DL
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((20, 20), n_bands=10, n_classes=2, random_state=0)
    >>> model = DL(n_clusters=2, n_neighbors=20, n_eigenpairs=5).fit(scene)
    >>> describe_settings(model)  # doctest: +ELLIPSIS
    'DL: 2 clusters, 20 neighbours, sigma 1, symmetric graph, 5 eigenpairs, time 30, spectra ...'
    >>> describe_settings(DL())  # doctest: +ELLIPSIS
    'DL: number of clusters auto, 100 neighbours, sigma 1, symmetric graph, number of ...'
    """
    from spectrawalk.results.model import TreeSettings

    if isinstance(model, TreeSettings):
        return _describe_tree(model)
    n_pairs = len(model.eigenvalues_) if hasattr(model, "eigenvalues_") else None
    parts = [_chosen(model.n_clusters, getattr(model, "n_clusters_", None), "cluster")]
    if model.radius is not None:
        parts.append(f"window radius {model.radius}")
    for thing in ("endmember", "superpixel"):  # of D-VIC and S2DL
        if hasattr(model, f"n_{thing}s"):
            found = getattr(model, f"n_{thing}s_", None) if n_pairs else None
            parts.append(_chosen(getattr(model, f"n_{thing}s"), found, thing))
    parts += [
        count(model.n_neighbors, "neighbour"),
        f"sigma {model.sigma if isinstance(model.sigma, str) else format(model.sigma, 'g')}",
        "directed graph" if model.symmetrize is None else "symmetric graph",
        _chosen(model.n_eigenpairs, n_pairs, "eigenpair"),
        _describe_time(model),
    ]
    if model.consensus_radius:
        parts.append(f"consensus radius {model.consensus_radius}")
    parts.append(_SCALING[model.normalize])
    return f"{type(model).__name__}: {', '.join(parts)}"


def _describe_time(model: Model) -> str:
    """Diffusion time, or how many of M-SRDL."""
    if hasattr(model, "times_"):
        return f"time {model.time:g} (estimated from {count(len(model.times_), 'time')})"
    if hasattr(model, "times"):
        return "times auto" if model.times == "auto" else count(len(model.times), "time")
    return f"time {model.time:g}"


def _describe_tree(model: TreeSettings) -> str:
    """Settings of SpectraWalk."""
    parts = [_chosen(model.n_clusters, getattr(model, "n_clusters_", None), "cluster")]
    if hasattr(model, "detail_"):
        how = "from the image; " if model.detail == "auto" else ""
        parts.append(f"detail {model.detail_:.2f} ({how}0 is fields, 1 is materials)")
    else:
        parts.append(f"detail {model.detail}")
    return f"{type(model).__name__}: {', '.join(parts)}"


def describe_detail(model: TreeModel) -> str:
    """Say which detail SpectraWalk used, from which measurement, and what it means for the map.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> town = SimpleNamespace(detail="auto", detail_=0.94, measured_detail_=0.189)
    >>> describe_detail(town)  # doctest: +ELLIPSIS
    'detail 0.94, from the image: 18.9 % of the spectral variation lies between adjacent ...'
    """
    if model.detail_ < 1 / 3:
        meaning = "runs on smoothed images count most, so that the map shows regions"
    elif model.detail_ > 2 / 3:
        meaning = "each pixel is labelled mostly by its own spectrum"
    else:
        meaning = "runs on smoothed images and on single pixels count about alike"
    how = "from the image" if model.detail == "auto" else "as asked for"
    share = f"{100 * model.measured_detail_:.1f} % of the spectral variation"
    return f"detail {model.detail_:.2f}, {how}: {share} lies between adjacent pixels; {meaning}"


def _chosen(parameter: int | str, found: int | None, thing: str) -> str:
    """Number of things, and whether it was given or found by itself."""
    if found is None:
        is_auto = parameter == "auto"
        return f"number of {thing}s auto" if is_auto else count(int(parameter), thing)
    return count(found, thing) + (" (estimated)" if parameter == "auto" else "")


_WHY_MASKED = {
    "masked_not_finite": "NaN or infinite",
    "masked_nodata": "at the no-data value",
    "masked_all_zero": "zero in every band",
    "masked_by_source": "marked invalid in the file",
}


def masked_pixels(scene: Scene) -> list[tuple[str, int]]:
    """Why pixels are masked, and how many for each reason, in the order of the steps.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> masked_pixels(Scene(np.ones((1, 2, 3)), metadata={"masked_all_zero": 7}))
    [('zero in every band', 7)]
    """
    steps = (scene.metadata.get("preparation") or {}).get("steps", [])
    found = [(why, scene.metadata.get(key, 0)) for key, why in _WHY_MASKED.items()]
    found += [(step["reason"], step["masked_pixels"]) for step in steps]
    return [(why, n) for why, n in found if n]


def describe_crop(metadata: dict[str, Any]) -> str:
    """Say which part of its scene an image is; nothing if it is the whole.

    Examples
    --------
    >>> describe_crop({"crop": ((0, 50), (10, 35))})
    'rows 0 to 49 and columns 10 to 34 of the scene'
    """
    if "crop" not in metadata:
        return ""
    (top, bottom), (left, right) = metadata["crop"]
    return f"rows {top} to {bottom - 1} and columns {left} to {right - 1} of the scene"


def count(n: int, thing: str) -> str:
    """Number of things, in the singular if it is one.

    Examples
    --------
    >>> count(1, "band"), count(1200, "pixel")
    ('1 band', '1,200 pixels')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def areas(square_metres: Sequence[float] | NDArray[np.floating]) -> list[str]:
    """Areas on the ground in one unit for all, so that a column of them can be compared.

    Hectares if the largest has ten of them, else square metres.

    Examples
    --------
    >>> areas([12_345_678, 900])
    ['1,234.57 ha', '0.09 ha']
    >>> areas([23_100, 900])
    ['23,100 m²', '900 m²']
    """
    if max(square_metres, default=0.0) < 10 * _HECTARE:
        return [f"{each:,.0f} m²" for each in square_metres]
    return [f"{each / _HECTARE:,.2f} ha" for each in square_metres]


def shorten(text: str, length: int) -> str:
    """Cut the middle out of a text that is too long: the ends tell file names apart.

    Examples
    --------
    >>> shorten("flight-2019-07-03-east", 13)
    'flight…3-east'
    """
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def drawable(text: str) -> str:
    """Put a question mark for each character that the font of pictures lacks.

    Examples
    --------
    >>> drawable("corn 田")
    'corn ?'
    """
    known = _glyphs()
    return "".join(letter if ord(letter) in known else "?" for letter in text)


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())
