"""What a notebook shows of a scene, a fitted model and a result: HTML without script.

Styles are inline, because a style sheet in one cell would reach the others. Colours of text and
lines are those of the notebook, light or dark. Large images are thinned out, so that a cell stays
below 300 kB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.prepare.sampling import draw_pixels
from spectrawalk.report.figures import paint, paint_classes
from spectrawalk.report.page import cluster_table
from spectrawalk.report.pictures import small_address, small_shades, thinning
from spectrawalk.report.spectra_svg import spectra_svg
from spectrawalk.results.captions import count, describe_settings, masked_pixels, shorten
from spectrawalk.results.cluster_map import to_map_grid
from spectrawalk.results.composite import color_picture
from spectrawalk.results.model import TreeModel
from spectrawalk.results.palette import NO_DATA, class_colors, cluster_colors
from spectrawalk.results.spectra import ClusterSpectrum
from spectrawalk.scene.georeference import crs_name, crs_unit

if TYPE_CHECKING:
    from spectrawalk.results.result import Result
    from spectrawalk.scene import Scene

_LONGEST_SIDE = 256  # pixels of a picture
_SHOWN_SIDE = 260  # of the screen
_MOST_ROWS = 20  # clusters in the table
_SAMPLE = 20_000  # spectra of a model that its means are taken of
_SOFT = "opacity:.7"
_TIMES = "×"  # noqa: RUF001

Figure = tuple[str, str, tuple[int, ...]]
"""Caption, address and shape of a picture."""


def scene_html(scene: Scene) -> str:
    """Show a scene: a picture in true or false colours, sizes, wavelengths, place, mask.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> html = scene_html(Scene(np.ones((4, 5, 3)), name="<b>"))
    >>> "4 × 5 pixels, 3 bands" in html, "&lt;b&gt;" in html, "<b>" in html
    (True, True, False)
    """
    picture = color_picture(scene)
    figures = [_colors(f"{picture.name}: {picture.caption}", picture.image)]
    truth = scene.ground_truth
    if truth is not None and truth.max() > 0:
        classes = [int(each) for each in np.unique(truth[truth > 0])]
        image = paint_classes(truth, class_colors(classes, {}, 0))
        figures.append(
            _colors(f"ground truth: {len(classes)} class{'' if len(classes) == 1 else 'es'}", image)
        )
    rows, cols = scene.shape
    size = f"{rows:,} {_TIMES} {cols:,} pixels, {count(scene.n_bands, 'band')}"
    return _card(
        f"Scene {scene.name}", f"{size} of {scene.cube.dtype}", _figures(figures), _facts(scene)
    )


def result_html(result: Result) -> str:
    """Show a result: map, certainty, scene, sizes of the clusters, and their mean spectra."""
    shown, picture = result.map, result.color_picture
    labels, certainty = shown.labels, result.certainty_on_map
    scene = to_map_grid(result.scene, picture.image, NO_DATA[0])
    figures = [
        _colors("clusters", paint(labels, shown.colors)),
        _shades(f"{result.certainty.name}, 0 (dark) to 1 (yellow)", certainty),
        _colors(f"{picture.name}: {picture.caption}", scene),
    ]
    remarks = [each for each in (result.choice, *result.doubts) if each]
    rows, cols = result.image.shape
    size = f"{rows:,} {_TIMES} {cols:,} pixels, {count(result.scene.n_bands, 'band')}"
    return _card(
        f"{result.scene.name}: {count(result.n_clusters, 'cluster')}",
        f"{'predicted by ' if result.predicted else ''}{result.settings}; {size}",
        _figures(figures),
        _clusters(result),
        _spectra(
            result.spectra,
            result.sizes,
            shown.colors,
            result.scene.wavelengths,
            "value in the cube",
        ),
        *(f'<div style="{_SOFT}">{escape(each[:1].upper() + each[1:])}.</div>' for each in remarks),
    )


def model_html(model: Any) -> str:
    """Show a fitted model: what it knows of its scene, which it does not keep.

    These are the map of its labels, their confidence if it has one, the sizes of its clusters and
    the means of the spectra of its fit, which are scaled.
    """
    labels, n_clusters = model.labels_, model.n_clusters_
    colors = cluster_colors(n_clusters)
    figures = []
    if labels.ndim == 2:
        figures.append(_colors("clusters", paint(labels, colors)))
        if isinstance(model, TreeModel):
            caption = "confidence, 0 (dark) to 1 (yellow)"
            figures.append(_shades(caption, model.confidence_))
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    share = sizes / max(1, sizes.sum())
    rows = [
        [_named(colors[each], str(each + 1)), f"{sizes[each]:,}", f"{share[each]:.1%}"]
        for each in range(n_clusters)
    ]
    verdict = f"{model.verdict_}." if isinstance(model, TreeModel) else ""
    return _card(
        f"{type(model).__name__}, fitted",
        describe_settings(model),
        _figures(figures),
        _table(("cluster", "pixels", "share"), rows),
        _spectra(_means_of_fit(model), sizes, colors, model.wavelengths_, "scaled value"),
        f'<div style="{_SOFT}">{escape(verdict)}</div>' if verdict else "",
    )


def _means_of_fit(model: Any) -> list[ClusterSpectrum]:
    """Mean scaled spectra, of a sample of a large fit; none where the model has not kept them."""
    known = getattr(model, "_fitted_spectra", None)
    if known is None:
        return []
    labels = model.labels_[model._mask]
    some = draw_pixels(len(labels), _SAMPLE)
    spectra = known.spectra[some].astype(np.float64) * known.unit + known.centre
    nothing = np.zeros(spectra.shape[1])
    means = []
    for cluster in range(model.n_clusters_):
        own = spectra[labels[some] == cluster]
        mean = own.mean(axis=0) if len(own) else np.full(spectra.shape[1], np.nan)
        means.append(ClusterSpectrum(mean, nothing))
    return means


def _facts(scene: Scene) -> str:
    """Table of what is known about a scene."""
    n_masked = scene.mask.size - scene.n_valid
    why = ", ".join(f"{count(n, 'pixel')} {reason}" for reason, n in masked_pixels(scene))
    facts = [("valid", f"{count(scene.n_valid, 'pixel')}; {n_masked:,} masked")]
    if n_masked and why:
        facts.append(("masked", why))
    if scene.good_bands is not None and not scene.good_bands.all():
        bad = int((~scene.good_bands).sum())
        facts.append(("bad bands", f"{bad} of {scene.n_bands}"))
    waves = scene.wavelengths
    known = "not known" if waves is None else f"{waves.min():.0f} to {waves.max():.0f} nm"
    facts.append(("wavelengths", known))
    place = scene.orthorectify or scene
    system = crs_name(place.crs) or ("not known" if place.crs is None else shorten(place.crs, 60))
    if place.transform is not None:
        a, _, _, d, _, _ = place.transform
        unit = crs_unit(place.crs) or "units"
        system += f"; pixels of {float(np.hypot(a, d)):g} {unit}"
    if scene.orthorectify is not None:
        system += "; the image is in sensor geometry, and its maps are orthorectified"
    facts.append(("place", system))
    if "file" in scene.metadata:
        facts.append(("file", shorten(Path(str(scene.metadata["file"])).name, 80)))
    return _table((), [[escape(name), escape(told)] for name, told in facts])


def _clusters(result: Result) -> str:
    """Table of the clusters, as in the report."""
    told = cluster_table(result)
    head = ["cluster", *told["head"], *["matched with"] * told["matched"]]
    rows = []
    for row, color in zip(told["rows"], result.map.colors, strict=True):
        cells = [_named(color, row["name"]), *map(escape, row["cells"])]
        rows.append([*cells, *[escape(row["matched"])] * told["matched"]])
    return _table(head, rows)


def _spectra(
    spectra: Sequence[ClusterSpectrum],
    sizes: NDArray[np.integer],
    colors: NDArray[np.uint8],
    wavelengths: NDArray[np.float64] | None,
    unit: str,
) -> str:
    if not spectra or not np.isfinite([each.mean for each in spectra]).any():
        return ""
    drawing = spectra_svg(spectra, sizes, colors, wavelengths, unit)
    return f'<div style="margin:.6em 0">{drawing}</div>'


def _colors(caption: str, image: NDArray[np.uint8]) -> Figure:
    step = thinning(image.shape, _LONGEST_SIDE)
    return caption, small_address(image[::step, ::step]), image.shape


def _shades(caption: str, image: NDArray[np.floating]) -> Figure:
    step = thinning(image.shape, _LONGEST_SIDE)
    return caption, small_shades(image[::step, ::step]), image.shape


def _figures(figures: Iterable[Figure]) -> str:
    """Pictures in a row, as large as each other."""
    cells = []
    for caption, address, (rows, cols, *_) in figures:
        scale = _SHOWN_SIDE / max(rows, cols)
        width, height = max(8, round(cols * scale)), max(8, round(rows * scale))
        cells.append(
            f'<figure style="margin:0 1em .6em 0;max-width:{max(width, 160)}px">'
            f'<img alt="{escape(caption)}" src="{address}" width="{width}" height="{height}" '
            f'style="width:{width}px;height:{height}px;max-width:none;image-rendering:pixelated;'
            f'display:block;margin:0"><figcaption style="font-size:.85em;{_SOFT}">'
            f"{escape(caption[:1].upper() + caption[1:])}</figcaption></figure>"
        )
    row = "display:flex;flex-wrap:wrap;align-items:flex-start;margin:.6em 0 0"
    return f'<div style="{row}">{"".join(cells)}</div>' if cells else ""


def _named(color: NDArray[np.uint8], name: str) -> str:
    """Markup of a name after a square of its colour."""
    swatch = "display:inline-block;width:.9em;height:.9em;margin-right:.5em;border-radius:2px"
    shade = "#{:02x}{:02x}{:02x}".format(*color.tolist())
    return f'<span style="{swatch};background:{shade}"></span>{escape(name)}'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Table of markup; the first column is text, the others are numbers if there is a head."""
    cell = "padding:.1em 1.2em .1em 0;background:none;border:0;vertical-align:top"
    aligned = ["left", *["right" if head else "left"] * 20]

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} style="{cell};text-align:{side}">{each}</{tag}>'
            for each, side in zip(cells, aligned, strict=False)
        )

    lines = [f'<tr style="background:none">{line(row, "td")}</tr>' for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        more = [f"and {len(rows) - _MOST_ROWS} more"]
        lines.append(f'<tr style="background:none">{line(more, "td")}</tr>')
    title = f"<thead><tr>{line([escape(each) for each in head], 'th')}</tr></thead>" if head else ""
    style = "border-collapse:collapse;margin:.3em 0;font-size:.95em;width:auto"
    return f'<table style="{style}">{title}<tbody>{"".join(lines)}</tbody></table>'


def _card(title: str, subtitle: str, *parts: str) -> str:
    frame = "border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:.7em 1em"
    html = (
        f'<div style="{frame};max-width:64em;overflow-x:auto;line-height:1.4">'
        f'<div style="font-weight:600;overflow-wrap:anywhere">{escape(title)}</div>'
        f'<div style="{_SOFT};overflow-wrap:anywhere">{escape(subtitle)}</div>'
        f"{''.join(parts)}</div>"
    )
    # A file name may hold bytes that are no text at all.
    return html.encode("utf-8", errors="replace").decode("utf-8")
