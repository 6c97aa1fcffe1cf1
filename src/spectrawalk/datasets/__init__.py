"""Scenes to work on: published ones by name, and synthetic ones of any size."""

from spectrawalk.datasets.scenes import load_scene, scene_names
from spectrawalk.datasets.synthetic import make_scene

__all__ = ["load_scene", "make_scene", "scene_names"]
