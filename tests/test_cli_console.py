"""What the commands print, and the clocks of their stages."""

import re
from io import StringIO

import numpy as np
from command_line import (
    LOUD,
    run,
)

import spectrawalk
from spectrawalk import SRDL
from spectrawalk.cli.console import BarClock, StageClock
from spectrawalk.cli.report import describe_clusters, describe_scene
from spectrawalk.results.result import Result


def test_a_terminal_with_colors_shows_them(cube):
    from rich.console import Console

    model = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(cube)
    scene = spectrawalk.Scene(cube)
    for color_system, shown in (("truecolor", True), (None, False)):
        file = StringIO()
        console = Console(file=file, force_terminal=True, color_system=color_system)
        describe_clusters(console, Result.of_fit(scene, model))
        assert ("\x1b[48;2;0;114;178m" in file.getvalue()) is shown
        assert "#0072b2" in file.getvalue()


def test_doubts_are_printed(cube, here):
    halves = np.concatenate([cube, np.zeros_like(cube), cube])
    np.save("islands.npy", halves)
    out = run("cluster", "islands.npy", "-k", 3, "-o", "out", *LOUD).stdout
    assert re.search(r"the graph has \d components", out)


def test_one_is_singular(here):
    file = StringIO()
    cube = np.ones((1, 2, 1))
    cube[0, 1] = 0
    scene = spectrawalk.Scene(cube, mask=cube[..., 0] > 0, name="tiny")
    from rich.console import Console

    describe_scene(Console(file=file, width=200), scene)
    assert "1 row x 2 columns, 1 band, 1 pixel to cluster\n1 pixel is masked" in file.getvalue()


def test_a_stage_of_one_step_pulses_until_it_is_done():
    from rich.progress import Progress

    bars = Progress()
    clock = BarClock(bars)
    assert [task.total for task in bars.tasks] == [None]  # at once
    clock("eigenpairs", 0, 1)
    [task] = bars.tasks
    assert (task.description, task.total) == ("eigenpairs", None)
    clock("eigenpairs", 1, 1)
    assert task.finished
    clock("labels", 0, 4)
    assert bars.tasks[1].total == 4


def test_the_clock_gives_each_stage_its_own_time():
    clock = StageClock()
    reports = [("a", 0, 2), ("a", 1, 2), ("b", 0, 1), ("b", 1, 1), ("a", 2, 2)]
    for report in reports:
        clock(*report)
    clock.stop()
    total = clock.total
    assert list(clock.seconds) == ["a", "b"]
    assert all(seconds > 0 for seconds in clock.seconds.values())
    assert sum(clock.seconds.values()) <= total
    assert clock.total == total


def test_no_time_is_lost_between_the_reports(monkeypatch):
    monkeypatch.setattr("time.perf_counter", iter(range(100)).__next__)
    clock = StageClock()
    for report in [("a", 0, 1), ("a", 1, 1), ("a", 0, 2), ("a", 2, 2), ("b", 0, 1), ("b", 1, 1)]:
        clock(*report)
    clock.stop()
    # One tick to the first report, four more in a, the one that it took to begin b, and two in b.
    assert clock.seconds == {"a": 4, "b": 2}
    assert clock.total == 7
