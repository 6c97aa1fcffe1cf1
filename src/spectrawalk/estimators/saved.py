"""Fitted models that are kept: through a fit that fails, and in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spectrawalk.errors import FileError, SpectrawalkError


@contextmanager
def unchanged_on_failure(model: BaseEstimator) -> Iterator[None]:
    """If the block fails, restore the attributes of `model`, so that it never mixes two fits."""
    before = vars(model).copy()
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


class SavedMixin:
    """Adds ``save`` and ``load`` to an estimator."""

    _FITTED: ClassVar[tuple[str, ...]]
    """Attributes of a fitted model that are saved."""
    _ARRAY: ClassVar[str]
    """Saved array that no model of another kind has."""

    wavelengths_: NDArray[np.float64] | None
    feature_names_in_: NDArray[Any]

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one ``.npz`` file, which :func:`spectrawalk.load` reads.

        For a subclass of your own, use the ``load`` method of the subclass.
        """
        from spectrawalk.io.model_file import write_model

        check_is_fitted(self)
        self._check_parameters()
        parameters = self.get_params()  # type: ignore[attr-defined]
        write_model(path, type(self).__name__, parameters, self._fitted_arrays())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model of this class that :meth:`save` wrote."""
        return read_saved(path, (cls,))

    def _check_parameters(self) -> Any:
        """Raise an error for invalid parameters."""
        raise NotImplementedError

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """All fitted attributes, as arrays."""
        values = {name: getattr(self, name, None) for name in self._FITTED}
        arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
        if "feature_names_in_" in arrays:  # an array of objects needs pickle
            arrays["feature_names_in_"] = arrays["feature_names_in_"].astype(str)
        return arrays

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the arrays of :meth:`_fitted_arrays`."""
        for name in set(self._FITTED) & set(arrays):
            array = arrays[name]
            setattr(self, name, array if array.ndim else array.item())
        if "feature_names_in_" in arrays:
            self.feature_names_in_ = arrays["feature_names_in_"].astype(object)
        self.wavelengths_ = arrays.get("wavelengths_")


def read_saved(path: str | Path, kinds: tuple[type[Any], ...]) -> Any:
    """Read a fitted model of one of these classes."""
    from spectrawalk.io.model_file import read_model

    saved = read_model(path)
    by_name = {kind.__name__: kind for kind in kinds}
    if saved.kind not in by_name:
        raise FileError(
            f"'{path}' holds a {saved.kind} model, not {' or '.join(by_name)}; "
            f"use {saved.kind}.load."
        )
    kind = by_name[saved.kind]
    unknown = sorted(set(saved.parameters) - set(kind._get_param_names()))
    if unknown:
        raise FileError(
            f"'{path}' is damaged: {saved.kind} has no parameter {', '.join(unknown)}; "
            "save the model again."
        )
    model = kind(**saved.parameters)
    try:
        if kind._ARRAY not in saved.arrays:
            raise FileError("it holds the arrays of another method; save the model again.")
        model._check_parameters()
        model._restore(saved.arrays)
    except SpectrawalkError as error:
        raise FileError(f"'{path}' is damaged: {error}") from None
    return model
