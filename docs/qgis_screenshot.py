"""Draw the picture of QGIS in docs/qgis.md: ``python docs/qgis_screenshot.py``.

Installs the plugin in a QGIS without a profile, clusters the EnMAP scene of Potsdam with the dialog
of the algorithm, and writes docs/qgis.png. It needs QGIS and Xvfb (Debian: qgis, xvfb), the scene
in the folder of SPECTRAWALK_DATA, and takes about a minute.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

SIZE = 1360, 820
_SETTINGS = """\
[PythonPlugins]
spectrawalk_qgis=true
processing=true
[qgis]
checkVersion=false
showTips=false
[app]
projections\\promptWhenMultipleTransformsExist=false
"""


def main() -> None:
    """Start QGIS on a screen of its own, which runs this file inside."""
    picture = Path(__file__).with_name("qgis.png")
    build = [sys.executable, picture.parent.parent / "qgis" / "build.py"]
    with tempfile.TemporaryDirectory() as home:
        packed = subprocess.run([*build, home], check=True, capture_output=True, text=True).stdout
        profile = Path(home, "profiles", "default")
        Path(profile, "QGIS").mkdir(parents=True)
        Path(profile, "QGIS", "QGIS3.ini").write_text(_SETTINGS)
        with zipfile.ZipFile(packed.strip()) as plugin:
            plugin.extractall(profile / "python" / "plugins")
        scene = Path(os.environ["SPECTRAWALK_DATA"], "enmap-potsdam-north", "cube.tif")
        shutil.copy(scene, Path(home, "potsdam.tif"))
        screen = f"-screen 0 {SIZE[0]}x{SIZE[1]}x24"
        command = ["xvfb-run", "--auto-servernum", "--server-args", screen, "qgis", "--nologo"]
        variables = os.environ | {
            "HOME": home,
            "QGIS_CUSTOM_CONFIG_PATH": home,
            "SPECTRAWALK_PROGRAM": str(Path(sys.executable).with_name("spectrawalk")),
            "SPECTRAWALK_SCREENSHOT": str(picture),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        picture.unlink(missing_ok=True)
        program = subprocess.Popen(
            [*command, "--code", __file__], env=variables, start_new_session=True
        )
        try:
            program.wait(200)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    if not picture.exists():
        raise SystemExit("QGIS ended without a picture; see above.")


def take_picture() -> None:
    """Cluster with the dialog, and take the picture; runs inside QGIS."""
    import processing
    from qgis.core import QgsProject, QgsRasterLayer
    from qgis.PyQt.QtCore import QTimer
    from qgis.PyQt.QtWidgets import QApplication, QDockWidget, QToolBar
    from qgis.utils import iface

    window = iface.mainWindow()
    window.setGeometry(0, 0, *SIZE)
    for bar in window.findChildren(QToolBar):
        bar.setVisible(bar.objectName() in ("mFileToolBar", "mMapNavToolBar"))
    for dock in window.findChildren(QDockWidget):
        dock.setVisible(dock.objectName() in ("Layers", "ProcessingToolbox"))
    window.findChild(QDockWidget, "ProcessingToolbox").searchBox.setText("spectrawalk")
    scene = QgsRasterLayer(os.path.expanduser("~/potsdam.tif"), "potsdam")
    QgsProject.instance().addMapLayer(scene)
    dialog = processing.createAlgorithmDialog(
        "spectrawalk:cluster", {"SCENE": scene, "CLUSTERS": 6}
    )
    dialog.setGeometry(610, 330, 745, 485)
    dialog.show()

    def finished(*_: object) -> None:
        dialog.showParameters()
        beside = scene.extent()  # with room for the dialog
        beside.setXMinimum(beside.xMinimum() - 0.03 * beside.width())
        beside.setXMaximum(beside.xMaximum() + 0.2 * beside.width())
        beside.setYMinimum(beside.yMinimum() - 0.4 * beside.height())
        iface.mapCanvas().setExtent(beside)
        QTimer.singleShot(2000, iface.messageBar().clearWidgets)
        QTimer.singleShot(4000, take)

    def take() -> None:
        picture = QApplication.primaryScreen().grabWindow(0)
        picture.save(os.environ["SPECTRAWALK_SCREENSHOT"])
        os._exit(0)  # without the question whether to keep the project

    dialog.algorithmFinished.connect(finished)
    QTimer.singleShot(2000, dialog.runButton().click)


if "qgis.utils" in sys.modules:
    take_picture()
elif __name__ == "__main__":
    main()
