"""Two routes to cluster a scene in tiles: ``python benchmarks/tiles.py PART ...`` prints Markdown.

========  ==========================================================================================
routes    accuracy in memory, with one model (fitted to a part and to all of the scene) and patched
variants  patched: each similarity, with tiles of two sizes
seams     how often labels change at the borders of tiles, relative to all other adjacent pixels
large     one model in tiles against a fit in memory on a million pixels; 40 minutes on two cores
========  ==========================================================================================

One model is what the package does (:mod:`spectrawalk.scale`): it is fitted once, to drawn windows,
and labels any pixel. Patched is the other obvious route, tried here only: each tile is clustered by
itself, and one tree is built over the leaves of all their trees, the groups. What is known of two
groups:

- how far apart their mean spectra are, in components in which a distance counts in units of the
  variation inside fields, or of the noise (as in ``consensus/features.py``);
- in one tile: how often its runs put them together (the heights of its tree);
- in neighbouring tiles: how many adjacent pairs of pixels they have across the border.

A distance becomes a co-association by isotonic regression: inside tiles both are known. The
components are estimated from all pixels, as sums over tiles would give them. Three similarities are
made of these (``VARIANTS``).

Ground truth is used for scores, for the number of clusters, and for the row "best" of the variants,
where each group has its most frequent class: no merging can do better. ARI: adjusted Rand index
with the labels in memory. The variant with the largest one in the mean is the patched route; the
constants of the variants were chosen by it too, on scenes of up to 100 x 100 pixels.
"""

import sys
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.cluster.hierarchy import cophenet
from scipy.linalg import block_diag
from scipy.spatial.distance import cdist, squareform
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import adjusted_rand_score

from spectrawalk import Scene, SpectraWalk, score
from spectrawalk.consensus.features import (
    MNF_COMPONENTS,
    keep_dark,
    local_mean,
    mnf_components,
    within_field_components,
)
from spectrawalk.consensus.resolutions import WITHIN_FIELD
from spectrawalk.consensus.tree import SIZE_POWER
from spectrawalk.datasets import load_scene, make_scene
from spectrawalk.prepare.bands import prepare_scene
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.scale import draw
from spectrawalk.scale.run import cluster_in_tiles
from spectrawalk.scale.source import Source, whole_shape

PUBLISHED = ("indian-pines", "salinas-a", "samson")
MADE = {
    "4 classes": {"n_classes": 4},
    "6 classes, large regions": {"n_classes": 6, "region_size": 30, "mixing": 0.5},
    "8 classes": {"n_classes": 8, "mixing": 0.4},
}
"""Synthetic scenes of `SHAPE`."""
SHAPE = (300, 300)

LARGE, LARGE_SHAPE = "8 classes, a million pixels", (1000, 1000)

SIDES = 64, 100
"""Sides of tiles; the first is that of the routes."""

WINDOWS = draw.WINDOW, draw.WINDOW // 2
"""Sides of the windows that one model is fitted to. Of the larger ones, the small scenes hold only
one or two; a scene that is too large to be fitted as a whole has more than 64.
"""

SETTINGS = {
    "band_ranges": None,
    "drop_bad_bands": True,
    "drop_water_bands": True,
    "drop_constant_bands": True,
    "overlap": "vnir",
    "mask_saturated": True,
    "saturation": None,
}
FOLDER = tempfile.TemporaryDirectory()


class Example(NamedTuple):
    """A scene with its ground truth, and where to read it."""

    scene: Scene
    truth: Any
    K: int
    path: str


@cache
def example(name: str) -> Example:
    if name in PUBLISHED:
        path, scene = name, load_scene(name)
        truth = np.asarray(scene.ground_truth)
    else:
        shape, made_of = (LARGE_SHAPE, MADE["8 classes"]) if name == LARGE else (SHAPE, MADE[name])
        made = make_scene(shape, n_bands=50, random_state=5, **made_of)
        path, truth = str(Path(FOLDER.name) / f"{name}.npy"), np.asarray(made.ground_truth)
        np.save(path, made.cube)
        scene = Scene(made.cube)
    return Example(prepare_scene(scene)[0], truth, len(np.unique(truth[truth > 0])), path)


def ari(one, other) -> float:
    """Adjusted Rand index of two maps, where both have labels."""
    both = (one >= 0) & (other >= 0)
    return adjusted_rand_score(one[both], other[both])


@cache
def in_memory(name: str) -> np.ndarray:
    return SpectraWalk(example(name).K).fit(example(name).scene).labels_


