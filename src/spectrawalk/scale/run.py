"""Cluster scenes larger than memory: survey, fit on drawn windows, labels tile by tile, one map.

Finished parts are kept in the folder of the results, so that a run that was stopped goes on where
it was.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk import __version__
from spectrawalk.errors import DataError, FileError
from spectrawalk.estimators.spectrawalk import SpectraWalk
from spectrawalk.io.run_record import sha256_of
from spectrawalk.prepare.band_matching import match_bands
from spectrawalk.progress import report
from spectrawalk.results.result import Result
from spectrawalk.scale import survey
from spectrawalk.scale.draw import draw_windows, mosaic
from spectrawalk.scale.engine import Run, serial
from spectrawalk.scale.found import Found, MapTally, Tally
from spectrawalk.scale.model import Labelled, TileModel
from spectrawalk.scale.source import Source, lookup_of
from spectrawalk.scale.survey import Seen
from spectrawalk.scale.tiles import SIZE, Tile, divide
from spectrawalk.scale.work import Work
from spectrawalk.scene import Orthorectification, Scene, Transform

MODEL = "model"
SURVEY = "survey"


@dataclass(frozen=True, eq=False)
class SceneInTiles:
    """One of the scenes of a run: where it is, what is known about it, and its finished tiles."""

    source: Source
    pixel: Scene
    """A window of it, with all that is known of its bands and its place."""
    seen: Seen
    preparation: dict[str, Any]
    tiles: list[Tile]
    parts: dict[Tile, Path]
    """File of each labelled tile."""

    def blocks(self) -> Iterator[tuple[Tile, Labelled]]:
        """Yield each tile and what was found in it."""
        for tile in self.tiles:
            yield tile, decode(self.parts[tile].read_bytes())

    @cached_property
    def lookup(self) -> Orthorectification | None:
        """How the scene is laid out on its map, if it is in the geometry of the sensor."""
        return lookup_of(self.source, self.pixel)

    @property
    def place(self) -> tuple[tuple[int, int], str | None, Transform | None]:
        """Shape of the map, its coordinate system and its transform."""
        if self.lookup is None:
            return self.source.shape, self.pixel.crs, self.pixel.transform
        rows, cols = self.lookup.rows.shape
        return (rows, cols), self.lookup.crs, self.lookup.transform

    def map_blocks(self, name: str, fill: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield first row, first column and values of the blocks of a map.

        A scene in the geometry of the sensor has one block: it is one flight line or granule.
        """
        if self.lookup is None:
            for tile, found in self.blocks():
                yield tile.top, tile.left, getattr(found, name)
            return
        image = np.full(self.source.shape, fill, np.uint8)
        for tile, found in self.blocks():
            image[tile.rows, tile.cols] = getattr(found, name)
        yield 0, 0, self.lookup.apply(image, fill)


@dataclass(frozen=True, eq=False)
class TiledRun:
    """What a run found."""

    parameters: dict[str, Any]
    """Of the estimator."""
    model: TileModel
    scenes: list[SceneInTiles]
    cell: int
    resumed: int
    """Tiles that an earlier run had finished."""


def cluster_in_tiles(
    sources: Sequence[Source],
    estimator: SpectraWalk,
    folder: Path,
    settings: dict[str, Any] | None = None,
    *,
    size: int = SIZE,
    run: Run = serial,
    overwrite: bool = False,
) -> tuple[TiledRun, Work]:
    """Label all pixels of some scenes with one model.

    Parameters
    ----------
    sources : list of Source
        Scenes, without a choice of bands.
    estimator : SpectraWalk
        Its parameters.
    folder : Path
        Folder of the results, for finished parts; all workers must see it under this name.
    settings : dict, optional
        How bands are chosen; by default ``spectrawalk.scale.survey.PREPARATION``.
    size : int
        Side of a tile. It changes the memory and the time, and no label.
    run : Run
        What works on tiles.
    overwrite : bool
        Whether to throw away the unfinished work of another run.

    Returns
    -------
    found : TiledRun
    work : Work
        To be removed when the results are written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from spectrawalk.datasets import make_scene
    >>> from spectrawalk.scale.source import open_source
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "field.npy", make_scene((24, 40), n_classes=3, random_state=1).cube)
    >>> source = open_source(folder / "field.npy")
    >>> run, work = cluster_in_tiles([source], SpectraWalk(3), folder, size=16)
    >>> found, result = found_in(run, run.scenes[0])
    >>> len(run.scenes[0].tiles), int(result.sizes.sum())
    (6, 960)
    >>> work.remove()
    """
    settings = survey.PREPARATION if settings is None else settings
    plan = _plan(sources, estimator, settings)
    work = Work(folder, plan, overwrite=overwrite)
    cell = survey.cell_size(sources)
    seen = _seen(sources, cell, size, work, run)
    pixels, chosen, preparations = prepared(sources, seen, settings)
    path = work.find(MODEL)
    if path is None:
        model = _fitted(chosen, seen, cell, estimator)
        path = work.put(MODEL, model.to_bytes())
    else:
        model = TileModel.from_bytes(path.read_bytes())
    scenes, names = [], []
    for place, source in enumerate(chosen):
        for tile in divide(source.shape, size):
            names.append((place, tile, f"tile-{place}-{'-'.join(map(str, tile))}"))
    finished = work.finished([name for _, _, name in names])
    missing = [each for each in names if each[2] not in finished]
    tasks = [(str(path), chosen[place], tile) for place, tile, _ in missing]
    for number, content in run(label_tile, tasks, "tiles"):
        name = missing[number][2]
        finished[name] = work.put(name, content)
    for place, source in enumerate(chosen):
        of_scene = {tile: finished[name] for index, tile, name in names if index == place}
        scenes.append(
            SceneInTiles(
                source, pixels[place], seen[place], preparations[place], list(of_scene), of_scene
            )
        )
    return TiledRun(estimator.get_params(), model, scenes, cell, len(names) - len(missing)), work


