"""Scenes larger than memory, and several scenes with one legend, in tiles."""
