"""``spectrawalk doctor``: each thing that can be wrong with a computer is made so for real."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from command_line import environment, run

from spectrawalk.doctor import Fact, State, facts, folders, machine, selftest, versions
from spectrawalk.estimators import forecast
from spectrawalk.kernels import compiled

ROOT = Path(__file__).parent.parent
PACKAGES = Path(sysconfig.get_path("purelib"))


def call(*python, **variables):
    """Call the command in a process of its own, where variables that are None are not set."""
    known = environment(watched="PYTHONPATH" not in variables) | variables
    done = subprocess.run(
        [sys.executable, *python, "doctor"],
        env={name: value for name, value in known.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


def lines(out):
    """Marks and texts of the lines, by their names."""
    return {
        line[2:18].strip(): (line[0], line[19:]) for line in out.splitlines() if line[1:2] == " "
    }


@pytest.fixture
def read_only(tmp_path):
    """The package where neither its folder nor the user's can take a file, even for root."""
    source, nobody = tmp_path / "src", tmp_path / "a-file"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "spectrawalk", source / "spectrawalk", ignore=ignored)
    (source / "spectrawalk" / "kernels" / "__pycache__").write_text("in the way")
    nobody.write_text("a file has no folders in it")
    home = str(nobody / "home")
    return {
        "PYTHONPATH": str(source),
        "HOME": home,
        "XDG_CACHE_HOME": f"{home}/.cache",
        "LOCALAPPDATA": home,
        "NUMBA_CACHE_DIR": None,
        "SPECTRAWALK_DATA": None,
    }