def _plan(
    sources: Sequence[Source], estimator: SpectraWalk, settings: dict[str, Any]
) -> dict[str, Any]:
    """All that labels depend on."""
    return {
        "spectrawalk": __version__,
        "parameters": estimator.get_params(),
        "settings": {**settings, "band_ranges": _lists(settings.get("band_ranges"))},
        "scenes": [{**_lists(asdict(source)), **_state_of(source)} for source in sources],
    }


def _state_of(source: Source) -> dict[str, Any]:
    """Size and time of a file, by which a change is seen; and the content of its mask."""
    mask = {} if source.mask_file is None else {"mask": sha256_of(source.mask_file)}
    if not source.is_file:
        return mask
    path = Path(source.path)
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    stats = [file.stat() for file in files]
    return mask | {
        "bytes": sum(each.st_size for each in stats),
        "modified": max((each.st_mtime_ns for each in stats), default=0),
    }


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(each) for key, each in value.items()}
    return [_lists(each) for each in value] if isinstance(value, list | tuple) else value


def _seen(sources: Sequence[Source], cell: int, size: int, work: Work, run: Run) -> list[Seen]:
    """What is in the scenes; an earlier run may have looked already."""
    saved = work.get(SURVEY)
    if saved is not None:
        return _decode_seen(saved)
    seen = look(sources, cell, size, run)
    work.put(SURVEY, _encode_seen(seen))
    return seen


def prepared(
    sources: Sequence[Source], seen: Sequence[Seen], settings: dict[str, Any]
) -> tuple[list[Scene], list[Source], list[dict[str, Any]]]:
    """Choose the bands that are used in all scenes.

    Returns
    -------
    pixels : list of Scene
        A window of each scene, with all that is known of its bands and its place.
    sources : list of Source
        The scenes with their bands.
    preparations : list of dict
        For the records.
    """
    pixels = [_first_pixel(source) for source in sources]
    each = [
        survey.prepare(source, pixel, seen_in, settings)
        for source, pixel, seen_in in zip(sources, pixels, seen, strict=True)
    ]
    return pixels, _matched([source for source, _ in each], pixels), [done for _, done in each]


def look(sources: Sequence[Source], cell: int, size: int, run: Run) -> list[Seen]:
    """Survey the scenes, tile by tile."""
    tasks = [(source, tile, cell) for source in sources for tile in divide(source.shape, size)]
    found: dict[int, Seen] = dict(run(survey.survey_tile, tasks, "survey"))
    numbers = iter(range(len(tasks)))
    return [
        survey.merge([found[next(numbers)] for _ in divide(source.shape, size)])
        for source in sources
    ]


def _first_pixel(source: Source) -> Scene:
    return replace(source, mask_file=None).read_raw(slice(0, 1), slice(0, 1))


def _matched(sources: list[Source], pixels: list[Scene]) -> list[Source]:
    """Keep the bands that all scenes have and use, in the order of the first one."""
    first, wavelengths = sources[0], pixels[0].wavelengths
    kept = np.array(first.kept)
    columns = [kept]
    for pixel in pixels[1:]:
        numbers = match_bands(pixel, pixels[0].n_bands, wavelengths)[kept]
        columns.append(numbers)
    used = np.logical_and.reduce(
        [np.isin(numbers, each.kept) for numbers, each in zip(columns, sources, strict=True)]
    )
    if used.sum() < 2:
        raise DataError(
            f"the scenes have {used.sum()} usable bands in common, and a spectrum needs at least "
            "2; cluster them one by one."
        )
    return [
        replace(source, kept=tuple(numbers[used].tolist()))
        for source, numbers in zip(sources, columns, strict=True)
    ]


def _fitted(
    sources: Sequence[Source], seen: Sequence[Seen], cell: int, estimator: SpectraWalk
) -> TileModel:
    """Fit the model to windows of the scenes, or to the whole of a small one."""
    windows = draw_windows(sources, seen, cell, estimator.random_state or 0)
    is_whole = len(windows) == len(sources)
    drawn = mosaic(sources, windows)
    whole_scene = is_whole and len(sources) == 1
    return TileModel.fit(drawn, estimator, None if whole_scene else survey.detail(sources, seen))


