"""Scene: a hyperspectral cube and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError


@dataclass(frozen=True, eq=False)
class Scene:
    """A hyperspectral image with its mask and metadata.

    Attributes
    ----------
    cube : ndarray of shape (rows, cols, bands)
        Any real number type.
    mask : ndarray of bool, shape (rows, cols)
        True where the pixel is valid. Masked pixels may hold anything.
    name : str
        What to call the scene in titles and records.
    wavelengths : ndarray of shape (bands,) or None
        Centre wavelengths in nanometres.
    ground_truth : ndarray of int, shape (rows, cols), or None
        Class of each pixel, 0 where unknown. Never read by a clustering method.
    class_names : dict
        Name of each ground-truth class.
    metadata : dict
        Anything else that the source said, for the record.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> scene = Scene(np.ones((4, 5, 3)))
    >>> scene.shape, scene.n_bands, scene.n_valid
    ((4, 5), 3, 20)
    """

    cube: NDArray[Any]
    mask: NDArray[np.bool_] = None  # type: ignore[assignment]  # filled in below
    name: str = "scene"
    wavelengths: NDArray[np.float64] | None = None
    ground_truth: NDArray[np.integer] | None = None
    class_names: dict[int, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cube = np.asarray(self.cube)
        if cube.ndim != 3:
            raise DataError(
                f"scene '{self.name}': the cube has {cube.ndim} dimensions {cube.shape}; "
                "give an array of shape (rows, cols, bands)."
            )
        if cube.dtype.kind not in "buif":
            raise DataError(
                f"scene '{self.name}': the cube holds {cube.dtype} values; give real numbers."
            )
        object.__setattr__(self, "cube", cube)
        mask = np.ones(self.shape, dtype=bool) if self.mask is None else np.asarray(self.mask)
        object.__setattr__(self, "mask", mask.astype(bool))
        self._check_plane("mask", mask)
        if self.ground_truth is not None:
            self._check_plane("ground truth", np.asarray(self.ground_truth))
        if self.wavelengths is not None and len(self.wavelengths) != self.n_bands:
            raise DataError(
                f"scene '{self.name}': {len(self.wavelengths)} wavelengths for "
                f"{self.n_bands} bands; give one per band, or none."
            )

    def _check_plane(self, what: str, plane: NDArray[Any]) -> None:
        if plane.shape != self.shape:
            raise DataError(
                f"scene '{self.name}': the {what} has shape {plane.shape} but the image "
                f"is {self.shape}; give one value per pixel."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, cols, _ = self.cube.shape
        return rows, cols

    @property
    def n_bands(self) -> int:
        """Number of spectral bands."""
        return int(self.cube.shape[2])

    @property
    def n_valid(self) -> int:
        """Number of pixels that are not masked."""
        return int(np.count_nonzero(self.mask))
