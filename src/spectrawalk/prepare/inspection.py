"""What is in a scene, and what the preparation makes of it, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectrawalk.scene import Scene
from spectrawalk.scene.georeference import crs_name, crs_unit

_SOURCES = ("file", "header", "format", "variable", "crop")


def describe(scene: Scene, prepared: Scene) -> dict[str, Any]:
    """Describe a scene as it was read, and what is left of it after the preparation.

    Parameters
    ----------
    scene : Scene
        As a reader gave it.
    prepared : Scene
        What :func:`spectrawalk.prepare.bands.prepare_scene` made of it.

    Returns
    -------
    dict
        Plain values, for JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk.prepare.bands import prepare_scene
    >>> scene = Scene(np.random.default_rng(0).random((4, 5, 3)), wavelengths=[450, 550, 1400])
    >>> told = describe(scene, prepare_scene(scene)[0])
    >>> told["rows"], told["bands"], told["wavelengths_nm"], told["used"]["bands"]
    (4, 3, [450.0, 1400.0], 2)
    """
    rows, cols = scene.shape
    bad = [] if scene.good_bands is None else np.flatnonzero(~scene.good_bands).tolist()
    return {
        "name": scene.name,
        **{key: scene.metadata[key] for key in _SOURCES if key in scene.metadata},
        "rows": rows,
        "cols": cols,
        "bands": scene.n_bands,
        "type": str(scene.cube.dtype),
        "bytes": scene.cube.nbytes,
        "values": _range(scene),
        "nodata": scene.metadata.get("nodata"),
        "wavelengths_nm": _ends(scene.wavelengths),
        "fwhm_nm": _ends(scene.fwhm),
        "bad_bands": bad,
        **_place(scene),
        "needs_orthorectification": scene.orthorectify is not None,
        "masked": {
            key.removeprefix("masked_"): value
            for key, value in scene.metadata.items()
            if key.startswith("masked_")
        },
        "used": {
            "pixels": prepared.n_valid,
            "rows": prepared.shape[0],
            "cols": prepared.shape[1],
            "bands": prepared.n_bands,
            **prepared.metadata["preparation"],
        },
    }


def _range(scene: Scene) -> list[float] | None:
    """Find the least and the greatest value of the valid pixels, in bands that are not bad."""
    bands = range(scene.n_bands)
    good = [band for band in bands if scene.good_bands is None or scene.good_bands[band]]
    ends = [
        (float(plane.min()), float(plane.max()))
        for plane in (scene.cube[:, :, band][scene.mask] for band in good)
        if plane.size
    ]
    if not ends:
        return None
    lows, highs = zip(*ends, strict=True)
    return [min(lows), max(highs)]


def _ends(values: np.ndarray | None) -> list[float] | None:
    return None if values is None else [float(values.min()), float(values.max())]


def _place(scene: Scene) -> dict[str, Any]:
    """Name of the coordinate system, size of a pixel and the corner of the first one."""
    on_map = scene.orthorectify or scene
    crs, transform = on_map.crs, on_map.transform
    place: dict[str, Any] = {"crs": None, "unit": None, "pixel_size": None, "upper_left": None}
    if crs:
        place["crs"] = crs_name(crs) or crs
        place["unit"] = crs_unit(crs)
    if transform is not None:
        a, b, c, d, e, f = transform
        place["pixel_size"] = [float(np.hypot(a, d)), float(np.hypot(b, e))]
        place["upper_left"] = [c, f]
    return place
