"""How much the results depend on each constant of SpectraWalk: a Markdown table.

``python benchmarks/constants.py`` moves each constant by a quarter, up and down, and prints the
change of the mean overall accuracy with K given, and of the mean adjusted Rand index with K found,
over development scenes. Constants that only limit time or memory (sizes of samples) are left out.
Ground truth is used for scores only. It takes half an hour; names as arguments choose constants.
"""

import sys

import numpy as np
from images import towns, variants, windows

from spectrawalk import SpectraWalk, score
from spectrawalk.consensus import coassociation, detail, features, graphs, levels, resolutions, tree
from spectrawalk.datasets import load_scene

SCENES = ("indian-pines-subset", "salinas-a", "samson", "enmap-potsdam-north")

CONSTANTS = {
    resolutions: (
        "RESOLUTIONS", "FINEST_HALF", "WITHIN_FIELD", "CONSENSUS_RADIUS", "HALVINGS", "STRENGTH",
        "LEAST_SHARE",
    ),
    detail: ("MIDDLE", "STEEPNESS", "ABOVE_NOISE"),
    tree: ("GROUPS", "SIZE_POWER"),
    coassociation: ("SAME_GROUP",),
    levels: ("STRUCTURE", "SUPPORTED"),
    graphs: (
        "NEIGHBORS", "RADIUS_SHARE", "LARGEST_RADIUS", "DECAY", "DENSITY_NEIGHBORS", "WEIGHT_SCALE",
    ),
    features: ("MNF_COMPONENTS", "LAGS", "INSIDE", "CLIPPED", "DARKEST", "COORDINATES"),
}  # fmt: skip


def development():
    """Images with their ground truth and number of classes."""
    for name in SCENES:
        scene = load_scene(name)
        truth = np.asarray(scene.ground_truth)
        yield scene, truth, len(np.unique(truth[truth > 0]))
    yield from list(windows(0, 71, 501))[::10]
    for scene, settings in list(variants(24))[::12]:
        yield scene, np.asarray(scene.ground_truth), settings["n_classes"]
    for scene in list(towns())[:2]:
        yield scene, np.asarray(scene.ground_truth), len(scene.class_names)


def means(images) -> np.ndarray:
    """Mean overall accuracy with K given, and mean adjusted Rand index with K found."""
    rows = []
    for image, truth, K in images:
        model = SpectraWalk().fit(image)
        given = model.cut(min(K, len(model.leaf_sizes_)))
        rows.append((score(truth, given).oa, score(truth, model.labels_).ari))
    return np.mean(rows, axis=0)


def times(value, factor: float):
    """Multiply a constant; whole numbers stay whole and change by 1 at least."""
    if isinstance(value, dict):
        return {name: times(each, factor) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(sorted({times(each, factor) for each in value}))
    if isinstance(value, int):
        moved = round(value * factor)
        return max(1, moved if moved != value else value + (1 if factor > 1 else -1))
    return value * factor


def put(name: str, old, new) -> None:
    """Replace a constant in every module that has it."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("spectrawalk.") and getattr(module, name, None) is old:
            setattr(module, name, new)


def main(wanted) -> None:
    images = list(development())
    before = means(images)
    print(f"OA with K given {before[0]:.3f}, ARI with K found {before[1]:.3f}\n")
    print(
        "| constant | value | OA, 3/4 | OA, 5/4 | ARI, 3/4 | ARI, 5/4 |\n|---|---|---|---|---|---|"
    )
    for module, names in CONSTANTS.items():
        for name in names:
            if wanted and name not in wanted:
                continue
            value, changes = getattr(module, name), []
            for factor in (0.75, 1.25):
                # Shares of 1 - x move x, so that they stay below 1.
                far = 1 - (1 - value) * (2 - factor) if name == "SAME_GROUP" else None
                moved = times(value, factor) if far is None else far
                put(name, value, moved)
                changes.append(means(images) - before)
                put(name, moved, value)
            given, found = np.transpose(changes)
            cells = " | ".join(f"{each:+.3f}" for each in (*given, *found))
            place = module.__name__.rpartition(".")[2]
            print(f"| {place}.{name} | {value} | {cells} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
