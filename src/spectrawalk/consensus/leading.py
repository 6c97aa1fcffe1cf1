"""Which runs to trust, by what can be seen without labels: how sure their consensus is.

Three kinds of runs are at hand: walks, whose clusters are those of modes; cuts of the same graphs,
by K-means in diffusion coordinates; and clouds, by K-means of spectra with a say of the neighbours.

Where spectra fall into compact clouds, K-means finds them in every view alike, while walks inside
spatial windows may tie unlike neighbours together; elsewhere it is the other way round. Clouds lead
if their runs are sure enough of them, the more so the less sure walks are, and walks if they are
not; in between, where neither is to be believed alone, all kinds vote. In place of walks cuts lead
where many clusters are wanted. A kind that does not lead keeps a small vote on which groups belong
together: walks cannot tell for sure that two fields far apart are of one kind, and clouds of the
same contrasts can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.consensus.coassociation import consensus_of
from spectrawalk.consensus.ensemble import REMAINS, BaseClustering

UNSURE = 0.7
"""Clouds vote if their mean confidence and half of what it is above that of walks are this..."""

SURE = 0.9
"""...and lead from here on."""

MANY = 7
"""Clusters from which on cuts lead in place of walks."""


class Leading(NamedTuple):
    """Labels of the runs that lead, and of those that vote beside them."""

    leading: list[NDArray[np.int32]]
    beside: list[NDArray[np.int32]]
    members: list[BaseClustering]
    """Runs on graphs that the labels hang on: those that lead, and others of their kind."""
    remark: str
    """For the user, if those that lead are not walks alone."""


def leading_runs(
    members: list[BaseClustering],
    clouds: list[NDArray[np.int32]],
    within_field_runs: list[NDArray[np.int32]],
    n_clusters: int,
) -> Leading:
    """Tell which kind of runs leads, or that all do; of clouds there may be none.

    Those in the view of contrasts, if there are any, vote beside walks and cuts, which look at the
    same.
    """
    walks = [member for member in members if member.density is not None]
    cuts = [member for member in members if member.density is None]
    # M = K serves better than M = K + 2, whose runs tell how fragile the labels are.
    modest = [walk for walk in walks if walk.extra_eigenpairs == 0] or walks
    on_graphs, hang_on, remark = modest, walks, ""
    if n_clusters >= MANY and len(cuts) > 1:  # one alone, as of a table, would seem to be sure
        on_graphs, hang_on = cuts, cuts
        remark = (
            f"with {MANY} clusters or more some modes tend to be outliers: the labels are what "
            "runs of K-means in diffusion coordinates agree on"
        )
    leading = _labels(on_graphs)
    if not clouds:
        return Leading(leading, [], hang_on, remark)
    sure_walks, sure_clouds = (
        float(consensus_of(runs, n_clusters).confidence.mean())
        for runs in (_labels(modest), clouds)
    )
    weight = sure_clouds + (sure_clouds - sure_walks) / 2
    if weight < UNSURE:
        return Leading(leading, within_field_runs or clouds, hang_on, remark)
    found = f"(mean confidence {sure_clouds:.2f}; of walks {sure_walks:.2f})"
    if weight < SURE:
        short = [walk for walk in modest if walk.remains != REMAINS[-1]]
        return Leading(
            [*_labels(short), *_labels(cuts), *clouds, *within_field_runs],
            [],
            members,
            f"spectra fall into clouds to some degree {found}: the labels are what walks and "
            "K-means, in diffusion coordinates and with a say of each pixel's neighbours, agree on",
        )
    return Leading(
        clouds,
        _labels(modest),
        [],
        f"spectra fall into compact clouds: runs of K-means agree on them {found}, and the labels "
        "are those of K-means with a say of each pixel's neighbours",
    )


def _labels(members: list[BaseClustering]) -> list[NDArray[np.int32]]:
    return [member.labels for member in members]
