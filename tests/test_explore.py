"""The explorer's routes: what the page reads, and the steps that it takes."""

import json
import threading
import time

import numpy as np
import pytest
from explorer import (
    client_of,
    make_runs,
    refused,
    single_model,
    small_scene,
    step,
    tree_model,
)

from spectrawalk import progress
from spectrawalk.errors import FileError
from spectrawalk.explore.opening import Opening
from spectrawalk.explore.session import Session
from spectrawalk.explore.steps import NONE


@pytest.fixture
def runs(tmp_path):
    return make_runs(tmp_path)


@pytest.fixture
def client(runs):
    return client_of(runs)


@pytest.fixture
def single(tmp_path):
    return client_of(make_runs(tmp_path, single_model()))


def state_of(client):
    return client.get("/api/state").json()


def labels_of(client):
    """Ids on the map, as the page paints them."""
    state = state_of(client)
    parts = np.frombuffer(client.get("/api/leaf").content, np.uint8)
    table = np.full(256, -1)
    table[: len(state["label_of_leaf"])] = state["label_of_leaf"]
    return table[parts].reshape(state["scene"]["rows"], state["scene"]["cols"])


def cut_by_the_page(state, k):
    """What ROUTES.md says about other numbers of clusters."""
    parent, n = state["tree"]["parent"], state["n_leaves"]
    found = []
    for part, label in enumerate(state["label_of_leaf"]):
        j = part if part < n else label
        while k <= j < n:
            j = parent[j]
        found.append(j)
    return found


def test_the_state_says_all_that_the_page_shows(client):
    state, model, scene = state_of(client), tree_model(), small_scene()
    assert state["scene"]["crs"] == "WGS 84 / UTM zone 33N"
    assert state["scene"]["pixel_area"] == 900
    assert state["scene"]["wavelengths"] == scene.wavelengths.tolist()
    assert [each["k"] for each in state["levels"]] == [x.n_clusters for x in model.levels_]
    assert (state["method"], state["k"], state["base"]) == ("SpectraWalk", 3, "tree")
    assert state["largest_k"] == len(state["tree"]["parent"]) == len(model.leaf_sizes_)
    assert state["tree"]["merges"] == model.tree_.tolist()
    assert state["scores"]["n_pixels"] == scene.mask.size
    assert [each["number"] for each in state["truth"]] == [1, 2, 3]
    legend = state["legend"]
    assert [each["pixels"] for each in legend] == np.bincount(model.labels_[scene.mask]).tolist()
    assert [each["area"] for each in legend] == [900 * each["pixels"] for each in legend]
    assert all(0 <= each["confidence"] <= 1 for each in legend)
    assert legend[0]["color"] == "#0072b2"
    assert state["composite"] == [4, 2, 0]


def test_the_page_can_cut_the_tree_by_itself(client):
    step(client, "polygon", points=[[4, 4], [4, 10], [9, 10]], name="road")
    for k in (1, 2, 3, 7, state_of(client)["largest_k"]):
        wanted = cut_by_the_page(state_of(client), k)
        assert step(client, "cut", k=k)["label_of_leaf"] == wanted


def test_bytes_of_leaves_confidence_truth_and_composite(client):
    scene, model = small_scene(), tree_model()
    assert (labels_of(client) == model.labels_).all()
    sure = np.frombuffer(client.get("/api/confidence").content, np.uint8).reshape(scene.shape)
    assert (sure[~scene.mask] == NONE).all()
    assert np.abs(sure[scene.mask] / 250 - model.confidence_[scene.mask]).max() < 0.003
    finer = np.frombuffer(client.get("/api/confidence?k=5").content, np.uint8)
    wanted = model.confidence(5)[scene.mask]
    assert np.abs(finer.reshape(scene.shape)[scene.mask] / 250 - wanted).max() < 0.003
    truth = np.frombuffer(client.get("/api/truth").content, np.uint8).reshape(scene.shape)
    assert (np.where(truth == NONE, 0, truth + 1.0) == scene.ground_truth).all()
    colors = client.get("/api/composite?bands=3,2,1&low=1&high=99").content
    assert len(colors) == 3 * scene.mask.size
    assert np.frombuffer(colors, np.uint8).reshape(*scene.shape, 3)[0, 0].tolist() == [0, 0, 0]


