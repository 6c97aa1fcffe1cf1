from types import SimpleNamespace

import pytest

from spectrawalk.consensus.number import NO_STRUCTURE, Evidence

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from spectrawalk.report.number_curves import draw_evidence


@pytest.mark.parametrize(
    ("evidence", "bars"),
    [
        (Evidence(3, "3, clear", {2: 0.5, 3: 0.9, 4: 0.4}, {2: 1.2, 3: 2.5, 4: 1.1}), 3),
        (Evidence(1, NO_STRUCTURE, {2: -0.1, 3: 0.1}, {}), 0),
        (Evidence(1, NO_STRUCTURE, {}, {}), 0),  # at most one cluster was asked for
    ],
)
def test_evidence_is_drawn_where_there_is_any(evidence, bars):
    ax = Figure().subplots()
    model = SimpleNamespace(evidence_=evidence, n_clusters_=evidence.n_clusters, n_clusters="auto")
    draw_evidence(ax, model)
    heights = [bar.get_height() for bar in ax.patches]
    assert len(heights) == bars
    assert max(heights, default=1) == 1
    agreed = ax.lines[0].get_ydata()
    assert list(agreed) == list(evidence.stability.values())
    assert all(ax.get_ylim()[0] < value < ax.get_ylim()[1] for value in agreed)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"K = {evidence.n_clusters}, found" in words
