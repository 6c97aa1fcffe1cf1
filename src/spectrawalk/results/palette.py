"""Colours of clusters and classes: fixed, and told apart by colour-blind readers too.

Cluster c has the same colour on the map, on its spectrum, in every run and for every K. The first
seven colours are the hues of Okabe and Ito (2008) without black, in an order that keeps the two
blues apart and the light yellow last. The others were added one by one: of all sRGB colours on a
grid of step 15 whose Oklab lightness lies between .35 and .85 and whose chroma exceeds .06, the one
farthest in Oklab from all colours before it and from the grey of `NO_DATA`, where the distance of
two colours is the smallest of the three that a reader with normal, deuteranopic or protanopic
vision sees (Machado et al. 2009, full severity). ``tests/test_palette.py`` derives the table again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import ParameterError

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

NO_DATA: Color = (204, 204, 204)
"""Reserved for pixels without data or without ground truth; no cluster is grey."""

UNLIKE: Color = (96, 96, 96)
"""Pixels of a prediction that are unlike any spectrum of the fit; a darker grey than `NO_DATA`."""

_TABLE = np.array(
    [
        # Okabe and Ito
        (0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0),
        (86, 180, 233), (204, 121, 167), (240, 228, 66),
        # farthest from all before
        (105, 30, 0), (75, 30, 120), (0, 0, 255), (120, 75, 90), (90, 135, 255),
        (75, 45, 180), (195, 15, 0), (180, 180, 135), (90, 45, 75), (210, 210, 135),
        (195, 0, 135), (15, 105, 240), (240, 90, 105), (210, 195, 255), (210, 30, 195),
        (255, 120, 210), (0, 105, 30), (0, 105, 135), (240, 195, 0), (150, 90, 90),
        (15, 150, 60), (30, 165, 255), (105, 60, 60), (120, 45, 105), (75, 120, 210),
    ],
    dtype=np.uint8,
)  # fmt: skip
_DARKER = 0.8  # every further round through the table keeps this much of the light


def cluster_colors(n: int) -> NDArray[np.uint8]:
    """Colours of clusters 0 to ``n - 1``.

    Parameters
    ----------
    n : int
        Number of clusters. Beyond the 32 of the table the colours come again, darker in each round.

    Returns
    -------
    ndarray of uint8, shape (n, 3)
        Red, green, blue. ``cluster_colors(n)[:m]`` is ``cluster_colors(m)``.

    Examples
    --------
    >>> from spectrawalk.results.palette import cluster_colors
    >>> cluster_colors(2).tolist()
    [[0, 114, 178], [230, 159, 0]]
    """
    if n < 0:
        raise ParameterError(f"n is {n}; give the number of clusters, 0 or more.")
    rounds, places = np.divmod(np.arange(n), len(_TABLE))
    darkened = _TABLE[places] * _DARKER ** rounds[:, np.newaxis]
    return np.rint(darkened).astype(np.uint8)


def class_colors(
    classes: Iterable[int], matching: Mapping[int, int], n_clusters: int
) -> dict[int, Color]:
    """Colours of ground-truth classes, each the same as that of the cluster matched with it.

    Parameters
    ----------
    classes : iterable of int
        The classes to colour.
    matching : mapping
        Class of each cluster that has one, as in :attr:`spectrawalk.Scores.matching`.
    n_clusters : int
        Number of clusters. Classes without a cluster take the colours that follow theirs.

    Examples
    --------
    >>> from spectrawalk.results.palette import class_colors
    >>> class_colors([2, 5], matching={0: 5}, n_clusters=1)
    {2: (230, 159, 0), 5: (0, 114, 178)}
    """
    cluster_of = {matched: cluster for cluster, matched in matching.items()}
    wanted = list(classes)
    unmatched = [each for each in wanted if each not in cluster_of]
    place = cluster_of | {each: n_clusters + rank for rank, each in enumerate(unmatched)}
    colors = cluster_colors(n_clusters + len(unmatched)).tolist()
    return {each: tuple(colors[place[each]]) for each in wanted}
