"""What the clusters of a run may be: the table and the page of their nearest library spectra."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.report.charts import svg_chart
from spectrawalk.report.page import POLICY, asset, page_template
from spectrawalk.report.spectra_plot import unbroken_runs
from spectrawalk.results.captions import count
from spectrawalk.results.identification import Identification, Match, remove_continuum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LIBRARY = "#8a949b"
_OTHERS = "#c9d0d5"


class NamedClusters(NamedTuple):
    """The clusters of a run, and what they may be."""

    scene: str
    means: NDArray[np.float64]
    """Mean spectra, shape (clusters, bands)."""
    x: NDArray[np.float64]
    """Wavelengths in nanometres, or numbers of the bands; shape (bands,)."""
    has_wavelengths: bool
    names: Sequence[str]
    colors: NDArray[np.uint8]
    found: Sequence[Identification]

    def title(self, cluster: int) -> str:
        """Number of a cluster, and its name if it has one."""
        usual = f"cluster {cluster + 1}"
        name = self.names[cluster]
        return f"Cluster {cluster + 1}" if name == usual else f"Cluster {cluster + 1}, {name}"


def verdict(found: Identification) -> str:
    """What a cluster may be, in a few words.

    Examples
    --------
    >>> verdict(Identification((), 0.1, 0, 0))
    'no pixels'
    """
    if not found.matches:
        return "no pixels" if not found.n_compared else "no library spectrum has enough bands"
    if found.name is None:
        return "no good match"
    others = found.n_within - 1
    return found.name + (f", or one of {count(others, 'other')} within the limit" if others else "")


def match_in_words(found: Identification) -> str:
    """How good the nearest library spectrum is, for a table.

    Examples
    --------
    >>> match_in_words(Identification((), 0.1, 0, 0))
    'no pixels'
    """
    if not found.matches:
        return "no pixels"
    if not found.n_within:
        return "no good match"
    return "good" if found.n_within == 1 else f"possible, 1 of {found.n_within:,}"


def rule_in_words(limit_given: bool) -> list[str]:
    """Say when a match is good."""
    limit = (
        "the angle that was given"
        if limit_given
        else "95 % of the cluster's pixels are within this angle of its mean spectrum"
    )
    return [
        "Angle: spectral angle in radians between the mean spectrum of the cluster and the library "
        "spectrum, on the bands that both have.",
        f"Limit: {limit}. A match is good if one library spectrum alone is within the limit, and "
        "possible if several are; then the plots show which features fit.",
        "Difference of features: root mean square difference of the two curves after continuum "
        "removal, 0 if they are the same.",
    ]


def names_csv(clusters: NamedClusters) -> bytes:
    """Encode the nearest library spectra of each cluster, one line for each.

    Examples
    --------
    >>> match = Match("leaf", "field.csv", 0.021, 0.005, 10, np.ones(10))
    >>> one = Identification((match,), 0.05, 1, 2)
    >>> red = np.array([[255, 0, 0]], np.uint8)
    >>> x, names = np.arange(10.0), ["cluster 1"]
    >>> shown = NamedClusters("field", np.ones((1, 10)), x, False, names, red, [one])
    >>> print(names_csv(shown).decode(), end="")
    cluster,rank,library_spectrum,library,angle,limit,within_limit,feature_difference,bands
    1,1,leaf,field.csv,0.021,0.05,yes,0.005,10
    """
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        ["cluster", "rank", "library_spectrum", "library", "angle", "limit", "within_limit",
         "feature_difference", "bands"]
    )  # fmt: skip
    for cluster, found in enumerate(clusters.found, start=1):
        for rank, match in enumerate(found.matches, start=1):
            good = "yes" if match.angle <= found.limit else "no"
            table.writerow(
                [cluster, rank, match.name, match.library, round(match.angle, 5),
                 round(found.limit, 5), good, round(match.feature_difference, 5), match.n_bands]
            )  # fmt: skip
    return text.getvalue().encode()


def names_html(clusters: NamedClusters, subtitle: str, rule: Sequence[str]) -> bytes:
    """Write the page: tables, and plots of each cluster with its nearest library spectra."""
    from markupsafe import Markup

    shown = [_cluster(clusters, cluster) for cluster in range(len(clusters.found))]
    page = page_template("names_page.html.j2").render(
        policy=POLICY,
        title=f"{clusters.scene}: names for {count(len(shown), 'cluster')}",
        subtitle=subtitle,
        style=Markup(asset("style.css")),
        clusters=shown,
        rule=rule,
    )
    return page.encode("utf-8", errors="replace")


def _cluster(clusters: NamedClusters, cluster: int) -> dict[str, Any]:
    from markupsafe import Markup

    found = clusters.found[cluster]
    nearest = found.matches[0] if found.matches else None
    return {
        "title": clusters.title(cluster),
        "color": "#{:02x}{:02x}{:02x}".format(*clusters.colors[cluster].tolist()),
        "verdict": verdict(found),
        "nearest": nearest.name if nearest else "–",  # noqa: RUF001
        "angle": f"{nearest.angle:.3f}" if nearest else "",
        "limit": f"{found.limit:.3f}" if nearest else "",
        "match": match_in_words(found),
        "chart": Markup(_chart(clusters, cluster)) if nearest else "",
        "rows": [
            (
                match.name,
                match.library,
                f"{match.angle:.3f}",
                "yes" if match.angle <= found.limit else "no",
                f"{match.feature_difference:.3f}",
                match.n_bands,
            )
            for match in found.matches
        ],
    }


def _chart(clusters: NamedClusters, cluster: int) -> str:
    """Both curves, and both after continuum removal."""
    order = np.argsort(clusters.x, kind="stable")
    x, mean = clusters.x[order], clusters.means[cluster, order]
    matches = clusters.found[cluster].matches
    color = clusters.colors[cluster] / 255
    mark = clusters.title(cluster)

    def draw(ax: Axes) -> None:
        figure = ax.figure
        ax.remove()
        left, right = figure.subplots(1, 2)
        for match in matches[:0:-1]:
            _curves(left, right, x, mean, match, order, color=_OTHERS, lw=0.8)
        _curves(left, right, x, mean, matches[0], order, color=_LIBRARY, lw=1.8, ls="--",
                label=matches[0].name)  # fmt: skip
        both = np.isfinite(matches[0].spectrum[order])
        _line(left, x, mean, color=color, lw=1.8, label=mark)
        _line(right, x[both], remove_continuum(mean[both], x[both]), color=color, lw=1.8)
        left.plot([], [], color=_OTHERS, lw=0.8, label="next nearest")
        left.set_title("Mean spectrum and library, scaled to it", fontsize=10)
        right.set_title("After continuum removal", fontsize=10)
        left.set_ylabel("value in the cube", fontsize=9)
        left.legend(fontsize=8, frameon=False)
        for each in (left, right):
            each.set_xlabel(
                "wavelength (nm)" if clusters.has_wavelengths else "band number", fontsize=9
            )
            each.tick_params(labelsize=8)
            each.margins(x=0.01)

    return svg_chart(draw, f"names-{cluster + 1}", (11.0, 3.6))


def _curves(
    left: Axes,
    right: Axes,
    x: NDArray[np.float64],
    mean: NDArray[np.float64],
    match: Match,
    order: NDArray[np.intp],
    **style: Any,
) -> None:
    """Draw a library spectrum, scaled to the mean, and after continuum removal."""
    other = match.spectrum[order]
    both = np.isfinite(other)
    factor = (mean[both] @ other[both]) / (other[both] @ other[both])
    _line(left, x, other * factor, **style)
    style.pop("label", None)
    _line(right, x[both], remove_continuum(other[both], x[both]), **style)


def _line(ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64], **style: Any) -> None:
    """Draw a curve, with a gap where bands were removed."""
    for run in unbroken_runs(x):
        ax.plot(x[run], y[run], **style)
        style.pop("label", None)
