"""Claims of *Hashing as Tie-Aware Learning to Rank* that require no data; the others are in `talr_experiments`.

The relaxations are those that our hashers maximise, and those printed in the paper where they differ. They are compared
with the metrics of this package.
"""

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.counting import HammingCounts, count
from protocol.hashers.talr.objectives import (
    Objective,
    Ranked,
    ap_r,
    ap_s,
    binary_gains,
    dcg_r,
    dcg_s,
    graded_gains,
    mean_objective,
)
from protocol.papers._claim import AS_PRINTED, Evidence, Paper, Values
from protocol.papers._rankings import histograms, random_codes, small_ties, value
from protocol.truth.relevance import LabelRelevance

PAPER = Paper("Hashing as Tie-Aware Learning to Rank")

_REPAIRED = "with limits moved by half an item, C + 1/2 (the midpoint rule)"

Floats = NDArray[np.float64]


@PAPER.claim(
    "S3-01",
    place="eq. 1",
    statement="The Hamming distance of b-bit codes of -1 and +1 is (b - their product) / 2.",
    expected={"pairs for which this is false": 0},
)
def distance_from_product() -> Values:
    """Compare all pairs of random codes of 1, 12 and 64 bits."""
    wrong = 0
    for n_bits in (1, 12, 64):
        bits = np.random.default_rng(n_bits).random((2, 9, n_bits)) < 0.5
        query, database = np.where(bits, 1.0, -1.0)
        distances = codes.hamming_distance(codes.pack(bits[0]), codes.pack(bits[1]))
        wrong += int((distances != (n_bits - query @ database.T) / 2).sum())
    return {"pairs for which this is false": wrong}


def _counts_of(ties: list[list[int]]) -> HammingCounts:
    """Return the counts of ties, given the levels of their items; level 0 is not relevant."""
    levels = sorted({level for tie in ties for level in tie} - {0}) or [1]
    return histograms([len(tie) for tie in ties], {v: [[tie.count(v) for tie in ties]] for v in levels})


def _orders(ties: list[list[int]]) -> Iterator[list[int]]:
    """Yield the levels in rank order for every order of tied items."""
    for chosen in itertools.product(*(list(itertools.permutations(tie)) for tie in ties)):
        yield [level for tie in chosen for level in tie]


def _precisions(levels: list[int], cutoff: int) -> float:
    """Return the sum of the precisions at the ranks of relevant items up to a cutoff."""
    found = np.cumsum(np.array(levels) > 0)
    return sum(found[t] / (t + 1) for t in range(cutoff) if levels[t] > 0)


def _gain(levels: list[int], cutoff: int) -> float:
    return sum((2**level - 1) / np.log2(rank + 2) for rank, level in enumerate(levels[:cutoff]))


def _largest_difference(
    rankings: Iterator[list[list[int]]], metric: str, of_order: Callable[[list[int], int], float], *, cutoffs: bool
) -> tuple[float, int]:
    """Return the largest difference of a metric from its mean over the orders of ties, and the number of cases."""
    worst, cases = 0.0, 0
    for ties in rankings:
        items = sorted((level for tie in ties for level in tie), reverse=True)
        if not items or items[0] == 0:
            continue
        orders, counts = list(_orders(ties)), _counts_of(ties)
        for cutoff in range(1, len(items) + 1) if cutoffs else [len(items)]:
            expected = float(np.mean([of_order(order, cutoff) for order in orders]))
            name = metric.replace("@K", f"@{cutoff}" if cutoffs else "")
            worst, cases = max(worst, abs(value(counts, name) - expected)), cases + 1
    return worst, cases


def _binary() -> Iterator[list[list[int]]]:
    return small_ties(2, 3, (0, 1))


@PAPER.claim(
    "S3-02",
    place="eq. 6, 17-19, 57",
    statement="The closed form of tie-aware AP is the mean of AP over all orders within the ties.",
    expected={"largest difference": 0},
    within=1e-12,
    note="The slope (n+ - 1) / (n - 1) is 0/0 for a tie of one item and must be 0; empty distances contribute nothing; "
    "without relevant items, AP is undefined. The text mentions none of these cases.",
    errata=("E3-01",),
)
def tie_aware_ap() -> Values:
    """Score every order of all rankings of up to two items at each of three distances, and of up to four at one."""
    rankings = itertools.chain(_binary(), small_ties(4, 1, (0, 1)))
    worst, cases = _largest_difference(rankings, "mAP", _ap, cutoffs=False)
    return {"largest difference": worst, "rankings": cases}


