"""Prediction beside brute force: ``python benchmarks/predict.py [--fitted N] [--new M]``.

Labels M new spectra of 200 bands from N fitted ones, of synthetic scenes, with the tree search and
with matrix products of all new and all fitted spectra. Prints one JSON object with the seconds of
each, their ratio, and how many labels differ.
"""

import argparse
import json
import resource
import time

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from spectrawalk.datasets import make_scene
from spectrawalk.estimators.catalogue import distinct_spectra
from spectrawalk.estimators.prediction import FittedSpectra
from spectrawalk.prepare.scaling import Scaling, normalize_spectra
from spectrawalk.threads import count

BANDS, CLASSES = 200, 8
BLOCK = 16_000_000
"""Products that brute force holds at a time."""

EPSILON = float(np.finfo(np.float32).eps)


def spectra_and_classes(n: int, noise: float) -> tuple[NDArray, NDArray]:
    """Spectra of a synthetic scene of about n pixels, and their classes."""
    side = round(n**0.5)
    scene = make_scene((side, side), n_bands=BANDS, n_classes=CLASSES, noise=noise)
    return scene.cube.reshape(-1, BANDS).astype(float), scene.ground_truth.ravel() - 1


def brute_force(fitted: FittedSpectra, X: NDArray, labels: NDArray) -> NDArray[np.int32]:
    """The same labels from the products of all new spectra with all fitted ones."""
    known, label_of = distinct_spectra(fitted.spectra, labels)
    new = ((fitted.scaling.apply(X) - fitted.centre) / fitted.unit).astype(np.float32)
    halves = np.square(known).sum(axis=1) / 2
    longest = float(np.linalg.norm(known.astype(float), axis=1).max())
    reach = fitted.reach / fitted.unit + 4 * EPSILON * longest
    result = np.full(len(new), -1, dtype=np.int32)
    step = max(1, BLOCK // len(known))
    for start in range(0, len(new), step):
        part = new[start : start + step]
        product = part @ known.T
        np.subtract(halves, product, out=product)
        length = np.linalg.norm(part.astype(float), axis=1)
        error = (BANDS + 8) * EPSILON * longest * (length + longest)
        bound = product.min(axis=1) + 2 * error
        row, candidate = np.divmod(np.flatnonzero(product <= bound[:, None]), len(known))
        difference = part[row].astype(float) - known[candidate]
        d2 = np.square(difference).sum(axis=1)
        order = np.lexsort((candidate, d2, row))
        _, first = np.unique(row[order], return_index=True)
        best = order[first]
        near = np.sqrt(d2[best]) <= reach
        result[start : start + step] = np.where(near, label_of[candidate[best]], -1)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fitted", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=100_000)
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--no-brute-force", action="store_true")
    options = parser.parse_args()
    raw, labels = spectra_and_classes(options.fitted, options.noise)
    scaled = normalize_spectra(raw, "pixel")
    sample = np.random.default_rng(0).choice(len(scaled), 300, replace=False)
    squares = np.square(scaled).sum(axis=1)
    d2 = squares + squares[sample, None] - 2 * scaled[sample] @ scaled.T
    reach = float(np.sqrt(np.percentile(np.partition(d2, 100, axis=1)[:, :101], 99)))
    fitted = FittedSpectra.of(scaled, Scaling.of(raw, "pixel"), reach)
    labels = labels.astype(np.int32)
    # Other pixels of the same materials: mixtures with a neighbour.
    new, _ = spectra_and_classes(options.new, options.noise)
    new = 0.7 * new + 0.3 * np.roll(new, 1, axis=0)

    fitted.labels_and_margin(new[:500], labels)  # compiles
    start = time.perf_counter()
    found = fitted.labels_for(new, labels)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    again, margin = fitted.labels_and_margin(new, labels)
    told = {
        "fitted": len(scaled),
        "new": len(new),
        "threads": count(),
        "seconds": round(seconds, 2),
        "seconds_with_margin": round(time.perf_counter() - start, 2),
        "unknown": int((found < 0).sum()),
        "mean_margin": round(float(margin[found >= 0].mean()), 3),
        "margin_changes_labels": int((again != found).sum()),
    }
    if not options.no_brute_force:
        with threadpool_limits(count(), user_api="blas"):
            start = time.perf_counter()
            expected = brute_force(fitted, new, labels)
            slow = time.perf_counter() - start
        told["brute_force_seconds"] = round(slow, 2)
        told["brute_force / tree"] = round(slow / seconds, 1)
        told["labels_that_differ"] = int((found != expected).sum())
    told["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(told))


if __name__ == "__main__":
    main()
