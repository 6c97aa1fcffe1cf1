"""One measurement, in a process of its own: ``python benchmarks/measure.py JOB SCENE``.

Prints one JSON object: seconds, peak memory in bytes, and what belongs to the job. Compilation is
done on a small image first and not counted.
"""

import json
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

BANDS, RADIUS, NEIGHBORS, CLUSTERS, PAIRS = 200, 8, 100, 8, 21


def load(name: str) -> np.ndarray:
    """Return the cube of a scene: a published one, or synthetic-SIDE."""
    from spectrawalk.datasets import load_scene, make_scene

    if name.startswith("synthetic-"):
        side = int(name.removeprefix("synthetic-"))
        return make_scene((side, side), n_bands=BANDS, n_classes=CLUSTERS).cube
    return load_scene(name).cube


def spectra(cube: np.ndarray) -> np.ndarray:
    """Unit spectra, as a table."""
    X = cube.reshape(-1, cube.shape[2]).astype(float)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def timed_fit(model, cube: np.ndarray) -> tuple[float, dict[str, float]]:
    """Seconds of a fit, in all and by stage."""
    from spectrawalk import progress

    stages: dict[str, float] = {}
    before, last = "", time.perf_counter()

    def listen(stage: str, done: int, total: int) -> None:
        nonlocal before, last
        now = time.perf_counter()
        begins = stage != before and done == 0
        name = "overhead" if begins else stage  # what lies between two stages
        stages[name] = stages.get(name, 0.0) + now - last
        before, last = stage, now

    start = time.perf_counter()
    with progress.listen(listen):
        model.fit(cube)
    return time.perf_counter() - start, stages


def fit(cube: np.ndarray) -> dict:
    """SRDL, stage by stage."""
    from spectrawalk import SRDL
    from spectrawalk.estimators import forecast

    def model() -> SRDL:
        return SRDL(n_clusters=CLUSTERS, radius=RADIUS, n_neighbors=NEIGHBORS)

    model().fit(cube[:30, :30])
    seconds, stages = timed_fit(model(), cube)
    rows, cols, bands = cube.shape
    told = forecast.PROGRAM + cube.nbytes + model().forecast(rows * cols, bands).memory
    return {"seconds": seconds, "stages": stages, "forecast": told}


def stages(cube: np.ndarray, repeats: int = 3, **options: int) -> dict:
    """Best time of each stage of SRDL, with what every version of the package has."""
    from spectrawalk import SRDL

    options = {"radius": RADIUS, "n_neighbors": NEIGHBORS, **options}
    SRDL(n_clusters=2, **options).fit(cube[:30, :30])
    fits = [timed_fit(SRDL(n_clusters=CLUSTERS, **options), cube) for _ in range(repeats)]
    best = {stage: min(times.get(stage, 0.0) for _, times in fits) for stage in fits[0][1]}
    return {"seconds": min(seconds for seconds, _ in fits), "stages": best}


def compilation(cube: np.ndarray) -> dict:
    """Processor time of the compiler in a first fit and prediction, with nothing compiled yet."""
    from spectrawalk import SRDL

    def run() -> float:
        start = time.process_time()
        SRDL(n_clusters=2, radius=2, n_neighbors=8).fit(cube[:30, :30]).predict(cube[:30, :30])
        return time.process_time() - start

    first, second = run(), run()
    return {"seconds": first - second, "stages": {"compiler": first - second}}


def scikit_learn(name: str, cube: np.ndarray) -> dict:
    """One of scikit-learn's clusterings, on all cores that it uses by itself."""
    from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering

    makers = {
        "spectral-clustering": lambda: SpectralClustering(
            CLUSTERS, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=0, n_jobs=2
        ),
        "kmeans": lambda: KMeans(CLUSTERS, n_init=10, random_state=0),
        "hdbscan": lambda: HDBSCAN(n_jobs=2, copy=False),
    }
    X = spectra(cube)
    start = time.perf_counter()
    makers[name]().fit(X)
    return {"seconds": time.perf_counter() - start}


def dense_eigenpairs(n: int, place: tuple, weight: np.ndarray) -> tuple:
    """Eigenpairs of the normalised graph and its degrees, by NumPy alone: of all of it."""
    W = np.zeros((n, n))
    W[place] = weight
    W = np.maximum(W, W.T)
    degree = W.sum(axis=1)
    W *= degree**-0.5
    W *= (degree**-0.5)[:, None]
    values, vectors = np.linalg.eigh(W)
    return values[-PAIRS:], vectors[:, -PAIRS:], degree


def sparse_eigenpairs(n: int, place: tuple, weight: np.ndarray) -> tuple:
    """The same with SciPy's sparse arrays and ARPACK."""
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import eigsh

    W = csr_array((weight, place), shape=(n, n))
    W = W.maximum(W.T)
    degree = W.sum(axis=1)
    S = diags_array(degree**-0.5) @ W @ diags_array(degree**-0.5)
    return *eigsh(S.tocsr(), k=PAIRS, ncv=6 * PAIRS, v0=np.ones(n)), degree


