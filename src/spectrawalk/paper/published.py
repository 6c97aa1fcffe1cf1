"""Figures that the paper printed: its table, its radii, its methods and scenes."""

from __future__ import annotations

from typing import NamedTuple


class Accuracy(NamedTuple):
    """Overall accuracy, average accuracy and Cohen's kappa."""

    oa: float
    aa: float
    kappa: float


METHOD_TITLES = {
    "k-means": "K-means",
    "pca": "PCA + K-means",
    "ica": "ICA + K-means",
    "rp": "RP + K-means",
    "dbscan": "DBSCAN",
    "sc": "SC",
    "gmm": "GMM",
    "smce": "SMCE",
    "hnmf": "HNMF",
    "fms": "FMS",
    "fsfdpc": "FSFDPC",
    "dl": "DL",
    "dlss": "DLSS",
    "srdl": "SRDL",
}
"""The paper's fourteen methods, in the order of its table."""

LATER_TITLES = {
    "spectrawalk": "SpectraWalk",
    "msrdl": "M-SRDL",
    "dvic": "D-VIC",
    "s2dl": "S2DL",
    "hdbscan": "HDBSCAN",
    "leiden": "Leiden",
    "superpixels": "Superpixels + K-means",
    "mean-shift": "Mean shift",
}
"""Methods of this package that the paper does not have."""

SCENE_TITLES = {
    "indian-pines-subset": "Indian Pines subset",
    "salinas-a": "Salinas A",
    "ksc-subset": "Kennedy Space Center subset",
}
"""The paper's three scenes."""

LATER_SCENE_TITLES = {
    "samson": "Samson",
    "indian-pines": "Indian Pines",
    "ksc-labelled": "Kennedy Space Center, labelled pixels",
    "enmap-potsdam-north": "Potsdam north (EnMAP)",
}
"""Published scenes that the paper does not have."""

METRES_PER_PIXEL = {"indian-pines-subset": 20.0, "salinas-a": 3.7, "ksc-subset": 18.0}

RADIUS = {"indian-pines-subset": 8, "salinas-a": 20, "ksc-subset": 20}
"""Radius of SRDL in the paper, in pixels."""

# Indian Pines, Salinas A, Kennedy Space Center: OA, AA and kappa of each.
_TABLE = {
    "k-means": (0.43, 0.38, 0.09, 0.63, 0.66, 0.52, 0.36, 0.25, 0.01),
    "pca": (0.43, 0.38, 0.10, 0.63, 0.66, 0.52, 0.36, 0.25, 0.01),
    "ica": (0.41, 0.36, 0.06, 0.57, 0.56, 0.44, 0.36, 0.25, 0.01),
    "rp": (0.51, 0.51, 0.26, 0.63, 0.66, 0.53, 0.60, 0.50, 0.43),
    "dbscan": (0.63, 0.62, 0.43, 0.71, 0.71, 0.63, 0.36, 0.25, 0.01),
    "sc": (0.54, 0.45, 0.24, 0.83, 0.88, 0.80, 0.62, 0.52, 0.44),
    "gmm": (0.44, 0.35, 0.02, 0.64, 0.61, 0.55, 0.42, 0.31, 0.10),
    "smce": (0.52, 0.45, 0.22, 0.47, 0.42, 0.30, 0.36, 0.26, 0.01),
    "hnmf": (0.41, 0.32, -0.02, 0.63, 0.66, 0.53, 0.36, 0.25, 0.00),
    "fms": (0.57, 0.50, 0.27, 0.70, 0.81, 0.65, 0.74, 0.70, 0.65),
    "fsfdpc": (0.58, 0.51, 0.26, 0.63, 0.61, 0.54, 0.36, 0.25, 0.00),
    "dl": (0.67, 0.62, 0.44, 0.83, 0.88, 0.79, 0.81, 0.72, 0.74),
    "dlss": (0.85, 0.82, 0.75, 0.85, 0.90, 0.81, 0.83, 0.73, 0.76),
    "srdl": (0.89, 0.92, 0.83, 0.90, 0.93, 0.87, 0.85, 0.75, 0.79),
}

PUBLISHED = {
    (method, scene): Accuracy(*row[3 * place : 3 * place + 3])
    for method, row in _TABLE.items()
    for place, scene in enumerate(SCENE_TITLES)
}
"""The paper's accuracy of each (method, scene)."""


def method_title(method: str) -> str:
    """Name of a method in tables and figures; registered methods keep their name.

    Examples
    --------
    >>> method_title("pca"), method_title("mine")
    ('PCA + K-means', 'mine')
    """
    return (METHOD_TITLES | LATER_TITLES).get(method, method)


def scene_title(scene: str) -> str:
    """Name of a scene in tables and figures.

    Examples
    --------
    >>> scene_title("salinas-a"), scene_title("my field")
    ('Salinas A', 'my field')
    """
    return (SCENE_TITLES | LATER_SCENE_TITLES).get(scene, scene)
