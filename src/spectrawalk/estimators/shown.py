"""Fitted models in a notebook."""

from __future__ import annotations

from typing import Any


class ShownMixin:
    """Shows a fitted model by its clusters; before a fit, as scikit-learn shows any estimator.

    scikit-learn's ``set_config(display="text")`` turns both off.
    """

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "labels_"):
            return str(super()._repr_html_inner())  # type: ignore[misc]
        from spectrawalk.report.notebook import model_html

        return model_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