def plain_numpy(cube: np.ndarray, eigenpairs=dense_eigenpairs) -> dict:
    """The algorithm as one would write it down, without a kernel of ours."""
    start = time.perf_counter()
    X = spectra(cube)
    n, (rows, cols) = len(X), cube.shape[:2]
    number = np.arange(n).reshape(rows, cols)
    source, target, weight = [], [], []
    for pixel in range(n):
        row, col = divmod(pixel, cols)
        top, left = max(0, row - RADIUS), max(0, col - RADIUS)
        window = number[top : row + RADIUS + 1, left : col + RADIUS + 1].ravel()
        window = window[window != pixel]
        d2 = np.square(X[window] - X[pixel]).sum(axis=1)
        near = np.argsort(d2, kind="stable")[:NEIGHBORS]
        source.append(np.full(len(near), pixel))
        target.append(window[near])
        weight.append(np.exp(-d2[near]))
    place = np.concatenate(source), np.concatenate(target)
    values, vectors, degree = eigenpairs(n, place, np.concatenate(weight))
    coordinates = values**30 * vectors / np.sqrt(degree / degree.sum())[:, None]

    squares = np.square(X).sum(axis=1)
    total, near = 0.0, np.empty((n, 20))
    for first in range(0, n, 500):  # as many as fit into memory
        d2 = squares[first : first + 500, None] + squares - 2 * X[first : first + 500] @ X.T
        total += np.sqrt(np.maximum(d2, 0)).sum()
        near[first : first + 500] = np.sort(d2, axis=1)[:, 1:21]
    bandwidth = total / n**2 / 20
    p = np.exp(-np.maximum(near, 0) / bandwidth**2).sum(axis=1)
    ranking = np.argsort(-p, kind="stable")
    sorted_coordinates = coordinates[ranking]
    rho, parent = np.zeros(n), np.zeros(n, dtype=int)
    for rank in range(1, n):
        d2 = np.square(sorted_coordinates[:rank] - sorted_coordinates[rank]).sum(axis=1)
        parent[rank] = d2.argmin()
        rho[rank] = np.sqrt(d2[parent[rank]])
    rho[0] = np.sqrt(np.square(sorted_coordinates - sorted_coordinates[0]).sum(axis=1).max())
    labels = np.full(n, -1)  # by rank
    labels[np.argsort(-p[ranking] * rho)[:CLUSTERS]] = np.arange(CLUSTERS)
    image = np.full((rows, cols), -1)
    image.ravel()[ranking] = labels
    for stage in (1, 2):
        for rank in range(n):
            if labels[rank] >= 0:
                continue
            known = np.flatnonzero(labels[:rank] >= 0)
            d2 = np.square(sorted_coordinates[known] - sorted_coordinates[rank]).sum(axis=1)
            own = labels[known[d2.argmin()]] if len(known) else 0
            row, col = divmod(ranking[rank], cols)
            around = image[max(0, row - 3) : row + 4, max(0, col - 3) : col + 4]
            votes = np.bincount(around[around >= 0], minlength=CLUSTERS)
            if stage == 2:
                own = votes.argmax() if votes.any() else own
            elif votes.any() and votes.argmax() != own:
                continue
            labels[rank] = image[row, col] = own
    return {"seconds": time.perf_counter() - start}


def products(cube: np.ndarray) -> dict:
    """Windowed neighbours, and the bare products of each tile with what its windows reach."""
    from threadpoolctl import threadpool_limits

    from spectrawalk.kernels.windows import TILE
    from spectrawalk.srdl import neighbors

    X = spectra(cube)
    rows, cols, bands = cube.shape
    mask = np.ones((rows, cols), dtype=bool)
    padded = np.pad(X.reshape(cube.shape), ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)))
    reach = TILE + 2 * RADIUS

    def row_of_tiles(row: int) -> None:
        for col in range(0, cols, TILE):
            around = padded[row : row + reach, col : col + reach]
            tile = around[RADIUS : RADIUS + TILE, RADIUS : RADIUS + TILE]
            tile.reshape(-1, bands) @ around.reshape(-1, bands).T

    neighbors.window_neighbors(X, mask, NEIGHBORS, RADIUS)
    seconds, bare = [], []
    for _ in range(5):
        start = time.perf_counter()
        neighbors.window_neighbors(X, mask, NEIGHBORS, RADIUS)
        seconds.append(time.perf_counter() - start)
        # As many threads as the kernel has, one in each product.
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(2) as threads:
            start = time.perf_counter()
            list(threads.map(row_of_tiles, range(0, rows, TILE)))
            bare.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "products": min(bare)}


def main(job: str, scene: str) -> None:
    cube = load(scene)
    jobs = {
        "fit": fit,
        "plain-numpy": plain_numpy,
        "numpy-and-scipy": partial(plain_numpy, eigenpairs=sparse_eigenpairs),
        "products": products,
        "stages": stages,
        "bridges": partial(stages, radius=2, n_neighbors=6),
        "compilation": compilation,
    }
    found = jobs[job](cube) if job in jobs else scikit_learn(job, cube)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows, cols, bands = cube.shape
    print(json.dumps({"pixels": rows * cols, "bands": bands, "peak": peak, **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
