"""M-SRDL, D-VIC and S2DL written out with n x n arrays, from their papers' definitions alone.

Nothing of the package is used. Everything is done in the plainest way, so that these are slow and
take memory with the square of the pixels. Graphs must be connected.
"""

import itertools

import numpy as np


def scaled(cube):
    X = np.asarray(cube, dtype=float).reshape(-1, cube.shape[-1])
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def squared_distances(X):
    return np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)


def nearest(d2, allowed, k):
    """The k nearest allowed pixels of each, by (distance, index)."""
    index = np.arange(len(d2))
    lists = []
    for pixel in range(len(d2)):
        candidates = index[allowed[pixel] & (index != pixel)]
        lists.append(candidates[np.lexsort((candidates, d2[pixel, candidates]))][:k])
    return lists


def eigenpairs(d2, allowed, k, M):
    """Leading pairs of the random walk on the symmetric k-nearest-neighbour graph, sigma = 1."""
    n = len(d2)
    W = np.zeros((n, n))
    for pixel, others in enumerate(nearest(d2, allowed, k)):
        W[pixel, others] = np.exp(-d2[pixel, others])
    W = np.maximum(W, W.T)
    reached = np.arange(n) == 0
    for _ in range(n):
        reached |= (W[reached] > 0).any(axis=0)
    assert reached.all(), "the graph is not connected"
    degree = W.sum(axis=1)
    values, vectors = np.linalg.eigh(W / np.sqrt(np.outer(degree, degree)))
    leading = np.argsort(-values)[:M]
    phi = vectors[:, leading] * np.sqrt(degree.sum() / degree)[:, None]
    return values[leading], phi


def density(d2, k_p):
    """Kernel density from the k_p nearest other spectra; the scale is 1/20 of the mean distance."""
    n = len(d2)
    scale = np.sqrt(d2).sum() / (n * (n - 1)) / 20
    nearest_d2 = np.sort(d2 + np.diag(np.full(n, np.inf)), axis=1)[:, :k_p]
    p = np.exp(-nearest_d2 / scale**2).sum(axis=1)
    return p / p.sum()


def climb(psi, weight):
    """Nearest pixel of larger weight in diffusion distance, the distance, and the order."""
    n = len(psi)
    apart = np.sqrt(squared_distances(psi))
    order = np.argsort(-weight, kind="stable")
    parent, rho = np.full(n, -1), np.empty(n)
    rho[order[0]] = apart[order[0]].max()
    for place in range(1, n):
        pixel, above = order[place], order[:place]
        parent[pixel] = above[apart[pixel, above].argmin()]
        rho[pixel] = apart[pixel, above].min()
    return order, parent, rho, apart


def drops(score):
    ordered = np.sort(score)[::-1]
    ordered = ordered[ordered > 0]
    return ordered[:-1] / ordered[1:]


def spectral_labels(order, parent, modes):
    """Every pixel has the label of its parent."""
    labels = np.full(len(order), -1)
    labels[modes] = np.arange(len(modes))
    for pixel in order:
        if labels[pixel] < 0:
            labels[pixel] = labels[parent[pixel]]
    return labels


def consensus_labels(order, apart, modes, shape, radius):
    """Two stages with a vote of the labelled pixels around."""
    labels = np.full(len(order), -1)
    labels[modes] = np.arange(len(modes))
    place = {pixel: index for index, pixel in enumerate(order)}
    rows, cols = np.divmod(np.arange(len(order)), shape[1])
    for stage, pixel in itertools.product((1, 2), order):
        if labels[pixel] >= 0:
            continue
        above = [other for other in order[: place[pixel]] if labels[other] >= 0]
        spectral = labels[above[int(apart[pixel, above].argmin())]]
        around = (np.abs(rows - rows[pixel]) <= radius) & (np.abs(cols - cols[pixel]) <= radius)
        votes = np.bincount(labels[around & (labels >= 0)], minlength=len(modes))
        most = votes.max()
        if stage == 1:
            agreed = votes.argmax() if most > 0 and (votes == most).sum() == 1 else None
            if agreed in (None, spectral):
                labels[pixel] = spectral
        else:
            labels[pixel] = votes.argmax() if 2 * most > votes.sum() else spectral
    return labels


