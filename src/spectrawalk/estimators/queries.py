"""Active learning: a person names the classes of a few pixels, and all pixels get a class."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spectrawalk.consensus.confidence import overlap_margin
from spectrawalk.consensus.queries import (
    LeafShares,
    choose_pixels,
    fine_runs,
    propagate_labels,
)
from spectrawalk.consensus.tree import ClusterTree
from spectrawalk.errors import ParameterError
from spectrawalk.parameters import check_integer, shown
from spectrawalk.prepare.pixels import Grid

Answers = Mapping[int, int | str | None]
"""Class of each queried pixel, by its flat image index; None if it is not known."""


class QueryMixin:
    """Adds ``query`` and ``refit_with`` to an estimator with a tree of clusters."""

    labels_: NDArray[np.int32]
    n_clusters_: int
    confidence_: NDArray[np.float32]
    classes_: NDArray[Any]
    _mask: NDArray[np.bool_]
    _tree: ClusterTree
    _runs: NDArray[np.uint8]
    _weights: NDArray[np.float64]
    _even_weights: NDArray[np.float64]

    def query(self, budget: int, answers: Answers | None = None) -> NDArray[np.intp]:
        """Choose the pixels whose classes would help most.

        They are in the middle of the parts of the image that represent most pixels. If the class
        of a pixel in `answers` is not known, another pixel of the same leaf of the tree comes
        first. If that is not known either, the leaf is not queried again before all others.

        Parameters
        ----------
        budget : int
            Number of pixels to choose.
        answers : mapping of int to int, str or None, optional
            Answers to earlier queries, as for :meth:`refit_with`. None of these pixels is chosen.

        Returns
        -------
        ndarray of int, shape (at most budget,)
            Flat image indices, the most useful one first.

        Examples
        --------
        >>> from spectrawalk import SpectraWalk
        >>> from spectrawalk.datasets import make_scene
        >>> scene = make_scene((24, 24), n_classes=3, random_state=1)
        >>> model = SpectraWalk(n_clusters=3).fit(scene)
        >>> answers = {pixel: scene.ground_truth.flat[pixel] for pixel in model.query(6)}
        >>> model.refit_with(answers).classes_.tolist(), len(model.query(2, answers))
        ([1, 2, 3], 2)
        """
        check_is_fitted(self)
        budget = check_integer("budget", budget, 1)
        asked = self._places(answers or {})
        known = {place: answer is not None for place, answer in asked.items()}
        found = self._leaf_shares(len(known) + budget)
        chosen = choose_pixels(found, self._mask, budget, known)
        return np.flatnonzero(self._mask)[chosen]

    def refit_with(self, answers: Answers) -> Self:
        """Propagate the classes of some pixels, as from :meth:`query`, to all pixels.

        Parameters
        ----------
        answers : mapping of int to int, str or None
            Class of each queried pixel, by its flat image index. A class is a number or a name.
            None, a negative number and an empty name mean that the class is not known.

        Returns
        -------
        self
            ``classes_`` holds the classes given, ``labels_`` are indices into it, and
            ``n_clusters_`` is their number. The tree and its cuts do not change.
        """
        labels, classes = self.classified(answers)
        grid = Grid(self._mask)
        self.confidence_ = grid.to_image(
            overlap_margin(self._runs, self._even_weights, labels[self._mask]), np.nan
        )
        self.labels_ = labels
        self.classes_ = classes
        self.n_clusters_ = len(classes)
        self._set_verdict()
        return self

    def classified(self, answers: Answers) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Labels and classes of :meth:`refit_with`, without changing the model.

        Returns
        -------
        labels : ndarray of int32, in the image's shape
            Indices into `classes`; -1 where masked.
        classes : ndarray of int or str
        """
        check_is_fitted(self)
        known = {p: each for p, each in self._places(answers).items() if each is not None}
        if not known:
            raise ParameterError(
                "answers cannot be used: no class is known; give classes for the flat indices of "
                "query."
            )
        classes = np.unique(_class_array(list(known.values()))).tolist()
        numbers = {place: classes.index(each) for place, each in known.items()}
        labels = propagate_labels(self._leaf_shares(len(answers)), numbers)
        return Grid(self._mask).to_image(labels, -1), _class_array(classes)

    def _set_verdict(self) -> None:
        """Say in words which numbers of clusters are supported, and what is shown."""
        raise NotImplementedError

    def _forget_classes(self) -> None:
        """Remove what :meth:`refit_with` left, when labels are those of the tree again."""
        vars(self).pop("classes_", None)

    def _leaf_shares(self, n_queries: int) -> LeafShares:
        fine = fine_runs(self._runs, n_queries)
        weights = self._weights[fine] / self._weights[fine].sum()
        return LeafShares.of(self._runs[fine], weights, self._tree.leaf)

    def _places(self, answers: Answers) -> dict[int, int | str | None]:
        """Answers by the number of the pixel among the valid ones; None if not known."""
        given = {_pixel(key): _known(answer) for key, answer in answers.items()}
        pixels = np.fromiter(given, dtype=np.intp, count=len(given))
        inside = (pixels >= 0) & (pixels < self._mask.size)
        inside[inside] = self._mask.ravel()[pixels[inside]]
        if not inside.all():
            raise ParameterError(
                f"answers cannot be used: pixel {pixels[~inside][0]} is masked or outside the "
                "image; give classes for the flat indices of query."
            )
        places = np.searchsorted(np.flatnonzero(self._mask), pixels)
        return dict(zip(places.tolist(), given.values(), strict=True))


def _pixel(key: object) -> int:
    """Flat index of a pixel, from a key of `answers`."""
    try:
        pixel = operator.index(key)  # type: ignore[arg-type]
    except TypeError:
        pixel = None
    if pixel is None or abs(pixel) >= 2**62:
        raise ParameterError(
            f"answers has the key {shown(key)}; use the flat indices of query as keys."
        )
    return pixel


def _known(answer: int | str | None) -> int | str | None:
    """Return the answer, or None if it does not name a class."""
    if answer is None or isinstance(answer, str):
        return answer if answer and answer.strip() else None
    try:
        number = operator.index(answer)
    except TypeError:
        number = 2**63
    if number >= 2**63:
        raise ParameterError(
            f"answers contains {shown(answer)}; give the number or the name of a class, or None."
        )
    return number if number >= 0 else None


def _class_array(classes: Sequence[int | str]) -> NDArray[Any]:
    """Classes as one array, of numbers or of names."""
    if all(isinstance(each, str) for each in classes):
        return np.array(classes, dtype=str)
    if any(isinstance(each, str) for each in classes):
        raise ParameterError(
            "answers mixes numbers and names of classes; give only one of the two."
        )
    return np.array(classes, dtype=np.int64)
