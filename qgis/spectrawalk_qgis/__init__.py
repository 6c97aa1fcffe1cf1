"""QGIS plugin: the algorithms of spectrawalk in the Processing toolbox."""

from __future__ import annotations

from typing import Any


def classFactory(iface: Any) -> Any:
    """Make the plugin; QGIS calls this."""
    from .plugin import SpectrawalkPlugin

    return SpectrawalkPlugin()
