"""``spectrawalk explore``: a real server, exports that the command line repeats byte for byte."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from command_line import assert_one_line_error, run, run_python, start
from explorer import client_of, refused, step

from spectrawalk.cli.explore import _open_results
from spectrawalk.datasets import make_scene
from spectrawalk.explore.runs import Runs

SAME = ["labels.tif", "labels.qml", "labels.tif.aux.xml", "labels.npy", "labels.png", "spectra.csv",
        "spectra.sli", "labels_envi.dat", "labels_envi.hdr"]  # fmt: skip


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A scene, and the results of SpectraWalk and of a single run on it."""
    folder = tmp_path_factory.mktemp("fitted")
    made = make_scene((24, 24), n_bands=20, n_classes=3, random_state=1)
    cube = np.array(made.cube)
    cube[:3, :4] = 0  # masked
    np.save(folder / "field.npy", cube)
    single = ("--method", "srdl", "--neighbors", 20, "--eigenpairs", 6, "-k", 3)
    for name, options in (("tree", ()), ("single", single)):
        done = run("cluster", folder / "field.npy", *options, "--no-report", "--quiet",
                   "-o", folder / name)  # fmt: skip
        assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def folder(fitted, here):
    shutil.copytree(fitted, here, dirs_exist_ok=True)
    return here


def explorer_of(folder, **kwargs):
    return client_of(Runs(_open_results(Path(folder), None, quiet=True, **kwargs)))


def export(client, name):
    answer = client.post("/api/export", json={"folder": name, "report": False})
    assert answer.status_code == 200, answer.text
    return answer.json()


def repeat(record, folder):
    done = run("cluster", "--from-record", record, "-o", folder, "--no-report", "--quiet")
    assert done.exit_code == 0, done.stderr


def assert_same(one, other, certainty):
    for name in [*SAME, certainty]:
        assert Path(one, name).read_bytes() == Path(other, name).read_bytes(), name


def test_an_export_without_steps_is_what_cluster_wrote(folder):
    export(explorer_of("tree"), "same")
    assert_same("tree/same", "tree", "confidence.tif")
    assert json.loads(Path("tree/same/run.json").read_bytes())["format"] == 1


def test_an_export_of_a_cut_is_what_cut_writes(folder):
    client = explorer_of("tree")
    step(client, "cut", k=5)
    export(client, "five")
    assert run("cut", "tree", "-k", 5, "--no-report", "-o", "cut").exit_code == 0
    assert_same("tree/five", "cut", "confidence.tif")


def test_the_command_line_repeats_an_export_byte_for_byte(folder):
    client = explorer_of("tree")
    step(client, "cut", k=6)
    step(client, "merge", clusters=[1, 4])
    step(client, "split", cluster=0)
    step(client, "name", cluster=1, name="maïs <&> \"田'")
    step(client, "color", cluster=1, color="#123456")
    step(client, "hide", cluster=2, hidden=True)
    step(client, "polygon", points=[[2.5, 2], [2.5, 11.2], [9, 8]], name="road")
    client.post("/api/undo", json={})
    client.post("/api/redo", json={})
    written = export(client, "edited")
    assert {"labels.tif", "run.json"} <= {each["name"] for each in written["files"]}
    record = json.loads(Path("tree/edited/run.json").read_bytes())
    assert (record["format"], len(record["steps"])) == (2, 7)
    repeat("tree/edited/run.json", "again")
    assert_same("tree/edited", "again", "confidence.tif")
    assert "maïs &lt;&amp;&gt;" in Path("again/labels.qml").read_text(encoding="utf-8")
    repeat("again/run.json", "third")
    assert_same("again", "third", "confidence.tif")


def test_answers_are_repeated_too(folder):
    client = explorer_of("tree")
    for each in client.get("/api/query?budget=3").json()["pixels"]:
        step(client, "answer", pixel=each["pixel"], **{"class": f"c{each['col'] // 9}"})
    step(client, "classify")
    step(client, "polygon", points=[[2.5, 2], [2.5, 11.2], [9, 8]], name="road")
    export(client, "edited")
    repeat("tree/edited/run.json", "again")
    assert_same("tree/edited", "again", "confidence.tif")


