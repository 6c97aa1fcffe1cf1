"""``spectrawalk doctor``: what to paste into a bug report."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from spectrawalk.cli.console import quiet_option, results_console, say, watch
from spectrawalk.doctor import SELF_TEST, TITLES, Fact, State, examine

if TYPE_CHECKING:
    from rich.console import Console

BROKEN = 1
"""Exit code where something that is needed is broken."""

_MARKS = {State.FINE: " ", State.ABSENT: "-", State.HINDERED: "!", State.BROKEN: "X"}
_NAME_WIDTH = 16

_EXAMPLES = """\b
Examples:
  spectrawalk doctor
  spectrawalk doctor --json > doctor.json
"""


@click.command(short_help="Check this computer, for a bug report.", epilog=_EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@quiet_option(json=True)
def doctor(as_json: bool, quiet: bool) -> int:
    """Check versions, threads, memory, folders, and cluster a small scene.

    Paste all of it into a bug report: names of people and home folders are left out. The exit code
    is 0 if spectrawalk works on this computer, even without optional parts, and 1 if not.
    """
    console = results_console(quiet=as_json or quiet)
    found: dict[str, list[Fact]] = {}
    for title in TITLES:
        with _progress(found, title, quiet=as_json or quiet):
            found[title] = examine(title)
        _show(console, title, found[title])
    states = Counter(fact.state for facts in found.values() for fact in facts)
    if as_json:
        _print_json(found, works=not states[State.BROKEN])
    elif quiet and states[State.BROKEN]:
        click.echo(f"Error: {_verdict(states)}", err=True)
    else:
        say(console, _verdict(states))
    return BROKEN if states[State.BROKEN] else 0


def _progress(
    found: dict[str, list[Fact]], title: str, *, quiet: bool
) -> AbstractContextManager[object]:
    """Show the progress of what takes seconds, unless the libraries for that may be broken."""
    broken = any(fact.state is State.BROKEN for facts in found.values() for fact in facts)
    return nullcontext() if broken or title != SELF_TEST else watch("checking", quiet=quiet)


def _show(console: Console, title: str, facts: list[Fact]) -> None:
    """Print a section: a line for each fact, with a mark where there is something to do."""
    from rich.table import Table

    console.print(title[0].upper() + title[1:])
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, min_width=_NAME_WIDTH)
    table.add_column(overflow="fold")
    for fact in facts:
        if console.is_terminal:
            table.add_row(_MARKS[fact.state], fact.name, fact.text)
        else:  # a line stays whole in a file or a pipe
            line = f"{_MARKS[fact.state]} {fact.name:<{_NAME_WIDTH}} {fact.text}"
            console.print(line, soft_wrap=True)
    if console.is_terminal:
        console.print(table)
    console.print()


def _verdict(states: Counter[State]) -> str:
    if states[State.BROKEN]:
        return f"spectrawalk does not work here: see the lines marked {_MARKS[State.BROKEN]}."
    better = f" Lines marked {_MARKS[State.HINDERED]} say what could be better."
    absent = f" Lines marked {_MARKS[State.ABSENT]} are optional parts that are not installed."
    return (
        "spectrawalk works here."
        + better * bool(states[State.HINDERED])
        + absent * bool(states[State.ABSENT])
    )


def _print_json(found: dict[str, list[Fact]], *, works: bool) -> None:
    from spectrawalk.io.run_record import record_json

    sections: dict[str, Any] = {
        title: {
            fact.name: {"value": fact.value, "state": fact.state, "advice": fact.advice}
            for fact in facts
        }
        for title, facts in found.items()
    }
    click.echo(record_json({"works": works, "sections": sections}), nl=False)
