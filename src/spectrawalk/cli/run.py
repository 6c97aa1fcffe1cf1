"""One run of ``cluster``: from a request to results, told on the screen and kept in a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import StageClock, results_console, say, watch
from spectrawalk.cli.naming import in_words_of_command
from spectrawalk.cli.scene_request import SceneRequest
from spectrawalk.errors import FileError
from spectrawalk.results.captions import describe_crop, describe_settings

if TYPE_CHECKING:
    from spectrawalk import Scene
    from spectrawalk.results.result import Result

PAPER_METHODS = ("SRDL", "DLSS", "DL")
METHODS = ("SpectraWalk", *PAPER_METHODS, "MSRDL", "DVIC", "S2DL")


@dataclass(frozen=True)
class Run:
    """What is to be clustered, and how.

    Attributes
    ----------
    request : SceneRequest
    method : str
        Name of the estimator's class.
    parameters : dict
        Of the estimator.
    earlier : dict or None
        The record of the run that this one repeats.
    steps : tuple of dict
        Steps that were taken in the explorer after the fit.
    """

    request: SceneRequest
    method: str
    parameters: dict[str, Any]
    earlier: dict[str, Any] | None = None
    steps: tuple[dict[str, Any], ...] = ()

    @classmethod
    def from_record(cls, path: Path, source: str | None) -> Run:
        """Build the run that an earlier one recorded, with its input at `source` if it moved."""
        from spectrawalk.explore.checks import checked_steps
        from spectrawalk.io.run_record import read_record
        from spectrawalk.parameters import asks_for_automatic_mode

        record = read_record(path)
        request = SceneRequest.from_record(record["scene"], path)
        if source is not None:
            request = replace(request, source=source)
        if record["method"] not in METHODS or not isinstance(record["parameters"], dict):
            raise FileError(
                f"the record '{path}' does not say clearly with which method and parameters; give "
                "a run.json as it was written."
            )
        if asks_for_automatic_mode(record["parameters"]):
            raise FileError(
                f"the record '{path}' is of a run in automatic mode, which spectrawalk no longer "
                "has; cluster the scene again with the default method, which needs no radius."
            )
        steps = checked_steps(record.get("steps", []), path)
        return cls(request, record["method"], record["parameters"], record, steps)

    def tell_plan(
        self, folder: Path | None, extras: Sequence[str], *, quiet: bool, as_json: bool
    ) -> None:
        """Read the scene and print what would be done with it; see :meth:`carry_out`."""
        from spectrawalk.cli import report
        from spectrawalk.report.file_names import TREE
        from spectrawalk.report.run_folder import run_files

        estimator = self.estimator()
        with watch("reading", quiet=quiet):
            scene, _ = self.load()
        forecast = report.forecast(scene, estimator)
        files = run_files([*extras, TREE] if self.method == "SpectraWalk" else extras)
        if as_json:
            from spectrawalk.io.run_record import record_json

            plan = self._about(scene) | {"forecast": forecast, "would_write": files}
            click.echo(record_json(plan), nl=False)
            return
        console = results_console(quiet=quiet)
        report.describe_scene(console, scene)
        say(console, describe_settings(estimator))
        report.describe_forecast(console, forecast)
        where = "the folder of -o" if folder is None else f"'{folder}'"
        say(console, f"nothing was written; a run would write to {where}:")
        say(console, "  " + ", ".join(files))

    def carry_out(
        self, folder: Path, extras: Sequence[str], *, quiet: bool, as_json: bool, force: bool
    ) -> None:
        """Read, fit, write, print; `extras` are the files that are not always wanted."""
        from spectrawalk.cli import report
        from spectrawalk.estimators import forecast
        from spectrawalk.explore.edited import edited_result
        from spectrawalk.report.run_folder import write_results

        started = datetime.now(UTC)
        with watch("loading", quiet=quiet):
            estimator = self.estimator()
        with watch("reading", quiet=quiet):
            scene, inputs = self.load()
        console = results_console(quiet=quiet or as_json)
        report.describe_scene(console, scene)
        report.describe_forecast(console, report.forecast(scene, estimator))
        with (
            watch(self.method, quiet=quiet) as clock,
            forecast.forced() if force else nullcontext(),
        ):
            model = estimator.fit(scene)
        with watch("writing", quiet=quiet):
            result = edited_result(scene, model, self.steps)
            record = self.record(result, inputs, started, clock)
            written = write_results(folder, result, record, extras)
        self.tell(folder, result, written, {self.method: clock}, quiet=quiet, as_json=as_json)

    def tell(
        self,
        folder: Path,
        result: Result,
        written: tuple[list[tuple[Path, str]], list[str]],
        clocks: Mapping[str, StageClock],
        *,
        quiet: bool,
        as_json: bool,
    ) -> None:
        """Print what was found and written; `written` is what ``write_results`` gives."""
        from spectrawalk.cli import report
        from spectrawalk.report.file_names import RECORD

        if as_json:
            click.echo((folder / RECORD).read_text(encoding="ascii"), nl=False)
            return
        console, (files, remarks) = results_console(quiet=quiet), written
        crop = describe_crop(result.scene.metadata)
        say(console, result.settings + (f"; {crop}" if crop else ""))
        report.describe_clusters(console, result)
        for remark in (result.choice, *result.doubts):
            if remark:
                say(console, in_words_of_command(remark))
        if result.scores is not None:
            report.describe_scores(console, result.scores)
        report.describe_time(console, clocks)
        say(console)
        report.describe_files(console, files, remarks + self._remarks())

    def estimator(self) -> Any:
        """Build the estimator; its parameters are checked when it is fitted."""
        import spectrawalk

        try:
            return getattr(spectrawalk, self.method)(**self.parameters)
        except TypeError as error:
            raise FileError(
                f"the record names a parameter that {self.method} does not have ({error}); "
                "repeat the run with the version of spectrawalk that the record names."
            ) from error

    def fitted(self, results: Path, scene: Scene, *, quiet: bool) -> Any:
        """Model of this run, which wrote the folder `results`; fitted again if it was not kept."""
        from spectrawalk.report.file_names import RECORD

        model = self._kept_model(results)
        if model is not None and model.labels_.shape != scene.shape:
            raise FileError(f"the model in '{results}' is of another image than {RECORD} names.")
        if model is None:
            with watch(self.method, quiet=quiet):
                model = self.estimator().fit(scene)
        return model

    def _kept_model(self, results: Path) -> Any:
        """Model of this run: its tree, or what --save-model kept; None if there is neither."""
        import spectrawalk
        from spectrawalk.io.run_record import sha256_of
        from spectrawalk.report.file_names import MODEL, TREE

        outputs = (self.earlier or {}).get("outputs")
        for name in (TREE, MODEL):
            path = results / name
            known = outputs.get(name) if isinstance(outputs, dict) else None
            if path.is_file() and known == sha256_of(path):
                model = spectrawalk.load(path)
                if type(model).__name__ == self.method:
                    return model
        return None

    def load(self) -> tuple[Scene, dict[str, Any]]:
        """Read the scene, and note what was read; refuse another than the record's."""
        from spectrawalk.io.run_record import file_entry, pixels_sha256

        if self.earlier is not None:
            self._check_files(self.earlier["inputs"])
        scene = self.request.load()
        inputs = [file_entry(file) for file in self.request.files]
        pixels = pixels_sha256(scene)
        if self.earlier is not None and pixels != self.earlier["pixels_sha256"]:
            raise FileError(
                f"the pixels of '{self.request.source}' are not those of the record: a file beside "
                "it has changed, or this version reads it differently; cluster it anew."
            )
        return scene, {"inputs": inputs, "pixels_sha256": pixels}

    def _check_files(self, known: list[dict[str, Any]]) -> None:
        """Refuse files that are missing, or not those of the record."""
        from spectrawalk.io.run_record import file_entry

        for file, entry in zip(self.request.files, known, strict=False):
            if not Path(file).exists():
                raise FileError(
                    f"'{file}', which the record names, does not exist; give its new place as "
                    "SCENE if it has moved."
                )
            if file_entry(file)["sha256"] != entry.get("sha256"):
                raise FileError(
                    f"'{file}' is not the file of the record, or has changed since: its sha256 "
                    "differs; give the file that was used, or cluster this one anew."
                )

    def record(
        self, result: Result, inputs: dict[str, Any], started: datetime, clock: StageClock
    ) -> dict[str, Any]:
        """All that is to be kept of a run, its outputs left out."""
        from spectrawalk.io.run_record import outcome

        times = {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(clock.total, 3),
            "stages": {stage: round(seconds, 3) for stage, seconds in clock.seconds.items()},
        }
        return self._about(result.scene) | inputs | {"result": outcome(result), "times": times}

    def _about(self, scene: Scene) -> dict[str, Any]:
        """What the record says before the fit."""
        from spectrawalk.io.run_record import WITH_STEPS, environment

        rows, cols = scene.shape
        masked = {key: scene.metadata[key] for key in scene.metadata if key.startswith("masked_")}
        about = environment() | {
            "scene": self.request.to_record(),
            "image": {
                "name": scene.name,
                "rows": rows,
                "cols": cols,
                "bands": scene.n_bands,
                "valid_pixels": scene.n_valid,
                **masked,
                "crs": (scene.orthorectify or scene).crs,
            },
            "preparation": scene.metadata.get("preparation"),
            "method": self.method,
            "parameters": self.estimator().get_params(),
        }
        # Older versions would repeat the run without its steps.
        return about | {"format": WITH_STEPS, "steps": list(self.steps)} if self.steps else about

    def _remarks(self) -> list[str]:
        """What about a repeated run may differ."""
        from spectrawalk import __version__

        before = (self.earlier or {}).get("spectrawalk", __version__)
        if before == __version__:
            return []
        return [
            f"the record is of spectrawalk {before}, this is {__version__}: labels may "
            "differ where the method was changed."
        ]


def record_in(results: Path, *, predicted: bool = False) -> dict[str, Any]:
    """Read the record of the run that wrote a folder, also of a prediction if `predicted`."""
    from spectrawalk.io.run_record import read_record
    from spectrawalk.report.file_names import RECORD

    if not (results / RECORD).is_file():
        raise FileError(
            f"'{results}' is no results folder: it has no {RECORD}; give a folder that "
            "`spectrawalk cluster` wrote."
        )
    if predicted:
        return read_record(results / RECORD, ("result", "outputs"))
    return read_record(results / RECORD)