def test_a_single_run_with_other_labels_is_repeated(folder):
    client = explorer_of("single")  # fitted again: no model was kept
    step(client, "relabel", k=4, time=12.5, n_eigenpairs=5, consensus_radius=1)
    step(client, "merge", clusters=[0, 3])
    export(client, "edited")
    repeat("single/edited/run.json", "again")
    assert_same("single/edited", "again", "margin.tif")


def test_a_run_made_in_the_page_is_repeated(folder):
    client = explorer_of("tree")
    body = {"method": "DL", "parameters": {"n_clusters": 2, "n_neighbors": 20, "n_eigenpairs": 5}}
    client.post("/api/run", json=body)
    for _ in range(600):
        if client.get("/api/runs").json()["runs"][-1]["status"] == "done":
            break
    client.post("/api/runs/2/show", json={})
    export(client, "other")
    repeat("tree/other/run.json", "again")
    assert_same("tree/other", "again", "margin.tif")


def test_an_export_can_be_explored_and_cut(folder):
    client = explorer_of("tree")
    step(client, "cut", k=6)
    step(client, "merge", clusters=[1, 4])
    export(client, "edited")
    state = explorer_of("tree/edited").get("/api/state").json()
    assert (state["n_clusters"], state["session"]["undo"]) == (5, 2)
    assert run("cut", "tree/edited", "-k", 6, "--no-report", "-o", "cut").exit_code == 0
    assert "steps" not in json.loads(Path("cut/run.json").read_bytes())
    assert run("cut", "tree", "-k", 6, "--no-report", "-o", "direct").exit_code == 0
    assert_same("cut", "direct", "confidence.tif")


def test_an_export_replaces_only_what_it_is_told_to(folder):
    client = explorer_of("tree")
    export(client, "maps")
    refused(client.post("/api/export", json={"folder": "maps", "report": False}), 400)
    body = {"folder": "maps", "report": True, "overwrite": True}
    files = [each["name"] for each in client.post("/api/export", json=body).json()["files"]]
    assert {"report.html", "overview.png"} <= set(files)


@pytest.mark.parametrize("steps", [3, [3], [{"op": "no"}], [{"op": "cut", "k": "x"}], {}])
def test_a_record_with_bad_steps_is_refused(folder, steps):
    record = json.loads(Path("tree/run.json").read_bytes())
    Path("bad.json").write_text(json.dumps(record | {"format": 2, "steps": steps}))
    done = run("cluster", "--from-record", "bad.json", "-o", "again")
    assert_one_line_error(done.exit_code, done.stderr)


def test_the_session_of_another_run_is_set_aside(folder):
    client = explorer_of("tree")
    step(client, "cut", k=6)
    shutil.copy("tree/explore-session.json", "single")
    state = explorer_of("single").get("/api/state").json()
    assert "another run" in state["session"]["remark"]
    assert explorer_of("tree").get("/api/state").json()["k"] == 6


def wait_until_open(client):
    for _ in range(600):
        answer = client.get("/api/state")
        if answer.status_code != 503:
            return answer
        assert set(answer.json()["starting"]) == {"stage", "done", "total"}
        time.sleep(0.1)
    raise AssertionError("it never opened")


class Server:
    """The command in a process of its own."""

    def __init__(self, *args):
        self.process = start("explore", *args, "--no-browser", watched=False)
        told = ""
        while "http" not in told:
            told = self.process.stdout.readline()
            assert told or self.process.poll() is None, self.process.stderr.read()
        self.address = re.search(r"http://\S+", told)[0]
        self.port = int(re.search(r":(\d+)/", self.address)[1])
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)
        self.client.get(self.address)
        wait_until_open(self.client)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


