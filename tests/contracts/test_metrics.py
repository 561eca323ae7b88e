"""The guarantees of every registered metric; each check must also reject a metric that violates it."""

import copy
import functools
from dataclasses import replace

import numpy as np
import pytest
from encoded import refuses

from protocol import codes, registry
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts, count
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

NAMES = [name.replace("@K", "@5").replace("@rR", "@r2").replace("F_beta", "F0.5") for name in registry.names("metric")]
NEAREST = {"": 0, "the nearest": 1, "the K nearest": 5}
IN_ORDER = ("index_precisions", "index_top", "index_discounts")
ARRAYS = ("retrieved", "at_level", "levels", "largest_bucket", "bucket_sizes", *IN_ORDER)


def make_counts(nearest=0):
    """Return counts with graded relevance, repeated codes, empty balls, and a query without relevant items.

    Nothing is cached yet. If `nearest` is given, every query has so many relevant items, and the last one more.
    """
    rng = np.random.default_rng(0)
    bits = rng.random((60, 6)) < 0.25
    query = np.vstack([rng.random((9, 6)) < 0.4, np.ones((3, 6), bool)])
    of_query, of_database = rng.random((12, 3)) < 0.5, rng.random((60, 3)) < 0.4
    of_query[0] = False
    truth = LabelRelevance(of_query, of_database)
    if nearest:
        rows = [np.sort(rng.choice(60, nearest + (query == 11), replace=False)) for query in range(12)]
        truth = NeighbourRelevance(np.cumsum([0, *map(len, rows)]), np.concatenate(rows), 60)
    return count(codes.pack(query), codes.pack(bits), 6, {"t": truth}, index_order=True)["t"]


def gives_one_float_per_query(metric, nearest=0):
    values = metric(make_counts(nearest))
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float64
    assert values.shape in ((12,), (1,))


def stays_in_its_range(metric, nearest=0, low=0.0, high=1.0):
    for counts in (make_counts(nearest), perfect(nearest), hopeless(nearest)):
        values = metric(counts)
        assert (values >= low - 1e-12).all()
        assert (values <= high + 1e-12).all()


def perfect(nearest=0):
    first = nearest or 4
    counts = HammingCounts.from_histograms([[first, 0, 0, 5]], [[first, 0, 0, 0]])
    discounts = (1 / np.log2(np.arange(2, 2 + first))).sum(keepdims=True)[None]
    top = np.array([[1.0, first, first]])
    return replace(counts, index_precisions=counts.relevant * 1.0, index_top=top, index_discounts=discounts)


def hopeless(nearest=0):
    counts = HammingCounts.from_histograms([[9, 0, 0, nearest]], [[0, 0, 0, nearest]])
    last = sum(rank / (9 + rank) for rank in range(1, nearest + 1))
    top, discounts = np.array([[10 if nearest else 0, 0.0, 0]]), np.zeros((1, 1))
    return replace(counts, index_precisions=np.array([[0.0, 0, 0, last]]), index_top=top, index_discounts=discounts)


def has_no_nan_by_default(metric, nearest=0):
    for counts in (make_counts(nearest), hopeless(nearest)):
        assert not np.isnan(metric(counts)).any()
        assert not np.isnan(metric(counts, undefined="zero")).any()


def does_not_modify_the_counts(metric, nearest=0):
    counts = make_counts(nearest)
    for name in ("relevant", "retrieved_within", "relevant_within"):
        getattr(counts, name)
    before = copy.deepcopy(counts)
    metric(counts)
    for name in (*ARRAYS, "relevant", "retrieved_within", "relevant_within"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(before, name))


def follows_a_permutation_of_the_queries(metric, nearest=0):
    counts = make_counts(nearest)
    order = np.random.default_rng(1).permutation(counts.n_queries)
    arrays = counts.to_arrays()
    of_queries = ("retrieved", "at_level", "largest_bucket", *IN_ORDER)
    moved = {name: arrays[name][order] for name in of_queries}
    values, of_moved = metric(counts), metric(HammingCounts(**arrays | moved))
    np.testing.assert_allclose(of_moved, values[order] if values.size > 1 else values, rtol=1e-14)


