"""Which runs to trust, by what can be seen without labels: how sure their consensus is.

Where spectra fall into compact clouds, K-means finds them in every view alike, while walks inside
spatial windows may tie unlike neighbours together; elsewhere it is the other way round. Clouds lead
if their runs are sure enough of them, the more so the less sure walks are. The other kind keeps a
small vote on which groups belong together: walks cannot tell for sure that two fields far apart are
of one kind, and clouds of the same contrasts can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.auto.consensus import consensus_of
from spectrawalk.auto.family import Member

SURE = 0.7
"""Clouds lead if their mean confidence, and half of what it is above that of walks, reach this."""


class Trust(NamedTuple):
    """Labels of the runs that lead, and of those that vote beside them."""

    leading: list[NDArray[np.int32]]
    beside: list[NDArray[np.int32]]
    remark: str
    """For the user, if those that lead are not the family's own."""


def trusted_runs(
    members: list[Member],
    clouds: list[NDArray[np.int32]],
    contrast_clouds: list[NDArray[np.int32]],
    n_clusters: int,
) -> Trust:
    """Tell which of the two kinds of runs leads; of clouds there may be none.

    Those in the view of contrasts, if there are any, vote beside walks, which look at the same.
    """
    # M = K serves better than M = K + 2, whose runs tell how fragile the labels are.
    walks = [member.labels for member in members if member.extra_eigenpairs == 0]
    walks = walks or [member.labels for member in members]
    if not clouds:
        return Trust(walks, [], "")
    sure_walks, sure_clouds = (
        float(consensus_of(runs, n_clusters).confidence.mean()) for runs in (walks, clouds)
    )
    if sure_clouds + (sure_clouds - sure_walks) / 2 < SURE:
        return Trust(walks, contrast_clouds or clouds, "")
    return Trust(
        clouds,
        walks,
        "spectra fall into compact clouds: runs of K-means agree on them (mean confidence "
        f"{sure_clouds:.2f}; of walks {sure_walks:.2f}), and the labels are those of K-means with "
        "a say of each pixel's neighbours",
    )