def test_spectra_are_those_of_the_clusters(client):
    scene = small_scene()
    step(client, "merge", clusters=[0, 2])
    labels = labels_of(client)
    for each in client.get("/api/spectra").json()["clusters"]:
        own = scene.cube[labels == each["id"]]
        assert each["pixels"] == len(own)
        assert np.allclose(each["mean"], own.mean(axis=0))
        assert np.allclose(each["deviation"], own.std(axis=0))
    assert len(client.get("/api/spectra?k=5").json()["clusters"]) == 5


def test_a_pixel_with_its_neighbours(client):
    scene = small_scene()
    told = client.get("/api/pixel?row=10&col=7").json()
    assert told["cluster"] == labels_of(client)[10, 7]
    assert (told["x"], told["y"]) == (5e5 + 30 * 7.5, 4.4e6 - 30 * 10.5)
    assert told["next"]["id"] != told["cluster"]
    assert told["truth"] == scene.class_name(int(scene.ground_truth[10, 7]))
    unit = scene.cube / np.linalg.norm(scene.cube, axis=2, keepdims=True)
    away = np.where(scene.mask, np.linalg.norm(unit - unit[10, 7], axis=2), np.inf)
    away[10, 7] = np.inf
    found = [each["distance"] for each in told["everywhere"]]
    assert np.allclose(found, np.sort(away.ravel())[:20], atol=1e-3)
    assert all(abs(e["row"] - 10) <= 8 and abs(e["col"] - 7) <= 8 for e in told["windowed"])
    assert told["chain"] is None
    masked = client.get("/api/pixel?row=0&col=0").json()
    assert (masked["valid"], masked["cluster"], masked["windowed"]) == (False, None, [])


def test_the_embedding_has_two_coordinates_of_valid_pixels(client, single):
    for each in (client, single):
        found = each.get("/api/embedding?x=1&y=2").json()
        assert len(found["x"]) == len(found["y"]) == len(found["pixels"]) == small_scene().n_valid
        refused(each.get("/api/embedding?x=99"), 400)


def test_the_embedding_of_the_runs_separates_clear_classes(client):
    found = client.get("/api/embedding?x=1&y=2").json()
    points = np.array([found["x"], found["y"]]).T
    truth = small_scene().ground_truth.ravel()[found["pixels"]]
    means = np.array([points[truth == c].mean(axis=0) for c in (1, 2, 3)])
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(axis=1) + 1
    assert (nearest == truth).mean() > 0.9


def test_a_single_run_has_a_curve_a_chain_and_other_labels(single):
    model = single_model()
    state = state_of(single)
    assert (state["base"], state["tree"]) == ("clusters", None)
    assert state["certainty"]["name"] == "margin"
    curve = single.get("/api/curve").json()
    assert curve["sorted"][0] == np.nanmax(model.mode_score_)
    chain = single.get("/api/pixel?row=10&col=7").json()["chain"]
    assert chain[0]["pixel"] == 10 * 20 + 7
    assert chain[-1]["pixel"] in model.modes_
    density = [model.density_.flat[each["pixel"]] for each in chain]
    assert density == sorted(density)
    state = single.post("/api/relabel", json={"k": 2, "time": 60, "n_eigenpairs": 4}).json()
    assert (state["n_clusters"], state["relabel"]["time"]) == (2, 60)
    state = step(single, "relabel", n_eigenpairs=6)
    assert state["relabel"] == {
        "k": 2, "time": 60, "n_eigenpairs": 6, "consensus_radius": 3, "largest_n_eigenpairs": 6
    }  # fmt: skip
    refused(single.post("/api/relabel", json={"n_eigenpairs": 7}), 400)
    refused(single.post("/api/step", json={"op": "cut", "k": 2}), 400)
    refused(single.get("/api/query"), 400)


