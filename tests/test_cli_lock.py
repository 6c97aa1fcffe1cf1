"""One run at a time writes to a folder."""

import os
import re
import runpy
import signal
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import SMALL, assert_one_line_error, finish, run, start

from spectrawalk.errors import FileError
from spectrawalk.io.lock import hold_lock, lock_beside, lock_inside

LARGE = ["cluster", "large.npy", "-k", 3, "-o", "out", "--no-report"]
SMALL_RUN = ["cluster", "field.npy", "-k", 3, "-o", "out", *SMALL]


@pytest.fixture
def scenes(cube, here):
    np.save("field.npy", cube)
    noise = np.random.default_rng(0).uniform(size=(250, 250, 40))
    np.save("large.npy", noise.astype(np.float32))


@pytest.fixture
def long_run(scenes):
    """A run that is in the middle of its work."""
    process = start(*LARGE)
    for line in process.stderr:
        if "neighbours" in line:
            break
    yield process
    process.kill()
    process.communicate()


def names(folder="out"):
    return {file.name for file in Path(folder).iterdir()}


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_a_second_run_into_the_same_folder_is_refused_at_once(overwrite, long_run):
    code, out, err = finish(start(*SMALL_RUN, *overwrite))
    assert_one_line_error(code, err)
    assert out == ""
    who = f"process {long_run.pid} on {re.escape(socket.gethostname())}"
    assert re.fullmatch(
        rf"Error: another run writes to the output folder 'out' \({who}, "
        r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\); wait for its end, or choose another with -o\.\n",
        err,
    )
    assert long_run.poll() is None


def test_of_two_runs_that_start_together_one_wins_and_says_so(scenes):
    processes = [start(*SMALL_RUN) for _ in range(3)]
    ends = [finish(process) for process in processes]
    assert sorted(code for code, _, _ in ends) == [0, 2, 2]
    for code, _, err in ends:
        if code:
            assert "another run writes to the output folder 'out'" in err or "already holds" in err
    assert not [name for name in names() if name.startswith(".")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_a_run_that_was_killed_does_not_block_the_next(long_run):
    long_run.send_signal(signal.SIGKILL)
    long_run.wait()
    assert lock_inside(Path("out")).exists()
    assert run(*SMALL_RUN).exit_code == 0
    assert not [name for name in names() if name.startswith(".")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_an_interrupted_run_gives_the_folder_back(long_run):
    long_run.send_signal(signal.SIGINT)
    assert finish(long_run)[0] == 130
    assert not Path("out").exists()


def test_a_refused_run_leaves_the_folder_to_the_other(scenes):
    Path("out").mkdir()
    with hold_lock(lock_inside(Path("out")), "'out'", "wait."):
        before = names()
        assert run(*SMALL_RUN).exit_code == 2
        assert names() == before
    assert names() == set()


@pytest.mark.parametrize(
    "command",
    [
        ["demo", "-o", "out"],
        ["predict", "model.npz", "field.npy", "-o", "out"],
        ["benchmark", "indian-pines-subset", "-o", "out"],
        ["reproduce", "table", "-o", "out"],
        ["reproduce", "readings", "-o", "out"],
        ["reproduce", "figures", "-o", "out"],
    ],
)
def test_every_command_with_a_folder_waits_its_turn(command, scenes):
    Path("out").mkdir()
    with hold_lock(lock_inside(Path("out")), "'out'", "wait."):
        result = run(*command)
        assert_one_line_error(result.exit_code, result.stderr)
        assert "another run writes to the output folder 'out'" in result.stderr


@pytest.mark.parametrize(
    ("held", "asked", "refused"),
    [
        ("field.tif", "field.tif", True),
        ("field.hdr", "field.img", True),
        ("field.tif", "field.npy.zarr", False),
        ("field.tif", "other.tif", False),
    ],
)
def test_a_file_is_written_by_one_convert_at_a_time(held, asked, refused, scenes):
    with hold_lock(lock_beside(Path(held)), f"'{held}'", "wait."):
        result = run("convert", "field.npy", asked)
    assert result.exit_code == (2 if refused else 0), result.output
    assert ("another run writes to" in result.stderr) is refused
    assert Path(asked).exists() is not refused
    assert not [name for name in names(".") if name.startswith(".")]


# The lock itself


def test_a_lock_leaves_nothing_behind(here):
    lock = here / ".lock"
    with hold_lock(lock, "'here'", "wait."):
        assert lock.exists()
    assert names(here) == set()
    with pytest.raises(ZeroDivisionError), hold_lock(lock, "'here'", "wait."):
        raise ZeroDivisionError
    assert names(here) == set()


def test_a_lock_is_refused_to_a_second_holder(here):
    lock = here / ".lock"
    with hold_lock(lock, "'here'", "wait."):
        with (
            pytest.raises(
                FileError, match=r"another run writes to 'here' \(process \d+ on .*\); w"
            ),
            hold_lock(lock, "'here'", "wait."),
        ):
            pass
        assert lock.exists()


def test_what_a_dead_run_left_is_no_lock(here):
    lock = here / ".lock"
    lock.write_text(
        '{"host": "elsewhere", "process": 1, "since": "2001-01-01 00:00:00"}' + "x" * 99
    )
    with hold_lock(lock, "'here'", "wait."):
        with pytest.raises(FileError) as refused, hold_lock(lock, "'here'", "wait."):
            pass
        assert "elsewhere" not in str(refused.value)
    assert names(here) == set()


def test_a_lock_that_was_taken_away_meanwhile_is_not_believed(here, monkeypatch):
    """Another run may end, and remove its file, between our opening the file and locking it."""
    from spectrawalk.io import lock as module

    lock, taken = here / ".lock", []
    really = module._take

    def take_late(descriptor):
        if not taken:
            lock.unlink()
        taken.append(descriptor)
        return really(descriptor)

    monkeypatch.setattr(module, "_take", take_late)
    with hold_lock(lock, "'here'", "wait."):
        assert len(taken) == 2
        assert lock.exists()
    assert names(here) == set()


def test_a_lock_that_cannot_be_made_is_said_so(here):
    with (
        pytest.raises(FileError, match="'here' cannot be written to: No such file or directory; "),
        hold_lock(here / "missing" / ".lock", "'here'", "wait."),
    ):
        pass


def test_a_drive_without_locks_is_used_without(here, monkeypatch):
    from spectrawalk.io import lock as module

    def refuse(descriptor):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(module, "_take", refuse)
    with hold_lock(here / ".lock", "'here'", "wait."):
        pass
    assert names(here) == set()


class FakeWindowsLocks:
    """Stands for msvcrt, so that what Windows runs is run at all elsewhere."""

    LK_NBLCK = 2

    def __init__(self):
        self.held = {}

    def locking(self, descriptor, mode, size):
        place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR), size, mode
        if place in self.held:
            raise PermissionError(13, "Permission denied")
        self.held[place] = descriptor


def test_the_lock_of_windows(here, monkeypatch):
    from spectrawalk.io import lock as module

    fake = FakeWindowsLocks()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        patch.setitem(sys.modules, "msvcrt", fake)
        windows = runpy.run_path(module.__file__)
        lock = here / ".lock"
        with windows["hold_lock"](lock, "'here'", "wait."):
            with (
                pytest.raises(FileError, match=rf"\(process {os.getpid()} on "),
                windows["hold_lock"](lock, "'here'", "wait."),
            ):
                pass
            [(_, place, size, _)] = fake.held
            assert lock.stat().st_size < place  # what the file says can be read
            assert size == 1
    assert names(here) == set()
