"""Work shared among threads: all of it done, stopped at once, and nothing changed outside."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from spectrawalk import threads
from spectrawalk.errors import ParameterError


@pytest.mark.parametrize("number", [1, 2, 5, 40])
def test_every_block_is_worked_on_once_and_results_keep_their_order(number):
    done = np.zeros(100, dtype=int)

    def work(start, stop):
        done[start:stop] += 1
        return start

    blocks = threads.split(0, 100, threads=number)
    assert threads.run_blocks(work, blocks, number) == [start for start, _ in blocks]
    assert (done == 1).all()


def test_blocks_are_shared():
    """Each of three threads holds a block until all three have one."""
    meeting = threading.Barrier(3, timeout=20)
    names = threads.run_blocks(
        lambda _: (meeting.wait(), threading.current_thread().name)[1], [(0,), (1,), (2,)], 3
    )
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("start", "stop", "least", "number"), [(0, 0, 1, 2), (3, 4, 1, 9), (5, 1005, 300, 2)]
)
def test_split(start, stop, least, number):
    blocks = threads.split(start, stop, least, number)
    assert blocks[0][0] == start
    assert blocks[-1][1] == stop
    assert all(one[1] == other[0] for one, other in pairwise(blocks))
    assert len(blocks) == 1 or min(stop - start for start, stop in blocks) >= least


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_exception_stops_the_work(kind, number):
    begun = []

    def work(block):
        begun.append(block)
        time.sleep(0.01)
        if block == 2:
            raise kind("found")

    with pytest.raises(kind, match="found"):
        threads.run_blocks(work, [(block,) for block in range(1000)], number)
    after = len(begun)
    assert after < 50
    time.sleep(0.1)
    assert len(begun) == after  # nobody works on
    assert threads.run_blocks(lambda block: block, [(1,), (2,)], number) == [1, 2]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_heard_between_blocks():
    # A shell starts programs in the background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = []

    def work(block):
        begun.append(block)
        if len(begun) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    try:
        with pytest.raises(KeyboardInterrupt):
            threads.run_blocks(work, [(block,) for block in range(1000)], 3)
    finally:
        signal.signal(signal.SIGINT, before)
    after = len(begun)
    assert after < 50
    time.sleep(0.1)
    assert len(begun) == after


def test_blocks_inside_blocks_do_not_wait_for_each_other():
    def outer(size):
        return sum(threads.run_blocks(lambda value: value, [(value,) for value in range(size)], 2))

    assert threads.run_blocks(outer, [(size,) for size in range(20)], 2) == [
        size * (size - 1) // 2 for size in range(20)
    ]


class TestNumber:
    def test_limit_before_environment_before_processors(self, monkeypatch):
        monkeypatch.delenv(threads.VARIABLE, raising=False)
        assert threads.count() >= 1
        monkeypatch.setenv(threads.VARIABLE, "7")
        assert threads.count() == 7
        with threads.limit(3):
            assert threads.count() == 3
        assert threads.count() == 7

    @pytest.mark.parametrize("text", ["0", "two", "-1", "1.5"])
    def test_environment_that_is_no_number(self, monkeypatch, text):
        monkeypatch.setenv(threads.VARIABLE, text)
        with pytest.raises(ParameterError, match=f"SPECTRAWALK_THREADS is '{text}'"):
            threads.count()

    def test_limit_below_one(self):
        with pytest.raises(ParameterError, match="threads=0"), threads.limit(0):
            pass


def run(code):
    """Run code in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


MODULES = ("blocks", "edges", "labels", "neighbors", "selection", "tree", "windows")


def test_importing_leaves_the_environment_alone():
    """It once set a policy for OpenMP, for all of the user's program."""
    run(
        "import os, numba; before = dict(os.environ);"
        "import spectrawalk;"
        f"from spectrawalk.kernels import {', '.join(MODULES)};"
        "from spectrawalk.srdl import eigenpairs, labels, modes, neighbors;"
        "assert dict(os.environ) == before"
    )


def test_no_kernel_needs_a_threading_layer():
    """Numba starts one for loops that it shares among threads itself."""
    modules = [importlib.import_module(f"spectrawalk.kernels.{name}") for name in MODULES]
    kernels = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, CPUDispatcher)
    ]
    assert len(kernels) > 20
    assert not any(kernel.targetoptions.get("parallel") for kernel in kernels)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_after_a_fork():
    """The child has none of its parent's threads: it once would have waited for them for ever."""
    done = run(
        "import os; from spectrawalk.threads import run_blocks;"
        "f = lambda a: a + 1; blocks = [(i,) for i in range(8)];"
        "run_blocks(f, blocks, 3);"
        "child = os.fork();"
        "ok = run_blocks(f, blocks, 3) == list(range(1, 9));"
        "(os._exit(0 if ok else 1) if child == 0 else"
        " print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))"
    )
    assert done.stdout.strip() == "0"
