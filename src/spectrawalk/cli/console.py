"""What all commands share: errors in one line, progress on stderr, results on stdout."""

from __future__ import annotations

import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from spectrawalk.cli.streams import patient_streams
from spectrawalk.errors import SpectrawalkError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from spectrawalk.progress import Listener

_Command = TypeVar("_Command", bound=Callable[..., Any])

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
TERMINATED = 143  # and for one that `kill` ended
FAILED = 2


class OneLineErrors(click.Group):
    """A group whose commands end in one sentence on stderr when something is wrong.

    Exit code 2 for whatever the user can mend, 130 after Ctrl-C, 143 after `kill`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order in which they were added, not by the alphabet."""
        return list(self.commands)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and end the program."""
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        with patient_streams() as why_incomplete:
            result = _carry_out(run)
            trouble = why_incomplete()
            if trouble:
                _fail(f"standard output could not be written: {trouble}.")
        sys.exit(result if isinstance(result, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; see :meth:`main`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _stop("Interrupted", INTERRUPTED)


def _carry_out(run: Callable[[], Any]) -> Any:
    """Run a command; where it fails, say why in one line and end the program."""
    from spectrawalk.cli.callers import stop_with_stdin

    try:
        with _signals.heeded():
            stop_with_stdin()
            return run()
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "spectrawalk"
        _fail(f"{error.format_message()} See `{path} --help`.")
    except click.ClickException as error:
        _fail(error.format_message())
    except SpectrawalkError as error:
        _fail(str(error))
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        _fail(f"there is not enough memory{detail}; --crop takes a part of the scene.")
    except OSError as error:
        where = f" ('{error.filename}')" if error.filename else ""
        _fail(f"the system refused a file{where}: {error.strerror or error}.")
    except click.Abort:
        _stop("Interrupted", INTERRUPTED)
    except _Terminated:
        _stop("Terminated", TERMINATED)


def _fail(message: str) -> NoReturn:
    """Print an error and end: wrapped between words in a terminal, one line elsewhere."""
    line = "Error: " + " ".join(message.split())
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    click.echo(line, err=True)
    sys.exit(FAILED)


def _stop(how: str, code: int) -> NoReturn:
    click.echo(f"{how}: no file is half-written.", err=True)
    sys.exit(code)


class _Terminated(BaseException):
    """The program was asked to end, as `kill` does."""


class _Signals:
    """Ends the program as Ctrl-C or `kill` asks, by an exception, so that it tidies up.

    An exception is lost if the signal comes while LLVM calls back into Python, as it does when a
    compiled kernel is loaded. So the signal is kept, and heeded again at the next progress report.
    """

    def __init__(self) -> None:
        self._kept: int | None = None

    def obey(self) -> None:
        """End the program if a signal has asked for it.

        Nothing is printed here: the signal may have come in the middle of printing.
        """
        if self._kept is not None:
            raise _Terminated if self._kept == signal.SIGTERM else KeyboardInterrupt

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Listen to signals inside the ``with`` block."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are the main thread's affair
            return
        before = {name: signal.signal(name, self._keep) for name in (signal.SIGINT, signal.SIGTERM)}
        hook, sys.unraisablehook = sys.unraisablehook, self._say_nothing
        try:
            yield
        finally:
            self._kept, sys.unraisablehook = None, hook
            for name, handler in before.items():
                signal.signal(name, handler)

    def _keep(self, signum: int, frame: Any) -> None:
        self._kept = signum
        self.obey()

    def _say_nothing(self, lost: Any) -> None:
        """Pass over the lost exception, which is raised again."""
        if self._kept is None:
            sys.__unraisablehook__(lost)


_signals = _Signals()


def quiet_option(*, json: bool = False) -> Callable[[_Command], _Command]:
    """Make the option ``--quiet``, which means the same for every command.

    `json`: whether the command has ``--json``.
    """
    still = "; --json still prints its JSON" if json else ""
    return click.option("--quiet", is_flag=True, help=f"Print nothing but errors{still}.")


def results_console(*, quiet: bool = False) -> Console:
    """Where results go: plain text when stdout is not a terminal, nowhere if `quiet`."""
    from rich.console import Console

    return Console(highlight=False, markup=False, quiet=quiet)


def say(console: Console, sentence: str = "") -> None:
    """Print a sentence: wrapped between words in a terminal, one line in a file or a pipe."""
    console.print(sentence, soft_wrap=not console.is_terminal)


def warn(sentence: str) -> None:
    """Print a warning on stderr, in one line."""
    click.echo("Warning: " + " ".join(sentence.split()), err=True)


class StageClock:
    """Hears progress reports and adds up the seconds of each stage.

    Attributes
    ----------
    seconds : dict
        Time of each stage so far, in the order in which they began.
    compiled : bool
        Whether kernels were compiled meanwhile.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.compiled = False
        self._started = self._last = time.perf_counter()
        self._stopped: float | None = None
        self._under_way: str | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take one report."""
        _signals.obey()
        now = time.perf_counter()
        if stage not in self.seconds:
            self.seconds[stage] = 0.0
            self.stage_began(stage)
        # A report of 0 says that a stage begins: until then another was under way.
        self._credit(stage if done > 0 else self._under_way, now)
        self._under_way = stage
        self.stage_moved(stage, done, total)

    @property
    def total(self) -> float:
        """Seconds from the beginning to the end, or to now."""
        return (self._stopped or time.perf_counter()) - self._started

    def stop(self) -> None:
        """Mark the end of the work."""
        self._stopped = time.perf_counter()
        self._credit(self._under_way, self._stopped)

    def _credit(self, stage: str | None, now: float) -> None:
        if stage is not None:
            self.seconds[stage] += now - self._last
        self._last = now

    def stage_began(self, stage: str) -> None:
        """Show a new stage."""

    def stage_moved(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""

    def compiling(self) -> None:
        """Take note that numba compiles a kernel."""
        if not self.compiled:
            self.compiled = True
            self.show_compiling()

    def show_compiling(self) -> None:
        """Say why the first run takes longer."""


def _compiling() -> str:
    """Say why it takes longer now, and whether it will again."""
    from spectrawalk.kernels.compiled import cache_folder

    if cache_folder() is None:
        return "compiling, as in each run on this computer; `spectrawalk doctor` says why ..."
    return "compiling, which only the first run on this computer does ..."


class PlainClock(StageClock):
    """Writes a line to stderr when a stage begins, for logs."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def stage_began(self, stage: str) -> None:
        """See the base class."""
        click.echo(f"{self.total:8.1f} s  {self._title}: {stage}", err=True)

    def show_compiling(self) -> None:
        """See the base class."""
        click.echo(f"{self.total:8.1f} s  {self._title}: {_compiling()}", err=True)


