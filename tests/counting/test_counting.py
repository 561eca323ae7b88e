import sys
from types import SimpleNamespace

import numpy as np
import pytest
from encoded import refuses

from protocol import codes
from protocol.counting import _compiled, count, counting
from protocol.counting._compiled import BitPlanes, Words
from protocol.counting._plain import Plain, Shell
from protocol.truth.relevance import LabelRelevance

QUERY = codes.pack([[0, 0, 0], [1, 1, 1]])
DATABASE = codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]])
LABELS = LabelRelevance([5, 6], [5, 5, 6, 6, 7])


def test_a_case_counted_by_hand():
    query, database = QUERY.copy(), DATABASE.copy()
    counts = count(query, database, 3, {"class": LABELS})["class"]
    np.testing.assert_array_equal(query, QUERY)
    np.testing.assert_array_equal(database, DATABASE)
    assert counts.retrieved.tolist() == [[1, 2, 1, 1], [1, 1, 2, 1]]
    assert counts.at_level.tolist() == [[[1, 1, 0, 0]], [[1, 0, 1, 0]]]
    assert counts.largest_bucket.tolist() == [[1, 2, 2, 2], [1, 1, 2, 2]]
    assert counts.bucket_sizes.tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("algorithm", [BitPlanes, Words])
def test_the_precisions_in_database_order_do_not_depend_on_their_blocks(algorithm, monkeypatch):
    rng, block = np.random.default_rng(0), slice(10, 60)
    query, database = (codes.words(codes.pack(rng.random((n, 5)) < 0.5)) for n in (70, 90))
    truth = LabelRelevance(rng.integers(0, 4, 70), rng.integers(0, 4, 90))
    (expected, found) = (kind(query, database, 5, {"t": truth}) for kind in (Plain, algorithm))
    retrieved, by_label = expected.count(block)
    relevant = by_label["t"].sum(axis=1)
    monkeypatch.setattr(_compiled, "_ROW_BYTES", 1)  # blocks of 16 queries
    arrays = [counter.in_database_order(truth, block, retrieved, relevant) for counter in (expected, found)]
    for slow, fast in zip(*arrays, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.parametrize(
    ("query", "database", "n_bits", "truth", "message"),
    [
        (QUERY, DATABASE[:0], 3, LABELS, "database codes: there are no codes"),
        (QUERY, DATABASE, 9, LABELS, r"query codes: expected uint8 \(n, 2\) for codes of 9 bits"),
        (QUERY, DATABASE.astype(np.int64), 3, LABELS, "database codes: expected uint8 .* for codes of 3 bits"),
        (QUERY, DATABASE, 2, LABELS, "query codes: expected zeros after bit 2"),
        (QUERY, DATABASE[:4], 3, LABELS, "relevance 't' is of 2 queries and 5 database items, but the codes are of 2"),
    ],
)
def test_refusals(query, database, n_bits, truth, message):
    refuses(message, count, query, database, n_bits, {"t": truth})


def test_only_requested_arrays_are_computed():
    plain = count(QUERY, DATABASE, 3, {"t": LABELS}, buckets=False)["t"]
    assert plain.largest_bucket is None
    assert (plain.index_precisions, plain.index_top, plain.index_discounts) == (None, None, None)
    # The ranking of the first query is 0 | 1 2 | 4 | 3, with items 0 and 1 relevant; of the second 3 | 4 | 1 2 | 0.
    ordered = count(QUERY, DATABASE, 3, {"t": LABELS}, index_order=True)["t"]
    np.testing.assert_allclose(ordered.index_precisions.sum(axis=1), [2, 1 + 2 / 4])
    np.testing.assert_allclose(ordered.index_top, [[1, 2, 2], [1, 1, 1]])
    np.testing.assert_allclose(ordered.index_discounts, 1 + 1 / np.log2([[3], [5]]))


def test_compiled_code_is_loaded_once_it_would_have_saved_its_start(monkeypatch):
    """A large call loads it, and so does the last of several small calls; work that NumPy does faster never does."""
    monkeypatch.delitem(sys.modules, "protocol.counting._kernels", raising=False)

    def chosen(*pairs, n_bits=64):
        monkeypatch.setattr(counting, "_missed", SimpleNamespace(seconds=0.0))
        return [counting._choose(of_call, n_bits, {}, False) for of_call in pairs]

    assert chosen(10**9) == [BitPlanes]
    assert chosen(1000) == [Plain]
    small = chosen(*[59 * 10**6] * 7)  # 0.11 s each, and 0.6 s to load
    assert small == [Plain] * 5 + [BitPlanes] * 2
    assert chosen(*[10**9] * 9, n_bits=8) == [Shell] * 9
