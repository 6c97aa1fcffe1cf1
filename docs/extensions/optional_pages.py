"""Drop a page from the table of contents while it does not exist.

The gallery is made from examples/, and some pages come with the commands that they describe.
"""

from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent.parent
OPTIONAL = {
    "gallery/index",
    "completion",
    "qgis",
    "notebooks",
    "family",
    "doctor",
}


def drop_missing(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop the lines of the home page that name a page which does not exist."""
    if page != "index":
        return
    gallery = "sphinx_gallery.gen_gallery" in app.extensions
    missing = {
        name
        for name in OPTIONAL
        if not (gallery if name == "gallery/index" else (DOCS / f"{name}.md").exists())
    }
    kept = [line for line in source[0].splitlines() if line.strip() not in missing]
    source[0] = "\n".join(kept)


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to pages being read."""
    app.connect("source-read", drop_missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
