"""What the page reads, as plain values: the state, one pixel, spectra, an embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import ParameterError
from spectrawalk.explore.numbers import Numbers
from spectrawalk.explore.steps import NONE, State, palette
from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.results.captions import describe_settings
from spectrawalk.results.certainty import confidence, mode_margin
from spectrawalk.results.cluster_map import pixel_areas
from spectrawalk.results.model import FittedModel, TreeModel
from spectrawalk.results.palette import class_colors
from spectrawalk.results.pixel import Near, nearest_pixels
from spectrawalk.scene import Scene
from spectrawalk.scene.georeference import crs_name

NEIGHBORS, WINDOW = 20, 8
"""Nearest spectra that are shown of a pixel, and the half-width of the window."""

MOST_EMBEDDED = 20_000
COORDINATES = 10


def describe_scene(scene: Scene) -> dict[str, Any]:
    """Size, bands and place of a scene."""
    rows, cols = scene.shape
    areas = pixel_areas(rows, scene.crs, scene.transform)
    return {
        "name": scene.name,
        "rows": rows,
        "cols": cols,
        "bands": scene.n_bands,
        "wavelengths": None if scene.wavelengths is None else scene.wavelengths.tolist(),
        "band_numbers": scene.band_numbers.tolist(),
        "excluded": _excluded(scene),
        "crs": crs_name(scene.crs) or scene.crs,
        "transform": scene.transform,
        "pixel_area": None if areas is None else float(areas.mean()),
        "valid": scene.n_valid,
    }


def _excluded(scene: Scene) -> list[dict[str, Any]]:
    """Ranges of wavelengths between bands that are used, where bands were excluded."""
    if scene.wavelengths is None:
        return []
    reasons = {
        band + 1: step["reason"]
        for step in (scene.metadata.get("preparation") or {}).get("steps", [])
        for band in step["dropped_bands"]
    }
    order = np.argsort(scene.wavelengths, kind="stable")
    waves, numbers = scene.wavelengths[order], scene.band_numbers[order]
    found = []
    for i in np.flatnonzero(np.diff(numbers) > 1):
        missing = range(int(numbers[i]) + 1, int(numbers[i + 1]))
        told = dict.fromkeys(reasons[band] for band in missing if band in reasons)
        low, high = float(waves[i]), float(waves[i + 1])
        found.append({"low": low, "high": high, "reason": "; ".join(told) or "excluded"})
    return found


def describe_tree(model: TreeModel) -> dict[str, Any]:
    """The tree, for drawing and for cutting it in the page."""
    n = len(model.leaf_sizes_)
    parents = [0, *(int(model.ancestors(j)[j]) for j in range(1, n))]
    heights = [1.0, *model.tree_[::-1, 2].tolist()]
    return {
        "parent": parents,
        "height": heights,
        "leaf_sizes": model.leaf_sizes_.tolist(),
        "merges": model.tree_.tolist(),
    }


def describe_model(model: TreeModel | FittedModel, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit found, whatever is shown of it."""
    told = {
        "method": type(model).__name__,
        "parameters": dict(parameters),
    }
    if isinstance(model, TreeModel):
        meaning = confidence(np.zeros((1, 1)))
        return told | {
            "detail": model.detail_,
            "tree": describe_tree(model),
            "levels": [{"k": each.n_clusters, "lifetime": each.lifetime} for each in model.levels_],
            "largest_k": len(model.leaf_sizes_),
            "certainty": {"name": meaning.name, "meaning": meaning.meaning},
        }
    meaning = mode_margin(np.zeros((1, 1, 1)), np.zeros(1, dtype=np.intp))
    return told | {
        "detail": None,
        "tree": None,
        "levels": [],
        "largest_k": min(NONE - 1, int(np.count_nonzero(model.mode_score_ > 0))),
        "certainty": {"name": meaning.name, "meaning": meaning.meaning},
    }


def describe_state(numbers: Numbers, state: State) -> dict[str, Any]:
    """What is on the screen."""
    scores = numbers.scores(state)
    matching = {} if scores is None else scores[1]
    model = state.model
    return {
        "settings": describe_settings(model),
        "verdict": model.verdict_.partition(";")[0] if isinstance(model, TreeModel) else None,
        "base": state.base,
        "k": state.k,
        "n_clusters": len(state.ids),
        "n_leaves": state.n_leaves,
        "label_of_leaf": list(state.cluster_of),
        "leaf_version": state.version,
        "palette": palette(max(64, max(state.cluster_of) + 1)),
        "legend": legend(numbers, state, matching),
        "truth": describe_truth(numbers.scene, state, matching),
        "scores": None if scores is None else _scores(scores[0]),
        "answers": [{"pixel": p, "class": each} for p, each in state.answers.items()],
        "relabel": None if isinstance(model, TreeModel) else _labelling(model),
    }