def _ap(levels: list[int], cutoff: int) -> float:
    return _precisions(levels, cutoff) / max(1, sum(level > 0 for level in levels))


@PAPER.claim(
    "S3-03",
    place="eq. 17",
    statement="The closed form is also the mean over orders for a cutoff inside a tie, if divided by all relevant "
    "items.",
    expected={"largest difference": 0},
    within=1e-12,
    note="It is not the mean if divided by the relevant items above the cutoff: for two relevant and two irrelevant "
    "tied items, the mean of that AP@2 is 2/3, but the mean sum of precisions divided by the mean number of relevant "
    "items is 5/6.",
    errata=("E3-13",),
)
def tie_aware_ap_at_a_cutoff() -> Values:
    """Score rankings of up to two items at each of three distances at every cutoff by mAP@K[all]; and an example."""
    worst, cases = _largest_difference(_binary(), "mAP@K[all]", _ap, cutoffs=True)
    tied = histograms([4, 0], [2, 0])
    return {
        "largest difference": worst,
        "cases": cases,
        "example, divided by the relevant items above the cutoff": value(tied, "mAP@2[retrieved]"),
        "example, ratio of the means": value(tied, "mAP@2[all]") * 2 / 1,
    }


@PAPER.claim(
    "S3-04",
    place="eq. 7, 20-23",
    statement="Tie-aware DCG is the mean over all orders within ties, also with a cutoff.",
    expected={"largest difference": 0},
    within=1e-12,
)
def tie_aware_dcg() -> Values:
    """Score all rankings of up to two items of level 0, 1 or 3 at each of two distances, at every cutoff, by nDCG@K."""

    def normalised(levels: list[int], cutoff: int) -> float:
        return _gain(levels, cutoff) / _gain(sorted(levels, reverse=True), cutoff)

    worst, cases = _largest_difference(small_ties(2, 2, (0, 1, 3)), "nDCG@K", normalised, cutoffs=True)
    return {"largest difference": worst, "cases": cases}


def _random_histograms(n: int, *, most: int = 6, n_distances: int = 5) -> list[tuple[NDArray, NDArray]]:
    """Return the numbers of items and relevant items at each distance; at least one item is relevant and one is not."""
    rng = np.random.default_rng(0)
    found: list[tuple[NDArray, NDArray]] = []
    while len(found) < n:
        items = rng.integers(0, most + 1, n_distances)
        relevant = rng.binomial(items, 0.4)
        if 0 < relevant.sum() < items.sum():
            found.append((items, relevant))
    return found


def _ap_r_as_printed(items: NDArray, relevant: NDArray) -> float:
    """Return AP_r of eq. 11."""
    before, relevant_before = np.cumsum(items) - items, np.cumsum(relevant) - relevant
    total = np.float64(0)
    for n, m, s, p in zip(*map(np.float64, (items, relevant, before, relevant_before)), strict=True):
        if m > 0:
            slope = (m - 1) / (n - 1)
            total += m * slope + m / n * (p + 1 - slope * (s + 1)) * np.log((s + n) / s)
    return float(total / relevant.sum())


def _relaxed(objective: Objective, gain: NDArray, total: NDArray, best: float = 1.0) -> float:
    """Return the objective of one query from its gain and its number of items at each distance."""
    return float(_ranked(objective, gain, total, best).value[0])


def _ranked(objective: Objective, gain: NDArray, total: NDArray, best: float = 1.0) -> Ranked:
    return objective(np.array([gain], np.float64), np.array([total], np.float64), np.array([best]))


@PAPER.claim(
    "S3-05",
    place="eq. 11, 29, 54",
    statement="AP_r, with a logarithm instead of the sum over a tie, is a continuous version of tie-aware AP.",
    expected={"histograms, of 500, for which it is infinite or undefined": 0},
    note="No item is ranked before the first non-empty distance, where the logarithm of C / 0 is infinite; for a tie "
    "of one item, the slope is 0/0. The smallest example is a relevant and an irrelevant item at distance 0: AP is "
    "0.75, AP_r is infinite. With limits moved by half an item, and slope 0 for a single item, it is always finite.",
    errata=("E3-02", "E3-04"),
)
def continuous_ap() -> Evidence:
    """Compute AP_r for 500 random histograms of five distances; where it is finite, compare it with tie-aware mAP."""

    def repaired(items: NDArray, relevant: NDArray) -> float:
        return _relaxed(ap_r, relevant, items, relevant.sum())

    return _finite({AS_PRINTED: _ap_r_as_printed, _REPAIRED: repaired}, _tie_aware_ap)


