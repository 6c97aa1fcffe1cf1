"""One run of ``cluster`` in tiles: scenes larger than memory, or several scenes with one legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import StageClock, results_console, say, watch
from spectrawalk.cli.outputs import output_folder
from spectrawalk.cli.scene_request import SceneRequest
from spectrawalk.errors import FileError, MemoryShortageError, ParameterError
from spectrawalk.report.file_names import RECORD
from spectrawalk.results.captions import count

if TYPE_CHECKING:
    from spectrawalk.consensus.tree import ClusterTree
    from spectrawalk.estimators.forecast import Forecast
    from spectrawalk.results.cluster_map import Legend
    from spectrawalk.scale.engine import Run as Engine
    from spectrawalk.scale.source import Source

_MASK = ".spectrawalk-mask-{}.npy"
"""Mask of a scene while a run is under way: workers read their part of it."""


@dataclass(frozen=True)
class TiledRequest:
    """What is to be clustered in tiles, and how.

    Attributes
    ----------
    requests : tuple of SceneRequest
        The scenes; all with the same choice of bands and pixels.
    method : str
        ``"SpectraWalk"`` or ``"SRDL"``, which gives exactly the labels of a run in memory.
    parameters : dict
        Of the estimator.
    size : int
        Side of a tile in pixels.
    scheduler : str
        ``"local"``, ``"none"`` for this process alone, or the address of a Dask scheduler.
    workers : int or None
        Number of local workers.
    chosen : bool
        Whether tiles were chosen because the scene does not fit into memory.
    """

    requests: tuple[SceneRequest, ...]
    method: str
    parameters: dict[str, Any]
    size: int
    scheduler: str = "local"
    workers: int | None = None
    chosen: bool = False

    @classmethod
    def from_record(
        cls,
        record: dict[str, Any],
        request: SceneRequest,
        scheduler: str,
        workers: int | None,
    ) -> TiledRequest:
        """Build the request of an earlier run from its record; `request` is that of its scene."""
        tiles = record["tiles"]
        try:
            requests = tuple(SceneRequest.from_record(scene, RECORD) for scene in tiles["scenes"])
            size = int(tiles["size"])
        except (KeyError, TypeError, ValueError):
            raise FileError(
                f"the {RECORD} of a run in tiles does not state its tiles; give one as it was "
                "written."
            ) from None
        if len(requests) == 1:
            requests = (request,)  # the scene may have moved
        return cls(requests, record["method"], record["parameters"], size, scheduler, workers)

    def carry_out(
        self,
        folder: Path,
        extras: Sequence[str],
        *,
        overwrite: bool,
        quiet: bool,
        as_json: bool,
        force: bool,
    ) -> None:
        """Survey, fit, label, write, print."""
        from spectrawalk.report.file_names import RESULTS

        started = datetime.now(UTC)
        console = results_console(quiet=quiet or as_json)
        folders = self._folders(folder)
        with ExitStack() as stack:
            if len(folders) > 1:
                stack.enter_context(output_folder(folder, (), overwrite=True))
            for each in folders:
                stack.enter_context(output_folder(each, RESULTS, overwrite=overwrite))
            stack.callback(_remove_masks, folder, len(folders))
            clock = stack.enter_context(watch(self.method, quiet=quiet))
            sources, bands, item = self._sources(folder)
            forecast, n_workers = self._forecast(sources, bands, item)
            self._describe(console, sources, bands, forecast, n_workers)
            if not force:
                _check_memory(forecast)
            with self._engine(console) as run:
                if self.method == "SRDL":
                    told = [self._srdl(sources[0], folder, run, started, clock)]
                else:
                    told = self._spectrawalk(
                        sources, folders, extras, run, started, clock, console, overwrite
                    )
            clock.stop()
        for (result, written), where in zip(told, folders, strict=True):
            self._tell(where, result, written, clock, quiet=quiet, as_json=as_json)

    def _spectrawalk(
        self,
        sources: Sequence[Source],
        folders: Sequence[Path],
        extras: Sequence[str],
        run: Engine,
        started: datetime,
        clock: StageClock,
        console: Any,
        restart: bool,
    ) -> list[tuple[Any, Any]]:
        """Cluster with one model for all scenes, and write the results of each."""
        from spectrawalk import SpectraWalk
        from spectrawalk.scale.outputs import write_tiled
        from spectrawalk.scale.run import cluster_in_tiles, found_in

        folder = folders[0] if len(folders) == 1 else folders[0].parent
        settings, estimator = self._settings(), SpectraWalk(**self.parameters)
        found, work = cluster_in_tiles(
            sources, estimator, folder, settings, size=self.size, run=run, overwrite=restart
        )
        if found.resumed:
            total = sum(len(scene.tiles) for scene in found.scenes)
            say(console, f"{found.resumed:,} of {total:,} tiles were finished by an earlier run")
        told = []
        for request, scene, where in zip(self.requests, found.scenes, folders, strict=True):
            in_scene, result = found_in(found, scene)
            record = self._record(request, result, scene.seen, scene.preparation, started, clock)
            written = write_tiled(where, in_scene, result, scene.map_blocks, record, extras)
            told.append((result, written))
        work.remove()
        return told

    def _srdl(
        self, source: Source, folder: Path, run: Engine, started: datetime, clock: StageClock
    ) -> tuple[Any, Any]:
        """Cluster with SRDL, exactly as in memory, and write the results."""
        from spectrawalk import SRDL
        from spectrawalk.io.run_record import outcome
        from spectrawalk.report.run_folder import write_results
        from spectrawalk.scale.run import look, prepared
        from spectrawalk.scale.srdl import fit_srdl, srdl_result
        from spectrawalk.scale.survey import cell_size

        seen = look([source], cell_size([source]), self.size, run)
        pixels, (chosen,), (preparation,) = prepared([source], seen, self._settings())
        model = fit_srdl(SRDL(**self.parameters), chosen, self.size, folder, run)
        result = srdl_result(model, chosen, pixels[0], self.size, run)
        record = self._record(self.requests[0], result, seen[0], preparation, started, clock)
        written, remarks = write_results(folder, result, {**record, "result": outcome(result)}, [])
        return result, (written, remarks)

    def tell_plan(self, folder: Path | None, *, quiet: bool, as_json: bool) -> None:
        """Print what a run would do."""
        console = results_console(quiet=quiet)
        sources, bands, item = self._sources(None)
        forecast, n_workers = self._forecast(sources, bands, item)
        if as_json:
            from spectrawalk.io.run_record import record_json

            plan = {
                "scenes": [request.to_record() for request in self.requests],
                "method": self.method,
                "parameters": self.parameters,
                "tiles": self._tiles_record(),
                "forecast": forecast._asdict(),
            }
            click.echo(record_json(plan), nl=False)
            return
        self._describe(console, sources, bands, forecast, n_workers)
        where = "the folder of -o" if folder is None else f"'{folder}'"
        say(console, f"nothing was written; a run would write to {where}")

    def _folders(self, folder: Path) -> list[Path]:
        """Folder of each scene: the one of -o, or one of its name in it."""
        if len(self.requests) == 1:
            return [folder]
        names: list[str] = []
        for request in self.requests:
            stem = Path(request.source).stem or "scene"
            same = sum(name == stem or name.startswith(f"{stem}-") for name in names)
            names.append(f"{stem}-{same + 1}" if stem in names else stem)
        return [folder / name for name in names]

    def _sources(self, folder: Path | None) -> tuple[list[Source], int, int]:
        """Sources, and the number of bands and the bytes of a value of the first one."""
        from spectrawalk.scale.source import Source, whole_shape

        sources, n_bands, item = [], 0, 1
        for number, request in enumerate(self.requests):
            request.check_source()
            shape, pixel = whole_shape(
                request.source,
                variable=request.variable,
                nodata=request.nodata,
                bands_first=request.bands_first,
            )
            if number == 0:
                n_bands, item = pixel.n_bands, pixel.cube.dtype.itemsize
            corner, part = (0, 0), shape
            if request.crop is not None:
                from spectrawalk.scene.scene import check_window

                rows, cols = check_window(slice(*request.crop[0]), slice(*request.crop[1]), shape)
                corner = rows.start, cols.start
                part = rows.stop - rows.start, cols.stop - cols.start
            path = str(Path(request.source).resolve()) if request.is_file else request.source
            source = Source(
                path, part, corner, request.variable, request.nodata, request.bands_first
            )
            if request.mask_file is not None:
                mask = _read_mask(request.mask_file, pixel, shape)
                if folder is not None:
                    source = replace(source, mask_file=_keep_mask(folder, number, mask, source))
            sources.append(source)
        return sources, n_bands, item

    def _settings(self) -> dict[str, Any]:
        """How bands are chosen."""
        from spectrawalk.scale.survey import PREPARATION

        values = {name: getattr(self.requests[0], name) for name in PREPARATION}
        return values | {"band_ranges": values["band_ranges"] or None}

    def _forecast(self, sources: Sequence[Source], bands: int, item: int) -> tuple[Forecast, int]:
        from spectrawalk import threads
        from spectrawalk.scale.forecast import tiled_forecast

        n_workers = (self.workers or threads.count()) if self.scheduler == "local" else 0
        pixels = sum(source.n_pixels for source in sources)
        return (
            tiled_forecast(pixels, bands, len(sources), self.size, n_workers, item),
            n_workers,
        )

    def _describe(
        self,
        console: Any,
        sources: Sequence[Source],
        bands: int,
        forecast: Forecast,
        n_workers: int,
    ) -> None:
        """Print the scenes, the tiles and the forecast."""
        from spectrawalk.cli.report import duration
        from spectrawalk.scale.tiles import divide

        if self.chosen:
            say(console, "the scene does not fit into memory, so it is clustered in tiles")
        for source in sources:
            rows, cols = source.shape
            tiles = sum(1 for _ in divide(source.shape, self.size))
            say(
                console,
                f"{source.name}: {count(rows, 'row')} x {count(cols, 'column')}, "
                f"{count(bands, 'band')}, in "
                f"{count(tiles, 'tile')} of up to {self.size} x {self.size} pixels",
            )
        if self.scheduler == "local":
            whose = f"{n_workers} worker process{'es' * (n_workers != 1)}"
        elif self.scheduler == "none":
            whose = "this process"
        else:
            whose = f"the workers of '{self.scheduler}'"
        say(
            console,
            f"tiles are labelled by {whose}; the run needs about {forecast.memory / 2**30:.1f} GiB "
            f"of memory in all processes of this machine and {duration(forecast.seconds)}",
        )

    @contextmanager
    def _engine(self, console: Any) -> Iterator[Engine]:
        from spectrawalk.errors import MissingDependencyError
        from spectrawalk.scale.engine import open_cluster, serial

        if self.scheduler == "none":
            yield serial
            return
        with ExitStack() as stack:
            try:
                cluster = stack.enter_context(open_cluster(self.scheduler, self.workers))
            except MissingDependencyError:
                if self.scheduler != "local":
                    raise
                say(
                    console,
                    "Dask is not installed, so one process does all the work; `pip install "
                    '"spectrawalk[scale]"` lets all processors share it',
                )
                yield serial
                return
            if cluster.dashboard:
                say(console, f"dashboard of Dask: {cluster.dashboard}")
            yield cluster.run

    def _tiles_record(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "scheduler": self.scheduler,
            "scenes": [request.to_record() for request in self.requests],
        }

    def _record(
        self,
        request: SceneRequest,
        result: Any,
        seen: Any,
        preparation: dict[str, Any],
        started: datetime,
        clock: StageClock,
    ) -> dict[str, Any]:
        """All that is to be kept of a run, its outcome left out."""
        from spectrawalk.io.run_record import environment, file_entry

        image = result.image
        return environment() | {
            "scene": request.to_record(),
            "image": {
                "name": result.scene.name,
                "rows": image.shape[0],
                "cols": image.shape[1],
                "bands": result.scene.n_bands,
                "valid_pixels": image.n_valid,
                **seen.masked,
                "crs": result.map.crs,
            },
            "preparation": preparation,
            "method": self.method,
            "parameters": result.model.get_params(),
            "tiles": self._tiles_record(),
            "inputs": [file_entry(file) for file in request.files],
            "pixels_sha256": None,
            "times": {
                "started": started.isoformat(timespec="seconds"),
                "seconds": round(clock.total, 3),
                "stages": {stage: round(seconds, 3) for stage, seconds in clock.seconds.items()},
            },
        }

    def _tell(
        self,
        folder: Path,
        result: Any,
        written: tuple[list[tuple[Path, str]], list[str]],
        clock: StageClock,
        *,
        quiet: bool,
        as_json: bool,
    ) -> None:
        from spectrawalk.cli import report

        if as_json:
            click.echo((folder / RECORD).read_text(encoding="ascii"), nl=False)
            return
        console, (files, remarks) = results_console(quiet=quiet), written
        if len(self.requests) > 1:
            say(console)
            say(console, f"{result.scene.name}:")
        say(console, result.settings)
        report.describe_clusters(console, result)
        for remark in (result.choice, *result.doubts):
            if remark:
                say(console, remark)
        report.describe_time(console, {self.method: clock})
        say(console)
        report.describe_files(console, files, remarks)


def cut_tiles(
    results: Path,
    record: dict[str, Any],
    n_clusters: int | str,
    folder: Path,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write the map of another number of clusters from the leaves of a run in tiles."""
    from spectrawalk.cli import report
    from spectrawalk.consensus.levels import supported_number
    from spectrawalk.io.run_record import environment, file_entry
    from spectrawalk.report.file_names import LEAF_TABLE, LEAVES
    from spectrawalk.scale.found import Found
    from spectrawalk.scale.outputs import write_cut

    started = datetime.now(UTC)
    with watch("cut", quiet=quiet) as clock:
        for name in (LEAVES, LEAF_TABLE):
            _check_file(results, record, name)
        found = Found.read(results / LEAF_TABLE, record["parameters"])
        wanted = supported_number(found.tree) if n_clusters == "auto" else int(n_clusters)
        if wanted > len(found.parent):
            raise ParameterError(
                f"n_clusters={wanted} is more than the {len(found.parent)} clusters that the tree "
                "of this image has; ask for fewer."
            )
        names, remark = _kept_names(found.tree, record, wanted)
        result = found.result(wanted, legend=_legend(names, wanted) if names else None)
        kept = {name: record[name] for name in ("scene", "image", "preparation", "method", "tiles")}
        told = (
            environment()
            | kept
            | {
                "parameters": {**record["parameters"], "n_clusters": n_clusters},
                "inputs": record["inputs"],
                "pixels_sha256": None,
                "cut_from": [file_entry(results / name) for name in (LEAVES, LEAF_TABLE)],
                "times": {"started": started.isoformat(timespec="seconds"), "seconds": clock.total},
            }
        )
        if names:
            kept_names = {str(cluster + 1): each for cluster, each in names.items()}
            told["names"] = record["names"] | {"clusters": kept_names}
        files, remarks = write_cut(folder, found, result, results / LEAVES, told)
        remarks = [*([remark] if remark else []), *remarks]
    if as_json:
        click.echo((folder / RECORD).read_text(encoding="ascii"), nl=False)
        return
    console = results_console(quiet=quiet)
    say(console, result.settings)
    report.describe_clusters(console, result, certainty=False)
    say(console, result.choice)
    report.describe_files(console, files, remarks)


