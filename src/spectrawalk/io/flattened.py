"""Cubes that a file holds as a table of bands x pixels, with rows and columns as numbers beside it.

The published scenes for unmixing (Samson, Jasper Ridge, Urban, Cuprite) come like this. MATLAB
counts rows fastest, so the pixels run down the columns of the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from spectrawalk.errors import FileError
from spectrawalk.io.formats import Variable

# In lower case, as the published files and their like call them.
_ROWS = ("nrow", "nrows", "rows", "lines", "height")
_COLS = ("ncol", "ncols", "cols", "columns", "samples", "width")
_BANDS = ("nband", "nbands", "bands")


@dataclass(frozen=True)
class Flattened:
    """A table of spectra and the shape of the image that it was made of.

    Attributes
    ----------
    variable : Variable
        The table.
    n_rows, n_cols, n_bands : int
    bands_first : bool
        Whether the table has the shape (bands, pixels), and not (pixels, bands).
    """

    variable: Variable
    n_rows: int
    n_cols: int
    n_bands: int
    bands_first: bool

    def unfold(self, table: NDArray[Any]) -> NDArray[Any]:
        """Lay the table out as (rows, cols, bands), without a copy.

        Examples
        --------
        >>> import numpy as np
        >>> flat = Flattened(Variable("V", (1, 6), "double", True), 2, 3, 1, bands_first=True)
        >>> flat.unfold(np.array([[1, 2, 3, 4, 5, 6]]))[:, :, 0]
        array([[1, 3, 5],
               [2, 4, 6]])
        """
        pixels = table.T if self.bands_first else table
        return pixels.reshape(self.n_cols, self.n_rows, self.n_bands).swapaxes(0, 1)


def size_names(variables: Sequence[Variable]) -> dict[str, Variable]:
    """Find the numbers that tell rows, columns and bands, called ``rows``, ``cols``, ``bands``."""
    numbers = {each.name.lower(): each for each in variables if _is_number(each)}
    found = {}
    for size, names in (("rows", _ROWS), ("cols", _COLS), ("bands", _BANDS)):
        known = [numbers[name] for name in names if name in numbers]
        if known:
            found[size] = known[0]
    return found


def _is_number(variable: Variable) -> bool:
    return variable.is_numeric and set(variable.shape) <= {1}


def find_flattened(
    path: Path, variables: Sequence[Variable], sizes: Mapping[str, float], name: str | None
) -> Flattened:
    """Find the table that has a pixel for each of the rows and columns.

    Parameters
    ----------
    path : Path
    variables : sequence of Variable
        All of the file.
    sizes : mapping of str to float
        Number of ``rows`` and ``cols``, and of ``bands`` where the file tells it.
    name : str or None
        Which table; not needed if only one fits.
    """
    counts = [sizes[size] for size in ("rows", "cols")]
    if not all(float(count).is_integer() and count >= 1 for count in counts):
        raise FileError(
            f"'{path}' says that the image has {counts[0]:g} rows and {counts[1]:g} columns; write "
            "the file again."
        )
    n_rows, n_cols = map(int, counts)
    tables = [each for each in variables if each.is_array(2) and max(each.shape) > 1]
    tables = [each for each in tables if name is None or each.name == name]
    fitting = [each for each in tables if n_rows * n_cols in each.shape]
    with_bands = [each for each in fitting if sizes.get("bands") in each.shape]
    fitting = with_bands or fitting
    listed = ", ".join(map(str, fitting or tables)) or "no table of numbers"
    if not fitting:
        raise FileError(
            f"'{path}' says that the image has {n_rows} rows and {n_cols} columns, but holds "
            f"{listed} and no table of {n_rows * n_cols:,} pixels; get or write the file again."
        )
    if len(fitting) > 1:
        raise FileError(
            f"'{path}' holds more than one table of {n_rows * n_cols:,} pixels ({listed}); choose "
            "one with `variable`."
        )
    (table,) = fitting
    bands_first = table.shape[1] == n_rows * n_cols
    return Flattened(table, n_rows, n_cols, table.shape[0 if bands_first else 1], bands_first)
