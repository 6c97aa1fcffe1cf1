"""How a kernel is compiled: once on a computer, or in each run where nothing can be stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as :func:`numba.njit` does, stored if there is a folder for it.

    With ``cache=True`` numba refuses a function, as soon as its module is imported, where neither
    the folder of the package nor the user's cache can be written. Such computers are common (a
    container with a read-only disk, a user without a home folder), so the function is then
    compiled in each run.

    Examples
    --------
    >>> @njit(nogil=True)
    ... def double(value):
    ...     return 2 * value
    >>> double(21)
    42
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError:
            return numba.njit(**options | {"cache": False})(function)

    return compiled


def cache_folder() -> Path | None:
    """Folder that compiled kernels are stored in; None if they cannot be stored."""
    from spectrawalk.kernels.selection import squared_distance

    path = squared_distance.stats.cache_path  # the same for all kernels
    return None if path is None else Path(path)
