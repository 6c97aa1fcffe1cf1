"""Scenes larger than memory, and several scenes with one legend, in tiles."""

from spectrawalk.scale.engine import open_cluster
from spectrawalk.scale.outputs import write_tiled
from spectrawalk.scale.run import cluster_in_tiles, found_in
from spectrawalk.scale.source import Source, open_source

__all__ = [
    "Source",
    "cluster_in_tiles",
    "found_in",
    "open_cluster",
    "open_source",
    "write_tiled",
]
