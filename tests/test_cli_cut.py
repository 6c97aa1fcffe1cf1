"""``spectrawalk cut``: other numbers of clusters from the tree of a run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import rasterio
from command_line import assert_one_line_error, run

import spectrawalk
from spectrawalk.datasets import make_scene
from spectrawalk.report.file_names import CONFIDENCE, MARGIN, OVERVIEW, REPORT, TREE
from spectrawalk.report.run_folder import run_files


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a scene and the results of a run on it."""
    folder = tmp_path_factory.mktemp("fitted")
    made = make_scene((24, 24), n_bands=20, n_classes=3, random_state=1)
    cube = np.array(made.cube)
    cube[:3, :4] = 0  # masked
    np.save(folder / "field.npy", cube)
    done = run(
        "cluster", folder / "field.npy", "-k", 3, "--no-report", "--quiet",
        "-o", folder / "three",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def folder(fitted, here):
    """A copy of it that may be spoiled; the record names the scene of the first."""
    shutil.copytree(fitted, here, dirs_exist_ok=True)
    return here


def succeed(*args):
    done = run(*args)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def refuse(*args):
    done = run(*args)
    assert_one_line_error(done.exit_code, done.stderr)
    return done.stderr


def record_of(folder):
    return json.loads(Path(folder, "run.json").read_bytes())


def test_every_run_of_spectrawalk_keeps_its_tree_and_no_other_does(folder):
    assert "tree of clusters, for spectrawalk cut" in succeed(
        "cluster", "field.npy", "--no-report", "-o", "auto"
    )
    assert Path("auto", TREE).stat().st_size < 50_000
    assert TREE in record_of("auto")["outputs"]
    plan = succeed("cluster", "field.npy", "--dry-run", "--json", "--quiet")
    assert TREE in json.loads(plan)["would_write"]
    succeed("cluster", "field.npy", "--method", "dl", "-k", 3, "--no-report", "-o", "auto",
            "--overwrite", "--quiet")  # fmt: skip
    assert not Path("auto", TREE).exists()


def test_a_folder_has_a_confidence_or_a_margin_and_never_both(folder):
    single = ("--method", "dl", "-k", 3)
    for options, has, gone in (((), CONFIDENCE, MARGIN), (single, MARGIN, CONFIDENCE)) * 2:
        run = ("cluster", "field.npy", *options, "--no-report", "-o", "out", "--overwrite")
        plan = json.loads(succeed(*run, "--dry-run", "--json"))["would_write"]
        told = succeed(*run)
        assert has in plan
        assert gone not in plan
        assert Path("out", has).is_file()
        assert not Path("out", gone).exists()
        assert f"mean {Path(has).stem}" in " ".join(told.split())
        assert len(record_of("out")["result"][f"mean_{Path(has).stem}"]) > 1
    assert f"{CONFIDENCE} of an earlier run was removed." in told


def test_a_cut_writes_all_results_of_another_number(folder):
    told = succeed("cut", "three", "-k", 5, "-o", "five")
    assert {path.name for path in Path("five").iterdir()} == set(
        run_files([OVERVIEW, REPORT, TREE])
    )
    assert "SpectraWalk: 5 clusters, detail" in told
    assert "; 5 is shown" in told
    model = spectrawalk.load("three/tree.npz")
    labels = np.load("five/labels.npy")
    np.testing.assert_array_equal(labels, model.cut(5) + 1)
    with rasterio.open("five/confidence.tif") as file:
        np.testing.assert_array_equal(file.read(1), model.confidence(5))
    with rasterio.open("five/labels.tif") as file:
        np.testing.assert_array_equal(file.read(1), labels)
    assert len(Path("five/spectra.csv").read_text().splitlines()[0].split(",")) > 5
    page = Path("five/report.html").read_text(encoding="utf-8")
    assert "Tree of clusters, cut into 5" in page

    before, record = record_of("three"), record_of("five")
    assert record["cut_from"]["sha256"] == before["outputs"][TREE]
    assert record["cut_from"]["spectrawalk"] == spectrawalk.__version__
    assert Path(record["cut_from"]["path"]) == Path("three/tree.npz").resolve()
    assert record["parameters"] == before["parameters"] | {"n_clusters": 5}
    assert record["result"]["n_clusters"] == len(record["result"]["sizes"]) == 5
    assert record["inputs"] == before["inputs"]
    assert record["pixels_sha256"] == before["pixels_sha256"]


def test_a_fit_from_the_record_of_a_cut_gives_the_same_map(folder):
    succeed("cut", "three", "-k", 5, "-o", "five", "--no-report", "--quiet")
    succeed("cluster", "--from-record", "five/run.json", "-o", "again", "--no-report", "--quiet")
    for name in ("labels.tif", "labels.npy", "confidence.tif", "spectra.csv", "tree.npz"):
        assert Path("again", name).read_bytes() == Path("five", name).read_bytes(), name


def test_a_cut_can_be_cut_and_clusters_keep_their_colours(folder):
    succeed("cut", "three", "-k", 5, "-o", "five", "--no-report", "--quiet")
    succeed("cut", "five", "-k", 4, "-o", "four", "--no-report", "--quiet")
    succeed("cut", "four", "-k", 3, "-o", "back", "--no-report", "--quiet")
    for name in ("labels.tif", "labels.qml", "tree.npz", "confidence.tif", "labels.png"):
        assert Path("back", name).read_bytes() == Path("three", name).read_bytes(), name

    def colours(of):
        with rasterio.open(Path(of, "labels.tif")) as file:
            return file.colormap(1), file.read(1)

    (few, coarse), (more, fine) = colours("four"), colours("five")
    assert all(few[j] == more[j] for j in range(5))
    assert (fine[coarse != fine] == 5).all()


def with_steps(*steps):
    """Let the record of the run have steps, as of `name --accept` or the explorer."""
    record = record_of("three") | {"format": 2, "steps": list(steps)}
    Path("three/run.json").write_text(json.dumps(record))


def names_in(of):
    entries = Path(of, "labels.tif.aux.xml").read_text().split("<Category>")[1:]
    return [each.partition("</Category>")[0] for each in entries]


def test_clusters_that_are_not_split_keep_names_and_colours(folder):
    named = [{"op": "name", "cluster": each, "name": f"crop {each}"} for each in range(3)]
    with_steps(*named, {"op": "color", "cluster": 1, "color": "#010203"})
    told = succeed("cut", "three", "-k", 4, "-o", "four", "--no-report")
    before, after = np.load("three/labels.npy"), np.load("four/labels.npy")
    whole = [j for j in range(3) if ((before == j + 1) == (after == j + 1)).all()]
    assert len(whole) == 2
    names = names_in("four")
    assert [names[j + 1] for j in range(3)] == [
        f"crop {j}" if j in whole else f"cluster {j + 1}" for j in range(3)
    ]
    assert names[4] == "cluster 4"
    if 1 in whole:
        with rasterio.open("four/labels.tif") as file:
            assert file.colormap(1)[2][:3] == (1, 2, 3)
    assert "names kept: 2 of 3" in told
    # The record repeats it, and the names stay in further cuts.
    succeed("cluster", "--from-record", "four/run.json", "-o", "again", "--no-report", "--quiet")
    for name in ("labels.tif", "labels.qml", "labels.tif.aux.xml"):
        assert Path("again", name).read_bytes() == Path("four", name).read_bytes(), name
    told = succeed("cut", "four", "-k", 3, "-o", "back", "--no-report")
    assert "names kept" not in told  # all are
    assert [each for each in names_in("back") if each.startswith("crop")] == [
        f"crop {j}" for j in whole
    ]


def test_a_merged_cluster_gives_its_name_to_the_same_pixels_only(folder):
    two = spectrawalk.load("three/tree.npz").cut(2)
    three = np.load("three/labels.npy") - 1
    parent = next(each for each in (0, 1) if (three[two == each] == 2).any())
    with_steps(
        {"op": "merge", "clusters": [parent, 2]},
        {"op": "name", "cluster": parent, "name": "both"},
    )
    succeed("cut", "three", "-k", 2, "-o", "two", "--no-report", "--quiet")
    assert names_in("two")[parent + 1] == "both"
    told = succeed("cut", "three", "-k", 3, "-o", "again", "--no-report")
    assert "both" not in names_in("again")
    assert "names kept: 0 of 1" in told


def test_auto_takes_the_number_that_the_runs_support(folder):
    told = json.loads(succeed("cut", "three", "-k", "auto", "-o", "auto", "--json", "--no-report"))
    supported = told["result"]["levels"][-1]["n_clusters"]
    assert told["result"]["n_clusters"] == supported
    assert told["parameters"]["n_clusters"] == "auto"
    assert np.load("auto/labels.npy").max() == supported
    succeed("cluster", "--from-record", "auto/run.json", "-o", "again", "--no-report", "--quiet")
    assert Path("again/labels.tif").read_bytes() == Path("auto/labels.tif").read_bytes()


def test_a_cut_may_replace_its_own_results(folder):
    told = refuse("cut", "three", "-k", 4, "-o", "three")
    assert "already holds" in told
    assert "--overwrite" in told
    succeed("cut", "three", "-k", 4, "-o", "three", "--overwrite", "--no-report", "--quiet")
    assert np.load("three/labels.npy").max() == 4
    succeed("cut", "three", "-k", 2, "-o", "two", "--no-report", "--quiet")
    assert np.load("two/labels.npy").max() == 2


def named_input(path):
    """Let the record name another file."""
    record = record_of("three")
    record["scene"]["source"] = record["inputs"][0]["path"] = str(path)
    Path("three/run.json").write_text(json.dumps(record))


def test_an_input_that_moved_is_named_and_one_that_changed_is_refused(folder):
    named_input(folder / "gone.npy")
    told = refuse("cut", "three", "-k", 4, "-o", "four", "--quiet")
    assert "does not exist; give its new place as SCENE if it has moved" in told
    succeed("cut", "three", "field.npy", "-k", 4, "-o", "four", "--no-report", "--quiet")
    assert Path(record_of("four")["scene"]["source"]) == folder / "field.npy"
    cube = np.load("field.npy")
    cube[5, 5] *= 2
    np.save("field.npy", cube)
    told = refuse("cut", "three", "field.npy", "-k", 4, "-o", "other", "--quiet")
    assert "is not the file of the record" in told
    assert not Path("other").exists()


def spoil(name, content):
    return lambda: Path("three", name).write_bytes(content)


def claim(**changes):
    """Let the record claim what is not so, and the checksum of the tree be right."""

    def change():
        from spectrawalk.io.run_record import sha256_of

        record = record_of("three") | changes
        record["outputs"] = {TREE: sha256_of("three/tree.npz")}
        Path("three/run.json").write_text(json.dumps(record))

    return change


def another_tree():
    other = make_scene((24, 24), n_bands=20, n_classes=3, random_state=2)
    spectrawalk.SpectraWalk(3).fit(other).save_tree("three/tree.npz")


def another_tree_and_its_checksum():
    another_tree()
    claim()()


def damaged_tree_and_its_checksum():
    Path("three/tree.npz").write_bytes(Path("three/tree.npz").read_bytes()[:-100])
    claim()()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda: shutil.rmtree("three"), "'three' is no results folder: it has no run.json"),
        (lambda: Path("three/run.json").unlink(), "'three' is no results folder"),
        (spoil("run.json", b"{}"), "is not the record of a run"),
        (claim(method="SRDL"), "made by SRDL, and only SpectraWalk makes one"),
        (lambda: Path("three/tree.npz").unlink(), "'three' has no tree.npz; make it with"),
        (spoil("tree.npz", b"tree"), "is not the tree of the run in run.json"),
        (another_tree, "is not the tree of the run in run.json"),
        (another_tree_and_its_checksum, "is of another image"),
        (damaged_tree_and_its_checksum, "is cut short"),
    ],
)
def test_what_cannot_be_cut_is_told_in_one_sentence(change, told, folder):
    change()
    assert told in refuse("cut", "three", "-k", 4, "-o", "four", "--quiet")
    assert not Path("four").exists()


def test_more_clusters_than_leaves_are_refused(folder):
    told = refuse("cut", "three", "-k", 5000, "-o", "many", "--quiet")
    assert "-k 5000 is more than the" in told
    assert not Path("many").exists()


@pytest.mark.parametrize("k", ["0", "x", "2.5"])
def test_a_number_that_is_none_is_refused(k, folder):
    told = refuse("cut", "three", "-k", k, "-o", "many")
    assert "neither 'auto' nor an integer of at least 1" in told


def test_the_number_and_the_folder_must_be_given(folder):
    assert "Missing option '-k'" in refuse("cut", "three", "-o", "other")
    assert "Missing option '-o'" in refuse("cut", "three", "-k", 3)


def test_a_tree_alone_cannot_label_other_images(folder):
    told = refuse("predict", "three/tree.npz", "field.npy", "-o", "other", "--quiet")
    assert "save the whole model with --save-model of `spectrawalk cluster`." in told
