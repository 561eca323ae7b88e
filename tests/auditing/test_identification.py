"""Identification of splits: each protocol is recognised, changes are described, and nothing unknown is claimed."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from audited import clean

from protocol import registry
from protocol.auditing import Split
from protocol.auditing.checks.identification import PUBLISHED, identify
from protocol.auditing.items import Dataset
from protocol.splits import PARTITIONS

FIXED = [
    name
    for name in registry.names("split")
    if not registry.get("split", name).open and not registry.get("split", name).listed
]
S1 = {"query": np.arange(1_000), "train": np.arange(1_000, 6_000), "database": np.arange(1_000, 60_000)}


ROWS, CROSS_MODAL = yaml.safe_load_all(Path(__file__).with_name("identified_splits.yaml").read_text())


def description(parts, **known):
    return identify(Split(parts, Dataset(**known))).removeprefix("This split ").removesuffix(".")


def rows_of(ranges):
    """Return the row numbers in ranges such as 0:888 1000:60000."""
    return np.concatenate([np.arange(*map(int, one.split(":"))) for one in ranges.split()])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_splits_are_described_by_the_nearest_protocol_and_the_differences(row):
    parts = S1 | {part: ranges and rows_of(ranges) for part, ranges in row.items() if part in PARTITIONS}
    parts = {part: rows for part, rows in parts.items() if rows is not None}
    assert identify(Split(parts, Dataset()), row.get("declared")) == row["text"]


@pytest.mark.parametrize("name", sorted({*registry.names("split")} - {"coco_5k", "nuswide_21", "sift1m"}))
def test_a_clean_split_matches_its_protocol(name):
    clean_split = clean(name).split
    assert identify(clean_split, declared=name) == ""
    if name not in FIXED:  # protocols without sizes of their own are not named
        count = len(FIXED) + len(PUBLISHED)
        none = f"matches none of the {count} declared protocols and published lists of fixed size"
        assert description(clean_split.parts) == none
        return
    assert identify(clean_split).startswith((f"This split matches {name}", f"This split matches cifar10_10k or {name}"))
    # Without labels, only sizes and overlaps are compared and named.
    bare = description(clean_split.parts)
    assert name in bare
    assert "classes" not in bare


def test_classes_are_compared_where_labels_are_known():
    y = np.arange(60_000) % 10
    assert description(S1, y=y) == "matches cifar10_s1 in sizes, classes and overlaps"
    y[0] = 1
    but = "but the query partition has 99 to 101 items per class (declared 100)"
    assert description(S1, y=y) == f"resembles cifar10_s1 in sizes, classes and overlaps, {but}"
    assert "it has 20 classes (declared 10)" in description(S1, y=np.arange(60_000) % 20)
    assert "the dataset has 60,001 items (declared 60,000)" in description(S1, n_items=60_001)


def test_several_labels_may_be_more_than_were_drawn_but_not_fewer():
    y = np.random.default_rng(0).random((195_834, 21)) < 0.2
    parts = registry.get("split", "nuswide_21").split(195_834, y, seed=0)
    assert description(parts, y=y) == "matches nuswide_21 in sizes, classes and overlaps"
    y[parts["query"], 4] = False
    few = description(parts, y=y)
    assert few.startswith("resembles nuswide_21 in sizes, classes and overlaps, but the query partition has 0 to ")
    assert few.endswith(" items per class (declared at least 100)")


def test_classes_distinguish_protocols_of_equal_sizes():
    parts = {"query": np.arange(10_000), "train": np.arange(10_000, 60_000), "database": np.arange(10_000, 60_000)}
    assert description(parts) == "matches cifar100_mlgap or cifar10_10k or cifar10_s2 in sizes and overlaps"
    known = {"n_items": 60_000, "y": np.arange(60_000) % 10}
    assert description(parts, **known) == "matches cifar10_10k or cifar10_s2 in sizes, classes and overlaps"
    known["official"] = {"test": parts["query"], "train": parts["database"]}
    assert description(parts, **known) == "matches cifar10_s2 in sizes, classes, overlaps and official splits"
    assert description(parts | {"query": np.arange(1, 10_001)}, **known).startswith("resembles cifar10_10k")
    # A database that is the rest of the dataset has the declared size if the dataset is known.
    y = np.ones((173_692, 81), dtype=bool)
    parts = {"query": np.arange(5_000), "train": np.arange(5_000, 15_000), "database": np.arange(5_000, 173_692)}
    assert description(parts, n_items=173_692, y=y) == "matches nuswide_81 in sizes, classes and overlaps"


@pytest.mark.parametrize("lists", PUBLISHED.values(), ids=PUBLISHED)
def test_the_protocol_of_published_lists_is_declared(lists):
    assert registry.get("split", lists["protocol"]).n_classes == lists["n_classes"]


@pytest.mark.parametrize(("sizes", "n_classes", "text"), CROSS_MODAL)
def test_splits_of_cross_modal_papers_are_recognised(sizes, n_classes, text):
    n_queries, n_train, n_database = sizes
    end = n_queries + (n_train if n_classes == 38 else 0)  # DeepHash-pytorch's database lacks the training set
    parts = {"query": np.arange(n_queries), "train": np.arange(n_queries, n_queries + n_train)}
    parts["database"] = np.arange(end, end + n_database)
    y = np.random.default_rng(0).random((end + n_database, n_classes)) < 0.2
    assert description(parts, y=y).startswith(text)
    assert text.split(" in ")[0] not in description(parts, y=y[:, 1:])
