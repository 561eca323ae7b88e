import itertools

import numpy as np
import pytest

from protocol import codes
from protocol.checks import ProtocolError
from protocol.counting import bucket_search
from protocol.truth.relevance import LabelRelevance


def truth_of(query, database):
    """Every item is relevant to every query."""
    return LabelRelevance(np.zeros(len(query), int), np.zeros(len(database), int))


@pytest.mark.parametrize(("n_tables", "width", "reach"), [(6, 1, 5), (3, 2, 2), (2, 3, 1), (1, 6, 0)])
def test_s4_07_segments_guarantee_a_collision(n_tables, width, reach):
    """Claim S4-07: L segments of K bits find everything up to distance L - 1, and not all of the next distance."""
    database = codes.pack(list(itertools.product([0, 1], repeat=6)))
    query = codes.pack([[0, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1]])
    for distance in range(7):
        near = database[codes.hamming_distance(query[:1], database)[0] == distance]
        found = bucket_search(query[:1], near, 6, truth_of(query[:1], near), bits_per_table=width, n_tables=n_tables)
        assert (found.retrieved[0] == len(near)) == (distance <= reach)
    assert reach == n_tables - 1


@pytest.mark.parametrize(("n_bits", "width", "n_tables"), [(1, 1, 1), (7, 2, 3), (16, 4, 4), (64, 9, 7), (65, 2, 32)])
def test_against_loops(n_bits, width, n_tables):
    rng = np.random.default_rng(n_bits)
    pool = rng.random((20, n_bits)) < 0.5
    query, database = pool[rng.integers(0, 20, 8)], pool[rng.integers(0, 20, 60)] ^ (rng.random((60, n_bits)) < 0.1)
    of_query, of_database = rng.integers(0, 3, 8), rng.integers(0, 2, 60)
    truth = LabelRelevance(of_query, of_database)
    packed = codes.pack(query), codes.pack(database)
    found = bucket_search(*packed, n_bits, truth, bits_per_table=width, n_tables=n_tables)
    for q in range(8):
        union = {
            item
            for item in range(60)
            for table in range(n_tables)
            if all(query[q, bit] == database[item, bit] for bit in range(table * width, (table + 1) * width))
        }
        relevant = {item for item in range(60) if of_database[item] == of_query[q]}
        assert found.retrieved[q] == len(union)
        assert found.relevant[q] == len(relevant)
        assert found.true_positives[q] == len(union & relevant)


@pytest.mark.parametrize(("width", "n_tables"), [(0, 1), (1, 0), (2, 2), (4, 1), (-1, -3)])
def test_tables_that_do_not_fit(width, n_tables):
    one = codes.pack([[0, 0, 1]])
    with pytest.raises(ProtocolError, match=r"(bits_per_table|n_tables.*) must be an integer from 1 to"):
        bucket_search(one, one, 3, truth_of(one, one), bits_per_table=width, n_tables=n_tables)
