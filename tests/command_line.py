"""Ways to run the command line in tests."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

import spectrawalk
from spectrawalk.cli import main

LOUD_PICTURES = ["--method", "srdl", "--neighbors", "20", "--eigenpairs", "5"]
LOUD = ["--no-report", *LOUD_PICTURES]
"""Options of `cluster` for images of a few hundred pixels, in a hurry: one run of SRDL."""
PICTURES, SMALL = [*LOUD_PICTURES, "--quiet"], [*LOUD, "--quiet"]
"""The same for tests that do not look at what is printed, or at errors only."""


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def environment(*, watched=True):
    """Variables with which a process of its own finds the package that is tested.

    Not `watched`, it does not measure coverage, which takes memory and writes files.
    """
    source = str(Path(spectrawalk.__file__).parent.parent)
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    found = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    if watched:
        return found
    return {name: value for name, value in found.items() if not name.startswith("COVERAGE")}


def start(*args, watched=True, **kwargs):
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "spectrawalk", *map(str, args)],
        env=environment(watched=watched),
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | kwargs,
    )


def run_python(code, *, watched=True, **variables):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(watched=watched) | variables,
        check=False,
        timeout=300,
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def assert_one_line_error(code, err):
    assert code == 2, err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
