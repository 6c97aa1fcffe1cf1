"""Tiles on a real Dask cluster: the same bytes, whoever works on them and whatever happens."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest
from command_line import environment

from spectrawalk import SpectraWalk, __version__
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError, SchedulerError
from spectrawalk.scale import draw
from spectrawalk.scale.engine import open_cluster, serial
from spectrawalk.scale.run import cluster_in_tiles
from spectrawalk.scale.source import open_source


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    made = make_scene((150, 130), n_bands=12, n_classes=4, region_size=18, random_state=3)
    path = tmp_path_factory.mktemp("scene") / "fields.npy"
    np.save(path, made.cube)
    return path


def labels(scene, folder, run, size=50):
    folder.mkdir(exist_ok=True)
    source = open_source(scene)
    found, _ = cluster_in_tiles([source], SpectraWalk(4), folder, size=size, run=run)
    codes = np.zeros((2, 150, 130), np.uint8)
    for tile, part in found.scenes[0].blocks():
        codes[:, tile.rows, tile.cols] = part.codes, part.confidence
    return codes


@pytest.fixture(scope="module")
def expected(scene, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "PIXELS", 6_144)
        return labels(scene, tmp_path_factory.mktemp("expected"), serial)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(draw, "PIXELS", 6_144)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "size"), [(1, 64), (2, 100), (4, 50)])
def test_any_number_of_workers_gives_the_same_bytes(scene, expected, few, tmp_path, workers, size):
    with open_cluster("local", workers) as cluster:
        assert cluster.n_workers == workers
        assert cluster.dashboard.startswith("http://127.0.0.1:")
        found = labels(scene, tmp_path / "out", cluster.run, size)
    assert (found == expected).all()


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(scene, expected, few, tmp_path):
    with open_cluster("local", 4) as cluster:
        killed = []

        def killing(function, tasks, stage):
            for number, result in cluster.run(function, tasks, stage):
                if stage == "tiles" and number >= 3 and not killed:
                    workers = cluster.client.run(os.getpid)
                    killed.append(next(iter(workers.values())))
                    os.kill(killed[0], signal.SIGKILL)
                yield number, result

        found = labels(scene, tmp_path / "out", killing, 25)
    assert killed
    assert (found == expected).all()


def fail(number):
    raise DataError(f"tile {number} is odd.")


@pytest.mark.slow
def test_errors_of_a_tile_are_told_once(tmp_path):
    with open_cluster("local", 1) as cluster, pytest.raises(DataError, match="tile 3 is odd"):
        list(cluster.run(fail, [(3,)], "tiles"))


def test_a_scheduler_that_does_not_answer_is_named():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with (
        pytest.raises(SchedulerError, match=f"no Dask scheduler answers at '{address}'"),
        open_cluster(address),
    ):
        pass


@pytest.mark.parametrize("address", ["nonsense", "tcp://", "ftp://127.0.0.1:1"])
def test_an_address_that_is_none_is_refused_in_one_sentence(address):
    with (
        pytest.raises(SchedulerError, match=f"no Dask scheduler answers at '{address}'"),
        open_cluster(address),
    ):
        pass


@pytest.fixture
def scheduler(tmp_path):
    """Address of a real scheduler without workers, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            sys.executable, "-m", "distributed.cli.dask_scheduler",
            "--host", "127.0.0.1", "--port", str(port), "--no-dashboard",
        ],
        env=environment(watched=False),
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield f"tcp://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


