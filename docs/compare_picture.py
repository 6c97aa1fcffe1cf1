"""Draw the picture of docs/compare.md: ``python docs/compare_picture.py``.

Makes two dates of one scene, clusters both in one run, compares them, and takes a picture of the
page in headless Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from spectrawalk.datasets import make_scene
from spectrawalk.io import write_scene

HERE = Path(__file__).parent
PLACE = {"crs": "EPSG:32633", "transform": (30.0, 0.0, 500000.0, 0.0, -30.0, 4500000.0)}
WIDTH = 1100
LARGEST = 230  # pixels of the table below the heading


def make_dates(folder: Path) -> None:
    """Write a made scene at two dates: a strip and a field change their class."""
    scene = make_scene((80, 110), 40, 5, region_size=16.0, mixing=0.3, random_state=7)
    rng = np.random.default_rng(0)
    cube = scene.cube * rng.normal(1, 0.01, scene.cube.shape)
    for rows, cols, to in ((slice(12, 34), slice(25, 70), 1), (slice(50, 68), slice(66, 100), 3)):
        mean = scene.cube[scene.ground_truth == to].mean(axis=0)
        light = rng.normal(1, 0.02, cube[rows, cols].shape)
        cube[rows, cols] = mean * light
    plain = replace(scene, ground_truth=None, **PLACE)
    write_scene(folder / "may.tif", plain)
    write_scene(folder / "june.tif", replace(plain, cube=cube.astype(scene.cube.dtype)))


def main() -> None:
    """Make the dates, cluster and compare them, and take the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_dates(folder)
        for words in (
            "cluster may.tif june.tif -k 5 -o both --quiet --no-report",
            "compare both/may both/june -o change --quiet",
        ):
            command = [sys.executable, "-m", "spectrawalk", *words.split()]
            subprocess.run(command, check=True, cwd=folder)
        with sync_playwright() as play:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": 800})
            page.goto((folder / "change" / "compare.html").as_uri())
            end = page.get_by_role("heading", name="Largest changes").bounding_box()
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": end["y"] + LARGEST}
            page.screenshot(path=HERE / "compare.png", clip=clip, full_page=True)
            browser.close()


if __name__ == "__main__":
    main()