def _scores(found: Any) -> dict[str, Any]:
    values: dict[str, Any] = asdict(found)
    del values["matching"]
    return values


def _labelling(model: FittedModel) -> dict[str, Any]:
    return {
        "k": model.n_clusters_,
        "time": model.time,
        "n_eigenpairs": len(model.eigenvalues_),
        "consensus_radius": model.consensus_radius,
    }


def legend(numbers: Numbers, state: State, matching: Mapping[int, int]) -> list[dict[str, Any]]:
    """Entries of the legend."""
    areas = numbers.part_areas(state)
    means = numbers.certainty(state).means if numbers.knows_certainty(state) else {}
    total = int(state.sizes.sum())
    class_name = numbers.scene.class_name
    entries = []
    for each in state.ids:
        parts, pixels = state.parts_of(each), state.pixels(each)
        entries.append(
            {
                "id": each,
                "name": state.name(each),
                "named": each in state.names,
                "color": state.color(each),
                "pixels": pixels,
                "share": pixels / max(1, total),
                "area": None if areas is None else float(areas[parts].sum()),
                "hidden": each in state.hidden,
                "confidence": means.get(each),
                "matched": class_name(matching[each]) if each in matching else None,
                "matched_number": matching.get(each),
            }
        )
    return entries


def truth_classes(scene: Scene) -> NDArray[np.intp]:
    """Numbers of the classes of the ground truth."""
    assert scene.ground_truth is not None
    classes = np.unique(scene.ground_truth[scene.ground_truth > 0])
    return classes[: NONE - 1].astype(np.intp)


def describe_truth(
    scene: Scene, state: State, matching: Mapping[int, int]
) -> list[dict[str, Any]] | None:
    """Classes of the ground truth, in the colours of the clusters matched with them."""
    if scene.ground_truth is None:
        return None
    classes = truth_classes(scene).tolist()
    pixels = np.bincount(scene.ground_truth[scene.ground_truth > 0].ravel().astype(np.intp))
    matched = {each: state.color(cluster) for cluster, each in matching.items()}
    others = class_colors(classes, {}, max(state.ids, default=0) + 1)
    return [
        {
            "number": each,
            "name": scene.class_name(each),
            "color": matched.get(each) or "#" + bytes(others[each]).hex(),
            "pixels": int(pixels[each]),
        }
        for each in classes
    ]


def truth_bytes(scene: Scene) -> bytes:
    """Index of each pixel's class among those of :func:`truth_classes`; 255 where unknown."""
    assert scene.ground_truth is not None
    classes = truth_classes(scene)
    place = np.searchsorted(classes, scene.ground_truth).clip(0, max(0, len(classes) - 1))
    known = (scene.ground_truth > 0) & (classes[place] == scene.ground_truth if len(classes) else 0)
    return np.where(known, place, NONE).astype(np.uint8).tobytes()


def spectra_view(numbers: Numbers, state: State) -> dict[str, Any]:
    """Mean and standard deviation of each cluster's spectra."""
    found = numbers.spectra(state)
    return {
        "clusters": [
            {"id": each, "pixels": n, "mean": plain(mean), "deviation": plain(deviation)}
            for each, (n, mean, deviation) in found.items()
        ]
    }


def plain(values: NDArray[Any]) -> list[float | None]:
    """Numbers for JSON, which knows no NaN."""
    return [float(value) if np.isfinite(value) else None for value in values]


