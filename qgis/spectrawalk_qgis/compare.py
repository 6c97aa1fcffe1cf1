"""``spectrawalk:compare``: what changed between two maps."""

from __future__ import annotations

from typing import Any

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingOutputFile,
    QgsProcessingOutputHtml,
    QgsProcessingOutputRasterLayer,
    QgsProcessingParameterFolderDestination,
    QgsProcessingParameterRasterLayer,
)

from . import commands
from .algorithm import HTML, OUTPUT, SpectrawalkAlgorithm, show

CHANGE, CHANGES, PAGE = "change.tif", "changes.csv", "compare.html"


class CompareAlgorithm(SpectrawalkAlgorithm):
    """Compares two maps of clusters."""

    NAME = "compare"
    TITLE = "Compare"
    SUMMARY = "Compares two maps of clusters, and maps what differs."
    HELP = """
<p>Give two maps, for example of two dates: <code>labels.tif</code> of Cluster or Cut, or maps of
another program with one whole number per pixel. Both must lie on one grid.</p>
<p>The output folder receives a map of the changes with its legend, a table of them, and a page for
the browser.</p>"""

    def initAlgorithm(self, configuration: dict[str, Any] | None = None) -> None:
        """Declare parameters and outputs."""
        self.addParameter(QgsProcessingParameterRasterLayer("BEFORE", "First map"))
        self.addParameter(QgsProcessingParameterRasterLayer("AFTER", "Second map"))
        self.addParameter(
            QgsProcessingParameterFolderDestination(OUTPUT, "Folder for the comparison")
        )
        self.addOutput(QgsProcessingOutputRasterLayer("CHANGE", "Map of the changes"))
        self.addOutput(QgsProcessingOutputFile("CHANGES", "Table of the changes"))
        self.addOutput(QgsProcessingOutputHtml(HTML, "Comparison"))

    def processAlgorithm(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        feedback: QgsProcessingFeedback,
    ) -> dict[str, Any]:
        """Run the program."""
        maps = [self.file_of_layer(parameters, name, context) for name in ("BEFORE", "AFTER")]
        folder = self.output_folder(parameters, context)
        before, after = map(commands.results_of, maps)
        if not self.run_program(commands.compare(before, after, folder), feedback, folder):
            return {}
        show(folder / CHANGE, "Changes", "CHANGE", context)
        files = {"CHANGE": folder / CHANGE, "CHANGES": folder / CHANGES, HTML: folder / PAGE}
        found = {key: str(path) if path.is_file() else None for key, path in files.items()}
        return {OUTPUT: str(folder)} | found
