"""What the commands print about a scene and its clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrawalk.cli.console import StageClock, say
from spectrawalk.results.captions import areas as in_words
from spectrawalk.results.captions import count, masked_pixels

if TYPE_CHECKING:
    from rich.console import Console

    from spectrawalk import Scene, Scores
    from spectrawalk.paper.published import Accuracy
    from spectrawalk.results.result import Result

_MANY_CONSTANT = 0.01  # of the pixels: so many are hardly chance


def describe_scene(console: Console, scene: Scene, purpose: str = "cluster") -> None:
    """Print the size of the image, what is masked in it and which bands are left out."""
    rows, cols = scene.shape
    steps = (scene.metadata.get("preparation") or {}).get("steps", [])
    say(
        console,
        f"{scene.name}: {count(rows, 'row')} x {count(cols, 'column')}, "
        f"{count(scene.n_bands, 'band')}, {count(scene.n_valid, 'pixel')} to {purpose}",
    )
    masked = scene.mask.size - scene.n_valid
    if masked:
        reasons = [f"{n:,} {why}" for why, n in masked_pixels(scene)]
        why = f" ({', '.join(reasons)})" if reasons else ""
        verbs = "is masked and gets" if masked == 1 else "are masked and get"
        say(console, f"{count(masked, 'pixel')} {verbs} no label{why}")
    for step in steps:
        if step["dropped_bands"]:
            dropped = len(step["dropped_bands"])
            verb = "is" if dropped == 1 else "are"
            say(console, f"{count(dropped, 'band')} {verb} excluded: {step['reason']}")
    constant = scene.metadata.get("constant_pixels", 0)
    if constant >= _MANY_CONSTANT * scene.mask.size:
        value = f"{scene.metadata['constant_value']:g}"
        say(
            console,
            f"{count(constant, 'pixel')} {'is' if constant == 1 else 'are'} {value} in every "
            f"band; if that means no data, give --nodata {value}",
        )


def forecast(scene: Scene, estimator: Any) -> dict[str, float]:
    """Memory in bytes and time in seconds that a fit is likely to need."""
    from spectrawalk.estimators import forecast

    memory, seconds = estimator.forecast(scene.n_valid, scene.n_bands)
    here = forecast.PROGRAM + scene.cube.nbytes  # held before the fit
    return {
        "memory_bytes": here + memory,
        "available_bytes": here + forecast.available_memory(),
        "seconds": seconds,
    }


def describe_forecast(console: Console, expected: Mapping[str, float]) -> None:
    """Print what a fit is likely to need."""
    memory, available = (expected[key] / 2**30 for key in ("memory_bytes", "available_bytes"))
    say(
        console,
        f"a run needs about {memory:.1f} GiB of memory ({available:.1f} GiB available) and "
        f"{duration(expected['seconds'])} on two cores",
    )


def duration(seconds: float) -> str:
    """Seconds in a unit that people read."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def describe_clusters(console: Console, result: Result, *, certainty: bool = True) -> None:
    """Print a table of the clusters: colours, sizes, areas, certainty, and matched classes."""
    from rich.table import Table
    from rich.text import Text

    legend = result.map
    sizes = [*result.sizes.tolist(), *[int(result.unlike.sum())] * legend.has_unlike]
    area_of = None if legend.areas is None else in_words(legend.areas)
    matched = None if result.scores is None else [*result.matched_classes, None]
    table = Table()
    table.add_column("cluster", justify="right")
    table.add_column("colour", no_wrap=True)
    table.add_column("pixels", justify="right")
    table.add_column("share", justify="right")
    if area_of is not None:
        table.add_column("area", justify="right")
    if certainty:
        table.add_column(f"mean {result.certainty.name}", justify="right")
    if matched is not None:
        table.add_column("matched with")
    for entry, color in enumerate(legend.colors.tolist()):
        name = "#{:02x}{:02x}{:02x}".format(*color)
        in_color = console.color_system is not None and not console.no_color
        row: list[str | Text] = [
            result.entry_name(entry),
            Text.assemble(("  ", f"on {name}"), " ", name) if in_color else name,
            f"{sizes[entry]:,}",
            f"{sizes[entry] / max(1, sum(sizes)):.1%}",
        ]
        if area_of is not None:
            row.append(area_of[entry])
        if certainty:
            known = entry < result.n_clusters
            row.append(f"{result.mean_certainty[entry]:.2f}" if known else "-")
        if matched is not None:
            row.append(matched[entry] or "-")
        table.add_row(*row)
    console.print(table)


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
        compiled = "; this first run also compiled the kernels" * clock.compiled
        details = f" ({stages}{compiled})" if stages else ""  # a cut has no stages
        say(console, f"time of {method}: {clock.total:.1f} s{details}")


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
    console: Console, measured: Mapping[str, Scores], paper: Mapping[str, Accuracy]
) -> None:
    """Print OA, AA and kappa of each method beside the paper's, if it has the method."""
    from rich.table import Table

    table = Table()
    table.add_column("method")
    for name in ("OA", "AA", "kappa"):
        table.add_column(name, justify="right")
        table.add_column("paper", justify="right", style="dim")
    for method, scores in measured.items():
        found = (scores.oa, scores.aa, scores.kappa)
        row = [method]
        for place, ours in enumerate(found):
            row += [f"{ours:.3f}", f"{paper[method][place]:.2f}" if method in paper else "-"]
        table.add_row(*row)
    console.print(table)
