"""Which rule matches the clusters of two dates: ``python benchmarks/matching.py``.

Makes two dates of one scene, of which a known share changed, clusters each with K-means, and counts
how many clusters each rule matches with one of the same class. The second date has another light in
each band, as another atmosphere gives, and may have more clusters. Prints the table of
docs/decisions/matching.md.
"""

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import KMeans

from spectrawalk.datasets import make_scene
from spectrawalk.results.comparison import compare_maps
from spectrawalk.results.matching import match_spectra
from spectrawalk.results.spectra import cluster_spectra
from spectrawalk.scene import Scene

SEEDS = range(10)
CLASSES = 6


def second_date(scene, truth, share, light, seed):
    """Change the class of a share of the image in patches; each pixel keeps a real spectrum."""
    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.normal(size=truth.shape), 4)
    changed = field > np.quantile(field, 1 - share) if share else np.zeros(truth.shape, bool)
    after = truth.copy()
    # Each class goes to the next one, as fields in a rotation do.
    after[changed] = truth[changed] % CLASSES + 1
    cube = scene.cube.astype(float)
    for each in range(1, CLASSES + 1):
        donors = scene.cube[truth == each]
        wanted = changed & (after == each)
        cube[wanted] = donors[rng.integers(len(donors), size=wanted.sum())]
    bands = cube.shape[2]
    smooth = gaussian_filter(rng.normal(size=bands), 5)
    cube = (
        cube * (1 + light * smooth / smooth.std()) + rng.normal(0, 0.01, cube.shape) * cube.mean()
    )
    return cube, after


def clustered(cube, n_clusters, seed):
    flat = cube.reshape(-1, cube.shape[2])
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    labels = KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(unit)
    return labels.reshape(cube.shape[:2])


def classes_of(labels, truth):
    return [np.bincount(truth[labels == each]).argmax() for each in range(labels.max() + 1)]


def right_and_wrong(pairs, before, after):
    right = sum(before[one] == after[other] for one, other in pairs)
    return right, len(pairs) - right, len(set(before) & set(after))


def main():
    rules = ("overlap", "spectra")
    print("| changed | light | clusters | " + " | ".join(rules) + " |")
    print("|---|---|---|---|---|")
    for light in (0.0, 0.1, 0.3):
        for extra in (0, 2):
            for share in (0.1, 0.5, 0.7):
                sums = {rule: np.zeros(3, int) for rule in rules}
                for seed in SEEDS:
                    scene = make_scene((60, 60), 40, CLASSES, mixing=0.3, random_state=seed)
                    truth = scene.ground_truth
                    cube, later = second_date(scene, truth, share, light, seed)
                    one = clustered(scene.cube.astype(float), CLASSES, seed)
                    other = clustered(cube, CLASSES + extra, seed + 100)
                    known = classes_of(one, truth), classes_of(other, later)
                    means = [
                        np.array([each.mean for each in cluster_spectra(Scene(part), labels)])
                        for part, labels in ((scene.cube, one), (cube, other))
                    ]
                    found = {
                        "overlap": list(compare_maps(one, other).matching.items()),
                        "spectra": [(a, b) for a, b, _ in match_spectra(*means)],
                    }
                    for rule in rules:
                        sums[rule] += right_and_wrong(found[rule], *known)
                cells = [
                    f"{sums[rule][0]} right, {sums[rule][1]} wrong of {sums[rule][2]}"
                    for rule in rules
                ]
                clusters = f"{CLASSES}, {CLASSES + extra}"
                print(f"| {share:.0%} | {light:.0%} | {clusters} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
