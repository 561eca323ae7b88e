"""Claims of *Hashing as Tie-Aware Learning to Rank*.

The relaxations are those that our hashers maximise, and those printed in the paper where they differ. They are compared
with the metrics of this package.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

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
from protocol.papers import statements
from protocol.papers.claim import AS_PRINTED, Difference, Evidence, Values
from protocol.papers.rankings import histograms, random_codes, small_ties, value
from protocol.papers.results import Results, having
from protocol.scores.statistics import shared_variance
from protocol.truth.relevance import LabelRelevance

if TYPE_CHECKING:
    import pandas as pd

_REPAIRED = "with limits moved by half an item, C + 1/2 (the midpoint rule)"

Floats = NDArray[np.float64]


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


def tie_aware_ap() -> Values:
    """Score every order of all rankings of up to two items at each of three distances, and of up to four at one."""
    rankings = itertools.chain(_binary(), small_ties(4, 1, (0, 1)))
    worst, cases = _largest_difference(rankings, "mAP", _ap, cutoffs=False)
    return {"largest difference": worst, "rankings": cases}


def _ap(levels: list[int], cutoff: int) -> float:
    return _precisions(levels, cutoff) / max(1, sum(level > 0 for level in levels))


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


def tie_aware_dcg() -> Values:
    """Score all rankings of up to two items of level 0, 1 or 3 at each of two distances, at every cutoff, by nDCG@K."""

    def normalised(levels: list[int], cutoff: int) -> float:
        return _gain(levels, cutoff) / _gain(sorted(levels, reverse=True), cutoff)

    worst, cases = _largest_difference(small_ties(2, 2, (0, 1, 3)), "nDCG@K", normalised, cutoffs=True)
    return {"largest difference": worst, "cases": cases}


def _random_histograms(n: int) -> list[tuple[NDArray, NDArray]]:
    """Return numbers of items and relevant items at five distances; at least one item is relevant and one is not."""
    rng = np.random.default_rng(0)
    found: list[tuple[NDArray, NDArray]] = []
    while len(found) < n:
        items = rng.integers(0, 7, 5)
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


def continuous_ap() -> Evidence:
    """Compute AP_r for 500 random histograms of five distances; where it is finite, compare it with tie-aware mAP."""
    repaired = lambda items, relevant: _relaxed(ap_r, relevant, items, relevant.sum())  # noqa: E731
    return _finite({AS_PRINTED: _ap_r_as_printed, _REPAIRED: repaired}, _tie_aware_ap)


def continuous_dcg() -> Evidence:
    """Compute DCG_r for 500 random histograms with gain 1; where it is finite, compare it with tie-aware DCG."""
    repaired = lambda items, relevant: _relaxed(dcg_r, relevant, items)  # noqa: E731
    return _finite({AS_PRINTED: _dcg_r_as_printed, _REPAIRED: repaired}, _tie_aware_dcg)


def _finite(
    readings: dict[str, Callable[[NDArray, NDArray], float]], exact: Callable[[NDArray, NDArray], float]
) -> Evidence:
    """Return, for each reading, how often a relaxation is not finite, its largest error otherwise, and an example."""
    cases, two_tied = _random_histograms(500), (np.array([2, 0]), np.array([1, 0]))
    exact_values = np.array([exact(*case) for case in cases])
    evidence = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, relaxed in readings.items():
            values = np.array([relaxed(*case) for case in cases])
            finite = np.isfinite(values)
            evidence[name] = {
                "histograms, of 500, for which it is infinite or undefined": int((~finite).sum()),
                "largest difference elsewhere": np.abs(values - exact_values)[finite].max(initial=0.0),
                "two items tied first, one relevant": relaxed(*two_tied),
                "exact value": exact(*two_tied),
            }
    return Evidence(evidence)


def _tie_aware_ap(items: NDArray, relevant: NDArray) -> float:
    return value(histograms(items, relevant), "mAP")


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


def simplified_ap() -> Values:
    """Compare all rankings of six untied items with mAP; and 500 random histograms with ties."""
    untied = [np.array(signs) for signs in np.ndindex(*[2] * 6) if sum(signs)]
    apart = [_relaxed(ap_s, r, np.ones(6), r.sum()) - value(histograms(np.ones(6, int), r), "mAP") for r in untied]
    errors = [_relaxed(ap_s, r, n, r.sum()) - _tie_aware_ap(n, r) for n, r in _random_histograms(500)]
    return {
        "largest difference without ties": max(map(abs, apart)),
        "smallest and largest error with ties": [min(errors), max(errors)],
    }


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


def _error_of_slope(objective: Objective, gain_of_level: float) -> Values:
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
    return {"largest difference from finite differences": worst}


def slope_of_ap_s() -> Values:
    """Differentiate numerically at 20 random soft histograms of six distances, by both levels."""
    return _error_of_slope(ap_s, 1.0)


def slope_of_dcg_s() -> Values:
    """Differentiate numerically at 20 random soft histograms of six distances with the levels 0 and 2."""
    return _error_of_slope(dcg_s, 3.0)


def _triangle(distance: Floats, centre: Floats) -> Floats:
    """Return the shares of items, by their distances, in the bin at `centre` of a soft histogram (eq. 14, width 1)."""
    return np.maximum(0, 1 - np.abs(distance - centre))


def _value_of(objective: Callable[[Floats], tuple[float, NDArray[np.floating]]], phi: Floats) -> float:
    return objective(phi.T)[0]


def minibatch_jacobian() -> Values:
    """Differentiate AP_s numerically at five random minibatches of seven real-valued codes of four bits."""
    worst = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        phi, labels = rng.uniform(-0.95, 0.95, (4, 7)), rng.integers(0, 3, 7)
        gains = (labels[:, None] == labels) & ~np.eye(7, dtype=bool)
        objective = functools.partial(mean_objective, gains=gains.astype(float), best=gains.sum(axis=1), objective=ap_s)
        numeric = _slope(functools.partial(_value_of, objective), phi)
        worst = max(worst, np.abs(numeric - objective(phi.T)[1].T).max())
    return {"largest difference from finite differences": worst}


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


_SUPERVISED = (
    *("bre", "machash", "fasthash", "dpsh", "hashnet", "ksh", "dtsh"),
    *("structhash", "mihash", "talr_ap", "talr_ap_network"),
)


def on_cifar10(results: Results, *, other: str, **columns: Any) -> "tuple[pd.DataFrame, list[str]]":
    """Return rows of CIFAR-10 with the paper's features; if there are none, all rows and `other`, the substitute."""
    rows = results.frame(dataset="cifar10", ground_truth="class_label", extension="none", **columns)
    vgg = having(rows, feature="vgg_f")
    return (vgg, []) if len(vgg) else (rows, [other])


