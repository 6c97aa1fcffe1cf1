"""Processors, threads and memory that a run may use."""

from __future__ import annotations

import os
from collections.abc import Iterator

from spectrawalk import threads
from spectrawalk.doctor.facts import Fact, State
from spectrawalk.errors import ParameterError

_LITTLE_MEMORY = 2**30
"""Bytes: the demo and the smallest scenes need about this, with all the libraries."""


def threads_and_processors() -> Iterator[Fact]:
    """Count processors and threads, and name the libraries that have threads of their own."""
    here, usable = os.cpu_count() or 1, threads.processors()
    number = f"{usable} of {here} may be used"
    if usable < here:
        yield Fact(
            "processors",
            number,
            State.HINDERED,
            "if that is not intended, look at taskset, the job's settings or the container's",
        )
    elif usable == 1:
        yield Fact("processors", number, State.HINDERED, "runs take about twice as long as on two")
    else:
        yield Fact("processors", number)
    quota = _quota()
    if quota is not None:
        yield Fact("container", f"limited to the time of {quota:g} processors")
    yield _threads(min(usable, quota or usable))
    yield from _libraries()


def memory() -> Iterator[Fact]:
    """Measure the memory: all of it, what is free, and the limit of a container."""
    import psutil

    from spectrawalk.estimators import forecast

    total, limit = psutil.virtual_memory().total, forecast.memory_limit()
    available = forecast.available_memory()
    yield Fact("total", _gib(total))
    if limit is not None and limit < total:
        yield Fact("container", f"limited to {_gib(limit)}")
    if available < _LITTLE_MEMORY:
        yield Fact("available", _gib(available), State.HINDERED, "end other programs before a run")
    else:
        yield Fact("available", _gib(available))


def _quota() -> float | None:
    """Processors whose time a container may use in all; None if there is no limit."""
    from spectrawalk.estimators import forecast

    try:
        time, period = (forecast.CGROUP / "cpu.max").read_text().split()
        return int(time) / int(period)
    except (OSError, ValueError):  # not in a container, or the word "max" for no limit
        return None


def _threads(processors: float) -> Fact:
    setting = os.environ.get(threads.VARIABLE, "").strip()
    source = f"{threads.VARIABLE} is {setting}" if setting else f"{threads.VARIABLE} is not set"
    try:
        number = threads.count()
    except ParameterError as error:
        return Fact("threads", str(error).rstrip("."), State.BROKEN)
    if number > processors:
        advice = f"set {threads.VARIABLE}={max(1, int(processors))}"
        value = f"{number}, more than the processors can run at once ({source})"
        return Fact("threads", value, State.HINDERED, advice)
    return Fact("threads", f"{number} ({source})")


def _libraries() -> Iterator[Fact]:
    """Name the libraries with threads of their own, which spectrawalk keeps to one thread."""
    import numpy  # noqa: F401 -- found once they are loaded
    import scipy.linalg  # noqa: F401
    import sklearn.cluster  # noqa: F401
    from threadpoolctl import threadpool_info

    found = {
        " ".join(
            str(library[key])
            for key in ("internal_api", "version", "architecture")
            if library.get(key)
        )
        for library in threadpool_info()
    }
    yield Fact("libraries", ", ".join(sorted(found)) or "none with threads of their own")


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