def depends_on_the_ranking_alone(metric, nearest=0):
    """Empty distances, the buckets and the cuts between items of one level do not change the order of relevance."""
    counts = make_counts(nearest)
    by_distance = ("retrieved", "at_level", "index_precisions")
    spread = {name: np.insert(getattr(counts, name), [0, 0, 0, 2, 5], 0, axis=-1) for name in by_distance}
    moved = replace(counts, **spread, largest_bucket=None, bucket_sizes=np.array([59, 1]))
    np.testing.assert_allclose(metric(moved), metric(counts), rtol=1e-12)
    coarse = HammingCounts.from_histograms([[2, 4, 3, 5]], {1: [[0, 1, 0, 5]], 3: [[2, 1, 0, 0]]})
    levels = {1: [[0, 0, 1, 0, 0, 3, 2]], 3: [[1, 1, 1, 0, 0, 0, 0]]}
    fine = HammingCounts.from_histograms([[1, 1, 4, 2, 1, 3, 2]], levels)
    if nearest:
        relevant = ([[0, 1, 0, nearest - 1]], [[0, 0, 1, 0, 0, nearest - 1, 0]])
        coarse = HammingCounts.from_histograms([[2, 4, 3, 4]], relevant[0])
        fine = HammingCounts.from_histograms([[1, 1, 4, 2, 1, 4, 0]], relevant[1])
    in_order = {"index_top": np.array([[2.0, 1, 0.5]]), "index_discounts": np.ones((1, 1 if nearest else 2))}
    values = [metric(replace(one, index_precisions=one.relevant / 2, **in_order)) for one in (coarse, fine)]
    np.testing.assert_allclose(*values, rtol=1e-12)


def declares_its_facts(entry):
    low, high = entry.range
    assert low < high
    assert entry.better in ("higher", "lower")
    assert entry.defined_on in ("ranking", "radius", "buckets")
    facts = ("source", "summary", "undefined", "ties", "denominator", *["beyond"] * ("@" in entry.name))
    assert all(getattr(entry, fact).strip() for fact in facts)
    assert "\n" not in entry.summary


CHECKS = [gives_one_float_per_query, has_no_nan_by_default, does_not_modify_the_counts]
CHECKS += [follows_a_permutation_of_the_queries]


def agrees_with_its_record(metric, entry):
    nearest = NEAREST[entry.relevant]
    declares_its_facts(entry)
    declares_what_it_needs(metric, entry.needs, nearest)
    stays_in_its_range(metric, nearest, *entry.range)
    if entry.defined_on == "ranking":
        depends_on_the_ranking_alone(metric, nearest)
    else:
        with pytest.raises((AssertionError, ProtocolError)):
            depends_on_the_ranking_alone(metric)
    for check in CHECKS:
        check(metric, nearest)


@pytest.mark.parametrize("name", NAMES)
def test_every_metric(name):
    agrees_with_its_record(registry.get("metric", name), registry.entry("metric", name))


def test_the_metric_of_the_guide(find):
    record = find("metric", "how-to/add-a-metric")
    agrees_with_its_record(functools.partial(record.plugin, radius=2), record)


def declares_what_it_needs(metric, needs, nearest=0):
    """The metric reads the array that it declares, and no other that does not add up."""
    counts = make_counts(nearest)
    for array in ("bucket_sizes", "largest_bucket", *IN_ORDER):
        without = replace(counts, **{array: None})
        if array == needs:
            refuses(f"^counts have no {array}: ", metric, without)
        else:
            np.testing.assert_array_equal(metric(without), metric(counts))


@pytest.mark.parametrize(("name", "declared"), [("utilisation", ""), ("mAP", "largest_bucket")])
def test_wrong_needs_are_rejected(name, declared):
    with pytest.raises((ProtocolError, pytest.fail.Exception)):
        declares_what_it_needs(registry.get("metric", name), declared)


def counting(change):
    """Return a metric that changes the counts."""

    def metric(counts, *, undefined="zero"):
        change(counts)
        return np.ones(counts.n_queries)

    return metric


@pytest.mark.parametrize(
    ("check", "metric"),
    [
        (gives_one_float_per_query, lambda counts, *, undefined="zero": np.ones(counts.n_queries, dtype=np.float32)),
        (gives_one_float_per_query, lambda counts, *, undefined="zero": 0.5),
        (stays_in_its_range, lambda counts, *, undefined="zero": counts.n_relevant.astype(float)),
        (has_no_nan_by_default, lambda counts, *, undefined="drop": np.where(counts.n_relevant > 0, 1.0, np.nan)),
        (does_not_modify_the_counts, counting(lambda counts: np.add(counts.retrieved, 1, out=counts.retrieved))),
        (does_not_modify_the_counts, counting(lambda counts: counts.relevant_within.fill(0))),
        (
            follows_a_permutation_of_the_queries,
            lambda counts, *, undefined="zero": np.cumsum(counts.retrieved[:, 2]) / counts.retrieved.sum(),
        ),
    ],
)
def test_wrong_metrics_are_rejected(check, metric):
    with pytest.raises(AssertionError):
        check(metric)
