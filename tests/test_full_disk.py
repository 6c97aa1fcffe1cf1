"""A disk without room: one sentence of ours, and nothing half-written."""

import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from command_line import assert_one_line_error, environment, finish, start

from spectrawalk import Scene
from spectrawalk.errors import FileError
from spectrawalk.io.scene_writers import write_scene

FORMATS = [".tif", ".hdr", ".zarr", ".mat", ".npy"]
SIZE = 64 * 64 * 20 * 2  # bytes of the values, which are random: no format packs them smaller


@pytest.fixture
def scene():
    values = np.random.default_rng(0).integers(1, 65535, (64, 64, 20), dtype=np.uint16)
    return Scene(values, wavelengths=np.linspace(400, 900, 20))


def limit_files(n_bytes):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_may_not_grow(scene, here, suffix):
    np.save("field.npy", scene.cube)
    code, out, err = finish(
        start(
            "convert",
            "field.npy",
            f"out{suffix}",
            "--quiet",
            watched=False,
            preexec_fn=lambda: limit_files(20_000),
        )
    )
    assert_one_line_error(code, err)
    assert out == ""
    assert f"'out{suffix}' cannot be written: " in err
    assert err.endswith("; choose another folder or file name, or make room.\n")
    assert "requested" not in err
    assert os.listdir() == ["field.npy"]


LIMITED = """
import resource, signal, sys
import numpy as np
from spectrawalk import Scene
from spectrawalk.errors import FileError
from spectrawalk.io.scene_writers import write_scene

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
values = np.random.default_rng(0).integers(1, 65535, (64, 64, 20), dtype=np.uint16)
scene = Scene(values, wavelengths=np.linspace(400, 900, 20))
whole = int(sys.argv[1])
for limit in (*range(whole - 20_000, whole, 1999), whole - 1):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_scene("part.tif", scene)
    except FileError:
        continue
    raise SystemExit(f"cut at {limit} of {whole} bytes, and nothing said")
"""


def test_a_geotiff_is_never_cut_short_in_silence(scene, here):
    write_scene("whole.tif", scene)
    whole = os.path.getsize("whole.tif")
    os.remove("whole.tif")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(whole)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(watched=False),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir() == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_disk_that_is_really_full(scene, here, suffix):
    """A file system of 128 KiB in memory, where the system lets us make one."""
    np.save("field.npy", scene.cube)
    os.mkdir("small")
    mount = "mount -t tmpfs -o size=128k tmpfs small"
    unshare = ["unshare", "-m", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, mount], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system does not let us mount a file system")
    command = (
        f"{mount} && {sys.executable} -m spectrawalk convert field.npy small/out{suffix} --quiet"
    )
    done = subprocess.run(
        [*unshare, f"{command}; code=$?; ls -A small; exit $code"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert_one_line_error(done.returncode, done.stderr)
    assert f"'small/out{suffix}' cannot be written: No space left on device; " in done.stderr
    assert done.stdout == ""  # nothing is left


def test_a_full_device_in_the_process(scene, here, monkeypatch):
    """As NumPy says it, without a number of the system."""

    def fail(*args, **kwargs):
        raise OSError("163840 requested and 49968 written")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(FileError, match=r"cannot be written: only a part of it could be written; "):
        write_scene("out.npy", scene)
