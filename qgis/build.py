"""Pack the QGIS plugin: ``python qgis/build.py`` writes dist/spectrawalk-qgis-VERSION.zip.

The zip has the same bytes wherever it is made. QGIS installs it with Plugins > Manage and Install
Plugins > Install from ZIP.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import tomllib

from spectrawalk.io.atomic import atomic_path

HERE = Path(__file__).parent
ROOT = HERE.parent
PLUGIN = HERE / "spectrawalk_qgis"
KINDS = {".py", ".svg", ".txt"}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip knows


def main(folder: Path) -> Path:
    """Write the zip to a folder, and return its path."""
    version = project()["version"]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"spectrawalk-qgis-{version}.zip"
    with atomic_path(target) as temporary, zipfile.ZipFile(temporary, "w") as packed:
        for name, content in sorted(contents().items()):
            entry = zipfile.ZipInfo(f"{PLUGIN.name}/{name}", _LONG_AGO)
            entry.create_system = 3  # Unix, on Windows too
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, content)  # not compressed: zlib's bytes differ between versions
    return target


def contents() -> dict[str, bytes]:
    """Files of the plugin: its own, and the licence."""
    files = {path.name: path.read_bytes() for path in PLUGIN.iterdir() if path.suffix in KINDS}
    return files | {
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        "metadata.txt": metadata().encode(),
    }


def metadata() -> str:
    """Fill in what the project's file knows: the version, and addresses on the web."""
    text = (PLUGIN / "metadata.txt").read_text(encoding="utf-8")
    urls = {name.lower(): url for name, url in project().get("urls", {}).items()}
    known = {
        "version": project()["version"],
        "homepage": urls.get("homepage") or urls.get("documentation"),
        "repository": urls.get("repository") or urls.get("source"),
        "tracker": urls.get("issues") or urls.get("tracker"),
    }
    kept = [line for line in text.splitlines() if line.split("=")[0] not in known]
    return "\n".join([*kept, *(f"{name}={value}" for name, value in known.items() if value), ""])


def project() -> dict[str, Any]:
    """Read what pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


if __name__ == "__main__":
    print(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist"))
