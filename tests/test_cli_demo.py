"""``spectrawalk demo``."""

import re
from pathlib import Path

import pytest
from command_line import assert_one_line_error, run, run_python


@pytest.mark.scene
def test_demo_shows_the_paper_beside_the_scores_and_can_be_repeated(here):
    for _ in range(2):
        result = run("demo")
        assert result.exit_code == 0, result.output
    out = result.stdout
    rows = re.findall(r"(SRDL|DLSS|DL) +. +" + r" . +".join([r"([\d.]+)"] * 6), out)
    table = {method: [float(value) for value in values] for method, *values in rows}
    assert [table["SRDL"][place] for place in (1, 3, 5)] == [0.89, 0.92, 0.83]
    assert [table["DLSS"][place] for place in (1, 3, 5)] == [0.85, 0.82, 0.75]
    assert [table["DL"][place] for place in (1, 3, 5)] == [0.67, 0.62, 0.44]
    for ours, theirs in (
        values[place : place + 2] for values in table.values() for place in (0, 2, 4)
    ):
        assert ours == pytest.approx(theirs, abs=0.02)
    assert "window radius 8" in out
    assert "spectrawalk cluster FILE" in out
    for name in ("labels.tif", "labels.npy", "labels.png", "overview.png", "report.html"):
        assert str(Path("spectrawalk-demo", name)) in out
        assert Path("spectrawalk-demo", name).stat().st_size > 0


def test_demo_keeps_what_is_in_another_folder(here):
    Path("mine").mkdir()
    Path("mine/labels.npy").write_text("precious")
    result = run("demo", "-o", "mine")
    assert_one_line_error(result.exit_code, result.stderr)
    assert Path("mine/labels.npy").read_text() == "precious"


@pytest.mark.scene
def test_demo_may_be_told_its_own_folder(here):
    Path("spectrawalk-demo").mkdir()
    Path("spectrawalk-demo/labels.npy").write_text("of an earlier run")
    assert run("demo", "-o", "./spectrawalk-demo/", "--quiet").exit_code == 0


def test_demo_without_its_scene_says_how_to_get_it(here):
    code = (
        "import sys; sys.modules['tensorly'] = None\n"
        "from spectrawalk.cli import main\n"
        "main(['demo'])"
    )
    nowhere = "http://127.0.0.1:9"  # a proxy that does not answer: no network
    done = run_python(
        code,
        SPECTRAWALK_DATA="",
        XDG_CACHE_HOME=str(here / "cache"),
        HTTPS_PROXY=nowhere,
        https_proxy=nowhere,
    )
    assert_one_line_error(done.returncode, done.stderr)
    assert "Indian_pines_corrected.mat" in done.stderr
    assert 'pip install "spectrawalk[demo]"' in done.stderr
    assert not Path("spectrawalk-demo").exists()
