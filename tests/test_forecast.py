"""Memory is told before the work, refused where it is too short, and as large as was told."""

import subprocess
import sys

import numpy as np
import pytest

from spectrawalk import SRDL
from spectrawalk.cli import main
from spectrawalk.datasets import make_scene
from spectrawalk.errors import MemoryShortageError
from spectrawalk.estimators import forecast
from spectrawalk.srdl import eigensolver
from spectrawalk.srdl.eigenpairs import AUTO_EIGENPAIRS


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(forecast, "available_memory", lambda: 100_000)


def test_a_fit_without_the_memory_is_refused_before_it_starts(little_memory):
    model = SRDL(n_clusters=2)
    with pytest.raises(MemoryShortageError, match=r"GiB.*1,600 pixels.*0\.0 GiB are free.*crop"):
        model.fit(make_scene((40, 40)))
    assert not hasattr(model, "labels_")
    with forecast.forced():
        assert model.fit(make_scene((40, 40))).n_clusters_ == 2


def test_the_command_line_says_what_is_needed_and_can_be_forced(
    little_memory, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    np.save("field.npy", make_scene((20, 20)).cube)
    command = ["cluster", "field.npy", "-k", "2", "-o", "out", "--no-report"]
    with pytest.raises(SystemExit) as end:
        main(command)
    said = capsys.readouterr()
    assert end.value.code == 2
    assert "--force" in said.err
    assert "a run needs about" in said.out
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit) as end:
        main([*command, "--force"])
    assert end.value.code == 0
    assert (tmp_path / "out" / "labels.tif").exists()


def test_the_available_memory_is_that_of_the_container(tmp_path, monkeypatch):
    monkeypatch.setattr(forecast, "_CGROUP", tmp_path)
    machine = forecast.available_memory()
    assert machine > 2**27
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert forecast.available_memory() > 2**27
    (tmp_path / "memory.max").write_text("5000\n")
    assert forecast.available_memory() == 4000


def test_the_forecast_counts_the_vectors_that_the_solver_carries():
    assert AUTO_EIGENPAIRS[1] + 1 == forecast._AUTO_PAIRS
    assert forecast._GUARDS == eigensolver._GUARDS


@pytest.mark.slow
def test_the_peak_is_within_a_quarter_of_the_forecast():
    code = (
        "import resource; from spectrawalk import SRDL, forecast;"
        "from spectrawalk.datasets import make_scene;"
        "SRDL(n_clusters=4).fit(make_scene((256, 256), n_bands=200, n_classes=4));"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024;"
        "print(peak / forecast.peak_memory(65_536, 200))"
    )
    for _ in range(2):  # compiling takes memory of its own: the second one finds it done
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    assert 0.8 < float(done.stdout) < 1.25
