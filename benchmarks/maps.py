"""Maps of the development scenes beside their colour composites: ``maps.py FILE``.

One row for each scene: composite, ground truth, K-means on unit spectra, SRDL with its default
radius, and SpectraWalk, with K given and with K found. Ground truth is used for scores only.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from images import towns, variants, windows
from sklearn.cluster import KMeans

from spectrawalk import SRDL, Scene, SpectraWalk, score
from spectrawalk.datasets import load_scene
from spectrawalk.prepare.pixels import take_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.results.cluster_map import map_of

SCENES = ("indian-pines-subset", "salinas-a", "samson", "enmap-potsdam-north", "indian-pines")
COLOURS = (650.0, 550.0, 450.0)  # nm


def development():
    """Scenes with their names."""
    for name in SCENES:
        yield name, load_scene(name)
    for number, (cube, truth, _) in enumerate(list(windows(0, 71, 501))[:2]):
        yield f"crop {number}", Scene(cube, ground_truth=truth)
    for number, (scene, _) in enumerate(variants(2)):
        yield f"fields {number}", scene
    for number, scene in enumerate(list(towns())[:3]):
        yield f"town {number}", scene


def composite(scene: Scene):
    """Three bands, each stretched from its 2nd to its 98th percentile."""
    cube = np.asarray(scene.cube, dtype=float)
    bands = [int(share * (cube.shape[2] - 1)) for share in (0.14, 0.08, 0.03)]
    if scene.wavelengths is not None:
        bands = [int(np.abs(scene.wavelengths - each).argmin()) for each in COLOURS]
    image = cube[:, :, bands]
    low, high = np.nanpercentile(image[scene.mask], [2, 98], axis=0)
    return np.clip((image - low) / np.maximum(high - low, 1e-12), 0, 1)


def kmeans(scene: Scene, K: int):
    """Labels of K-means on unit spectra."""
    pixels = take_pixels(scene)
    unit = normalize_spectra(pixels.spectra, "pixel")
    labels = KMeans(K, n_init=10, random_state=0).fit_predict(unit)
    return pixels.grid.to_image(labels.astype(np.int32), -1)


def picture(scene: Scene, labels):
    """Labels in the colours of our maps; white where there is none."""
    colors = map_of(scene, labels, int(labels.max()) + 1).colors
    image = np.full((*labels.shape, 3), 255, dtype=np.uint8)
    image[labels >= 0] = colors[labels[labels >= 0]]
    return image


def main(file: str) -> None:
    rows = list(development())
    figure, axes = plt.subplots(len(rows), 6, figsize=(18, 3 * len(rows)))
    for line, (name, scene) in zip(axes, rows, strict=True):
        truth = np.asarray(scene.ground_truth)
        K = len(np.unique(truth[truth > 0]))
        model = SpectraWalk().fit(scene)
        maps = {
            "K-means": kmeans(scene, K),
            "SRDL": SRDL(K).fit(scene).labels_,
            "SpectraWalk": model.cut(K),
            f"SpectraWalk, {model.n_clusters_} found": model.labels_,
        }
        line[0].imshow(composite(scene))
        line[0].set_title(f"{name}, detail {model.detail_:.2f}", fontsize=9)
        line[1].imshow(picture(scene, truth - 1))
        line[1].set_title(f"ground truth, {K} classes", fontsize=9)
        for axis, (title, labels) in zip(line[2:], maps.items(), strict=True):
            axis.imshow(picture(scene, labels))
            axis.set_title(f"{title}: OA {score(truth, labels).oa:.2f}", fontsize=9)
        for axis in line:
            axis.axis("off")
        print(name, flush=True)
    figure.tight_layout()
    figure.savefig(file, dpi=60)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "maps.png")
