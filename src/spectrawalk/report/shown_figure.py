"""A figure of matplotlib that a notebook shows by itself, without pyplot or ``%matplotlib``."""

from __future__ import annotations

import base64
from io import BytesIO

from matplotlib.figure import Figure

_DPI = 90


class ShownFigure(Figure):
    """A figure with a picture for notebooks and for galleries of examples."""

    def _repr_html_(self) -> str:
        file = BytesIO()
        self.savefig(file, format="png", dpi=_DPI)
        address = base64.b64encode(file.getvalue()).decode("ascii")
        style = "max-width:100%;background:#fff"
        return f'<img alt="figure" style="{style}" src="data:image/png;base64,{address}">'
