"""Ways to the leading eigenpairs, side by side: ``python benchmarks/eigensolvers.py [SIDE ...]``.

Prints a Markdown table for the graphs of synthetic scenes of SIDE x SIDE pixels (r = 8, k = 100):
time relative to ours, largest relative error of 1 - lambda, and the angle between the subspaces.
PyAMG is compared if it is installed.
"""

import sys
import time
import warnings
from importlib.util import find_spec

import numpy as np
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import eigsh, lobpcg
from threadpoolctl import threadpool_limits

from spectrawalk.datasets import make_scene
from spectrawalk.prepare.pixels import take_pixels
from spectrawalk.prepare.scaling import normalize_spectra
from spectrawalk.srdl import graph, neighbors
from spectrawalk.srdl.eigensolver import leading_pairs

M = 20


def scene_graph(side: int) -> csr_array:
    pixels = take_pixels(make_scene((side, side), n_bands=50, n_classes=8))
    X = normalize_spectra(pixels.spectra, "pixel")
    index, d2 = neighbors.window_neighbors(X, pixels.grid.mask, 100, 8)
    return graph.weight_matrix(index, d2, graph.local_scales(d2, 1.0))


def symmetric_form(W: csr_array) -> csr_array:
    scale = diags_array(W.sum(axis=1) ** -0.5)
    return csr_array(scale @ W @ scale)


def arpack(W: csr_array) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = eigsh(
        symmetric_form(W), k=M + 1, which="LA", ncv=6 * M, tol=0, v0=np.ones(W.shape[0])
    )
    return values[-2::-1], vectors[:, -2::-1]


def shift_invert(W: csr_array) -> tuple[np.ndarray, np.ndarray]:
    L = (eye_array(W.shape[0]) - symmetric_form(W)).tocsc()
    values, vectors = eigsh(L, k=M + 1, sigma=-1e-4, v0=np.ones(W.shape[0]))
    return 1 - values[1:], vectors[:, 1:]


def lobpcg_pyamg(W: csr_array) -> tuple[np.ndarray, np.ndarray]:
    from pyamg import smoothed_aggregation_solver
    from scipy.sparse import csr_matrix

    L = csr_matrix(eye_array(W.shape[0]) - symmetric_form(W))
    hierarchy = smoothed_aggregation_solver(L + 1e-6 * csr_matrix(eye_array(W.shape[0])))
    start = np.random.default_rng(0).normal(size=(W.shape[0], M + 9))
    values, vectors = lobpcg(
        L, start, M=hierarchy.aspreconditioner(), largest=False, tol=1e-8, maxiter=200
    )
    order = np.argsort(values)[1 : M + 1]
    return 1 - values[order], vectors[:, order]


def ours(W: csr_array) -> tuple[np.ndarray, np.ndarray]:
    return leading_pairs(W, M)


def main(sides: list[int]) -> None:
    warnings.simplefilter("ignore")
    ways = {"coarse graph + block method (ours)": ours, "ARPACK": arpack}
    if find_spec("pyamg"):
        ways["LOBPCG + PyAMG"] = lobpcg_pyamg
    leading_pairs(scene_graph(40), M)  # compiles
    print("| pixels | way | time / ours | error of 1 - lambda | angle |")
    print("|---|---|---|---|---|")
    for side in sides:
        W = scene_graph(side)
        here = ways | ({"shift-invert": shift_invert} if side <= 64 else {})
        found, seconds = {}, {}
        with threadpool_limits(1, user_api="blas"):
            for name, way in here.items():
                start = time.perf_counter()
                found[name] = way(W)
                seconds[name] = time.perf_counter() - start
        exact, space = found["ARPACK"]
        first = next(iter(here))
        for name, (values, vectors) in found.items():
            error = np.max(np.abs(values - exact) / (1 - exact))
            angle = subspace_angles(vectors, space).max()
            ratio = seconds[name] / seconds[first]
            print(f"| {side**2:,} | {name} | {ratio:.2f} | {error:.0e} | {angle:.0e} |", flush=True)
        print(f"<!-- ours took {seconds[first]:.2f} s -->", flush=True)


if __name__ == "__main__":
    main([int(side) for side in sys.argv[1:]] or [64, 128, 256])
