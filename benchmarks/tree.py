"""Accuracy of SpectraWalk: ``python benchmarks/tree.py PART ...`` prints Markdown.

==========  ========================================================================================
scenes      whole scenes, with K given and with K found
off         whole scenes, with K, K + 1, K + 2 and K + 3 clusters
towns       ten synthetic scenes with regions of 1 to 4 pixels
windows     30 crops of Indian Pines, rows 0..71
nothing     noise, and scenes with one class
queries     classes from 3 to 40 pixels whose class is told
confidence  error in the more and in the less confident half
members     whole scenes, crops and towns: the consensus and the mean of its runs
same        agreement of maps for other seeds, turned images and fewer bands
cost        run time compared with a single SRDL run
==========  ========================================================================================

Ground truth is used for scores only. Boundary F1: over pairs of adjacent labelled pixels, of "these
two differ", in the labels against the ground truth.
"""

import sys
import time
from itertools import combinations

import numpy as np
from images import towns, variants, windows, without_classes
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from spectrawalk import SRDL, SpectraWalk, score
from spectrawalk.consensus.features import mnf_components
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.prepare.pixels import Grid, take_pixels
from spectrawalk.prepare.scaling import normalize_spectra

SCENES = ("indian-pines-subset", "salinas-a", "samson", "indian-pines", "enmap-potsdam-north")


def boundary_f1(truth, labels) -> float:
    """F1 of "these two adjacent pixels differ"."""
    in_both = in_each = 0
    for one, other in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        known = (truth[one] > 0) & (truth[other] > 0)
        true, found = ((image[one] != image[other])[known] for image in (np.asarray(truth), labels))
        in_both += np.count_nonzero(true & found)
        in_each += np.count_nonzero(true) + np.count_nonzero(found)
    return 2 * in_both / max(in_each, 1)


def better_kmeans(image, truth, n_clusters: int) -> float:
    """Best overall accuracy of K-means on unit spectra and on MNF components."""
    pixels = take_pixels(image)
    unit = normalize_spectra(pixels.spectra, "pixel")
    best = 0.0
    for points in (unit, mnf_components(unit, pixels.grid.mask)[0][:, :10]):
        labels = KMeans(n_clusters, n_init=10, random_state=0).fit_predict(points)
        best = max(best, score(truth, pixels.grid.to_image(labels, -1)).oa)
    return best


def show_scenes() -> None:
    print("| scene | detail | OA | kappa | ARI | boundary F1 | K found | ARI with K found |")
    print("|---|---|---|---|---|---|---|---|")
    for name in SCENES:
        scene = load_scene(name)
        truth = np.asarray(scene.ground_truth)
        model = SpectraWalk().fit(scene)
        labels = model.cut(len(np.unique(truth[truth > 0])))
        given, found = score(truth, labels), score(truth, model.labels_)
        print(
            f"| {name} | {model.detail_:.2f} | {given.oa:.3f} | {given.kappa:.3f} | "
            f"{given.ari:.3f} | {boundary_f1(truth, labels):.3f} | {model.n_clusters_} | "
            f"{found.ari:.3f} |",
            flush=True,
        )


def show_off() -> None:
    print("| scene | ARI with K | K + 1 | K + 2 | K + 3 |\n|---|---|---|---|---|")
    for name in SCENES:
        scene = load_scene(name)
        truth = np.asarray(scene.ground_truth)
        K, model = len(np.unique(truth[truth > 0])), SpectraWalk().fit(scene)
        found = [score(truth, model.cut(k)).ari for k in range(K, K + 4)]
        print(f"| {name} | {' | '.join(f'{each:.3f}' for each in found)} |", flush=True)


def show_towns() -> None:
    print("| town | K | detail | OA | better K-means |\n|---|---|---|---|---|")
    for number, scene in enumerate(towns()):
        K = len(scene.class_names)
        model = SpectraWalk(K).fit(scene)
        print(
            f"| {number} | {K} | {model.detail_:.2f} | "
            f"{score(scene.ground_truth, model.labels_).oa:.3f} | "
            f"{better_kmeans(scene, scene.ground_truth, K):.3f} |",
            flush=True,
        )


