import numpy as np
import pytest
from encoded import message_of, refusals
from formulas import extended
from plainly import assert_same_counts

from protocol import codes
from protocol.checks import ProtocolError
from protocol.counting import HammingCounts, LabelRelevance, NeighbourRelevance, count, pack_counts, unpack_counts

GOOD = {
    "retrieved": np.array([[1, 2, 0], [0, 1, 2]]),
    "at_level": np.array([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]]]),
    "levels": np.array([1, 3]),
    "largest_bucket": np.array([[1, 2, 2], [0, 1, 2]]),
    "bucket_sizes": np.array([2, 1]),
}


def test_derived_counts():
    counts = HammingCounts(**GOOD)
    assert (counts.n_queries, counts.n_bits, counts.n_database) == (2, 2, 3)
    assert counts.relevant.tolist() == [[1, 1, 0], [0, 0, 2]]
    assert counts.retrieved_within.tolist() == [[1, 3, 3], [0, 1, 3]]
    assert counts.relevant_within.tolist() == [[1, 2, 2], [0, 0, 2]]
    assert counts.n_relevant.tolist() == [2, 2]


def test_pooled_sums_over_queries():
    pooled = HammingCounts(**GOOD).pooled
    assert pooled.retrieved.tolist() == [[1, 3, 2]]
    assert pooled.at_level.tolist() == [[[1, 0, 1], [0, 1, 1]]]
    assert pooled.largest_bucket.tolist() == [[1, 3, 4]]
    assert (pooled.n_queries, pooled.n_database, pooled.bucket_sizes.tolist()) == (1, 6, [2, 1])


@pytest.mark.parametrize(("change", "message"), refusals("counting/refused.yaml"))
def test_impossible_counts_are_refused(change, message):
    arrays = {name: np.asarray(array) for name, array in change.items()}
    assert message_of(HammingCounts, **GOOD | arrays) == message


def test_counts_of_several_truths_are_stored_in_the_smallest_types():
    in_order = {"index_precisions": np.array([[1, 2 / 3, 0], [0, 0, 5 / 6]]), "index_top": np.array([[1.0, 1, 1]] * 2)}
    in_order["index_discounts"] = np.array([[1, 0.5], [0.4, 0.3]])
    counts = {"a": HammingCounts(**GOOD, **in_order), "b": HammingCounts(**GOOD | {"levels": np.array([1, 70_000])})}
    arrays = pack_counts(counts)
    assert {array.dtype.name for name, array in arrays.items() if name.startswith("a/index")} == {"float64"}
    small = ("retrieved", "largest_bucket", "bucket_sizes", "a/levels")
    assert {arrays[name].dtype.name for name in small} == {"uint8"}
    assert arrays["b/levels"].dtype == np.uint32
    for truth, again in unpack_counts(arrays).items():
        assert_same_counts(again, counts[truth])
    for name, values in in_order.items():
        np.testing.assert_array_equal(getattr(counts["a"].of_queries(np.array([1])), name), values[1:])
        assert getattr(counts["a"].pooled, name) is None


def test_the_sum_of_parts_has_the_levels_of_both():
    first = HammingCounts.from_histograms([[2, 0], [1, 1]], {1: [[1, 0], [0, 0]], 3: [[1, 0], [1, 0]]})
    second = HammingCounts.from_histograms([[0, 1], [1, 0]], {2: [[0, 1], [0, 0]]})
    total = first + second
    assert total.retrieved.tolist() == [[2, 1], [2, 1]]
    assert total.levels.tolist() == [1, 2, 3]
    assert total.at_level.tolist() == [[[1, 0], [0, 1], [1, 0]], [[0, 0], [0, 0], [1, 0]]]
    assert total.to_arrays().keys() == {"retrieved", "at_level", "levels"}
    assert total.pooled.bucket_sizes is None
    assert unpack_counts(pack_counts({"a": total}))["a"].at_level.tolist() == total.at_level.tolist()


@pytest.mark.parametrize(("other", "got"), [([[1, 0]], "got 1 and 1"), ([[1, 0, 0], [1, 0, 0]], "got 2 and 2")])
def test_parts_that_do_not_belong_together(other, got):
    first = HammingCounts.from_histograms([[2, 0], [1, 1]], [[1, 0], [0, 0]])
    message = "counts of a part must have 2 queries and 1 bits as the part before, " + got
    with pytest.raises(ProtocolError, match=message):
        first + HammingCounts.from_histograms(other, other)


@pytest.mark.parametrize(
    ("extension", "s"), [("none", 0), ("same", 1), ("same", 8), ("different", 1), ("different", 60)]
)
def test_counts_of_extended_codes_are_those_of_counting_them(extension, s):
    rng = np.random.default_rng(3)
    query, database = (codes.pack(rng.integers(2, size=(n, 5))) for n in (7, 60))
    truths = {
        "class": LabelRelevance(rng.integers(3, size=7), rng.integers(3, size=60)),
        "listed": NeighbourRelevance(np.arange(8) // 2 * 2, np.arange(6), 60),
    }
    for name, expected in count(*extended(query, database, 5, extension, s), truths, index_order=True).items():
        plain = count(query, database, 5, truths, index_order=True)[name]
        assert_same_counts(plain.extended(extension, s), expected)
