"""``--quiet`` means the same everywhere: nothing is printed but errors, and JSON if asked for."""

import json
from pathlib import Path

import click
import numpy as np
import pytest
from command_line import SMALL, assert_one_line_error, finish, run, start

from spectrawalk.cli import main
from spectrawalk.datasets import make_scene

METHODS = ["--methods", "k-means", "--seeds", 1]
QUIET = "Print nothing but errors"


def commands(group, path=()):
    """Every command that does something, with the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


QUIETABLE = [
    (path, command)
    for path, command in commands(main)
    if any(param.name == "quiet" for param in command.params)
]


def test_every_command_that_takes_long_can_be_quiet():
    others = {path for path, _ in commands(main)} - {path for path, _ in QUIETABLE}
    assert others == {("score",)}


@pytest.mark.parametrize("path", [path for path, _ in QUIETABLE], ids=" ".join)
def test_help_says_what_quiet_means(path):
    out = " ".join(run(*path, "--help").stdout.split())
    assert QUIET in out
    assert ("--json still prints" in out) is ("--json " in out.replace("--json still", ""))


@pytest.fixture
def field(cube, here):
    scene = make_scene(shape=(20, 16), n_bands=10, n_classes=3, random_state=0)
    np.save("field.npy", cube)
    np.save("truth.npy", scene.ground_truth)
    run("cluster", "field.npy", "-k", 3, "--save-model", "-o", "fit", *SMALL)


def test_a_quiet_run_prints_nothing_in_a_real_process(field):
    code, out, err = finish(start("cluster", "field.npy", "-k", 3, "-o", "out", *SMALL))
    assert (code, out, err) == (0, "", "")
    assert Path("out/labels.tif").exists()


@pytest.mark.parametrize(
    ("args", "written"),
    [
        (["cluster", "field.npy", "-k", 3, "--dry-run"], None),
        (["inspect", "field.npy"], None),
        (["predict", "fit/model.npz", "field.npy", "-o", "out"], "out/labels.tif"),
        (["convert", "field.npy", "field.tif"], "field.tif"),
        (
            ["benchmark", "field.npy", "--ground-truth", "truth.npy", *METHODS, "-o", "out"],
            "out/table.md",
        ),
        (["reproduce", "readings", "--scenes", "salinas-a", "-o", "out"], None),
    ],
    ids=lambda args: args[0] if isinstance(args, list) else "",
)
def test_quiet_prints_nothing(args, written, field, monkeypatch):
    monkeypatch.setattr("spectrawalk.paper.products.find_scenes", lambda wanted: ([], {}))
    monkeypatch.setattr(
        "spectrawalk.paper.products.write_readings",
        lambda scenes, folder: ([(folder / "readings.md", "a table")], ["a finding"]),
    )
    result = run(*args, "--quiet")
    assert result.exit_code == 0, result.output
    assert (result.stdout, result.stderr) == ("", "")
    if written is not None:
        assert Path(written).exists()


@pytest.mark.slow
def test_a_quiet_demo_prints_nothing(here):
    result = run("demo", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "args",
    [
        ["cluster", "field.npy", "-k", 3, "-o", "out", *SMALL],
        ["cluster", "field.npy", "-k", 3, "--dry-run", *SMALL],
        ["predict", "fit/model.npz", "field.npy", "-o", "out", "--quiet"],
        ["inspect", "field.npy", "--quiet"],
    ],
    ids=lambda args: args[0],
)
def test_json_is_printed_all_the_same(args, field):
    result = run(*args, "--json")
    assert json.loads(result.stdout)
    assert result.stderr == ""


def test_errors_are_printed_all_the_same(here):
    result = run("cluster", "missing.npy", "-o", "out", "--quiet")
    assert_one_line_error(result.exit_code, result.stderr)