@cache
def one_model(name: str, part: float | None, window: int = WINDOWS[0]) -> tuple[np.ndarray, float]:
    """Labels of the model that is fitted to about a part of the pixels, and the part it was.

    Without `part`, as many are drawn as the package draws.
    """
    scene, _, K, path = example(name)
    source = Source(path, whole_shape(path)[0])
    limits = {"WINDOW": window}
    if part is not None:
        limits["PIXELS"] = round(part * scene.n_valid)
    with tempfile.TemporaryDirectory() as folder, patch.multiple(draw, **limits):
        run, _ = cluster_in_tiles([source], SpectraWalk(K), Path(folder), SETTINGS, size=SIDES[0])
        found = run.scenes[0]
        codes = np.zeros(scene.shape, np.intp)
        for tile, labelled in found.blocks():
            codes[tile.rows, tile.cols] = labelled.codes
        windows = draw.draw_windows([found.source], [found.seen], run.cell, 0)
    fitted = sum(np.count_nonzero(scene.mask[each.tile.rows, each.tile.cols]) for each in windows)
    labels = np.where(codes > 0, run.model.tree.ancestors(K)[codes - 1], -1)
    return labels, fitted / scene.n_valid


class Groups(NamedTuple):
    """The leaves of the trees of all tiles."""

    image: np.ndarray
    """Group of each pixel; -1 where masked."""
    tile: np.ndarray
    """Tile of each group."""
    size: np.ndarray
    same: np.ndarray
    """Whether two groups are in one tile."""
    together: np.ndarray
    """Co-association of two groups in one tile, 1 on the diagonal; 0 for groups of two tiles."""
    adjacent: float
    """Mean co-association of two adjacent pixels of one tile."""
    beside: np.ndarray
    """Pairs of adjacent pixels across borders."""
    distances: dict[str, np.ndarray]
    """Distances of mean spectra, in within-field and in MNF components."""


