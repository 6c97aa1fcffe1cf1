"""``spectrawalk:cluster``: a scene in, a map of its clusters out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProcessingOutputHtml,
    QgsProcessingOutputNumber,
    QgsProcessingOutputRasterLayer,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFile,
    QgsProcessingParameterFolderDestination,
    QgsProcessingParameterMapLayer,
    QgsProcessingParameterNumber,
    QgsProcessingParameterRasterLayer,
    QgsProcessingParameterString,
    QgsRasterLayer,
)
from qgis.PyQt.QtCore import QCoreApplication, QThread
from qgis.utils import iface

from . import commands
from .algorithm import (
    HTML,
    OUTPUT,
    SpectrawalkAlgorithm,
    advanced,
    explained,
    number_of_clusters,
    optional_number,
    results_of_run,
)


class ClusterAlgorithm(SpectrawalkAlgorithm):
    """Clusters a hyperspectral image."""

    NAME = "cluster"
    TITLE = "Cluster"
    SUMMARY = "Clusters the pixels of a hyperspectral image, without training labels."
    HELP = """
<p>Give a <b>layer</b>, or a <b>file</b> that QGIS cannot open as one (EMIT, PRISMA, EnMAP, MATLAB,
NumPy, Zarr). Bands and pixels that cannot be used are excluded, and listed in the log.</p>
<p><b>Number of clusters</b>: 0 takes the largest number that the runs support. Cut makes maps with
other numbers in seconds.</p>
<p><b>Detail</b>: fields if the map is too speckled, materials if it is too smooth.</p>
<p>The output folder receives the map with its legend, the confidence of each label, the spectra of
the clusters, a report for the browser, and a record from which the run can be repeated. Results
of an earlier run in this folder are replaced.</p>"""

    def initAlgorithm(self, configuration: dict[str, Any] | None = None) -> None:
        """Declare parameters and outputs."""
        add = self.addParameter
        scene = QgsProcessingParameterRasterLayer("SCENE", "Hyperspectral image: layer", None, True)
        scene.setGuiDefaultValueOverride(_active_image())
        add(scene)
        add(
            explained(
                QgsProcessingParameterFile(
                    "FILE",
                    "or a file (EMIT, PRISMA, EnMAP, MATLAB, NumPy)",
                    optional=True,
                ),
                "A file that QGIS cannot open as a layer. Of EnMAP, the METADATA.XML.",
            )
        )
        add(number_of_clusters())
        add(
            QgsProcessingParameterEnum(
                "DETAIL",
                "Detail",
                ["automatic", "fields (smoother)", "materials (finer)"],
                defaultValue=0,
            )
        )
        for parameter in _advanced_parameters():
            add(advanced(parameter))
        add(QgsProcessingParameterFolderDestination(OUTPUT, "Results folder"))
        declare_results(self)

    def checkParameterValues(
        self, parameters: dict[str, Any], context: QgsProcessingContext
    ) -> tuple[bool, str]:
        """Say before the run what does not go together."""
        good, why = super().checkParameterValues(parameters, context)
        if not good:
            return good, why
        given = [name for name in ("SCENE", "FILE") if parameters.get(name)]
        if not given:
            return False, "Give a hyperspectral image, as a layer or as a file."
        if len(given) == 2:
            return False, "Give the image as a layer or as a file, not both; clear one of them."
        chosen = self._choices(parameters, context)
        wrong = commands.contradiction(
            **{name: chosen[name] for name in ("detail", "method", "radius")}
        )
        return not wrong, wrong

    def processAlgorithm(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        feedback: QgsProcessingFeedback,
    ) -> dict[str, Any]:
        """Run the program."""
        scene = self.file_of_layer(parameters, "SCENE", context)
        scene = scene or self.parameterAsFile(parameters, "FILE", context)
        folder = self.output_folder(parameters, context)
        choices = self._choices(parameters, context)
        mask = self._mask(parameters, context, feedback)
        command = commands.cluster(scene, folder, mask=mask, **choices)
        if not self.run_program(command, feedback, folder):
            return {}
        return results_of_run(folder, Path(scene).stem, context)

    def _choices(self, parameters: dict[str, Any], context: QgsProcessingContext) -> dict[str, Any]:
        radius = optional_number(parameters, "RADIUS")
        return {
            "n_clusters": self.parameterAsInt(parameters, "CLUSTERS", context),
            "detail": commands.DETAILS[self.parameterAsEnum(parameters, "DETAIL", context)],
            "method": commands.METHODS[self.parameterAsEnum(parameters, "METHOD", context)],
            "radius": None if radius is None else int(radius),
            "wavelengths": self.parameterAsString(parameters, "WAVELENGTHS", context),
            "extra": self.parameterAsString(parameters, "EXTRA", context),
        }

    def _mask(
        self,
        parameters: dict[str, Any],
        context: QgsProcessingContext,
        feedback: QgsProcessingFeedback,
    ) -> str:
        """Find the file of the mask; polygons are written as GeoJSON, which needs no extra."""
        if not parameters.get("MASK"):
            return ""
        layer = self.parameterAsLayer(parameters, "MASK", context)
        if layer is None:
            raise QgsProcessingException("the mask cannot be opened; choose another layer.")
        if isinstance(layer, QgsRasterLayer):
            return self.file_of_layer(parameters, "MASK", context)
        return self.parameterAsCompatibleSourceLayerPath(
            parameters, "MASK", context, ["geojson"], "geojson", feedback
        )


def _active_image() -> str | None:
    """Layer that is chosen in the dialog when it opens: the active one, if it has many bands."""
    application = QCoreApplication.instance()
    if iface is None or application is None or QThread.currentThread() != application.thread():
        return None
    layer = iface.activeLayer()
    many = isinstance(layer, QgsRasterLayer) and layer.bandCount() > 3
    return layer.id() if many else None


def _advanced_parameters() -> list[Any]:
    return [
        QgsProcessingParameterEnum(
            "METHOD",
            "Method",
            ["SpectraWalk: consensus of many runs, no tuning", "SRDL: one run, as in the paper"],
            defaultValue=0,
        ),
        explained(
            QgsProcessingParameterNumber(
                "RADIUS",
                "Window radius in pixels, for SRDL (not set: 8)",
                QgsProcessingParameterNumber.Type.Integer,
                None,
                True,
                1,
            ),
            "Half-width of the window in which a pixel's neighbours are searched.",
        ),
        explained(
            QgsProcessingParameterMapLayer(
                "MASK",
                "Mask: raster or polygons",
                None,
                True,
                [QgsProcessing.SourceType.TypeRaster, QgsProcessing.SourceType.TypeVectorPolygon],
            ),
            "Only pixels inside the polygons, or where the raster is not 0, are used.",
        ),
        explained(
            QgsProcessingParameterString(
                "WAVELENGTHS", "Wavelengths in nm, such as 450:900", None, False, True
            ),
            "Only bands in this range are used. Several ranges: 450:900, 2000:2400",
        ),
        explained(
            QgsProcessingParameterString(
                "EXTRA", "Further options of `spectrawalk cluster`", None, False, True
            ),
            "For example --variable cube, or --crop 0:500,0:500.",
        ),
    ]


def declare_results(algorithm: SpectrawalkAlgorithm) -> None:
    """Declare what a results folder offers to models and scripts."""
    algorithm.addOutput(QgsProcessingOutputRasterLayer("LABELS", "Map of the clusters"))
    algorithm.addOutput(
        QgsProcessingOutputRasterLayer("CERTAINTY", "Confidence or margin of each label")
    )
    algorithm.addOutput(QgsProcessingOutputNumber("FOUND", "Number of clusters"))
    algorithm.addOutput(QgsProcessingOutputHtml(HTML, "Report"))
