"""Help and bad input."""

import os
import re
import sys
from pathlib import Path

import click
import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner
from command_line import (
    SMALL,
    assert_one_line_error,
    finish,
    run,
    run_python,
    start,
)

import spectrawalk
from spectrawalk import SRDL
from spectrawalk.cli import main
from spectrawalk.cli.cluster import cluster
from spectrawalk.cli.console import OneLineErrors

# Help


def test_help_tells_the_commands_and_costs_no_heavy_import():
    heavy = ["numpy", "scipy", "sklearn", "numba", "matplotlib", "rich", "h5py"]
    code = (
        "import sys\n"
        "from spectrawalk.cli import main\n"
        "try: main(['--help'])\n"
        f"finally: print('loaded:', *(set(sys.modules) & set({heavy})))"
    )
    done = run_python(code)
    assert "demo" in done.stdout
    assert "cluster" in done.stdout
    assert done.stdout.endswith("loaded:\n")


def words_of(group, *words):
    """The words that call each command, groups and all."""
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from words_of(command, *words, name)


COMMANDS = list(words_of(main))


@pytest.mark.parametrize("args", [[], *([*words, "-h"] for words in COMMANDS)], ids=" ".join)
def test_every_help_fits_80_columns(args):
    result = run(*args)
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("words", COMMANDS[1:], ids=" ".join)
def test_every_command_has_an_example(words):
    pattern = rf"Examples?:\n +spectrawalk (.*\n +spectrawalk )?{' '.join(words)}"
    assert re.search(pattern, run(*words, "-h").stdout)


@pytest.mark.parametrize("words", [(), ("reproduce",)], ids=" ".join)
def test_a_group_without_a_command_prints_its_help(words):
    code, out, err = finish(start(*words))
    assert (code, err) == (0, "")
    assert "Commands:\n" in out
    assert "..." not in out.partition("Commands:")[2].partition("Example")[0]  # told to the end


def test_commands_are_listed_in_the_order_in_which_they_are_used():
    listed = re.findall(r"^  (\w+)  ", run().stdout.partition("Commands:")[2], flags=re.MULTILINE)
    assert listed == list(main.commands)
    assert listed[:3] == ["demo", "inspect", "cluster"]


def test_version():
    assert run("--version").stdout == f"spectrawalk, version {spectrawalk.__version__}\n"


def test_defaults_are_those_of_the_library():
    defaults = SRDL().get_params()
    options = {option.name: option.default for option in cluster.params}
    shared = defaults.keys() & options.keys()
    assert shared == {
        "n_clusters", "radius", "n_neighbors", "sigma", "time",
        "n_eigenpairs", "consensus_radius", "normalize",
    }  # fmt: skip
    assert {name: options[name] for name in shared} == {name: defaults[name] for name in shared}


# Bad input


def save(name, array):
    np.save(name, array)


def save_truncated(name, array):
    np.save(name, array)
    Path(name).write_bytes(Path(name).read_bytes()[:-100])


def save_matlab(name, array):
    scipy.io.savemat(name, {"first": array, "second": array})


def nan_like(cube):
    return np.full(cube.shape, np.nan)