def _tie_aware_ap(items: NDArray, relevant: NDArray) -> float:
    return value(histograms(items, relevant), "mAP")


def _finite(
    readings: dict[str, Callable[[NDArray, NDArray], float]], exact: Callable[[NDArray, NDArray], float]
) -> Evidence:
    """Return, for each reading, how often a relaxation is not finite, its largest error otherwise, and an example."""
    cases, two_tied = _random_histograms(500), (np.array([2, 0]), np.array([1, 0]))
    expected = np.array([exact(*case) for case in cases])
    found = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, relaxed in readings.items():
            values = np.array([relaxed(*case) for case in cases])
            finite = np.isfinite(values)
            found[name] = {
                "histograms, of 500, for which it is infinite or undefined": int((~finite).sum()),
                "largest difference elsewhere": np.abs(values - expected)[finite].max(initial=0.0),
                "two items tied first, one relevant": relaxed(*two_tied),
                "exact value": exact(*two_tied),
            }
    return Evidence(found)


@PAPER.claim(
    "S3-06",
    place="eq. 12, 30-32",
    statement="DCG_r, with an integral instead of the sum over a tie, is a continuous version of tie-aware DCG.",
    expected={"histograms, of 500, for which it is infinite or undefined": 0},
    note="The integral of dt / ln t starts at C + 1. At the first non-empty distance, before which no item is ranked, "
    "this is 1, where the integral diverges. The smallest example is a relevant and an irrelevant item at distance 0. "
    "With limits moved by half an item, it is finite. The paper calls the logarithmic integral from 0 Li; usually, Li "
    "starts at 2, and li at 0.",
    errata=("E3-03",),
)
def continuous_dcg() -> Evidence:
    """Compute DCG_r for 500 random histograms with gain 1; where it is finite, compare it with tie-aware DCG."""
    return _finite(
        {
            AS_PRINTED: _dcg_r_as_printed,
            _REPAIRED: lambda items, relevant: _relaxed(dcg_r, relevant, items),
        },
        _tie_aware_dcg,
    )


def _tie_aware_dcg(items: NDArray, relevant: NDArray) -> float:
    """Return tie-aware DCG with gain 1: nDCG times the DCG of the best order."""
    return value(histograms(items, relevant), "nDCG") * _gain([1] * int(relevant.sum()), int(relevant.sum()))


def _dcg_r_as_printed(items: NDArray, relevant: NDArray) -> float:
    """Return DCG_r of eq. 12 with gain 1."""
    from scipy.special import expi

    until = np.cumsum(items) + 1
    filled = relevant > 0
    integral = expi(np.log(until[filled])) - expi(np.log((until - items)[filled]))  # li(x) = Ei(ln x)
    return float(np.log(2) * (relevant[filled] / items[filled] * integral).sum())


@PAPER.claim(
    "S3-07",
    place="eq. 27, 33-37",
    statement="The sum of 1/t over a tie of n ranks after rank a, up to b = a + n, is about ln(b / a), with an error "
    "of the order of n / (2 a b).",
    expected={"ties where the error differs by more than 1 / (12 a^2)": 0, "ties where the sum is larger": 0},
    note="The text calls this the midpoint rule, but it is the rule of the right end, which is always above the sum. "
    "According to the text, it has no error for a tie of one item; this is only true of the sum itself.",
    errata=("E3-04",),
)
def harmonic_sum() -> Values:
    """Sum all ties of up to 60 items after up to 60, and some large ones."""
    a, n = (grid.ravel() for grid in np.meshgrid(np.arange(1, 61), np.arange(1, 61)))
    a, n = np.append(a, [100, 10**6 - 50]), np.append(n, [900, 50])
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, 10**6 + 1)))
    b = a + n
    error = np.log(b / a) - (harmonic[b] - harmonic[a])
    return {
        "ties where the error differs by more than 1 / (12 a^2)": int(
            (np.abs(error - n / (2 * a * b)) > 1 / (12 * a.astype(float) ** 2)).sum()
        ),
        "ties where the sum is larger": int((error <= 0).sum()),
        "largest error": error.max(),
    }


