"""The asymmetric ranking against the Hamming ranking, exact arithmetic, scikit-learn and a plain sort."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from plainly import assert_same_counts

from protocol import codes, metrics
from protocol.counting import HammingCounts, asymmetric, asymmetric_counts, count
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

METRICS = """
    mAP mAP[best] mAP[worst] mAP[database-order] mAP@7[all] mAP@7[retrieved] mAP@7[min] nDCG nDCG@7 P@7 R@7 ACG@7 WAP
    WAP@7[all] WAP@7[retrieved] WAP@7[min] MRR MRR[database-order] hit@3 hit@3[database-order] R-precision
    R-precision[database-order] mAP@R mAP@R[database-order] nDCG[database-order] nDCG[linear]
    nDCG[linear,database-order] MRR@2 MRR@2[database-order] MRR[best] hit@3[worst] mAP@R[best]
    R-precision[worst] nDCG@7[linear,worst]
""".split()  # noqa: SIM905


def some(seed, n_bits, *, n_queries=9, n_database=80, classes=3, of_items=None):
    """Return outputs in single precision, bits of the database, and labels: one class per item, or several."""
    rng = np.random.default_rng(seed)
    outputs = rng.standard_normal((n_queries, n_bits)).astype(np.float32)
    bits = rng.random((n_database, n_bits)) < 0.5
    if of_items == "many":
        return outputs, bits, LabelRelevance(rng.random((n_queries, 4)) < 0.5, rng.random((n_database, 4)) < 0.4)
    return outputs, bits, LabelRelevance(rng.integers(0, classes, n_queries), rng.integers(0, classes, n_database))


def values(blocks, names, undefined="zero"):
    found = [metrics.evaluate(counts, names, undefined=undefined) for counts in blocks]
    return {name: np.concatenate([of_block[name] for of_block in found]) for name in names}


def by_exact_sums(outputs, bits, relevance):
    """Return the counts of every tie, not merged, by sums of fractions."""
    signs = np.where(bits, 1, -1)
    rows = []
    for query, output in enumerate(outputs):
        exact = [Fraction(float(value)) for value in output]
        scores = [sum(value * int(sign) for value, sign in zip(exact, item, strict=True)) for item in signs]
        level = np.zeros(len(bits), dtype=int)
        positions, levels = relevance.row(query)
        level[positions] = levels
        ties = [level[[score == one for score in scores]] for one in sorted(set(scores), reverse=True)]
        order = sorted(range(len(bits)), key=lambda item: -scores[item])
        rows.append((ties, level[order]))
    width = max(len(ties) for ties, _ in rows)
    sizes = [[tie.size for tie in ties] + [0] * (width - len(ties)) for ties, _ in rows]
    of_level = {
        int(one): [[(tie == one).sum() for tie in ties] + [0] * (width - len(ties)) for ties, _ in rows]
        for one in relevance.levels
    }
    return HammingCounts.from_histograms(sizes, of_level), np.array([ranked for _, ranked in rows])


@pytest.mark.parametrize("of_items", ["one", "many"])
@pytest.mark.parametrize("n_bits", [1, 5, 64, 70])
def test_outputs_of_one_magnitude_give_the_numbers_of_the_hamming_ranking(n_bits, of_items):
    outputs, bits, relevance = some(n_bits, n_bits, of_items=of_items)
    query, database = codes.pack(outputs > 0), codes.pack(bits)
    hamming = count(query, database, n_bits, {"": relevance}, index_order=True)[""]
    for magnitude in (1.0, 0.1, 3e-300):
        signs = np.where(outputs > 0, magnitude, -magnitude)
        counts = list(asymmetric_counts(signs, database, n_bits, relevance, index_order=True))
        for undefined in ("zero", "drop"):
            found = values(counts, METRICS, undefined)
            for name, of_queries in metrics.evaluate(hamming, METRICS, undefined=undefined).items():
                np.testing.assert_allclose(found[name], of_queries, rtol=1e-12, atol=1e-15, err_msg=name)
        (found,) = counts
        np.testing.assert_array_equal(found.bucket_sizes, hamming.bucket_sizes)
        np.testing.assert_allclose(metrics.top_k_curve(found).recall, metrics.top_k_curve(hamming).recall, rtol=1e-12)


@pytest.mark.parametrize("of_items", ["one", "many"])
@pytest.mark.parametrize("n_bits", [3, 6, 40])
def test_it_is_the_order_of_exact_sums(n_bits, of_items):
    outputs, bits, relevance = some(n_bits, n_bits, of_items=of_items)
    outputs[0] = np.round(outputs[0] * 2) / 2  # different codes tie
    outputs[1] = 0  # all do
    expected, ranked = by_exact_sums(outputs, bits, relevance)
    blocks = list(asymmetric_counts(outputs, codes.pack(bits), n_bits, relevance, index_order=True))
    found = values(blocks, METRICS)
    names = [name for name in METRICS if "database-order" not in name]
    for name, of_queries in metrics.evaluate(expected, names).items():
        np.testing.assert_allclose(found[name], of_queries, rtol=1e-12, atol=1e-15, err_msg=name)
    for query, in_order in enumerate(ranked > 0):
        ranks, n_relevant = np.flatnonzero(in_order) + 1, max(1, in_order.sum())
        precisions = [(at + 1) / rank for at, rank in enumerate(ranks)]
        plain = {
            "mAP": sum(precisions) / n_relevant,
            "MRR": 1 / ranks[0] if ranks.size else 0,
            "hit@3": float(in_order[:3].any()),
            "R-precision": in_order[:n_relevant].mean(),
            "mAP@R": sum(precisions[: in_order[:n_relevant].sum()]) / n_relevant,
        }
        for name, value in plain.items():
            assert found[f"{name}[database-order]"][query] == pytest.approx(value, rel=1e-12), name


def test_groups_of_one_level_are_merged_and_ties_of_two_levels_are_not():
    database = codes.pack([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    relevance = NeighbourRelevance([0, 3], [0, 1, 3], n_database=8, levels=[2, 2, 1])
    (counts,) = asymmetric_counts(np.array([[4.0, 2.0, 1.0]]), database, 3, relevance)
    assert counts.levels.tolist() == [1, 2]
    assert counts.retrieved.tolist() == [[2, 1, 1, 4]]
    assert counts.at_level.tolist() == [[[0, 0, 1, 0], [2, 0, 0, 0]]]
    (counts,) = asymmetric_counts(np.array([[4.0, 2.0, 0.0]]), database, 3, relevance)
    assert counts.retrieved.tolist() == [[2, 2, 4]]
    assert counts.relevant.tolist() == [[2, 1, 0]]


def test_the_rounded_sums_are_exact_in_any_order():
    rng = np.random.default_rng(0)
    outputs = rng.standard_normal((50, 129)) * 10.0 ** rng.integers(-30, 30, (50, 1))
    integers = asymmetric._as_integers(np.vstack([outputs, np.full((1, 129), 1e308), np.full((1, 129), 5e-324)]))
    assert (integers == np.rint(integers)).all()
    sums = [sum(map(int, row)) for row in np.abs(integers)]
    assert max(sums) < 2**53


def test_blocks_parts_and_threads_change_nothing(monkeypatch):
    outputs, bits, relevance = some(2, 20, n_queries=23)
    packed = codes.pack(bits)
    (complete,) = asymmetric_counts(outputs, packed, 20, relevance, index_order=True)
    monkeypatch.setattr(asymmetric, "_BLOCK_BYTES", 8 * 80 * 3 * 5)
    monkeypatch.setattr(asymmetric, "_SIGN_BYTES", 8 * 20 * 7)
    done = []
    found = list(asymmetric_counts(outputs, packed, 20, relevance, index_order=True, threads=3, progress=done.append))
    assert done == [len(counts.retrieved) for counts in found] == [5, 5, 5, 5, 3]
    for start, counts in zip(range(0, 23, 5), found, strict=True):
        own, width = complete.of_queries(np.arange(start, start + counts.n_queries)), counts.retrieved.shape[1]
        narrow = {name: getattr(own, name)[..., :width] for name in ("retrieved", "at_level", "index_precisions")}
        assert_same_counts(counts, replace(own, **narrow))
