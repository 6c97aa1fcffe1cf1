"""Labels from the modes: in steps that end soon, whatever the size of the image."""

import numpy as np
import pytest

from spectrawalk import progress
from spectrawalk.srdl import labels, modes
from spectrawalk.srdl.labels import Consensus, label_pixels


def problem(side):
    """Coordinates of an image in four fields, its density order, and all that labels need."""
    rng = np.random.default_rng(0)
    half = np.arange(side) >= side // 2
    field = (2 * half[:, None] + half).ravel()
    coordinates = np.eye(4)[field] + rng.normal(scale=0.3, size=(side * side, 4))
    ranking = rng.permutation(side * side)
    parent, _ = modes.nearest_denser(coordinates, ranking)
    _, first = np.unique(field[ranking], return_index=True)
    return coordinates, ranking, parent, ranking[first], np.ones((side, side), dtype=bool)


def test_steps_grow_with_the_image_and_reports_with_them():
    """Steps of at most 10,000 pixels in each of the two stages: far below a second."""
    for side in (50, 200):
        heard = []
        with progress.listen(lambda *report, heard=heard: heard.append(report)):
            label_pixels(*problem(side), Consensus())
        heard = [report for report in heard if report[0] == "labels"]
        steps = heard[0][2]
        assert 2 * side**2 <= 10_000 * steps
        assert [done for _, done, _ in heard] == list(range(steps + 1))


@pytest.mark.parametrize("after", [1, 3])
def test_ctrl_c_is_heard_after_any_step(after, monkeypatch):
    monkeypatch.setattr(labels, "_SEARCH", 4e6)  # 500 pixels a step
    begun = []
    kernel = labels.kernels.label_ranks
    monkeypatch.setattr(
        labels.kernels, "label_ranks", lambda *given: (begun.append(given[-2]), kernel(*given))
    )

    def interrupt(stage, done, total):
        if stage == "labels" and done == after:
            raise KeyboardInterrupt

    given = problem(50)
    with pytest.raises(KeyboardInterrupt), progress.listen(interrupt):
        label_pixels(*given, Consensus())
    assert len(begun) == after


@pytest.mark.parametrize(
    "consensus", [Consensus(), Consensus(radius=0), Consensus(2, own_vote=True)]
)
@pytest.mark.parametrize("search", [1e5, 4e7])
def test_labels_do_not_depend_on_the_steps(search, consensus, monkeypatch):
    given = problem(50)
    expected = label_pixels(*given, consensus)
    assert len(np.unique(expected)) == 4
    monkeypatch.setattr(labels, "_SEARCH", search)
    np.testing.assert_array_equal(label_pixels(*given, consensus), expected)
