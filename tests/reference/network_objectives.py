"""The losses of the networks, and their gradients, on fixed inputs.

Each function transcribes the equations of a paper as loops over pairs, triplets, queries and bins. Its options and the
defaults are those of the hasher. Gradients are central differences. Nothing here comes from the package.
"""

import functools
import itertools
from math import cosh, exp, log, log2, sqrt, tanh

import numpy as np
from scipy.integrate import quad

N_BITS, EPOCH, EPOCHS = 6, 2, 5
OUTPUTS = np.random.default_rng(28).normal(scale=0.8, size=(7, N_BITS))
CLASSES = np.eye(3, dtype=int)[[0, 1, 0, 2, 1, 0, 2]]
LABELS = {
    "classes": CLASSES,
    "two levels": np.column_stack([CLASSES, CLASSES[:, 0] == 1, CLASSES[:, 0] == 0]).astype(int),
    "one class": np.ones((7, 1), dtype=int),
    "all different": np.eye(7, dtype=int),
}
"""0/1 labels of the rows: a class each; a class and a superclass, of which the second contains two classes; ..."""
CENTRES = np.random.default_rng(29).random((7, N_BITS)) < 0.5


def similar(y, i, j):
    return bool((y[i] & y[j]).any())


def mean(values):
    return sum(values) / max(1, len(values))


def to_signs(U):
    """Return the mean over the rows of ||b - u||^2, where b is the sign of u."""
    return mean([sum((np.sign(x) - x) ** 2 for x in u) for u in U])


def dpsh(U, y, quantisation=0.01):
    """Li et al. 2016, eq. 3 and 6, per pair and per row."""
    terms = []
    for i, j in itertools.combinations(range(len(U)), 2):
        theta = U[i] @ U[j] / 2
        terms.append(-(similar(y, i, j) * theta - log(1 + exp(theta))))
    return mean(terms) + quantisation * to_signs(U)


def dtsh(U, y, margin=0.5, quantisation=0.0044):
    """Wang et al. 2016, eq. 4 and 6, per triplet and per row."""
    terms = []
    for q, p, n in itertools.permutations(range(len(U)), 3):
        if similar(y, q, p) and not similar(y, q, n):
            gap = U[q] @ U[p] / 2 - U[q] @ U[n] / 2 - margin * N_BITS
            terms.append(-(gap - log(1 + exp(gap))))
    return mean(terms) + quantisation * to_signs(U)


def hashnet(U, y, alpha=10, beta=7.14):
    """Cao et al. 2017, eq. 2, 4 and 5, with the weights of the batch."""
    H = np.tanh(sqrt(1 + (beta**2 - 1) * EPOCH / (EPOCHS - 1)) * U)
    pairs = list(itertools.combinations(range(len(U)), 2))
    n_similar = sum(similar(y, i, j) for i, j in pairs)
    total = 0
    for i, j in pairs:
        product, s = alpha / N_BITS * (H[i] @ H[j]), similar(y, i, j)
        c = (y[i] & y[j]).sum() / (y[i] | y[j]).sum() if s else 1
        weight = c * len(pairs) / (n_similar if s else len(pairs) - n_similar)
        total += weight * (log(1 + exp(product)) - s * product)
    return total / len(pairs)


def csq(U, y):
    """Yuan et al. 2020, eq. 5 and 6, with fixed centres; L_C as a mean over bits."""
    central, quantized = [], []
    for u, centre in zip(U, CENTRES, strict=True):
        h = [1 / (1 + exp(-x)) for x in u]
        central.append(mean([-log(p) if c else -log(1 - p) for p, c in zip(h, centre, strict=True)]))
        quantized.append(sum(log(cosh(abs(2 * p - 1) - 1)) for p in h))
    return mean(central) + 1e-4 * mean(quantized)


def mihash(U, y, bin_width=2, slope=1):
    """Cakir et al. 2017: minus I(D; C), from the joint distribution of bins and neighbourhood."""
    H = 2 / (1 + np.exp(-slope * U)) - 1
    centres = np.arange(0, N_BITS + bin_width, bin_width).tolist()
    information = []
    for q in range(len(U)):
        joint = {(centre, c): 0.0 for centre in centres for c in (False, True)}
        for i in set(range(len(U))) - {q}:
            distance = (N_BITS - H[q] @ H[i]) / 2
            for centre in centres:
                share = max(0, 1 - abs(distance - centre) / bin_width)
                joint[centre, similar(y, q, i)] += share / (len(U) - 1)
        value = 0
        for (centre, c), p in joint.items():
            p_d = joint[centre, False] + joint[centre, True]
            p_c = sum(share for (_, other), share in joint.items() if other == c)
            value += p * log2(p / (p_d * p_c)) if p else 0
        information.append(value)
    return -mean(information)


def to_corners(b):
    return 0.01 * sum(abs(abs(x) - 1) for x in b)


def deep_supervised(U, y):
    """MLGAP's paper, eq. 16, per pair."""
    terms = []
    for i, j in itertools.combinations(range(len(U)), 2):
        squared = sum((a - b) ** 2 for a, b in zip(U[i], U[j], strict=True))
        pair = squared if similar(y, i, j) else max(2 * N_BITS - squared, 0)
        terms.append(pair / 2 + to_corners(U[i]) + to_corners(U[j]))
    return mean(terms)


