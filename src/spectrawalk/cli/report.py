"""What the commands print about a scene and its clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrawalk.captions import count
from spectrawalk.cli.console import StageClock, say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from spectrawalk import Scene, Scores

_CLEAR = 1.5  # a drop this many times the next one speaks for itself
_WHY_MASKED = {
    "masked_not_finite": "NaN or infinite",
    "masked_nodata": "of the value for no data",
    "masked_all_zero": "zero in every band",
}
_MANY_CONSTANT = 0.01  # of the pixels: so many are hardly chance
_NEARLY_ALL = 0.9  # of the pixels in one cluster
_VERY_FEW = 5  # pixels in a cluster


def describe_scene(console: Console, scene: Scene) -> None:
    """Print the size of the image and what is masked in it."""
    rows, cols = scene.shape
    say(
        console,
        f"{scene.name}: {rows} x {cols} pixels, {count(scene.n_bands, 'band')}, "
        f"{count(scene.n_valid, 'pixel')} to cluster",
    )
    masked = scene.mask.size - scene.n_valid
    if masked:
        reasons = [
            f"{scene.metadata[key]:,} {words}"
            for key, words in _WHY_MASKED.items()
            if scene.metadata.get(key)
        ]
        why = f" ({', '.join(reasons)})" if reasons else ""
        verbs = "is masked and gets" if masked == 1 else "are masked and get"
        say(console, f"{count(masked, 'pixel')} {verbs} no label{why}")
    constant = scene.metadata.get("constant_pixels", 0)
    if constant >= _MANY_CONSTANT * scene.mask.size:
        value = f"{scene.metadata['constant_value']:g}"
        say(
            console,
            f"{count(constant, 'pixel')} {'is' if constant == 1 else 'are'} {value} in every "
            f"band; if that means no data, give --nodata {value}",
        )


def describe_clusters(
    console: Console, scene: Scene, model: Any, scores: Scores | None = None
) -> None:
    """Print a table of the clusters, and how their number was found."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    from spectrawalk.palette import cluster_colors

    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
    table = Table()
    table.add_column("cluster", justify="right")
    table.add_column("colour", no_wrap=True)
    table.add_column("pixels", justify="right")
    table.add_column("share", justify="right")
    if scores is not None:
        table.add_column("matched with")
    for cluster, color in enumerate(cluster_colors(model.n_clusters_).tolist()):
        name = "#{:02x}{:02x}{:02x}".format(*color)
        in_color = console.color_system is not None and not console.no_color
        row: list[str | Text] = [
            str(cluster + 1),
            Text.assemble(("  ", f"on {name}"), " ", name) if in_color else name,
            f"{sizes[cluster]:,}",
            f"{sizes[cluster] / sizes.sum():.1%}",
        ]
        if scores is not None:
            row.append(_class_name(scene, scores.matching.get(cluster)))
        table.add_row(*row)
    console.print(table)
    if model.n_clusters == "auto":
        curve = np.sort(model.mode_score_[np.isfinite(model.mode_score_)])[::-1]
        say(console, explain_number(curve, model.n_clusters_, model.max_clusters))


def describe_doubts(console: Console, model: Any) -> None:
    """Print what about a result is worth a second look."""
    for remark in find_doubts(model):
        say(console, remark)


def find_doubts(model: Any) -> list[str]:
    """Sentences about what may be amiss with a result, and what to try."""
    import numpy as np

    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
    advice = f"try another {'--neighbors' if model.radius is None else '--radius'} or -k"
    doubts = []
    if len(sizes) > 1 and sizes.max() > _NEARLY_ALL * sizes.sum():
        share = f"{sizes.max() / sizes.sum():.1%}"
        doubts.append(f"cluster {sizes.argmax() + 1} holds {share} of the pixels: {advice}")
    tiny = int(np.count_nonzero(sizes < _VERY_FEW))
    if tiny:
        verb = "has" if tiny == 1 else "have"
        doubts.append(f"{count(tiny, 'cluster')} {verb} fewer than {_VERY_FEW} pixels: {advice}")
    if model.n_components_ > 1 and model.components == "bridge":
        doubts.append(
            f"the graph fell into {model.n_components_:,} parts, which were joined by their best "
            "matches"
        )
    if not model.exact_density_:
        doubts.append(
            "the density comes from a limited search, as the scene is large; labels hardly change"
        )
    return doubts


def _class_name(scene: Scene, matched: int | None) -> str:
    if matched is None:
        return "-"
    return scene.class_names.get(matched, f"class {matched}")


def explain_number(curve: NDArray[np.float64], n_clusters: int, max_clusters: int) -> str:
    """Say how clear the choice of K was.

    Parameters
    ----------
    curve : ndarray
        D_t from the largest down.
    n_clusters : int
        K as it was chosen.
    max_clusters : int
        Upper end of the search.
    """
    curve = curve[curve > 0]
    drops = {
        K: float(curve[K - 1] / curve[K]) for K in range(2, min(max_clusters, len(curve) - 1) + 1)
    }
    chosen = f"the number of clusters was chosen: {n_clusters}"
    if n_clusters not in drops:
        return f"{chosen}, as many as can be told apart"
    best = drops.pop(n_clusters)
    told = f"{chosen}, the largest drop of D_t from K = 2 to {max_clusters}: {best:.2f}-fold"
    if not drops:
        return told
    runner_up = max(drops, key=lambda K: drops[K])
    told += f"; the runner-up is {runner_up} with {drops[runner_up]:.2f}-fold"
    if best < _CLEAR * drops[runner_up]:
        told += f": not a clear choice, so look at -k {runner_up} too"
    return told


def describe_scores(console: Console, scores: Scores) -> None:
    """Print the agreement with the ground truth."""
    say(
        console,
        f"against the ground truth of {scores.n_pixels:,} pixels: OA {scores.oa:.3f}, "
        f"AA {scores.aa:.3f}, kappa {scores.kappa:.3f}, NMI {scores.nmi:.3f}, "
        f"ARI {scores.ari:.3f}, purity {scores.purity:.3f}",
    )


def describe_time(console: Console, clocks: Mapping[str, StageClock]) -> None:
    """Print the time of each stage of each method."""
    for method, clock in clocks.items():
        stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in clock.seconds.items())
        compiled = "; this run compiled the kernels, later ones need not" * clock.compiled
        say(console, f"time of {method}: {clock.total:.1f} s ({stages}{compiled})")


def describe_files(
    console: Console, written: Sequence[tuple[Path, str]], remarks: Sequence[str]
) -> None:
    """Print what was written where."""
    width = max(len(str(path)) for path, _ in written)
    for path, what in written:
        # Never wrapped here, so that a path can be copied whole.
        console.print(f"{path!s:<{width}}  {what}", soft_wrap=True)
    for remark in remarks:
        say(console, remark)


def compare_with_paper(
    console: Console,
    measured: Mapping[str, Scores],
    paper: Mapping[str, tuple[float, float, float]],
) -> None:
    """Print OA, AA and kappa of each method beside the paper's."""
    from rich.table import Table

    table = Table()
    table.add_column("method")
    for name in ("OA", "AA", "kappa"):
        table.add_column(name, justify="right")
        table.add_column("paper", justify="right", style="dim")
    for method, scores in measured.items():
        found = (scores.oa, scores.aa, scores.kappa)
        row = [method]
        for ours, theirs in zip(found, paper[method], strict=True):
            row += [f"{ours:.3f}", f"{theirs:.2f}"]
        table.add_row(*row)
    console.print(table)
