"""Each hasher against a slow, obvious one: float64, full matrices, plain loops, the same random draws."""

import math

import numpy as np
import pytest

from protocol.hashers.cross_modal.cca_itq import CCAITQ
from protocol.hashers.cross_modal.cvh import CVH
from protocol.hashers.dsh import DSH
from protocol.hashers.itq import ITQ
from protocol.hashers.lsh import LSH
from protocol.hashers.pca_rr import PCARR
from protocol.hashers.pcah import PCAH
from protocol.hashers.sh import SH
from protocol.hashers.sklsh import SKLSH
from protocol.hashers.sph import SpH


def mixture(n, d, seed):
    """Return float32 rows around five centres, with falling variances and an offset."""
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(5, d))
    X = (centres[rng.integers(0, 5, n)] + rng.normal(size=(n, d))) * np.linspace(2, 0.5, d) + 1.5
    return X.astype(np.float32)


TRAIN = mixture(151, 10, seed=0)
QUERY = mixture(40, 10, seed=1)
SEEDS = range(3)


def agree(hasher, slow, train=TRAIN):
    hasher.fit(train)
    for X in (train, QUERY):
        codes = hasher.transform(X)
        expected = slow(X.astype(np.float64))
        assert 0.05 < expected.mean() < 0.95
        np.testing.assert_array_equal(codes, expected)


def full_pca(train):
    """Return the mean and all components, from the singular value decomposition of the centred rows."""
    train = train.astype(np.float64)
    mean = train.mean(axis=0)
    components = np.linalg.svd(train - mean)[2].T
    for j in range(components.shape[1]):
        if components[abs(components[:, j]).argmax(), j] < 0:
            components[:, j] *= -1
    return mean, components


def gaussian_rotation(n_bits, rng):
    return np.linalg.svd(rng.standard_normal((n_bits, n_bits)))[0]


def itq_rotation(V, R, n_iter):
    """Alternate between the codes of V and the orthogonal matrix that brings V nearest to them."""
    for _ in range(n_iter):
        B = np.where(V @ R >= 0, 1.0, -1.0)
        U, _, At = np.linalg.svd(B.T @ V)
        R = At.T @ U.T
    return R


def slow_lsh(n_bits, seed):
    W = np.random.default_rng(seed).standard_normal((10, n_bits))
    return lambda X: np.array([[sum(x * W[:, j]) > 0 for j in range(n_bits)] for x in X])


def slow_pcah(n_bits):
    mean, W = full_pca(TRAIN)
    return lambda X: ((X - mean) @ W)[:, :n_bits] > 0


def slow_itq(n_bits, seed, n_iter):
    """Without an update, this is PCA with a random rotation."""
    mean, W = full_pca(TRAIN)
    R = gaussian_rotation(n_bits, np.random.default_rng(seed))
    R = itq_rotation((TRAIN - mean) @ W[:, :n_bits], R, n_iter)
    return lambda X: (X - mean) @ W[:, :n_bits] @ R > 0


def slow_sh(n_bits):
    mean, W = full_pca(TRAIN)
    n_components = min(n_bits, 10)
    V = (TRAIN - mean) @ W[:, :n_components]
    low, high = V.min(axis=0) - np.finfo(float).eps, V.max(axis=0) + np.finfo(float).eps
    modes = [np.zeros(n_components)]
    for i in range(n_components):
        for k in range(1, math.ceil((n_bits + 1) * (high - low)[i] / max(high - low))):
            modes.append(np.where(np.arange(n_components) == i, k, 0))
    modes.sort(key=lambda mode: sum((mode * np.pi / (high - low)) ** 2))
    chosen = modes[1 : n_bits + 1]

    def bits(X):
        waves = ((X - mean) @ W[:, :n_components] - low) * np.pi / (high - low)
        return np.array([[np.prod(np.sin(wave * mode + np.pi / 2)) > 0 for mode in chosen] for wave in waves])

    return bits


def slow_sklsh(n_bits, seed, gamma):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((10, n_bits)) * math.sqrt(gamma)
    phase = rng.uniform(0, 2 * math.pi, n_bits)
    threshold = math.sqrt(2) * rng.uniform(-1, 1, n_bits)

    def bit(x, j):
        return math.sqrt(2) * math.cos(x @ W[:, j] + phase[j]) + threshold[j] > 0

    return lambda X: np.array([[bit(x, j) for j in range(n_bits)] for x in X])