@PAPER.claim(
    "S3-08",
    place="eq. 59-62",
    statement="AP_s, with the terms c+ / N+ (C+ before + C+ after + 1) / (C before + C after + 1), is AP if there are "
    "no ties.",
    expected={"largest difference without ties": 0},
    within=1e-12,
    note="With ties, it is neither an upper nor a lower bound of tie-aware AP.",
)
def simplified_ap() -> Values:
    """Compare all rankings of six untied items with mAP; and 500 random histograms with ties."""
    untied = [np.array(signs) for signs in np.ndindex(*[2] * 6) if sum(signs)]
    apart = [_relaxed(ap_s, r, np.ones(6), r.sum()) - value(histograms(np.ones(6, int), r), "mAP") for r in untied]
    errors = [_relaxed(ap_s, r, n, r.sum()) - _tie_aware_ap(n, r) for n, r in _random_histograms(500)]
    return {
        "largest difference without ties": max(map(abs, apart)),
        "smallest and largest error with ties": [min(errors), max(errors)],
    }


@PAPER.claim(
    "S3-09",
    place="eq. 64-66",
    statement="DCG_s, in which each tie has the discount of its middle rank, is never above tie-aware DCG.",
    expected={"histograms, of 500, for which it is above": 0},
)
def simplified_dcg() -> Values:
    """Compare 500 random histograms, gain 1, with nDCG times the DCG of the best order."""
    below = [_tie_aware_dcg(n, r) - _relaxed(dcg_s, r, n) for n, r in _random_histograms(500)]
    return {
        "histograms, of 500, for which it is above": sum(gap < -1e-12 for gap in below),
        "largest gap": max(below),
    }


def _slope(of: Callable[[Floats], float], at: Floats) -> Floats:
    """Return the partial derivatives by central differences."""
    step = 1e-5
    moves = step * np.eye(at.size).reshape(at.size, *at.shape)
    return np.array([(of(at + move) - of(at - move)) / (2 * step) for move in moves]).reshape(at.shape)


def _error_of_slope(objective: Objective, gain_of_level: float) -> float:
    """Return the largest difference of an objective's derivatives from finite differences.

    It is computed for 20 random soft histograms of six distances, with irrelevant items in row 0 and items of one level
    in row 1.
    """
    worst = 0.0
    for seed in range(20):
        soft = np.random.default_rng(seed).uniform(0.1, 3, (2, 6))

        def of(counts: Floats) -> Ranked:
            return _ranked(objective, gain_of_level * counts[1], counts.sum(axis=0))

        ranked = of(soft)
        closed = np.stack([ranked.by_total[0], gain_of_level * ranked.by_gain[0] + ranked.by_total[0]])
        worst = max(worst, np.abs(_slope(lambda counts: float(of(counts).value[0]), soft) - closed).max())
    return worst


@PAPER.claim(
    "S3-10",
    place="eq. 71-73, 76",
    statement="The derivatives of AP_s by the soft counts are as printed; those of later terms, 2 c+ (C- before + C- "
    "after) / (N+ (C before + C after + 1)^2), do not depend on the distance of the count.",
    expected={"largest difference from finite differences": 0},
    within=1e-7,
    note="The derivative of a later term by a count of irrelevant items is twice that of the term of the same "
    "distance. The text states independence for d >= l, but it is only true for d > l; the vectors have b + 1 entries, "
    "not b; and the released code lacks the factor 2.",
    errata=("E3-05", "E3-06", "E3-10"),
)
def slope_of_ap_s() -> Values:
    """Differentiate numerically at 20 random soft histograms of six distances, by both levels."""
    return {"largest difference from finite differences": _error_of_slope(ap_s, 1.0)}


@PAPER.claim(
    "S3-11",
    place="eq. 66, its gradient",
    statement="The derivative of DCG_s by a soft count of level v at distance l is its gain divided by the discount "
    "there, less half of the loss of the term at l and the full losses of later terms.",
    expected={"largest difference from finite differences": 0},
    within=1e-7,
)
def slope_of_dcg_s() -> Values:
    """Differentiate numerically at 20 random soft histograms of six distances with the levels 0 and 2."""
    return {"largest difference from finite differences": _error_of_slope(dcg_s, 3.0)}


def _triangle(distance: Floats, centre: Floats) -> Floats:
    """Return the shares of items, by their distances, in the bin at `centre` of a soft histogram (eq. 14, width 1)."""
    return np.maximum(0, 1 - np.abs(distance - centre))


def _value_of(objective: Callable[[Floats], tuple[float, NDArray[np.floating]]], phi: Floats) -> float:
    return objective(phi.T)[0]


