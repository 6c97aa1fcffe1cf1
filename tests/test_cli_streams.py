"""Nothing about standard output or standard error stops the work."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import LOUD, environment, run_python, start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

RUN = ["cluster", "field.npy", "-k", "3", "-o", "out", *LOUD]


def in_shell(command, redirection, **variables):
    """Run spectrawalk in a shell, with pipes; return its exit code and what was seen."""
    line = shlex.join([sys.executable, "-m", "spectrawalk", *command])
    done = subprocess.run(
        ["bash", "-c", f"{line} {redirection}; echo code ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env=environment() | variables,
        check=False,
        timeout=300,
    )
    *seen, last = done.stdout.splitlines()
    assert last.startswith("code "), done.stderr
    return int(last.removeprefix("code ")), seen, done.stderr


def assert_complete(folder="out"):
    names = {file.name for file in Path(folder).iterdir()}
    assert {"labels.npy", "labels.tif", "spectra.csv", "run.json"} <= names
    assert not [name for name in names if name.startswith(".")]


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_reader_of_both_streams_that_leaves_does_not_stop_the_work(buffering, cube, here):
    np.save("field.npy", cube)
    code, seen, err = in_shell(RUN, "2>&1 | head -1", **buffering)
    assert (code, len(seen), err) == (0, 1, "")
    assert_complete()


@pytest.mark.parametrize(
    "redirection", ["2>&1 >/dev/null | true", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "| true"]
)
def test_a_stream_that_is_gone_does_not_stop_the_work(redirection, cube, here):
    np.save("field.npy", cube)
    code, _, err = in_shell(RUN, redirection)
    assert code == 0
    assert "Error" not in err
    assert "Exception" not in err
    assert_complete()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_standard_output_is_an_error_after_the_work(cube, here):
    np.save("field.npy", cube)
    code, _, err = in_shell(RUN, ">/dev/full")
    assert_complete()
    assert code == 2
    last = err.splitlines()[-1]
    assert last == "Error: standard output could not be written: No space left on device."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_standard_error_does_not_stop_the_work(cube, here):
    np.save("field.npy", cube)
    code, seen, _ = in_shell(RUN, "2>/dev/full")
    assert code == 0
    assert any("labels.tif" in line for line in seen)
    assert_complete()


def test_an_error_that_nobody_can_read_still_has_its_exit_code(here):
    assert in_shell(["cluster", "missing.npy", "-o", "out"], "2>&-")[0] == 2
    assert in_shell(["cluster", "missing.npy", "-o", "out"], "2>&1 | true")[0] == 2


def test_a_terminal_that_closes_does_not_stop_the_work(cube, here):
    np.save("field.npy", cube)
    ours, theirs = os.openpty()
    process = start(*RUN, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.read(ours, 10)  # the bars have begun
    os.close(ours)
    assert process.wait(timeout=300) == 0
    assert_complete()


def test_a_file_does_not_take_the_place_of_a_closed_stream(here):
    code = (
        "import os; os.close(1)\n"
        "from spectrawalk.cli.streams import patient_streams\n"
        "with patient_streams():\n"
        "    file = open('map.tif', 'wb')\n"
        "    os.write(1, b'as a library written in C might')\n"
    )
    done = run_python(code)
    assert done.stderr == ""
    assert Path("map.tif").stat().st_size == 0