def fullest_table(results: Results, splits: list[str], without: Sequence[str] = ()) -> "tuple[pd.DataFrame, list[str]]":
    """Return mAP of supervised methods in that table of a setting with the most of them, and their ``methods``."""
    rows, substitute = on_cifar10(results, other="GIST for VGG-F", metric="mAP", hasher=_SUPERVISED)
    rows = having(rows, split=splits)
    if len(rows):
        table = ["folder", "feature", "split"]
        fullest = rows.groupby(table, sort=False)["hasher"].nunique().idxmax()
        rows = having(rows, **dict(zip(table, fullest, strict=True)))
    rows = rows[~rows["hasher"].isin(without)]
    return rows.assign(methods=" ".join(sorted(rows["hasher"].unique()))), substitute


def performance_of_simplified(results: Results) -> Evidence:
    """Compare means on the digits with the default and with the original relaxation, at every code length."""
    values: dict[str, Difference] = {}
    for title, hasher, metric in (("TALR-AP", "talr_ap", "mAP"), ("TALR-NDCG", "talr_ndcg", "nDCG")):
        apart = [_from_default(results, hasher, metric, "relaxation integral", n_bits) for n_bits in (16, 32, 48, 64)]
        if known := [difference for difference in apart if difference is not None]:
            values[f"{metric} of {title}: largest difference"] = max(known, key=lambda one: abs(one.mean))
    return Evidence.as_printed(values, substitute="linear functions on the digits for networks on images")


def growing_slope(results: Results) -> Evidence:
    """Compare means on the digits at 32 bits with a slope of 1 and with slopes that grow from 1 to 10 or 40."""
    values = {}
    for growth in (10, 40):
        growing = _from_default(results, "talr_ap", "mAP", f"alpha 1, growth {growth}, rate_over_alpha True", 32)
        if growing is not None:
            name = f"growth {growth}: constant slope minus growing slope"
            values[name] = Difference(-growing.mean, growing.half_width)
    return Evidence.as_printed(values, substitute="linear functions on the digits for a network on images")


def _from_default(results: Results, hasher: str, metric: str, variant: str, n_bits: int) -> Difference | None:
    """Return the mean difference of a variant from the default over the same runs; None if it was not computed."""
    name = f"{metric} of {hasher}, {variant}, {n_bits} bits"
    mean, error, n_runs = (
        results.statistic("digits", f"{name}: {what}")
        for what in ("difference from the default", "standard error of this difference", "runs")
    )
    if mean is None or error is None or n_runs is None:
        return None
    sizes = (results.statistic("digits", f"{items} of TALR's runs") for items in ("queries", "database items"))
    shared = shared_variance(*(None if size is None else int(size) for size in sizes))
    return Difference.of_runs(mean, error**2 * (1 + n_runs * shared), n_runs - 1)


def _printed(number: str, part: str = "") -> dict[str, NDArray[np.float64]]:
    """Return a table that the paper prints, or a part of it: the values by code length of each method."""
    start = f"{part}, " * bool(part)
    rows = statements.expected("talr", number)
    return {name.removeprefix(start): np.array(row) for name, row in rows.items() if name.startswith(start)}


def short_codes() -> Values:
    """Subtract the rows of table 2, and compare 16 and 32 bits with the longer codes."""
    table, values = _printed("S3-16"), dict[str, Any]()
    for method in ("MIHash", "HashNet"):
        gains = (table["TALR-AP"] - table[method]).tolist()
        for n_bits, gain in zip((16, 32), gains[:2], strict=True):
            name = f"{method}, {n_bits} bits: largest improvement with 48 or 64 bits minus this one"
            values[name] = max(gains[2:]) - gain
        values[f"{method}: improvements"] = gains
    return values


def order_on_labelme() -> Values:
    """Rank the eight methods of table 3 at each code length on both datasets."""
    nus_wide, labelme = (
        {name: np.sum([row > own for row in table.values()], axis=0) + 1 for name, own in table.items()}
        for table in (_printed("S3-17"), _printed("S3-18"))
    )
    loses_none = (labelme["DPSH"] <= nus_wide["DPSH"]) | (labelme["DTSH"] <= nus_wide["DTSH"])
    third = np.maximum(labelme["StructHash"], labelme["MIHash"]) > 3
    ranks = [labelme[method] for method in ("DPSH", "DTSH", "StructHash", "MIHash")]
    return {
        "code lengths where a third method is above StructHash or MIHash": third.sum(),
        "code lengths where DPSH or DTSH loses no ranks against NUS-WIDE": loses_none.sum(),
        "ranks of DPSH, DTSH, StructHash and MIHash on LabelMe": np.transpose(ranks).tolist(),
    }
