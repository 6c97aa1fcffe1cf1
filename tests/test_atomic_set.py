"""Files that belong together: all new, all old, or a mixture that can be told and mended."""

import os
import random
import signal
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from spectrawalk.errors import FileError
from spectrawalk.io.atomic import atomic_set, finish_set

NAMES = ("map.aux", "map.qml", "map.tif")
SIZE = 300_000

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")


def write_without_end(folder):
    """Write one generation of the set after the other, until killed."""
    for generation in range(1, 1_000_000):
        with atomic_set(folder) as file:
            for name in NAMES:
                with file(name).open("wb", buffering=0) as handle:
                    for _ in range(10):  # so that a part of a file is there to be seen
                        handle.write(generation.to_bytes(4, "big") * (SIZE // 40))


def write(folder, text, names=NAMES, **options):
    with atomic_set(folder, **options) as file:
        for name in names:
            file(name).write_text(text)


def contents(folder):
    return {path.name: path.read_text() for path in Path(folder).iterdir()}


def test_all_files_are_replaced_at_the_end(tmp_path):
    write(tmp_path, "old")
    with atomic_set(tmp_path) as file:
        for name in NAMES:
            file(name).write_text("new")
        assert {(tmp_path / name).read_text() for name in NAMES} == {"old"}
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new")


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, OSError(28, "disk full")])
def test_a_failure_leaves_the_old_set(tmp_path, failure):
    def write_half():
        with atomic_set(tmp_path, remove=("notes",)) as file:
            file(NAMES[0]).write_text("new")
            raise failure

    write(tmp_path, "old", (*NAMES, "notes"))
    with pytest.raises(FileError if isinstance(failure, OSError) else failure):
        write_half()
    assert contents(tmp_path) == dict.fromkeys((*NAMES, "notes"), "old")


def test_files_that_must_not_stay_are_removed_with_the_set(tmp_path):
    write(tmp_path, "old", (*NAMES, "model", "other"))
    write(tmp_path, "new", remove=("model", "never there", NAMES[0]))
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new") | {"other": "old"}


def test_the_set_of_a_dead_writer_is_finished(tmp_path):
    """The state after a kill between two of the last moves."""
    write(tmp_path, "old", (*NAMES, "model"))
    ready = tmp_path / ".spectrawalk-ready"
    ready.mkdir()
    (tmp_path / NAMES[0]).write_text("new")
    (ready / f"0001-{NAMES[1]}").write_text("new")
    (ready / f"0002-{NAMES[2]}").write_text("new")
    (ready / ".spectrawalk-gone").write_text("model")
    assert finish_set(tmp_path)
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new")
    assert not finish_set(tmp_path)


def test_what_a_dead_writer_left_unfinished_is_thrown_away(tmp_path):
    left = tmp_path / ".spectrawalk-set-0123"
    left.mkdir()
    (left / NAMES[0]).write_text("half")
    write(tmp_path, "new")
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new")


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"missing' cannot be written: No such file"):
        write(tmp_path / "missing", "new")
    (tmp_path / NAMES[1]).mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write(tmp_path, "new")
    assert os.listdir(tmp_path) == [NAMES[1]]


@posix
def test_two_writers_do_not_meet(tmp_path, monkeypatch):
    monkeypatch.setattr("spectrawalk.io.atomic._PATIENCE", 0.2)
    with atomic_set(tmp_path) as file:
        file(NAMES[0]).write_text("first")
        with pytest.raises(FileError, match="written to by another run"):
            write(tmp_path, "second")
    assert contents(tmp_path) == {NAMES[0]: "first"}


@posix
def test_a_writer_waits_for_another(tmp_path):
    other = get_context("fork").Process(target=write_slowly, args=(tmp_path,))
    other.start()
    while not any(tmp_path.glob(".spectrawalk-set-*")):
        time.sleep(0.01)
    write(tmp_path, "second")
    other.join()
    assert contents(tmp_path) == dict.fromkeys(NAMES, "second")


def write_slowly(folder):
    with atomic_set(folder) as file:
        for name in NAMES:
            file(name).write_text("first")
            time.sleep(0.2)


@posix
def test_kill_at_50_moments_leaves_each_file_old_or_new(tmp_path):
    moments = random.Random(0)
    unfinished = 0
    for _ in range(50):
        writer = get_context("fork").Process(target=write_without_end, args=(tmp_path,))
        writer.start()
        time.sleep(moments.uniform(0.02, 0.08))
        writer.kill()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
        seen = {generation_of(tmp_path / name) for name in NAMES if (tmp_path / name).exists()}
        being_moved = (tmp_path / ".spectrawalk-ready").exists()
        assert len(seen) <= 1 or being_moved
        unfinished += being_moved or any(tmp_path.glob(".spectrawalk-set-*"))
        finish_set(tmp_path)
        seen = {generation_of(tmp_path / name) for name in NAMES if (tmp_path / name).exists()}
        assert len(seen) <= 1
    assert unfinished >= 10  # the kills did fall into the writing
    write(tmp_path, "new")
    assert contents(tmp_path) == dict.fromkeys(NAMES, "new")


def generation_of(path):
    """Which writing a file is of; it must be whole."""
    content = path.read_bytes()
    assert len(content) == SIZE
    assert content == content[:4] * (SIZE // 4)
    return int.from_bytes(content[:4], "big")