@pytest.fixture
def without_matplotlib(tmp_path):
    """A Python with all packages of this one, except that matplotlib is not installed."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for entry in PACKAGES.iterdir():
        if not entry.name.startswith("matplotlib"):
            (packages / entry.name).symlink_to(entry)
    return {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(packages)])}


def test_a_healthy_computer(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECTRAWALK_DATA", str(tmp_path))
    done = run("doctor")
    found = lines(done.stdout)
    assert done.exit_code == 0, done.output
    assert "X" not in {mark for mark, _ in found.values()}
    assert found["spectrawalk"] == (" ", versions.__version__)
    assert found["figures"][1].startswith("jinja2 ")
    folder = facts.shortened(str(compiled.cache_folder()))
    assert found["compiled code"] == (" ", f"{folder}, can be written")
    assert found["SPECTRAWALK_DATA"] == (" ", facts.shortened(str(tmp_path)))
    assert found["labels"] == (" ", "4 clusters of 1,600 pixels, as expected")
    assert done.stdout.splitlines()[-1].startswith("spectrawalk works here.")


@pytest.mark.slow  # all kernels are compiled
def test_nothing_can_be_stored(read_only):
    code, out, err = call("-m", "spectrawalk", **read_only)
    found = lines(out)
    assert code == 0, out + err
    assert found["compiled code"][0] == found["downloads"][0] == "!"
    assert "each run compiles anew" in found["compiled code"][1]
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in found["compiled code"][1]
    assert "put them into a folder that SPECTRAWALK_DATA names" in found["downloads"][1]
    assert "compiling, as in each run on this computer" in err
    assert found["labels"] == (" ", "4 clusters of 1,600 pixels, as expected")
    assert "to compile" in found["time"][1]


def test_a_kernel_that_cannot_be_stored_is_compiled(read_only):
    code = (
        "import numpy as np\n"
        "from spectrawalk.kernels import compiled, selection\n"
        "print(compiled.cache_folder(), selection.squared_distance(np.ones(3), np.zeros(3)))"
    )
    known = environment(watched=False) | read_only
    known = {name: value for name, value in known.items() if value is not None}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=True)
    assert done.stdout == "None 3.0\n"


def test_all_kernels_are_compiled_in_the_one_way():
    modules = set((ROOT / "src" / "spectrawalk" / "kernels").glob("*.py"))
    for path in modules - {Path(compiled.__file__)}:
        assert not re.search("^(from|import) numba", path.read_text("utf-8"), re.MULTILINE), path


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_one_core_without_matplotlib(without_matplotlib):
    one = min(os.sched_getaffinity(0))
    bound = (
        f"import os, runpy; os.sched_setaffinity(0, {{{one}}})\n"
        "runpy.run_module('spectrawalk', run_name='__main__', alter_sys=True)"
    )
    code, out, err = call("-S", "-c", bound, **without_matplotlib)
    found = lines(out)
    assert code == 0, out + err
    text = "matplotlib not installed; pip install 'spectrawalk[figures]'"
    assert found["figures"] == ("-", text)
    assert found["zarr"][0] == " "
    if (os.cpu_count() or 1) > 1:
        mark, text = found["processors"]
        assert (mark, text.partition(";")[0]) == ("!", f"1 of {os.cpu_count()} may be used")
    assert found["threads"][1].startswith("1 (")
    assert found["labels"] == (" ", "4 clusters of 1,600 pixels, as expected")


def test_what_is_broken_is_said_and_the_exit_code_is_1(tmp_path):
    nowhere = str(tmp_path / "nowhere")
    code, out, _ = call(
        "-m", "spectrawalk", SPECTRAWALK_THREADS="many", PROJ_DATA=nowhere, PROJ_LIB=None
    )
    found = lines(out)
    assert code == 1
    assert found["PROJ"][0] == found["threads"][0] == found["self-test"][0] == "X"
    assert found["PROJ"][1].endswith(f"(PROJ_DATA={nowhere}); unset PROJ_DATA")
    assert "set it to a number of threads from 1" in found["threads"][1]
    assert out.splitlines()[-1] == "spectrawalk does not work here: see the lines marked X."


def test_a_package_that_cannot_be_imported_and_one_that_is_too_old(without_matplotlib, tmp_path):
    packages = tmp_path / "packages"
    (packages / "numba").unlink()
    (packages / "numba").mkdir()
    (packages / "numba" / "__init__.py").write_text("raise ImportError('libllvm is missing')")
    [info] = packages.glob("psutil-*.dist-info")
    text = (info / "METADATA").read_text("utf-8")
    info.unlink()
    info.mkdir()
    text = re.sub("^Version: .*", "Version: 5.0", text, flags=re.MULTILINE)
    (info / "METADATA").write_text(text, "utf-8")
    code, out, err = call("-S", "-m", "spectrawalk", **without_matplotlib)
    found = lines(out)
    assert (code, err) == (1, "")
    mark, text = found["numba"]
    assert mark == "X"
    assert "cannot be imported (ImportError: libllvm is missing); pip install --force" in text
    assert found["psutil"][0] == "X"
    assert found["psutil"][1].startswith("5.0 is not >=")
    assert found["self-test"][0] == "X"


def test_json():
    done = run("doctor", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["works"] is True
    sections = found["sections"]
    titles = ["versions", "optional", "GDAL", "threads", "memory", "folders", "self-test"]
    assert list(sections) == titles
    assert sections["GDAL"]["COG"]["state"] == "fine"
    assert set(sections["self-test"]) == {"files", "labels", "time"}


def test_labels_that_are_not_as_expected_are_broken(monkeypatch):
    monkeypatch.setattr(selftest, "EXPECTED", "0" * 64)
    [labels] = [fact for fact in selftest.self_test() if fact.name == "labels"]
    assert labels.state is State.BROKEN
    assert "instead of 000000000000; do not use maps made here" in labels.text


def test_names_of_people_are_left_out(monkeypatch):
    home, other = str(Path("/home/ada").absolute()), str(Path("/scratch/ada/x").absolute())
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("USERPROFILE", home)
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "ada")
    found = facts.without_names(Fact(f"{home}/x and {other}", f"'{home}'", advice=f"see {home}er"))
    assert found.value == f"'{'~'}'"
    assert found.advice == f"see {home}er"
    assert facts.shortened(f"{home}/x, {other}").replace(os.sep, "/") == "~/x, /scratch/~/x"
    monkeypatch.setenv("HOME", os.sep)  # as in many containers: not a name
    assert facts.shortened(f"{os.sep}tmp") == f"{os.sep}tmp"


def test_a_container_with_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(forecast, "CGROUP", tmp_path)
    monkeypatch.setenv("SPECTRAWALK_THREADS", "2")
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text(str(2**30))
    (tmp_path / "memory.current").write_text(str(2**29))
    found = {fact.name: fact for fact in machine.threads_and_processors()}
    assert found["container"].value == "limited to the time of 1.5 processors"
    assert found["threads"].state is State.HINDERED
    assert found["threads"].advice == "set SPECTRAWALK_THREADS=1"
    found = {fact.name: fact for fact in machine.memory()}
    assert found["container"].value == "limited to 1.0 GiB"
    assert found["available"] == Fact(
        "available", "0.5 GiB", State.HINDERED, "end other programs before a run"
    )
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert "container" not in {fact.name for fact in machine.threads_and_processors()}
    assert "container" not in {fact.name for fact in machine.memory()}


def test_folders_that_are_named_and_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "numba"))
    monkeypatch.setenv("SPECTRAWALK_DATA", str(tmp_path / "nowhere"))
    found = {fact.name: fact for fact in folders.folders()}
    assert found["compiled code"].advice == "set NUMBA_CACHE_DIR to another folder, or unset it"
    assert found["SPECTRAWALK_DATA"].value == f"{tmp_path / 'nowhere'} is no folder"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_folder_that_even_root_cannot_make_cannot_be_written(monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nohome")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found = {fact.name: fact for fact in folders.folders()}
    assert found["downloads"].state is State.HINDERED


def test_asking_whether_a_folder_can_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = {fact.name: fact for fact in folders.folders()}
    assert found["downloads"].text.endswith(", can be written")
    assert list(tmp_path.iterdir()) == []


def test_extras_of_developers_are_not_listed():
    names = {fact.name for fact in versions.extras()}
    assert "explore" in names
    assert not names & {"all", "docs", "test"}


def test_a_package_that_is_not_installed_has_no_requirements(monkeypatch):
    monkeypatch.setattr(versions, "_PACKAGE", "spectrawalk-of-nobody")
    *_, last = versions.versions()
    assert last.state is State.HINDERED
    assert "install it with pip" in last.advice
    assert list(versions.extras()) == []
