"""``spectrawalk:cut``: another number of clusters, without a new fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingParameterFolderDestination,
    QgsProcessingParameterRasterLayer,
)

from . import commands
from .algorithm import OUTPUT, SpectrawalkAlgorithm, number_of_clusters, results_of_run
from .cluster import declare_results


class CutAlgorithm(SpectrawalkAlgorithm):
    """Cuts the tree of an earlier run."""

    NAME = "cut"
    TITLE = "Cut (another number of clusters)"
    SUMMARY = "Makes a map with another number of clusters, from the tree of an earlier run."
    HELP = """
<p>Give the map of an earlier run, its <code>labels.tif</code>. It must be in the folder that
Cluster wrote, and the run must be one of SpectraWalk, the default method.</p>
<p>A cluster keeps its number and its colour as long as it is not split.</p>"""

    def initAlgorithm(self, configuration: dict[str, Any] | None = None) -> None:
        """Declare parameters and outputs."""
        self.addParameter(QgsProcessingParameterRasterLayer("MAP", "Map of the clusters"))
        self.addParameter(number_of_clusters())
        self.addParameter(QgsProcessingParameterFolderDestination(OUTPUT, "Results folder"))
        declare_results(self)

    def processAlgorithm(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        feedback: QgsProcessingFeedback,
    ) -> dict[str, Any]:
        """Run the program."""
        results = Path(self.file_of_layer(parameters, "MAP", context)).parent
        folder = self.output_folder(parameters, context)
        n_clusters = self.parameterAsInt(parameters, "CLUSTERS", context)
        command = commands.cut(str(results), folder, n_clusters=n_clusters)
        if not self.run_program(command, feedback, folder):
            return {}
        return results_of_run(folder, "Cut", context)
