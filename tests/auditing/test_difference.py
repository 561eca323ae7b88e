"""The difference of two splits, compared with sets, and its texts."""

import numpy as np
from audited import audit
from encoded import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.splits import PARTITIONS

IDS = np.array(list("abcdefgh"))
HERE = {"query": np.array([0, 1]), "train": np.array([2, 3]), "database": np.array([2, 3, 4, 5])}
THERE = {"query": np.array([0, 4]), "train": np.array([3, 2]), "database": np.array([2, 3, 1])}
ITEMS = st.lists(st.integers(0, 9), min_size=1, max_size=8)
SPLITS = st.fixed_dictionaries({"query": ITEMS, "database": ITEMS}, optional=dict.fromkeys(PARTITIONS[1:-1], ITEMS))


def differences(audited):
    """Return the items of each difference by what is said about them, and the sentence about the comparison."""
    (made,), (about,) = audited.findings.values(), audited.about.values()
    return {one.consequence: one.items for one in made if one.name == "split-difference"}, about[-1]


@settings(max_examples=100, deadline=None)
@given(SPLITS, SPLITS)
def test_the_difference_matches_sets(a, b):
    expected, sizes = {}, []
    for part in PARTITIONS:
        here, there = set(a.get(part, ())), set(b.get(part, ()))
        if here and there:
            expected[f"These items are in {part} here, but not in the other split."] = here - there
            expected[f"These items are in {part} in the other split, but not here."] = there - here
            sizes.append(f"{part} {len(here)} here, {len(there)} there, {len(here & there)} in both")
    found, about = differences(audit(a, against=b))
    items = {what: tuple(map(str, sorted(items))) for what, items in expected.items() if items}
    assert {what: found[what] for what in found if what.startswith("These")} == items
    assert about == f"Compared with the other split by row numbers: {'; '.join(sizes)}."
    reordered = {part for what, (part, *_) in found.items() if "another order" in what}
    assert reordered == {p for p in a.keys() & b.keys() if set(a[p]) == set(b[p]) and a[p] != b[p]}
    assert {part for what, (part, *_) in found.items() if "not compared" in what} == a.keys() ^ b.keys()


def test_row_numbers_are_compared_with_ids_if_the_order_of_the_ids_is_known():
    named = {part: IDS[rows] for part, rows in HERE.items()}
    found, about = differences(audit(named, ids=IDS, against=named))
    assert (found, "by ids" in about) == ({}, True)
    refuses(r"^against: split contains ids and the other split row numbers", audit, named, against=HERE)


def test_a_split_is_compared_with_files_and_mappings_alike(tmp_path):
    np.savez(tmp_path / "b.npz", **THERE)
    for against in (tmp_path / "b.npz", str(tmp_path / "b.npz"), THERE):
        audited = audit(HERE, against=against)
        items = [("1",), ("4",), ("train",), ("4", "5"), ("1",)]
        assert list(differences(audited)[0].values()) == items
        assert audited.fails("information")
        assert not audited.n_errors
    sentence = "by row numbers: query 2 here, 2 there, 1 in both; train 2 here, 2 there, 2 in both; database 4 here"
    assert f"Compared with the other split {sentence}" in audited.about["split"][-1]
    # Lists without a training set are compared in the other partitions.
    found, _ = differences(audit(query=HERE["query"], database=HERE["database"], against=THERE))
    alone = "The train partition is not compared, because it exists only in the other split."
    assert found[alone] == ("train",)


def test_splits_without_an_item_in_common_may_have_ids_in_another_form():
    lists = {"query": ["q1.png"], "database": ["d1.png", "d2.png"]}
    other = {part: [f"/data/{item}" for item in items] for part, items in lists.items()}
    (finding,) = [one for one in audit(lists, against=other).findings["split"] if one.severity == "undetermined"]
    assert finding.name == "split-difference"
    assert "No item is also in the other split, unless its ids, such as /data/d1.png, are those here in" in str(finding)
    assert not [one for one in audit(lists, against=lists).findings["split"] if one.severity == "undetermined"]
