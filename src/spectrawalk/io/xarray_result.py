"""A result as a Dataset of xarray, on the grid of its map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import spectrawalk
from spectrawalk.errors import DataError, MissingDependencyError
from spectrawalk.io.xarray_place import GRID_MAPPING, place_coords
from spectrawalk.results.result import Result

if TYPE_CHECKING:
    from xarray import Dataset


def dataset_of(result: Result) -> Dataset:
    """Labels and certainty as a Dataset; see :meth:`spectrawalk.Result.to_xarray`.

    Examples
    --------
    >>> from spectrawalk import SRDL, Result
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((20, 16), n_bands=10, n_classes=2, random_state=0)
    >>> result = Result.of_fit(scene, SRDL(n_clusters=2, n_neighbors=20).fit(scene))
    >>> data = dataset_of(result)
    >>> list(data), data.labels.dims, data.labels.attrs["flag_meanings"]
    (['labels', 'margin'], ('y', 'x'), 'cluster_1 cluster_2')
    """
    try:
        import xarray
    except ImportError as error:
        raise MissingDependencyError(
            "a Dataset needs xarray, which is not installed; get it with "
            '`pip install "spectrawalk[xarray]"`.'
        ) from error
    check_whole(result)
    shown, certainty = result.map, result.certainty
    coords = place_coords(shown.labels.shape, shown.crs, shown.transform)
    told: dict[str, Any] = {
        "long_name": "cluster",
        # As the CF conventions list classes: one word for each.
        "flag_values": np.arange(shown.n_entries, dtype=np.int32),
        "flag_meanings": " ".join("_".join(name.split()) for name in shown.names),
        "flag_colors": " ".join("#{:02x}{:02x}{:02x}".format(*color) for color in shown.colors),
    }
    values = result.certainty_on_map.astype(np.float32)
    data = xarray.Dataset(
        {
            "labels": (("y", "x"), shown.labels.astype(np.int32), told),
            certainty.name: (("y", "x"), values, {"long_name": certainty.meaning}),
        },
        coords=coords,
        attrs={
            "title": result.scene.name,
            "history": result.settings,
            "source": f"spectrawalk {spectrawalk.__version__}",
        },
    )
    if GRID_MAPPING in coords:
        for name in data:
            data[name].encoding["grid_mapping"] = GRID_MAPPING
    return data


def check_whole(result: Result) -> None:
    """Refuse a result in tiles, whose maps are in its files and only thinned in memory."""
    if result.image.cell > 1:
        raise DataError(
            f"this result of scene '{result.scene.name}' holds one of {result.image.cell} rows and "
            "columns; open labels.tif in the folder of the run, which has them all."
        )