def test_a_real_server_from_start_to_ctrl_c_and_again(folder):
    scene = ("field.npy", "-o", "maps")
    with Server(*scene, "--quiet") as server:
        client = server.client
        assert client.get("/").headers["content-type"].startswith("text/html")
        assert client.get("/api/state").json()["scene"]["rows"] == 24
        step(client, "cut", k=7)
        with Server("tree", "--port", server.port) as other:
            assert other.port > server.port, "a port in use: the next free one"
            assert other.client.get("/api/state").json()["k"] != 7
            assert server.client.get("/api/state").json()["k"] == 7
            other.stop()
        assert loopback_only(server.port)
        assert huge_request(server) == 413
        code, err = server.stop()
        assert (code, err) == (0, "")
    assert json.loads(Path("maps/explore-session.json").read_bytes())["steps"]
    key = Path("maps/.explore-key")
    assert key.stat().st_mode & 0o777 == 0o600
    with Server(*scene) as server:  # uses the results of the last time
        # Its name has the port, which another program may have taken meanwhile.
        kept = [list(each.cookies.values()) for each in (client, server.client)]
        assert kept[0] == kept[1], "an open page goes on"
        assert server.client.get("/api/state").json()["k"] == 7
        server.client.post("/api/run", json={"parameters": {"detail": 1}})
        assert server.stop(signal.SIGTERM)[0] == 143


def loopback_only(port):
    """Whether the port is closed on this machine's other addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return True
        own = probe.getsockname()[0]
    with socket.socket() as outside:
        outside.settimeout(2)
        return own.startswith("127.") or outside.connect_ex((own, port)) != 0


def huge_request(server):
    """Ask to send 1 GB, and send nothing of it: the answer comes without."""
    cookie = "; ".join(f"{name}={value}" for name, value in server.client.cookies.items())
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("POST", "/api/step")
    connection.putheader("Cookie", cookie)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders()
    return connection.getresponse().status


@pytest.mark.parametrize(
    "args",
    [
        ("no-such-scene",),
        ("tree", "--crop", "0:5,0:5"),
        ("tree/no-such-folder",),
        ("--port", "0"),
    ],
)
def test_what_cannot_be_asked_for_is_said_in_a_sentence(folder, args):
    done = run("explore", *args, "--no-browser")
    assert_one_line_error(done.exit_code, done.stderr)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("bad.npy",), "bad.npy"),
        (("empty",), "empty"),
        (("field.npy", "-o", "tree", "--crop", "0:9,0:9"), "other options"),
        (("changed",), "sha256"),
        (("field.npy", "--crop", "0:99,0:99"), "--crop"),
    ],
)
def test_a_scene_that_cannot_be_opened_is_said_on_the_page_too(folder, args, why):
    os.mkdir("empty")
    Path("bad.npy").write_bytes(Path("field.npy").read_bytes()[:500])
    shutil.copytree("tree", "changed")
    record = json.loads(Path("changed/run.json").read_bytes())
    record["inputs"][0]["sha256"] = "0" * 64
    Path("changed/run.json").write_text(json.dumps(record))
    with Server(*args) as server:
        answer = wait_until_open(server.client)
        sentence = refused(answer, 400)
        assert why in sentence
        refused(server.client.post("/api/step", json={"op": "cut", "k": 3}), 400)
        code, err = server.stop()
    assert code == 2
    assert err.splitlines()[-1] == f"Error: {sentence}"


def test_without_its_libraries_the_command_says_how_to_get_them(here, monkeypatch):
    monkeypatch.setattr("spectrawalk.explore.serve.find_spec", lambda name: None)
    done = run("explore")
    assert_one_line_error(done.exit_code, done.stderr)
    assert 'pip install "spectrawalk[explore]"' in done.stderr


def test_help_and_a_record_need_no_web_server(folder):
    code = (
        "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None\n"
        "from spectrawalk.cli import main\n"
        "main(['cluster', '--from-record', 'tree/run.json', '-o', 'x', '--no-report', '--quiet'])"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert "starlette" not in run_python("import spectrawalk.cli, sys; print(*sys.modules)").stdout