def _kept_names(
    tree: ClusterTree, record: dict[str, Any], n_clusters: int
) -> tuple[dict[int, str], str]:
    """Names of the clusters that another cut leaves whole; and how many they are, if not all."""
    from spectrawalk.explore.edited import names_kept

    known = record.get("names")
    named = known.get("clusters") if isinstance(known, dict) else None
    if not isinstance(named, dict):
        return {}, ""
    # The leaves of each cluster: it is whole if they are the same.
    before, after = (tree.ancestors(k) for k in (record["result"]["n_clusters"], n_clusters))
    kept = {
        int(number) - 1: str(name)
        for number, name in named.items()
        if number.isdigit()
        and ((before == int(number) - 1) == (after == int(number) - 1)).all()
        and 1 <= int(number) <= n_clusters
    }
    return kept, names_kept(len(named), len(kept))


def _legend(names: dict[int, str], n_clusters: int) -> Legend:
    from spectrawalk.results.cluster_map import Legend
    from spectrawalk.results.palette import cluster_colors

    each = (names.get(cluster, f"cluster {cluster + 1}") for cluster in range(n_clusters))
    return Legend(tuple(each), cluster_colors(n_clusters))


def _check_file(results: Path, record: dict[str, Any], name: str) -> None:
    """Refuse another file than the run wrote."""
    from spectrawalk.io.run_record import sha256_of

    found = sha256_of(results / name)
    if record.get("outputs", {}).get(name) != found:
        raise FileError(
            f"'{results / name}' is not the file of the run in {RECORD}: its sha256 differs; "
            "cluster the scene again."
        )


