"""Which runs to trust, by what can be seen without labels: their agreement from view to view.

Where spectra fall into compact clouds, K-means finds them in every view alike, while walks inside
spatial windows may tie unlike neighbours together; elsewhere it is the other way round. The kind of
clustering that says the same thing in every view is the one to believe.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectrawalk.auto.agreement import agreement_across
from spectrawalk.auto.clouds import Cloud
from spectrawalk.auto.family import Member

CLEAR = 0.77
"""Agreement between views from which on clouds may be believed rather than walks."""


def trusted_runs(members: list[Member], clouds: list[Cloud]) -> tuple[list[NDArray[np.int32]], str]:
    """Labels of the runs to combine, and a remark if they are not the family's own."""
    across = agreement_across(members, "view")
    within = agreement_across(clouds, "view")
    if across is None or within is None or within < max(CLEAR, across):
        # M = K serves better than M = K + 2, whose runs tell how fragile the labels are.
        return [member.labels for member in members if member.extra_eigenpairs == 0], ""
    return [cloud.labels for cloud in clouds], (
        f"spectra fall into compact clouds, which K-means finds in every view alike (agreement "
        f"{within:.2f}), while walks agree to {across:.2f}: the labels are those of K-means with a "
        "say of each pixel's neighbours"
    )
