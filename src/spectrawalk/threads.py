"""Threads: how many, work shared among them, and one thread inside a matrix product.

Results never depend on the number of threads: a block of work is the same whoever does it.

The number is, in this order: what :func:`limit` sets for a ``with`` block, the environment variable
``SPECTRAWALK_THREADS``, or the number of processors that this process may use.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from spectrawalk.errors import ParameterError

VARIABLE = "SPECTRAWALK_THREADS"
"""Environment variable with the number of threads."""

BLOCKS_PER_THREAD = 4
"""Blocks are not all equally quick: with several for each thread, none waits long for the last."""

T = TypeVar("T")
_limit: ContextVar[int | None] = ContextVar("spectrawalk_threads", default=None)
_working = threading.local()


@contextmanager
def limit(threads: int) -> Iterator[None]:
    """Use this many threads inside a ``with`` block.

    Examples
    --------
    >>> with limit(2):
    ...     count()
    2
    """
    if threads < 1:
        raise ParameterError(f"threads={threads} is less than 1; use 1 or more threads.")
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


def count() -> int:
    """Return the number of threads that work is shared among."""
    chosen = _limit.get()
    if chosen is not None:
        return chosen
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return processors()
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(
            f"the environment variable {VARIABLE} is {text!r}; set it to a number of threads from "
            "1, or unset it."
        )
    return int(text)


def processors() -> int:
    """Processors that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split(
    start: int, stop: int, least: int = 1, threads: int | None = None
) -> list[tuple[int, int]]:
    """Divide a range into blocks for :func:`run_blocks`, of at least so many items each.

    Examples
    --------
    >>> split(10, 20, least=4, threads=2)
    [(10, 15), (15, 20)]
    """
    n = stop - start
    blocks = max(1, min(BLOCKS_PER_THREAD * (threads or count()), n // max(least, 1)))
    bounds = [start + n * block // blocks for block in range(blocks + 1)]
    return list(pairwise(bounds))


def run_blocks(
    function: Callable[..., T], blocks: Sequence[tuple[int, ...]], threads: int | None = None
) -> list[T]:
    """Call ``function(*block)`` for every block, on several threads, and list what it returns.

    The function should release Python's lock (compiled with ``nogil``, or NumPy) and write to
    places of its own only. An exception, Ctrl-C included, ends the work: no further block is begun,
    and those that are being worked on are waited for, so that no thread works on after the call.
    A block that calls this function itself, for smaller blocks, ends before the next of these.

    Parameters
    ----------
    function : callable
    blocks : sequence of tuples
        Arguments, one tuple for each call.
    threads : int, optional
        By default :func:`count`. Inside another call of this function always one.

    Examples
    --------
    >>> run_blocks(lambda start, stop: stop - start, [(0, 3), (3, 4)])
    [3, 1]
    """
    outer: threading.Event | None = getattr(_working, "ended", None)
    helpers = min(threads or count(), len(blocks)) - 1
    if helpers < 1 or outer is not None:
        return [_unless(outer, function, block) for block in blocks]
    results: list[T | None] = [None] * len(blocks)
    waiting = iter(range(len(blocks)))
    ended = threading.Event()
    one_at_a_time = threading.Lock()

    def work() -> None:
        _working.ended = ended
        try:
            while not ended.is_set():
                with one_at_a_time:
                    number = next(waiting, None)
                if number is None:
                    break
                results[number] = function(*blocks[number])
        except _Ended:  # the exception that ended the work is raised by another thread
            pass
        except BaseException:
            ended.set()
            raise
        finally:
            _working.ended = None

    jobs: list[Future[None]] = []
    try:
        for _ in range(helpers):
            jobs.append(_helpers().submit(work, helpers))
        work()  # too, so that small work does not wait for another thread to wake up
        wait([job for job in jobs if not job.cancel()])
    except BaseException:
        ended.set()
        raise
    finally:
        wait([job for job in jobs if not job.cancel()])
    for job in jobs:
        if not job.cancelled():
            job.result()
    return results  # type: ignore[return-value]  # every block has been worked on


class _Ended(BaseException):
    """Raised inside a block when the work that it is a part of has ended."""


def _unless(ended: threading.Event | None, function: Callable[..., T], block: tuple[int, ...]) -> T:
    """Call ``function(*block)`` unless the work has ended."""
    if ended is not None and ended.is_set():
        raise _Ended
    return function(*block)


class _Helpers:
    """Threads that sleep while there is nothing to do, kept for the next call.

    They are daemons: Ctrl-C can strike while one is being started, and a thread that nobody knows
    of must not keep the program from ending, as one of ThreadPoolExecutor would.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Future[None], Callable[[], None]]] = SimpleQueue()
        self._threads = 0

    def submit(self, work: Callable[[], None], threads: int) -> Future[None]:
        """Have one of at least so many threads do the work."""
        while self._threads < threads:
            self._threads += 1
            name = f"spectrawalk {self._threads}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()
        job: Future[None] = Future()
        self._jobs.put((job, work))
        return job

    def _serve(self) -> None:
        while True:
            job, work = self._jobs.get()
            if not job.set_running_or_notify_cancel():
                continue
            try:
                job.set_result(work())
            except BaseException as error:
                job.set_exception(error)


@cache
def _helpers() -> _Helpers:
    return _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # threads do not survive a fork


def one_thread(*, openmp: bool = False) -> AbstractContextManager[object]:
    """Keep NumPy and SciPy to one thread, and with `openmp` scikit-learn too, inside a ``with``.

    The last bits of a threaded sum depend on how many threads share it. The libraries are looked up
    once, as that takes as long as a small K-means.

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