def test_a_run_at_another_time_is_that_of_a_fit(single):
    from spectrawalk import SRDL

    moved = single_model().with_labelling(time=7.5, n_clusters=4, consensus_radius=1)
    fitted = SRDL(4, n_neighbors=20, n_eigenpairs=6, time=7.5, consensus_radius=1)
    assert (moved.labels_ == fitted.fit(small_scene()).labels_).all()


def test_many_labellings_take_little_memory_and_can_all_be_undone(single, tmp_path):
    first = state_of(single)["label_of_leaf"]
    seen = []
    for time_ in range(5, 20):
        step(single, "relabel", k=2 + time_ % 3, time=time_)
        seen.append(labels_of(single))
    runs = make_runs(tmp_path, single_model())
    assert sum(state is not None for state in runs.session._states) <= 10
    again = client_of(runs)
    for wanted in reversed(seen):
        assert (labels_of(again) == wanted).all()
        again.post("/api/undo", json={})
    assert state_of(again)["label_of_leaf"] == first


def test_a_tree_has_no_curve(client):
    refused(client.get("/api/curve"), 404)
    refused(client.post("/api/relabel", json={"k": 2}), 400)


def test_merge_split_name_color_hide_and_back(client):
    first = labels_of(client)
    state = step(client, "merge", clusters=[2, 1])
    assert [each["id"] for each in state["legend"]] == [0, 1]
    assert (labels_of(client) == np.where(first == 2, 1, first)).all()
    step(client, "split", cluster=1)
    assert (labels_of(client) == first).all(), "a split takes back the merge of two clusters"
    step(client, "name", cluster=1, name="  corn  ")
    step(client, "color", cluster=1, color="#AABBCC")
    entry = step(client, "hide", cluster=1, hidden=True)["legend"][1]
    assert (entry["name"], entry["color"], entry["hidden"]) == ("corn", "#aabbcc", True)
    entry = step(client, "cut", k=5)["legend"][1]
    assert (entry["name"], entry["color"]) == ("corn", "#aabbcc")
    for _ in range(6):
        state = client.post("/api/undo", json={}).json()
    assert state["session"]["undo"] == 0
    assert (labels_of(client) == first).all()
    refused(client.post("/api/undo", json={}), 400)
    for _ in range(6):
        state = client.post("/api/redo", json={}).json()
    assert state["legend"][1]["name"] == "corn"
    refused(client.post("/api/redo", json={}), 400)


def test_a_split_gives_the_cluster_of_the_finer_cut(client):
    model = tree_model()
    parent = state_of(client)["tree"]["parent"][3]
    step(client, "split", cluster=parent)
    assert (labels_of(client) == model.cut(4)).all()


def test_a_polygon_becomes_a_cluster_or_joins_one(client):
    before = labels_of(client)
    state = step(client, "polygon", points=[[0, 0], [0, 20], [5, 20], [5, 0]], name="top")
    labels, top = labels_of(client), state["legend"][-1]
    assert top["name"] == "top"
    valid = small_scene().mask
    assert ((labels == top["id"]) == (valid & (np.arange(24) < 5)[:, None])).all()
    assert (labels[5:] == before[5:]).all()
    assert top["color"] not in [each["color"] for each in state["legend"][:-1]]
    version = state["leaf_version"]
    state = step(client, "polygon", points=[[10, 0], [10, 20], [12, 20], [12, 0]], name="top")
    assert state["leaf_version"] != version
    assert len(state["legend"]) <= 4, "the same name is the same cluster"
    step(client, "polygon", points=[[20, 0], [20, 20], [24, 20], [24, 0]], cluster=0)
    assert (labels_of(client)[20:] == 0).all()
    step(client, "cut", k=6)
    assert (labels_of(client) == top["id"]).sum() > 0
    outside = [[30, 0], [30, 20], [40, 20]]
    refused(client.post("/api/step", json={"op": "polygon", "points": outside, "name": "x"}), 400)


