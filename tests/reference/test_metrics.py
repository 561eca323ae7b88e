"""Metrics against their definitions: ranked lists, every order of tied items, every code of a ball."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from encoded import yaml_of

from protocol import codes
from protocol.counting import HammingCounts, count
from protocol.metrics import evaluate, mean, neighbours_found, pr_curve, top_k_curve
from protocol.metrics._ties import hypergeometric
from protocol.metrics.auprc import auprc
from protocol.metrics.average_precision import average_precision
from protocol.truth.relevance import LabelRelevance

BINARY, GRADED = yaml_of("reference/levels.yaml").values()


def counts_of(queries):
    levels = sorted({level for query in queries for tie in query for level in tie} - {0}) or [1]
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


def slow_dcg(ranking, cutoff, gain="exponential"):
    gains = [2**level - 1 if gain == "exponential" else level for level in ranking[:cutoff]]
    return sum(each / math.log2(rank + 1) for rank, each in enumerate(gains, start=1))


def expected(values, undefined):
    if undefined == "zero":
        values = [value or 0 for value in values]
    defined = [value for value in values if value is not None]
    return float(sum(defined) / len(defined)) if defined else math.nan


@functools.cache
def rankings_of(q):
    return list(rankings(BINARY[q]))


@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 7, 9, None])
@pytest.mark.parametrize("denominator", ["all", "min"])
def test_best_and_worst_are_the_extremes_over_all_orders(cutoff, denominator):
    for ties, extreme in (("best", max), ("worst", min)):
        values = average_precision(counts_of(BINARY), ties=ties, cutoff=cutoff, denominator=denominator)
        for q, value in enumerate(values):
            reference = extreme(slow_ap(ranking, cutoff or 9, denominator) or 0 for ranking in rankings_of(q))
            assert value == pytest.approx(float(reference), abs=1e-13), (q, ties)


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


def test_the_first_relevant_item_of_long_ties():
    """Against the sum over all its ranks, one by one, and for hits exact binomial coefficients."""
    ties = [(200_000, 1, 0), (200_000, 3, 7), (5000, 4999, 0), (4000, 40, 1000), (9, 0, 3), (1, 1, 0)]
    retrieved = [[before, n, 300_000 - before - n] for n, _, before in ties]
    counts = HammingCounts.from_histograms(retrieved, [[0, m, 0] for _, m, _ in ties])
    for value, (n, m, before) in zip(evaluate(counts, ["MRR"])["MRR"], ties, strict=True):
        none_before, total = 1.0, 0.0
        for earlier in range(n - m + 1 if m else 0):
            total += none_before * m / (n - earlier) / (before + earlier + 1)
            none_before *= (n - earlier - m) / (n - earlier)
        assert value == pytest.approx(total, rel=1e-11)
    (hit,) = evaluate(counts, ["hit@1010"]).values()
    reference = [1 - math.comb(n - m, 1010 - before) / math.comb(n, 1010 - before) for n, m, before in ties[:2]]
    np.testing.assert_allclose(hit[:2], reference, rtol=1e-10)


def slow_ndcg(ranking, cutoff, gain="exponential"):
    best = slow_dcg(sorted(ranking, reverse=True), cutoff, gain)
    return slow_dcg(ranking, cutoff, gain) / best if best else None


def slow_precision(ranking, cutoff):
    return Fraction(sum(level > 0 for level in ranking[:cutoff]), min(cutoff, len(ranking)))


def slow_recall(ranking, cutoff):
    n_relevant = sum(level > 0 for level in ranking)
    return Fraction(sum(level > 0 for level in ranking[:cutoff]), n_relevant) if n_relevant else None


def slow_acg(ranking, cutoff):
    return Fraction(sum(ranking[:cutoff]), min(cutoff, len(ranking)))


def slow_wap(ranking, cutoff, denominator):
    total = sum((slow_acg(ranking, t) for t, level in enumerate(ranking[:cutoff], start=1) if level), Fraction(0))
    n_relevant, found = (sum(level > 0 for level in part) for part in (ranking, ranking[:cutoff]))
    divisor = {"all": n_relevant, "retrieved": found, "min": min(n_relevant, cutoff)}[denominator]
    return total / divisor if divisor else None


def slow_ap(ranking, cutoff, denominator):
    return slow_wap([level > 0 for level in ranking], cutoff, denominator)


def slow_reciprocal_rank(ranking, cutoff=1000):
    first = next((rank for rank, level in enumerate(ranking, start=1) if level), None)
    return first and (Fraction(1, first) if first <= cutoff else Fraction(0))


def slow_hit(ranking, cutoff):
    return Fraction(any(ranking[:cutoff])) if any(ranking) else None


def slow_r_precision(ranking):
    return slow_recall(ranking, sum(level > 0 for level in ranking))


def slow_ap_at_r(ranking):
    return slow_ap(ranking, sum(level > 0 for level in ranking), "all")


def slow_ap_of_first(ranking, size):
    return slow_ap(ranking[:size], size, "all")


@pytest.mark.parametrize(
    ("name", "ties"),
    [
        ("mAP@300[retrieved]", [{0: 45, 1: 5}, {0: 3940, 1: 60}]),
        ("WAP@300[retrieved]", [{0: 45, 1: 3, 4: 2}, {0: 3940, 1: 50, 4: 10}]),
    ],
)
def test_retrieved_denominator_in_long_ties(name, ties):
    """By sampling: a tie of 4,000 items, too long for all orders; `ties` has the number of items at each level."""
    levels = [np.repeat(list(tie), list(tie.values())).tolist() for tie in ties]
    value = evaluate(counts_of([levels]), [name])[name].item()
    rng = np.random.default_rng(0)
    sampled = []
    for _ in range(2000):
        ranking = np.concatenate([rng.permutation(tie) for tie in levels])[:300]
        gains = ranking.cumsum() / np.arange(1, 301)
        sampled.append(gains[ranking > 0].mean())
    assert value == pytest.approx(np.mean(sampled), abs=4 * np.std(sampled) / 2000**0.5)


@pytest.mark.parametrize("undefined", ["zero", "drop"])
def test_curves_over_the_top_k_are_those_of_the_metrics(undefined):
    counts = counts_of(BINARY)
    curve = top_k_curve(counts, undefined=undefined)
    assert curve.k.tolist() == list(range(1, 10))
    for n, precision, recall in zip(*curve, strict=True):
        values = evaluate(counts, [f"P@{n}", f"R@{n}"], undefined=undefined)
        assert [precision, recall] == pytest.approx([mean(array) for array in values.values()], rel=1e-12)


def test_chosen_points_of_curves_over_the_top_k():
    counts = HammingCounts.from_histograms([[3, 1]], [[1, 1]])
    assert top_k_curve(counts, [2, 9]).k.tolist() == [2, 4]


def assert_means_over_all_orders(query, cutoff, undefined):
    lists = list(rankings(query))
    n_items = len(lists[0])
    slow = {"mAP": (slow_ap, n_items, "all"), "WAP": (slow_wap, n_items, "all")}
    for name in ("all", "retrieved", "min"):
        slow[f"mAP@{cutoff}[{name}]"] = slow_ap, min(cutoff, n_items), name
        slow[f"WAP@{cutoff}[{name}]"] = slow_wap, min(cutoff, n_items), name
    slow |= {f"P@{cutoff}": (slow_precision, cutoff), f"R@{cutoff}": (slow_recall, cutoff)}
    slow |= {f"ACG@{cutoff}": (slow_acg, cutoff)}
    in_every_order = {"MRR": (slow_reciprocal_rank,), f"MRR@{cutoff}": (slow_reciprocal_rank, cutoff)}
    in_every_order |= {f"hit@{cutoff}": (slow_hit, cutoff)}
    in_every_order |= {"R-precision": (slow_r_precision,), "mAP@R": (slow_ap_at_r,)}
    sizes = itertools.accumulate(map(len, query))
    in_every_order |= {f"mAP@r{radius}": (slow_ap_of_first, size) for radius, size in enumerate(sizes)}
    for gain, bracket in (("exponential", ""), ("linear", "[linear]")):
        in_every_order[f"nDCG{bracket}"] = slow_ndcg, n_items, gain
        in_every_order[f"nDCG@{cutoff}{bracket}"] = slow_ndcg, cutoff, gain
    slow |= in_every_order
    values = evaluate(counts_of([query]), slow, undefined=undefined)
    for (name, (function, *options)), order in itertools.product(in_every_order.items(), (min, max)):
        ordered = f"{name.removesuffix(']')}{',' if '[' in name else '['}{'worst' if order is min else 'best'}]"
        each = [function(ranking, *options) for ranking in lists]
        reference = expected([None if None in each else order(each)], undefined)
        value = evaluate(counts_of([query]), [ordered], undefined=undefined)[ordered].item()
        assert value == pytest.approx(reference, abs=1e-13, nan_ok=True), ordered
    for name, (function, *options) in slow.items():
        reference = expected([function(ranking, *options) for ranking in lists], undefined)
        assert values[name].item() == pytest.approx(reference, abs=1e-13, nan_ok=True), name


@pytest.mark.parametrize("undefined", ["zero", "drop"])
@pytest.mark.parametrize("cutoff", [1, 4, 7, 100])
def test_metrics_are_the_means_over_all_orders(cutoff, undefined):
    rng = np.random.default_rng(cutoff)
    some = [[rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(3)] + [[1]] for _ in range(10)]
    for query in (*BINARY, *GRADED, *some):
        assert_means_over_all_orders(query, cutoff, undefined)


@pytest.mark.parametrize("seed", range(12))
def test_shares_of_neighbours_are_those_of_all_orders(seed):
    """Up to six items, of which the relevant ones are at least as many as the nearest that count."""
    rng = np.random.default_rng(seed)
    n, nearest = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    relevant = rng.permutation(n) < nearest + int(rng.integers(0, 3))
    distance = rng.integers(0, 3, n)
    query = [relevant[distance == value].astype(int).tolist() for value in range(3)]
    for retrieved in range(1, n + 1):
        shares = [min(sum(ranking[:retrieved]), nearest) / nearest for ranking in rankings(query)]
        for ties, reference in (("worst", min(shares)), ("expected", np.mean(shares)), ("best", max(shares))):
            found = neighbours_found(counts_of([query]), nearest=nearest, retrieved=retrieved, ties=ties)
            np.testing.assert_allclose(found, reference, rtol=1e-13)


def test_the_chances_of_a_divided_tie_are_those_of_scipy():
    from scipy.stats import hypergeom

    found = np.arange(20, 81)[None, :]
    chance = hypergeometric(found, 5000, 80, np.array([[4940]]))
    np.testing.assert_allclose(chance[0], hypergeom.pmf(found[0], 5000, 80, 4940), rtol=1e-9, atol=1e-300)


@pytest.fixture(params=[25, 35], ids=["fewer items than codes", "more items than codes"])
def small(request):
    """Codes of 5 bits, with their labels; queries far from everything included."""
    rng = np.random.default_rng(3)
    database = np.vstack([rng.random((request.param, 5)) < 0.3, np.zeros((5, 5), dtype=bool)])
    query = np.vstack([rng.random((7, 5)) < 0.5, np.ones((1, 5), dtype=bool)])
    of_query, of_database = np.append(rng.integers(0, 3, 7), 9), rng.integers(0, 3, len(database))
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
    from sklearn.metrics import fbeta_score

    counts, query, database, of_query, of_database = small
    here = list(balls(*small[1:], radius))
    total, size, relevant = (sum(ball[i] for ball in here) for i in range(3))
    reference = {
        "precision": [divided(tp, n) for tp, n, _, _ in here],
        "recall": [divided(tp, n_relevant) for tp, _, n_relevant, _ in here],
        "precision[micro]": [divided(total, size)],
        "recall[micro]": [divided(total, relevant)],
        "empty": [float(n == 0) for _, n, _, _ in here],
        "lookups": [len(here[0][3])],
    }
    ramap, mlgap = np.zeros((2, radius + 1, counts.n_queries))
    for r in range(radius + 1):
        for q, (found, n, _, buckets) in enumerate(balls(*small[1:], r)):
            ramap[r, q] = divided(found, n) / len(buckets)
            mlgap[r, q] = divided(found, n) * divided(sum(buckets), max(buckets) * len(buckets))
    reference |= {"RAMAP": ramap.mean(axis=0), "mLGAP": mlgap.mean(axis=0)}
    inside = (query[:, None] != database).sum(axis=2) <= radius
    is_relevant = of_query[:, None] == of_database
    for beta in ("0.5", "1", "2"):
        options = {"beta": float(beta), "zero_division": 0}
        reference[f"F{beta}"] = [fbeta_score(*pair, **options) for pair in zip(is_relevant, inside, strict=True)]
        reference[f"F{beta}[micro]"] = [fbeta_score(is_relevant.ravel(), inside.ravel(), **options)]
    named = {
        name: f"{name.removesuffix('[micro]')}@r{radius}{'[micro]' * name.endswith('[micro]')}" for name in reference
    }
    values = evaluate(counts, list(named.values()))
    for name, expected_values in reference.items():
        np.testing.assert_allclose(values[named[name]], expected_values, rtol=1e-13, err_msg=name)


@pytest.mark.parametrize(("n_bits", "n_items"), [(4, 40), (2, 60), (12, 30), (1, 1), (3, 2)])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_index_order_is_a_stable_sort(n_bits, n_items, n_labels):
    rng = np.random.default_rng(8)
    query, database = rng.random((9, n_bits)) < 0.5, rng.random((n_items, n_bits)) < 0.5
    of_query, of_database = np.append(rng.integers(0, 3, 8), 9), rng.integers(0, 3, n_items)
    relevant = (of_query[:, None] == of_database).astype(int)
    if n_labels > 1:  # graded, by the number of shared labels
        of_query, of_database = rng.random((9, n_labels)) < 0.5, rng.random((n_items, n_labels)) < 0.5
        relevant = of_query.astype(int) @ of_database.T
    truth = {"t": LabelRelevance(of_query, of_database)}
    counts = count(codes.pack(query), codes.pack(database), n_bits, truth, index_order=True)["t"]
    distances = (query[:, None] != database).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")
    ranked = [relevant[q, order[q]].tolist() for q in range(9)]
    slow = {"mAP": (slow_ap, n_items, "all"), "MRR": (slow_reciprocal_rank,), "R-precision": (slow_r_precision,)}
    slow |= {"mAP@R": (slow_ap_at_r,), **{f"hit@{k}": (slow_hit, k) for k in (1, 3, 7, 100)}}
    slow |= {"nDCG": (slow_ndcg, n_items), "nDCG[linear": (slow_ndcg, n_items, "linear")}
    slow |= {"MRR@2": (slow_reciprocal_rank, 2)}
    references = {name: [function(one, *options) for one in ranked] for name, (function, *options) in slow.items()}
    for radius in range(n_bits + 2):
        balls = zip(ranked, (distances <= radius).sum(axis=1).tolist(), strict=True)
        references[f"mAP@r{radius}"] = [slow_ap_of_first(*ball) for ball in balls]
    for (name, reference), undefined in itertools.product(references.items(), ("zero", "drop")):
        in_order = f"{name}{',' if '[' in name else '['}database-order]"
        values = evaluate(counts, [in_order], undefined=undefined)[in_order]
        np.testing.assert_allclose(
            values, [expected([value], undefined) for value in reference], rtol=1e-13, err_msg=name
        )
    worst, index, best = evaluate(counts, ["mAP[worst]", "mAP[database-order]", "mAP[best]"]).values()
    assert (worst <= index + 1e-13).all()
    assert (index <= best + 1e-13).all()


@pytest.mark.parametrize("undefined", ["zero", "drop"])
def test_precision_recall_curve(small, undefined):
    counts, *items = small
    micro, macro = (pr_curve(counts, average=average, undefined=undefined) for average in ("micro", "macro"))
    for radius in range(6):
        here = list(balls(*items, radius))
        found, size, relevant = (sum(ball[i] for ball in here) for i in range(3))
        assert micro.precision[radius] == pytest.approx(
            found / size if size else math.nan if undefined == "drop" else 0
        )
        assert micro.recall[radius] == pytest.approx(found / relevant)
        for curve, below in ((macro.precision, 1), (macro.recall, 2)):
            reference = expected([ball[0] / ball[below] if ball[below] else None for ball in here], undefined)
            assert curve[radius] == pytest.approx(reference, nan_ok=True)


def test_how_codes_are_spread(small):
    counts, _, database, _, _ = small
    pairs = list(itertools.combinations(map(bytes, database), 2))
    shares = [np.mean([(item == other).all() for item in database]) for other in np.unique(database, axis=0)]
    values = evaluate(counts, ["entropy", "collision", "largest_bucket"])
    for either in (counts, counts.pooled):
        assert evaluate(either, ["utilisation"])["utilisation"].tolist() == [len(shares) / min(32, len(database))]
    assert values["entropy"].item() == pytest.approx(-sum(share * math.log2(share) for share in shares), rel=1e-13)
    assert values["collision"].item() == pytest.approx(sum(a == b for a, b in pairs) / len(pairs), rel=1e-13)
    assert values["largest_bucket"].item() == pytest.approx(max(shares), rel=1e-13)


@pytest.mark.parametrize("undefined", ["zero", "drop"])
def test_auprc(small, undefined):
    """From the points of the curve, which the test above compares with the balls."""
    from sklearn.metrics import auc

    counts, *_ = small
    curve = pr_curve(counts, average="micro", undefined=undefined)
    is_defined = ~np.isnan(curve.precision)
    recall, precision = curve.recall[is_defined], curve.precision[is_defined]
    trapezoid = auc(recall, precision)
    reference = {"trapezoid": trapezoid, "sum": np.diff(recall) @ precision[1:]}
    reference["area"] = trapezoid + recall[0] * precision[0]
    for rule, value in reference.items():
        assert auprc(counts, rule=rule, undefined=undefined).item() == pytest.approx(value, rel=1e-13)


def test_macro_auprc(small):
    counts, *items = small
    areas = []
    for query in zip(*(balls(*items, radius) for radius in range(6)), strict=True):
        points = [(found / relevant, found / n) for found, n, relevant, _ in query if n and relevant]
        steps = itertools.pairwise([(0, points[0][1]), *points] if points else [])
        areas.append(sum((r1 - r0) * (p0 + p1) / 2 for (r0, p0), (r1, p1) in steps))
    np.testing.assert_allclose(evaluate(counts, ["AUPRC[area,macro]"])["AUPRC[area,macro]"], areas, rtol=1e-13)


def of_trec(truth, run, names):
    """Return the scores of pytrec_eval by our names, given its own; rows of gains and scores by item are queries."""
    import pytrec_eval

    n_queries, n_items = truth.shape  # tied documents are in descending order of their names
    ids = [f"d{999 - item}" for item in range(n_items)]
    judged, ranked = (
        {f"q{q}": dict(zip(ids, row, strict=True)) for q, row in enumerate(rows.tolist())} for rows in (truth, run)
    )
    scores = pytrec_eval.RelevanceEvaluator(judged, set(names.values())).evaluate(ranked)
    return {
        ours: [scores[f"q{q}"][theirs.replace(".", "_")] for q in range(n_queries)] for ours, theirs in names.items()
    }


@pytest.mark.parametrize("k", [1, 3, 10, 25])
def test_pytrec_eval_agrees_without_ties(k):
    """Its AP at a cutoff has the denominator of ``[all]``; its gain is the level, so it is given 2^level - 1."""
    rng = np.random.default_rng(6)
    levels = rng.integers(0, 4, (12, 25)) * (rng.random((12, 25)) < 0.4)
    levels[0] = 0  # a query without relevant items
    counts = HammingCounts.from_histograms(np.ones(levels.shape), {level: levels == level for level in (1, 2, 3)})
    theirs = {f"mAP@{k}[all]": "map_cut", f"P@{k}": "P", f"R@{k}": "recall", f"nDCG@{k}": "ndcg_cut"}
    theirs = {name: f"{kind}.{k}" for name, kind in (theirs | {f"hit@{k}": "success"}).items()}
    run = np.tile(25.0 - np.arange(25), (12, 1))
    for name, reference in of_trec(2**levels - 1, run, theirs | {"MRR": "recip_rank", "R-precision": "Rprec"}).items():
        np.testing.assert_allclose(evaluate(counts, [name])[name], reference, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_pytrec_eval_agrees_with_ties_in_database_order(gain):
    """It takes a negative level as 0."""
    rng = np.random.default_rng(5)
    query, database = (codes.pack(rng.random((n, 6)) < 0.5) for n in (60, 150))
    labels = rng.random((60, 5)) < 0.3, rng.random((150, 5)) < 0.3
    counts = count(query, database, 6, {"t": LabelRelevance(*labels)}, index_order=True)["t"]
    levels = labels[0].astype(int) @ labels[1].T
    gains = levels if gain == "linear" else 2**levels - 1
    judged = np.where(gains == 0, rng.integers(-1, 1, gains.shape), gains)
    theirs = {f"nDCG[{'linear,' * (gain == 'linear')}database-order]": "ndcg"}
    for name, kind in {"MRR": "recip_rank", "mAP": "map", "R-precision": "Rprec", "hit@5": "success.5"}.items():
        theirs[f"{name}[database-order]"] = kind
    for name, reference in of_trec(judged, 6.0 - codes.hamming_distance(query, database), theirs).items():
        np.testing.assert_allclose(evaluate(counts, [name])[name], reference, atol=1e-12, err_msg=name)
