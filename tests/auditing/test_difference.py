"""The difference of two splits, compared with sets and dictionaries, its texts, and expected sizes."""

import itertools

import numpy as np
import pytest
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing import Dataset, Split
from protocol.auditing.checks.difference import difference, to_markdown, to_text
from protocol.checks import ProtocolError
from protocol.splits import PARTITIONS

IDS = np.array(list("abcdefgh"))
HERE = {"query": np.array([0, 1]), "train": np.array([2, 3]), "database": np.array([2, 3, 4, 5])}
THERE = {"query": np.array([0, 4]), "train": np.array([3, 2]), "database": np.array([2, 3, 1])}

SAME_ITEMS = "These partitions have the same items as in b.csv, but in another order or with other duplicates."


def slow(a, b, parts):
    """Return sizes, matrix and moved items by loops over sets."""
    members = [{part: set(side.get(part, [])) for part in parts} for side in (a, b)]
    items = sorted(set().union(*members[0].values(), *members[1].values()))
    where = {i: tuple(tuple(part for part in parts if i in side[part]) for side in members) for i in items}
    sizes = {p: (len(members[0][p]), len(members[1][p]), len(members[0][p] & members[1][p])) for p in parts}
    names = [*parts, "none"]
    matrix = {
        (p, q): sum(p in (where[i][0] or ("none",)) and q in (where[i][1] or ("none",)) for i in items)
        for p, q in itertools.product(names, names)
    }
    moved = {}
    for i in items:
        if where[i][0] != where[i][1]:
            moved.setdefault(where[i], []).append(str(i))
    return sizes, matrix, moved


LISTS = st.dictionaries(
    st.sampled_from(PARTITIONS), st.lists(st.integers(0, 9), min_size=1, max_size=8), min_size=1, max_size=5
)


@settings(max_examples=150, deadline=None)
@given(LISTS, LISTS)
def test_the_difference_matches_loops_over_sets(a, b):
    first, second = (Split({p: np.array(own) for p, own in side.items()}, Dataset()) for side in (a, b))
    found = difference(first, second)
    parts = [part for part in PARTITIONS if part in a and part in b]
    sizes, matrix, moved = slow({p: a[p] for p in parts}, {p: b[p] for p in parts}, parts)
    assert found.sizes == sizes
    assert found.matrix == matrix
    assert {pattern: list(items) for pattern, items in found.moved.items()} == moved
    assert list(found.moved) == sorted(moved, key=lambda pattern: [[p not in side for p in parts] for side in pattern])
    assert found.not_given == {p: "here" if p in a else "there" for p in PARTITIONS if (p in a) != (p in b)}
    assert found.reordered == tuple(p for p in parts if set(a[p]) == set(b[p]) and a[p] != b[p])
    same = difference(first, first)
    assert same.findings() == []
    assert to_text(same).endswith("\n\nNo difference.")


def test_findings_text_markdown_and_json_list_what_moved():
    found = difference(Split(HERE, Dataset(ids=IDS)), Split(THERE, Dataset(ids=IDS)), here="a.csv", there="b.csv")
    assert [(one.severity, one.count, one.items, one.consequence) for one in found.findings()] == [
        ("information", 1, ("b",), "These items are in query here, and in database in b.csv."),
        ("information", 1, ("e",), "These items are in database here, and in query in b.csv."),
        ("information", 1, ("f",), "These items are in database here, and in no partition in b.csv."),
        ("information", 1, ("train",), SAME_ITEMS),
    ]
    assert to_text(found) == (
        "a.csv against b.csv, items compared by ids\n\n"
        "partition  here  there  in both\n"
        "query         2      2        1\n"
        "train         2      2        2\n"
        "database      4      3        2\n\n"
        "items          query there  train there  database there  none there\n"
        "query here               1            0               1           0\n"
        "train here               0            2               2           0\n"
        "database here            1            2               2           1\n"
        "none here                0            0               0           0\n\n"
        "train: the same items, listed in another order."
    )
    assert "| query here | 1 | 0 | 1 | 0 |" in to_markdown(found)


# How items are matched


def test_row_numbers_are_compared_with_ids_if_the_order_of_the_ids_is_known():
    rows, known = Split(HERE, Dataset()), Split(HERE, Dataset(n_items=8, ids=IDS))
    assert difference(rows, known).by == difference(known, rows).by == "row numbers"
    assert difference(rows, known).findings() == []
    with pytest.raises(ProtocolError, match=r"^against: y contains ids and x row numbers"):
        difference(rows, Split(HERE, Dataset(ids=IDS)), here="x", there="y")


