"""The site of the documents: its pictures have makers, its tutorial works, its faults are found."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from command_line import run

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text(encoding="utf-8")
WHOLE = '<html><head><link rel="stylesheet" href="style.css"></head><body id="top">{}</body></html>'


@pytest.fixture
def site(tmp_path):
    """A folder of two pages that are whole."""
    (tmp_path / "style.css").write_text("p { color: red }")
    (tmp_path / "one.html").write_text(WHOLE.format('<a href="two.html#top">there</a>'))
    (tmp_path / "two.html").write_text(WHOLE.format('<a href="https://example.org">away</a>'))
    return tmp_path


def faults(folder):
    return runpy.run_path(str(ROOT / ".ci" / "site_is_whole.py"))["faults"](folder)


def test_a_whole_site_has_no_faults(site):
    assert faults(site) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="three.html">', "one.html: three.html does not exist"),
        ('<a href="two.html#end">', "one.html: two.html#end has no such part"),
        ('<a href="#end">', "one.html: #end has no such part"),
        ('<img src="picture.png">', "one.html: picture.png does not exist"),
        ('<script src="https://a.org/b.js">', "one.html loads https://a.org/b.js"),
        ('<img src="//a.org/b.png">', "one.html loads //a.org/b.png"),
    ],
)
def test_a_fault_is_found(site, body, fault):
    (site / "one.html").write_text(WHOLE.format(body))
    assert faults(site) == [fault]


def test_a_style_that_asks_for_a_font_is_found(site):
    (site / "style.css").write_text("@font-face { src: url(https://a.org/font.woff) }")
    assert faults(site) == ["style.css loads something"]


def test_an_empty_site_is_a_fault(tmp_path):
    assert faults(tmp_path) == [f"{tmp_path} holds no page"]


def test_every_picture_is_made_by_a_script_and_shown():
    drawn = {f"{name}.png" for name in runpy.run_path(str(DOCS / "pictures.py"))["NAMES"]}
    taken = set(re.findall(r"pictures/([\w-]+\.png)\"", (DOCS / "screenshots.py").read_text()))
    pictures = list((DOCS / "pictures").iterdir())
    assert {path.name for path in pictures} == drawn | taken
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("**/*.md"))
    assert [path.name for path in pictures if f"pictures/{path.name})" not in pages] == []
    assert max(path.stat().st_size for path in pictures) < 300_000


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda p: p.stem
)
def test_every_example_draws_the_figure_that_stands_for_it(example):
    assert re.search(r"^figure\b.* = ", example.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_figure_of_ours_is_shown_once_in_the_gallery():
    """By the scraper, which the small pictures need, and not as the value of its block too."""
    [ignored] = re.findall('"ignore_repr_types": "(.+)"', (DOCS / "conf.py").read_text("utf-8"))
    shown = pytest.importorskip("spectrawalk.report.shown_figure")
    assert re.search(ignored, str(shown.ShownFigure))


@pytest.mark.slow
@pytest.mark.scene
def test_the_tutorial_works_word_for_word(here):
    commands = re.findall(r"^\$ spectrawalk (.*)$", TUTORIAL, re.MULTILINE)
    printed = ""
    for command in commands:
        name, *words = shlex.split(command)
        if name not in ("explore", "name"):  # a page of the browser; a scene of one's own
            done = run(name, *words)
            assert done.exit_code == 0, done.output
            printed += done.output
    shown = "".join(re.findall(r"^```text\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE))
    lines = [line for line in shown.splitlines() if line not in ("", "...")]
    depends = re.compile(r"a run needs")  # memory and time of the machine
    assert [line for line in lines if not depends.match(line) and line not in printed] == []
    for folder in ("results", "nine"):
        assert Path(folder, "labels.tif").stat().st_size > 1000
        assert Path(folder, "report.html").exists()
