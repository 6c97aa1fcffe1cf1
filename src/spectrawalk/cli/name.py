"""``spectrawalk name``: what the clusters of a run may be, from spectral libraries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, say, watch
from spectrawalk.cli.naming import naming_options
from spectrawalk.cli.options import FileName
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.run import Run, record_in
from spectrawalk.errors import FileError, ParameterError
from spectrawalk.report.file_names import (
    ENVI,
    MODEL,
    NAMES,
    NAMES_PAGE,
    OVERVIEW,
    RECORD,
    REPORT,
    SPECTRA,
    WHAT,
)
from spectrawalk.results.captions import count

if TYPE_CHECKING:
    from rich.console import Console

    from spectrawalk.report.names_page import NamedClusters
    from spectrawalk.results.identification import SpectralLibrary

_EXAMPLES = """\b
Examples:
  spectrawalk cluster field.hdr -o field-map
  spectrawalk name field-map --library splib07.sli
  spectrawalk name field-map --library splib07.sli --library own.csv --accept
"""


@click.command(short_help="Find names for the clusters in spectral libraries.", epilog=_EXAMPLES)
@click.argument("results", metavar="RESULTS", type=click.Path(path_type=Path))
@click.argument("source", metavar="[SCENE]", type=FileName(), required=False)
@click.option(
    "--library",
    "libraries",
    metavar="FILE",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="Spectral library: ENVI (.sli), text of USGS or ECOSTRESS, CSV, endmembers in a MATLAB "
    "file, or a folder of them. It can be given several times.",
)
@click.option(
    "--angle",
    "limit",
    type=click.FloatRange(0, 1.5708, min_open=True),
    metavar="RADIANS",
    help="Limit of the spectral angle, in radians. By default, of each cluster, the angle of its "
    "mean spectrum within which 95 % of its pixels are.",
)
@click.option(
    "--accept",
    is_flag=True,
    help="Give each cluster the name of the nearest library spectrum within its limit, in the "
    "legend, the attribute table and the report.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@quiet_option(json=True)
@click.pass_context
def name(
    context: click.Context,
    results: Path,
    source: str | None,
    libraries: tuple[Path, ...],
    limit: float | None,
    accept: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare the mean spectra of the clusters in RESULTS with spectral libraries.

    The five nearest library spectra of each cluster, by spectral angle, are written to RESULTS as a
    table and a page with plots. The library is resampled to the bands of the scene. A cluster whose
    nearest library spectrum is farther than the limit has no good match. --accept reads the scene
    again; SCENE says where it is, if it moved.
    """
    with naming_options(context.command):
        record = record_in(results, predicted=True)
        with output_folder(results, (), overwrite=True):
            _name(results, record, source, libraries, limit, accept, quiet=quiet, as_json=as_json)


