"""Time and memory, from a thousand to a million pixels, and beside other programs.

``python benchmarks/speed.py`` runs everything (about 40 minutes on two cores) and writes
``speed.json``, ``speed.md`` and ``speed.png`` to docs/benchmarks; ``--only`` runs a part, and keeps
what the file has of the others. Each measurement is a process of its own. Times are of one machine
and one run: compare them with each other, not with another run's.

``python benchmarks/speed.py --against SRC`` compares this commit with the package in another source
folder, stage by stage, and prints a Markdown table: both are measured in turn, and the best time of
each stage counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "benchmarks"
SIDES = (64, 128, 256, 512, 1000)
BANDS = 200
LIMIT = 600.0
"""Seconds after which another program is ended; its time is then at least that."""


def measure(*job: str, limit: float | None = None) -> dict:
    """Run one measurement of measure.py in a process of its own, for `limit` seconds at most."""
    print("  " + " ".join(job), end=" ", flush=True)
    command = [sys.executable, str(HERE / "measure.py"), *job]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"ended after {limit:.0f} s", flush=True)
        return {"seconds": limit, "ended": True}
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"{found['seconds']:.1f} s", flush=True)
    return found


def scaling() -> dict:
    """Stage by stage, over sizes."""
    return {"fits": [measure("fit", f"synthetic-{side}") for side in SIDES]}


OTHERS = {
    "indian-pines": ("spectral-clustering", "kmeans", "hdbscan"),
    "synthetic-256": ("spectral-clustering", "kmeans"),
    "synthetic-142": ("plain-numpy", "numpy-and-scipy", "spectral-clustering", "kmeans", "hdbscan"),
}


def others(scene: str) -> dict:
    """Side by side with what a user would run instead."""
    runs = {name: measure(name, scene, limit=LIMIT) for name in OTHERS[scene]}
    return {"fit": measure("fit", scene), **runs}


def products() -> dict:
    """Windowed neighbours beside the bare matrix products of the same tiles."""
    return measure("products", "synthetic-256")


def best_times(job: str, scene: str, source: Path, before: dict[str, float]) -> dict[str, float]:
    """Best time of each stage, of this measurement and those before."""
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"PYTHONPATH": str(source)}
        if job == "compilation":
            environment["NUMBA_CACHE_DIR"] = empty
        command = [sys.executable, str(HERE / "measure.py"), job, scene]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    times = {"total": found["seconds"], **found["stages"]}
    return {stage: min(time, before.get(stage, time)) for stage, time in times.items()}


def compare(other: Path, sides: list[int], rounds: int) -> None:
    """Print the times of this commit and of another source folder, and their ratios."""
    sources = {"this": HERE.parent / "src", "other": other.resolve()}
    jobs = [("compilation", "synthetic-30")]
    jobs += [(job, f"synthetic-{side}") for side in sides for job in ("stages", "bridges")]
    print("| job | scene | stage | this, s | other, s | this / other |\n|---|---|---|---|---|---|")
    for job, scene in jobs:
        best: dict[str, dict[str, float]] = {name: {} for name in sources}
        for _ in range(rounds):
            for name, source in sources.items():
                best[name] = best_times(job, scene, source, best[name])
        for stage, seconds in best["this"].items():
            theirs = best["other"].get(stage, 0.0)
            ratio = f"{seconds / theirs:.2f}" if theirs > 0 else ""
            print(f"| {job} | {scene} | {stage} | {seconds:.3f} | {theirs:.3f} | {ratio} |")
        sys.stdout.flush()


def slope(pixels: list[int], seconds: list[float]) -> float:
    """Slope of log time over log size."""
    return float(np.polyfit(np.log(pixels), np.log(np.maximum(seconds, 1e-3)), 1)[0])


def slopes(fits: list[dict]) -> dict[str, float]:
    """Slopes from 16 thousand pixels up, of the total and of every stage."""
    large = [fit for fit in fits if fit["pixels"] >= 16_000]
    pixels = [fit["pixels"] for fit in large]
    found = {"total": slope(pixels, [fit["seconds"] for fit in large])}
    for stage in large[-1]["stages"]:
        found[stage] = slope(pixels, [fit["stages"].get(stage, 0) for fit in large])
    return found


def table(results: dict) -> str:
    """Everything as Markdown."""
    text = ["<!-- written by benchmarks/speed.py -->", "# Speed", "", results["machine"], ""]
    if "scaling" in results:
        fits = results["scaling"]["fits"]
        stages = list(fits[-1]["stages"])
        text += [
            f"## From 4 thousand to a million pixels ({BANDS} bands, r = 8, k = 100), in seconds",
            "",
            "| pixels | total | " + " | ".join(stages) + " | peak memory | forecast |",
            "|---" * (len(stages) + 4) + "|",
        ]
        for fit in fits:
            times = " | ".join(f"{fit['stages'].get(stage, 0):.2f}" for stage in stages)
            text.append(
                f"| {fit['pixels']:,} | {fit['seconds']:.1f} | {times} "
                f"| {fit['peak'] / 1e9:.2f} GB | {fit['forecast'] / 1e9:.2f} GB |"
            )
        found = slopes(fits)
        times = " | ".join(f"{found[stage]:.2f}" for stage in stages)
        text += [f"| log-log slope from 16 k | {found['total']:.2f} | {times} | | |", ""]
        text += ["![time over size](speed.png)", ""]
    for scene in OTHERS:
        if scene not in results:
            continue
        runs = results[scene]
        ours = runs["fit"]["seconds"]
        text += [
            f"## {scene}, {runs['fit']['pixels']:,} pixels, {runs['fit']['bands']} bands",
            "",
            "| program | seconds | times SRDL | peak memory |",
            "|---|---|---|---|",
        ]
        for name, run in runs.items():
            label = "SRDL" if name == "fit" else name
            more = "more than " if run.get("ended") else ""
            peak = f"{run['peak'] / 1e9:.2f} GB" if "peak" in run else ""
            text.append(
                f"| {label} | {more}{run['seconds']:.1f} | {more}{run['seconds'] / ours:.1f} "
                f"| {peak} |"
            )
        text.append("")
    if "products" in results:
        found = results["products"]
        text += [
            "## Neighbours beside bare matrix products",
            "",
            f"Exact neighbours of {found['pixels']:,} pixels: {found['seconds']:.2f} s; the matrix "
            f"products of the same tiles in double precision alone: {found['products']:.2f} s; "
            f"ratio {found['seconds'] / found['products']:.2f}.",
            "",
        ]
    return "\n".join(text)


def plot(fits: list[dict], path: Path) -> None:
    """Times over sizes, both logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    pixels = [fit["pixels"] for fit in fits]
    axes.loglog(pixels, [fit["seconds"] for fit in fits], "k-o", lw=2, label="total")
    for stage in fits[-1]["stages"]:
        times = [max(fit["stages"].get(stage, 0), 1e-3) for fit in fits]
        axes.loglog(pixels, times, "-o", ms=3, lw=1, label=stage)
    guide = np.array(pixels, dtype=float)
    axes.loglog(guide, fits[-1]["seconds"] * guide / guide[-1], "k:", lw=1, label="slope 1")
    axes.set(xlabel="pixels", ylabel="seconds")
    axes.legend(fontsize=8, ncols=2)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    parts = {"scaling": scaling, "products": products}
    parts |= {scene: partial(others, scene) for scene in OTHERS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=parts, action="append")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--against", type=Path, metavar="SRC", help="compare with that package")
    parser.add_argument("--sides", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.against:
        compare(options.against, options.sides, options.rounds)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "speed.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name in options.only or parts:
        print(name, flush=True)
        results[name] = parts[name]()
        results["machine"] = f"Measured on {time.strftime('%Y-%m-%d')}, two cores."
        file.write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "speed.md").write_text(table(results))
    if "scaling" in results:
        plot(results["scaling"]["fits"], options.out / "speed.png")


if __name__ == "__main__":
    main()
