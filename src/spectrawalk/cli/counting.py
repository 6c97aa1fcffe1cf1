"""Progress of many runs: one bar with the name of the current one, or one line each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def count_runs(title: str, *, quiet: bool) -> Iterator[None]:
    """Show on stderr which run of how many is under way in the ``with`` block."""
    from rich.console import Console

    from spectrawalk.progress import listen

    console = Console(stderr=True, highlight=False)
    if quiet:
        yield
    elif console.is_terminal:
        with _one_bar(title, console):
            yield
    else:
        with listen(_Lines(title)):
            yield


class _Lines:
    """Writes a line when a run with another name begins."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = time.perf_counter()
        self._last = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._last and done < total:
            elapsed = time.perf_counter() - self._start
            click.echo(f"{elapsed:8.1f} s  {self._title}: {stage}  [{done}/{total}]", err=True)
            self._last = stage


@contextmanager
def _one_bar(title: str, console: Console) -> Iterator[None]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from spectrawalk.progress import listen

    bar = Progress(
        TextColumn(title),
        SpinnerColumn("line"),  # in ASCII, as not every terminal has more
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        expand=True,
    )
    with bar:
        task = bar.add_task("", total=None)

        def move(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total)

        with listen(move):
            yield