def start_worker(address, folder, **variables):
    return subprocess.Popen(
        [
            sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1",
            "--no-dashboard", "--no-nanny", "--local-directory", str(folder),
        ],
        env=environment(watched=False) | variables,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.slow
def test_a_scheduler_without_workers_is_named(scheduler, monkeypatch):
    monkeypatch.setattr("spectrawalk.scale.engine._PATIENCE", "3s")
    with (
        pytest.raises(SchedulerError, match=f"'{scheduler}' has no workers"),
        open_cluster(scheduler),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"__init__.py": ""}, "cannot use spectrawalk"),
        (
            {
                "__init__.py": "__version__ = '0.0.1'",
                "scale/__init__.py": "",
                "scale/engine.py": "def _version_here():\n    return '0.0.1'",
            },
            f"has spectrawalk 0.0.1 and this is {__version__}",
        ),
    ],
)
def test_workers_with_another_package_are_refused(scheduler, tmp_path, files, sentence):
    for name, text in files.items():
        path = tmp_path / "other" / "spectrawalk" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    worker = start_worker(scheduler, tmp_path, PYTHONPATH=str(tmp_path / "other"))
    try:
        with pytest.raises(SchedulerError, match=sentence), open_cluster(scheduler):
            pass
    finally:
        worker.terminate()
        worker.wait(20)


@pytest.mark.slow
def test_the_workers_of_a_scheduler_do_the_work(scheduler, scene, expected, few, tmp_path):
    workers = [start_worker(scheduler, tmp_path / str(number)) for number in range(2)]
    try:
        with open_cluster(scheduler) as cluster:
            found = labels(scene, tmp_path / "out", cluster.run)
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait(20)
    assert (found == expected).all()


def start_command(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "spectrawalk", *map(str, args)],
        env=environment(watched=False),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill_all(process):
    """Kill a process and all that it started."""
    parent = psutil.Process(process.pid)
    everyone = [*parent.children(recursive=True), parent]
    for each in everyone:
        each.kill()
    psutil.wait_procs(everyone, 20)


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_was(scene, tmp_path):
    command = ("cluster", scene, "-k", 4, "--tiles", 16, "-o", tmp_path / "out", "--no-report")
    process, parts = start_command(*command), tmp_path / "out" / ".spectrawalk-tiles"
    give_up = time.monotonic() + 240
    while len(list(parts.glob("tile-*"))) < 20:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.05)
    kill_all(process)
    process.communicate()
    finished = {path: path.stat().st_mtime_ns for path in parts.glob("tile-*")}
    assert not (tmp_path / "out" / "labels.tif").exists()
    again = start_command(*command)
    kept = None
    while again.poll() is None:
        now = {path: path.stat().st_mtime_ns for path in finished if path.exists()}
        if len(now) == len(finished):
            kept = now  # the folder is removed at the end
        time.sleep(0.02)
    out, err = again.communicate()
    assert again.returncode == 0, err
    assert kept == finished
    assert f"{len(finished)} of 90 tiles were finished by an earlier run" in out.replace("\n", " ")
    assert not parts.exists()
    whole = start_command(*command[:-2], tmp_path / "other", "--no-report")
    assert whole.wait(300) == 0
    same = [(tmp_path / name / "labels.tif").read_bytes() for name in ("out", "other")]
    assert same[0] == same[1]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_ends_in_one_sentence_and_the_run_goes_on_later(scene, small_disk, tmp_path):
    out = small_disk / "out"
    command = (
        "cluster", scene, "-k", 4, "--tiles", 16, "-o", out, "--no-report", "--scheduler", "none",
    )  # fmt: skip
    ballast = small_disk / "ballast"
    process, parts = start_command(*command), out / ".spectrawalk-tiles"
    while len(list(parts.glob("tile-*"))) < 5:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    _, err = process.communicate(timeout=300)
    last = err.strip().splitlines()[-1]
    assert process.returncode == 2
    assert last.startswith(f"Error: '{out}' cannot be written: No space left on device; make room")
    assert "Traceback" not in err
    finished = list(parts.glob("tile-*"))
    assert len(finished) >= 5
    ballast.unlink()
    again = start_command(*command)
    out_text, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert f"{len(finished)} of 90 tiles were finished" in out_text.replace("\n", " ")
    assert (out / "labels.tif").exists()
