"""Time and memory of the core: ``python benchmarks/core.py`` prints one JSON object a line.

Times are of this machine and this run. Compare them with each other, not with another run's.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time

FIT = """
import json, resource, sys, time
from spectrawalk import SRDL, progress, score
from spectrawalk.datasets import load_scene

scene = load_scene("salinas-a")
SRDL.from_paper("salinas-a").fit(scene.cube[:20, :20])  # compiles
began = {}
def listen(stage, done, total):
    began.setdefault(stage, [time.perf_counter(), 0.0])[1] = time.perf_counter()
start = time.perf_counter()
with progress.listen(listen):
    model = SRDL(n_clusters=6, radius=20, n_eigenpairs=6).fit(scene)
seconds = time.perf_counter() - start
print(json.dumps({
    "what": "SRDL on Salinas A, radius 20, after compilation",
    "seconds": round(seconds, 2),
    "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    "stages": {stage: round(last - first, 2) for stage, (first, last) in began.items()},
    "oa": round(score(scene.ground_truth, model.labels_).oa, 3),
}))
"""

SMALL = """
import sys, numpy
from spectrawalk.datasets import make_scene
numpy.save(sys.argv[1], make_scene((20, 20), n_classes=2).cube)
"""


def timed(what: str, command: list[str], repeat: int = 1) -> dict[str, object]:
    """Wall time of a command: the best of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return {"what": what, "seconds": round(best, 2)}


def main() -> None:
    python = sys.executable
    print(json.dumps(timed("bare Python start", [python, "-c", "pass"], repeat=5)))
    print(json.dumps(timed("import spectrawalk", [python, "-c", "import spectrawalk"], repeat=5)))
    print(json.dumps(timed("spectrawalk --help", [python, "-m", "spectrawalk", "--help"], 3)))
    subprocess.run([python, "-c", FIT], check=True)
    with tempfile.TemporaryDirectory() as folder:
        demo = [python, "-m", "spectrawalk", "demo", "-o", f"{folder}/demo"]
        print(json.dumps(timed("spectrawalk demo, kernels compiled", demo)))
        cube = f"{folder}/small.npy"
        subprocess.run([python, "-c", SMALL, cube], check=True)
        small = [python, "-m", "spectrawalk", "cluster", cube, "-k", "2", "-o", f"{folder}/small"]
        small += ["--no-report", "--overwrite"]
        subprocess.run(small, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(json.dumps(timed("second run, 400 pixels, from start to end", small, repeat=3)))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"what": "largest peak memory of the above", "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()