def test_questions_answers_and_classes(client):
    truth = small_scene().ground_truth
    pixels = client.get("/api/query?budget=4").json()["pixels"]
    assert len(pixels) == 4
    refused(client.post("/api/step", json={"op": "classify"}), 400)
    step(client, "answer", pixel=pixels[0]["pixel"], **{"class": None})
    for each in pixels[1:]:
        name = f"class {truth[each['row'], each['col']]}"
        state = step(client, "answer", pixel=each["pixel"], **{"class": name})
    assert len(state["answers"]) == 4
    asked = {each["pixel"] for each in pixels}
    more = client.get("/api/query?budget=2").json()["pixels"]
    assert not asked & {each["pixel"] for each in more}
    state = step(client, "classify")
    assert state["base"] == "answers"
    assert all(each["name"].startswith("class ") for each in state["legend"])
    assert state["scores"]["oa"] > 0.5
    state = step(client, "cut", k=3)
    assert (state["base"], len(state["answers"])) == ("tree", 4)
    refused(client.post("/api/step", json={"op": "answer", "pixel": 0, "class": "x"}), 400)


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"op": 3},
        {"op": "cut"},
        {"op": "cut", "k": 0},
        {"op": "cut", "k": True},
        {"op": "cut", "k": 1e3},
        {"op": "cut", "k": 9999},
        {"op": "merge", "clusters": [1]},
        {"op": "merge", "clusters": [1, 99]},
        {"op": "merge", "clusters": "01"},
        {"op": "split", "cluster": 77},
        {"op": "name", "cluster": 0, "name": "x" * 101},
        {"op": "name", "cluster": 0, "name": "a\x00b"},
        {"op": "color", "cluster": 0, "color": "red"},
        {"op": "color", "cluster": 0, "color": "#aabbcc;x"},
        {"op": "hide", "cluster": 0, "hidden": "yes"},
        {"op": "polygon", "points": [[0, 0], [1, 1]], "name": "x"},
        {"op": "polygon", "points": [[0, 0], [1, 1], [1, None]], "name": "x"},
        {"op": "polygon", "points": [[0, 0], [9, 9], [9, 0]], "name": " "},
        {"op": "answer", "pixel": 10**9, "class": "x"},
        {"op": "relabel", "k": 2},
    ],
)
def test_a_step_that_cannot_be_taken_changes_nothing(client, step):
    before = state_of(client)
    refused(client.post("/api/step", json=step), 400)
    assert state_of(client) == before


def test_every_bad_query_is_a_sentence(client):
    for address in (
        "pixel", "pixel?row=1", "pixel?row=-1&col=1", "pixel?row=1&col=99", "pixel?row=a&col=1",
        "composite?bands=1,2", "composite?bands=1,2,99", "composite?low=9&high=2",
        "composite?low=nan", "confidence?k=0", "confidence?k=999", "spectra?k=x", "query?budget=0",
        "embedding?x=0",
    ):  # fmt: skip
        refused(client.get(f"/api/{address}"), 400)
    refused(client.get("/api/leaf?run=5"), 404)
    refused(client.get("/api/nothing"), 404)
    refused(client.get("/api/step"), 405)


def test_a_tab_that_was_overtaken_hears_of_it(client):
    revision = state_of(client)["revision"]
    step(client, "cut", k=4, revision=revision)
    late = client.post("/api/step", json={"op": "cut", "k": 5, "revision": revision})
    assert "another tab" in refused(late, 409)
    assert state_of(client)["k"] == 4


