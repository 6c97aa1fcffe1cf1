"""Settings of each method on the paper's scenes."""

from __future__ import annotations

from typing import Any

from spectrawalk.errors import SceneNotFoundError
from spectrawalk.estimators import DL, DLSS, SRDL
from spectrawalk.estimators.presets import PAPER_SCENES

_TUNED: dict[str, type[Any]] = {"srdl": SRDL, "dlss": DLSS, "dl": DL}


def paper_settings(scene: str) -> dict[str, dict[str, Any]]:
    """Parameters of the methods with special settings for a scene.

    SRDL, DLSS and DL have the settings of ``from_paper``. All other methods run with their defaults
    and the number of classes.

    Examples
    --------
    >>> paper_settings("indian-pines-subset")["srdl"]["radius"]
    8
    """
    return {name: kind.from_paper(scene).get_params() for name, kind in _TUNED.items()}


def choose_scenes(names: str) -> list[str]:
    """Parse a comma-separated list of the paper's scenes, or ``all``.

    Examples
    --------
    >>> choose_scenes("all")
    ['indian-pines-subset', 'salinas-a', 'ksc-subset']
    """
    if names.strip() == "all":
        return list(PAPER_SCENES)
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in PAPER_SCENES]
    if unknown or not wanted:
        found = ", ".join(map(repr, unknown)) or repr(names)
        raise SceneNotFoundError(
            f"scene {found} is not in the paper; choose all, or from {', '.join(PAPER_SCENES)}."
        )
    return wanted
