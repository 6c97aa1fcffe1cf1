"""The page of a run: values out of its result, laid out by ``page.html.j2``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrawalk.errors import MissingDependencyError
from spectrawalk.io.run_record import record_json
from spectrawalk.report.charts import (
    eigenvalue_chart,
    number_chart,
    reliability_chart,
    spectra_chart,
    tree_chart,
)
from spectrawalk.report.levels import level_maps
from spectrawalk.report.pictures import (
    colors_picture,
    labels_picture,
    shades_picture,
    thinning,
    truth_picture,
    values_picture,
)
from spectrawalk.results.captions import areas as in_words
from spectrawalk.results.captions import count, describe_crop, describe_detail, masked_pixels
from spectrawalk.results.certainty import reliability
from spectrawalk.results.cluster_map import to_map_grid
from spectrawalk.results.model import TreeModel
from spectrawalk.results.palette import NO_DATA
from spectrawalk.results.result import Result
from spectrawalk.scene.georeference import crs_name

if TYPE_CHECKING:
    from jinja2 import Template

# Nothing may be fetched, from wherever the page is opened.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_SCORES = ("OA", "AA", "kappa", "NMI", "ARI", "purity")


def report_html(result: Result, record: Mapping[str, Any]) -> bytes:
    """Write the report of a run as one HTML page that needs neither network nor other files.

    Parameters
    ----------
    result : Result
    record : mapping
        The record of the run, shown at the end.

    Examples
    --------
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.results.result import Result
    >>> scene = make_scene(shape=(20, 20), n_bands=10, n_classes=2, random_state=0)
    >>> model = SRDL(n_clusters=2, n_neighbors=20, n_eigenpairs=5).fit(scene)
    >>> page = report_html(Result.of_fit(scene, model), record={})
    >>> page.startswith(b"<!DOCTYPE html>"), b"http://" in page.replace(b"http://www.w3.org", b"")
    (True, False)
    """
    from markupsafe import Markup

    # Charts, style and script are markup of our own; all else is escaped.
    charts = {"spectra": Markup(spectra_chart(result))}
    if not result.predicted:
        charts["number"] = Markup(number_chart(result.model))
        model = result.model
        second = tree_chart(model) if isinstance(model, TreeModel) else eigenvalue_chart(model)
        charts["beside_number"] = Markup(second)
    page = page_template("page.html.j2").render(
        policy=POLICY,
        title=f"{result.scene.name}: {count(result.n_clusters, 'cluster')}",
        subtitle=_subtitle(result, record),
        style=Markup(asset("style.css")),
        script=Markup(asset("script.js")),
        maps=_maps(result),
        clusters=cluster_table(result),
        charts=charts,
        levels=level_maps(result),
        remarks=[_capital(each) for each in _remarks(result)],
        agreement=_agreement(result),
        used=_used(result),
        made=_made(result, record),
    )
    # A file name may hold bytes that are no text at all.
    return page.encode("utf-8", errors="replace")


def page_template(name: str) -> Template:
    """Template of a page of this package, in which every value is escaped."""
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingDependencyError(
            "the report needs Jinja2, which is not installed; get it with "
            '`pip install "spectrawalk[figures]"`.'
        ) from error
    texts = {each: asset(each) for each in ("page.html.j2", name)}
    environment = Environment(loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined)
    return environment.get_template(name)


def asset(name: str) -> str:
    """Text of a file of this folder."""
    return files("spectrawalk.report").joinpath(name).read_text(encoding="utf-8")


def _subtitle(result: Result, record: Mapping[str, Any]) -> str:
    rows, cols = result.image.shape
    parts = [
        result.method,
        f"{rows} × {cols} pixels",  # noqa: RUF001
        count(result.scene.n_bands, "band"),
        f"{count(result.image.n_valid, 'pixel')} {'labelled' if result.predicted else 'clustered'}",
    ]
    started = record.get("times", {}).get("started")
    if started:
        parts.append(started[:16].replace("T", " ") + " UTC")
    return " · ".join(parts)


def _maps(result: Result) -> dict[str, Any]:
    scene, cluster_map = result.scene, result.map
    step = thinning(cluster_map.labels.shape)
    thin = (slice(None, None, step), slice(None, None, step))
    labels, certainty = cluster_map.labels[thin], result.certainty_on_map[thin]
    brightness = to_map_grid(scene, result.first_component, np.nan)[thin]
    colors = result.color_picture
    in_colors = to_map_grid(scene, colors.image, NO_DATA[0])[thin]
    known = brightness[np.isfinite(brightness)]
    low, high = np.percentile(known, [2, 98]) if known.size else (0.0, 1.0)
    pictures = [
        _picture("Clusters", labels_picture(labels, cluster_map.colors), "colours as in the table"),
        _picture(
            _capital(result.certainty.name),
            shades_picture(certainty, 0, 1, "viridis"),
            result.certainty.meaning,
            scale=True,
        ),
        _picture(
            _capital(colors.name),
            colors_picture(in_colors),
            f"{colors.caption} as red, green and blue",
        ),
        _picture(
            "First component",
            shades_picture(brightness, low, high, "gray"),
            "of the scene's principal components",
        ),
    ]
    if result.scores is not None and scene.ground_truth is not None:
        truth = to_map_grid(scene, scene.ground_truth, 0)[thin]
        address = truth_picture(truth, result.scores.matching, cluster_map.n_clusters)
        caption = "in the colours of the matched clusters"
        pictures.append(_picture("Ground truth", address, caption))
    rows, cols = labels.shape
    return {
        "aspect": f"{cols / rows:.4f}",
        "pictures": pictures,
        "step": step * result.image.cell,
        "pointer": values_picture(labels, certainty),
        "place": _place(result, step),
    }


def _picture(name: str, address: str, caption: str, *, scale: bool = False) -> dict[str, Any]:
    return {"name": name, "address": address, "caption": caption, "scale": scale}


def _place(result: Result, step: int) -> dict[str, Any]:
    """What the page needs to turn a place on the screen into rows, columns and coordinates."""
    scene, transform = result.scene, result.map.transform
    (top, _), (left, _) = scene.metadata.get("crop", ((0, 0), (0, 0)))
    if scene.orthorectify is not None:
        top = left = 0  # rows and columns are those of the map
    fine = transform is not None and max(map(abs, transform[:2])) < 0.1
    return {
        "step": step * result.image.cell,
        "top": top,
        "left": left,
        "transform": transform,
        "digits": 6 if fine else 1,
        "names": list(result.map.names),
        "certainty": result.certainty.name,
    }


def cluster_table(result: Result) -> dict[str, Any]:
    """Head and rows of the table of the clusters, as texts."""
    cluster_map, counts = result.map, result.map.counts
    areas = None if cluster_map.areas is None else in_words(cluster_map.areas)
    head = ["pixels", "share"] + ["area"] * (areas is not None)
    head.append(f"mean {result.certainty.name}")
    rows = []
    for entry, color in enumerate(cluster_map.colors.tolist()):
        is_cluster = entry < result.n_clusters
        cells = [f"{counts[entry]:,}", f"{counts[entry] / max(1, counts.sum()):.1%}"]
        if areas is not None:
            cells.append(areas[entry])
        cells.append(f"{result.mean_certainty[entry]:.2f}" if is_cluster else "–")  # noqa: RUF001
        matched = result.matched_classes[entry] if is_cluster else None
        rows.append(
            {
                "color": "#{:02x}{:02x}{:02x}".format(*color),
                "name": result.entry_name(entry),
                "cells": cells,
                "matched": matched or "–",  # noqa: RUF001
            }
        )
    return {"head": head, "rows": rows, "matched": result.scores is not None}


def _remarks(result: Result) -> list[str]:
    remarks = [result.choice, *result.doubts]
    if isinstance(result.model, TreeModel):
        remarks.insert(1, describe_detail(result.model))
    return [each for each in remarks if each]


def _agreement(result: Result) -> dict[str, Any] | None:
    from markupsafe import Markup

    scores, truth = result.scores, result.scene.ground_truth
    if scores is None or truth is None:
        return None
    curve = reliability(truth, result.labels, result.certainty.image, scores.matching)
    return {
        "names": _SCORES,
        "scores": [f"{getattr(scores, name.lower()):.3f}" for name in _SCORES],
        "pixels": f"{scores.n_pixels:,}",
        "chart": Markup(reliability_chart(curve, result.certainty.name)),
    }


def _used(result: Result) -> dict[str, Any]:
    """Say what was masked and dropped, and why."""
    scene, image = result.scene, result.image
    masked = image.shape[0] * image.shape[1] - image.n_valid
    rows = [(count(n, "pixel"), "masked", why) for why, n in masked_pixels(scene)]
    for step in (scene.metadata.get("preparation") or {}).get("steps", []):
        if step["dropped_bands"]:
            rows.append((count(len(step["dropped_bands"]), "band"), "dropped", step["reason"]))
    crop = describe_crop(scene.metadata)
    told = f"{count(scene.n_bands, 'band')} and {count(image.n_valid, 'pixel')} were used"
    told += f", {count(masked, 'pixel')} masked" if masked else ""
    return {"sentence": told + (f"; {crop}" if crop else ""), "rows": rows}


def _made(result: Result, record: Mapping[str, Any]) -> dict[str, Any]:
    settings = f"{'predicted by ' if result.predicted else ''}{result.settings}"
    rows = [("settings", settings)]
    for entry in record.get("inputs", []):
        rows.append(("input", f"{entry['path']}, sha256 {entry['sha256']}"))
    times = record.get("times", {})
    if times.get("stages"):
        stages = ", ".join(f"{name} {t:.2f} s" for name, t in times["stages"].items())
        rows.append(("time", f"{times['seconds']:.1f} s: {stages}"))
    place = result.scene.orthorectify or result.scene
    if place.crs:
        rows.append(("coordinates", crs_name(place.crs) or place.crs))
    return {"rows": rows, "record": record_json(dict(record)).decode("ascii")}


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
