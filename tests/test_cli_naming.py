"""The library speaks of parameters, the command line of options."""

import ast
import re
from pathlib import Path

import click
import numpy as np
import pytest
import scipy.io
from command_line import LOUD, assert_one_line_error, run

import spectrawalk
from spectrawalk.cli import main
from spectrawalk.cli.cluster import cluster
from spectrawalk.cli.naming import in_options, option_names
from spectrawalk.datasets import make_scene
from spectrawalk.estimators import forecast


def options_of(command):
    if isinstance(command, click.Group):
        return set().union(*map(options_of, command.commands.values()))
    return {name for param in command.params for name in param.opts if name.startswith("-")}


def texts(file):
    """Strings of a Python file, those with values in them too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_no_text_of_the_library_names_an_option():
    home = Path(spectrawalk.__file__).parent
    known = "|".join(sorted(map(re.escape, options_of(main)), key=len, reverse=True))
    option = re.compile(rf"(?<![\w-])({known})(?![\w-])")
    files = [file for file in home.rglob("*.py") if home / "cli" not in file.parents]
    assert len(files) > 100
    named = {(file.name, text) for file in files for text in texts(file) if option.search(text)}
    assert not named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("look at n_clusters=3 too", "look at -k 3 too"),
        ("other than radius=8 or n_neighbors=20", "other than --radius=8 or --neighbors=20"),
        ("a larger radius", "a larger radius"),
        ("choose one with variable=NAME.", "choose one with --variable=NAME."),
        ("needs no bands_first=True; leave", "needs no --bands-first; leave"),
        ("or overwrite=True to replace it", "or --overwrite to replace it"),
        ("start it inside forecast.forced().", "start it with --force."),
    ],
)
def test_a_parameter_becomes_an_option(text, expected):
    assert in_options(text, option_names(cluster)) == expected


def test_a_command_without_an_option_keeps_the_word_of_the_library():
    said = "start it inside forecast.forced() or with radius=3"
    assert in_options(said, {"quiet": "--quiet"}) == said


def test_errors_about_files_name_options(cube, here):
    scipy.io.savemat("two.mat", {"first": cube, "second": cube})
    np.save("field.npy", cube)
    run("convert", "field.npy", "field.tif")
    for args, expected in (
        (["cluster", "two.mat", "-o", "out"], "choose one with --variable."),
        (["benchmark", "two.mat", "-o", "out"], "choose one with --variable."),
        (["inspect", "field.tif", "--bands-first"], "do not give --bands-first."),
        (["inspect", "field.tif", "--variable", "x"], "do not give --variable."),
        (["convert", "field.npy", "field.tif"], "or set --overwrite."),
    ):
        result = run(*args)
        assert_one_line_error(result.exit_code, result.stderr)
        assert expected in result.stderr


def test_errors_about_one_of_two_files_name_its_option(cube, here):
    scipy.io.savemat("two.mat", {"first": np.ones((20, 16), int), "second": np.ones((20, 16), int)})
    np.save("plane.npy", np.ones(cube.shape[:2], dtype=int))
    np.save("field.npy", cube)
    for args, option in (
        (["score", "two.mat", "plane.npy"], "--map-variable"),
        (["score", "plane.npy", "two.mat"], "--truth-variable"),
        (
            ["benchmark", "field.npy", "--ground-truth", "two.mat", "-o", "out"],
            "--ground-truth-variable",
        ),
    ):
        result = run(*args)
        assert_one_line_error(result.exit_code, result.stderr)
        assert f"choose one with {option}." in result.stderr


def test_too_little_memory_names_an_option(here, monkeypatch):
    monkeypatch.setattr(forecast, "available_memory", lambda: 100_000)
    np.save("field.npy", make_scene((20, 20)).cube)
    result = run("cluster", "field.npy", "-k", 2, "--method", "srdl", "-o", "out", "--quiet")
    assert result.stderr.endswith("or start it all the same with --force.\n")
    assert "--neighbors=100" in result.stderr


def test_remarks_on_a_result_name_options(here, monkeypatch):
    np.save("field.npy", make_scene((20, 20), random_state=0).cube)
    monkeypatch.setattr("spectrawalk.results.remarks._NEARLY_ALL", 0.1)
    out = run("cluster", "field.npy", "-k", 3, "-o", "out", *LOUD).stdout
    assert re.search(r"% of the pixels: try other values than --radius=8 and -k 3\n", out)


def test_doubts_about_the_number_of_clusters_name_options(here, monkeypatch):
    np.save("field.npy", make_scene((20, 20), random_state=0).cube)
    monkeypatch.setattr("spectrawalk.results.remarks._CLEAR", 1e9)
    out = run("cluster", "field.npy", "-o", "out", *LOUD).stdout
    assert re.search(r"not a clear choice, so look at -k \d+ too\n", out)
