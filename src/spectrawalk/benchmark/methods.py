"""Every method of the suite: how its parameters are set, and what ground truth had to do with it.

A row of the suite is **label-free** if the method has one setting for all scenes, and no label is
used while it runs (but for the number of classes where K is given). It is **chosen with ground
truth** if its setting is the best of several on this scene by overall accuracy. The two are never
in one ranking. ``METHODS`` tells for each method how it is set, and also whether its one setting
was chosen by people who saw scores on some of these scenes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spectrawalk.baselines import method_names
from spectrawalk.errors import ParameterError
from spectrawalk.estimators.presets import PAPER_SCENES
from spectrawalk.paper.published import method_title
from spectrawalk.paper.settings import paper_settings

DEFAULT = "spectrawalk"
"""The method of ``spectrawalk cluster``."""

GIVEN, FOUND = "K given", "K found"
"""Ways to set K: as many clusters as there are classes, or found by the method."""

LABEL_FREE, CHOSEN = "label-free", "chosen with ground truth"
"""What ground truth has to do with the parameters of a row."""


@dataclass(frozen=True)
class Method:
    """A method of the suite.

    Attributes
    ----------
    name, title : str
        In tables, and for people.
    settings : str
        How its parameters are set, in words.
    seen : str
        What of its one setting was chosen with a look at scores on scenes of the suite.
    given : str or None
        Its estimator where K is given, as ``"module:name"``; empty: from the registry; None: it
        takes no K.
    found : str or None
        Its estimator where K is found; None: it needs K.
    """

    name: str
    title: str
    settings: str
    seen: str = ""
    given: str | None = ""
    found: str | None = None

    def factory(self, way: str) -> str | None:
        """Estimator for a way to set K; None if the method cannot be used so."""
        return self.given if way == GIVEN else self.found

    def parameters(self, way: str, n_classes: int) -> dict[str, Any]:
        """Parameters for a way to set K."""
        if way == GIVEN:
            return {"n_clusters": n_classes}
        return {"n_clusters": "auto"} if self._takes_auto else {}

    @property
    def _takes_auto(self) -> bool:
        return (self.found or "").startswith("spectrawalk.estimators:")


_INPUT = "scaling of the input: by the paper's scores on Indian Pines subset"


def _own(name: str) -> str:
    return f"spectrawalk.baselines.own_number:{name}"


def _estimator(name: str) -> str:
    return f"spectrawalk.estimators:{name}"


def _baseline(name: str, settings: str, seen: str = _INPUT, **further: Any) -> Method:
    return Method(name, method_title(name), settings, seen, **further)


METHODS = (
    Method(
        DEFAULT, method_title(DEFAULT),
        "no parameters; K from the support of the splits of its tree",
        "design and constants: by scores on parts of Indian Pines, Salinas A and Samson, and on "
        "these scenes", given=_estimator("SpectraWalk"), found=_estimator("SpectraWalk"),
    ),
    _baseline("srdl", "defaults: radius 8, 100 neighbours, time 30",
        "defaults near the paper's settings, which it chose with ground truth",
        found=_estimator("SRDL")),
    _baseline("dlss", "defaults: 100 neighbours, time 30",
        "defaults near the paper's settings, which it chose with ground truth",
        found=_estimator("DLSS")),
    _baseline("dl", "defaults: 100 neighbours, time 30",
        "defaults near the paper's settings, which it chose with ground truth",
        found=_estimator("DL")),
    _baseline("msrdl", "SRDL's defaults at times 1, 2, 4, ...; the clustering nearest to all",
        "as SRDL", found=_estimator("MSRDL")),
    _baseline("dvic", "SRDL's defaults without a radius; number of endmembers by HySime", "as DL",
        found=_estimator("DVIC")),
    _baseline("s2dl", "superpixels of 20 pixels, 10 representatives each",
        "size of superpixels: by scores on these five scenes", found=_estimator("S2DL")),
    _baseline("k-means", "10 starts"),
    _baseline("pca", "K-means on principal components"),
    _baseline("ica", "K-means on independent components"),
    _baseline("rp", "K-means on a random projection"),
    _baseline("gmm", "Gaussian mixture with full covariances"),
    _baseline("sc", "spectral clustering of the graph of nearest spectra"),
    _baseline("smce", "sparse manifold clustering and embedding"),
    _baseline("hnmf", "hierarchical non-negative matrix factorisation"),
    _baseline("fms", "Mumford-Shah segmentation on the graph of all spectra"),
    _baseline("fsfdpc", "density peaks, cut-off distance as its authors recommend"),
    _baseline("dbscan", "K given: smallest radius that gives K; K found: radius at the knee of the "
        "sorted distances to the 20th spectrum", found=_own("OwnDBSCAN")),
    _baseline("hdbscan", "K given: smallest cluster that gives K; K found: 20 pixels", "",
        found=_own("OwnHDBSCAN")),
    _baseline("leiden", "K given: resolution that gives K; K found: resolution 1", "",
        found=_own("OwnLeiden")),
    _baseline("superpixels", "superpixels of 20 pixels",
        "size of superpixels: by S2DL's scores on these five scenes"),
    Method("mean-shift", method_title("mean-shift"),
        "bandwidth as scikit-learn estimates it", given=None,
        found=_own("OwnMeanShift")),
)  # fmt: skip
"""The methods, each with what its label-free row stands for."""

_RADII = (4, 6, 12, 16, 20)  # and 8, the default
CANDIDATES: dict[str, tuple[dict[str, Any], ...]] = {
    "srdl": tuple({"radius": radius} for radius in _RADII),
    "dlss": tuple({"n_eigenpairs": pairs} for pairs in (6, 10, 20)),
    "dl": tuple({"n_eigenpairs": pairs} for pairs in (6, 10, 20)),
    "msrdl": tuple({"radius": radius} for radius in _RADII),
    "dvic": tuple({"n_endmembers": number} for number in (3, 5, 10, 20)),
    "s2dl": (
        *({"radius": radius, "n_neighbors": near} for radius in (8, 20) for near in (50, 100)),
        {"n_neighbors": 50},
        {"n_representatives": 5},
    ),
}
"""Settings from which an oracle chooses the best with ground truth, where the papers did so."""


def candidates(method: str, scene: str) -> list[dict[str, Any]]:
    """Settings to choose from with ground truth: the defaults, a grid, and the paper's settings.

    Examples
    --------
    >>> len(candidates("srdl", "samson")), len(candidates("srdl", "salinas-a"))
    (6, 7)
    """
    found: list[dict[str, Any]] = [{}, *CANDIDATES.get(method, ())]
    if scene in PAPER_SCENES and method in paper_settings(scene):
        settings = paper_settings(scene)[method]
        del settings["n_clusters"], settings["random_state"]
        found.append(settings)
    return found


def choose(names: str) -> list[Method]:
    """Parse a comma-separated list of methods of the suite, or ``all``.

    Methods that a user registered are among them.

    Examples
    --------
    >>> [method.title for method in choose("spectrawalk,k-means")]
    ['SpectraWalk', 'K-means']
    """
    known = {method.name: method for method in METHODS}
    for name in method_names():
        known.setdefault(name, Method(name, name, "as registered", "not known"))
    if names.strip() == "all":
        return list(known.values())
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        found = ", ".join(map(repr, unknown)) or repr(names)
        raise ParameterError(
            f"method {found} is not known; choose all, or from {', '.join(known)}."
        )
    return [known[name] for name in wanted]
