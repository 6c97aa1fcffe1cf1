"""How good the density of large scenes is: ``python benchmarks/density.py [SIDE ...]``.

Compares the density from a limited search with the exact one, by brute force for 3,000 pixels drawn
at random, on synthetic scenes of SIDE x SIDE pixels and 200 bands. Prints a Markdown table.
"""

import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from spectrawalk.datasets import make_scene
from spectrawalk.prepare.pixels import take_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.srdl import density, neighbors

NEIGHBORS, SAMPLE = 20, 3000


def exact_distances(X: NDArray[np.float64], pixels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Squared distances of some pixels to their nearest spectra, by brute force."""
    squares = np.square(X).sum(axis=1)
    found = np.empty((len(pixels), NEIGHBORS))
    for start in range(0, len(pixels), 200):
        some = pixels[start : start + 200]
        d2 = squares - 2 * X[some] @ X.T
        near = np.argpartition(d2, 2 * NEIGHBORS, axis=1)[:, : 2 * NEIGHBORS]
        for row, (pixel, candidates) in enumerate(zip(some, near, strict=True), start):
            others = candidates[candidates != pixel]
            found[row] = np.sort(np.square(X[others] - X[pixel]).sum(axis=1))[:NEIGHBORS]
    return found


def main(sides: list[int]) -> None:
    print("| pixels | noise | candidates | rank correlation | nearest found | seconds |")
    print("|---|---|---|---|---|---|")
    for side in sides:
        for noise in (0.005, 0.02, 0.1):
            scene = make_scene((side, side), n_bands=200, n_classes=8, noise=noise)
            X = normalize_spectra(take_pixels(scene).spectra, "pixel")
            bandwidth = density.mean_distance(X) / density.BANDWIDTH_SHARE
            pixels = np.random.default_rng(0).choice(len(X), SAMPLE, replace=False)
            exact_d2 = exact_distances(X, pixels)
            exact = density.kernel_density(exact_d2, bandwidth)
            neighbors.global_neighbors(X[:100], NEIGHBORS)  # compiles
            for budget in (2_000, neighbors.SEARCH_BUDGET):
                start = time.perf_counter()
                _, d2 = neighbors.global_neighbors(X, NEIGHBORS, budget=budget)
                seconds = time.perf_counter() - start
                limited = density.kernel_density(d2[pixels], bandwidth)
                found = np.mean(np.isclose(d2[pixels, 0], exact_d2[:, 0]))
                print(
                    f"| {len(X):,} | {noise} | {budget:,} | {spearmanr(exact, limited)[0]:.5f} "
                    f"| {found:.1%} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main([int(side) for side in sys.argv[1:]] or [316])
