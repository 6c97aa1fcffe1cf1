"""Progress of long work, heard by whoever listens and free of charge when nobody does.

Stages report through :func:`track`; the command line, a notebook or the explorer listens with
:func:`listen`. The listener is a context variable, so no function needs a ``verbose`` parameter.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[str, int, int], None]
"""Called with the name of the stage, the steps done and the steps in all."""

SECOND = 2e9
"""Differences that a kernel computes in about a second."""

T = TypeVar("T")
_listener: ContextVar[Listener | None] = ContextVar("spectrawalk_progress", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send every report inside the ``with`` block to `listener`.

    Examples
    --------
    >>> from spectrawalk import progress
    >>> heard = []
    >>> with progress.listen(lambda stage, done, total: heard.append((stage, done, total))):
    ...     for _ in progress.track("neighbours", [1, 2]):
    ...         pass
    >>> heard
    [('neighbours', 0, 2), ('neighbours', 1, 2), ('neighbours', 2, 2)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def listener() -> Listener | None:
    """Whoever listens now."""
    return _listener.get()


def report(stage: str, done: int, total: int) -> None:
    """Say that `done` of `total` steps of `stage` are finished."""
    heard_by = _listener.get()
    if heard_by is not None:
        heard_by(stage, done, total)


def track(stage: str, steps: Sequence[T]) -> Iterator[T]:
    """Yield from `steps` and report after each one."""
    report(stage, 0, len(steps))
    for done, step in enumerate(steps, start=1):
        yield step
        report(stage, done, len(steps))


def in_steps(stage: str, n: int, work_per_item: float) -> Iterator[tuple[int, int]]:
    """Split n items as :func:`ranges` does, and report after each range."""
    return track(stage, ranges(n, work_per_item))


def ranges(n: int, work_per_item: float) -> list[tuple[int, int]]:
    """Split n items into ranges of about a second's work each.

    Compiled loops cannot be interrupted, so this is also how soon Ctrl-C is heard.
    """
    size = int(min(max(SECOND / max(work_per_item, 1), 1), n))
    return [(start, min(start + size, n)) for start in range(0, n, size)]
