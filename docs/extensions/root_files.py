"""Show the documents of the repository's root as pages of the site.

A page such as docs/design.md is a stub: in a browser of the repository it leads to DESIGN.md, and
on the site it is DESIGN.md. Links between the two folders work in both places.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
PAGES = {
    "design": "DESIGN.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "explorer-routes": "src/spectrawalk/explore/ROUTES.md",
}
"""Pages of the site, and the files that they show."""

OTHERS = {
    "README.md": "index.md",
    "docs/decisions": "decisions/index.md",
    "examples": "gallery/index.rst",
}
"""What a link in the repository may name, and what stands for it on the site."""

_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def show(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a file in place of its stub, and let links to files that are pages lead to these."""
    home = app.env.doc2path(page)
    if page in PAGES:
        home = ROOT / PAGES[page]
        source[0] = home.read_text(encoding="utf-8")
        app.env.note_dependency(str(home), docname=page)
    elif Path(home).suffix != ".md":
        return
    of_file = {(ROOT / file).resolve(): f"{name}.md" for name, file in PAGES.items()}
    of_file |= {ROOT / target: name for target, name in OTHERS.items()}

    def relative(link: re.Match[str]) -> str:
        target = link[2]
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        path = (Path(home).parent / target).resolve()
        shown = DOCS / of_file[path] if path in of_file else path
        here = (DOCS / page).parent
        return f"{link[1]}{Path(os.path.relpath(shown, here)).as_posix()}{link[3]}"

    source[0] = _LINK.sub(relative, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to pages being read."""
    app.connect("source-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
