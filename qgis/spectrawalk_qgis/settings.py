"""The setting of the plugin: Settings > Options > Processing > Providers > Spectrawalk."""

from __future__ import annotations

from typing import Any

from processing.core.ProcessingConfig import ProcessingConfig, Setting
from qgis.core import QgsProcessingException

from .program import Program, ProgramError, find

GROUP = "Spectrawalk"
_PATH = "SPECTRAWALK_PATH"
_WHAT = "spectrawalk, or the Python in which it is installed (empty: search on PATH)"


def add(icon: Any) -> None:
    """Make the setting known to Processing, and read it."""
    ProcessingConfig.settingIcons[GROUP] = icon
    ProcessingConfig.addSetting(Setting(GROUP, _PATH, _WHAT, "", valuetype=Setting.FILE))
    ProcessingConfig.readSettings()


def remove() -> None:
    """Take the setting away."""
    ProcessingConfig.removeSetting(_PATH)


def program() -> Program:
    """Find the program that the setting names.

    Raises
    ------
    QgsProcessingException
        If there is none; its text says what to do.
    """
    try:
        return find(ProcessingConfig.getSetting(_PATH) or "")
    except ProgramError as error:
        raise QgsProcessingException(str(error)) from error
