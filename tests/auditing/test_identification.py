"""Identification of splits: each protocol is recognised, changes are described, and nothing unknown is claimed."""

import gzip

import numpy as np
import pytest
from audited import clean
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.auditing import Dataset, Split
from protocol.auditing.checks import published as known_lists
from protocol.auditing.checks.identification import compare, identify, nearest
from protocol.auditing.checks.published import PUBLISHED, PublishedLists, digest_of_names

FIXED = [
    name
    for name in registry.names("split")
    if not registry.get("split", name).open and not registry.get("split", name).listed
]
S1 = {"query": np.arange(1_000), "train": np.arange(1_000, 6_000), "database": np.arange(1_000, 60_000)}


def split(**changed):
    parts = {name: part for name, part in (S1 | changed).items() if part is not None}
    return Split(parts, Dataset())


def description(made, declared=None):
    return identify(made, declared).removeprefix("This split ").removesuffix(".")


@pytest.mark.parametrize("name", FIXED)
def test_a_clean_split_matches_its_protocol(name):
    made = clean(name).split
    assert description(made).startswith((f"matches {name}", f"matches cifar10_10k or {name}"))
    assert identify(made, declared=name) == ""
    # Without labels and official parts, only sizes and overlaps are compared and named.
    bare = Split(made.parts, Dataset())
    assert name in description(bare)
    assert "classes" not in description(bare)
    assert "official parts" not in description(bare)


def test_matches_are_ordered_by_distance_and_deterministic():
    matches = nearest(split())
    assert matches[0].distance == 0
    order = [(not one.is_near, one.distance) for one in matches]
    assert order == sorted(order)
    assert [one.name for one in matches] == [one.name for one in nearest(split())]
    assert {one.name for one in matches} == {*FIXED, *(lists.name for lists in PUBLISHED)}


def test_protocols_without_sizes_of_their_own_are_not_named():
    for name in ("standard", "improved", "from_lists"):
        n_known = len(FIXED) + len(PUBLISHED)
        none = f"resembles none of the {n_known} declared protocols and published lists of fixed size"
        assert description(clean(name).split) == none
        assert identify(clean(name).split, declared=name) == ""


