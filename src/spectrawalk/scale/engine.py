"""Engine: work on many tiles, in this process or by the workers of Dask.

Dask hands tiles to the workers, tries again when a worker dies, and shows on its dashboard what
goes on. Results come back one by one, in any order; what is done with them must not depend on it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from spectrawalk import __version__, threads
from spectrawalk.errors import MissingDependencyError, SchedulerError, SpectrawalkError
from spectrawalk.progress import report

T = TypeVar("T")

AHEAD = 3
"""Tiles that are handed out for each worker: one is worked on, and others wait for it."""

RETRIES = 3
"""Times that a tile is tried again after its worker died."""

_PATIENCE = "10s"
"""How long a scheduler may take to answer."""


class Run(Protocol):
    """Calls a function for each task, and yields the number and the result of each in any order."""

    def __call__(
        self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], stage: str
    ) -> Iterator[tuple[int, T]]:
        """Work on the tasks; `stage` names them in progress reports."""


def serial(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], stage: str
) -> Iterator[tuple[int, T]]:
    """Work on the tasks one after the other, in this process.

    Examples
    --------
    >>> list(serial(pow, [(2, 3), (3, 2)], "powers"))
    [(0, 8), (1, 9)]
    """
    report(stage, 0, len(tasks))
    for number, task in enumerate(tasks):
        yield number, function(*task)
        report(stage, number + 1, len(tasks))


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster to work on tiles."""

    client: Any
    n_workers: int

    @property
    def dashboard(self) -> str | None:
        """Address of Dask's dashboard; None where there is none."""
        try:
            link = str(self.client.dashboard_link)
        except (AttributeError, KeyError, ValueError):
            return None
        return link or None

    def run(
        self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], stage: str
    ) -> Iterator[tuple[int, T]]:
        """See :class:`Run`. Only a few tiles for each worker are handed out at a time."""
        from distributed import as_completed

        report(stage, 0, len(tasks))
        waiting = iter(enumerate(tasks))
        number_of: dict[Any, int] = {}

        def hand_out() -> Any:
            following = next(waiting, None)
            if following is None:
                return None
            number, task = following
            # The key is new in each call: results must not come from what an earlier run left.
            future = self.client.submit(_guarded, function, task, pure=False, retries=RETRIES)
            number_of[future.key] = number
            return future

        first = [hand_out() for _ in range(min(AHEAD * self.n_workers, len(tasks)))]
        done = 0
        under_way = as_completed(first)
        try:
            for future in under_way:
                result = self._result_of(future)
                number = number_of.pop(future.key)
                future.release()
                following = hand_out()
                if following is not None:
                    under_way.add(following)
                done += 1
                yield number, result
                report(stage, done, len(tasks))
        finally:
            self.client.cancel(list(under_way.futures))

    def _result_of(self, future: Any) -> Any:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            result = future.result()
        except KilledWorker as error:
            raise SchedulerError(
                f"a tile ended {RETRIES + 1} workers one after the other ({error.task}); the "
                "workers may have too little memory: use smaller tiles or fewer workers."
            ) from error
        except (FutureCancelledError, OSError) as error:
            raise SchedulerError(
                f"the scheduler has gone ({type(error).__name__}); start it and the run again: "
                "finished tiles are kept."
            ) from error
        if isinstance(result, SpectrawalkError):
            raise result
        return result


def _guarded(function: Callable[..., T], task: tuple[Any, ...]) -> T | SpectrawalkError:
    """Call the function on one thread. Errors of ours are results: a second try would not help."""
    with threads.limit(1):
        try:
            return function(*task)
        except SpectrawalkError as error:
            return error


@contextmanager
def open_cluster(scheduler: str, n_workers: int | None = None) -> Iterator[Cluster]:
    """Start workers on this machine, or use those of a scheduler.

    Parameters
    ----------
    scheduler : str
        ``"local"``, or the address of a scheduler, such as ``"tcp://10.0.0.5:8786"``.
    n_workers : int, optional
        Number of local workers; by default as many as there are processors.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingDependencyError(
            "work on several tiles at once needs Dask, which is not installed; get it with "
            '`pip install "spectrawalk[scale]"`.'
        ) from error
    with ExitStack() as stack:
        if scheduler == "local":
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            wanted = threads.count() if n_workers is None else n_workers
            local = stack.enter_context(
                LocalCluster(
                    n_workers=wanted,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,  # tiles are small, and the forecast checks the memory
                    dashboard_address="127.0.0.1:0",
                    host="127.0.0.1",
                    silence_logs=logging.CRITICAL,
                )
            )
            client = stack.enter_context(Client(local))
        else:
            client = stack.enter_context(_connected(scheduler))
        yield Cluster(client, _checked_workers(client, scheduler))


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=_PATIENCE)
    except Exception as error:  # an address that is none raises half a dozen kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SchedulerError(
            f"no Dask scheduler answers at '{scheduler}' ({reason.rstrip('.')}); check the address "
            "and that `dask scheduler` runs there, or use 'local'."
        ) from error
    with client:
        yield client


def _checked_workers(client: Any, scheduler: str) -> int:
    """Check that all workers have this version of the package; return how many there are."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise SchedulerError(
            f"the scheduler '{scheduler}' has no workers; start some with "
            f"`dask worker {scheduler}`."
        ) from error
    versions = client.run(_version_here, on_error="return")
    for worker, version in sorted(versions.items()):
        if isinstance(version, BaseException):
            raise SchedulerError(
                f"the worker {worker} cannot use spectrawalk ({type(version).__name__}: "
                f"{version}); install spectrawalk {__version__} there."
            )
        if version != __version__:
            raise SchedulerError(
                f"the worker {worker} has spectrawalk {version} and this is {__version__}; install "
                "the same version everywhere."
            )
    return len(versions)


def _version_here() -> str:
    import spectrawalk

    return spectrawalk.__version__
