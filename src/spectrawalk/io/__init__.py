"""Files in and files out; the only part of the package that knows file names and formats.

A new input format is one module with a subclass of ``spectrawalk.io.formats.Format`` and one
entry in ``FORMATS`` of ``spectrawalk.io.reading``.
"""

from spectrawalk.io.atomic import atomic_path
from spectrawalk.io.geotiff_map import write_map
from spectrawalk.io.masks import read_mask
from spectrawalk.io.reading import read_array, read_ground_truth, read_scene
from spectrawalk.io.scene_writers import write_scene
from spectrawalk.io.scenes import scene_from_cube
from spectrawalk.io.spectral_library import read_library
from spectrawalk.io.writers import write_labels_npy, write_labels_png
from spectrawalk.io.xarray_scene import scene_from_xarray

__all__ = [
    "atomic_path",
    "read_array",
    "read_ground_truth",
    "read_library",
    "read_mask",
    "read_scene",
    "scene_from_cube",
    "scene_from_xarray",
    "write_labels_npy",
    "write_labels_png",
    "write_map",
    "write_scene",
]
