"""What programs that run this one rely on: progress as JSON, and an end with standard input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import LOUD, SMALL, environment, finish, start

from spectrawalk import SpectraWalk, progress
from spectrawalk.cli.callers import Share


@pytest.fixture
def field(cube, here):
    np.save("field.npy", cube)
    return ["cluster", "field.npy", "-k", 3, "-o", "out"]


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setenv("SPECTRAWALK_PROGRESS", "json")
    monkeypatch.setenv("SPECTRAWALK_STOP_WITH_STDIN", "1")


def run_held(*args):
    """Run to the end with standard input open, which `communicate` would close."""
    with open("out.txt", "w+") as out, open("err.txt", "w+") as err:
        process = start(*args, stdin=subprocess.PIPE, stdout=out, stderr=err)
        code = process.wait(300)
        process.stdin.close()
    return code, Path("out.txt").read_text(), Path("err.txt").read_text()


def test_progress_is_a_line_of_json_each(field, asked):
    code, out, err = run_held(*field, *LOUD)
    assert code == 0, err
    lines = [json.loads(line) for line in err.splitlines()]
    titles = list(dict.fromkeys(line["title"] for line in lines))
    assert titles == ["loading", "reading", "SRDL", "writing"]
    shares = [line["share"] for line in lines]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.5 < shares[-1] <= 1
    assert {"neighbours", "graph", "labels"} <= {line.get("stage") for line in lines}
    assert "3 clusters" in out


def test_quiet_is_quiet(field, asked):
    assert run_held(*field, *SMALL) == (0, "", "")


def test_the_share_of_a_consensus_grows_to_the_end(cube):
    share, shares = Share("SpectraWalk"), []
    with progress.listen(lambda *report: shares.append(share(*report))):
        SpectraWalk().fit(cube)
    assert shares == sorted(shares)
    assert shares[0] < 0.15
    assert shares[-1] > 0.6
    assert len(set(shares)) > 10  # it moves


def test_unknown_stages_move_the_share_too():
    share = Share("another command")
    found = [share(stage, done, 2) for stage in ("first", "second") for done in (0, 1, 2)]
    assert found == sorted(found)
    assert len(set(found)) == 5
    assert found[-1] < 0.9


@pytest.mark.skipif(sys.platform == "win32", reason="exit codes of signals")
def test_the_run_ends_with_standard_input(here, asked):
    noise = np.random.default_rng(0).uniform(size=(200, 200, 40))
    np.save("large.npy", noise.astype(np.float32))
    process = start("cluster", "large.npy", "-o", "made/out", stdin=subprocess.PIPE)
    for line in process.stderr:
        if "SpectraWalk" in line:
            break
    process.stdin.close()
    assert process.wait(30) == 143
    assert process.stderr.read().splitlines()[-1] == "Terminated: no file is half-written."
    assert not Path("made").exists()


def test_without_being_asked_it_does_not_read_standard_input(field):
    code, _, err = finish(start(*field, *LOUD, stdin=subprocess.DEVNULL))
    assert code == 0
    assert "SRDL: neighbours" in err


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX")
def test_the_run_ends_with_the_program_that_started_it(here, asked):
    """A program that is killed cannot tell the run to stop; its end of the pipe does."""
    noise = np.random.default_rng(0).uniform(size=(200, 200, 40))
    np.save("large.npy", noise.astype(np.float32))
    caller = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys\n"
            "run = [sys.executable, '-m', 'spectrawalk', 'cluster', 'large.npy', '-o', 'out']\n"
            "process = subprocess.Popen(run, stdin=subprocess.PIPE, start_new_session=True)\n"
            "print(process.pid, flush=True)\n"
            "process.wait()",
        ],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in caller.stderr:
        if "SpectraWalk" in line:
            break
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    rest = caller.stderr.read()  # ends when the run does, which holds the other end
    assert rest.splitlines()[-1] == "Terminated: no file is half-written."
    assert not Path("out").exists()