CHANGES = {
    "queries in the database": (
        {"database": np.concatenate([np.arange(888), S1["database"]])},
        "resembles cifar10_s1 in sizes and overlaps, but 888 queries are in the database",
    ),
    "all queries in the database": (
        {"database": np.arange(60_000)},
        "resembles cifar10_s1 in sizes and overlaps, but all 1,000 queries are in the database",
    ),
    "one query in the database": (
        {"database": np.append(S1["database"], 7)},
        "resembles cifar10_s1 in sizes and overlaps, but 1 query is in the database",
    ),
    "training set left out": ({"database": np.arange(6_000, 60_000)}, "matches cifar10_54k in sizes and overlaps"),
    "queries in the database, training set left out": (
        {"database": np.concatenate([np.arange(888), np.arange(6_000, 60_000)])},
        "resembles cifar10_54k in sizes and overlaps, but 888 queries are in the database",
    ),
    "a training item outside the database": (
        {"database": np.delete(S1["database"], 3)},
        "resembles cifar10_s1 in sizes and overlaps, but 1 training item is not in the database",
    ),
    "a larger training set": (
        {"train": np.arange(1_000, 7_000)},
        "resembles cifar10_s1 in sizes and overlaps, but the training set has 6,000 items (declared 5,000)",
    ),
    "queries to train on are not reported twice": (
        {"train": np.arange(995, 5_995)},
        "resembles cifar10_s1 in sizes and overlaps, but 5 queries are in the training set",
    ),
    "no training set": ({"train": None}, "matches cifar10_s1 in sizes and overlaps; no training set was given"),
    "a validation set": (
        {"validation_query": np.arange(50, 60)},
        "resembles cifar10_s1 in sizes and overlaps, but the validation query partition has 10 items (declared 0)",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_described(change):
    changed, expected = CHANGES[change]
    assert description(split(**changed)) == expected


def test_classes_are_compared_where_labels_are_known():
    y = np.arange(60_000) % 10
    assert description(Split(S1, Dataset(y=y))) == "matches cifar10_s1 in sizes, classes and overlaps"
    y[0] = 1
    assert description(Split(S1, Dataset(y=y))) == (
        "resembles cifar10_s1 in sizes, classes and overlaps, but the query partition has 99 to 101 items per class "
        "(declared 100)"
    )
    assert "it has 20 classes (declared 10)" in identify(Split(S1, Dataset(y=np.arange(60_000) % 20)))


def test_several_labels_may_be_more_than_were_drawn_but_not_fewer():
    y = np.random.default_rng(0).random((195_834, 21)) < 0.2
    parts = registry.get("split", "nuswide_21").split(195_834, y, seed=0)
    assert description(Split(parts, Dataset(y=y))) == "matches nuswide_21 in sizes, classes and overlaps"
    y[parts["query"], 4] = False
    few = description(Split(parts, Dataset(y=y)))
    assert few.startswith("resembles nuswide_21 in sizes, classes and overlaps, but the query partition has 0 to ")
    assert few.endswith(" items per class (declared at least 100)")


def test_official_parts_distinguish_protocols_of_equal_sizes():
    official = {"train": np.arange(50_000), "test": np.arange(50_000, 60_000)}
    parts = {"query": official["test"], "train": official["train"], "database": official["train"]}
    assert (
        description(Split(parts, Dataset()))
        == "matches cifar100_mlgap or cifar10_10k or cifar10_s2 in sizes and overlaps"
    )
    dataset = Dataset(n_items=60_000, official=official)
    assert (
        description(Split(parts, dataset))
        == "matches cifar100_mlgap or cifar10_s2 in sizes, overlaps and official parts"
    )
    labelled = Dataset(n_items=60_000, y=np.arange(60_000) % 10, official=official)
    assert description(Split(parts, labelled)) == "matches cifar10_s2 in sizes, classes, overlaps and official parts"
    drawn = np.arange(60_000) % 6 == 0
    parts = {"query": np.flatnonzero(drawn), "train": np.flatnonzero(~drawn), "database": np.flatnonzero(~drawn)}
    assert description(Split(parts, dataset)) == "matches cifar10_10k in sizes and overlaps"


def test_the_size_of_a_database_is_reported_unless_the_training_set_explains_it():
    parts = {"query": np.arange(1_000), "database": np.arange(1_000, 25_000)}
    assert description(Split(parts, Dataset())) == (
        "resembles mirflickr_1k in sizes and overlaps, but the database has 24,000 items (declared 20,000); "
        "no training set was given"
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1_000, 5_000, 59_000), (1_000, 4_000, 6_540), (700, 2_000, 2_866)]))
def test_every_inequality_has_a_difference_in_words(seed, sizes):
    rng = np.random.default_rng(seed)
    n_items = sum(sizes) - rng.integers(0, 3) * sizes[1]
    parts = {
        part: np.sort(rng.permutation(n_items)[: size + rng.integers(-1, 2)])
        for part, size in zip(("query", "train", "database"), sizes, strict=True)
        if part != "train" or rng.random() < 0.7
    }
    known = Dataset(n_items=n_items, y=rng.integers(0, 10, n_items)) if rng.random() < 0.5 else Dataset()
    for match in nearest(Split(parts, known)):
        assert match.is_exact or match.differences or match.open
        assert not (match.is_exact and match.differences)


def test_with_a_declared_protocol_only_a_nearer_one_is_named():
    left_out = split(database=np.arange(6_000, 60_000))
    assert description(left_out, "cifar10_s1") == "matches cifar10_54k in sizes and overlaps; cifar10_s1 was declared"
    assert identify(split(query=np.arange(999)), "cifar10_s1") == ""
    half = np.arange(10_000, 60_000)
    large = split(query=np.arange(10_000), train=half, database=half)
    named = "matches cifar100_mlgap or cifar10_10k or cifar10_s2 in sizes and overlaps"
    assert description(large, "cifar10_s1") == f"{named}; cifar10_s1 was declared"


