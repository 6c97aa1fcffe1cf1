"""Draw which part of the package imports which: ``python docs/layers.py`` writes docs/layers.svg.

The order of the layers and the exceptions are read from the contract in pyproject.toml, the
imports from the source, and the text in each box is the first line of that part's docstring. The
legend below the boxes explains the marks.
"""

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import grimp

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "spectrawalk"
PICTURE = ROOT / "docs" / "layers.svg"

# In pixels. Fonts differ between browsers, so widths leave some room.
ROW, GAP, MARGIN, CELL, HEAD = 46, 6, 16, 26, 104
LETTER = 6.5  # width of a letter of the small text
PAPER, BOX, LINE, EDGE = "#ffffff", "#eef3f8", "#dde5ee", "#9fb3c8"
INK, SOFT, MARK = "#1f2933", "#52606d", "#2f6db0"
LEGEND = (
    "Filled: the part in the row imports the part in the column. Boxes that touch share a layer; "
    "neither imports the other.",
    "Open: the import is inside a function, an exception that pyproject.toml names.",
)


@dataclass(frozen=True)
class Part:
    """One part of the package: a box in the picture."""

    name: str
    text: str
    modules: tuple[str, ...]  # several for the foundation


def contract() -> tuple[list[list[str]], set[tuple[str, str]]]:
    """Give the layers from top to bottom and the pairs of modules that are exceptions."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    found = next(each for each in contracts if each["id"] == "layers")
    layers = [[name.strip(" ()") for name in re.split("[|:]", line)] for line in found["layers"]]
    pairs = {tuple(line.split(" -> ")) for line in found["ignore_imports"]}
    return layers, pairs


def first_line(name: str) -> str:
    """Give the first line of the docstring of a package or module, without its full stop."""
    path = PACKAGE / name / "__init__.py"
    tree = ast.parse((path if path.exists() else PACKAGE / f"{name}.py").read_text("utf-8"))
    return (ast.get_docstring(tree) or "").split("\n")[0].rstrip(".")


def parts_of(layers: list[list[str]]) -> list[list[Part]]:
    """Give the parts that exist, layer by layer; plain modules share one box, the foundation."""
    rows = []
    for names in layers:
        packages = [name for name in names if (PACKAGE / name / "__init__.py").exists()]
        modules = [name for name in names if (PACKAGE / f"{name}.py").exists()]
        row = [Part(name, first_line(name), (name,)) for name in packages]
        if modules:
            row.append(Part("foundation", ", ".join(modules), tuple(modules)))
        if row:
            rows.append(row)
    return rows


def imports_between(
    parts: list[Part], exceptions: set[tuple[str, str]]
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Give the pairs (importer, imported) of parts, and those that are there by exception alone."""
    graph = grimp.build_graph("spectrawalk", cache_dir=None)
    home = {f"spectrawalk.{module}": part.name for part in parts for module in part.modules}
    plain, by_exception = set(), set()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            ends = [home.get(".".join(name.split(".")[:2])) for name in (importer, imported)]
            if None not in ends and ends[0] != ends[1]:
                kind = by_exception if (importer, imported) in exceptions else plain
                kind.add((ends[0], ends[1]))
    return plain, by_exception - plain


def text(x: float, y: float, words: str, size: int, colour: str, more: str = "") -> str:
    """Give one line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{more}>{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, part: Part, touching: bool) -> list[str]:
    """Give the box of one part, which reaches down to the next if both are in one layer."""
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{ROW if touching else ROW - GAP}" '
        f'rx="4" fill="{BOX}" stroke="{EDGE}"/>',
        text(x + 10, y + 16, part.name, 14, INK, ' font-weight="bold"'),
        text(x + 10, y + 33, part.text, 12, SOFT),
    ]


def mark(x: float, y: float, importer: str, imported: str, exception: bool) -> str:
    """Give the square of one import, with its names for whoever points at it."""
    side = CELL - 12
    fill = PAPER if exception else MARK
    why = ", as a named exception" if exception else ""
    return (
        f'<rect x="{x + 6:g}" y="{y + (ROW - GAP - side) / 2:g}" width="{side}" height="{side}" '
        f'fill="{fill}" stroke="{MARK}" stroke-width="1.5">'
        f"<title>{importer} imports {imported}{why}</title></rect>"
    )


def grid(left: float, parts: list[Part]) -> list[str]:
    """Give the names over the columns, the lines that lead the eye, and the diagonal."""
    lines, end = [], len(parts)
    for index, part in enumerate(parts):
        x, y = left + CELL * (index + 0.5), HEAD + ROW * index + (ROW - GAP) / 2
        turn = f' transform="rotate(-50 {x:g} {HEAD - 8})"'
        lines.append(text(x, HEAD - 8, part.name, 12, INK, turn))
        lines.append(f'<path d="M{left:g} {y:g}H{left + CELL * end:g}" stroke="{LINE}"/>')
        lines.append(f'<path d="M{x:g} {HEAD}V{HEAD + ROW * end - GAP}" stroke="{LINE}"/>')
    for index in range(end):
        lines.append(
            f'<rect x="{left + CELL * index:g}" y="{HEAD + ROW * index}" width="{CELL}" '
            f'height="{ROW - GAP}" fill="{LINE}"/>'
        )
    return lines


def picture() -> str:
    """Give the whole picture as SVG."""
    layers, exceptions = contract()
    rows = parts_of(layers)
    parts = [part for row in rows for part in row]
    place = {part.name: index for index, part in enumerate(parts)}
    width = max(len(part.text) for part in parts) * LETTER + 20
    left, bottom = MARGIN + width + 12, HEAD + ROW * len(parts)
    whole = f"{left + CELL * len(parts) + HEAD / 3 + MARGIN:g}", f"{bottom + 48:g}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]} {whole[1]}" '
        f'width="{whole[0]}" height="{whole[1]}" font-family="Helvetica, Arial, sans-serif">',
        "<title>Which part of spectrawalk imports which</title>",
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        *grid(left, parts),
    ]
    for row in rows:
        for part in row:
            y = HEAD + ROW * place[part.name]
            lines += box(MARGIN, y, width, part, touching=part is not row[-1])
    plain, by_exception = imports_between(parts, exceptions)
    for importer, imported in sorted(
        plain | by_exception, key=lambda pair: [place[p] for p in pair]
    ):
        x, y = left + CELL * place[imported], HEAD + ROW * place[importer]
        lines.append(mark(x, y, importer, imported, (importer, imported) in by_exception))
    lines += [text(MARGIN, bottom + 14 + 18 * n, line, 12, SOFT) for n, line in enumerate(LEGEND)]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8", newline="\n")