def test_a_session_survives_a_restart(client, runs, tmp_path):
    step(client, "cut", k=5)
    step(client, "name", cluster=1, name="Mais — 田 <b>")
    client.post("/api/undo", json={})
    again = client_of(make_runs(tmp_path))
    state = state_of(again)
    assert (state["k"], state["session"]["undo"], state["session"]["redo"]) == (5, 1, 1)
    assert state["session"]["saved_at"]
    assert again.post("/api/redo", json={}).json()["legend"][1]["name"] == "Mais — 田 <b>"


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b"\xff\xfe", b'{"format": 1}', b'{"format": 9, "about": "a scene"}',
    b'{"format": 1, "about": "another", "steps": [], "undone": [], "saved_at": ""}',
    b'{"format": 1, "about": "a scene", "steps": [{"op": "cut", "k": 999}], "undone": [], '
    b'"saved_at": ""}',
    b'{"format": 1, "about": "a scene", "steps": 3, "undone": [], "saved_at": ""}',
    b"[" * 100_000,
])  # fmt: skip
def test_a_session_file_that_cannot_be_used_is_kept_aside(tmp_path, content):
    file = tmp_path / "explore-session.json"
    file.write_bytes(content)
    client = client_of(make_runs(tmp_path))
    state = state_of(client)
    assert state["session"]["steps"] == []
    assert "explore-session-aside-1.json" in state["session"]["remark"]
    assert (tmp_path / "explore-session-aside-1.json").read_bytes() == content
    step(client, "cut", k=4)
    assert json.loads(file.read_bytes())["steps"] == [{"op": "cut", "k": 4}]