class BarClock(StageClock):
    """Shows a bar for each stage, with the time left."""

    def __init__(self, bars: Progress) -> None:
        super().__init__()
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._opening: TaskID | None = bars.add_task("", total=None)  # something moves at once

    def stage_began(self, stage: str) -> None:
        """See the base class."""
        if self._opening is not None:
            self._bars.remove_task(self._opening)
            self._opening = None
        self._tasks[stage] = self._bars.add_task(stage, total=None)

    def stage_moved(self, stage: str, done: int, total: int) -> None:
        """See the base class."""
        if done == 0:
            self._bars.reset(self._tasks[stage])  # a stage may have a second part
            if total == 1:
                return  # a bar at 0 % until all is done would look stuck; this one pulses
        self._bars.update(self._tasks[stage], completed=done, total=total)

    def show_compiling(self) -> None:
        """See the base class."""
        self._bars.console.print(_compiling())


@contextmanager
def watch(title: str, *, quiet: bool) -> Iterator[StageClock]:
    """Show the progress of the work in the ``with`` block on stderr.

    Bars in a terminal, one line per stage elsewhere, JSON for a caller that asks, nothing if
    `quiet`. Whoever listened before still hears of it.
    """
    from rich.console import Console

    from spectrawalk.cli.callers import JsonClock, asked_for_json
    from spectrawalk.progress import listen, listener

    before = listener()
    console = Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        if quiet:
            clock = StageClock()
        elif asked_for_json():
            clock = JsonClock(title)
        elif console.is_terminal:
            clock = BarClock(stack.enter_context(_bars(title, console)))
        else:
            clock = PlainClock(title)
        stack.enter_context(_compilation_heard_by(clock))
        stack.enter_context(listen(clock if before is None else _both(clock, before)))
        yield clock
        clock.stop()


def _both(one: Listener, other: Listener) -> Listener:
    def hear(stage: str, done: int, total: int) -> None:
        one(stage, done, total)
        other(stage, done, total)

    return hear


def _bars(title: str, console: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class TimeLeft(TimeRemainingColumn):
        """The time left, while there is an estimate of it."""

        def render(self, task: Task) -> Text:
            known = task.time_remaining is not None and not task.finished
            return super().render(task) + Text(" left") if known else Text()

    class Percentage(TaskProgressColumn):
        """How much is done, where that is known."""

        def render(self, task: Task) -> Text:
            return Text() if task.total is None else super().render(task)

    return Progress(
        TextColumn(title),
        SpinnerColumn("line"),  # in ASCII, as not every terminal has more
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=None),
        Percentage(),
        TimeElapsedColumn(),
        TimeLeft(),
        console=console,
        transient=True,
        expand=True,
    )


@contextmanager
def _compilation_heard_by(clock: StageClock) -> Iterator[None]:
    """Tell the clock when numba really compiles: kernels from its cache are silent."""
    from numba.core import event

    class Compilation(event.Listener):
        def on_start(self, event: Any) -> None:
            clock.compiling()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Compilation()):
        yield
