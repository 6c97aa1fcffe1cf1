"""Every reading of the paper, scored: ``python benchmarks/readings.py [SCENE]`` prints Markdown.

The paper leaves open whether the graph is symmetric, what counts as a consensus, and what a pixel
does while its nearest denser pixel has no label. Ground truth is used here to compare the readings
with the paper's rows, and nowhere else.
"""

import itertools
import sys

from spectrawalk import DL, DLSS, SRDL, score
from spectrawalk.datasets import load_scene
from spectrawalk.labeling import OPEN_PARENT, STAGE1_RULES


def main(name: str = "indian-pines-subset") -> None:
    scene = load_scene(name)
    print(f"| method on {name} | graph | stage 1 | open parent | own vote | OA | AA | kappa |")
    print("|---|---|---|---|---|---|---|---|")
    for method, symmetrize in itertools.product((SRDL, DLSS, DL), (None, "max")):
        settings = method.from_paper(name).get_params() | {"symmetrize": symmetrize}
        if method is DL:
            readings = [{}]
        else:
            readings = [
                {"stage1": stage1, "open_parent": parent, "own_vote": own}
                for stage1, parent, own in itertools.product(
                    STAGE1_RULES, OPEN_PARENT, (False, True)
                )
            ]
        model = method(**settings).fit(scene)
        for reading in readings:
            # The readings concern the labels alone, so that one fit serves them all.
            model.set_params(**reading)
            result = score(scene.ground_truth, model.relabel(settings["n_clusters"]))
            print(
                f"| {method.__name__} | {'symmetric' if symmetrize else 'directed'} "
                f"| {reading.get('stage1', '')} | {reading.get('open_parent', '')} "
                f"| {'yes' if reading.get('own_vote') else ''} "
                f"| {result.oa:.3f} | {result.aa:.3f} | {result.kappa:.3f} |"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