CASES = [
    *((LSH(12, seed=seed), slow_lsh(12, seed)) for seed in SEEDS),
    *((PCAH(n_bits), slow_pcah(n_bits)) for n_bits in (1, 6, 10)),
    *((PCARR(6, seed=seed), slow_itq(6, seed, 0)) for seed in SEEDS),
    *((ITQ(6, seed=seed, n_iter=n), slow_itq(6, seed, n)) for seed in SEEDS for n in (1, 50, 51)),
    *((SH(n_bits), slow_sh(n_bits)) for n_bits in (1, 6, 10, 25)),
    *((SKLSH(12, seed=seed, gamma=gamma), slow_sklsh(12, seed, gamma)) for seed in SEEDS for gamma in (0.01, 1.0)),
]


@pytest.mark.parametrize(("hasher", "slow"), CASES, ids=[str(hasher) for hasher, _ in CASES])
def test_projections(hasher, slow):
    agree(hasher, slow)


def slow_spheres(X, centres):
    """Return the radii, the overlaps, and each row's distance to each centre."""
    distances = np.array([[math.dist(x, c) for c in centres] for x in X])
    radii = [sorted(distances[:, j])[len(X) // 2 - 1] for j in range(len(centres))]
    overlaps = {}
    for i in range(len(centres)):
        for j in range(len(centres)):
            overlaps[i, j] = sum(d[i] <= radii[i] and d[j] <= radii[j] for d in distances)
    return radii, overlaps


def slow_sph(X, n_bits, seed, epsilon_mean=0.10, epsilon_std=0.15):
    """Return centres, radii and number of updates."""
    n = len(X)
    rng = np.random.default_rng(seed)
    centres = np.array([X[rng.choice(n, 5, replace=False)].mean(axis=0) for _ in range(n_bits)])
    radii, overlaps = slow_spheres(X, centres)
    for n_iter in range(1, 201):
        moves = np.zeros_like(centres)
        for i in range(n_bits):
            for j in range(n_bits):
                if i != j:
                    moves[i] += 0.5 * (overlaps[i, j] - n / 4) / (n / 4) * (centres[i] - centres[j])
        centres = centres + moves / n_bits
        radii, overlaps = slow_spheres(X, centres)
        pairs = np.array([overlaps[i, j] for i in range(n_bits) for j in range(i + 1, n_bits)])
        if np.mean(abs(pairs - n / 4)) <= epsilon_mean * n / 4 and np.std(pairs) <= epsilon_std * n / 4:
            return centres, radii, n_iter
    raise RuntimeError("the reference did not converge")


@pytest.mark.parametrize(
    ("n", "seed", "options"),
    [(150, 0, {}), (151, 1, {}), (151, 2, {}), (151, 1, {"epsilon_mean": 0.05, "epsilon_std": 0.3})],
)
def test_sph(n, seed, options):
    train = TRAIN[:n]
    centres, radii, n_iter = slow_sph(train.astype(np.float64), 6, seed, **options)
    hasher = SpH(6, seed=seed, **options).fit(train)
    assert hasher.fit_record_ == {"n_iter": n_iter, "converged": True}
    # The row that determines a radius lies on its sphere: a margin is added for the rounding of this reference.
    spheres = list(zip(centres, radii, strict=True))
    agree(hasher, lambda X: np.array([[math.dist(x, c) <= r + 1e-9 for c, r in spheres] for x in X]), train)


def slow_k_means(X, centres, n_iter):
    k = len(centres)
    for _ in range(n_iter):
        labels = [min(range(k), key=lambda c: math.dist(x, centres[c])) for x in X]
        distances = [math.dist(x, centres[label]) for x, label in zip(X, labels, strict=True)]
        for cluster in range(k):
            if cluster not in labels:
                spare = [row for row in range(len(X)) if labels.count(labels[row]) > 1]
                labels[max(spare, key=lambda row: distances[row])] = cluster
        centres = [np.mean([x for x, label in zip(X, labels, strict=True) if label == c], axis=0) for c in range(k)]
    return centres, [labels.count(c) / len(X) for c in range(k)]


def slow_dsh(X, n_bits, seed, alpha=1.5, n_neighbors=3, n_iter=3):
    """Return normals and thresholds."""
    n_clusters = math.floor(alpha * n_bits + 0.5)
    start = np.random.default_rng(seed).choice(len(X), n_clusters, replace=False)
    centres, weights = slow_k_means(X, [X[row] for row in start], n_iter)
    pairs = set()
    for i in range(n_clusters):
        others = sorted((j for j in range(n_clusters) if j != i), key=lambda j: math.dist(centres[i], centres[j]))
        pairs.update((min(i, j), max(i, j)) for j in others[:n_neighbors])
    planes = []
    for i, j in sorted(pairs):
        u = centres[i] - centres[j]
        t = u @ (centres[i] + centres[j]) / 2
        p = sum(w for w, c in zip(weights, centres, strict=True) if c @ u > t)
        score = round(min(p, 1 - p) / max(p, 1 - p), 9)  # equal splits are equal whatever the order of the sum
        planes.append((-score, math.dist(centres[i], centres[j]), u, t))
    planes.sort(key=lambda plane: plane[:2])
    return [plane[2:] for plane in planes[:n_bits]]


# Five rows, each of them many times: 12 starting rows can't be distinct, so clusters are empty from the start.
FEW = np.repeat(TRAIN[:40], [10, 10, 10, 10, 10] + 35 * [1], axis=0)


@pytest.mark.parametrize(
    ("n_bits", "seed", "options", "train"),
    [
        *((n_bits, seed, {}, TRAIN) for n_bits in (1, 6, 12) for seed in SEEDS),
        *((8, 0, options, TRAIN) for options in ({"alpha": 2.0}, {"n_neighbors": 1}, {"n_iter": 1})),
        (8, 0, {"alpha": 1.0, "n_neighbors": 5}, TRAIN),
        (12, 1, {}, FEW),
    ],
)
def test_dsh(n_bits, seed, options, train):
    planes = slow_dsh(train.astype(np.float64), n_bits, seed, **options)
    hasher = DSH(n_bits, seed=seed, **options)
    agree(hasher, lambda X: np.array([[x @ u > t for u, t in planes] for x in X]), train)


PAIRS = (TRAIN[:, :4] @ np.random.default_rng(5).normal(size=(4, 3)) + mixture(151, 3, seed=2)).astype(np.float32)


def plain_kernel(X, train, rows):
    """Return the centred kernel of X, entry by entry; each anchor has its own width."""
    phi = []
    for anchor in train[rows].astype(np.float64):
        scale = 2 * np.mean([math.dist(x, anchor) for x in train]) ** 2
        of_train, of_x = ([math.exp(-(math.dist(x, anchor) ** 2) / scale) for x in some] for some in (train, X))
        phi.append(np.array(of_x) - np.mean(of_train))
    return np.array(phi).T


def plain_canonical(X, Y, n_directions, regularisation):
    """Return canonical directions and correlations from the eigenvectors of one nonsymmetric matrix of one modality."""
    Cxx, Cyy, Cxy = X.T @ X / len(X), Y.T @ Y / len(Y), X.T @ Y / len(X)
    Cxx += regularisation * np.trace(Cxx) / len(Cxx) * np.eye(len(Cxx))
    Cyy += regularisation * np.trace(Cyy) / len(Cyy) * np.eye(len(Cyy))
    squared, x = np.linalg.eig(np.linalg.inv(Cxx) @ Cxy @ np.linalg.inv(Cyy) @ Cxy.T)
    order = np.argsort(-squared.real)[:n_directions]
    x, correlations = x.real[:, order], np.sqrt(squared.real[order])
    y = np.linalg.inv(Cyy) @ Cxy.T @ x / correlations
    scale = np.sqrt(np.einsum("ij,ik,kj->j", x, Cxx, x) + np.einsum("ij,ik,kj->j", y, Cyy, y))
    sign = np.sign([column[abs(column).argmax()] for column in x.T])
    return x / scale * sign, y / scale * sign, correlations


def pairs_agree(hasher, x, y, rows):
    hasher.fit(TRAIN, PAIRS)
    query, database = mixture(60, 10, seed=3), mixture(60, 3, seed=4)
    for found, projected in (
        (hasher.transform(query), plain_kernel(query, TRAIN, rows) @ x),
        (hasher.transform_database(database), plain_kernel(database, PAIRS, rows) @ y),
    ):
        clear = abs(projected) > 1e-4 * abs(projected).max()  # the bits of the others depend on rounding
        assert clear.mean() > 0.98
        np.testing.assert_array_equal(found[clear], projected[clear] > 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_cvh_solves_the_eigenproblem_of_the_plain_kernels_and_cca_itq_rotates_both_sides_as_itq_rotates_one(seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(151)[:20]
    X, Y = plain_kernel(TRAIN, TRAIN, rows), plain_kernel(PAIRS, PAIRS, rows)
    x, y, correlations = plain_canonical(X, Y, 6, 0.01)
    hasher = CVH(6, seed=seed, n_anchors=20)
    pairs_agree(hasher, x, y, rows)
    np.testing.assert_allclose(hasher.fit_record_["correlations"], correlations, rtol=1e-3)
    V = np.vstack([X @ (x * correlations), Y @ (y * correlations)])
    R = itq_rotation(V, gaussian_rotation(6, rng), 50)
    pairs_agree(CCAITQ(6, seed=seed, n_anchors=20), x * correlations @ R, y * correlations @ R, rows)