def label_tile(model: str, source: Source, tile: Tile) -> bytes:
    """Label a tile with the model in a file; called by workers."""
    return encode(_read_model(model).label(source, tile))


@lru_cache(maxsize=1)
def _read_model(path: str) -> TileModel:
    try:
        return TileModel.from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise FileError(
            f"a worker cannot read '{path}' ({error.strerror or error}); the output folder and the "
            "scenes must be visible to all workers under the same names."
        ) from error


def encode(found: Labelled) -> bytes:
    """Encode what was found in a tile."""
    file = io.BytesIO()
    np.savez_compressed(file, **found._asdict())
    return file.getvalue()


def decode(content: bytes) -> Labelled:
    """Decode what :func:`encode` made."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return Labelled(*(arrays[name] for name in Labelled._fields))


def _encode_seen(seen: Sequence[Seen]) -> bytes:
    arrays: dict[str, Any] = {}
    for place, each in enumerate(seen):
        for name, value in each._asdict().items():
            if name == "masked":
                arrays[f"{place}-why"] = np.array(list(value), dtype=str)
                value = list(value.values())
            arrays[f"{place}-{name}"] = np.asarray(value)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _decode_seen(content: bytes) -> list[Seen]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    seen = []
    for place in range(len(arrays) // (len(Seen._fields) + 1)):
        values = {name: arrays[f"{place}-{name}"] for name in Seen._fields}
        reasons = [str(why) for why in arrays[f"{place}-why"]]
        values["masked"] = dict(zip(reasons, values["masked"].tolist(), strict=True))
        seen.append(Seen(**{**values, **{name: int(values[name]) for name in ("pixels", "valid")}}))
    return seen


def found_in(run: TiledRun, scene: SceneInTiles) -> tuple[Found, Result]:
    """Add up what was found in a scene, and show it at the number of clusters of the model."""
    source, model = scene.source, run.model
    tally, on_map = Tally(model.n_leaves), MapTally(*scene.place, model.n_leaves)
    thin, where = _thinned(run, scene)
    thin_leaf = np.full(thin.shape, -1, np.int32)
    thin_confidence = np.full(thin.shape, np.nan, np.float32)
    rows, cols = scene.seen.places[where].T
    for done, (tile, labelled) in enumerate(scene.blocks()):
        tally.add(labelled)
        here = (rows >= tile.top) & (rows < tile.bottom) & (cols >= tile.left) & (cols < tile.right)
        in_tile = rows[here] - tile.top, cols[here] - tile.left
        cells = rows[here] // run.cell, cols[here] // run.cell
        thin_leaf[cells] = labelled.codes[in_tile].astype(np.int32) - 1
        thin_confidence[cells] = labelled.confidence[in_tile] / np.float32(100)
        report("adding up", done + 1, len(scene.tiles))
    for top, _, codes in scene.map_blocks("codes", 0):
        on_map.add(top, codes)
    found = Found(
        source.shape,
        *scene.place,
        model.parent,
        model.height,
        model.detail,
        model.measured_detail,
        tally.counts,
        on_map.counts,
        tally.sums,
        tally.scatter(model.means),
        on_map.areas,
        replace(thin, mask=thin_leaf >= 0),
        thin_leaf,
        run.cell,
        run.parameters,
    )
    cluster, k = found.tree.ancestors(model.n_clusters), model.n_clusters
    pixels = np.bincount(cluster, tally.counts, minlength=k)
    percents = np.bincount(cluster, tally.percents, minlength=k)
    thin_confidence[thin_leaf < 0] = np.nan
    return found, found.result(k, thin_confidence, percents / 100 / np.maximum(pixels, 1))


def _thinned(run: TiledRun, scene: SceneInTiles) -> tuple[Scene, NDArray[np.bool_]]:
    """One pixel of each cell of the survey, and which of the spectra are used."""
    source, seen, pixel = scene.source, scene.seen, scene.pixel
    kept = list(source.kept)
    spectra = seen.spectra[:, kept]
    usable = ~source.saturated(spectra) & np.isfinite(spectra).all(axis=1) & spectra.any(axis=1)
    shape = tuple(-(-length // run.cell) for length in source.shape)
    cube = np.zeros((*shape, len(kept)), dtype=spectra.dtype)
    mask = np.zeros(shape, dtype=bool)
    rows, cols = seen.places[usable].T // run.cell
    cube[rows, cols], mask[rows, cols] = spectra[usable], True
    bands = pixel.select_bands(kept)
    thin = Scene(
        cube,
        mask=mask,
        name=source.name,
        wavelengths=bands.wavelengths,
        fwhm=bands.fwhm,
        band_names=bands.band_names,
        band_numbers=bands.band_numbers,
        metadata={"preparation": scene.preparation, **seen.masked},
    )
    return thin, usable
