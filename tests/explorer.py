"""An explorer for tests: a small scene, a fit of it, and a client that has the cookie."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np

from spectrawalk import SRDL, SpectraWalk
from spectrawalk.datasets import make_scene
from spectrawalk.explore.opening import Opening
from spectrawalk.explore.runs import Opened, Runs
from spectrawalk.explore.security import Keys
from spectrawalk.explore.server import application

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # how starlette wants its client installed is not our matter
    from starlette.testclient import TestClient

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"


@cache
def small_scene():
    """24 x 20 pixels of three classes on the ground, some of them masked."""
    made = make_scene((24, 20), n_bands=12, n_classes=3, random_state=1)
    mask = made.mask.copy()
    mask[:2, :3] = False
    return replace(
        made,
        mask=mask,
        wavelengths=np.array([450.0, 500, 550, 600, 650, 700, 800, 900, 1000, 1200, 1600, 2000]),
        crs="EPSG:32633",
        transform=(30.0, 0.0, 5e5, 0.0, -30.0, 4.4e6),
    )


@cache
def tree_model():
    return SpectraWalk(n_clusters=3).fit(small_scene())


@cache
def single_model():
    return SRDL(3, n_neighbors=20, n_eigenpairs=6).fit(small_scene())


def make_runs(folder, model=None, **fields):
    def record(result, method, parameters, steps, seconds):
        return {"method": method, "parameters": dict(parameters), "steps": list(steps)}

    model = model or tree_model()
    return Runs(
        Opened(
            scene=small_scene(),
            model=model,
            parameters=model.get_params(),
            record=record,
            output=folder,
            **{"session": folder / "explore-session.json", "about": "a scene"} | fields,
        )
    )


def client_of(runs=None, *, enter=True, opening=None):
    keys = Keys(PORT)
    client = TestClient(
        application(opening or Opening.of(runs), keys), base_url=HOME, raise_server_exceptions=False
    )
    client.keys = keys
    if enter:
        client.get(f"/?token={keys.token}", follow_redirects=False)
    return client


def step(client, op, **fields):
    answer = client.post("/api/step", json={"op": op, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer, status):
    assert answer.status_code == status, answer.text
    sentence = answer.json()["error"]
    assert sentence
    assert "\n" not in sentence
    return sentence
