"""The difference of two splits, compared with sets and dictionaries, and its texts."""

import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing import Split
from protocol.auditing.checks.difference import difference
from protocol.auditing.items import Dataset
from protocol.checks import ProtocolError
from protocol.splits import PARTITIONS

IDS = np.array(list("abcdefgh"))
HERE = {"query": np.array([0, 1]), "train": np.array([2, 3]), "database": np.array([2, 3, 4, 5])}
THERE = {"query": np.array([0, 4]), "train": np.array([3, 2]), "database": np.array([2, 3, 1])}


def slow(a, b, parts):
    """Return sizes and moved items by loops over sets."""
    members = [{part: set(side.get(part, [])) for part in parts} for side in (a, b)]
    items = sorted(set().union(*members[0].values(), *members[1].values()))
    sizes = {p: (len(members[0][p]), len(members[1][p]), len(members[0][p] & members[1][p])) for p in parts}
    moved = {}
    for i in items:
        before, after = (tuple(part for part in parts if i in side[part]) for side in members)
        if before != after:
            moved.setdefault((before, after), []).append(str(i))
    return sizes, moved


LISTS = st.dictionaries(
    st.sampled_from(PARTITIONS), st.lists(st.integers(0, 9), min_size=1, max_size=8), min_size=1, max_size=5
)


@settings(max_examples=150, deadline=None)
@given(LISTS, LISTS)
def test_the_difference_matches_loops_over_sets(a, b):
    first, second = (Split({p: np.array(own) for p, own in side.items()}, Dataset()) for side in (a, b))
    found, about = difference(first, second)
    parts = [part for part in PARTITIONS if part in a and part in b]
    sizes, moved = slow({p: a[p] for p in parts}, {p: b[p] for p in parts}, parts)
    sizes = [f"{p} {n_a} here, {n_b} there, {both} in both" for p, (n_a, n_b, both) in sizes.items()]
    assert about == f"Compared with there by row numbers: {'; '.join(sizes)}."
    *items, reordered, alone = found.values()
    order = sorted(moved, key=lambda pattern: [[p not in side for p in parts] for side in pattern])
    assert items == [moved[pattern] for pattern in order]
    words = [[" and ".join(side) or "no partition" for side in pattern] for pattern in order]
    assert list(found)[:-2] == [f"These items are in {here} here, and in {there} in there" for here, there in words]
    assert alone == [f"{p} (only {'here' if p in a else 'there'})" for p in PARTITIONS if (p in a) != (p in b)]
    assert reordered == [p for p in parts if set(a[p]) == set(b[p]) and a[p] != b[p]]
    assert not any(difference(first, first)[0].values())


# How items are matched


def test_row_numbers_are_compared_with_ids_if_the_order_of_the_ids_is_known():
    rows, known = Split(HERE, Dataset()), Split(HERE, Dataset(n_items=8, ids=IDS))
    for differences, about in (difference(rows, known), difference(known, rows)):
        assert "by row numbers" in about
        assert not any(differences.values())
    with pytest.raises(ProtocolError, match=r"^against: y contains ids and x row numbers"):
        difference(rows, Split(HERE, Dataset(ids=IDS)), here="x", there="y")


# The public function


def named(audited, name):
    """Return the items of the findings of one kind."""
    return [one.items for made in audited.findings.values() for one in made if one.name == name]


def test_a_split_is_compared_with_files_and_mappings_alike(tmp_path):
    np.savez(tmp_path / "b.npz", **THERE)
    for against in (tmp_path / "b.npz", str(tmp_path / "b.npz"), THERE):
        audited = audit(HERE, against=against)
        assert named(audited, "split-difference") == [("1",), ("4",), ("5",), ("train",)]
        assert audited.fails("information")
        assert not audited.n_errors
    assert "in database here, and in no partition in the other split." in " ".join(audited.to_text().split())
    sentence = "by row numbers: query 2 here, 2 there, 1 in both; train 2 here, 2 there, 2 in both; database 4 here"
    assert f"Compared with the other split {sentence}" in audited.about["split"][-1]
    # Lists without a training set are compared in the other partitions.
    audited = audit(query=HERE["query"], database=HERE["database"], against=tmp_path / "b.npz")
    assert named(audited, "split-difference")[-1] == ("train (only there)",)