def too_large(request: SceneRequest, estimator: Any) -> bool:
    """Whether a scene does not fit into memory and would in tiles; it is not read."""
    from spectrawalk.estimators import forecast
    from spectrawalk.scale.forecast import tiled_forecast
    from spectrawalk.scale.source import whole_shape
    from spectrawalk.scale.tiles import SIZE

    if not request.is_file or not Path(request.source).exists():
        return False
    shape, pixel = whole_shape(
        request.source,
        variable=request.variable,
        nodata=request.nodata,
        bands_first=request.bands_first,
    )
    if request.crop is not None:
        (top, bottom), (left, right) = request.crop
        shape = bottom - top, right - left
    pixels = shape[0] * shape[1]
    bands, item = pixel.n_bands, pixel.cube.dtype.itemsize
    needed = forecast.PROGRAM + pixels * bands * item + estimator.forecast(pixels, bands).memory
    if needed <= forecast.available_memory():
        return False
    # Processes of their own take more memory than a small scene.
    return tiled_forecast(pixels, bands, 1, SIZE, 1, item).memory < needed


def _read_mask(path: str, pixel: Any, shape: tuple[int, int]) -> Any:
    """Read a mask for a scene that is not in memory."""
    import numpy as np

    from spectrawalk.io.masks import read_mask

    if pixel.orthorectify is not None and Path(path).suffix.lower() in (".geojson", ".json"):
        raise ParameterError(
            f"the polygons in '{path}' cannot be used for a scene in tiles that is in the geometry "
            "of the sensor; give a raster of its size."
        )
    stand_in = replace(
        pixel,
        cube=np.broadcast_to(np.zeros(1, np.uint8), (*shape, pixel.n_bands)),
        mask=np.ones(shape, bool),
        ground_truth=None,
        orthorectify=None,
    )
    return read_mask(path, stand_in)


def _keep_mask(folder: Path, number: int, mask: Any, source: Source) -> str:
    import numpy as np

    from spectrawalk.io.atomic import atomic_path

    top, left = source.corner
    rows, cols = source.shape
    path = (folder / _MASK.format(number)).resolve()
    with atomic_path(path) as temporary:
        np.save(temporary, mask[top : top + rows, left : left + cols])
    return str(path)


def _remove_masks(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / _MASK.format(number)).unlink(missing_ok=True)


def _check_memory(forecast: Forecast) -> None:
    from spectrawalk.estimators.forecast import available_memory

    available = available_memory()
    if forecast.memory > available:
        raise MemoryShortageError(
            f"the run needs about {forecast.memory / 2**30:.1f} GiB of memory, but only "
            f"{available / 2**30:.1f} GiB are free; give smaller tiles with --tiles, fewer "
            "--workers, or start it all the same with --force."
        )