def show_windows(first: int = 0, last: int = 71, seed: int = 501) -> None:
    rows = []
    for cube, truth, K in windows(first, last, seed):
        model = SpectraWalk().fit(cube)
        given, found = score(truth, model.cut(K)), score(truth, model.labels_)
        rows.append((given.oa, better_kmeans(cube, truth, K), given.ari, found.ari))
    names = ("OA", "better K-means", "ARI", "ARI with K found")
    print(
        ", ".join(f"{name} {mean:.3f}" for name, mean in zip(names, np.mean(rows, 0), strict=True))
    )


def show_nothing() -> None:
    verdicts: dict[str, list[str]] = {}
    for name, cube in without_classes():
        verdicts.setdefault(name, []).append(SpectraWalk().fit(cube).verdict_)
    for name, found in verdicts.items():
        print(f"{name}: no clear structure in {found.count('no clear structure')} of 20")


def answers_from(truth, pixels) -> dict:
    """Answers of a person who knows the ground truth; None where there is none."""
    return {int(pixel): int(truth.flat[pixel]) or None for pixel in pixels}


def show_queries(budgets=(3, 5, 10, 12, 20, 40)) -> None:
    """Overall accuracy of the classes after some queries, which have an answer or not.

    Replaced: pixels without an answer are replaced until all have one, or 4 times as many pixels
    were queried. Random: mean of 10 draws of pixels that have an answer.
    """
    print("| scene | queries | OA | without an answer | replaced: OA | queried | random: OA |")
    print("|---|---|---|---|---|---|---|")
    for name, scene in queried_scenes():
        truth = np.asarray(scene.ground_truth)
        model = SpectraWalk().fit(scene)

        def accuracy(answers, model=model, truth=truth) -> float:
            if not any(answers.values()):
                return 0.0
            model.refit_with(answers)
            known = truth > 0
            return float((model.classes_[model.labels_[known]] == truth[known]).mean())

        for budget in budgets:
            answers = answers_from(truth, model.query(budget))
            missing, first = list(answers.values()).count(None), accuracy(answers)
            while (left := list(answers.values()).count(None) + budget - len(answers)) > 0:
                if len(answers) >= 4 * budget:
                    break
                answers |= answers_from(truth, model.query(left, answers))
            random = [
                np.random.default_rng(seed).choice(np.flatnonzero(truth), budget, replace=False)
                for seed in range(10)
            ]
            by_chance = np.mean([accuracy(answers_from(truth, pixels)) for pixels in random])
            print(
                f"| {name} | {budget} | {first:.3f} | {missing} | {accuracy(answers):.3f} | "
                f"{len(answers)} | {by_chance:.3f} |",
                flush=True,
            )


def queried_scenes():
    """Real scenes, and three synthetic ones."""
    for name in ("indian-pines-subset", "salinas-a", "samson", "ksc-labelled", "indian-pines"):
        yield name, load_scene(name)
    for seed, size in enumerate((3, 6, 12)):
        scene = make_scene((60, 60), n_classes=6, region_size=size, random_state=seed)
        yield f"synthetic {seed}", scene


def halves(truth, labels, confidence, class_of) -> str:
    """Error in the more and in the less confident half of the pixels with ground truth."""
    known = truth > 0
    right = np.zeros(truth.shape, dtype=bool)
    for cluster, each in class_of.items():
        right |= (labels == cluster) & (truth == each)
    order = np.argsort(confidence[known], kind="stable")
    less, more = (1 - half.mean() for half in np.array_split(right[known][order], 2))
    return f"{more:.3f} / {less:.3f} {'yes' if more <= less / 2 else 'no'}"


def show_confidence() -> None:
    """Print the errors, and whether the first is at most half of the second."""
    print("| scene | clusters | one-to-one | majority class |\n|---|---|---|---|")
    for name in (*SCENES, "ksc-labelled"):
        scene = load_scene(name)
        truth = np.asarray(scene.ground_truth)
        model, K = SpectraWalk().fit(scene), len(np.unique(truth[truth > 0]))
        for k in (K, K + 3):
            labels, confidence = model.cut(k), model.confidence(k)
            found = [truth[(labels == j) & (truth > 0)] for j in range(k)]
            majority = {j: np.bincount(each).argmax() for j, each in enumerate(found) if len(each)}
            each = [score(truth, labels).matching, majority]
            told = " | ".join(halves(truth, labels, confidence, class_of) for class_of in each)
            print(f"| {name} | {k} | {told} |", flush=True)


