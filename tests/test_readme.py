"""What the documents say: their Python runs, their commands exist, their links lead somewhere."""

import re
import shlex
from pathlib import Path

import click
import pytest

from spectrawalk.cli import main
from spectrawalk.datasets import make_scene
from spectrawalk.io import write_scene

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_python_of_the_readme_runs(here):
    write_scene("scene.hdr", make_scene((20, 16), n_bands=10, n_classes=3, random_state=0))
    first, own_file, automatic, _ = blocks("python")  # the last is run by test_cli_reproduce.py
    names = {}
    exec(first, names)
    assert f"{names['score'](names['scene'].ground_truth, names['model'].labels_).oa:.3f}" in first
    exec(own_file, {})
    assert Path("labels.tif").exists()
    names = {}
    exec(automatic, names)
    assert names["model"].labels_.shape == (50, 25)


def test_the_commands_of_the_readme_exist():
    lines = re.findall(r"^\$ spectrawalk (.*)$", "".join(blocks("console")), re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        command, words = main, shlex.split(line, comments=True)
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words.pop(0))
        known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("-")} <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#][^)]*)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target.split("#")[0]).exists(), target