def _name(
    results: Path,
    record: dict[str, Any],
    source: str | None,
    paths: Sequence[Path],
    limit: float | None,
    accept: bool,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    from spectrawalk.io.spectral_library import read_library

    if accept and record.get("command") == "predict":
        raise FileError(
            f"'{results}' holds labels of another scene's model, whose legend is not kept here; "
            "name the clusters where the model was fitted, or give no --accept."
        )
    if source is not None and not accept:
        raise ParameterError(f"SCENE ('{source}') is needed with --accept only; leave it out.")
    with watch("reading", quiet=quiet):
        libraries = [library for path in paths for library in read_library(path)]
    with watch("names", quiet=quiet):
        clusters = _compared(results, record, libraries, limit)
    console = results_console(quiet=quiet or as_json)
    _tell(console, clusters, libraries, limit)
    with watch("writing", quiet=quiet):
        files = _files(clusters, libraries, limit)
        if accept:
            told = _accept(results, record, source, clusters, paths, files, limit, quiet=quiet)
        else:
            told = _write(results, files)
    if as_json:
        click.echo(json.dumps(_as_json(clusters, libraries), indent=1))
        return
    say(console)
    for line in told:
        console.print(line, soft_wrap=True)


def _compared(
    results: Path,
    record: dict[str, Any],
    libraries: Sequence[SpectralLibrary],
    limit: float | None,
) -> NamedClusters:
    """Compare the clusters' mean spectra with the libraries."""
    import numpy as np

    from spectrawalk.io.cluster_spectra import read_cluster_spectra
    from spectrawalk.io.envi_header import Header
    from spectrawalk.report.names_page import NamedClusters
    from spectrawalk.results.identification import LEAST_LIMIT, identify_spectra
    from spectrawalk.results.palette import cluster_colors

    stored = read_cluster_spectra(results / f"{SPECTRA}.csv", results / f"{SPECTRA}.hdr")
    n = len(stored.means)
    spread = record.get("result", {}).get("spread")
    if limit is not None:
        limits = np.full(n, limit)
    elif isinstance(spread, list) and len(spread) == n:
        limits = np.array([np.nan if each is None else each for each in spread], np.float64)
        limits = np.maximum(limits, LEAST_LIMIT)
    else:
        raise FileError(
            f"the {RECORD} in '{results}' does not hold the spread of the clusters, because an "
            "earlier version wrote it; cluster the scene again, or give the limit with --angle, "
            "such as --angle 0.1."
        )
    found = identify_spectra(
        stored.means,
        libraries,
        stored.wavelengths,
        fwhm=stored.fwhm,
        limit=limits,
        band_numbers=stored.band_numbers,
    )
    colors = cluster_colors(n)
    header = results / f"{ENVI}.hdr"
    if header.is_file():
        given = np.array(Header(header).items("class lookup"), dtype=np.int64).reshape(-1, 3)
        if len(given) > n:
            colors = given[1 : n + 1].astype(np.uint8)  # the first is of no data
    x = stored.band_numbers.astype(float) if stored.wavelengths is None else stored.wavelengths
    return NamedClusters(
        scene=record.get("image", {}).get("name") or results.name,
        means=stored.means,
        x=x,
        has_wavelengths=stored.wavelengths is not None,
        names=stored.names,
        colors=colors,
        found=found,
    )


def _tell(
    console: Console,
    clusters: NamedClusters,
    libraries: Sequence[SpectralLibrary],
    limit: float | None,
) -> None:
    """Print the nearest library spectrum of each cluster."""
    from rich.table import Table

    from spectrawalk.report.names_page import match_in_words, rule_in_words

    for library in libraries:
        for remark in library.remarks:
            say(console, remark)
    say(console, _compared_in_words(clusters, libraries))
    table = Table()
    for title in ("cluster", "nearest library spectrum", "angle", "limit", "match"):
        table.add_column(title, justify="right" if title in ("angle", "limit") else "left")
    for number, found in enumerate(clusters.found):
        if not found.matches:
            table.add_row(clusters.title(number)[8:], "-", "-", "-", match_in_words(found))
            continue
        best = found.matches[0]
        table.add_row(
            clusters.title(number)[8:],
            best.name,
            f"{best.angle:.3f}",
            f"{found.limit:.3f}",
            match_in_words(found),
        )
    console.print(table)
    say(console, rule_in_words(limit is not None)[1])


def _compared_in_words(clusters: NamedClusters, libraries: Sequence[SpectralLibrary]) -> str:
    """Say how many library spectra were compared, and on how many bands."""
    total = sum(len(library.names) for library in libraries)
    used = max((found.n_compared for found in clusters.found), default=0)
    told = f"compared with {used:,} library spectra"
    if used < total:
        told = f"compared with {used:,} of {total:,} library spectra; the others lack bands"
    n_bands = clusters.means.shape[1]
    common = max((match.n_bands for found in clusters.found for match in found.matches), default=0)
    return told + (f"; only {common} of {n_bands} bands are in common" if common < n_bands else "")


def _files(
    clusters: NamedClusters, libraries: Sequence[SpectralLibrary], limit: float | None
) -> dict[str, bytes]:
    """Make the table and, where figures can be drawn, the page."""
    from spectrawalk.errors import MissingDependencyError
    from spectrawalk.report.names_page import names_csv, names_html, rule_in_words

    files = {NAMES: names_csv(clusters)}
    names = list(dict.fromkeys(library.name for library in libraries))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    spectra = sum(len(library.names) for library in libraries)
    subtitle = f"{spectra:,} library spectra of {shown}"
    try:
        files[NAMES_PAGE] = names_html(clusters, subtitle, rule_in_words(limit is not None))
    except MissingDependencyError as error:
        click.echo(f"{NAMES_PAGE} was not written: {error}", err=True)
    return files


def _write(results: Path, files: dict[str, bytes]) -> list[str]:
    from spectrawalk.io.atomic import atomic_set

    with atomic_set(results, remove=(NAMES, NAMES_PAGE)) as file:
        for each, content in files.items():
            file(each).write_bytes(content)
    return [f"{results / each}  {WHAT[each]}" for each in files]


def _accept(
    results: Path,
    record: dict[str, Any],
    source: str | None,
    clusters: NamedClusters,
    paths: Sequence[Path],
    files: dict[str, bytes],
    limit: float | None,
    *,
    quiet: bool,
) -> list[str]:
    """Write the names into the legend and all that shows it; give what is to be printed."""
    names = accepted_names(clusters)
    if not names:
        return [*_write(results, files), "no cluster has a good match, so no name was changed"]
    from spectrawalk.io.run_record import WITH_STEPS, file_entry

    told = {
        "libraries": [file_entry(path) for path in paths if path.is_file()],
        "angle": limit,
        "clusters": {str(cluster + 1): each for cluster, each in names.items()},
    }
    if record.get("tiles") and record["method"] == "SpectraWalk":
        lines = _accept_in_tiles(results, record | {"names": told}, names, files)
        where = "the legend and the attribute table"
    else:
        run = Run.from_record(results / RECORD, source)
        result, steps = _renamed(results, run, names, quiet=quiet)
        from spectrawalk.report.run_folder import write_results

        kept = [each for each in (OVERVIEW, REPORT) if (results / each).is_file()]
        if (results / MODEL).is_file():
            files = files | {MODEL: (results / MODEL).read_bytes()}  # names do not change it
        changed = {**record, "format": WITH_STEPS, "steps": steps, "names": told}
        _, remarks = write_results(results, result, changed, kept, files)
        lines = [each for each in remarks if "geometry of the sensor" not in each]
        where = "the legend, the attribute table and the report"
    total = len(clusters.found)
    return [f"{len(names)} of {count(total, 'cluster')} named in {where} in {results}", *lines]


def _as_json(clusters: NamedClusters, libraries: Sequence[SpectralLibrary]) -> dict[str, Any]:
    """What was found, for other programs."""
    return {
        "libraries": [
            {"name": each.name, "spectra": len(each.names), "remarks": list(each.remarks)}
            for each in libraries
        ],
        "clusters": [
            {
                "cluster": number,
                "name": found.name,
                "limit": found.limit if found.matches else None,  # JSON knows no NaN
                "within_limit": found.n_within,
                "compared": found.n_compared,
                "nearest": [
                    {
                        "name": match.name,
                        "library": match.library,
                        "angle": match.angle,
                        "feature_difference": match.feature_difference,
                        "bands": match.n_bands,
                    }
                    for match in found.matches
                ],
            }
            for number, found in enumerate(clusters.found, start=1)
        ],
    }


def accepted_names(clusters: NamedClusters) -> dict[int, str]:
    """Name of each cluster that has a good match; a name that several would get is numbered."""
    from spectrawalk.explore.checks import LONGEST_NAME

    found = {
        cluster: "".join(each for each in best.name if each.isprintable())
        for cluster, best in enumerate(clusters.found)
        if best.name
    }
    times = Counter(found.values())
    return {
        cluster: name[: LONGEST_NAME - 8] + (f" ({cluster + 1})" if times[name] > 1 else "")
        for cluster, name in found.items()
    }


def _renamed(
    results: Path, run: Run, names: dict[int, str], *, quiet: bool
) -> tuple[Any, list[dict[str, Any]]]:
    """Result of a run with other names, and the steps that lead to it."""
    from spectrawalk.explore.edited import edited_result
    from spectrawalk.explore.steps import replay

    with watch("reading", quiet=quiet):
        scene, _ = run.load()
    model = run.fitted(results, scene, quiet=quiet)
    ids = replay(model, run.steps).ids
    renamed = [{"op": "name", "cluster": ids[at], "name": each} for at, each in names.items()]
    steps = [*run.steps, *renamed]
    return edited_result(scene, model, steps), steps


def _accept_in_tiles(
    results: Path, record: dict[str, Any], names: dict[int, str], files: dict[str, bytes]
) -> list[str]:
    """Write the names into the legend of a run in tiles, whose scene is not read again."""
    from spectrawalk.report.file_names import LEAF_TABLE
    from spectrawalk.results.cluster_map import Legend
    from spectrawalk.results.palette import cluster_colors
    from spectrawalk.scale.found import Found
    from spectrawalk.scale.outputs import write_legend

    if not (results / LEAF_TABLE).is_file():
        raise FileError(
            f"'{results}' has no {LEAF_TABLE}, which the legend is made of; accept the names in "
            "the folder of the run itself."
        )
    found = Found.read(results / LEAF_TABLE, record["parameters"])
    k = record["result"]["n_clusters"]
    usual = [names.get(cluster, f"cluster {cluster + 1}") for cluster in range(k)]
    result = found.result(k, legend=Legend(tuple(usual), cluster_colors(k)))
    return write_legend(results, result, record, files)
