"""Where the program ``spectrawalk`` is, and whether it is recent enough. Needs no QGIS."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST = (0, 1, 0)
"""Oldest version of spectrawalk that has the options that the plugin uses."""

VARIABLE = "SPECTRAWALK_PROGRAM"
"""Environment variable that overrides the setting."""

_SETTING = "Settings > Options > Processing > Providers > Spectrawalk"
_UPDATE = "pip install --upgrade spectrawalk"
_PATIENCE = 60.0  # seconds for the first start on a slow disk
# QGIS sets these for its own Python, GDAL and PROJ; those of spectrawalk would fail with them.
_OF_QGIS = (
    "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__",
    "GDAL_DATA", "GDAL_DRIVER_PATH", "PROJ_LIB", "PROJ_DATA",
)  # fmt: skip

WINDOWS = sys.platform == "win32"
NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Flag that keeps Windows from opening a terminal for the program."""


class ProgramError(Exception):
    """The program is missing, too old, or has failed; the text is for the user."""


@dataclass(frozen=True)
class Program:
    """How to start spectrawalk.

    Attributes
    ----------
    command : tuple of str
        The program, or Python with its arguments.
    """

    command: tuple[str, ...]

    def check(self) -> str:
        """Return the version, or say why the program cannot be used."""
        try:
            asked = subprocess.run(
                [*self.command, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=environment(),
                timeout=_PATIENCE,
                creationflags=NO_WINDOW,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ProgramError(
                f"{self} does not answer within {_PATIENCE:.0f} seconds; {_advice()}."
            ) from None
        except OSError as error:
            raise ProgramError(
                f"{self} cannot be started: {error.strerror or error}; {_advice()}."
            ) from error
        if "No module named spectrawalk" in asked.stderr:
            raise ProgramError(
                f"spectrawalk is not installed in the Python '{self.command[0]}'; install it "
                f"there, or {_advice()}."
            )
        version = version_in(asked.stdout)
        if asked.returncode != 0 or version is None:
            raise ProgramError(f"{self} is not spectrawalk; {_advice()}.")
        if version < OLDEST:
            raise ProgramError(
                f"spectrawalk {_dotted(version)} is too old for this plugin, which needs "
                f"{_dotted(OLDEST)}; update it with: {_UPDATE}"
            )
        return _dotted(version)

    def __str__(self) -> str:
        return f"'{self.command[0]}'"


def find(setting: str, variables: Mapping[str, str] | None = None) -> Program:
    """Find the program.

    The environment variable counts first, then the setting, then what is on PATH or in the folder
    to which pipx and uv install.

    Parameters
    ----------
    setting : str
        Path of the program, of a Python, or of the folder of an environment; may be empty.
    variables : mapping, optional
        Environment variables; by default those of this process.

    Examples
    --------
    >>> find("/nowhere/spectrawalk", {})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    spectrawalk_qgis.program.ProgramError: '/nowhere/spectrawalk', which the setting ... ...
    """
    variables = os.environ if variables is None else variables
    if variables.get(VARIABLE, "").strip():
        return _named(variables[VARIABLE], f"the environment variable {VARIABLE}")
    if setting.strip():
        return _named(setting, f"the setting {_SETTING}")
    folders = [variables.get("PATH", ""), str(Path.home() / ".local" / "bin")]
    found = shutil.which("spectrawalk", path=os.pathsep.join(filter(None, folders)))
    if found is None:
        raise ProgramError(
            f"spectrawalk was not found on this computer; install it, and {_advice()}."
        )
    return Program((found,))


def _named(path: str, where: str) -> Program:
    """Find the program that a path leads to."""
    given = Path(path.strip().strip('"')).expanduser()
    if not given.exists():
        raise ProgramError(
            f"'{given}', which {where} names, does not exist; give there the path of spectrawalk "
            "or of the Python in which it is installed."
        )
    if given.is_dir():
        names = ("Scripts/spectrawalk.exe", "spectrawalk.exe") if WINDOWS else (
            "bin/spectrawalk", "spectrawalk")  # fmt: skip
        inside = [given / name for name in names if (given / name).is_file()]
        if not inside:
            raise ProgramError(
                f"the folder '{given}', which {where} names, does not hold spectrawalk; give "
                "there the path of spectrawalk or of the Python in which it is installed."
            )
        return Program((str(inside[0]),))
    if re.match(r"(python|pypy)[\d.]*w?(\.exe)?$", given.name, re.IGNORECASE):
        return Program((str(given), "-m", "spectrawalk"))
    return Program((str(given),))


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables for the program: those of QGIS, without what QGIS sets for its own libraries.

    Examples
    --------
    >>> found = environment({"PYTHONHOME": "/qgis", "LANG": "en"})
    >>> found["LANG"], "PYTHONHOME" in found
    ('en', False)
    """
    kept = {
        name: value
        for name, value in (os.environ if variables is None else variables).items()
        if name not in _OF_QGIS
    }
    return kept | {"PYTHONIOENCODING": "utf-8", "SPECTRAWALK_PROGRESS": "json"}


def version_in(text: str) -> tuple[int, ...] | None:
    """Read what ``spectrawalk --version`` prints.

    Examples
    --------
    >>> version_in("spectrawalk, version 0.1.0")
    (0, 1, 0)
    >>> version_in("Python 3.11.2") is None
    True
    """
    found = re.search(r"\bspectrawalk, version (\d+(?:\.\d+)*)", text)
    return tuple(map(int, found[1].split("."))) if found else None


def lacks_command(name: str, version: str) -> str:
    """Say that the program is too old for a command."""
    return f"the installed spectrawalk {version} has no command `{name}`; update it with: {_UPDATE}"


def _advice() -> str:
    return (
        f"give its path, or that of the Python in which it is installed, in {_SETTING}, or in the "
        f"environment variable {VARIABLE}"
    )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