@PAPER.claim(
    "S3-12",
    place="eq. 38-53",
    statement="The Jacobian of a minibatch's objective by its codes is - Phi / (2 M) times the sum over distances and "
    "levels of A B + B A.",
    expected={"largest difference from finite differences": 0},
    within=1e-6,
    note="There are b + 1 distances; the equations print b. The sum is over d, not over l as printed.",
    errata=("E3-05", "E3-06"),
)
def minibatch_jacobian() -> Values:
    """Differentiate AP_s numerically at five random minibatches of seven real-valued codes of four bits."""
    worst = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        phi, labels = rng.uniform(-0.95, 0.95, (4, 7)), rng.integers(0, 3, 7)
        gains = (labels[:, None] == labels) & ~np.eye(7, dtype=bool)

        objective = functools.partial(mean_objective, gains=gains.astype(float), best=gains.sum(axis=1), objective=ap_s)
        numeric = _slope(functools.partial(_value_of, objective), phi)
        closed = objective(phi.T)[1].T
        worst = max(worst, np.abs(numeric - closed).max())
    return {"largest difference from finite differences": worst}


@PAPER.claim(
    "S3-13",
    place="eq. 14 and 15",
    statement="The soft histogram with width 1 has the total weight 1 for every item, and equals the hard histogram at "
    "integer distances.",
    expected={"largest error of the total weight": 0, "largest difference from the hard histogram": 0},
    within=1e-12,
    note="With a smaller width, the total weight is below 1; with a larger width, above 1.",
)
def soft_histogram() -> Values:
    """Compute the total weight of 1,000 distances between 0 and 8, and compare the counts of random codes."""
    masses = _triangle(np.linspace(0, 8, 1000)[:, None], np.arange(9.0)).sum(axis=1)
    query, database, relevance = random_codes(0, 8)
    counts = count(query, database, 8, {"class": relevance})["class"]
    distances = codes.hamming_distance(query, database).astype(float)
    soft = _triangle(distances[..., None], np.arange(9.0)).sum(axis=1)
    return {
        "largest error of the total weight": np.abs(masses - 1).max(),
        "largest difference from the hard histogram": np.abs(soft - counts.retrieved).max(),
    }


_BATCHES = {"classes that overlap": 0.5, "classes apart": 1.0}
"""Kinds of minibatches, with the scale of the centres of classes."""


@PAPER.claim(
    "X-11",
    place="appendix F",
    statement="The gradients of the simplified objectives, AP_s and DCG_s, have nearly the same direction as those of "
    "the original relaxations, AP_r and DCG_r.",
    expected={
        f"{name}, {n_bits} bits, {kind}: 1 - cosine": 0.1
        for name in ("AP", "DCG")
        for n_bits in (12, 48)
        for kind in _BATCHES
    },
    relation="<=",
    note="The appendix compares performance (X-12), not gradients, without a number; we read nearly the same as a mean "
    "cosine of 0.9. With separated classes and 48 bits, the ranking is close to perfect, and little remains to be "
    "learned. The original relaxations have the limits of the midpoint rule, without which they are infinite (S3-05, "
    "S3-06).",
)
def gradients_of_simplified() -> Values:
    """Compare the gradients by the codes of three random minibatches of 128 codes around the centres of ten classes."""
    found = {}
    for name, objectives, gains_of in (("AP", (ap_s, ap_r), binary_gains), ("DCG", (dcg_s, dcg_r), graded_gains)):
        for n_bits, (kind, size) in itertools.product((12, 48), _BATCHES.items()):
            both = [_both(objectives, gains_of, n_bits, size, seed) for seed in range(3)]
            found[f"{name}, {n_bits} bits, {kind}: 1 - cosine"] = 1 - float(np.mean([cosine for cosine, _ in both]))
            found[f"{name}, {n_bits} bits, {kind}: simplified objective"] = float(np.mean([value for _, value in both]))
    return found