def test_file_names_are_compared_if_no_id_is_in_both():
    here, there = (np.char.add(folder, IDS) for folder in ("images/", "./data/images/"))
    found = difference(Split(HERE, Dataset(ids=here)), Split(THERE, Dataset(ids=there)))
    assert found.by == "file names"
    assert found.moved[("query",), ("database",)] == ("b",)
    ambiguous = here.copy()
    ambiguous[0] = "other/b"
    assert difference(Split(HERE, Dataset(ids=ambiguous)), Split(THERE, Dataset(ids=there))).by == "ids"


# The public function


def named(audited, name):
    """Return the items of the findings of one kind."""
    return [one.items for made in audited.findings.values() for one in made if one.name == name]


def test_a_split_is_compared_with_files_lists_and_mappings_alike(tmp_path):
    np.savez(tmp_path / "b.npz", **THERE)
    for part, rows in THERE.items():
        np.save(tmp_path / f"{part}.npy", rows)
    lists = ",".join(f"{part}={tmp_path / part}.npy" for part in THERE)
    for against in (tmp_path / "b.npz", str(tmp_path / "b.npz"), lists, THERE):
        audited = audit(HERE, against=against)
        assert named(audited, "split-difference") == [("1",), ("4",), ("5",), ("train",)]
        assert audited.fails("information")
        assert not audited.n_errors
    assert audited.to_text().startswith("split against the other split, items compared by row numbers")
    assert "in both" in audited.to_markdown()
    # Lists without a training set are compared in the other partitions.
    audited = audit(query=HERE["query"], database=HERE["database"], against=tmp_path / "b.npz")
    (found,) = audited.differences.values()
    assert found.not_given == {"train": "there"}
    assert "train: exists only there, so it is not compared." in audited.to_text()


def test_a_split_is_compared_with_a_protocol():
    parts = {"query": np.arange(1_000), "train": np.arange(1_000, 6_000), "database": np.arange(6_000, 60_000)}
    audited = audit(parts, against="cifar10_s1")
    assert named(audited, "split-difference") == [("0 of 5,000 training items are in the database (declared 5,000)",)]
    (found,) = audited.differences.values()
    assert to_text(found) == (
        "split against the protocol cifar10_s1\n\n"
        "compared                         here  declared\n"
        "sizes of query                  1,000     1,000\n"
        "sizes of train                  5,000     5,000\n"
        "sizes of database              54,000    59,000\n"
        "overlaps of query in database       0         0\n"
        "overlaps of query in train          0         0\n"
        "overlaps of train in database       0     5,000\n\n"
        "This split resembles cifar10_s1 in sizes and overlaps, but 0 of 5,000 training items are in the database "
        "(declared 5,000)."
    )
    assert "| overlaps of train in database | 0 | 5,000 |" in to_markdown(found)
    assert audit(parts, against="cifar10_54k").differences["split"].findings() == []


# Expected sizes


@pytest.mark.parametrize(
    ("sizes", "mismatches"),
    [
        ({}, [("query 999 (declared 1,000)", "train 4,500 (declared 5,000)")]),
        ({"train": 4_501}, [("query 999 (declared 1,000)", "train 4,500 (expected 4,501)")]),
        ({"train": 4_500, "query": 998}, [("query 999 (expected 998)",)]),
        ({"train": 4_500, "query": 999, "validation_query": 3}, [("validation_query 0 (expected 3)",)]),
    ],
)
def test_expected_sizes_replace_declared_ones_and_need_no_protocol(sizes, mismatches):
    parts = {"query": np.arange(999), "train": np.arange(1_000, 5_500), "database": np.arange(1_000, 60_000)}
    audited = audit(parts, protocol="cifar10_s1", sizes=sizes)
    assert named(audited, "size-mismatch") == mismatches
    lists = audit(query=parts["query"], database=parts["database"], protocol="cifar10_s1")
    assert named(lists, "size-mismatch") == [("query 999 (declared 1,000)",)]  # a list that is not given has no size
    expected = [tuple(one for one in items if "expected" in one) for items in mismatches]
    alone = audit(parts, sizes=sizes)
    assert named(alone, "size-mismatch") == [items for items in expected if items]
    assert ("differ from those expected, so" in str(alone).replace("\n          ", "")) == any(expected)
