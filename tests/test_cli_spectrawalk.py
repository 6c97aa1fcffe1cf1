"""``spectrawalk cluster`` with its default method: the tree on the screen and in the report."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import spectrawalk
from spectrawalk.datasets import make_scene


@pytest.fixture
def field(here):
    np.save("field.npy", make_scene((24, 24), n_bands=20, n_classes=3, random_state=1).cube)
    return "field.npy"


def test_it_writes_map_report_and_model(field, here):
    done = run("cluster", field, "-k", 3, "--save-model", "--json", "-o", "out")
    record = json.loads(done.stdout)
    assert record["method"] == "SpectraWalk"
    assert record["parameters"] == {"n_clusters": 3, "detail": "auto", "random_state": None}
    found = record["result"]
    assert found["n_clusters"] == 3
    assert "clusters are supported" in found["verdict"]
    assert 0 <= found["detail"] <= 1
    assert found["levels"][-1]["n_clusters"] >= 2
    labels = np.load("out/labels.npy")
    model = spectrawalk.load("out/model.npz")
    assert np.array_equal(model.cut(3) + 1, labels)
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert "Tree of clusters, cut into 3" in page
    assert "Support for the number of clusters" in page
    assert (here / "out" / "overview.png").stat().st_size > 10_000


def test_its_run_can_be_repeated_and_its_model_labels_other_images(field):
    run("cluster", field, "-k", 3, "--save-model", "-o", "out")
    run("cluster", "--from-record", "out/run.json", "-o", "again")
    assert np.array_equal(np.load("again/labels.npy"), np.load("out/labels.npy"))
    run("predict", "out/model.npz", field, "-o", "same")
    assert np.mean(np.load("same/labels.npy") == np.load("out/labels.npy")) > 0.99
    assert "SpectraWalk" in Path("same/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--radius", 12),
            "Error: --radius=12 has no meaning for spectrawalk, which needs no radius; add "
            "--method srdl, or leave it out.\n",
        ),
        (("--method", "spectrawalk", "--radius", 5), "--radius=5 has no meaning for spectrawalk"),
        (
            ("--neighbors", 5),
            "Error: --neighbors=5 has no meaning for spectrawalk; add --method srdl, or leave it "
            "out.\n",
        ),
        (("--eigenpairs", 5), "--eigenpairs=5 has no meaning for spectrawalk; add --method srdl"),
        (("--time", 9), "which needs no diffusion time; add --method srdl"),
        (("--sigma", 2), "--sigma=2.0 has no meaning for spectrawalk; add --method srdl"),
        (("--consensus-radius", 2), "--consensus-radius=2 has no meaning for spectrawalk; add"),
        (("--normalize", "band"), "--normalize=band has no meaning for spectrawalk; add --method"),
        (("--radius", "auto"), "leave it out, because the default method needs no radius"),
        (("--time", "auto"), "leave it out, because the default method needs no diffusion time"),
        (("--method", "srdl", "--radius", "auto"), "the default method needs no radius"),
        (("--method", "srdl", "--detail", 0.5), "--detail=0.5 has no meaning for srdl"),
        (("--detail", 2), "nor a number from 0 to 1"),
        (("-k", 5000), "5000"),
    ],
    ids=str,
)
def test_options_that_do_not_belong_to_it_are_refused(options, told, field, here):
    done = run("cluster", field, *options, "-o", "out")
    assert done.exit_code == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1 or "5000" in told
    assert not (here / "out").exists()


def test_the_plan_says_what_it_will_do(field):
    done = run("cluster", field, "--detail", "fields", "--dry-run")
    assert "SpectraWalk: number of clusters auto, detail fields" in done.stdout
    assert "a run needs about" in done.stdout