def borders(length: int, side: int) -> np.ndarray:
    """First pixels of tiles of about the same length, at most `side`, and the end of the last."""
    return np.linspace(0, length, -(-length // side) + 1).round().astype(int)


def adjacent_pairs(image) -> tuple[np.ndarray, np.ndarray]:
    """Values of the two pixels of each adjacent pair, without those below 0."""
    one = np.concatenate([image[1:].ravel(), image[:, 1:].ravel()])
    other = np.concatenate([image[:-1].ravel(), image[:, :-1].ravel()])
    known = (one >= 0) & (other >= 0)
    return one[known], other[known]


@cache
def groups_of(name: str, side: int) -> Groups:
    """Cluster each tile by itself."""
    scene = example(name).scene
    image, tile, blocks = np.full(scene.shape, -1), [], []
    tops, lefts = (borders(length, side) for length in scene.shape)
    for top, bottom in pairwise(tops):
        for left, right in pairwise(lefts):
            part = np.s_[top:bottom, left:right]
            model = SpectraWalk().fit(Scene(scene.cube[part], mask=scene.mask[part]))
            n_leaves = len(model.leaf_sizes_)
            leaf = model.cut(n_leaves)
            image[part] = np.where(leaf >= 0, leaf + len(tile), -1)
            tile += [len(blocks)] * n_leaves
            blocks.append(1 - squareform(cophenet(model.tree_)))  # 1 on the diagonal
    tile, together, number = np.array(tile), block_diag(*blocks), image[scene.mask]
    same, size = tile[:, None] == tile, np.bincount(number)
    one, other = adjacent_pairs(image)
    across = tile[one] != tile[other]
    beside = np.zeros(same.shape)
    np.add.at(beside, (one[across], other[across]), 1)
    raw = scene.cube[scene.mask].astype(float)
    unit = keep_dark(normalize_spectra(raw, "pixel"), raw)
    smooth = within_field_components(local_mean(unit, scene.mask), scene.mask)[0]
    features = {
        "within-field": smooth[:, :WITHIN_FIELD],
        "MNF": mnf_components(unit, scene.mask)[0][:, :MNF_COMPONENTS],
    }
    distances = {}
    for kind, points in features.items():
        means = np.stack([np.bincount(number, column) / size for column in points.T], axis=1)
        distances[kind] = cdist(means, means)
    adjacent = together[one[~across], other[~across]].mean()
    return Groups(image, tile, size, same, together, adjacent, beside + beside.T, distances)


def expected_together(groups: Groups, kind: str) -> np.ndarray:
    """Co-association that two groups should have, from their distance."""
    one, other = np.nonzero(np.triu(groups.same, 1))
    distance = groups.distances[kind]
    rule = IsotonicRegression(increasing=False, out_of_bounds="clip")
    pairs = (groups.size[one] * groups.size[other]).astype(float)
    rule.fit(distance[one, other], groups.together[one, other], pairs)
    return rule.predict(distance.ravel()).reshape(distance.shape)


def spectra(groups: Groups) -> np.ndarray:
    """Mean spectra alone: squared distances, for Ward's linkage."""
    return -np.square(groups.distances["within-field"])


def votes(groups: Groups) -> np.ndarray:
    """Trees of all tiles vote on all pairs of groups; adjacent groups become more similar.

    In another tile, a group stands where those are that have its spectrum. A tile where neither of
    two groups has its like does not vote; one where only one of them has says "not together".
    """
    total = np.zeros(groups.same.shape)
    for kind, distance in groups.distances.items():
        expected = expected_together(groups, kind)
        favour, weight = np.zeros(total.shape), np.zeros(total.shape)
        for number in range(groups.tile.max() + 1):
            inside = np.flatnonzero(groups.tile == number)
            squares = np.square(distance[:, inside])
            place = np.exp((squares.min(axis=1, keepdims=True) - squares) / 2)
            place /= place.sum(axis=1, keepdims=True)
            known = expected[:, inside].max(axis=1) / expected.max()
            place[inside], known[inside] = np.eye(len(inside)), 1
            voted = place @ groups.together[np.ix_(inside, inside)] @ place.T
            favour += np.outer(known, known) * voted
            weight += 1 - np.outer(1 - known, 1 - known)
        total += favour / weight / len(groups.distances)
    pairs = groups.beside.sum(axis=1)
    share = groups.beside / (np.minimum(pairs[:, None], pairs) + 4)  # 4: few pairs say little
    return np.maximum(total, total + share * (groups.adjacent - total))


def walk(groups: Groups, across: float = 0.3, neighbors: int = 15, steps: int = 4) -> np.ndarray:
    """Random walk over groups that are together, alike, or adjacent: similarity of where it leads.

    It steps inside the tile, to the groups of other tiles with the most similar spectra, or, less
    often, across a border.
    """
    expected = np.where(groups.same, 0, expected_together(groups, "within-field"))
    least = -np.partition(-expected, neighbors - 1, axis=1)[:, neighbors - 1]
    alike = np.where(expected >= np.minimum(least[:, None], least), expected, 0)
    pixels = np.sqrt(np.outer(groups.size, groups.size))
    kinds = ((groups.together**3 * pixels, 1), (alike * pixels, 1), (groups.beside, across))
    graph = np.zeros(groups.same.shape)
    for weights, share in kinds:
        of_row = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        graph += share * groups.size[:, None] * weights / of_row
    graph += graph.T
    degree = graph.sum(axis=1)
    leads = np.linalg.matrix_power(graph / degree[:, None], steps) / np.sqrt(degree)
    leads /= np.linalg.norm(leads, axis=1, keepdims=True)
    return leads @ leads.T


VARIANTS = {"spectra": spectra, "votes": votes, "walk": walk}
CHOSEN = "votes"


def merged(similarity, size, K: int, *, ward: bool = False) -> np.ndarray:
    """Cut of the tree over the groups; as :func:`spectrawalk.consensus.tree.merge_order`."""
    weight, similarity = size.astype(float), similarity.copy()
    label = np.arange(len(size))

    def costs(i: int) -> np.ndarray:
        mean_size = weight[i] * weight / np.maximum(weight[i] + weight, 1e-300)
        row = -similarity[i] * mean_size if ward else (1 - similarity[i]) * mean_size**SIZE_POWER
        row[weight == 0] = np.inf
        row[i] = np.inf
        return row

    cost = np.stack([costs(i) for i in range(len(size))])
    for _ in range(len(size) - K):
        kept, dropped = sorted(int(i) for i in np.unravel_index(cost.argmin(), cost.shape))
        total = weight[kept] + weight[dropped]
        row = (weight[kept] * similarity[kept] + weight[dropped] * similarity[dropped]) / total
        if ward:  # distances from the mean of both
            row -= weight[kept] * weight[dropped] / total**2 * similarity[kept, dropped]
        similarity[kept], similarity[:, kept] = row, row
        weight[kept], weight[dropped] = total, 0.0
        label[label == dropped] = kept
        cost[dropped], cost[:, dropped] = np.inf, np.inf
        cost[kept] = costs(kept)
        cost[:, kept] = cost[kept]
    return np.unique(label, return_inverse=True)[1]


@cache
def patched(name: str, variant: str = CHOSEN, side: int = SIDES[0]) -> np.ndarray:
    groups = groups_of(name, side)
    similarity = VARIANTS[variant](groups)
    label = merged(similarity, groups.size, example(name).K, ward=variant == "spectra")
    return np.where(groups.image >= 0, label[groups.image], -1)


def show_routes() -> None:
    """Print overall accuracy, and ARI with the labels in memory."""
    drawn = [f"windows of {window}: part | OA | ARI" for window in WINDOWS]
    print(f"| scene | K | in memory: OA | {' | '.join(drawn)} | all: OA | ARI ", end="")
    print("| patched: OA | ARI |")
    print("|---" * 13 + "|")
    for name in (*PUBLISHED, *MADE):
        _, truth, K, _ = example(name)
        told = [name, f"{K}", f"{score(truth, in_memory(name)).oa:.3f}"]

        def tell(labels, name=name, truth=truth) -> list[str]:
            return [f"{score(truth, labels).oa:.3f}", f"{ari(in_memory(name), labels):.3f}"]

        for window in WINDOWS:
            labels, part = one_model(name, 1 / 4, window)
            told += [f"{part:.2f}", *tell(labels)]
        told += tell(one_model(name, 1)[0]) + tell(patched(name))
        print(f"| {' | '.join(told)} |", flush=True)


def show_variants() -> None:
    """Print overall accuracy / ARI; a scene that is one tile is left out."""
    names = (*PUBLISHED, *MADE)
    print(f"| side | variant | {' | '.join(names)} | mean ARI |")
    print("|---|---|" + "---|" * (len(names) + 1))
    for side in SIDES:
        several = [name for name in names if max(example(name).scene.shape) > side]
        best = [f"{most_frequent(name, side):.3f}" if name in several else "" for name in names]
        print(f"| {side} | best | {' | '.join(best)} | |", flush=True)
        for variant in VARIANTS:
            told, agreements = [""] * len(names), []
            for name in several:
                labels = patched(name, variant, side)
                agreements.append(ari(in_memory(name), labels))
                accuracy = score(example(name).truth, labels).oa
                told[names.index(name)] = f"{accuracy:.3f} / {agreements[-1]:.3f}"
            mean = np.mean(agreements)
            print(f"| {side} | {variant} | {' | '.join(told)} | {mean:.3f} |", flush=True)


def most_frequent(name: str, side: int) -> float:
    """Overall accuracy if each group had its most frequent class."""
    truth, image = example(name).truth, groups_of(name, side).image
    known = (truth > 0) & (image >= 0)
    counts = np.zeros((image.max() + 1, truth.max() + 1))
    np.add.at(counts, (image[known], truth[known]), 1)
    return counts.max(axis=1).sum() / counts.sum()


def show_seams() -> None:
    """Print ratios of how often labels change, and of the labels in memory at the same borders."""
    print("| scene | one model | in memory | patched | in memory |\n|---|---|---|---|---|")
    for name in MADE:
        rows, cols = example(name).scene.shape
        fixed = [np.arange(SIDES[0], length, SIDES[0]) for length in (rows, cols)]
        even = [borders(length, SIDES[0])[1:-1] for length in (rows, cols)]
        expected = in_memory(name)
        ratios = [
            at_borders(labels, where)
            for routes, where in (
                ((one_model(name, 1 / 4)[0], expected), fixed),
                ((patched(name), expected), even),
            )
            for labels in routes
        ]
        print(f"| {name} | {' | '.join(f'{each:.2f}' for each in ratios)} |", flush=True)


def at_borders(labels, where) -> float:
    """Share of changes in pairs across borders, divided by that in all other pairs.

    `where` are the first rows and the first columns after a border.
    """
    there, elsewhere = [], []
    for axis, firsts in enumerate(where):
        changes = np.moveaxis(np.diff(labels, axis=axis) != 0, axis, 0)
        there.append(changes[firsts - 1].ravel())
        elsewhere.append(np.delete(changes, firsts - 1, axis=0).ravel())
    return np.concatenate(there).mean() / np.concatenate(elsewhere).mean()


def show_large() -> None:
    """Print overall accuracy of both, and their agreement."""
    labels, part = one_model(LARGE, None)
    expected, truth = in_memory(LARGE), example(LARGE).truth
    print("| part | in tiles: OA | in memory: OA | ARI |\n|---|---|---|---|")
    print(
        f"| {part:.2f} | {score(truth, labels).oa:.3f} | {score(truth, expected).oa:.3f} "
        f"| {ari(expected, labels):.3f} |"
    )


PARTS = {
    "routes": show_routes,
    "variants": show_variants,
    "seams": show_seams,
    "large": show_large,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or list(PARTS)[:3]:
        print(f"\n## {part}\n", flush=True)
        PARTS[part]()