def test_ten_clients_at_once_leave_a_whole_session(runs, tmp_path):
    clients = [client_of(runs, enter=False) for _ in range(10)]
    for each in clients:
        each.get(f"/?token={each.keys.token}", follow_redirects=False)
    trouble = []

    def work(client, number):
        for turn in range(5):
            answer = client.post("/api/step", json={"op": "cut", "k": 1 + (number + turn) % 6})
            client.get("/api/pixel?row=5&col=5")
            if answer.status_code != 200:
                trouble.append(answer.text)
            client.post("/api/undo", json={})

    threads = [
        threading.Thread(target=work, args=each) for each in zip(clients, range(10), strict=True)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert trouble == []
    session = runs.session
    kept = json.loads((tmp_path / "explore-session.json").read_bytes())
    assert kept["steps"] == session.steps
    assert kept["undone"] == session._undone
    again = Session(tree_model(), steps=session.steps)
    assert again.state.cluster_of == session.state.cluster_of
    assert len(session._states) == len(session.steps) + 1


def test_what_was_done_is_told_in_words(client):
    step(client, "cut", k=5)
    step(client, "name", cluster=1, name="corn")
    step(client, "merge", clusters=[1, 4])
    step(client, "polygon", points=[[4, 4], [4, 10], [9, 10]], name="road")
    step(client, "answer", pixel=45, **{"class": None})
    step(client, "hide", cluster=0, hidden=True)
    step(client, "color", cluster=0, color="#000000")
    step(client, "split", cluster=1)
    step(client, "name", cluster=1, name="")
    client.post("/api/undo", json={})
    state = client.post("/api/undo", json={}).json()
    assert [each["text"] for each in state["session"]["history"]] == [
        "cut into 5 clusters",
        "call cluster 2 corn",
        "merge corn and cluster 5",
        "draw a polygon of road",
        "answer for the pixel in row 2, column 5: not known",
        "hide cluster 1",
        "give cluster 1 the colour #000000",
        "split corn",
        "call corn by its number",
    ]
    assert state["session"]["undo"] == 7


def test_the_server_says_that_it_is_there(client, runs):
    first = client.get("/api/alive").json()
    assert first["leaf_version"] == state_of(client)["leaf_version"]
    step(client, "cut", k=5)
    later = client.get("/api/alive").json()
    assert later["revision"] > first["revision"]
    assert later["started"] == first["started"]
    assert client_of(runs).get("/api/alive").json()["started"] != first["started"]


def wait_for(client, number, *wanted):
    for _ in range(600):
        run = client.get("/api/runs").json()["runs"][number - 1]
        if run["status"] in wanted:
            return run
        time.sleep(0.05)
    raise AssertionError(run)


def test_another_run_is_made_compared_and_shown(client):
    body = {"method": "SRDL", "parameters": {"n_clusters": 2, "n_neighbors": 20}}
    started = client.post("/api/run", json=body)
    assert started.status_code == 202
    run = wait_for(client, started.json()["id"], "done", "failed")
    assert (run["status"], run["n_clusters"], run["shown"]) == ("done", 2, False)
    table = client.get("/api/compare?a=1&b=2").json()
    assert np.array(table["pixels"]).shape == (3, 2)
    assert np.sum(table["pixels"]) == small_scene().n_valid
    other = np.frombuffer(client.get("/api/leaf?run=2").content, np.uint8)
    assert set(np.unique(other)) == {0, 1, NONE}
    step(client, "cut", k=4)
    assert client.post("/api/runs/2/show", json={}).json()["method"] == "SRDL"
    state = client.post("/api/runs/1/show", json={}).json()
    assert (state["k"], state["session"]["undo"]) == (4, 1)


def test_a_run_is_cancelled_or_fails_with_a_sentence(client, monkeypatch):
    from spectrawalk import SpectraWalk

    def fit(self, X):
        for _ in progress.track("waiting", range(2000)):
            time.sleep(0.01)

    monkeypatch.setattr(SpectraWalk, "fit", fit)
    number = client.post("/api/run", json={"parameters": {"n_clusters": 3}}).json()["id"]
    refused(client.post("/api/run", json={}), 409)
    refused(client.post(f"/api/runs/{number}/show", json={}), 400)
    client.post(f"/api/runs/{number}/cancel", json={})
    assert wait_for(client, number, "cancelled")["stage"] == "waiting"
    refused(client.post(f"/api/runs/{number}/cancel", json={}), 400)
    monkeypatch.undo()
    number = client.post("/api/run", json={"parameters": {"n_clusters": 10**6}}).json()["id"]
    assert "n_clusters" in wait_for(client, number, "failed")["error"]
    refused(client.post("/api/run", json={"method": "os"}), 400)
    refused(client.post("/api/run", json={"parameters": {"speed": 3}}), 400)
    refused(client.post("/api/run", json={"parameters": [3]}), 400)
    refused(client.post("/api/runs/77/cancel", json={}), 404)


def test_the_page_waits_while_the_scene_is_opened(tmp_path):
    runs, go = make_runs(tmp_path), threading.Event()

    def open_run():
        progress.report("neighbours", 3, 7)
        go.wait(20)
        return runs.opened

    opening = Opening(open_run)
    client = client_of(opening=opening)
    opening.start()
    for _ in range(200):
        told = client.get("/api/alive").json()
        if told["starting"]["stage"] == "neighbours":
            break
        time.sleep(0.02)
    assert told["starting"] == {"stage": "neighbours", "done": 3, "total": 7}
    assert client.get("/").status_code == 200
    refused(client.get("/api/state"), 503)
    refused(client.post("/api/step", json={"op": "cut", "k": 3}), 503)
    go.set()
    for _ in range(200):
        if client.get("/api/state").status_code == 200:
            break
        time.sleep(0.02)
    assert state_of(client)["k"] == 3
    opening.stop()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FileError("'x' is cut short; copy it again."), "cut short"),
        (MemoryError(), "memory"),
        (OSError(5, "disk on fire", "x.hdr"), "disk on fire"),
        (ZeroDivisionError("no"), "ZeroDivisionError"),
    ],
)
def test_the_page_says_why_the_scene_cannot_be_opened(error, told):
    def open_run():
        raise error

    said = []
    opening = Opening(open_run, said.append)
    client = client_of(opening=opening)
    opening.start()
    opening._thread.join()
    sentence = refused(client.get("/api/state"), 400)
    assert told in sentence
    assert said == [sentence]
    refused(client.get("/api/alive"), 400)


def test_an_opening_can_be_stopped(tmp_path):
    def open_run():
        for _ in progress.track("waiting", range(2000)):
            time.sleep(0.01)

    opening = Opening(open_run)
    opening.start()
    time.sleep(0.05)
    opening.stop()
    assert not opening._thread.is_alive()
