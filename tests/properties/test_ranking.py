"""Properties of counting and metrics for any codes and labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from protocol import codes
from protocol.counting import count
from protocol.metrics import evaluate, mean, pr_curve
from protocol.metrics.ndcg import ndcg
from protocol.truth.relevance import LabelRelevance

RADII = 3


@st.composite
def cases(draw):
    n_bits, n_queries, n_items = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 20))
    bits = draw(arrays.arrays(bool, (n_queries + n_items, n_bits)))
    shape = (n_queries + n_items, draw(st.integers(1, 3)))
    labels = draw(st.one_of(arrays.arrays(bool, shape), arrays.arrays(np.int64, shape[0], elements=st.integers(0, 2))))
    return n_bits, bits[:n_queries], bits[n_queries:], labels[:n_queries], labels[n_queries:]


def counted(n_bits, query, database, of_query, of_database, **options):
    truth = LabelRelevance(of_query, of_database)
    return count(codes.pack(query), codes.pack(database), n_bits, {"t": truth}, **options)["t"]


def names(n_bits):
    of_radius = [f"{name}@r{min(RADII, n_bits)}" for name in ("RAMAP", "mLGAP", "precision", "recall_micro", "empty")]
    of_radius += [f"{name}@r{min(RADII, n_bits)}" for name in ("F1", "F0.5_micro")]
    of_cutoff = ["mAP@4[retrieved]", "mAP@4[min]", "nDCG@4", "P@4", "R@4"]
    return ["mAP", "mAP[best]", "mAP[worst]", *of_cutoff, "AUPRC[area]", "collision", "largest_bucket", *of_radius]


@settings(deadline=None, max_examples=60)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_database_changes_nothing(case, random):
    n_bits, query, database, of_query, of_database = case
    order = list(range(len(database)))
    random.shuffle(order)
    before, after = counted(*case), counted(n_bits, query, database[order], of_query, of_database[order])
    for name, array in before.to_arrays().items():
        np.testing.assert_array_equal(after.to_arrays()[name], array)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_every_item_twice_keeps_precision_and_recall(case):
    n_bits, query, database, of_query, of_database = case
    once = counted(*case)
    twice = counted(n_bits, query, np.repeat(database, 2, axis=0), of_query, np.repeat(of_database, 2, axis=0))
    np.testing.assert_array_equal(twice.retrieved, 2 * once.retrieved)
    np.testing.assert_array_equal(twice.largest_bucket, 2 * once.largest_bucket)
    of_radius = [name for name in names(n_bits) if "@r" in name]
    unchanged = [*of_radius, "entropy", "largest_bucket", "AUPRC[trapezoid]"]
    for name, values in evaluate(once, unchanged).items():
        np.testing.assert_allclose(evaluate(twice, [name])[name], values, rtol=1e-14)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_counts_preserve_totals(case):
    _, query, database, of_query, of_database = case
    counts = counted(*case)
    if of_query.ndim == 1:
        shared = (of_query[:, None] == of_database).astype(int)
    else:
        shared = of_query.astype(int) @ of_database.T.astype(int)
    assert counts.retrieved.sum() == len(query) * len(database)
    assert counts.bucket_sizes.sum() == counts.n_database == len(database)
    np.testing.assert_array_equal(counts.n_relevant, (shared > 0).sum(axis=1))
    np.testing.assert_array_equal(counts.at_level.sum(axis=2) @ counts.levels, shared.sum(axis=1))
    assert (counts.largest_bucket[:, -1] == counts.bucket_sizes[0]).all()
    pooled = counts.pooled()
    assert pooled.retrieved.sum() == counts.retrieved.sum()
    assert pooled.relevant.sum() == counts.relevant.sum()


@settings(deadline=None, max_examples=60)
@given(cases())
def test_bounds(case):
    n_bits = case[0]
    values = evaluate(counted(*case, index_order=True), [*names(n_bits), "mAP[index]"])
    for name in ("mAP", "mAP[index]"):
        assert (values["mAP[worst]"] <= values[name] + 1e-12).all()
        assert (values[name] <= values["mAP[best]"] + 1e-12).all()
    radius = min(RADII, n_bits)
    assert (values[f"mLGAP@r{radius}"] >= values[f"RAMAP@r{radius}"] - 1e-15).all()
    assert (values[f"precision@r{radius}"] <= 1 - values[f"empty@r{radius}"]).all()
    for array in values.values():
        assert array == pytest.approx(np.clip(array, 0, 1), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_a_relevant_item_on_the_query_never_lowers_ap_or_recall(case):
    """Against a copy of the query with none of its labels, at the same place."""
    n_bits, query, database, of_query, of_database = case
    if of_query.ndim == 2:
        of_query, of_database = of_query[:, 0].astype(int), of_database[:, 0].astype(int)
    database = np.vstack([database, query[:1]])
    hit = counted(n_bits, query[:1], database, of_query[:1], np.append(of_database, of_query[0]))
    miss = counted(n_bits, query[:1], database, of_query[:1], np.append(of_database, 99))
    for name in ("mAP", "mAP@4[all]", "precision@r1", "recall@r1"):
        assert evaluate(hit, [name])[name] >= evaluate(miss, [name])[name] - 1e-12


@settings(deadline=None, max_examples=60)
@given(cases(), st.integers(1, 25))
def test_precision_and_recall_at_a_cutoff_count_the_same_items(case, cutoff):
    counts = counted(*case)
    top = min(cutoff, counts.n_database)
    precision, recall = evaluate(counts, [f"P@{cutoff}", f"R@{cutoff}"]).values()
    np.testing.assert_allclose(precision * top, recall * counts.n_relevant, rtol=1e-13)
    # Where the cutoff is the size of a ball, the top K are the ball.
    for radius in range(counts.n_bits + 1):
        for q, size in enumerate(counts.retrieved_within[:, radius]):
            if size:
                at_cutoff = evaluate(counts, [f"P@{size}", f"R@{size}"])
                of_ball = evaluate(counts, [f"precision@r{radius}", f"recall@r{radius}"])
                pairs = zip(at_cutoff.values(), of_ball.values(), strict=True)
                assert all(a[q] == pytest.approx(b[q], rel=1e-13) for a, b in pairs)


@settings(deadline=None, max_examples=60)
@given(cases(), st.floats(0.01, 100))
def test_an_f_measure_lies_between_precision_and_recall(case, beta):
    n_bits = case[0]
    counts, radius = counted(*case), min(RADII, n_bits)
    for average in ("", "_micro"):
        names = [f"{name}{average}@r{radius}" for name in (f"F{beta:.2f}", "precision", "recall")]
        f, precision, recall = evaluate(counts, names).values()
        assert (f <= np.maximum(precision, recall) + 1e-12).all()
        assert (f >= np.where(precision * recall > 0, np.minimum(precision, recall), 0) - 1e-12).all()


@settings(deadline=None, max_examples=60)
@given(cases())
def test_a_curve_is_made_of_the_metrics_at_its_radii(case):
    counts = counted(*case)
    for empty in ("zero", "drop"):
        micro, macro = (pr_curve(counts, average=average, empty=empty) for average in ("micro", "macro"))
        for radius in range(counts.n_bits + 1):
            for curve, suffix in ((micro, "_micro"), (macro, "")):
                names = [f"{name}{suffix}@r{radius}" for name in ("precision", "recall")]
                values = evaluate(counts, names, empty=empty)
                at = [curve.precision[radius], curve.recall[radius]]
                np.testing.assert_array_equal(at, [mean(array) for array in values.values()])


@settings(deadline=None, max_examples=60)
@given(cases(), st.integers(1, 8))
def test_the_best_order_of_the_retrieved_is_not_above_that_of_the_database(case, cutoff):
    counts = counted(*case)
    of_retrieved, of_database = (ndcg(counts, cutoff=cutoff, ideal=ideal) for ideal in ("retrieved", "database"))
    assert (of_retrieved >= of_database - 1e-12).all()
    assert (of_retrieved <= 1 + 1e-12).all()


@settings(deadline=None, max_examples=60)
@given(cases())
def test_how_codes_are_spread(case):
    counts = counted(*case)
    n_items, n_buckets = counts.n_database, counts.bucket_sizes.size
    entropy, collision, largest, utilisation = (
        array.item() for array in evaluate(counts, ["entropy", "collision", "largest_bucket", "utilisation"]).values()
    )
    # Entropies of order 1, 2 and infinity fall with the order, and none is above that of even buckets.
    repeated = (collision * (n_items - 1) + 1) / n_items  # the second item drawn with the first one put back
    assert np.log2(n_buckets) + 1e-12 >= entropy >= -np.log2(repeated) - 1e-12
    assert -np.log2(repeated) >= -np.log2(largest) - 1e-12
    assert entropy <= min(counts.n_bits, np.log2(n_items)) + 1e-12
    assert (collision == 0) == (n_buckets == n_items)
    assert utilisation == n_buckets / min(n_items, 2**counts.n_bits) <= 1


@settings(deadline=None, max_examples=30)
@given(cases())
def test_lookups_grow_to_the_complete_code_space(case):
    counts = counted(*case)
    values = [evaluate(counts, [name])[name].item() for name in (f"lookups@r{r}" for r in range(counts.n_bits + 1))]
    assert values[0] == 1
    assert (np.diff(values) >= 1).all()
    assert values[-1] == 2**counts.n_bits
