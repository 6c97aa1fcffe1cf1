"""Put generated tables into the documentation: ``python docs/refresh.py FOLDER``.

FOLDER is where ``spectrawalk reproduce table`` and ``spectrawalk reproduce readings`` wrote, or
``spectrawalk benchmark --suite``. What lies between the marks of a page is replaced by their files,
word for word.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGES = {"reproduction.md": ("table.md", "readings.md"), "benchmark.md": ("suite.md",)}
"""Generated files of each page."""


def main(folder: Path) -> None:
    """Replace every marked part of the pages whose files are in the folder."""
    found = {
        page: names
        for page, names in PAGES.items()
        if all((folder / name).is_file() for name in names)
    }
    if not found:
        wanted = ", or ".join(" and ".join(names) for names in PAGES.values())
        raise SystemExit(f"'{folder}' has no generated tables; it must hold {wanted}")
    for page, names in found.items():
        refresh(HERE / page, [folder / name for name in names])


def refresh(page: Path, files: list[Path]) -> None:
    """Replace the marked parts of one page by files."""
    text = page.read_text(encoding="utf-8")
    for file in files:
        generated = file.read_text(encoding="utf-8").strip()
        begin, end = f"<!-- begin {file.name} -->", f"<!-- end {file.name} -->"
        parts = re.split(f"{re.escape(begin)}.*?{re.escape(end)}", text, flags=re.DOTALL)
        if len(parts) != 2:
            raise SystemExit(f"{page} must hold '{begin}' and '{end}' once")
        text = f"{begin}\n\n{generated}\n\n{end}".join(parts)
    page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
