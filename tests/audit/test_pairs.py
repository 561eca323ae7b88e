import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from protocol import registry
from protocol.audit.pairs import torn_pairs

PAIRS = np.array([[0, 10], [1, 11], [2, 12], [3, 13]])


def test_halves_in_different_partitions_are_torn():
    parts = {"query": np.array([0, 10, 1]), "train": np.array([11, 2, 12]), "database": np.array([2, 11, 3])}
    assert torn_pairs(parts, PAIRS).tolist() == [1, 2]  # text 11 is trained on and ranked; image 2 is ranked, 12 is not


def test_a_half_in_no_partition_tears_nothing():
    assert not torn_pairs({"query": np.array([0, 1]), "database": np.array([12, 13])}, PAIRS).size


@given(seed=st.integers(0, 2**32 - 1), tear=st.sets(st.integers(0, 99), max_size=5))
def test_pairs_that_a_protocol_draws_together_are_whole_but_for_those_torn_by_hand(seed, tear):
    drawn = registry.get("split", "improved").split(
        100,
        np.arange(100) % 4,
        seed=seed,
        sizes={"query": 9, "validation_query": 5, "validation_database": 7, "train": 30},
    )
    pairs = np.stack([np.arange(100), np.arange(100) + 100], axis=1)
    parts = {name: np.concatenate([rows, rows + 100]) for name, rows in drawn.items()}
    assert not torn_pairs(parts, pairs).size
    place = {item: name for name, rows in parts.items() for item in rows.tolist()}
    for item in tear:  # the text moves, its image stays
        new = "query" if place[item] != "query" else "database"
        parts[place[item]] = np.setdiff1d(parts[place[item]], [item + 100])
        parts[new] = np.union1d(parts[new], [item + 100])
    assert torn_pairs(parts, pairs).tolist() == sorted(tear)
