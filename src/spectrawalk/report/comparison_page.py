"""The page of a comparison: both maps in one legend, the changes, the matrix, the spectra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.io.cluster_spectra import StoredSpectra
from spectrawalk.io.run_record import record_json
from spectrawalk.report.charts import svg_chart
from spectrawalk.report.comparison import ComparedMaps
from spectrawalk.report.page import POLICY, asset, page_template
from spectrawalk.report.pictures import address_of, labels_picture, thinning
from spectrawalk.report.spectra_plot import unbroken_runs
from spectrawalk.results.captions import areas as in_words
from spectrawalk.results.captions import count
from spectrawalk.scene.georeference import crs_name

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes

_TEMPLATE = "comparison.html.j2"
_LARGEST = 12  # changes in words
_WIDEST = 40  # clusters in the matrix of the page; the table in the folder has all
_HEAD = 90  # letters in the heads of the matrix's columns, on a page that is not scrolled
_SWATCH = 4  # letters that fit into a swatch and the space between columns
_SHADE = (0, 114, 178)  # of the largest change in the matrix


def comparison_html(found: ComparedMaps, record: Mapping[str, Any]) -> bytes:
    """Write the comparison as one HTML page that needs neither network nor other files.

    Parameters
    ----------
    found : ComparedMaps
    record : mapping
        Shown at the end.
    """
    from markupsafe import Markup

    from spectrawalk.report.figures import figure_and_patch

    figure_and_patch()  # or says how to get the library for pictures
    matrix = found.comparison
    page = page_template(_TEMPLATE).render(
        policy=POLICY,
        title=f"{matrix.changed / matrix.compared:.1%} changed from A to B",
        subtitle=_subtitle(found),
        inputs=(found.before.title, found.after.title),
        style=Markup(asset("style.css")),
        script=Markup(asset("comparison.js")),
        maps=_maps(found),
        sums=_sums(found),
        changes=_changes(found),
        clusters=_clusters(found),
        matched=_sentence(found.matched_in_words),
        matrix=_matrix(found),
        spectra=Markup(_spectra_chart(found)) if _has_spectra(found) else None,
        remarks=[_sentence(each) for each in found.remarks],
        made=_made(found, record),
    )
    return page.encode("utf-8", errors="replace")


def _subtitle(found: ComparedMaps) -> str:
    rows, cols = found.comparison.codes.shape
    parts = [f"{rows} × {cols} pixels", f"{count(found.comparison.compared, 'pixel')} compared"]  # noqa: RUF001
    return " · ".join([*parts, *([crs_name(found.crs) or found.crs] if found.crs else [])])


def _maps(found: ComparedMaps) -> dict[str, Any]:
    step = thinning(found.comparison.codes.shape)
    thin = (slice(None, None, step), slice(None, None, step))
    before = found.before_entries(found.before.codes[thin])
    after = found.after_entries(found.after.codes[thin])
    codes = found.comparison.codes[thin].astype(np.int32) - 1
    rows, cols = codes.shape
    transform = found.transform
    fine = transform is not None and max(map(abs, transform[:2])) < 0.1
    return {
        "aspect": f"{cols / rows:.4f}",
        "step": step,
        "pictures": [
            {"name": "A", "caption": found.before.title, "address": _picture(before, found)},
            {
                "name": "B",
                "caption": f"{found.after.title}, in the colours of A",
                "address": _picture(after, found),
            },
            {
                "name": "Change",
                "caption": "pale where unchanged, else the colour of the cluster that it became",
                "address": labels_picture(codes, found.change_colors),
            },
        ],
        "pointer": _values_picture(before, after),
        "place": {
            "step": step,
            "transform": transform,
            "digits": 6 if fine else 1,
            "names": list(found.names),
        },
    }


def _picture(entries: NDArray[np.int32], found: ComparedMaps) -> str:
    return labels_picture(entries, found.colors)


def _values_picture(before: NDArray[np.int32], after: NDArray[np.int32]) -> str:
    """Picture that the page reads the clusters of a pixel from, and does not show.

    Red and green are the low bytes of the entries in A and B, counted from 1; blue has their high
    bits, those of B shifted by 4.
    """
    one, other = (np.minimum(each + 1, 4095) for each in (before, after))
    planes = [one & 255, other & 255, (one >> 8) | (other >> 8) << 4]
    return address_of(np.stack(planes, axis=2).astype(np.uint8))


def _sums(found: ComparedMaps) -> list[tuple[str, str, str, str]]:
    """Unchanged and changed pixels, their areas and shares."""
    areas = [area for _, _, area in found.sums if area is not None]
    words = in_words(areas) if areas else [""] * len(found.sums)
    return [
        (name, f"{pixels:,}", area, f"{pixels / found.comparison.compared:.1%}")
        for (name, pixels, _), area in zip(found.sums, words, strict=True)
    ]


def _changes(found: ComparedMaps) -> dict[str, Any]:
    matrix = found.comparison
    changes = [each for each in matrix.changes if not matrix.is_undecided(each)]
    areas = None
    if matrix.areas is not None:
        areas = in_words([each.area or 0.0 for each in changes])
    rows = []
    for place, each in enumerate(changes[:_LARGEST]):
        n_before = int(matrix.pixels[each.before].sum())
        rows.append(
            {
                "color": _css(found.change_colors[1 + matrix.changes.index(each)]),
                "words": found.name_of(each),
                "pixels": f"{each.pixels:,}",
                "area": None if areas is None else areas[place],
                "share": f"{each.pixels / matrix.compared:.1%}",
                "of_cluster": f"{each.pixels / n_before:.1%}",
            }
        )
    return {"rows": rows, "more": len(changes) - len(rows), "has_area": areas is not None}


def _clusters(found: ComparedMaps) -> dict[str, Any]:
    matrix = found.comparison
    pixels = np.column_stack([matrix.pixels.sum(axis=1), matrix.pixels.sum(axis=0)])[:-1]
    cells: NDArray[Any] = pixels.astype(float)
    has_area = matrix.areas is not None
    if matrix.areas is not None:
        cells = np.column_stack([matrix.areas.sum(axis=1), matrix.areas.sum(axis=0)])[:-1]
        words = in_words(cells.ravel())
    else:
        words = [f"{int(each):,}" for each in cells.ravel()]
    rows = []
    for place, entry in enumerate(matrix.entries):
        one, other = cells[place]
        angle = found.angles.get(entry.before) if entry.before is not None else None
        rows.append(
            {
                "color": _css(found.colors[place]),
                "name": found.names[place],
                "before": "–" if entry.before is None else entry.before,  # noqa: RUF001
                "after": "–" if entry.after is None else entry.after,  # noqa: RUF001
                "angle": "–" if angle is None else f"{angle:.1f}°",  # noqa: RUF001
                "in_before": words[2 * place],
                "in_after": words[2 * place + 1],
                "growth": f"{other / one - 1:+.1%}" if one else "–",  # noqa: RUF001
            }
        )
    return {"rows": rows, "unit": "area" if has_area else "pixels", "angles": bool(found.angles)}


def _matrix(found: ComparedMaps) -> dict[str, Any] | None:
    """Change matrix in pixels; changes are the darker the larger they are."""
    matrix = found.comparison.pixels
    if len(matrix) > _WIDEST:
        return None
    rows_used = [place for place in range(len(matrix)) if matrix[place].any()]
    cols_used = [place for place in range(len(matrix)) if matrix[:, place].any()]
    changes = [each for each in found.comparison.changes if not found.comparison.is_undecided(each)]
    largest = max((each.pixels for each in changes), default=1)
    entries = found.comparison.entries
    unlike = {place for place, each in enumerate(entries) if each.unlike}
    unchanged = set(range(len(entries))) - unlike
    names = [*found.names, "no data"]
    colors = [*(_css(each) for each in found.colors), ""]
    n_entries = len(found.names)
    numbers = [*(_number(found, place) for place in range(n_entries)), "no data"]
    numbered = sum(len(names[col]) + _SWATCH for col in cols_used) > _HEAD
    heads = numbers if numbered else names
    rows = []
    for row in rows_used:
        cells = []
        for col in cols_used:
            n, inside = int(matrix[row, col]), row < n_entries and col < n_entries
            changed = inside and row != col and not (row in unlike and col in unlike)
            shade = 0.08 + 0.5 * n / largest if n and changed else 0.0
            cells.append(
                {
                    "text": f"{n:,}" if n else "",
                    "style": f"background:rgba({_SHADE[0]},{_SHADE[1]},{_SHADE[2]},{shade:.2f})"
                    if shade
                    else "",
                    "same": row == col and row in unchanged,
                }
            )
        total = f"{int(matrix[row].sum()):,}"
        name, number = names[row], numbers[row]
        if numbered and row in unchanged and name not in (f"cluster {number}", f"class {number}"):
            name = f"{number}: {name}"
        rows.append({"name": name, "color": colors[row], "cells": cells, "total": total})
    totals = [f"{int(matrix[:, col].sum()):,}" for col in cols_used]
    return {
        "columns": [
            {"name": heads[col], "title": names[col], "color": colors[col]} for col in cols_used
        ],
        "numbered": numbered,
        "rows": rows,
        "totals": [*totals, f"{int(matrix.sum()):,}"],
    }


def _number(found: ComparedMaps, place: int) -> str:
    """Short head of a column of the matrix: the number of the cluster."""
    entry = found.comparison.entries[place]
    if entry.unlike:
        return found.names[place]
    return str(entry.before) if entry.before is not None else f"{entry.after} of B"


def _has_spectra(found: ComparedMaps) -> bool:
    return found.before.spectra is not None and found.after.spectra is not None


def _spectra_chart(found: ComparedMaps) -> str:
    """Mean spectra of both maps in the colours of the legend: A solid, B dashed."""
    sides = (
        ([each.before for each in found.comparison.entries], found.before.spectra, "-", "A"),
        ([each.after for each in found.comparison.entries], found.after.spectra, "--", "B"),
    )

    def draw(ax: Axes) -> None:
        for numbers, spectra, style, side in sides:
            assert spectra is not None
            for place, number in enumerate(numbers):
                if number is not None and 1 <= number <= len(spectra.means):
                    _draw_mean(ax, spectra, number, found.colors[place] / 255, style, place, side)
        by_wavelength = sides[0][1] is not None and sides[0][1].wavelengths is not None
        ax.set_xlabel("wavelength (nm)" if by_wavelength else "band number", fontsize=9)
        ax.set_ylabel("value in the cube", fontsize=9)
        ax.set_title("A solid, B dashed", fontsize=10)
        ax.tick_params(labelsize=8)
        ax.margins(x=0.01)

    return svg_chart(draw, "spectra", (11.0, 3.9))


def _draw_mean(
    ax: Axes,
    spectra: StoredSpectra,
    number: int,
    color: NDArray[np.floating],
    style: str,
    place: int,
    side: str,
) -> None:
    x = np.asarray(
        spectra.band_numbers if spectra.wavelengths is None else spectra.wavelengths, np.float64
    )
    mean = spectra.means[number - 1]
    for part, run in enumerate(unbroken_runs(x)):
        lines = ax.plot(x[run], mean[run], style, color=color, lw=1.3)
        lines[0].set_gid(f"spectrum-{place + 1}-{side}-{part}")


def _made(found: ComparedMaps, record: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for side in ("A", "B"):
        entry = record["inputs"][side]
        rows += [(side, f"{each['path']}, sha256 {each['sha256']}") for each in entry["files"]] or [
            (side, entry["path"])
        ]
    return {"rows": rows, "record": record_json(dict(record)).decode("ascii")}


def _css(color: NDArray[np.integer]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color.tolist())


def _sentence(words: str) -> Markup:
    """Make a sentence of the page; what is between backticks is a command."""
    from markupsafe import Markup, escape

    whole = f"{words[:1].upper()}{words[1:].removesuffix('.')}."
    parts = [
        f"<code>{escape(part)}</code>" if place % 2 else str(escape(part))
        for place, part in enumerate(whole.split("`"))
    ]
    return Markup("".join(parts))  # every part is escaped
