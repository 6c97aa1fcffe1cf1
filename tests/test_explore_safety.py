"""Who may reach the explorer, and what it may read and write."""

import os

import pytest
from explorer import HOME, PORT, client_of, make_runs, refused, step
from starlette.websockets import WebSocketDisconnect

from spectrawalk.errors import ParameterError
from spectrawalk.explore.runs import export_folder
from spectrawalk.explore.security import Keys

READ = ["/", "/api/alive", "/page/main.js", "/page/style.css", "/api/state", "/api/leaf",
        "/api/confidence",
        "/api/truth", "/api/composite", "/api/spectra", "/api/pixel?row=1&col=1", "/api/embedding",
        "/api/curve", "/api/query", "/api/runs", "/api/compare?a=1&b=1", "/nothing"]  # fmt: skip
CHANGE = ["/api/step", "/api/relabel", "/api/undo", "/api/redo", "/api/run", "/api/runs/1/cancel",
          "/api/runs/1/show", "/api/export", "/nothing"]  # fmt: skip
ALL = [("GET", path) for path in READ] + [("POST", path) for path in CHANGE]


@pytest.fixture
def runs(tmp_path):
    return make_runs(tmp_path / "out")


@pytest.fixture
def client(runs):
    return client_of(runs)


def ask(client, method, path, **headers):
    given = {"json": {}} if method == "POST" else {}
    return client.request(method, path, headers=headers, follow_redirects=False, **given)


def test_the_lists_above_have_every_route():
    from spectrawalk.explore.server import _Explorer

    known = {path.partition("?")[0] for path in [*READ, *CHANGE]}
    for route in _Explorer(None).application().routes:
        path = route.path.replace("{name:path}", "main.js").replace("{number:int}", "1")
        assert path in known


HOSTS = ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "",
         f"127.0.0.2:{PORT}", f"127.0.0.1:{PORT}.evil.example"]  # fmt: skip
ORIGINS = ["http://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{PORT}",
           f"http://127.0.0.1:{PORT}/x"]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ALL)
def test_a_foreign_host_or_origin_is_refused_on_every_route(client, method, path):
    for host in HOSTS:
        refused(ask(client, method, path, host=host), 403)
    for origin in ORIGINS:
        refused(ask(client, method, path, origin=origin), 403)


@pytest.mark.parametrize(("method", "path"), ALL)
def test_without_the_cookie_every_route_is_refused(runs, method, path):
    client = client_of(runs, enter=False)
    refused(ask(client, method, path), 403)
    name = client.keys.cookie_name
    refused(ask(client, method, path, cookie=f"{name}=x; other={client.keys.cookie}"), 403)


def test_the_own_names_are_let_in(client):
    cookie = f"{client.keys.cookie_name}={client.keys.cookie}"
    for name in ("127.0.0.1", "localhost"):
        there = f"{name}:{PORT}"
        answer = ask(
            client, "POST", "/api/step", host=there, origin=f"http://{there}", cookie=cookie
        )
        assert "op=" in refused(answer, 400)


def test_the_token_is_exchanged_once(runs):
    client = client_of(runs, enter=False)
    address = f"/?token={client.keys.token}"
    refused(client.get("/?token=wrong"), 403)
    refused(client.get("/?token="), 403)
    refused(client.get(address, headers={"host": "evil.example"}), 403)
    refused(client.get(f"/api/state{address[1:]}"), 403)
    answer = client.get(address, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.keys.cookie not in address
    assert client.get("/api/state").status_code == 200
    other = client_of(runs, enter=False)
    other.keys.__dict__.update(client.keys.__dict__)
    refused(other.get(address, follow_redirects=False), 403)


def test_every_answer_has_the_headers(client):
    for answer in (client.get("/"), client.get("/api/state"), client.get("/api/nothing"),
                   ask(client, "GET", "/", host="evil.example")):  # fmt: skip
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", [
    "/page/../server.py", "/page/%2e%2e/server.py", "/page/..%2fserver.py", "/page//etc/passwd",
    "/page/%2fetc/passwd", "/page/", "/page/.", "/page/x%00.js", "/page/main.js/",
    "/../../../../etc/passwd", "/page/..\\server.py", "/page/ROUTES.md",
])  # fmt: skip
def test_no_other_file_can_be_read(client, path):
    answer = client.get(path)
    assert answer.status_code in (404, 405)


def test_a_link_in_the_page_is_not_followed(client, tmp_path, monkeypatch):
    from spectrawalk.explore import server

    (tmp_path / "secret.js").write_text("secret")
    page = tmp_path / "page"
    page.mkdir()
    (page / "own.js").write_text("own")
    (page / "link.js").symlink_to(tmp_path / "secret.js")
    monkeypatch.setattr(server, "PAGE", page)
    assert client.get("/page/own.js").text == "own"
    assert client.get("/page/link.js").status_code == 404


