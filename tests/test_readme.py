"""The documents: their Python runs, their commands exist, their links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command_line import environment

from spectrawalk.cli import main
from spectrawalk.datasets import make_scene, scene_names
from spectrawalk.io import write_scene

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
PYTHON = {
    "README.md": 2,
    "docs/spectrawalk.md": 2,
    "docs/scenes.md": 1,
    "docs/scaling.md": 1,
    "docs/notebooks.md": 3,
    "docs/family.md": 1,
    "docs/benchmarking.md": 1,
    "docs/compare.md": 1,
    "docs/naming.md": 1,
}
"""Blocks of Python on each page; all are run, the last one by test_cli_reproduce.py."""


def blocks(language, page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(page):
    """Calls of spectrawalk on a page, without their comments."""
    lines = re.findall(r"^\$ spectrawalk (.*)$", "".join(blocks("console", page)), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def test_no_page_has_python_that_is_not_run():
    found = {page.relative_to(ROOT).as_posix(): len(blocks("python", page)) for page in PAGES}
    assert {page: count for page, count in found.items() if count} == PYTHON


def test_the_python_of_the_readme_runs(here):
    write_scene("scene.hdr", make_scene((20, 16), n_bands=10, n_classes=3, random_state=0))
    first, own_file = blocks("python", "README.md")
    names = {}
    exec(first, names)
    assert f"{names['score'](names['scene'].ground_truth, names['model'].labels_).oa:.3f}" in first
    assert names["kmeans"].shape == (50, 25)
    exec(own_file, {})
    assert Path("labels.tif").exists()


def test_the_python_of_naming_runs(here):
    (code,) = blocks("python", "docs/naming.md")
    *first, names, last = code.strip().splitlines()
    found = {}
    exec("\n".join(first), found)
    assert str(eval(names.split("  #")[0], found)) == names.split("# ")[1]
    angle, limit = eval(last.split("  #")[0], found)
    assert angle < limit


def test_the_python_of_spectrawalk_runs(here):
    write_scene("scene.hdr", make_scene((20, 16), n_bands=10, n_classes=3, random_state=0))
    cuts, queries = blocks("python", "docs/spectrawalk.md")
    names = {}
    exec(cuts, names)
    assert names["model"].cut(9).shape == (20, 16)
    exec(queries, names)
    assert len(names["further"]) == 5


def test_the_python_of_the_scenes_runs():
    [code] = blocks("python", "docs/scenes.md")
    names = {}
    exec(code, names)
    shapes = names["scene"].cube.shape, names["scene"].ground_truth.shape
    assert f"# {shapes}\n" in code


def test_the_python_of_compare_runs():
    [code] = blocks("python", "docs/compare.md")
    names = {}
    exec(code, names)
    found = names["found"]
    assert f"# {found.matching}\n" in code
    assert f"# {list(found.changes)}\n" in code
    assert found.codes.tolist() == [[1, 1, 1, 1], [1, 2, 1, 0]]


def test_the_python_of_notebooks_runs(here):
    names = {}
    for code in blocks("python", "docs/notebooks.md"):
        exec(code, names)
    assert f'# "{names["scene"]!r}"' in blocks("python", "docs/notebooks.md")[0]
    assert Path("overview.png").exists()
    assert names["labels"].dims == ("y", "x")


@pytest.mark.slow
def test_the_python_of_scaling_runs(here):
    write_scene("scene.hdr", make_scene((60, 50), n_bands=12, n_classes=3, random_state=1))
    [code] = blocks("python", "docs/scaling.md")
    Path("script.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "script.py"],
        env=environment(watched=False),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" ") >= 5


def test_all_scenes_have_a_row():
    page = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(.*?)` \|", page, re.MULTILINE)) == sorted(scene_names())


def test_the_commands_of_the_documents_exist():
    assert len(commands("README.md")) > 8
    everywhere = [words for page in PAGES for words in commands(page)]
    assert len(everywhere) > 15
    for words in everywhere:
        command, rest = main, list(words)
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), rest.pop(0))
        known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
        assert {word for word in rest if word.startswith("-")} <= known, words


def test_the_bash_blocks_are_the_demo_and_the_tests():
    demo, tests = blocks("bash", "README.md")  # .ci/run takes the second
    assert demo.endswith("spectrawalk demo\n")
    assert tests.endswith("python -m pytest -n 2 -m 'not slow'\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#][^)]*)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target.split("#")[0]).exists(), target
