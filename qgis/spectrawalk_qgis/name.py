"""``spectrawalk:name``: names of materials for the clusters of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingOutputFile,
    QgsProcessingOutputHtml,
    QgsProcessingOutputRasterLayer,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterMultipleLayers,
    QgsProcessingParameterNumber,
    QgsProcessingParameterRasterLayer,
)

from . import commands
from .algorithm import (
    HTML,
    SpectrawalkAlgorithm,
    advanced,
    explained,
    optional_number,
    refresh,
    show,
)

NAMES, PAGE = "names.csv", "names.html"


class NameAlgorithm(SpectrawalkAlgorithm):
    """Compares the spectra of clusters with spectral libraries."""

    NAME = "name"
    TITLE = "Name"
    SUMMARY = (
        "Compares the mean spectra of the clusters with spectral libraries, and names the clusters."
    )
    HELP = """
<p>Give the map of an earlier run, its <code>labels.tif</code>, in the folder that Cluster or Cut
wrote, and one or several spectral libraries: ENVI (.sli), text of USGS or ECOSTRESS, CSV.</p>
<p>The matches go to <code>names.csv</code> and <code>names.html</code> in that folder. With
<b>Put the names into the legend</b>, clusters with a good match get the name of the nearest library
spectrum, in the legend, in the attribute table and in the report of the run.</p>"""

    def initAlgorithm(self, configuration: dict[str, Any] | None = None) -> None:
        """Declare parameters and outputs."""
        self.addParameter(QgsProcessingParameterRasterLayer("MAP", "Map of the clusters"))
        self.addParameter(
            QgsProcessingParameterMultipleLayers(
                "LIBRARIES", "Spectral libraries", QgsProcessing.SourceType.TypeFile
            )
        )
        self.addParameter(
            QgsProcessingParameterBoolean("ACCEPT", "Put the names into the legend", False)
        )
        angle = QgsProcessingParameterNumber(
            "ANGLE",
            "Largest spectral angle of a good match, in radians",
            QgsProcessingParameterNumber.Type.Double,
            None,
            True,
            0,
        )
        self.addParameter(
            advanced(
                explained(
                    angle,
                    "Not set: of each cluster, the angle to its mean spectrum that 95 % of its "
                    "pixels do not exceed.",
                )
            )
        )
        self.addOutput(QgsProcessingOutputRasterLayer("LABELS", "Map of the clusters"))
        self.addOutput(QgsProcessingOutputFile("NAMES", "Matches of each cluster"))
        self.addOutput(QgsProcessingOutputHtml(HTML, "Matches of each cluster, with spectra"))

    def processAlgorithm(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        feedback: QgsProcessingFeedback,
    ) -> dict[str, Any]:
        """Run the program."""
        self._map = Path(self.file_of_layer(parameters, "MAP", context))
        self._accepted = self.parameterAsBool(parameters, "ACCEPT", context)
        results = self._map.parent
        command = commands.name(
            str(results),
            libraries=self.parameterAsFileList(parameters, "LIBRARIES", context),
            accept=self._accepted,
            angle=optional_number(parameters, "ANGLE"),
        )
        self._done = self.run_program(command, feedback, results)
        if not self._done:
            return {}
        files = {"NAMES": results / NAMES, HTML: results / PAGE}
        found = {key: str(path) if path.is_file() else None for key, path in files.items()}
        return {"LABELS": str(self._map)} | found

    def postProcessAlgorithm(
        self, context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Show the new legend, where the map is in the project already."""
        if self._done and self._accepted and not refresh(self._map, context):
            show(self._map, "Named clusters", "LABELS", context)
        return {}