def show_same() -> None:
    """Smallest agreement (ARI) of maps that should be the same, at the number of classes."""
    turns = (np.flipud, np.fliplr, np.rot90, lambda image: image.swapaxes(0, 1))
    print("| scene | seeds 0..9 | turned | 5 % of the bands dropped |\n|---|---|---|---|")
    for name, scene in repeated_scenes():
        truth, cube = np.asarray(scene.ground_truth), np.asarray(scene.cube)
        K, valid = len(np.unique(truth[truth > 0])), np.asarray(scene.mask)
        first = SpectraWalk(K).fit(cube, mask=valid).labels_
        seeded = [first] + [
            SpectraWalk(K, random_state=seed).fit(cube, mask=valid).labels_ for seed in range(1, 10)
        ]
        seeds = [ari(one, other) for one, other in combinations(seeded, 2)]
        turned = []
        for turn in turns:
            labels = SpectraWalk(K).fit(turn(cube).copy(), mask=turn(valid).copy()).labels_
            turned.append(ari(turn(first), labels))
        dropped = []
        for seed in range(3):
            n_bands = cube.shape[2]
            kept = np.random.default_rng(seed).permutation(n_bands)[: round(0.95 * n_bands)]
            labels = SpectraWalk(K).fit(cube[:, :, np.sort(kept)], mask=valid).labels_
            dropped.append(ari(first, labels))
        print(f"| {name} | {min(seeds):.2f} | {min(turned):.3f} | {min(dropped):.2f} |", flush=True)


def repeated_scenes():
    """Real scenes, and synthetic ones of fields and of a town."""
    for name in ("indian-pines-subset", "salinas-a", "samson", "enmap-potsdam-north"):
        yield name, load_scene(name)
    yield "fields", next(variants(1))[0]
    for number in (0, 2):
        yield f"town {number}", list(towns())[number]


def ari(one, other) -> float:
    """Adjusted Rand index of two maps, where both have labels."""
    both = (one >= 0) & (other >= 0)
    return adjusted_rand_score(one[both], other[both])


def show_members() -> None:
    """Overall accuracy, and its mean over the runs with nearly as many clusters as classes."""
    print("| image | OA | mean of the runs |\n|---|---|---|")
    for name, image, truth in members():
        K = len(np.unique(truth[truth > 0]))
        model = SpectraWalk(K).fit(image)
        grid = Grid(model._mask)
        numbers = model._runs.max(axis=1).astype(int) + 1
        near = np.abs(np.log(numbers / K)) == np.abs(np.log(numbers / K)).min()
        runs = [
            score(truth, grid.to_image(run.astype(np.int32), -1)).oa for run in model._runs[near]
        ]
        mean = np.average(runs, weights=model._weights[near])
        print(f"| {name} | {score(truth, model.labels_).oa:.3f} | {mean:.3f} |", flush=True)


def members():
    """Development images."""
    for name in SCENES:
        scene = load_scene(name)
        yield name, scene, np.asarray(scene.ground_truth)
    for number, (cube, truth, _) in enumerate(windows(0, 71, 501)):
        yield f"crop {number}", cube, truth
    for number, scene in enumerate(towns()):
        yield f"town {number}", scene, np.asarray(scene.ground_truth)


def show_cost(sides=(64, 141, 256)) -> None:
    print("| pixels | single run (s) | SpectraWalk (s) | ratio |\n|---|---|---|---|")
    SpectraWalk(2).fit(make_scene((20, 20)))  # loads the kernels
    for side in sides:
        scene = make_scene((side, side), n_bands=200, n_classes=8, random_state=1)
        seconds = []
        for model in (SRDL(8), SpectraWalk(8)):
            begin = time.perf_counter()
            model.fit(scene)
            seconds.append(time.perf_counter() - begin)
        single, tree = seconds
        print(f"| {side**2:,} | {single:.1f} | {tree:.1f} | {tree / single:.1f} |", flush=True)


PARTS = {
    "scenes": show_scenes,
    "off": show_off,
    "towns": show_towns,
    "windows": show_windows,
    "nothing": show_nothing,
    "queries": show_queries,
    "confidence": show_confidence,
    "members": show_members,
    "same": show_same,
    "cost": show_cost,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"\n## {part}\n", flush=True)
        PARTS[part]()