def window(shape, radius):
    rows, cols = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    far = np.maximum(np.abs(rows[:, None] - rows), np.abs(cols[:, None] - cols))
    return far <= radius


def variation_of_information(a, b):
    """H(a | b) + H(b | a)."""
    total = 0.0
    for i, j in itertools.product(np.unique(a), np.unique(b)):
        both = np.mean((a == i) & (b == j))
        if both:
            total -= both * (np.log(both / np.mean(a == i)) + np.log(both / np.mean(b == j)))
    return total


def msrdl(cube, *, radius, k, M, k_p, consensus, n_clusters=None, most=30):
    """Labels, times, and the number of clusters of each time."""
    shape, X = cube.shape[:2], scaled(cube)
    d2 = squared_distances(X)
    values, phi = eigenpairs(d2, window(shape, radius), k, M)
    p = density(d2, k_p)
    times, found = [1.0], []
    while 2 * np.sqrt((values[1:] ** (2 * times[-1]) * phi[:, 1:] ** 2).sum(axis=1)).max() > 1e-5:
        times.append(2 * times[-1])
    for time in times:
        order, _, rho, apart = climb(values**time * phi, p)
        K = n_clusters or 1 + int(drops(p * rho)[:most].argmax())
        modes = np.argsort(-p * rho, kind="stable")[:K]
        found.append(consensus_labels(order, apart, modes, shape, consensus))
    numbers = np.array([labels.max() + 1 for labels in found])
    real = [i for i, K in enumerate(numbers) if n_clusters or 2 <= K < len(X) / 2]
    total = [sum(variation_of_information(found[i], found[j]) for j in real) for i in real]
    best = real[int(np.argmin(np.round(total, 9)))]
    return found[best].reshape(shape), np.array(times), numbers, times[best]


def zeta_of(p, purity):
    a, b = p / p.max(), purity / purity.max()
    return 2 * a * b / (a + b)


def fractions(x, endmembers):
    """Best non-negative combination, by trying every set of endmembers; divided by its sum."""
    best, best_error = None, np.inf
    for size in range(1, len(endmembers) + 1):
        for chosen in map(list, itertools.combinations(range(len(endmembers)), size)):
            part, *_ = np.linalg.lstsq(endmembers[chosen].T, x, rcond=None)
            error = np.square(part @ endmembers[chosen] - x).sum()
            if (part >= 0).all() and error < best_error - 1e-15:
                best, best_error = np.zeros(len(endmembers)), error
                best[chosen] = part
    return best / best.sum()


def dvic(cube, endmembers, *, k, M, k_p, time, n_clusters):
    shape, X = cube.shape[:2], scaled(cube)
    raw = np.asarray(cube, dtype=float).reshape(len(X), -1)
    d2 = squared_distances(X)
    purity = np.array([fractions(x, endmembers).max() for x in raw])
    zeta = zeta_of(density(d2, k_p), purity)
    values, phi = eigenpairs(d2, np.ones_like(d2, dtype=bool), k, M)
    order, parent, rho, _ = climb(values**time * phi, zeta)
    modes = np.argsort(-zeta * rho, kind="stable")[:n_clusters]
    return spectral_labels(order, parent, modes).reshape(shape), modes, purity


def s2dl(cube, region, *, representatives, radius, k, M, k_p, time, n_clusters):
    shape, X = cube.shape[:2], scaled(cube)
    d2 = squared_distances(X)
    p = density(d2, k_p)
    chosen = np.sort(
        np.concatenate(
            [
                np.flatnonzero(region == each)[
                    np.argsort(-p[region == each], kind="stable")[:representatives]
                ]
                for each in np.unique(region)
            ]
        )
    )
    inside = window(shape, radius)[np.ix_(chosen, chosen)]
    values, phi = eigenpairs(d2[np.ix_(chosen, chosen)], inside, k, M)
    order, parent, rho, _ = climb(values**time * phi, p[chosen])
    modes = np.argsort(-p[chosen] * rho, kind="stable")[:n_clusters]
    of_chosen = spectral_labels(order, parent, modes)
    labels = np.empty(len(X), dtype=int)
    for each in np.unique(region):
        votes = np.bincount(of_chosen[region[chosen] == each], minlength=n_clusters)
        labels[region == each] = votes.argmax()
    labels[chosen[modes]] = np.arange(n_clusters)
    return labels.reshape(shape)
