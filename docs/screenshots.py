"""Take the pictures of the explorer and of a report: ``python docs/screenshots.py``.

Clusters Indian Pines, opens the explorer and the report in headless Chromium, and writes
docs/explorer-pixel.png and docs/explorer-embedding.png, and docs/pictures/explorer-names.png and
docs/pictures/report.png.
"""

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SIZE = {"width": 1280, "height": 800}
NAMES = {1: "grass and trees", 2: "soybean", 3: "hay", 8: "woods", 9: "corn"}
"""Names that the tutorial gives to clusters."""


def main() -> None:
    """Cluster, open the explorer and the report, and take the pictures."""
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
                take_explorer(browser.new_page(viewport=SIZE), address)
                take_report(browser.new_page(viewport=SIZE), f"{results}/report.html")
                browser.close()
        finally:
            server.terminate()
            server.wait()


def take_explorer(page, address: str) -> None:
    """Take the pictures of the explorer."""
    page.goto(address)
    page.wait_for_timeout(3000)
    box = page.locator("canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.45 * box["height"])
    page.wait_for_timeout(1500)
    keep(page, "explorer-pixel.png")
    page.get_by_role("tab", name="Embedding").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_timeout(2500)
    keep(page, "explorer-embedding.png")
    page.get_by_role("button", name="Dark").click()
    for cluster, name in NAMES.items():
        field = page.get_by_label(f"Name of cluster {cluster}", exact=True)
        field.fill(name)
        field.press("Enter")
        page.wait_for_timeout(500)
    page.locator("#legend").evaluate("list => list.scrollTo(0, 0)")
    page.get_by_role("tab", name="Pixel").click()
    page.wait_for_timeout(1000)
    keep(page, "pictures/explorer-names.png")


def take_report(page, path: str) -> None:
    """Take the upper part of the report."""
    page.goto(f"file://{path}")
    page.wait_for_timeout(1000)
    keep(page, "pictures/report.png")


def keep(page, name: str) -> None:
    """Write what the page shows with 256 colours, a third of the bytes."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


if __name__ == "__main__":
    main()
