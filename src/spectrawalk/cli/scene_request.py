"""Which scene a command is to use, and how: the same from options and from the record of a run."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.errors import FileError, ParameterError

if TYPE_CHECKING:
    from spectrawalk import Scene

Window = tuple[tuple[int, int], tuple[int, int]]

NO_PREPARATION: dict[str, Any] = {
    "drop_bad_bands": False,
    "drop_water_bands": False,
    "drop_constant_bands": False,
    "mask_saturated": False,
    "overlap": "keep",
}
"""Values of a request that uses all bands and all pixels with data."""


@dataclass(frozen=True)
class SceneRequest:
    """A scene, how to read it and what of it to use; all of it in values that JSON knows.

    Attributes
    ----------
    source : str
        A file, or the name of a published scene.
    variable, nodata, bands_first
        How to read a file: see :func:`spectrawalk.io.read_scene`.
    mask_file : str or None
        Where pixels may be used.
    crop : pair of pairs of int, or None
        First row and the one after the last; the same for columns.
    band_ranges, drop_bad_bands, ..., saturation
        See :func:`spectrawalk.prepare.bands.prepare_scene`.
    """

    source: str
    variable: str | None = None
    nodata: float | None = None
    bands_first: bool = False
    mask_file: str | None = None
    crop: Window | None = None
    band_ranges: tuple[tuple[float, float], ...] = ()
    drop_bad_bands: bool = True
    drop_water_bands: bool = True
    drop_constant_bands: bool = True
    overlap: str = "vnir"
    mask_saturated: bool = True
    saturation: float | None = None

    @classmethod
    def from_options(cls, source: str, options: dict[str, Any]) -> SceneRequest:
        """Take the values of :mod:`spectrawalk.cli.scene_options` out of `options`.

        What was taken is no longer there. A command without options about bands uses all of them.
        """
        no_preparation = options.pop("no_preparation", False)
        names = {field.name for field in dataclasses.fields(cls)} & options.keys()
        taken = (NO_PREPARATION if "overlap" not in names else {}) | {
            name: options.pop(name) for name in names
        }
        if taken.get("crop") is not None:
            taken["crop"] = tuple((part.start, part.stop) for part in taken["crop"])
        for name, value in taken.items():
            if value in ("drop", "mask"):
                taken[name] = True
            elif value == "keep" and name != "overlap":
                taken[name] = False
        request = cls(source, **taken)
        return dataclasses.replace(request, **NO_PREPARATION) if no_preparation else request

    @classmethod
    def from_record(cls, values: Any, record: str | os.PathLike[str]) -> SceneRequest:
        """Build the request that :meth:`to_record` wrote."""
        try:
            request = cls(**values)
            nodata = None if request.nodata is None else float(request.nodata)
            crop = None if request.crop is None else _pairs(request.crop, int)
            ranges = _pairs(request.band_ranges, float)
        except (TypeError, ValueError):
            raise FileError(
                f"the record '{record}' does not state which scene was used; give a run.json "
                "as it was written."
            ) from None
        return dataclasses.replace(request, nodata=nodata, crop=crop, band_ranges=ranges)

    def to_record(self) -> dict[str, Any]:
        """Plain values; files with their whole paths, so that they are found from anywhere."""
        values = dataclasses.asdict(self)
        if self.nodata is not None and not math.isfinite(self.nodata):
            values["nodata"] = str(self.nodata)  # JSON has no such number
        if self.is_file:
            values["source"] = os.path.abspath(self.source)
        if self.mask_file is not None:
            values["mask_file"] = os.path.abspath(self.mask_file)
        return values

    @property
    def is_file(self) -> bool:
        """Whether the source is a file or folder; a published scene is none.

        A folder may well have the name of a published scene: that of its results.
        """
        from spectrawalk.datasets import scene_names

        return self.source not in scene_names() or Path(self.source).is_file()

    @property
    def files(self) -> list[str]:
        """Files that the user named, then those that belong to them, as the values of a header do.

        In this order, because records of before have those that the user named alone.
        """
        from spectrawalk.io.reading import files_beside

        named = (self.source if self.is_file else None, self.mask_file)
        files = [file for file in named if file is not None]
        return files + [str(beside) for file in files for beside in files_beside(file)]

    def load(self) -> Scene:
        """Read the scene, or no more of it than is wanted, and prepare it."""
        return self.read_and_prepare()[1]

    def read_and_prepare(self) -> tuple[Scene, Scene]:
        """Give the scene, or no more of it than is wanted, before and after its preparation."""
        if self.crop is None or self.mask_file is not None or not self.is_file:
            scene = self.read()  # a mask is of the size of the whole
            return scene, self.prepare(scene)
        scene = self.read(part=self.crop)
        return scene, dataclasses.replace(self, crop=None).prepare(scene)

    def prepare(self, scene: Scene) -> Scene:
        """Exclude the bands and pixels that are not to be used."""
        from spectrawalk.prepare.bands import prepare_scene

        mask = None
        if self.mask_file is not None:
            from spectrawalk.io.masks import read_mask

            mask = read_mask(self.mask_file, scene)
        prepared, _ = prepare_scene(
            scene,
            crop=None if self.crop is None else (slice(*self.crop[0]), slice(*self.crop[1])),
            mask=mask,
            band_ranges=self.band_ranges or None,
            drop_bad_bands=self.drop_bad_bands,
            drop_water_bands=self.drop_water_bands,
            drop_constant_bands=self.drop_constant_bands,
            overlap=self.overlap,
            mask_saturated=self.mask_saturated,
            saturation=self.saturation,
        )
        return prepared

    def read(self, part: Window | None = None) -> Scene:
        """Read the scene as it is, or a part of a file."""
        from spectrawalk.datasets import load_scene
        from spectrawalk.io import read_scene

        self.check_source()
        if self.is_file:
            return read_scene(
                self.source,
                variable=self.variable,
                nodata=self.nodata,
                bands_first=self.bands_first,
                rows=None if part is None else slice(*part[0]),
                cols=None if part is None else slice(*part[1]),
            )
        return load_scene(self.source)

    def check_source(self) -> None:
        """Refuse a file that is not there, and options of files for a published scene."""
        from spectrawalk.datasets import scene_names

        if self.is_file:
            if not Path(self.source).exists():
                raise FileError(
                    f"'{self.source}' does not exist, and no published scene has that name; check "
                    f"the spelling and the folder, or choose one of {', '.join(scene_names())}."
                )
            return
        for option, given in (
            (f"--variable={self.variable}", self.variable is not None),
            (f"--nodata={self.nodata}", self.nodata is not None),
            ("--bands-first", self.bands_first),
        ):
            if given:
                raise ParameterError(f"{option} is for files; do not give it for '{self.source}'.")


def is_given(context: click.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def given_options(context: click.Context, ignoring: set[str]) -> list[str]:
    """Options that stand on the command line, but for some."""
    return [
        param.opts[0]
        for param in context.command.params
        if param.name not in ignoring and is_given(context, param.name or "")
    ]


def _pairs(values: Any, kind: type) -> Any:
    return tuple((kind(low), kind(high)) for low, high in values)
