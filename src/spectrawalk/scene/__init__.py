"""Scene: a hyperspectral cube, where it lies on the ground, and what in it is usable."""

from spectrawalk.scene.orthorectification import Orthorectification, Transform, move_transform
from spectrawalk.scene.scene import Scene, check_bands, check_window

__all__ = [
    "Orthorectification",
    "Scene",
    "Transform",
    "check_bands",
    "check_window",
    "move_transform",
]
