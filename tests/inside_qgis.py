"""Run algorithms as QGIS does, and print what became of them; for QGIS's own Python.

``python3 inside_qgis.py PLUGINS JOBS``: the folder of plugins, and a JSON list of ``{"algorithm",
"parameters", "cancel_at", "program", "opened"}``. With ``cancel_at``, the job is canceled when a
text of its progress contains these words; with ``program``, it is done by this program; ``opened``
are maps that are in the project before.
"""

import json
import os
import sys
import time

sys.path[:0] = ["/usr/share/qgis/python/plugins", sys.argv[1]]

from qgis.core import (  # noqa: E402
    QgsApplication,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProject,
    QgsRasterLayer,
)

application = QgsApplication([], False)
application.initQgis()

import processing  # noqa: E402
from processing.core.Processing import Processing  # noqa: E402
from spectrawalk_qgis.provider import SpectrawalkProvider  # noqa: E402


class Feedback(QgsProcessingFeedback):
    """Notes what is shown, and cancels."""

    def __init__(self, cancel_at):
        super().__init__(False)
        self.cancel_at, self.canceled = cancel_at, None
        self.shown, self.shares = [], []
        self.progressChanged.connect(self.shares.append)

    def setProgressText(self, text):
        self.shown.append(text)
        if self.cancel_at and self.cancel_at in text and self.canceled is None:
            self.canceled = time.monotonic()
            self.cancel()

    def pushInfo(self, text):
        self.shown.append(text)

    pushConsoleInfo = pushInfo
    pushWarning = pushInfo


PROGRAM = os.environ["SPECTRAWALK_PROGRAM"]


def run(algorithm, parameters, cancel_at=None, program=PROGRAM, opened=()):
    """Run one job, load its layers, and say what was seen."""
    os.environ["SPECTRAWALK_PROGRAM"] = program
    QgsProject.instance().addMapLayers([QgsRasterLayer(path, "opened") for path in opened])
    feedback, project = Feedback(cancel_at), QgsProject.instance()
    found = {"error": "", "outputs": {}, "seconds": None}
    try:
        found["outputs"] = processing.runAndLoadResults(algorithm, parameters, feedback=feedback)
    except QgsProcessingException as error:
        found["error"] = str(error)
    if feedback.canceled is not None:
        found["seconds"] = time.monotonic() - feedback.canceled
    found["shown"], found["shares"] = feedback.shown, feedback.shares
    found["layers"] = [
        {
            "name": layer.name(),
            "renderer": layer.renderer().type(),
            "legend": [each.label for each in layer.renderer().classes()],
            "source": layer.source(),
        }
        for layer in project.mapLayers().values()
    ]
    project.clear()
    return found


Processing.initialize()
provider = SpectrawalkProvider()  # kept, as the plugin does
QgsApplication.processingRegistry().addProvider(provider)
with open(sys.argv[2], encoding="utf-8") as file:
    jobs = json.load(file)
print("FOUND " + json.dumps({name: run(**job) for name, job in jobs.items()}))
application.exitQgis()