BAD_FILES = {
    "NaN": ("bad.npy", save, nan_like, [], "no usable pixel"),
    "truncated": ("bad.npy", save_truncated, np.array, [], "bad.npy"),
    "several variables": ("bad.mat", save_matlab, np.array, [], "choose one with --variable."),
    "4-D": ("bad.npy", save, lambda cube: cube[None], [], "3-D array"),
    "one band": ("bad.npy", save, lambda cube: cube[..., :1], [], "single band"),
    "K above the pixels": ("bad.npy", save, np.array, ["-k", 321], "Error: -k 321 but there"),
    "constant": ("bad.npy", save, np.ones_like, [], "pixels hold 1 in every band"),
    "underflow": (
        "bad.npy", save, lambda cube: cube * 1e6, ["--normalize", "none"], "sigma",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_cannot_be_clustered(kind, cube, here):
    name, write, spoil, options, expected = BAD_FILES[kind]
    write(name, spoil(cube))
    result = run("cluster", name, "-o", "out", *options, *SMALL)
    assert_one_line_error(result.exit_code, result.stderr)
    assert expected in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--radius", 0], "--radius"),
        (["--sigma", -1], "--sigma"),
        (["--sigma", 0], "--sigma"),
        (["--sigma", "nan"], "sigma"),
        (["--time", 0], "--time"),
        (["--neighbors", "many"], "--neighbors"),
        (["--eigenpairs", 1], "--eigenpairs"),
        (["-k", 0], "-k"),
        (["-k", "some"], "neither 'auto' nor an integer"),
        (["--normalize", "twice"], "--normalize"),
        (["--consensus-radius", -1], "--consensus-radius"),
        (["--crop", "5,5"], "ROW0:ROW1,COL0:COL1"),
        (["--crop", "9:2,0:5"], "ROW0:ROW1,COL0:COL1"),
        (["--crop", "0:21,0:16"], "20 rows and 16 columns"),
        (["--method", "dlss", "--radius", 5], "no meaning for dlss"),
        (["--method", "dl", "--consensus-radius", 2], "no meaning for dl"),
        (["--nodata", "none"], "--nodata"),
        (["--sigma", "1e999"], "--sigma="),
        (["--variable", "x"], "without a name"),
        (["--colour"], "--colour"),
    ],
)
def test_an_option_that_cannot_be_used(options, expected, cube, here):
    np.save("field.npy", cube)
    result = run("cluster", "field.npy", "-o", "out", "--quiet", *options)
    assert_one_line_error(result.exit_code, result.stderr)
    assert expected in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["cluster", "missing.npy", "-o", "out"], "'missing.npy' does not exist"),
        (["cluster", "salinas-b", "-o", "out"], "salinas-a"),
        (["cluster", "salinas-a", "--variable", "x", "-o", "out"], "--variable=x is for files"),
        (["cluster", "salinas-a", "--nodata", 0, "-o", "out"], "--nodata=0.0 is for files"),
        (["cluster", "salinas-a", "--bands-first", "-o", "out"], "--bands-first is for files"),
        (["cluster", ".", "-o", "out"], "folder"),
        (["cluster", "field.npy"], "-o"),
        (["cluster"], "SCENE"),
        (["gather"], "gather"),
        (["--verbose"], "--verbose"),
    ],
)
def test_a_command_line_that_makes_no_sense(args, expected, here):
    result = run(*args)
    assert_one_line_error(result.exit_code, result.stderr)
    assert expected in result.stderr
    assert not Path("out").exists()


def test_an_error_is_one_line_in_a_real_process_too(here):
    Path("broken.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(40))
    code, out, err = finish(start("cluster", "broken.mat", "-o", "out"))
    assert_one_line_error(code, err)
    assert "broken.mat" in err
    assert out == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
def test_an_error_in_a_terminal_is_wrapped_between_words(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    ours, theirs = os.openpty()
    process = start("cluster", "missing.npy", "-o", "out", "--quiet", stderr=theirs)
    code, _, _ = finish(process)
    os.close(theirs)
    lines = os.read(ours, 4096).decode().splitlines()
    os.close(ours)
    assert code == 2
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60
    told = run("cluster", "missing.npy", "-o", "out").stderr
    assert " ".join(lines) + "\n" == told


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (OSError(28, "No space left on device", "map.png"), 2, "('map.png'): No space left"),
        (MemoryError("Unable to allocate 9 TiB"), 2, "Error: there is not enough memory (Unable"),
        (KeyboardInterrupt(), 130, "Interrupted: no file is half-written."),
    ],
)
def test_what_the_system_refuses_is_said_in_one_line(error, code, expected):
    group = OneLineErrors("group")

    @group.command()
    def fail():
        raise error

    result = CliRunner().invoke(group, ["fail"])
    assert result.exit_code == code
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


def test_errors_can_be_caught_when_called_from_python(here):
    with pytest.raises(click.UsageError):
        main(["cluster"], standalone_mode=False)
