"""Find the figures of an example: those of pyplot, and those that a function of ours returned."""

from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_DPI = 110


def new_figures(block: tuple[Any, ...], variables: dict[str, Any], conf: dict[str, Any]) -> str:
    """Save the figures that the last block of an example made, and give the text showing them."""
    names = variables["example_globals"]
    found = [pyplot.figure(number) for number in pyplot.get_fignums()]
    found += [value for value in names.values() if isinstance(value, Figure)]
    paths = []
    for figure in found:
        if not getattr(figure, "_in_gallery", False):
            figure._in_gallery = True
            path = Path(next(variables["image_path_iterator"]))
            figure.savefig(path, dpi=_DPI)
            paths.append(str(path))
    pyplot.close("all")
    return figure_rst(paths, conf["src_dir"])