BAD_NAMES = ["", ".", "..", "../x", "a/b", "/etc", "/etc/x", "..\\x", "C:x", "a\x00b", "~root",
             ".hidden", "x" * 101, "a\nb", "x.", "x ", 3, None, ["x"], "-rf"]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_nothing_is_written_outside_the_output_folder(client, tmp_path, name):
    refused(client.post("/api/export", json={"folder": name, "report": False}), 400)
    assert not [path for path in tmp_path.rglob("*") if path.name == "run.json"]


def test_links_lead_nowhere(client, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "link").symlink_to(elsewhere)
    (tmp_path / "out" / "file").write_text("")
    for name in ("link", "file"):
        refused(client.post("/api/export", json={"folder": name, "report": False}), 400)
    (tmp_path / "out" / "maps").mkdir()
    (tmp_path / "out" / "maps" / "labels.tif").symlink_to(elsewhere / "labels.tif")
    body = {"folder": "maps", "report": False, "overwrite": True}
    refused(client.post("/api/export", json=body), 400)
    assert os.listdir(elsewhere) == []
    with pytest.raises(ParameterError):
        export_folder(tmp_path / "out", "link")


def test_a_large_body_is_refused_unread(client):
    read = []

    def endless():
        for _ in range(1000):
            read.append(1)
            yield b"x" * 100_000

    told = {"content-type": "application/json", "content-length": str(10**9)}
    refused(client.post("/api/step", content=b"{}", headers=told), 413)
    for length in ("1" * 30, "-1", "abc", "1e3", "²"):
        headers = [(b"content-type", b"application/json"), (b"content-length", length.encode())]
        assert client.post("/api/step", content=b"{}", headers=headers).status_code in (400, 413)
    told = {"content-type": "application/json"}
    refused(client.post("/api/step", content=b"{" + b" " * 999_998 + b"}", headers=told), 400)
    refused(client.post("/api/step", content=b"{" + b" " * 1_000_000 + b"}", headers=told), 413)
    refused(client.post("/api/step", content=endless(), headers=told), 413)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_page_is_no_step(client, kind):
    answer = client.post(
        "/api/step", content=b'{"op": "cut", "k": 2}', headers={"content-type": kind}
    )
    refused(answer, 415)


@pytest.mark.parametrize("body", [b"[]", b"3", b"{", b"\xff", b"[" * 100_000, b'{"op": NaN}'])
def test_a_body_that_is_no_object_is_a_sentence(client, body):
    answer = client.post("/api/step", content=body, headers={"content-type": "application/json"})
    refused(answer, 400)


def test_names_with_markup_stay_text(client, tmp_path):
    name = "</script><img src=x onerror=alert(1)>\"'&"
    state = step(client, "name", cluster=1, name=name)
    assert state["legend"][1]["name"] == name
    done = client.post("/api/export", json={"folder": "maps"})
    assert done.status_code == 200, done.text
    folder = tmp_path / "out" / "maps"
    for file in ("report.html", "labels.qml", "labels.tif.aux.xml"):
        assert "<img src=x" not in (folder / file).read_text(encoding="utf-8")
    assert "&lt;img src=x" in (folder / "report.html").read_text(encoding="utf-8")


def test_an_error_of_ours_does_not_show_its_inside(client, runs, monkeypatch):
    monkeypatch.setattr(runs.numbers, "spectra", lambda state: 1 / 0)
    answer = client.get("/api/spectra")
    assert "ZeroDivisionError" in refused(answer, 500)
    assert "content-security-policy" in answer.headers
    assert HOME not in answer.text


def test_the_cookie_is_kept_for_its_owner_only(tmp_path):
    path = tmp_path / "key"
    first = Keys(PORT, path)
    assert not path.exists()
    first.keep()
    assert path.stat().st_mode & 0o777 == 0o600
    again = Keys(PORT, path)
    assert again.cookie == first.cookie
    assert again.token != first.token
    path.chmod(0o644)  # others may have read it
    other = Keys(PORT, path)
    assert other.cookie != first.cookie
    other.keep()
    assert path.read_text() == other.cookie
    assert path.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link"
    link.symlink_to(path)
    stranger = Keys(PORT, link)
    assert stranger.cookie != other.cookie
    stranger.keep()
    assert path.read_text() == other.cookie
    path.write_text("short")
    assert len(Keys(PORT, path).cookie) == 43


def test_there_are_no_web_sockets(client):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/state"):
        pass
