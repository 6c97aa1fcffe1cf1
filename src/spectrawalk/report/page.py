"""The page itself: sections of HTML out of a scene, a fitted model and the record of the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.io.run_record import record_json
from spectrawalk.parameters import is_automatic
from spectrawalk.report.charts import (
    eigenvalue_chart,
    number_chart,
    reliability_chart,
    spectra_chart,
)
from spectrawalk.report.figures import principal_component
from spectrawalk.report.pictures import (
    labels_picture,
    shades_picture,
    thinning,
    truth_picture,
    values_picture,
)
from spectrawalk.results.captions import areas as in_words
from spectrawalk.results.captions import count, describe_crop, describe_settings
from spectrawalk.results.cluster_map import ClusterMap, map_of, to_map_grid
from spectrawalk.results.confidence import reliability
from spectrawalk.results.remarks import explain_choice, find_doubts
from spectrawalk.results.scores import Scores
from spectrawalk.scene import Scene

# Nothing may be fetched, from wherever the page is opened.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def report_html(
    scene: Scene,
    model: Any,
    *,
    confidence: NDArray[np.floating],
    record: Mapping[str, Any],
    scores: Scores | None = None,
) -> bytes:
    """Write the report of a run as one HTML page that needs neither network nor other files.

    Parameters
    ----------
    scene : Scene
        The image that was clustered.
    model : SRDL, DLSS or DL
        Fitted on `scene`.
    confidence : ndarray of shape (rows, cols)
        How sure each label is, 0 to 1.
    record : mapping
        The record of the run, shown at the end.
    scores : Scores, optional
        Agreement with the ground truth.

    Examples
    --------
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.results.confidence import confidence_image
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene(shape=(20, 20), n_bands=10, n_classes=2, random_state=0)
    >>> model = SRDL(n_clusters=2, n_neighbors=20, n_eigenpairs=5).fit(scene)
    >>> confidence = confidence_image(model.coordinates_, model.modes_)
    >>> page = report_html(scene, model, confidence=confidence, record={})
    >>> page.startswith(b"<!DOCTYPE html>"), b"http://" in page.replace(b"http://www.w3.org", b"")
    (True, False)
    """
    cluster_map = map_of(scene, model.labels_, model.n_clusters_)
    on_map = to_map_grid(scene, confidence, np.nan)
    sections = [
        _maps(scene, model, cluster_map, on_map, scores),
        _clusters(scene, cluster_map, on_map, scores),
        _section("Spectra of the clusters", spectra_chart(scene, model)),
        _number(model),
        _agreement(scene, model, confidence, scores),
        _used(scene),
        _how(scene, model, record),
    ]
    title = f"{scene.name}: {count(model.n_clusters_, 'cluster')}"
    page = _TEMPLATE.format(
        policy=escape(_POLICY),
        title=escape(title),
        style=_asset("style.css"),
        subtitle=escape(_subtitle(scene, model, record)),
        sections="\n".join(filter(None, sections)),
        script=_asset("script.js"),
    )
    # A file name may hold bytes that are no text at all.
    return page.encode("utf-8", errors="replace")


_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="soft">{subtitle}</p>
</header>
{sections}
<script>
{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return files("spectrawalk.report").joinpath(name).read_text(encoding="utf-8")


def _subtitle(scene: Scene, model: Any, record: Mapping[str, Any]) -> str:
    rows, cols = scene.shape
    parts = [
        type(model).__name__,
        f"{rows} × {cols} pixels",  # noqa: RUF001
        count(scene.n_bands, "band"),
        f"{count(scene.n_valid, 'pixel')} clustered",
    ]
    started = record.get("times", {}).get("started")
    if started:
        parts.append(started[:16].replace("T", " ") + " UTC")
    return " · ".join(parts)


def _maps(
    scene: Scene,
    model: Any,
    cluster_map: ClusterMap,
    confidence: NDArray[np.floating],
    scores: Scores | None,
) -> str:
    step = thinning(cluster_map.labels.shape)
    thin = (slice(None, None, step), slice(None, None, step))
    labels, confidence = cluster_map.labels[thin], confidence[thin]
    brightness = to_map_grid(scene, principal_component(scene), np.nan)[thin]
    known = brightness[np.isfinite(brightness)]
    low, high = np.percentile(known, [2, 98]) if known.size else (0.0, 1.0)
    rows, cols = labels.shape
    maps = [
        ("Clusters", labels_picture(labels, cluster_map.n_clusters), "in the colours of the table"),
        (
            "Confidence",
            shades_picture(confidence, 0, 1, "viridis"),
            (
                "agreement of the runs"
                if is_automatic(model.radius, model.time)
                else "margin between the two nearest modes"
            )
            + ', <span class="whole">0 <span class="scale" '
            'style="background: linear-gradient(90deg, #440154, #3b528b, #21918c, #5ec962, '
            '#fde725)"></span> 1</span>',
        ),
        ("The scene", shades_picture(brightness, low, high, "gray"), "first principal component"),
    ]
    if scores is not None and scene.ground_truth is not None:
        truth = to_map_grid(scene, scene.ground_truth, 0)[thin]
        address = truth_picture(truth, scores.matching, cluster_map.n_clusters)
        maps.append(("Ground truth", address, "in the colours of the matched clusters"))
    figures = "".join(
        f'<figure><img class="map" alt="{name}" src="{address}">'
        f"<figcaption><b>{name}</b>, {caption}</figcaption></figure>\n"
        for name, address, caption in maps
    )
    thinned = f"<p class='soft'>Shown: one of {step} rows and columns.</p>" if step > 1 else ""
    return _section(
        "Map",
        f'<div class="maps" style="--aspect: {cols / rows:.4f}">\n{figures}</div>\n{thinned}'
        '<p id="readout">Move the pointer over a map to read its values.</p>'
        f'<img id="values" class="hidden" alt="" src="{values_picture(labels, confidence)}">'
        f'<script type="application/json" id="place">{_place(scene, cluster_map, step)}</script>',
    )


def _place(scene: Scene, cluster_map: ClusterMap, step: int) -> str:
    """What the page needs to turn a place on the screen into rows, columns and coordinates."""
    (top, _), (left, _) = scene.metadata.get("crop", ((0, 0), (0, 0)))
    if scene.orthorectify is not None:
        top = left = 0  # rows and columns are those of the map
    transform = cluster_map.transform
    fine = transform is not None and max(map(abs, transform[:2])) < 0.1
    return json.dumps(
        {"step": step, "top": top, "left": left, "transform": transform, "digits": 6 if fine else 1}
    )


def _clusters(
    scene: Scene,
    cluster_map: ClusterMap,
    confidence: NDArray[np.floating],
    scores: Scores | None,
) -> str:
    labels, counts = cluster_map.labels, cluster_map.counts
    areas = None if cluster_map.areas is None else in_words(cluster_map.areas)
    known = np.where(labels >= 0, labels, cluster_map.n_clusters).ravel()
    sums = np.bincount(known, np.nan_to_num(confidence).ravel(), minlength=len(counts))
    head = ["cluster", "pixels", "share"] + ["area"] * (areas is not None) + ["mean confidence"]
    head += ["matched with"] * (scores is not None)
    rows = []
    for cluster, color in enumerate(cluster_map.colors.tolist()):
        shade = "#{:02x}{:02x}{:02x}".format(*color)
        cells = [f'<span class="swatch" style="background:{shade}"></span>{cluster + 1}']
        cells += [f"{counts[cluster]:,}", f"{counts[cluster] / max(1, counts.sum()):.1%}"]
        if areas is not None:
            cells.append(areas[cluster])
        cells.append(f"{sums[cluster] / max(1, counts[cluster]):.2f}")
        if scores is not None:
            cells.append(escape(_class_name(scene, scores.matching.get(cluster))))
        rows.append(cells)
    table = _table(head, rows, numbers=range(1, 4 + (areas is not None)), numbered=True)
    return _section("Clusters", f'<div class="scroll" id="clusters">{table}</div>')


def _class_name(scene: Scene, matched: int | None) -> str:
    return "–" if matched is None else scene.class_names.get(matched, f"class {matched}")  # noqa: RUF001


def _number(model: Any) -> str:
    remarks = [explain_choice(model), *find_doubts(model)]
    listed = "".join(f"<li>{escape(_capital(each))}.</li>" for each in remarks if each)
    return _section(
        "Number of clusters",
        f'<div class="pair">{number_chart(model)}{eigenvalue_chart(model)}</div>'
        + (f'<ul class="remarks">{listed}</ul>' if listed else ""),
    )


def _agreement(
    scene: Scene, model: Any, confidence: NDArray[np.floating], scores: Scores | None
) -> str:
    if scores is None or scene.ground_truth is None:
        return ""
    names = ("OA", "AA", "kappa", "NMI", "ARI", "purity")
    values = [f"{getattr(scores, name.lower()):.3f}" for name in names]
    table = _table(names, [values], numbers=range(len(names)))
    curve = reliability(scene.ground_truth, model.labels_, confidence, scores.matching)
    return _section(
        "Agreement with the ground truth",
        f"{table}<p class='soft'>{scores.n_pixels:,} pixels</p>"
        f'<div class="half">{reliability_chart(curve)}</div>',
    )


def _used(scene: Scene) -> str:
    """Say what was masked and dropped, and why."""
    masked = scene.mask.size - scene.n_valid
    rows = []
    for key, why in (
        ("masked_not_finite", "NaN or infinite"),
        ("masked_nodata", "the value for no data"),
        ("masked_all_zero", "zero in every band"),
    ):
        if scene.metadata.get(key):
            rows.append([count(scene.metadata[key], "pixel"), "masked", why])
    preparation = scene.metadata.get("preparation") or {}
    for step in preparation.get("steps", []):
        if step["dropped_bands"]:
            rows.append([count(len(step["dropped_bands"]), "band"), "dropped", step["reason"]])
        if step["masked_pixels"]:
            rows.append([count(step["masked_pixels"], "pixel"), "masked", step["reason"]])
    crop = describe_crop(scene.metadata)
    told = f"{count(scene.n_bands, 'band')} and {count(scene.n_valid, 'pixel')} were used"
    told += f", {count(masked, 'pixel')} masked" if masked else ""
    told += f"; {crop}" if crop else ""
    table = _table(("what", "", "why"), [[escape(cell) for cell in row] for row in rows])
    return _section("What was used", f"<p>{escape(told)}.</p>" + (table if rows else ""))


def _how(scene: Scene, model: Any, record: Mapping[str, Any]) -> str:
    rows = [["settings", escape(describe_settings(model))]]
    for entry in record.get("inputs", []):
        rows.append(["input", f"{escape(entry['path'])}<br>sha256 {escape(entry['sha256'])}"])
    if record.get("times"):
        stages = ", ".join(f"{name} {t:.2f} s" for name, t in record["times"]["stages"].items())
        rows.append(["time", escape(f"{record['times']['seconds']:.1f} s: {stages}")])
    place = scene.orthorectify or scene
    if place.crs:
        rows.append(["coordinates", escape(_crs_name(place.crs))])
    table = _table(("", ""), rows, head=False)
    text = escape(record_json(dict(record)).decode("ascii"))
    return _section(
        "How it was made",
        f"{table}<details><summary>Record of the run (run.json)</summary><pre>{text}</pre>"
        "</details>",
    )


def _crs_name(crs: str) -> str:
    """Name of a coordinate system: the first text in its WKT."""
    return crs.split('"')[1] if crs.count('"') >= 2 else crs


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def _table(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    numbered: bool = False,
    head: bool = True,
) -> str:
    """Table of cells that are HTML already; columns in `numbers` are set flush right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = [' class="number"' * (place in numbers) for place in range(len(row))]
        return "".join(
            f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, row, strict=True)
        )

    top = f"<thead><tr>{cells('th', names)}</tr></thead>" if head else ""
    body = "\n".join(
        (f'<tr data-cluster="{number}">' if numbered else "<tr>") + cells("td", row) + "</tr>"
        for number, row in enumerate(rows, start=1)
    )
    return f"<table>{top}<tbody>\n{body}\n</tbody></table>"
