"""The QGIS plugin: its parts that need no QGIS, its zip, and its algorithms in a real QGIS."""

import configparser
import doctest
import importlib
import json
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from command_line import assert_one_line_error, environment, run
from other_programs import QGIS_PROCESS, needs_qgis
from spectrawalk_qgis import commands, process
from spectrawalk_qgis.program import Program, ProgramError, find
from spectrawalk_qgis.program import environment as clean_environment

from spectrawalk import Scene, __version__
from spectrawalk.datasets import make_scene
from spectrawalk.io import write_scene

ROOT = Path(__file__).parent.parent
posix = pytest.mark.skipif(sys.platform == "win32", reason="runs scripts and sends signals")
MADE = make_scene(shape=(20, 16), n_bands=10, n_classes=3, random_state=0)
WAVELENGTHS = np.linspace(450, 900, 10)
HERE = Program((sys.executable, "-m", "spectrawalk"))


@pytest.mark.parametrize("module", ["program", "commands", "process"])
def test_the_examples_of_the_plugin_hold(module):
    failed, tried = doctest.testmod(importlib.import_module(f"spectrawalk_qgis.{module}"))
    assert (failed, tried > 0) == (0, True)


# Where the program is.


def script(path, text):
    """Make a program of a few lines of Python."""
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@posix
def test_the_program_is_found_by_variable_setting_and_path(here):
    one, other = script(here / "spectrawalk", ""), script(here / "another", "")
    on_path = {"PATH": str(here)}
    assert find("", on_path) == Program((str(one),))
    assert find(str(other), on_path) == Program((str(other),))
    assert find("/gone", {"SPECTRAWALK_PROGRAM": str(other)}) == Program((str(other),))
    python = script(here / "python3.12", "")
    assert find(f' "{python}" ', {}) == Program((str(python), "-m", "spectrawalk"))
    Path("env/bin").mkdir(parents=True)
    inside = script(here / "env" / "bin" / "spectrawalk", "")
    assert find(str(here / "env"), {}) == Program((str(inside),))


def test_a_program_that_is_not_there_is_named(here, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: here)
    with pytest.raises(ProgramError, match=r"^spectrawalk was not found .* > Spectrawalk"):
        find("", {"PATH": ""})
    with pytest.raises(ProgramError, match=r"/gone', which the setting .* does not exist; give"):
        find("/gone", {})
    with pytest.raises(ProgramError, match=r"'gone', which the environment variable SPECTRAWALK_"):
        find("", {"SPECTRAWALK_PROGRAM": "gone"})
    with pytest.raises(ProgramError, match=r"the folder '.*', which .* does not hold spectrawalk;"):
        find(str(here), {})


@posix
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "print('spectrawalk, version 0.0.9')",
            "spectrawalk 0.0.9 is too old for this plugin",
        ),
        ("print('Python 3.11')", "other' is not spectrawalk; give its path"),
        ("raise SystemExit('No module named spectrawalk')", "is not installed in the Python '"),
    ],
)
def test_a_program_of_no_use_is_refused(text, complaint, here):
    with pytest.raises(ProgramError, match=complaint):
        Program((str(script(here / "other", text)),)).check()


def test_a_file_that_is_no_program_is_refused(here):
    Path("notes.txt").write_text("nothing to run")
    with pytest.raises(ProgramError, match=r"notes.txt' cannot be started: .*; give its path"):
        Program((str(here / "notes.txt"),)).check()


def test_this_package_is_recent_enough():
    assert HERE.check() == __version__


