"""The provider: what appears as Spectrawalk in the Processing toolbox."""

from __future__ import annotations

from pathlib import Path

from qgis.core import QgsProcessingProvider
from qgis.PyQt.QtGui import QIcon

from . import settings
from .cluster import ClusterAlgorithm
from .compare import CompareAlgorithm
from .cut import CutAlgorithm
from .name import NameAlgorithm

ICON = Path(__file__).with_name("icon.svg")


class SpectrawalkProvider(QgsProcessingProvider):
    """The four algorithms, and the setting that says where spectrawalk is."""

    def load(self) -> bool:
        """Make setting and algorithms known."""
        settings.add(self.icon())
        self.refreshAlgorithms()
        return True

    def unload(self) -> None:
        """Take the setting away."""
        settings.remove()

    def loadAlgorithms(self) -> None:
        """Add the algorithms."""
        for algorithm in (ClusterAlgorithm, CutAlgorithm, NameAlgorithm, CompareAlgorithm):
            self.addAlgorithm(algorithm())

    def id(self) -> str:
        """First part of an algorithm's name, as in ``spectrawalk:cluster``."""
        return "spectrawalk"

    def name(self) -> str:
        """Name in the toolbox and in the settings."""
        return settings.GROUP

    def longName(self) -> str:
        """Name where there is room."""
        return "Spectrawalk: clusters of hyperspectral images"

    def icon(self) -> QIcon:
        """Picture in the toolbox."""
        return QIcon(str(ICON))

    def svgIconPath(self) -> str:
        """File of the picture."""
        return str(ICON)
