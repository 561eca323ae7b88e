"""Metrics against their definitions: ranked lists, every order of tied items, every code of a ball."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from protocol import codes
from protocol.metrics import evaluate, mean
from protocol.metrics.auprc import auprc
from protocol.metrics.average_precision import average_precision
from protocol.metrics.ndcg import ndcg
from protocol.ranking import HammingCounts, LabelRelevance, count

# A query: for each distance, the levels of the items there (0: not relevant).
BINARY = [
    [[1, 0, 0], [], [1, 1, 0, 0], [0, 1]],
    [[], [0, 0, 0], [1, 1], [0, 1, 1, 0]],
    [[0], [1], [1, 0], [1, 1, 0, 0, 0]],
    [[1, 1, 1, 0, 0, 0, 0, 0], [1], [], []],
    [[], [], [], [1, 1, 1, 1, 0, 0, 0, 0, 0]],
    [[0, 0, 0], [0, 0, 0], [0, 0, 0], []],
    [[1, 1, 1], [1, 1, 1], [1, 1, 1], []],
    [[0, 0], [0, 0, 1], [1, 1, 0, 1], []],
]
GRADED = [
    [[3, 0, 1], [], [2, 2, 0], [1]],
    [[0, 0], [1, 5, 0, 0], [], [2]],
    [[], [], [1, 2, 3, 0, 0, 1, 0], []],
    [[0, 0, 0], [0, 0, 0], [], [0]],
]


def counts_of(queries):
    levels = sorted({level for query in queries for tie in query for level in tie} - {0})
    return HammingCounts.from_histograms(
        [[len(tie) for tie in query] for query in queries],
        {level: [[tie.count(level) for tie in query] for query in queries] for level in levels},
    )


def orders(tie):
    """Every distinct order of a tie; all are equally likely."""
    if not tie:
        yield ()
    for first in sorted(set(tie)):
        rest = list(tie)
        rest.remove(first)
        for tail in orders(rest):
            yield (first, *tail)


def rankings(query):
    for parts in itertools.product(*(list(orders(tie)) for tie in query)):
        yield list(itertools.chain(*parts))


def slow_ap(ranking, cutoff, denominator):
    found, total = 0, Fraction(0)
    for rank, level in enumerate(ranking[:cutoff], start=1):
        if level:
            found += 1
            total += Fraction(found, rank)
    n_relevant = sum(level > 0 for level in ranking)
    divisor = {"all": n_relevant, "retrieved": found, "min": min(n_relevant, cutoff)}[denominator]
    return total / divisor if divisor else None


def slow_dcg(ranking, cutoff):
    return sum((2**level - 1) / math.log2(rank + 1) for rank, level in enumerate(ranking[:cutoff], start=1))


def expected(values, empty):
    if empty == "zero":
        values = [value or 0 for value in values]
    defined = [value for value in values if value is not None]
    return float(sum(defined) / len(defined)) if defined else math.nan


@functools.cache
def rankings_of(q):
    return list(rankings(BINARY[q]))


@pytest.mark.parametrize("denominator", ["all", "retrieved", "min"])
@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 7, 9, 100])
def test_expected_ap_is_the_mean_over_all_orders(cutoff, denominator):
    for empty in ("zero", "drop"):
        values = average_precision(counts_of(BINARY), cutoff=cutoff, denominator=denominator, empty=empty)
        for q, value in enumerate(values):
            wanted = expected([slow_ap(ranking, cutoff, denominator) for ranking in rankings_of(q)], empty)
            assert value == pytest.approx(wanted, abs=1e-13, nan_ok=True), (q, empty)


@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 7, 9, None])
@pytest.mark.parametrize("denominator", ["all", "min"])
def test_best_and_worst_are_the_extremes_over_all_orders(cutoff, denominator):
    for ties, extreme in (("best", max), ("worst", min)):
        values = average_precision(counts_of(BINARY), ties=ties, cutoff=cutoff, denominator=denominator)
        for q, value in enumerate(values):
            wanted = extreme(slow_ap(ranking, cutoff or 9, denominator) or 0 for ranking in rankings_of(q))
            assert value == pytest.approx(float(wanted), abs=1e-13), (q, ties)


def test_long_ties_and_blocks_of_queries():
    rng = np.random.default_rng(0)
    retrieved = rng.multinomial(3000, [0.1, 0.5, 0.3, 0.1], 600)
    relevant = rng.binomial(retrieved, 0.2)
    values = average_precision(HammingCounts.from_histograms(retrieved, relevant), cutoff=1700)
    for q in (0, 511, 512, 599):
        total, before, relevant_before = 0.0, 0, 0
        for n, m in zip(retrieved[q].tolist(), relevant[q].tolist(), strict=True):
            for rank in range(before + 1, min(before + n, 1700) + 1):
                total += m / n * (relevant_before + 1 + (m - 1) / (n - 1) * (rank - before - 1)) / rank
            before, relevant_before = before + n, relevant_before + m
        assert values[q] == pytest.approx(total / relevant_before, rel=1e-12)


def test_retrieved_denominator_in_long_ties():
    """By sampling: a tie of 4,000 items, too long for all orders."""
    value = average_precision(
        HammingCounts.from_histograms([[50, 4000]], [[5, 60]]), cutoff=300, denominator="retrieved"
    )
    rng = np.random.default_rng(0)
    sampled = []
    for _ in range(2000):
        parts = [rng.permutation(np.arange(n) < m) for n, m in ((50, 5), (4000, 60))]
        ranking = np.concatenate(parts)[:300]
        sampled.append((ranking * ranking.cumsum() / np.arange(1, 301)).sum() / ranking.sum())
    assert value.item() == pytest.approx(np.mean(sampled), abs=4 * np.std(sampled) / 2000**0.5)


@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 7, None])
def test_ndcg_is_the_mean_over_all_orders(cutoff):
    zero, drop = (ndcg(counts_of(GRADED), cutoff=cutoff, empty=empty) for empty in ("zero", "drop"))
    for q, query in enumerate(GRADED):
        lists = list(rankings(query))
        best = slow_dcg(sorted(itertools.chain(*query), reverse=True), cutoff)
        wanted = np.mean([slow_dcg(ranking, cutoff) for ranking in lists]) / best if best else math.nan
        assert drop[q] == pytest.approx(wanted, abs=1e-13, nan_ok=True)
        assert zero[q] == pytest.approx(np.nan_to_num(wanted), abs=1e-13)


@pytest.mark.parametrize("cutoff", [1, 4, 10, None])
def test_ndcg_is_that_of_scikit_learn(cutoff):
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(1)
    query, database = codes.pack(rng.random((20, 6)) < 0.5), codes.pack(rng.random((90, 6)) < 0.5)
    of_query, of_database = rng.random((20, 4)) < 0.5, rng.random((90, 4)) < 0.3
    counts = count(query, database, 6, {"t": LabelRelevance(of_query, of_database)})["t"]
    gains = 2.0 ** (of_query.astype(int) @ of_database.T.astype(int)) - 1
    distances = codes.hamming_distance(query, database)
    values = ndcg(counts, cutoff=cutoff)
    for q in range(20):
        theirs = ndcg_score(gains[q : q + 1], -distances[q : q + 1], k=cutoff, ignore_ties=False)
        assert values[q] == pytest.approx(theirs, abs=1e-12)


@pytest.fixture
def small():
    """Codes of 5 bits, with their labels; queries far from everything included."""
    rng = np.random.default_rng(3)
    database = np.vstack([rng.random((25, 5)) < 0.3, np.zeros((5, 5), dtype=bool)])
    query = np.vstack([rng.random((7, 5)) < 0.5, np.ones((1, 5), dtype=bool)])
    of_query, of_database = np.append(rng.integers(0, 3, 7), 9), rng.integers(0, 3, 30)
    truth = LabelRelevance(of_query, of_database)
    counts = count(codes.pack(query), codes.pack(database), 5, {"t": truth})["t"]
    return counts, query, database, of_query, of_database


def balls(query, database, of_query, of_database, radius):
    """Yield (relevant items in the ball, items in it, all relevant items, items in each code of the ball)."""
    for q, y in zip(query, of_query, strict=True):
        inside = (q != database).sum(axis=1) <= radius
        buckets = [
            int((database == np.array(code)).all(axis=1).sum())
            for code in itertools.product([False, True], repeat=5)
            if (np.array(code) != q).sum() <= radius
        ]
        relevant = of_database == y
        yield int((inside & relevant).sum()), int(inside.sum()), int(relevant.sum()), buckets


def divided(above, below):
    return above / below if below else 0.0


@pytest.mark.parametrize("radius", range(6))
def test_ball_metrics(small, radius):
    counts, *items = small
    here = list(balls(*items, radius))
    names = ("precision", "recall", "precision_micro", "recall_micro", "empty")
    values = evaluate(counts, [f"{name}@r{radius}" for name in names])
    total, size, relevant = (sum(ball[i] for ball in here) for i in range(3))
    wanted = {
        "precision": [divided(tp, n) for tp, n, _, _ in here],
        "recall": [divided(tp, n_relevant) for tp, _, n_relevant, _ in here],
        "precision_micro": [divided(total, size)],
        "recall_micro": [divided(total, relevant)],
        "empty": [float(n == 0) for _, n, _, _ in here],
    }
    for name in names:
        np.testing.assert_allclose(values[f"{name}@r{radius}"], wanted[name], rtol=1e-14)


@pytest.mark.parametrize("radius", range(6))
def test_ramap_and_mlgap(small, radius):
    counts, *items = small
    ramap, mlgap = np.zeros((2, radius + 1, counts.n_queries))
    for r in range(radius + 1):
        for q, (found, n, _, buckets) in enumerate(balls(*items, r)):
            ramap[r, q] = divided(found, n) / len(buckets)
            mlgap[r, q] = divided(found, n) * divided(sum(buckets), max(buckets) * len(buckets))
    values = evaluate(counts, [f"RAMAP@r{radius}", f"mLGAP@r{radius}"])
    np.testing.assert_allclose(values[f"RAMAP@r{radius}"], ramap.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(values[f"mLGAP@r{radius}"], mlgap.mean(axis=0), rtol=1e-13)


def test_utilisation(small):
    counts, _, database, _, _ = small
    assert evaluate(counts, ["utilisation"])["utilisation"].tolist() == [len({*map(bytes, database)}) / 32]


@pytest.mark.parametrize("empty", ["zero", "drop"])
def test_auprc(small, empty):
    counts, *items = small
    recalls, precisions = [], []
    for radius in range(6):
        found, n, relevant = (sum(ball[i] for ball in balls(*items, radius)) for i in range(3))
        if n or empty == "zero":
            recalls.append(found / relevant)
            precisions.append(divided(found, n))
    steps = list(itertools.pairwise(zip(recalls, precisions, strict=True)))
    trapezoid = sum((r1 - r0) * (p0 + p1) / 2 for (r0, p0), (r1, p1) in steps)
    wanted = {
        "trapezoid": trapezoid,
        "sum": sum((r1 - r0) * p1 for (r0, _), (r1, p1) in steps),
        "area": trapezoid + recalls[0] * precisions[0],
    }
    for rule, value in wanted.items():
        assert auprc(counts, rule=rule, empty=empty).item() == pytest.approx(value, rel=1e-13)


def test_a_ranking_without_ties_needs_no_expectation():
    rng = np.random.default_rng(5)
    relevant = rng.random((30, 40)) < 0.3
    counts = HammingCounts.from_histograms(np.ones((30, 40)), relevant)
    names = ["mAP", "mAP[best]", "mAP[worst]", "mAP@7[retrieved]", "mAP@7[min]", "mAP@7[all]"]
    values = evaluate(counts, names)
    for name, options in zip(names, [(40, "all")] * 3 + [(7, "retrieved"), (7, "min"), (7, "all")], strict=True):
        wanted = [float(slow_ap(row.tolist(), *options) or 0) for row in relevant]
        np.testing.assert_allclose(values[name], wanted, rtol=1e-13)
        assert mean(values[name]) == pytest.approx(sum(wanted) / 30, rel=1e-13)
