import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import registry
from protocol.auditing import Dataset, Split
from protocol.auditing.checks.known import audit_modalities, divided_pairs
from protocol.auditing.inputs.items import modalities_from
from protocol.checks import ProtocolError

PAIRS = np.array([[0, 10], [1, 11], [2, 12], [3, 13]])


def test_halves_in_different_partitions_are_divided():
    parts = {"query": np.array([0, 10, 1]), "train": np.array([11, 2, 12]), "database": np.array([2, 11, 3])}
    # Text 11 is trained on and ranked; image 2 is ranked, 12 is not. The text of image 3 is in no partition.
    assert divided_pairs(Split(parts, Dataset()), PAIRS).tolist() == [[1, 11], [2, 12]]


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


def test_divided_pairs_are_a_finding_by_their_first_halves(tmp_path):
    (tmp_path / "pairs.csv").write_text("i0,t0\ni1,t1\ni9,t9\n")
    dataset = Dataset(n_items=4, ids=IDS)
    split = Split({"query": np.array([0]), "database": np.array([1, 2, 3])}, dataset)
    (finding,) = audit_modalities(split, modalities_from(tmp_path / "pairs.csv", dataset, 4))
    assert (finding.name, finding.severity, finding.count, finding.examples) == ("pair-split", "error", 1, ("i0 ~ t0",))


@pytest.mark.parametrize(
    ("ids", "text", "message"),
    [
        (IDS, "i0 t0\ni1\n", "line 2: expected two ids, got 'i1'"),
        (None, "0 99999999999999999999999\n", "expected row numbers >= 0, as in the lists, got '9999"),
        (None, "", "expected pairs of listed row numbers, got none among 0 pairs"),
    ],
)
def test_lines_without_a_pair_are_reported(tmp_path, ids, text, message):
    (tmp_path / "pairs.txt").write_text(text)
    with pytest.raises(ProtocolError, match=message):
        modalities_from(tmp_path / "pairs.txt", Dataset(ids=ids), 4)
    with pytest.raises(ProtocolError, match=r"expected two (ids|row numbers) per line, got no such file"):
        modalities_from(tmp_path / "none.txt", Dataset(ids=ids), 4)
