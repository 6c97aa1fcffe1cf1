"""Put the generated tables into the documentation: ``python docs/refresh.py FOLDER``.

FOLDER is where ``spectrawalk reproduce table`` and ``spectrawalk reproduce readings`` wrote. What
lies between the marks in reproduction.md is replaced by their files, word for word.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "reproduction.md"


def main(folder: Path) -> None:
    """Replace every marked part of the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name in ("table.md", "readings.md"):
        generated = (folder / name).read_text(encoding="utf-8").strip()
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        parts = re.split(f"{re.escape(begin)}.*?{re.escape(end)}", text, flags=re.DOTALL)
        if len(parts) != 2:
            raise SystemExit(f"{PAGE} must hold '{begin}' and '{end}' once")
        text = f"{begin}\n\n{generated}\n\n{end}".join(parts)
    PAGE.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
