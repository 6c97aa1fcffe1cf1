"""Whether a file is a map of clusters that this package wrote."""

from __future__ import annotations

import json
from pathlib import Path

from spectrawalk.errors import SpectrawalkError
from spectrawalk.io.envi_file import EnviFile, read_header
from spectrawalk.io.geotiff_file import GeotiffFile, open_geotiff
from spectrawalk.io.geotiff_map import BAND_NAME
from spectrawalk.io.reading import find_format
from spectrawalk.io.run_record import RECORD_NAME, sha256_of


def is_own_map(path: str | Path) -> bool:
    """Whether a file is a cluster map of ours: by the name of its band, or by the record beside it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from spectrawalk.io.geotiff_map import write_map
    >>> from spectrawalk.results.cluster_map import ClusterMap
    >>> path = tempfile.mkdtemp() + "/field.tif"
    >>> write_map(path, ClusterMap(np.array([[0, 1, -1]]), n_clusters=2))
    >>> is_own_map(path)
    True
    """
    path = Path(path)
    try:
        file_format = find_format(path)
        if isinstance(file_format, GeotiffFile):
            with open_geotiff(path) as source:
                return tuple(source.descriptions) == (BAND_NAME,)
        if isinstance(file_format, EnviFile):
            return read_header(path).band_names(1) == (BAND_NAME,)
        return _in_record_beside(path)
    except SpectrawalkError:
        return False


def _in_record_beside(path: Path) -> bool:
    """Whether the record of a run in the same folder names the file, with its checksum."""
    try:
        record = json.loads((path.parent / RECORD_NAME).read_bytes())
        return bool(record["outputs"][path.name] == sha256_of(path))
    except (OSError, ValueError, RecursionError, TypeError, LookupError):
        return False