def pixel_view(numbers: Numbers, state: State, row: int, col: int) -> dict[str, Any]:
    """All about one pixel."""
    scene = numbers.scene
    rows, cols = scene.shape
    if not (0 <= row < rows and 0 <= col < cols):
        raise ParameterError(
            f"row={row} and col={col} are outside the image of {rows} rows and {cols} columns."
        )
    pixel = row * cols + col
    x = y = None
    if scene.transform is not None:
        a, b, c, d, e, f = scene.transform
        x, y = a * (col + 0.5) + b * (row + 0.5) + c, d * (col + 0.5) + e * (row + 0.5) + f
    truth = None if scene.ground_truth is None else int(scene.ground_truth[row, col])
    told: dict[str, Any] = {
        "row": row,
        "col": col,
        "pixel": pixel,
        "valid": bool(scene.mask[row, col]),
        "x": x,
        "y": y,
        "truth": scene.class_name(truth) if truth else None,
        "spectrum": plain(scene.cube[row, col].astype(np.float64)),
        **{"cluster": None, "confidence": None, "next": None, "chain": None},
        **{"windowed": [], "everywhere": []},
    }
    if state.parts[row, col] == NONE:
        return told
    own = state.cluster_of[state.parts[row, col]]
    windowed, everywhere = nearest_pixels(scene, pixel, NEIGHBORS, WINDOW)
    other = _next_cluster(numbers, state, pixel, own)
    return told | {
        "cluster": own,
        "confidence": numbers.certainty(state).data[pixel] / 250,
        "next": None if other is None else {"id": other, "name": state.name(other)},
        "windowed": _neighbors(state, windowed),
        "everywhere": _neighbors(state, everywhere),
        "chain": _chain(state, pixel),
    }


def _next_cluster(numbers: Numbers, state: State, pixel: int, own: int) -> int | None:
    """Cluster that would be the pixel's without its own one."""
    model, ids = state.model, state.ids
    if isinstance(model, TreeModel):
        place = int(np.count_nonzero(numbers.scene.mask.ravel()[:pixel]))
        scores = numbers.overlaps(state).scores(np.array([place]))[0]
        ranked = [ids[label] for label in np.argsort(-scores, kind="stable")]
    else:
        table = model.coordinates_.reshape(-1, model.coordinates_.shape[-1])
        away = np.linalg.norm(table[model.modes_] - table[pixel], axis=1)
        modes = model.modes_[np.argsort(away, kind="stable")]
        ranked = [state.cluster_of[state.parts.flat[mode]] for mode in modes]
    return next((each for each in ranked if each != own), None)


def _neighbors(state: State, near: Near) -> list[dict[str, Any]]:
    return [
        {
            **_place(state, int(pixel)),
            "distance": float(distance),
            "cluster": _cluster(state, pixel),
        }
        for pixel, distance in zip(near.pixels, near.distances, strict=True)
    ]


def _cluster(state: State, pixel: int) -> int | None:
    part = int(state.parts.flat[pixel])
    return None if part == NONE else state.cluster_of[part]


def _place(state: State, pixel: int) -> dict[str, int]:
    row, col = divmod(pixel, state.parts.shape[1])
    return {"row": row, "col": col, "pixel": pixel}


def _chain(state: State, pixel: int) -> list[dict[str, int]] | None:
    path = getattr(state.model, "path_to_mode", None)
    return None if path is None else [_place(state, each) for each in path(pixel)]


def embedding(scene: Scene, model: TreeModel | FittedModel) -> dict[str, Any]:
    """Diffusion coordinates of a sample of pixels."""
    flat = np.flatnonzero(scene.mask)
    pixels = flat[draw_pixels(len(flat), MOST_EMBEDDED, 0)]
    if isinstance(model, TreeModel):
        found = model.coordinates(pixels, COORDINATES)
        values, eigenvalues = found.values, found.eigenvalues
        meaning = "diffusion coordinates of the co-association of pixels over the runs, time 1"
    else:
        table = model.coordinates_.reshape(-1, model.coordinates_.shape[-1])
        values, eigenvalues = table[pixels, 1:], model.eigenvalues_[1:]
        meaning = f"diffusion coordinates of the graph, time {model.time:g}"
    return {"pixels": pixels, "values": values, "eigenvalues": eigenvalues, "meaning": meaning}


def embedding_view(found: Mapping[str, Any], x: int, y: int) -> dict[str, Any]:
    """Two of the coordinates, counted from 1."""
    n = found["values"].shape[1]
    if not (1 <= x <= n and 1 <= y <= n):
        raise ParameterError(f"x={x} and y={y} cannot be used; give coordinates from 1 to {n}.")
    return {
        "x": plain(found["values"][:, x - 1]),
        "y": plain(found["values"][:, y - 1]),
        "pixels": found["pixels"].tolist(),
        "n_coordinates": n,
        "eigenvalues": plain(found["eigenvalues"]),
        "meaning": found["meaning"],
    }
