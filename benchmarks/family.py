"""SRDL's successors on the scenes at hand: ``python benchmarks/family.py``.

Prints two Markdown tables: scores with the number of classes given, and how the overall accuracy
depends on parameters. Scenes that are missing are left out.
"""

import sys
from typing import Any

from spectrawalk import DVIC, MSRDL, S2DL, SRDL, Scene, score
from spectrawalk.datasets import load_scene
from spectrawalk.errors import SceneNotFoundError

SCENES = ("indian-pines-subset", "indian-pines", "salinas-a", "samson", "ksc-labelled")
VARIATIONS: tuple[tuple[type, dict[str, Any]], ...] = (
    (MSRDL, {}),
    (MSRDL, {"time_ratio": 1.5}),
    (MSRDL, {"time_ratio": 4.0}),
    (DVIC, {}),
    (DVIC, {"n_endmembers": 3}),
    (DVIC, {"n_endmembers": 5}),
    (DVIC, {"n_endmembers": 10}),
    (DVIC, {"n_endmembers": 20}),
    (S2DL, {}),
    (S2DL, {"radius": 8}),
    (S2DL, {"radius": 20}),
    (S2DL, {"n_neighbors": 50}),
    (S2DL, {"n_representatives": 5}),
)


def scenes() -> dict[str, Scene]:
    found = {}
    for name in SCENES:
        try:
            found[name] = load_scene(name)
        except SceneNotFoundError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def scores(kind: type, settings: dict[str, Any], scene: Scene) -> Any:
    truth = scene.ground_truth
    assert truth is not None
    n_classes = len(set(truth[truth > 0].tolist()))
    return score(truth, kind(n_clusters=n_classes, **settings).fit(scene).labels_)


def main() -> None:
    at_hand = scenes()
    print("| scene | method | OA | AA | kappa | NMI | ARI |")
    print("|---|---|---|---|---|---|---|")
    for name, scene in at_hand.items():
        for kind in (SRDL, MSRDL, DVIC, S2DL):
            found = scores(kind, {}, scene)
            values = (found.oa, found.aa, found.kappa, found.nmi, found.ari)
            cells = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {name} | {kind.__name__} | {cells} |", flush=True)
    print("\n| | " + " | ".join(at_hand) + " |")
    print("|---" * (1 + len(at_hand)) + "|")
    for kind, settings in VARIATIONS:
        title = ", ".join(f"{key}={value}" for key, value in settings.items()) or "defaults"
        cells = " | ".join(f"{scores(kind, settings, each).oa:.2f}" for each in at_hand.values())
        print(f"| {kind.__name__}, {title} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
