"""One thread for matrix products: the last bits of a threaded sum depend on how many share it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_thread(*, openmp: bool = False) -> AbstractContextManager[object]:
    """Keep NumPy and SciPy to one thread, and with `openmp` scikit-learn too, inside a ``with``.

    The libraries are looked up once, as that takes as long as a small K-means.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     product = np.ones((2, 3)) @ np.ones((3, 2))
    """
    return _everything().limit(limits=1) if openmp else _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 -- brings a BLAS of its own, which is found once it is loaded

    return ThreadpoolController()


@cache
def _everything() -> ThreadpoolController:
    import sklearn.cluster  # noqa: F401 -- likewise OpenMP

    return ThreadpoolController()
