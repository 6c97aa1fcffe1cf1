"""SRDL in tiles: the labels of a fit in memory, to the last bit, without the cube in memory.

All neighbours of a pixel lie in its window. So a tile with a margin of the radius gives the rows of
the graph that the whole scene has. Density, bandwidth and bridges look at all spectra: the code of
a fit in memory computes them, from spectra in a file. The graph and its eigenvectors are in memory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk import progress
from spectrawalk.errors import DataError, FileError, ParameterError
from spectrawalk.estimators.checks import check_eigenpairs, check_enough_pixels, check_parameters
from spectrawalk.estimators.forecast import Forecast, check_memory, working_memory
from spectrawalk.estimators.methods import SRDL
from spectrawalk.io.atomic import cannot_write
from spectrawalk.parameters import shown
from spectrawalk.prepare.pixels import Grid, take_pixels
from spectrawalk.prepare.scaling import check_distinct, normalize_spectra
from spectrawalk.results.result import Result
from spectrawalk.results.spectra import ClusterSpectrum
from spectrawalk.scale.engine import Run, serial
from spectrawalk.scale.source import Source, lookup_of
from spectrawalk.scale.tiles import Tile, divide
from spectrawalk.scene import Scene
from spectrawalk.srdl.density import MEAN_SAMPLE, ORDERED_ROWS
from spectrawalk.srdl.neighbors import number_pixels, window_neighbors
from spectrawalk.srdl.pipeline import GraphSettings, Neighbors

_SEARCH = 600
"""Bytes per pixel of the search for the density, beside the spectra in single precision."""


class Table(NamedTuple):
    """Numbers in a scratch file, in rows of equal length, that several processes fill in."""

    path: str
    shape: tuple[int, int]
    dtype: str

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.shape[1] * np.dtype(self.dtype).itemsize

    @property
    def n_bytes(self) -> int:
        """Bytes of all rows."""
        return self.shape[0] * self.row_bytes

    def create(self) -> None:
        """Create the file, in which no row is filled in yet."""
        with open(self.path, "wb") as file:
            file.truncate(self.n_bytes)

    def write(self, numbers: NDArray[np.integer], rows: NDArray[Any]) -> None:
        """Fill in the rows of these increasing numbers.

        They are written, not mapped: on a network drive two machines that change the same page of
        a mapped file undo each other's work, and a full disk would end the process.
        """
        rows = np.ascontiguousarray(rows, dtype=self.dtype)
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
        stops = np.append(starts, len(numbers))[1:]
        try:
            with open(self.path, "r+b") as file:
                for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                    file.seek(int(numbers[start]) * self.row_bytes)
                    file.write(rows[start:stop].data)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def read(self) -> NDArray[Any]:
        """All rows, as an array that stays in the file: the system reads what is looked at.

        It may be written to, as kernels are compiled anew for an array that may not: sums of
        floating-point numbers could then be rounded in another way.
        """
        return np.asarray(np.memmap(self.path, self.dtype, "r+", shape=self.shape))


class Scratch(NamedTuple):
    """The scratch files of a fit."""

    number: Table
    """Number of each valid pixel of the image, -1 where masked."""
    spectra: Table
    """Scaled spectra of the valid pixels."""
    neighbors: Table
    """Neighbours of the valid pixels, nearest first, -1 where there are fewer."""
    d2: Table
    """Squared distances to them, infinite where there are fewer."""


def fit_srdl(
    estimator: SRDL, source: Source, size: int, folder: str | os.PathLike[str], run: Run = serial
) -> SRDL:
    """Fit SRDL to a scene that is read tile by tile.

    Parameters
    ----------
    estimator : SRDL
        With a radius, `normalize` ``"pixel"`` or None, and no jitter.
    source : Source
        With its bands.
    size : int
        Rows and columns of a tile.
    folder : path
        For scratch files, which all workers must see: 8 bytes per value of the cube and 12 per
        neighbour. They are removed at the end. The folder should be on a disk, not in memory.
    run : Run
        Calls a function for each tile.

    Returns
    -------
    SRDL
        The estimator, with the attributes of a fit in memory. It has not kept the spectra, so it
        can neither predict nor be saved. If the fit fails, it does not change.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.datasets import make_scene
    >>> scene, folder = make_scene((24, 24), n_bands=10, n_classes=3), tempfile.mkdtemp()
    >>> np.save(folder + "/field.npy", scene.cube)
    >>> bands = tuple(range(10))
    >>> source = Source(folder + "/field.npy", (24, 24), counting=bands, kept=bands)
    >>> model = fit_srdl(SRDL(3), source, 10, folder)
    >>> bool((model.labels_ == SRDL(3).fit(scene).labels_).all())
    True
    """
    settings = _settings_for_tiles(estimator, source)
    tiles = list(divide(source.shape, size))
    mask = np.zeros(source.shape, dtype=bool)
    for number, valid in run(tile_mask, [(source, tile) for tile in tiles], "masks"):
        mask[tiles[number].rows, tiles[number].cols] = valid
    n, n_bands = int(np.count_nonzero(mask)), len(source.kept)
    _check_pixels(estimator, source, n, largest=_largest_region(tiles, settings, source.shape))
    with _scratch_files(folder, source.shape, n, n_bands, _most_neighbors(settings, n)) as files:
        files.number.write(np.arange(len(mask)), number_pixels(mask))
        how = estimator.normalize
        _do_all(run, tile_spectra, [(source, tile, how, files) for tile in tiles], "spectra")
        spectra = files.spectra.read()
        check_distinct(spectra, how)
        _do_all(run, tile_neighbors, [(tile, settings, files) for tile in tiles], "neighbours")
        near = Neighbors(files.neighbors.read(), files.d2.read())
        wavelengths = source.read(slice(0, 1), slice(0, 1)).wavelengths
        estimator.fit_neighbors(spectra, near, mask, wavelengths)
    return estimator


def srdl_memory(
    n_pixels: int,
    n_bands: int,
    n_neighbors: int = 100,
    n_eigenpairs: int | str = "auto",
    largest: int = 0,
) -> int:
    """Bytes of memory that a fit in tiles takes at the most, beside the program.

    Spectra and neighbours are in files: what the system keeps of them in memory, it gives back
    where memory is needed.

    Parameters
    ----------
    n_pixels, n_bands : int
        Valid pixels of the scene, and its bands.
    n_neighbors : int
        k.
    n_eigenpairs : int
        M, or ``"auto"``.
    largest : int
        Pixels of the largest tile, with its margin.

    Examples
    --------
    >>> [round(srdl_memory(1_000_000, n_bands) / 1e9, 1) for n_bands in (50, 200)]
    [5.6, 5.7]
    """
    graph = working_memory(n_pixels, 0, n_neighbors, n_eigenpairs)
    density = n_pixels * (4 * n_bands + _SEARCH)
    tile = largest * (32 * n_bands + 40 * n_neighbors)
    rows = 8 * n_bands * (min(n_pixels, ORDERED_ROWS) + 3 * min(n_pixels, MEAN_SAMPLE))
    return max(graph + rows, density + rows, tile)


def tile_mask(source: Source, tile: Tile) -> NDArray[np.bool_]:
    """Valid pixels of a tile."""
    return source.read(tile.rows, tile.cols).mask


def tile_spectra(source: Source, tile: Tile, normalize: str | None, files: Scratch) -> None:
    """Write the scaled spectra of the valid pixels of a tile."""
    number = files.number.read()[tile.rows, tile.cols]
    scene = source.read(tile.rows, tile.cols)
    if not np.array_equal(scene.mask, number >= 0):
        raise FileError(
            f"'{source.path}' has changed while it was being read; start again when it is complete."
        )
    if scene.mask.any():
        raw = take_pixels(scene, at_least=1).spectra
        files.spectra.write(number[scene.mask], normalize_spectra(raw, normalize))


def tile_neighbors(tile: Tile, settings: GraphSettings, files: Scratch) -> None:
    """Write the neighbours of the valid pixels of a tile: those that the whole scene has.

    Pixels keep their order in the margin around the tile, so equally near neighbours do too.
    """
    region = tile.grown(_radius(settings), files.number.shape)
    number = files.number.read()[region.rows, region.cols]
    mask, inside = number >= 0, tile.inside(region)
    if not mask[inside].any():
        return
    of_region = number[mask]
    spectra = files.spectra.read()[of_region]
    with progress.listen(_nobody):  # a tile is one step
        index, d2 = window_neighbors(
            spectra, mask, settings.n_neighbors, _radius(settings), settings.window, part=inside
        )
    own = number_pixels(mask)[inside]
    own = own[own >= 0]
    n, k = len(own), files.neighbors.shape[1]
    # A small region gives shorter lists than the whole scene.
    wide_index, wide_d2 = np.full((n, k), -1, dtype=np.int32), np.full((n, k), np.inf)
    wide_index[:, : index.shape[1]] = np.where(index[own] >= 0, of_region[index[own]], -1)
    wide_d2[:, : index.shape[1]] = d2[own]
    files.neighbors.write(of_region[own], wide_index)
    files.d2.write(of_region[own], wide_d2)


def _nobody(stage: str, done: int, total: int) -> None:
    """Listen to the progress inside a tile."""


def _do_all(
    run: Run, function: Callable[..., None], tasks: Sequence[tuple[Any, ...]], stage: str
) -> None:
    for _ in run(function, tasks, stage):
        pass


def _settings_for_tiles(estimator: SRDL, source: Source) -> GraphSettings:
    """How pixels are joined; raise an error for what cannot be computed in tiles."""
    if not isinstance(estimator, SRDL):
        raise ParameterError(
            f"{type(estimator).__name__} has no window in which neighbours are searched, and tiles "
            "need one; use method='srdl' or method='spectrawalk'."
        )
    check_parameters(estimator)
    if estimator.radius is None:
        raise ParameterError(
            "radius=None cannot be used in tiles, which need a window; give a radius in pixels, or "
            "use method='spectrawalk'."
        )
    if estimator.normalize not in ("pixel", None):
        raise ParameterError(
            f"normalize={estimator.normalize!r} cannot be used in tiles, because it needs all "
            "pixels at once; use normalize='pixel' or None, or fit the scene in memory."
        )
    if estimator.jitter > 0:
        raise ParameterError(
            f"jitter={shown(estimator.jitter)} cannot be used in tiles, because the noise is drawn "
            "for all pixels at once; use jitter=0, or fit the scene in memory."
        )
    settings = estimator.graph_settings()
    everything = Grid(np.broadcast_to(False, source.shape))
    return replace(settings, radius=everything.clip(int(estimator.radius)))


def _radius(settings: GraphSettings) -> int:
    assert settings.radius is not None  # see _settings_for_tiles
    return settings.radius


def _most_neighbors(settings: GraphSettings, n: int) -> int:
    """Length of the lists of neighbours in a scene of n pixels, as in `window_neighbors`."""
    return min(settings.n_neighbors, n - 1, (2 * _radius(settings) + 1) ** 2 - 1)


def _largest_region(tiles: Sequence[Tile], settings: GraphSettings, shape: tuple[int, int]) -> int:
    """Pixels of the largest tile, with its margin."""
    regions = (tile.grown(_radius(settings), shape).shape for tile in tiles)
    return max(rows * cols for rows, cols in regions)


def _check_pixels(estimator: SRDL, source: Source, n: int, largest: int) -> None:
    """Check the number of pixels, and the memory that they take."""
    if n < 2:
        raise DataError(
            f"scene '{source.name}' has {n} usable pixels, and clustering needs at least 2; check "
            "that it is the right file and variable, and the mask."
        )
    check_enough_pixels(estimator.n_clusters, n)
    check_eigenpairs(estimator.n_eigenpairs, n)
    n_bands, k = len(source.kept), min(int(estimator.n_neighbors), n)
    memory = srdl_memory(n, n_bands, k, estimator.n_eigenpairs, largest)
    seconds = estimator.forecast(n, n_bands).seconds
    check_memory(Forecast(memory, seconds), n, n_bands, n_neighbors=int(estimator.n_neighbors))


@contextmanager
def _scratch_files(
    folder: str | os.PathLike[str], shape: tuple[int, int], n: int, n_bands: int, k: int
) -> Iterator[Scratch]:
    """Create the scratch files, and remove them at the end."""
    try:
        home = os.path.abspath(folder)  # workers may have another working folder
        own = TemporaryDirectory(prefix=".spectrawalk-srdl-", dir=home, ignore_cleanup_errors=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    with own as path:
        files = Scratch(
            Table(f"{path}/number", shape, "i4"),
            Table(f"{path}/spectra", (n, n_bands), "f8"),
            Table(f"{path}/neighbors", (n, k), "i4"),
            Table(f"{path}/d2", (n, k), "f8"),
        )
        needed, free = sum(table.n_bytes for table in files), shutil.disk_usage(path).free
        if needed > free:
            raise FileError(
                f"the scratch files of the fit need {needed / 2**30:.1f} GiB, but only "
                f"{free / 2**30:.1f} GiB are free in '{Path(folder)}'; give another folder, or "
                "make room."
            )
        try:
            for table in files:
                table.create()
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield files


def srdl_result(model: SRDL, source: Source, pixel: Scene, size: int, run: Run = serial) -> Result:
    """Result of a fit in tiles: its labels are in memory, and the cube is not.

    Parameters
    ----------
    model : SRDL
        As :func:`fit_srdl` gives it.
    source : Source
    pixel : Scene
        Any window of the scene: what is known about its bands, and its place.
    size : int
        Rows and columns of a tile.
    run : Run
    """
    bands = pixel.select_bands(list(source.kept))
    scene = replace(
        bands,
        cube=np.broadcast_to(np.zeros(1, bands.cube.dtype), (*source.shape, bands.n_bands)),
        mask=model.labels_ >= 0,
        orthorectify=lookup_of(source, pixel),
        name=source.name,
        metadata={},
    )
    result = Result.of_fit(scene, model)
    tiles = list(divide(source.shape, size))
    labels = [model.labels_[tile.rows, tile.cols] for tile in tiles]
    k = model.n_clusters_

    def added(means: NDArray[np.float64] | None, stage: str) -> NDArray[np.float64]:
        tasks = [(source, *each, k, means) for each in zip(tiles, labels, strict=True)]
        sums = dict(run(_sums_in_tile, tasks, stage))
        return np.asarray(sum(sums[number] for number in range(len(tiles))))

    sizes = result.sizes[:, np.newaxis]
    means = added(None, "mean spectra") / sizes
    deviations = np.sqrt(added(means, "deviations") / sizes)
    vars(result)["spectra"] = [
        ClusterSpectrum(*each) for each in zip(means, deviations, strict=True)
    ]
    return result


def _sums_in_tile(
    source: Source,
    tile: Tile,
    labels: NDArray[np.int32],
    n_clusters: int,
    means: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Sum of the spectra of each cluster, or of their squared differences from `means`."""
    cube = source.read(tile.rows, tile.cols).cube
    sums = np.zeros((n_clusters, cube.shape[2]))
    for cluster in np.unique(labels[labels >= 0]):
        spectra = cube[labels == cluster].astype(np.float64)
        values = spectra if means is None else np.square(spectra - means[cluster])
        sums[cluster] = values.sum(axis=0)
    return sums