def test_libraries_of_qgis_do_not_reach_the_program(monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/nowhere")  # with it no Python starts
    monkeypatch.setenv("PROJ_LIB", "/nowhere")
    assert not {"PYTHONHOME", "PYTHONPATH", "PROJ_LIB"} & set(clean_environment())
    assert HERE.check() == __version__


# Command lines.


def test_every_option_is_one_of_the_program(here):
    """The options exist: click reads them all before it looks for the scene."""
    wanted = [
        commands.cluster(
            "gone.tif", Path("out"), n_clusters=4, detail="fields", mask="mask.tif",
            wavelengths="450:900", extra="--crop 0:9,0:9 --variable 'a b'",
        ),
        commands.cluster("gone.tif", Path("out"), method="srdl", radius=12),
        commands.cut("gone", Path("out"), n_clusters=0),
        commands.name("gone", libraries=["one.sli", "two.csv"], accept=True, angle=0.1),
        commands.compare("gone/a.tif", "gone/b.tif", Path("out")),
    ]  # fmt: skip
    for command in wanted:
        result = run(*command)
        assert_one_line_error(result.exit_code, result.stderr)
        assert "'gone" in result.stderr
    assert not Path("out").exists()


def test_results_are_found_beside_their_map(here):
    assert commands.results_of("maps/labels.tif") == "maps/labels.tif"
    Path("maps").mkdir()
    Path("maps/run.json").write_text('{"result": {"n_clusters": 3}}')
    assert commands.results_of("maps/labels.tif") == "maps"
    assert commands.found_in(Path("maps")) == {"n_clusters": 3}
    assert commands.found_in(Path("gone")) == {}


# Runs, and their end.


@pytest.fixture
def large(here):
    noise = np.random.default_rng(0).uniform(size=(200, 200, 40))
    np.save("large.npy", noise.astype(np.float32))
    return here / "large.npy"


class Canceler:
    """Cancels when a report contains some words, and counts the seconds from then on."""

    def __init__(self, words):
        self.words, self.when = words, None

    def hear(self, report):
        if self.words in report.text and self.when is None:
            self.when = time.monotonic()

    def canceled(self):
        return self.when is not None

    @property
    def seconds(self):
        return time.monotonic() - self.when


@posix
@pytest.mark.parametrize("words", ["loading", "SpectraWalk"])
def test_a_canceled_run_ends_soon_and_leaves_nothing(words, large):
    folder, canceler = Path("made/by/run"), Canceler(words)
    command = commands.cluster(str(large), folder)
    with pytest.raises(process.Canceled, match="no file was written"):
        process.run(HERE, command, hear=canceler.hear, canceled=canceler.canceled, folder=folder)
    assert canceler.seconds < 3
    assert not Path("made").exists()


STUBBORN = """
import pathlib, signal, subprocess, sys, time
if "--version" in sys.argv:
    raise SystemExit(print("spectrawalk, version 9.9"))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path("made/.spectrawalk-set-1").mkdir(parents=True)
pathlib.Path("made/.spectrawalk-set-1/labels.tif").write_text("half")
pathlib.Path("made/.spectrawalk-lock").write_text("{}")
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("helper", helper.pid, flush=True)
time.sleep(60)
"""


@posix
def test_a_run_that_does_not_obey_is_killed_with_its_helpers_and_leaves_nothing(here):
    program, canceler = Program((str(script(here / "stubborn", STUBBORN)),)), Canceler("helper")
    heard = []

    def hear(report):
        heard.append(report.text)
        canceler.hear(report)

    with pytest.raises(process.Canceled):
        process.run(
            program, ["cluster"], hear=hear, canceled=canceler.canceled, folder=Path("made")
        )
    assert canceler.seconds < 3
    assert not Path("made").exists()
    helper = int(heard[-1].split()[1])
    assert ends(helper, within=2)


def ends(number, within):
    """Whether a process is gone, or a zombie that nobody waits for, after some seconds."""
    state, end = Path(f"/proc/{number}/stat"), time.monotonic() + within
    while time.monotonic() < end:
        try:
            if state.read_text().split(")")[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@posix
def test_what_was_in_the_folder_stays(here):
    Path("made").mkdir()
    Path("made/labels.tif").write_text("old")
    text = STUBBORN.replace("(parents=True)", "()")
    program, canceler = Program((str(script(here / "stubborn", text)),)), Canceler("helper")
    with pytest.raises(process.Canceled):
        process.run(
            program, [], hear=canceler.hear, canceled=canceler.canceled, folder=Path("made")
        )
    assert [each.name for each in Path("made").iterdir()] == ["labels.tif"]


@posix
@pytest.mark.parametrize(
    ("end", "complaint"),
    [
        (
            "sys.exit(print('Error: it is bad.\\nsome more', file=sys.stderr) or 2)",
            "^it is bad.$",
        ),
        ("raise SystemExit(7)", "spectrawalk 9.9 failed with exit code 7: it gave no reason"),
        ("raise ValueError('oh')", "spectrawalk 9.9 failed with exit code 1: ValueError: oh"),
        ("os.kill(os.getpid(), 9)", r"ended by the system \(signal 9\), perhaps because the mem"),
    ],
)
def test_a_failure_says_why(end, complaint, here):
    text = f"import os, sys\nif '--version' in sys.argv: raise SystemExit(print('{{}}'))\n{end}"
    program = Program((str(script(here / "other", text.format("spectrawalk, version 9.9"))),))
    with pytest.raises(ProgramError, match=complaint):
        process.run(program, ["cluster"], hear=repr, canceled=bool)


# The zip.


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    build = [sys.executable, ROOT / "qgis" / "build.py", folder]
    done = subprocess.run(build, env=environment(watched=False), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def test_the_zip_holds_the_plugin_and_its_licence(packed, tmp_path):
    assert packed.name == f"spectrawalk-qgis-{__version__}.zip"
    source = ROOT / "qgis" / "spectrawalk_qgis"
    with zipfile.ZipFile(packed) as plugin:
        names = set(plugin.namelist())
        of_source = {f"spectrawalk_qgis/{each.name}" for each in source.glob("*.*")}
        assert names == of_source | {"spectrawalk_qgis/LICENSE"}
        assert plugin.read("spectrawalk_qgis/LICENSE") == (ROOT / "LICENSE").read_bytes()
        metadata = plugin.read("spectrawalk_qgis/metadata.txt").decode()
    read = configparser.ConfigParser(interpolation=None)
    read.read_string(metadata)
    general = read["general"]
    assert general["version"] == __version__
    assert general["icon"] == "icon.svg"
    assert {"name", "description", "about", "author", "qgisminimumversion"} <= set(general)
    assert general["hasprocessingprovider"] == "yes"  # or qgis_process does not load it


def test_the_zip_has_the_same_bytes_each_time(packed, tmp_path):
    build = [sys.executable, ROOT / "qgis" / "build.py", tmp_path]
    variables = environment(watched=False)
    subprocess.run(build, env=variables, check=True, capture_output=True)
    assert (tmp_path / packed.name).read_bytes() == packed.read_bytes()


# In QGIS.


@pytest.fixture(scope="session")
def qgis(packed, tmp_path_factory):
    """A profile of QGIS in which the plugin is installed, as environment variables."""
    home = tmp_path_factory.mktemp("qgis")
    plugins = home / "profiles" / "default" / "python" / "plugins"
    with zipfile.ZipFile(packed) as plugin:
        plugin.extractall(plugins)
    variables = {
        "HOME": str(home),
        "QGIS_CUSTOM_CONFIG_PATH": str(home),
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SPECTRAWALK_PROGRAM": sys.executable,
    }
    environ = environment(watched=False) | variables
    environ.pop("PYTHONPATH", None)  # QGIS has a Python of its own
    enable = [QGIS_PROCESS, "plugins", "enable", "spectrawalk_qgis"]
    done = subprocess.run(enable, env=environ, capture_output=True, text=True, timeout=120)
    assert "Enabled spectrawalk_qgis" in done.stdout, done.stderr
    return environ


@pytest.fixture(scope="session")
def scene(tmp_path_factory):
    """A GeoTIFF of three classes, on a map."""
    on_map = Scene(
        MADE.cube,
        wavelengths=WAVELENGTHS,
        crs="EPSG:32633",
        transform=(30, 0, 364095, 0, -30, 5809965),
    )
    path = tmp_path_factory.mktemp("scene") / "field.tif"
    write_scene(path, on_map)
    return path


def qgis_process(qgis, *words, **variables):
    command = [QGIS_PROCESS, "run", *map(str, words)]
    return subprocess.run(
        command, env=qgis | variables, capture_output=True, text=True, timeout=300
    )


@needs_qgis
def test_qgis_process_clusters_a_geotiff(qgis, scene, here):
    done = qgis_process(
        qgis, "spectrawalk:cluster", "--", f"SCENE={scene}", "CLUSTERS=3", f"OUTPUT={here}/out"
    )
    assert f"LABELS:\t{here}/out/labels.tif" in done.stdout, done.stdout + done.stderr
    assert "FOUND:\t3" in done.stdout
    assert Path("out/report.html").is_file()
    assert "SpectraWalk: 3 clusters" in done.stdout
    assert "Traceback" not in done.stderr
    assert "ResourceWarning" not in done.stderr


@needs_qgis
def test_a_missing_environment_is_said(qgis, scene, here):
    done = qgis_process(
        qgis, "spectrawalk:cluster", "--", f"SCENE={scene}", f"OUTPUT={here}/out",
        SPECTRAWALK_PROGRAM="/gone",
    )  # fmt: skip
    sentence = "'/gone', which the environment variable SPECTRAWALK_PROGRAM names, does not exist;"
    assert f"ERROR:\t{sentence}" in done.stdout + done.stderr
    assert not Path("out").exists()


def jobs(here, scene):
    """What is done in one QGIS, which takes seconds to start; see inside_qgis.py."""
    noise = np.random.default_rng(0).uniform(size=(200, 200, 40))
    np.save(here / "large.npy", noise.astype(np.float32))
    corners = [[364095, 5809965], [364335, 5809965], [364335, 5809365], [364095, 5809365]]
    polygon = {"type": "Polygon", "coordinates": [[*corners, corners[0]]]}
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32633"}}
    feature = {"type": "Feature", "properties": {}, "geometry": polygon}
    collection = {"type": "FeatureCollection", "crs": crs, "features": [feature]}
    (here / "left.json").write_text(json.dumps(collection))
    truth = MADE.ground_truth
    means = [MADE.cube[truth == each].mean(axis=0) for each in np.unique(truth[truth > 0])]
    table = np.column_stack([WAVELENGTHS, *means])
    np.savetxt(
        "library.csv", table, delimiter=",", header="wavelength (nm),oak,sand,water", comments=""
    )
    maps = [str(here / folder / "labels.tif") for folder in ("three", "two")]
    lacking = "from spectrawalk.cli import main\nmain.commands.pop('name', None)\nmain()"
    old = str(script(here / "old", lacking))

    def cluster(folder, **parameters):
        asked = {"SCENE": str(scene), "OUTPUT": str(here / folder)} | parameters
        return {"algorithm": "spectrawalk:cluster", "parameters": asked}

    cut = {"MAP": maps[0], "CLUSTERS": 2, "OUTPUT": str(here / "two")}
    name = {"MAP": maps[0], "LIBRARIES": [str(here / "library.csv")], "ACCEPT": True}
    compare = {"BEFORE": maps[0], "AFTER": maps[1], "OUTPUT": str(here / "changes")}
    return {
        "cluster": cluster("three", CLUSTERS=3),
        "cut": {"algorithm": "spectrawalk:cut", "parameters": cut},
        "mask": cluster(
            "left",
            MASK=str(here / "left.json"),
            METHOD=1,
            RADIUS=5,
            CLUSTERS=2,
            EXTRA="--no-report",
        ),
        "old": {"algorithm": "spectrawalk:name", "parameters": name, "program": old},
        "compare": {"algorithm": "spectrawalk:compare", "parameters": compare},
        "name": {"algorithm": "spectrawalk:name", "parameters": name, "opened": maps[:1]},
        "cancel": cluster("no", SCENE=None, FILE=str(here / "large.npy"))
        | {"cancel_at": "SpectraWalk"},
        "both": cluster("no", FILE=str(here / "large.npy")),
        "neither": cluster("no", SCENE=None),
        "detail": cluster("no", METHOD=1, DETAIL=1),
        "wavelengths": cluster("no", WAVELENGTHS="red"),
        "python": cluster("no") | {"program": "/usr/bin/python3"},
    }


@needs_qgis
@pytest.mark.slow
def test_the_algorithms_in_qgis(qgis, scene, here):
    (here / "jobs.json").write_text(json.dumps(jobs(here, scene)))
    plugins = Path(qgis["HOME"], "profiles", "default", "python", "plugins")
    inside = ["/usr/bin/python3", Path(__file__).with_name("inside_qgis.py"), plugins, "jobs.json"]
    done = subprocess.run(inside, env=qgis, capture_output=True, text=True, timeout=300)
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    assert last.startswith("FOUND "), done.stdout + done.stderr
    found = json.loads(last.removeprefix("FOUND "))
    the_map_is_in_the_project_with_its_legend(found["cluster"])
    progress_grows_and_names_stages(found["cluster"])
    cut_shows_another_number_of_clusters(found["cut"])
    polygons_are_a_mask(found["mask"], np.load("left/labels.npy"))
    a_package_without_the_command_is_called_old(found["old"])
    compare_shows_what_changed(found["compare"])
    name_shows_the_names_in_the_legend(found["name"])
    cancel_ends_the_run(found["cancel"])
    bad_input_is_said_in_one_sentence(found)
    assert not Path("no").exists()


def the_map_is_in_the_project_with_its_legend(found):
    assert found["error"] == ""
    [layer] = found["layers"]
    assert layer["name"] == "field, 3 clusters"
    assert layer["renderer"] == "paletted"
    assert layer["legend"] == ["cluster 1", "cluster 2", "cluster 3"]
    assert found["outputs"]["FOUND"] == 3
    assert Path(found["outputs"]["CERTAINTY"]).name == "confidence.tif"
    assert Path(found["outputs"]["OUTPUT_HTML"]).name == "report.html"


def progress_grows_and_names_stages(found):
    shares = found["shares"]
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert 90 <= shares[-1] <= 100
    assert "loading" in found["shown"]


def cut_shows_another_number_of_clusters(found):
    assert found["error"] == ""
    [layer] = found["layers"]
    assert layer["name"] == "Cut, 2 clusters"
    assert layer["legend"] == ["cluster 1", "cluster 2"]


def polygons_are_a_mask(found, labels):
    assert found["error"] == ""
    assert found["outputs"]["FOUND"] == 2
    assert Path(found["outputs"]["CERTAINTY"]).name == "margin.tif"
    assert (labels[:, :8] > 0).all()
    assert (labels[:, 8:] == 0).all()


def a_package_without_the_command_is_called_old(found):
    assert found["error"] == (
        f"the installed spectrawalk {__version__} has no command `name`; update it with: "
        "pip install --upgrade spectrawalk"
    )


def compare_shows_what_changed(found):
    assert found["error"] == ""
    [layer] = found["layers"]
    assert layer["renderer"] == "paletted"
    assert Path(found["outputs"]["OUTPUT_HTML"]).is_file()
    assert Path(found["outputs"]["CHANGES"]).is_file()


def name_shows_the_names_in_the_legend(found):
    assert found["error"] == ""
    [layer] = found["layers"]
    assert layer["renderer"] == "paletted"
    assert sorted(layer["legend"]) == ["oak", "sand", "water"]
    assert Path(found["outputs"]["NAMES"]).is_file()
    assert Path(found["outputs"]["OUTPUT_HTML"]).is_file()


def cancel_ends_the_run(found):
    assert found["seconds"] < 3
    assert (found["outputs"], found["error"], found["layers"]) == ({}, "", [])
    assert "Canceled: no file was written." in found["shown"]


def bad_input_is_said_in_one_sentence(found):
    said = {
        "both": "Give the image as a layer or as a file, not both; clear one of them.",
        "neither": "Give a hyperspectral image, as a layer or as a file.",
        "detail": "The detail has no meaning for SRDL; choose automatic, or SpectraWalk as",
        "wavelengths": "'red' is not LOW:HIGH with two wavelengths in nanometres",
        "python": "spectrawalk is not installed in the Python '/usr/bin/python3'; install it",
    }
    for job, sentence in said.items():
        assert sentence in found[job]["error"]
        assert found[job]["layers"] == []
