"""How good the density of large scenes is: ``python benchmarks/density.py [SIDE ...]``.

Compares the density from a limited search with the exact one on synthetic scenes of SIDE x SIDE
pixels and 200 bands, and prints the rank correlation and the ratio of the times as Markdown.
"""

import sys
import time

import numpy as np
from scipy.stats import spearmanr

from spectrawalk import graph, modes
from spectrawalk.datasets import make_scene
from spectrawalk.preparation import normalize_spectra, take_pixels


def main(sides: list[int]) -> None:
    print("| pixels | noise | budget | rank correlation | neighbours found | time / exact time |")
    print("|---|---|---|---|---|---|")
    for side in sides:
        for noise in (0.005, 0.02, 0.1):
            scene = make_scene((side, side), n_bands=200, n_classes=6, noise=noise)
            X = normalize_spectra(take_pixels(scene).spectra, "pixel")
            bandwidth = modes.mean_distance(X) / modes.BANDWIDTH_SHARE
            graph.global_neighbors(X[:100], 20)  # compiles
            start = time.perf_counter()
            exact_index, d2 = graph.global_neighbors(X, 20, budget=len(X))
            exact_seconds = time.perf_counter() - start
            exact = modes.density(d2, bandwidth)
            for budget in (1000, graph.SEARCH_BUDGET):
                start = time.perf_counter()
                index, d2 = graph.global_neighbors(X, 20, budget=budget)
                ratio = (time.perf_counter() - start) / exact_seconds
                rows = range(0, len(X), 97)
                found = np.mean([np.isin(index[i], exact_index[i]).mean() for i in rows])
                correlation = spearmanr(exact, modes.density(d2, bandwidth))[0]
                print(
                    f"| {len(X):,} | {noise} | {budget:,} | {correlation:.5f} | {found:.1%} "
                    f"| {ratio:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main([int(side) for side in sys.argv[1:]] or [128, 316])
