"""Settings that reproduce the paper's results on its scenes (docs/decisions/paper-settings.md)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from spectrawalk.parameters import check_choice

PAPER_SCENES = ("indian-pines-subset", "salinas-a", "ksc-subset")


def paper_settings(method: str, scene: str) -> dict[str, Any]:
    """Parameters that come closest to the paper's result of a method on a scene.

    Parameters
    ----------
    method : {"SRDL", "DLSS", "DL"}
    scene : {"indian-pines-subset", "salinas-a", "ksc-subset"}

    Examples
    --------
    >>> paper_settings("SRDL", "ksc-subset")
    {'n_clusters': 4, 'n_eigenpairs': 10, 'symmetrize': None, 'radius': 20}
    """
    check_choice("scene", scene, PAPER_SCENES)
    settings: dict[str, Any] = {
        "n_clusters": {"indian-pines-subset": 3, "salinas-a": 6, "ksc-subset": 4}[scene],
        "n_eigenpairs": {"indian-pines-subset": 10, "salinas-a": 6, "ksc-subset": 10}[scene],
        "symmetrize": None,
    }
    if method == "SRDL":
        # The paper has 20 for Salinas A, but there the result is sensitive to the last digits of
        # two eigenvalues. 12 gives the paper's result on every machine.
        settings["radius"] = {"indian-pines-subset": 8, "salinas-a": 12, "ksc-subset": 20}[scene]
    elif scene == "salinas-a":
        settings["symmetrize"] = "max"
    elif method == "DLSS":
        settings |= {"stage1": "most-frequent-first", "open_parent": "open", "own_vote": True}
    return settings


class PresetsMixin:
    """Gives SRDL, DLSS and DL the settings of their paper."""

    _method: ClassVar[str]

    @classmethod
    def from_paper(cls, scene: str) -> Self:
        """Create the estimator with the settings that reproduce the paper's result on a scene.

        Parameters
        ----------
        scene : {"indian-pines-subset", "salinas-a", "ksc-subset"}
        """
        return cls(**paper_settings(cls._method, scene))
