"""The plugin as QGIS sees it: something that is loaded and unloaded."""

from __future__ import annotations

from qgis.core import QgsApplication

from .provider import SpectrawalkProvider


class SpectrawalkPlugin:
    """Adds the provider to Processing, and takes it away again."""

    def __init__(self) -> None:
        self._provider: SpectrawalkProvider | None = None

    def initProcessing(self) -> None:
        """Add the provider; ``qgis_process`` calls this only."""
        self._provider = SpectrawalkProvider()
        QgsApplication.processingRegistry().addProvider(self._provider)

    def initGui(self) -> None:
        """Add the provider to the toolbox."""
        self.initProcessing()

    def unload(self) -> None:
        """Remove the provider."""
        if self._provider is not None:
            QgsApplication.processingRegistry().removeProvider(self._provider)
            self._provider = None
