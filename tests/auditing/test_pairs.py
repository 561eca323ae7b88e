"""Pairs of modalities that a split divides."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from protocol import registry
from protocol.auditing import Split
from protocol.auditing.checks.overlaps import audit_modalities, divided_pairs
from protocol.auditing.items import Dataset
from protocol.auditing.runs import Run

PAIRS = np.array([[0, 10], [1, 11], [2, 12], [3, 13]])


@given(seed=st.integers(0, 2**32 - 1), divided=st.sets(st.integers(0, 99), max_size=5))
def test_pairs_drawn_together_are_not_divided_except_by_hand(seed, divided):
    drawn = registry.get("split", "improved").split(
        100,
        np.arange(100) % 4,
        seed=seed,
        sizes={"query": 9, "validation_query": 5, "validation_database": 7, "train": 30},
    )
    pairs = np.stack([np.arange(100), np.arange(100) + 100], axis=1)
    parts = {name: np.concatenate([rows, rows + 100]) for name, rows in drawn.items()}
    assert not divided_pairs(Split(parts, Dataset()), pairs).size
    place = {item: name for name, rows in parts.items() for item in rows.tolist()}
    for item in divided:  # the text moves, its image stays
        new = "query" if place[item] != "query" else "database"
        parts[place[item]] = np.setdiff1d(parts[place[item]], [item + 100])
        parts[new] = np.union1d(parts[new], [item + 100])
    assert divided_pairs(Split(parts, Dataset()), pairs)[:, 0].tolist() == sorted(divided)


IDS = np.array(["i0", "i1", "t0", "t1"])


def test_divided_pairs_are_a_finding_by_their_first_halves():
    split = Split({"query": np.array([0]), "database": np.array([1, 2, 3])}, Dataset(n_items=4, ids=IDS))
    (finding,) = audit_modalities(Run("x", split, modalities=np.array([[0, 2], [1, 3]])))
    assert (finding.name, finding.severity, finding.count, finding.examples) == ("pair-split", "error", 1, ("i0 ~ t0",))