def buffer_zone(U, y, margin=2):
    """MLGAP's paper, eq. 20 and 25, per pair; each pair in the zone of its number of shared labels."""
    terms = []
    for i, j in itertools.combinations(range(len(U)), 2):
        distance, shared = sum(abs(a - b) for a, b in zip(U[i], U[j], strict=True)), sum(y[i] & y[j])
        if shared:
            near, far = np.multiply([(1 / 6, 1 / 3), (1 / 12, 1 / 6)][shared - 1], N_BITS)
            pair = max(near - distance, 0) + max(distance - far, 0)
        else:
            pair = max(margin * N_BITS - distance, 0)
        terms.append(pair / 2 + to_corners(U[i]) + to_corners(U[j]))
    return mean(terms)


def deep_squared(U, y, margin=0):
    """RAMAP's paper, eq. 4, second line, and J(H; m)."""
    H = np.tanh(1.005 ** (400 * EPOCH / (EPOCHS - 1)) * U)
    terms = {True: [], False: []}
    for i, j in itertools.combinations(range(len(U)), 2):
        distance, s = (N_BITS - H[i] @ H[j]) / 2, similar(y, i, j)
        terms[s].append((margin - distance) ** 2 if s else (N_BITS - distance) ** 2)
    return mean(terms[True]) + mean(terms[False])


def m_dsh(U, y, margin=4):
    return deep_squared(U, y, margin)


def talr(U, y, gain_of, score):
    """He et al. 2018: minus the mean over queries of `score`, a function of soft histograms and sorted gains."""
    scores = []
    for q in range(len(U)):
        rows = [i for i in range(len(U)) if i != q]
        gains = {i: gain_of(sum(y[q] & y[i])) for i in rows}
        total, gained = [0.0] * (N_BITS + 1), [0.0] * (N_BITS + 1)
        for i in rows:
            distance = (N_BITS - sum(tanh(a) * tanh(b) for a, b in zip(U[q], U[i], strict=True))) / 2
            for d in range(N_BITS + 1):
                share = max(0.0, 1 - abs(distance - d))
                total[d] += share
                gained[d] += gains[i] * share
        if any(gains.values()):
            scores.append(score(gained, total, sorted(gains.values(), reverse=True)))
    return -mean(scores)


def ap_s(c_plus, c, gains):
    """Eq. 62."""
    terms = (c_plus[d] * (2 * sum(c_plus[:d]) + c_plus[d] + 1) / (2 * sum(c[:d]) + c[d] + 1) for d in range(len(c)))
    return sum(terms) / sum(gains)


def ap_r(c_plus, c, gains):
    """Eq. 11, with the limits of the midpoint rule and the bounded share that `protocol.hashers` states."""
    value = 0
    for d in range(len(c)):
        if c[d]:
            before, share = sum(c[:d]), max(c_plus[d] - 1, 0) / max(c[d] - 1, 1)
            harmonic = quad(lambda t: 1 / t, before + 0.5, before + c[d] + 0.5, epsabs=1e-14)[0] / c[d]
            value += c_plus[d] * (share + (sum(c_plus[:d]) + 1 - share * (before + 1)) * harmonic)
    return value / sum(gains)


def discount(rank):
    return 1 / log2(rank + 1)


def ideal(gains):
    return sum(gain * discount(rank) for rank, gain in enumerate(gains, start=1))


def dcg_s(gained, c, gains):
    """Eq. 66."""
    return sum(gained[d] / log2(sum(c[:d]) + c[d] / 2 + 1.5) for d in range(len(c))) / ideal(gains)


def dcg_r(gained, c, gains):
    """Eq. 12, with the limits of the midpoint rule."""
    value = 0
    for d in range(len(c)):
        if c[d]:
            start = sum(c[:d]) + 0.5
            value += gained[d] / c[d] * quad(discount, start, start + c[d], epsabs=1e-14)[0]
    return value / ideal(gains)


def binary(level):
    return float(level > 0)


def graded(level):
    return 2.0**level - 1


def talr_ap_network(U, y, relaxation="simplified"):
    return talr(U, y, binary, {"simplified": ap_s, "integral": ap_r}[relaxation])


def talr_ndcg_network(U, y, relaxation="simplified"):
    return talr(U, y, graded, {"simplified": dcg_s, "integral": dcg_r}[relaxation])


HASHERS = (
    *(dpsh, dtsh, hashnet, csq, mihash, deep_supervised, buffer_zone, deep_squared, m_dsh),
    *(talr_ap_network, talr_ndcg_network),
)
LOSSES = {hasher.__name__: hasher for hasher in HASHERS}


def gradient(loss, U, step=1e-5):
    """Return central differences of fourth order."""
    slopes = np.empty_like(U)
    for place in np.ndindex(U.shape):
        at = {}
        for k in (-2, -1, 1, 2):
            moved = U.copy()
            moved[place] += k * step
            at[k] = loss(moved)
        slopes[place] = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)
    return slopes


def computed(hasher, labels, **options):
    """Return the loss and its gradient by the outputs."""
    loss = functools.partial(LOSSES[hasher], y=LABELS[labels], **options)
    return loss(OUTPUTS), gradient(loss, OUTPUTS)
