import numpy as np
import pytest

from protocol import codes
from protocol.checks import ProtocolError
from protocol.ranking import LabelRelevance, NeighbourRelevance, count

QUERY = codes.pack([[0, 0, 0], [1, 1, 1]])
DATABASE = codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]])
LABELS = LabelRelevance([5, 6], [5, 5, 6, 6, 7])


def test_a_case_counted_by_hand():
    counts = count(QUERY, DATABASE, 3, {"class": LABELS})["class"]
    assert counts.retrieved.tolist() == [[1, 2, 1, 1], [1, 1, 2, 1]]
    assert counts.at_level.tolist() == [[[1, 1, 0, 0]], [[1, 0, 1, 0]]]
    assert counts.largest_bucket.tolist() == [[1, 2, 2, 2], [1, 1, 2, 2]]
    assert counts.bucket_sizes.tolist() == [2, 1, 1, 1]


def test_truths_share_what_does_not_depend_on_them():
    neighbours = NeighbourRelevance([0, 1, 3], [4, 0, 4], 5)
    counts = count(QUERY, DATABASE, 3, {"class": LABELS, "ball": neighbours})
    assert list(counts) == ["class", "ball"]
    assert counts["class"].retrieved is counts["ball"].retrieved
    assert counts["ball"].relevant.tolist() == [[0, 0, 1, 0], [0, 1, 0, 1]]


def test_inputs_stay_as_they_are():
    query, database = QUERY.copy(), DATABASE.copy()
    count(query, database, 3, {"class": LABELS})
    np.testing.assert_array_equal(query, QUERY)
    np.testing.assert_array_equal(database, DATABASE)


@pytest.mark.parametrize(
    ("query", "database", "n_bits", "truth", "message"),
    [
        (QUERY[:0], DATABASE, 3, LABELS, "came 0 queries and 5 items"),
        (QUERY, DATABASE[:0], 3, LABELS, "came 2 queries and 0 items"),
        (QUERY, DATABASE, 9, LABELS, r"query codes: 9 bits are packed as uint8 \(n, 2\)"),
        (QUERY, DATABASE.astype(np.int64), 3, LABELS, "database codes: 3 bits are packed as uint8"),
        (QUERY, DATABASE, 2, LABELS, "query codes: bits are set after bit 2"),
        (QUERY[:1], DATABASE, 3, LABELS, "relevance 't': wanted 1 queries and 5 database items .* came 2 and 5"),
        (QUERY, DATABASE[:4], 3, LABELS, "came 2 and 5"),
    ],
)
def test_refusals(query, database, n_bits, truth, message):
    with pytest.raises(ProtocolError, match=message):
        count(query, database, n_bits, {"t": truth})