def test_a_size_that_the_protocol_does_not_fix_is_reported_as_such():
    parts = {"query": np.arange(5_000), "train": np.arange(5_000, 15_000), "database": np.arange(5_000, 173_692)}
    assert description(Split(parts, Dataset())) == (
        "resembles nuswide_81 in sizes and overlaps (which does not fix the size of the database)"
    )
    query_alone = Split({"query": parts["query"], "database": parts["train"]}, Dataset())
    assert description(query_alone).startswith("resembles none of")
    known = Dataset(n_items=173_692, y=np.ones((173_692, 81), dtype=bool))
    assert description(Split(parts, known)) == "matches nuswide_81 in sizes, classes and overlaps"


def test_hashnets_lists_of_coco_are_recognised_by_their_sizes_and_the_queries_in_the_database():
    parts = {"query": np.arange(5_000), "train": np.arange(112_218, 122_218), "database": np.arange(112_218)}
    assert description(Split(parts, Dataset())) == (
        "matches HashNet's lists of MS-COCO in sizes and overlaps; it resembles coco_5k in sizes and overlaps, "
        "but all 5,000 queries are in the database and the training set is left out of the database"
    )


def test_lists_are_recognised_by_their_file_names_whatever_their_folder_order_and_partition(monkeypatch):
    names = [f"{number}.jpg" for number in range(30)]
    lists = PublishedLists(
        "a toolkit's lists",
        protocol="coco_5k",
        n_classes=3,
        sizes={"query": 10},
        digests={"query": digest_of_names(names[:10])},
    )
    monkeypatch.setattr("protocol.auditing.checks.identification.PUBLISHED", (lists,))
    ids = np.array(["./images/" + name for name in names[::-1]])
    parts = {"query": np.arange(5), "database": np.arange(20, 30)}
    expected = "The database list has the 10 file names of the query list in a toolkit's lists."
    assert expected in identify(Split(parts, Dataset(ids=ids)))
    assert expected in identify(Split(parts, Dataset(ids=ids)), declared="cifar10_s1")
    parts["database"] = np.arange(19, 29)
    assert "file names" not in identify(Split(parts, Dataset(ids=ids)))


@pytest.mark.parametrize("lists", PUBLISHED, ids=lambda lists: lists.protocol)
def test_the_protocol_of_published_lists_is_declared(lists):
    protocol = registry.get("split", lists.protocol)
    assert protocol.n_classes == lists.n_classes
    assert set(lists.digests) <= set(lists.sizes)


FOLDERS = {"HashNet's lists of NUS-WIDE-81": "hashnet_81", "DeepHash-pytorch's lists of NUS-WIDE-21": "deephash_21"}


@pytest.mark.parametrize("lists", [lists for lists in PUBLISHED if lists.digests], ids=lambda lists: lists.protocol)
def test_the_published_lists_themselves_have_their_digests(lists, shared):
    for part, file in {"query": "test", "train": "train"}.items():
        with gzip.open(shared / "data" / "nuswide_lists" / FOLDERS[lists.name] / f"{file}.txt.gz", "rt") as lines:
            names = [line.split()[0] for line in lines]
        assert len(names) == lists.sizes[part]
        assert digest_of_names(names) == lists.digests[part]
    assert known_lists.PUBLISHED == PUBLISHED


def test_a_comparison_with_one_protocol_has_both_values():
    table = {(one.by, one.what): (one.here, one.declared) for one in compare(split(), "cifar10_54k").comparisons}
    assert table == {
        ("sizes", "query"): ("1,000", "1,000"),
        ("sizes", "train"): ("5,000", "5,000"),
        ("sizes", "database"): ("59,000", "54,000"),
        ("overlaps", "query in database"): ("0", "0"),
        ("overlaps", "query in train"): ("0", "0"),
        ("overlaps", "train in database"): ("5,000", "0"),
    }
    assert compare(split(), "cifar10_54k").differences == ("the whole training set is in the database",)
    assert compare(split(), "improved").differences == ("the whole training set is in the database",)
    assert compare(split(), "from_lists").differences == ()
