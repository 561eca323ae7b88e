"""Properties of counting and metrics for any codes and labels; tests/reference compares them with slow versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from protocol import codes
from protocol.counting import count
from protocol.metrics import evaluate
from protocol.truth.relevance import LabelRelevance

RADII = 3
IN_EVERY_ORDER = ["mAP", "MRR", "MRR@4", "R-precision", "mAP@R", "hit@4", "mAP@r1", "nDCG", "nDCG[linear]"]
IN_EVERY_ORDER += ["nDCG@4", "nDCG@4[linear]"]


def with_ties(name, ties):
    return name if not ties else f"{name[:-1]},{ties}]" if name.endswith("]") else f"{name}[{ties}]"


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
    r = min(RADII, n_bits)
    of_radius = [f"{name}@r{r}" for name in ("RAMAP", "mLGAP", "precision", "empty", "F1")]
    of_radius += [f"{name}@r{r}[micro]" for name in ("recall", "F0.5")]
    of_cutoff = ["mAP@4[retrieved]", "mAP@4[min]", "P@4", "R@4"]
    in_order = [with_ties(name, ties) for name in IN_EVERY_ORDER for ties in ("", "best", "worst")]
    return [*in_order, *of_cutoff, "AUPRC[area]", "collision", "largest_bucket", *of_radius]


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
    of_radius = [name for name in names(n_bits) if "@r" in name and not name.startswith("mAP")]
    unchanged = [*of_radius, "entropy", "largest_bucket", "AUPRC[trapezoid]"]
    for name, values in evaluate(once, unchanged).items():
        np.testing.assert_allclose(evaluate(twice, [name])[name], values, rtol=1e-14)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_bounds(case):
    n_bits = case[0]
    in_order = [with_ties(name, "database-order") for name in IN_EVERY_ORDER if not name.startswith("nDCG@")]
    values = evaluate(counted(*case, index_order=True), [*names(n_bits), *in_order])
    for name in IN_EVERY_ORDER:
        for each in {name, with_ties(name, "database-order")} & values.keys():
            assert (values[with_ties(name, "worst")] <= values[each] + 1e-12).all()
            assert (values[each] <= values[with_ties(name, "best")] + 1e-12).all()
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