def _both(
    objectives: tuple[Objective, Objective],
    gains_of: Callable[[NDArray[np.int64]], tuple[NDArray, NDArray]],
    n_bits: int,
    size: float,
    seed: int,
) -> tuple[float, float]:
    """Return the cosine of the gradients of two objectives at a random minibatch, and the value of the first."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, 128)
    batch = np.tanh(size * rng.standard_normal((10, n_bits))[labels] + rng.standard_normal((128, n_bits)))
    shared = (labels[:, None] == labels) & ~np.eye(128, dtype=bool)
    gains, best = gains_of(shared.astype(np.int64))
    (reached, one), (_, other) = (mean_objective(batch, gains, best, objective) for objective in objectives)
    cosine = (one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum())
    return float(cosine), reached


@PAPER.claim(
    "S3-19",
    place="section 5.3",
    statement="LabelMe's affinities 1, 2, 5 and 10 have the gains 1, 3, 31 and 1023.",
    expected={"gains": [1, 3, 31, 1023]},
    within=1e-9,
    note="The released code stores affinities in eight bits, where 2^10 is truncated to 127, so the gain is 126.",
    errata=("E3-08",),
)
def labelme_gains() -> Values:
    """Rank an item of each level before one of level 10, and solve nDCG for its gain, as a share of 1023."""
    second, found = 1 / np.log2(3), []
    for level in (1, 2, 5, 10):
        relevant = {10: [[1, 1]]} if level == 10 else {level: [[1, 0]], 10: [[0, 1]]}
        ndcg = value(histograms([1, 1], relevant), "nDCG")
        found.append(1023 * (ndcg - second) / (1 - second * ndcg))
    return {"gains": found}


@PAPER.claim(
    "S3-21-counts",
    place="section 3.2",
    statement="After counting, tie-aware metrics of a query depend on (b + 1) (1 + levels) numbers, independent of the "
    "size of the database.",
    expected={
        f"{n_bits} bits, {n_levels} levels": [(n_bits + 1) * (1 + n_levels)] * 2
        for n_bits in (16, 64)
        for n_levels in (1, 3)
    },
)
def numbers_of_a_query() -> Values:
    """Count random codes with 1 and 3 levels of relevance against 1,000 and 20,000 items."""
    found = {}
    for n_bits, n_levels in itertools.product((16, 64), (1, 3)):
        counters = []
        for n_items in (1000, 20_000):
            rng = np.random.default_rng(0)
            query, database = codes.pack(rng.random((4, n_bits)) < 0.5), codes.pack(rng.random((n_items, n_bits)) < 0.5)
            relevance = LabelRelevance(np.ones((4, n_levels), dtype=bool), rng.random((n_items, n_levels)) < 0.5)
            counts = count(query, database, n_bits, {"class": relevance}, largest_bucket=False)["class"]
            counters.append((counts.retrieved.size + counts.at_level.size) // len(query))
        found[f"{n_bits} bits, {n_levels} levels"] = counters
    return found


@PAPER.claim(
    "S3-22",
    place="section 5.1",
    statement="The sizes of the splits follow from the numbers per class or label: CIFAR-10 S1 with 1K queries of 60K "
    "images, a database of 59K and a training set of 5K, and S2 with 10K and 50K; NUS-WIDE with 2.1K queries and 10.5K "
    "training images of 196K images with 21 labels; LabelMe with 2K, 20K and 5K; ImageNet100 with 130K training "
    "images, 130 of each class.",
    expected={
        "CIFAR-10 S1, thousands": [1, 59, 5],
        "CIFAR-10 S2, thousands": [10, 50],
        "NUS-WIDE, thousands": [196, 2.1, 10.5],
        "LabelMe, thousands": [2, 20, 5],
        "ImageNet100 train, thousands": 130,
    },
    within={"NUS-WIDE, thousands": 0.5, "LabelMe, thousands": 0.5},
    note="Numbers are printed in thousands. 100 classes of 130 images are 13,000 images, not 130,000; HashNet's lists "
    "have 13,000 training images, 5,000 queries and a database of 128,503.",
    errata=("E3-11",),
)
def splits() -> Values:
    """Compute the sizes of the split protocols, which are declared per class if they are in the paper."""

    def sizes(name: str) -> dict[str, float]:
        protocol = registry.get("split", name)
        drawn = protocol.sizes({}, n_items=protocol.n_items, n_classes=protocol.n_classes)
        return {"all": protocol.n_items / 1000} | {part: number / 1000 for part, number in drawn.items()}

    s1, s2, nuswide, labelme = (sizes(name) for name in ("cifar10_s1", "cifar10_s2", "nuswide_21", "labelme_2k"))
    return {
        "CIFAR-10 S1, thousands": [s1[part] for part in ("query", "database", "train")],
        "CIFAR-10 S2, thousands": [s2[part] for part in ("query", "database")],
        "NUS-WIDE, thousands": [nuswide[part] for part in ("all", "query", "train")],
        "LabelMe, thousands": [labelme[part] for part in ("query", "database", "train")],
        "ImageNet100 train, thousands": sizes("imagenet100")["train"],
    }
