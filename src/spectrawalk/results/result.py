"""Result: what a run found in a scene, each part computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.results.captions import count, describe_settings
from spectrawalk.results.certainty import Certainty, confidence, mode_margin, prediction_margin
from spectrawalk.results.cluster_map import ClusterMap, Legend, map_of, to_map_grid
from spectrawalk.results.components import first_component
from spectrawalk.results.composite import Picture, color_picture
from spectrawalk.results.model import FittedModel, TreeModel
from spectrawalk.results.remarks import explain_choice, find_doubts
from spectrawalk.results.scores import Scores, score
from spectrawalk.results.spectra import ClusterSpectrum, cluster_spectra, spectral_spread
from spectrawalk.scene import Scene

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from matplotlib.figure import Figure
    from xarray import Dataset


class Thinned(NamedTuple):
    """The image of which a scene holds one pixel of each cell."""

    shape: tuple[int, int]
    n_valid: int
    cell: int
    """Side of a cell in pixels."""


@dataclass(frozen=True, eq=False)
class Result:
    """The clusters of a scene, and what map, report, record and terminal show of them.

    Attributes
    ----------
    scene : Scene
        The image that was clustered or labelled.
    labels : ndarray of int, shape (rows, cols)
        Cluster of each pixel, 0..K-1; -1 where there is none.
    n_clusters : int
        K. In a prediction some clusters may have no pixel.
    model : SpectraWalk, SRDL, DLSS or DL
        The fit. Of a prediction it is the fit of another scene.
    predicted : bool
        Whether the labels were predicted from a fit of another scene.
    predicted_margin : ndarray of shape (rows, cols), optional
        Margin that came with predicted labels.
    legend : Legend, optional
        Names and colours of the clusters, where a person gave them.
    edited_confidence : ndarray of shape (rows, cols), optional
        Confidence of labels that a person changed; without it, that of the model.
    thinned : Thinned, optional
        Given if the scene stands for a larger one, which is not in memory.

    Examples
    --------
    >>> from spectrawalk import SRDL
    >>> from spectrawalk.datasets import make_scene
    >>> scene = make_scene((20, 20), n_bands=10, n_classes=2, random_state=0)
    >>> result = Result.of_fit(scene, SRDL(n_clusters=2, n_neighbors=20).fit(scene))
    >>> int(result.sizes.sum()), len(result.spectra), result.margin.shape
    (400, 2, (20, 20))
    """

    scene: Scene
    labels: NDArray[np.integer]
    n_clusters: int
    model: FittedModel | TreeModel
    predicted: bool = False
    predicted_margin: NDArray[np.floating] | None = None
    legend: Legend | None = None
    edited_confidence: NDArray[np.floating] | None = None
    thinned: Thinned | None = None

    @classmethod
    def of_fit(cls, scene: Scene, model: FittedModel | TreeModel) -> Result:
        """Result of a model fitted to this scene."""
        return cls(scene, model.labels_, model.n_clusters_, model)

    @classmethod
    def of_prediction(
        cls,
        scene: Scene,
        model: FittedModel | TreeModel,
        labels: NDArray[np.integer],
        margin: NDArray[np.floating],
    ) -> Result:
        """Labels that a model fitted to another scene gave this one."""
        return cls(scene, labels, model.n_clusters_, model, True, margin)

    @property
    def image(self) -> Thinned:
        """Shape and valid pixels of the image that was clustered."""
        return self.thinned or Thinned(self.scene.shape, self.scene.n_valid, 1)

    @property
    def method(self) -> str:
        """Name of the method."""
        return type(self.model).__name__

    @property
    def settings(self) -> str:
        """Method and parameters in one line."""
        return describe_settings(self.model)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Pixels of each cluster in the scene, shape (K,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)

    @cached_property
    def unlike(self) -> NDArray[np.bool_]:
        """Valid pixels that are unlike any spectrum of the fit; none but in a prediction."""
        return self.scene.mask & (self.labels < 0) & self.predicted

    @property
    def entries(self) -> NDArray[np.integer]:
        """Entry of the legend of each pixel: its cluster, or K where it is unlike the fit."""
        return np.where(self.unlike, self.n_clusters, self.labels)

    @cached_property
    def map(self) -> ClusterMap:
        """Labels on the map's grid, with names, colours, counts and areas."""
        has_unlike = bool(self.unlike.any())
        return map_of(
            self.scene,
            self.entries,
            self.n_clusters,
            has_unlike=has_unlike,
            legend=self.legend,
        )

    def entry_name(self, entry: int) -> str:
        """Name of an entry of the legend in a table: a cluster's number, and its name if given."""
        if entry >= self.n_clusters:
            return self.map.names[entry]
        number = str(entry + 1)
        return number if self.legend is None else f"{number} {self.legend.names[entry]}"

    @cached_property
    def spectra(self) -> list[ClusterSpectrum]:
        """Mean and standard deviation of each cluster's spectra; NaN for one without pixels."""
        return cluster_spectra(self.scene, self.labels, self.n_clusters)

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Spectral angle to the mean spectrum that 95 % of a cluster's pixels do not exceed, (K,).

        In radians; NaN for a cluster without pixels. A library spectrum within it is a good match.
        """
        return spectral_spread(self.scene, self.labels, self.spectra)

    @cached_property
    def certainty(self) -> Certainty:
        """How certain each label is: a confidence (fits of SpectraWalk) or a margin (others)."""
        if self.predicted_margin is not None:
            return prediction_margin(self.predicted_margin)
        if self.edited_confidence is not None:
            return confidence(self.edited_confidence)
        if isinstance(self.model, TreeModel):
            return confidence(self.model.confidence_)
        return mode_margin(self.model.coordinates_, self.model.modes_)

    @property
    def confidence(self) -> NDArray[np.floating]:
        """Agreement of the runs of SpectraWalk on each label, 0 to 1, shape (rows, cols).

        NaN where masked. Only a fit of SpectraWalk has it; other labels have a ``margin``.
        """
        return self._certainty_called("confidence")

    @property
    def margin(self) -> NDArray[np.floating]:
        """How much nearer each pixel is to its cluster than to the next, 0 to 1, (rows, cols).

        NaN where masked. Labels of a single run have it, by distances to the modes, and predicted
        ones, by distances to the spectra of the fit. A fit of SpectraWalk has a ``confidence``.
        """
        return self._certainty_called("margin")

    def _certainty_called(self, name: str) -> NDArray[np.floating]:
        if self.certainty.name != name:
            found = "a prediction" if self.predicted else f"a fit of {self.method}"
            other = self.certainty.name
            raise AttributeError(f"{found} has no {name} but a {other}; use `result.{other}`.")
        return self.certainty.image

    @cached_property
    def certainty_on_map(self) -> NDArray[np.floating]:
        """Confidence or margin on the map's grid."""
        return to_map_grid(self.scene, self.certainty.image, np.nan)

    @cached_property
    def mean_certainty(self) -> NDArray[np.float64]:
        """Mean confidence or margin of each cluster over the map, shape (K,); 0 without pixels."""
        labels = self.map.labels
        known = (labels >= 0) & (labels < self.n_clusters)
        sums = np.bincount(labels[known], self.certainty_on_map[known], minlength=self.n_clusters)
        return sums / np.maximum(self.map.counts[: self.n_clusters], 1)

    @cached_property
    def first_component(self) -> NDArray[np.float64]:
        """First principal component of the scene, shape (rows, cols); NaN where masked."""
        return first_component(self.scene)

    @cached_property
    def color_picture(self) -> Picture:
        """The scene in true or false colours, with a name and a caption."""
        return color_picture(self.scene)

    @cached_property
    def scores(self) -> Scores | None:
        """Agreement with the ground truth; None where there is none."""
        truth = self.scene.ground_truth
        if truth is None or not np.any((truth > 0) & (self.labels >= 0)):
            return None
        return score(truth, self.labels)

    @property
    def matched_classes(self) -> list[str | None]:
        """Name of the class matched with each cluster; None without a match."""
        matching = {} if self.scores is None else self.scores.matching
        return [
            self.scene.class_name(matching[cluster]) if cluster in matching else None
            for cluster in range(self.n_clusters)
        ]

    @cached_property
    def choice(self) -> str:
        """How the number of clusters was chosen; empty if it was given, or in a prediction."""
        return "" if self.predicted else explain_choice(self.model)

    @cached_property
    def doubts(self) -> list[str]:
        """What is worth a second look."""
        return [] if self.predicted else find_doubts(self.model, self.sizes)

    def plot(self) -> Figure:
        """Draw maps and spectra on one page; needs the ``figures`` extra.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it. ``figure.savefig("overview.png")`` writes it to a file.

        Examples
        --------
        >>> from spectrawalk import SRDL
        >>> from spectrawalk.datasets import make_scene
        >>> scene = make_scene((20, 20), n_bands=10, n_classes=2, random_state=0)
        >>> result = Result.of_fit(scene, SRDL(n_clusters=2, n_neighbors=20).fit(scene))
        >>> len(result.plot().axes)
        6
        """
        from spectrawalk.report.figures import overview

        return overview(self)

    def to_xarray(self) -> Dataset:
        """Labels and their certainty as a Dataset of xarray; needs the ``xarray`` extra.

        Returns
        -------
        xarray.Dataset
            ``labels`` (clusters from 0, -1 where there is none) and ``confidence`` or ``margin``,
            with the dimensions ``y`` and ``x`` of the map, the coordinates of the pixels' centres
            and the CRS in ``spatial_ref``, where rioxarray looks for it.
        """
        from spectrawalk.io.xarray_result import dataset_of

        return dataset_of(self)

    def to_geodataframe(self) -> GeoDataFrame:
        """Clusters as polygons, one row each; needs the ``vector`` extra.

        Returns
        -------
        geopandas.GeoDataFrame
            ``cluster`` (from 1, as in the map for QGIS), ``name``, ``color``, ``pixels``,
            ``area_m2`` (NaN where the map has no ground units) and the geometry along the edges of
            the pixels. A cluster without a pixel has no row.
        """
        from spectrawalk.io.cluster_polygons import polygons_of

        return polygons_of(self)

    def __repr__(self) -> str:
        how = " prediction" if self.predicted else ""
        size = f"{count(self.n_clusters, 'cluster')}, {count(int(self.sizes.sum()), 'pixel')}"
        return f"Result of {self.scene.name!r} ({self.method}{how}, {size})"

    def _repr_html_(self) -> str:
        from spectrawalk.report.notebook import result_html

        return result_html(self)
