"""Scene: a hyperspectral cube and what is known about it."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectrawalk.errors import DataError, ParameterError
from spectrawalk.scene.orthorectification import (
    Orthorectification,
    Transform,
    check_transform,
    move_transform,
)
from spectrawalk.scene.usability import constant_pixels, count_masked, unusable_pixels


@dataclass(frozen=True, eq=False)
class Scene:
    """A hyperspectral image with its mask and metadata.

    Attributes
    ----------
    cube : ndarray of shape (rows, cols, bands)
        Any real number type. A pixel of a NumPy masked array that is masked in any band becomes a
        masked pixel.
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
    fwhm : ndarray of shape (bands,) or None
        Full widths at half maximum, in nanometres.
    good_bands : ndarray of bool, shape (bands,), or None
        False where the source calls a band bad, or a band holds nothing.
    band_names : tuple of str or None
    band_numbers : ndarray of int, shape (bands,)
        Number of each band in the file that it was read from, counted from 1. A choice of bands
        keeps the numbers of those that are left; without a file they are 1, 2, ...
    crs : str or None
        Coordinate reference system, as WKT.
    transform : tuple of 6 floats or None
        (a, b, c, d, e, f): x = a col + b row + c and y = d col + e row + f at the corners of
        pixels.
    orthorectify : Orthorectification or None
        How to lay the image out on a map, if it is in sensor geometry.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> scene = Scene(np.ones((4, 5, 3)), wavelengths=[450, 550, 650])
    >>> scene
    Scene 'scene' (4 x 5 pixels, 3 bands, 450 to 650 nm, 20 valid)
    >>> part = scene.crop(slice(1, 3), slice(0, 5)).select_bands([0, 2])
    >>> part.shape, part.wavelengths
    ((2, 5), array([450., 650.]))
    """

    cube: NDArray[Any]
    mask: NDArray[np.bool_] = None  # type: ignore[assignment]  # filled in below
    name: str = "scene"
    wavelengths: NDArray[np.float64] | None = None
    ground_truth: NDArray[np.integer] | None = None
    class_names: dict[int, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    fwhm: NDArray[np.float64] | None = None
    good_bands: NDArray[np.bool_] | None = None
    band_names: tuple[str, ...] | None = None
    crs: str | None = None
    transform: Transform | None = None
    orthorectify: Orthorectification | None = None
    band_numbers: NDArray[np.intp] = None  # type: ignore[assignment]  # filled in below

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
        mask = self._checked_mask(cube)
        self._set(cube=cube, mask=mask, transform=check_transform(self.transform, self.name))
        if self.ground_truth is not None:
            self._check_plane("ground truth", np.asarray(self.ground_truth))
        self._set(
            wavelengths=self._checked_positive("wavelengths", self.wavelengths),
            fwhm=self._checked_positive("fwhm", self.fwhm),
            good_bands=self._checked_good_bands(),
            band_names=self._checked_names(),
            band_numbers=self._checked_numbers(),
        )

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _checked_mask(self, cube: NDArray[Any]) -> NDArray[np.bool_]:
        # np.asarray drops the mask of a masked array, which is no less a mask than ours.
        hidden = np.ma.getmaskarray(self.cube) if isinstance(self.cube, np.ma.MaskedArray) else None
        valid = np.ones(cube.shape[:2], dtype=bool) if hidden is None else ~hidden.any(axis=2)
        if self.mask is None:
            return valid
        mask = np.ma.filled(self.mask, False)
        self._check_plane("mask", mask, cube.shape[:2])
        return valid & _as_flags(mask, f"scene '{self.name}': the mask", "where a pixel is valid")

    def _check_plane(
        self, what: str, plane: NDArray[Any], shape: tuple[int, ...] | None = None
    ) -> None:
        shape = shape or self.shape
        if plane.shape != shape:
            raise DataError(
                f"scene '{self.name}': the {what} has shape {plane.shape} but the image "
                f"is {shape}; give one value per pixel."
            )

    def _check_length(self, what: str, shape: tuple[int, ...]) -> None:
        if shape != (self.n_bands,):
            found = str(shape[0]) if len(shape) == 1 else f"an array of shape {shape} as"
            raise DataError(
                f"scene '{self.name}': {found} {what} for {self.n_bands} bands; give one per "
                "band, or none."
            )

    def _checked_positive(self, what: str, given: ArrayLike | None) -> NDArray[np.float64] | None:
        if given is None:
            return None
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if not (np.isfinite(values) & (values > 0)).all():
            raise DataError(
                f"scene '{self.name}': {what} holds values that are not positive numbers; give "
                "nanometres, or none."
            )
        self._check_length(what, values.shape)
        return values

    def _checked_good_bands(self) -> NDArray[np.bool_] | None:
        if self.good_bands is None:
            return None
        flags = np.asarray(self.good_bands)
        self._check_length("good_bands", flags.shape)
        return _as_flags(flags, f"scene '{self.name}': good_bands", "where a band is to be used")

    def _checked_names(self) -> tuple[str, ...] | None:
        if self.band_names is None:
            return None
        names = (self.band_names,) if isinstance(self.band_names, str) else self.band_names
        names = tuple(map(str, names))
        self._check_length("band_names", (len(names),))
        return names

    def _checked_numbers(self) -> NDArray[np.intp]:
        if self.band_numbers is None:
            return np.arange(1, self.n_bands + 1)
        numbers = np.asarray(self.band_numbers)
        self._check_length("band_numbers", numbers.shape)
        if numbers.dtype.kind not in "ui" or numbers.min(initial=1) < 1:
            raise DataError(
                f"scene '{self.name}': band_numbers holds values that are not whole numbers from "
                "1; give the number of each band in its file, or none."
            )
        return numbers.astype(np.intp)

    def __repr__(self) -> str:
        """One line: the cube may be large."""
        from spectrawalk.scene.georeference import crs_code

        rows, cols = self.shape
        waves, place = self.wavelengths, self.orthorectify or self
        parts = [
            f"{rows} x {cols} pixels",
            f"{self.n_bands} band{'' if self.n_bands == 1 else 's'}",
            "" if waves is None else f"{waves.min():.0f} to {waves.max():.0f} nm",
            f"{self.n_valid:,} valid",
            crs_code(place.crs) or "",
        ]
        return f"Scene {self.name!r} ({', '.join(filter(None, parts))})"

    def _repr_html_(self) -> str:
        from spectrawalk.report.notebook import scene_html

        return scene_html(self)

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

    def class_name(self, number: int) -> str:
        """Name of a ground-truth class, or its number where it has no name.

        Examples
        --------
        >>> import numpy as np
        >>> scene = Scene(np.ones((1, 2, 3)), class_names={4: "Corn"})
        >>> scene.class_name(4), scene.class_name(5)
        ('Corn', 'class 5')
        """
        return self.class_names.get(number, f"class {number}")

    def crop(self, rows: slice, cols: slice) -> Scene:
        """Cut a part of the image out, with all that belongs to its pixels.

        Parameters
        ----------
        rows, cols : slice
            Without a step, within the image.

        Returns
        -------
        Scene
            ``metadata["crop"]`` says which part it is of the image that was read, and the counts of
            masked pixels are those of the part.

        Examples
        --------
        >>> import numpy as np
        >>> scene = Scene(np.ones((4, 5, 3)), transform=(30, 0, 5000, 0, -30, 9000))
        >>> part = scene.crop(slice(1, 4), slice(2, 5))
        >>> part.shape, part.transform, part.metadata["crop"]
        ((3, 3), (30.0, 0.0, 5060.0, 0.0, -30.0, 8970.0), ((1, 4), (2, 5)))
        """
        rows, cols = check_window(rows, cols, self.shape)
        cube = np.ascontiguousarray(self.cube[rows, cols])
        mask = self.mask[rows, cols].copy()
        if not mask.any():
            raise DataError(
                f"no pixel in rows {rows.start} to {rows.stop - 1} and columns {cols.start} to "
                f"{cols.stop - 1} of scene '{self.name}' is valid; choose another part."
            )
        truth, lookup = self.ground_truth, self.orthorectify
        return replace(
            self,
            cube=cube,
            mask=mask,
            ground_truth=None if truth is None else truth[rows, cols].copy(),
            transform=move_transform(self.transform, rows.start, cols.start),
            orthorectify=None if lookup is None else lookup.crop(rows, cols),
            metadata=self._metadata_of_part(rows, cols, cube, mask),
        )

    def _metadata_of_part(
        self, rows: slice, cols: slice, cube: NDArray[Any], mask: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Note which part it is, and count its masked pixels anew if those of the whole were."""
        (top, _), (left, _) = self.metadata.get("crop", ((0, 0), (0, 0)))
        corners = ((top + rows.start, top + rows.stop), (left + cols.start, left + cols.stop))
        of_the_whole = ("masked_", "constant_")
        kept = {
            key: value for key, value in self.metadata.items() if not key.startswith(of_the_whole)
        }
        if len(kept) == len(self.metadata):
            return kept | {"crop": corners}
        reasons = unusable_pixels(cube, nodata=kept.get("nodata"), bands=self.good_bands)
        return kept | count_masked(mask, reasons) | constant_pixels(cube, mask) | {"crop": corners}

    def select_bands(self, bands: ArrayLike) -> Scene:
        """Keep some of the bands.

        Parameters
        ----------
        bands : array of int or bool
            Numbers of the bands to keep, counted from 0, in the wanted order; or True for each band
            to keep.

        Examples
        --------
        >>> import numpy as np
        >>> scene = Scene(np.arange(6).reshape(1, 2, 3), band_names=["a", "b", "c"])
        >>> scene.select_bands([2, 0]).band_names
        ('c', 'a')
        """
        chosen = check_bands(bands, self.n_bands)
        names = self.band_names

        def pick(values: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if values is None else values[chosen]

        return replace(
            self,
            cube=np.ascontiguousarray(self.cube[:, :, chosen]),
            wavelengths=pick(self.wavelengths),
            fwhm=pick(self.fwhm),
            good_bands=pick(self.good_bands),
            band_numbers=self.band_numbers[chosen],
            band_names=None if names is None else tuple(names[band] for band in chosen),
        )


def check_window(rows: slice, cols: slice, shape: tuple[int, int]) -> tuple[slice, slice]:
    """Fill in the ends of two slices, and refuse what is not a part of an image of that shape."""
    bounds = []
    for name, given, length in zip(("rows", "cols"), (rows, cols), shape, strict=True):
        if not isinstance(given, slice) or given.step not in (None, 1):
            raise ParameterError(
                f"{name}={given!r} is not a slice without a step; give one, such as slice(0, 50)."
            )
        try:
            start = 0 if given.start is None else operator.index(given.start)
            stop = length if given.stop is None else operator.index(given.stop)
        except TypeError:
            raise ParameterError(
                f"{name}={given!r} has ends that are not integers; give integers."
            ) from None
        bounds.append((start, stop))
    (top, bottom), (left, right) = bounds
    n_rows, n_cols = shape
    if not (0 <= top < bottom <= n_rows and 0 <= left < right <= n_cols):
        raise ParameterError(
            f"crop={top}:{bottom},{left}:{right} reaches beyond the image of {n_rows} rows and "
            f"{n_cols} columns, or holds nothing; use at most 0:{n_rows},0:{n_cols}."
        )
    return slice(top, bottom), slice(left, right)


def check_bands(bands: ArrayLike, n_bands: int) -> NDArray[np.intp]:
    """Turn a choice of bands, numbers or flags, into numbers."""
    chosen = np.asarray(bands)
    if chosen.dtype == bool and chosen.shape == (n_bands,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "ui":
        raise ParameterError(
            f"bands={bands!r} is no choice of bands; give a list of their numbers, counted from 0, "
            "or one True or False per band, and keep at least one."
        )
    if chosen.min() < 0 or chosen.max() >= n_bands:
        raise ParameterError(
            f"bands holds {chosen.min() if chosen.min() < 0 else chosen.max()}, but the image has "
            f"{n_bands} bands; their numbers are 0 to {n_bands - 1}."
        )
    return chosen.astype(np.intp)


def _as_flags(values: NDArray[Any], what: str, meaning: str) -> NDArray[np.bool_]:
    # A mask of 0 and 255, or with NaN, would turn into something else if it were only cast.
    if values.dtype != bool and not np.isin(values, (0, 1)).all():
        raise DataError(f"{what} holds values other than 0 and 1; give True {meaning}.")
    return values.astype(bool)
