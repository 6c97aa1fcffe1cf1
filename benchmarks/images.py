"""Test images drawn from scenes with ground truth, and synthetic ones."""

import numpy as np

from spectrawalk import Scene
from spectrawalk.datasets import load_scene, make_scene


def windows(first: int, last: int, seed: int, name: str = "indian-pines", count: int = 30):
    """Draw crops of a scene between two rows; classes with fewer than 40 pixels are dropped."""
    scene = load_scene(name)
    cube, truth = np.asarray(scene.cube, dtype=float), np.asarray(scene.ground_truth)
    rng = np.random.default_rng(seed)
    while count:
        height, width = rng.integers(36, 64, size=2)
        row = rng.integers(first, last - height + 2)
        col = rng.integers(0, cube.shape[1] - width + 1)
        part = np.s_[row : row + height, col : col + width]
        classes, sizes = np.unique(truth[part][truth[part] > 0], return_counts=True)
        large = classes[sizes >= 40]
        if (truth[part] > 0).mean() < 0.5 or not 3 <= len(large) <= 8:
            continue
        count -= 1
        yield cube[part], np.where(np.isin(truth[part], large), truth[part], 0), len(large)


def wetland(seed: int, count: int = 24):
    """Draw crops of Kennedy Space Center, where only labelled pixels are valid."""
    scene = load_scene("ksc-labelled")
    truth = np.asarray(scene.ground_truth)
    rng = np.random.default_rng(seed)
    while count:
        height, width = rng.integers(60, 180, size=2)
        row, col = rng.integers(0, truth.shape[0] - height), rng.integers(0, truth.shape[1] - width)
        part = np.s_[row : row + height, col : col + width]
        classes, sizes = np.unique(truth[part][truth[part] > 0], return_counts=True)
        large = classes[sizes >= 40]
        if np.count_nonzero(scene.mask[part]) < 400 or not 3 <= len(large) <= 9:
            continue
        count -= 1
        drawn = Scene(np.asarray(scene.cube)[part], mask=scene.mask[part])
        yield drawn, np.where(np.isin(truth[part], large), truth[part], 0), len(large)


def variants(count: int = 50, draw: int = 51):
    """Synthetic scenes with different settings."""
    rng = np.random.default_rng(draw)
    for seed in range(100 * (draw - 51), 100 * (draw - 51) + count):
        settings = {
            "n_classes": int(rng.integers(2, 9)),
            "noise": float(rng.choice([0.01, 0.02, 0.05, 0.1])),
            "mixing": float(rng.choice([0.2, 0.5, 0.7, 1.0])),
            "region_size": float(rng.choice([6, 12, 20])),
            "imbalance": float(rng.choice([0, 0.2, 0.6])),
        }
        side = int(rng.integers(40, 81))
        yield make_scene((side, side), random_state=2000 + seed, **settings), settings


def towns():
    """Ten synthetic scenes with small regions and mixed borders."""
    rng = np.random.default_rng(18)
    for seed in range(10):
        yield make_scene(
            (60, 60),
            n_bands=60,
            n_classes=int(rng.integers(3, 8)),
            region_size=float(rng.uniform(1, 4)),
            mixing=float(rng.uniform(0.4, 0.9)),
            noise=float(rng.choice([0.01, 0.02, 0.04])),
            random_state=seed,
        )


def without_classes(count: int = 20):
    """Images of noise and of one class, each with its name."""
    for seed in range(count):
        for side, bands in ((40, 50), (40, 3), (12, 8)):
            noise = np.random.default_rng(seed).normal(1.0, 0.1, size=(side, side, bands))
            yield f"noise, {side} x {side} x {bands}", noise
        yield "one class", make_scene((40, 40), n_classes=1, random_state=seed).cube
