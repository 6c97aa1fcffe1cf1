"""What the algorithms share: icon, program, progress, layers of the results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qgis.core import (
    QgsMapLayer,
    QgsProcessingAlgorithm,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingLayerPostProcessorInterface,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterNumber,
    QgsProcessingUtils,
    QgsRasterLayer,
)
from qgis.PyQt.QtGui import QIcon

from . import commands, process, settings
from .program import ProgramError

_TABLE = ("┏", "┃", "┡", "│", "└")  # how the lines of a table begin
OUTPUT = "OUTPUT"
HTML = "OUTPUT_HTML"


class SpectrawalkAlgorithm(QgsProcessingAlgorithm):
    """An algorithm that runs a command of the program.

    Subclasses name themselves, and say what they take, run and give.
    """

    NAME = ""
    TITLE = ""
    SUMMARY = ""
    HELP = ""

    def createInstance(self) -> SpectrawalkAlgorithm:
        """Make another one."""
        return type(self)()

    def name(self) -> str:
        """Last part of its name, as in ``spectrawalk:cluster``."""
        return self.NAME

    def displayName(self) -> str:
        """Name in the toolbox."""
        return self.TITLE

    def shortDescription(self) -> str:
        """Text under the pointer in the toolbox."""
        return self.SUMMARY

    def shortHelpString(self) -> str:
        """Text beside the parameters."""
        return " ".join(f"<p>{self.SUMMARY}</p>{self.HELP}".split())  # QGIS keeps line breaks

    def icon(self) -> QIcon:
        """Picture in the toolbox."""
        return self.provider().icon() if self.provider() else QIcon()

    def canExecute(self) -> tuple[bool, str]:
        """Say before the dialog opens that the program is missing."""
        try:
            settings.program()
        except QgsProcessingException as error:
            return False, str(error)
        return True, ""

    def run_program(
        self,
        arguments: Sequence[str],
        feedback: QgsProcessingFeedback,
        folder: Path,
    ) -> bool:
        """Run the program; return whether it came to its end, and was not canceled."""
        program = settings.program()
        feedback.pushCommandInfo(" ".join(map(_quoted, ["spectrawalk", *arguments])))
        try:
            process.run(
                program,
                arguments,
                hear=_Hearer(feedback),
                canceled=feedback.isCanceled,
                folder=folder,
            )
        except process.Canceled as stopped:
            feedback.pushInfo(str(stopped))
            return False
        except ProgramError as error:
            raise QgsProcessingException(str(error)) from error
        return True

    def file_of_layer(self, parameters: dict[str, Any], name: str, context: Any) -> str:
        """Find the file of a raster layer; nothing, if none is given."""
        if not parameters.get(name):
            return ""
        layer = self.parameterAsRasterLayer(parameters, name, context)
        if layer is None:
            raise QgsProcessingException(self.invalidRasterError(parameters, name))
        path = commands.file_of(layer.source())
        if not Path(path).exists():
            raise QgsProcessingException(
                f"the layer '{layer.name()}' is not a file on this computer; export it as GeoTIFF, "
                "and take that layer."
            )
        return path

    def output_folder(self, parameters: dict[str, Any], context: Any) -> Path:
        """Folder that the program writes to; it need not exist."""
        return Path(self.parameterAsString(parameters, OUTPUT, context))


def advanced(parameter: QgsProcessingParameterDefinition) -> QgsProcessingParameterDefinition:
    """Move a parameter to the advanced ones."""
    flag = QgsProcessingParameterDefinition.Flag.FlagAdvanced
    parameter.setFlags(parameter.flags() | flag)
    return parameter


def explained(
    parameter: QgsProcessingParameterDefinition, text: str
) -> QgsProcessingParameterDefinition:
    """Give a parameter the text that appears under the pointer."""
    parameter.setHelp(text)
    return parameter


def number_of_clusters() -> QgsProcessingParameterDefinition:
    """Parameter for the number of clusters, of which 0 stands for an estimate."""
    return explained(
        QgsProcessingParameterNumber(
            "CLUSTERS",
            "Number of clusters (0: estimated)",
            QgsProcessingParameterNumber.Type.Integer,
            0,
            minValue=0,
        ),
        "0 takes the largest number of clusters that the runs support.",
    )


def optional_number(parameters: dict[str, Any], name: str) -> float | None:
    """Value of a number that may be left open."""
    value = parameters.get(name)
    return None if value in (None, "") else float(value)


def results_of_run(folder: Path, title: str, context: QgsProcessingContext) -> dict[str, Any]:
    """Put the map of a run into the project, and name its files."""
    found = commands.found_in(folder)
    n_clusters = found.get("n_clusters", 0)
    path = folder / commands.MAP
    show(path, f"{title}, {n_clusters} cluster{'s' * (n_clusters != 1)}", "LABELS", context)
    certainty = [folder / name for name in commands.CERTAINTIES if (folder / name).is_file()]
    report = folder / commands.REPORT
    return {
        OUTPUT: str(folder),
        "LABELS": str(path),
        "CERTAINTY": str(certainty[0]) if certainty else None,
        "FOUND": n_clusters,
        HTML: str(report) if report.is_file() else None,
    }


def show(path: Path, title: str, output: str, context: QgsProcessingContext) -> None:
    """Have a map loaded into the project when the algorithm ends, with the style beside it."""
    details = QgsProcessingContext.LayerDetails(
        title, context.project(), output, QgsProcessingUtils.LayerHint.Raster
    )
    _stylers[str(path)] = _Styler()
    details.setPostProcessor(_stylers[str(path)])
    context.addLayerToLoadOnCompletion(str(path), details)


def refresh(path: Path, context: QgsProcessingContext) -> bool:
    """Read a map again where it is in the project; return whether it is."""
    layers = [
        layer
        for layer in (context.project().mapLayers().values() if context.project() else ())
        if isinstance(layer, QgsRasterLayer) and Path(commands.file_of(layer.source())) == path
    ]
    for layer in layers:
        layer.dataProvider().reloadData()
        layer.loadDefaultStyle()
        layer.triggerRepaint()
    return bool(layers)


class _Styler(QgsProcessingLayerPostProcessorInterface):
    """Gives a map the style beside it, which Processing does not look for, and opens its legend."""

    def postProcessLayer(
        self, layer: QgsMapLayer, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> None:
        """Load the style; QGIS calls this."""
        layer.loadDefaultStyle()
        layer.triggerRepaint()
        project = context.project()
        entry = project.layerTreeRoot().findLayer(layer.id()) if project else None
        if entry is not None:
            entry.setExpanded(True)


# QGIS calls a styler after the algorithm is gone, and deletes it then: a new one for each layer.
_stylers: dict[str, _Styler] = {}


class _Hearer:
    """Shows in QGIS what the program reports."""

    _EVERY = 1.0  # seconds between two texts: stages of small scenes follow each other faster

    def __init__(self, feedback: QgsProcessingFeedback) -> None:
        self._feedback = feedback
        self._share = 0.0
        self._last: tuple[str, float] = ("", 0.0)

    def __call__(self, report: process.Report) -> None:
        if report.share is None:
            self._tell(report)
            return
        self._share = max(self._share, report.share)
        self._feedback.setProgress(100 * self._share)
        text, when = self._last
        now = time.monotonic()
        if report.text != text and now - when > self._EVERY:
            self._feedback.setProgressText(report.text)
            self._last = report.text, now

    def _tell(self, report: process.Report) -> None:
        text = report.text
        if not report.error:
            table = text.startswith(_TABLE)  # whose columns need the spaces that QGIS drops
            self._feedback.pushConsoleInfo(text.replace(" ", "\u00a0") if table else text)
        elif text.startswith("Warning: "):
            self._feedback.pushWarning(text[len("Warning: ") :])
        elif not text.startswith("Error: "):  # an error becomes the algorithm's
            self._feedback.pushInfo(text)


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word
