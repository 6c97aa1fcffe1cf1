"""Draw the pictures of the explorer in the README: ``python docs/screenshots.py``.

Clusters Indian Pines, opens the explorer in headless Chromium, and writes docs/explorer-pixel.png
and docs/explorer-embedding.png.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    """Cluster, open the explorer, and take the pictures."""
    command = [sys.executable, "-m", "spectrawalk"]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder:
        results = f"{folder}/results"
        run = [*command, "cluster", "indian-pines", "-k", "9", "-o", results, "--quiet"]
        subprocess.run(run, check=True)
        opened = [*command, "explore", results, "--no-browser"]
        server = subprocess.Popen(opened, stdout=subprocess.PIPE, text=True)
        try:
            address = next(
                found[0] for line in server.stdout if (found := re.search(r"http://\S+", line))
            )
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                take(browser.new_page(viewport=SIZE), address)
                browser.close()
        finally:
            server.terminate()
            server.wait()


def take(page, address: str) -> None:
    """Take both pictures."""
    page.goto(address)
    page.wait_for_timeout(3000)
    box = page.locator("canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.45 * box["height"])
    page.wait_for_timeout(1500)
    page.screenshot(path=HERE / "explorer-pixel.png")
    page.get_by_role("tab", name="Embedding").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_timeout(2500)
    page.screenshot(path=HERE / "explorer-embedding.png")


if __name__ == "__main__":
    main()
