"""Draw the picture of docs/naming.md: ``python docs/names_picture.py SCENE LIBRARY``.

SCENE is the EnMAP scene "Potsdam north", LIBRARY the USGS library. It needs Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "names.png"
SHOWN = 2  # the cluster with the most pixels


def main(scene: str, library: str) -> None:
    """Cluster the scene, name the clusters, and photograph one of them."""
    program = [sys.executable, "-m", "spectrawalk"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*program, "cluster", scene, "-o", folder, "--no-report"], check=True)
        subprocess.run([*program, "name", folder, "--library", library], check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1100, "height": 800})
            page.goto((Path(folder) / "names.html").as_uri())
            page.locator(f"#cluster-{SHOWN}").screenshot(path=PICTURE)
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
