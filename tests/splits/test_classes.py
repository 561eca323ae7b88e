"""Protocols whose partitions depend on the classes of the items, against sets, counters and 200 seeds."""

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest

from protocol import registry
from protocol.splits import PARTITIONS, Items, sampling_split, sharing

SCORES = ("seen_at_all", "seen_at_seen", "unseen_at_all", "unseen_at_unseen")
SIZES = {"query": 30, "validation_query": 20, "validation_database": 30, "train": 90}
ONE = np.random.default_rng(0).permutation(np.arange(280) % 7)
SEVERAL = np.random.default_rng(1).random((280, 7)) < 0.15


def drawn(name, y, seed, **options):
    protocol = registry.get("split", name).with_options(options)
    return protocol, protocol.split(len(y), y, seed=seed, sizes=SIZES)


def labels_of(y, rows):
    """Return the set of labels of each item."""
    return [{int(y[row])} if y.ndim == 1 else set(np.flatnonzero(y[row]).tolist()) for row in rows]


@pytest.mark.parametrize("y", [ONE, SEVERAL], ids=["one label", "several labels"])
def test_partitions_have_the_declared_classes_and_are_disjoint_for_200_seeds(y):
    standard = registry.get("split", "standard")
    for seed in range(200):
        reference = standard.split(280, y, seed=seed, sizes=SIZES)
        for name, of_queries, of_database in [(name, *name.split("_at_")) for name in SCORES]:
            protocol, parts = drawn(name, y, seed)
            unseen = set(protocol.unseen_classes(Items(280, y), seed=seed).tolist())
            assert len(unseen) == 2
            is_unseen = [bool(labels & unseen) for labels in labels_of(y, range(280))]
            wanted = dict.fromkeys(PARTITIONS, "seen") | {"query": of_queries, "database": of_database}
            for part, classes in wanted.items():
                kept = ("all", "seen"), ("all", "unseen")
                assert parts[part].tolist() == [row for row in reference[part] if classes in kept[is_unseen[row]]]
            for a, b in itertools.combinations(PARTITIONS, 2):
                may_share = b == "database" and a != "query" and of_database != "unseen"
                assert may_share or not np.intersect1d(parts[a], parts[b]).size


def test_each_run_draws_its_unseen_classes_and_every_class_is_as_likely():
    protocol, counts = registry.get("split", "unseen_at_all"), Counter()
    for seed in range(700):
        counts.update(protocol.unseen_classes(Items(280, ONE), seed=seed).tolist())
    assert set(counts) == set(range(7))
    assert max(abs(count - 200) for count in counts.values()) < 4 * np.sqrt(200 * 5 / 7)


def test_unseen_classes_may_be_listed():
    for seed in range(5):
        _, parts = drawn("unseen_at_unseen", ONE, seed, unseen=[6, 2])
        assert set(ONE[parts["query"]].tolist()) == set(ONE[parts["database"]].tolist()) == {2, 6}
        assert set(ONE[parts["train"]].tolist()) == {0, 1, 3, 4, 5}


def test_the_four_scores_share_one_sampled_split():
    assert sharing("unseen") == [*SCORES]
    assert sampling_split("cifar10_unseen").removeprefix("cifar10_") in SCORES
    assert {registry.entry("split", name).printed for name in ("seen_at_all", "cifar10_seen_at_all")} == {"seen@all"}


@pytest.mark.parametrize("score", SCORES)
def test_cifar10_has_the_sizes_of_the_study(score):
    y, protocol = np.arange(60_000) % 10, registry.get("split", f"cifar10_{score}")
    official = {"train": np.arange(50_000), "test": np.arange(50_000, 60_000)}
    parts, sizes = protocol.split(60_000, y, seed=0, official=official), {"seen": 0.8, "unseen": 0.2, "all": 1}
    of_queries, of_database = score.split("_at_")
    expected = {"query": 10_000 * sizes[of_queries], "train": 40_000, "database": 50_000 * sizes[of_database]}
    assert {name: len(rows) for name, rows in parts.items() if len(rows)} == expected
    assert protocol.sizes({}, n_items=60_000, n_classes=10) == expected
    others = protocol.with_options({"unseen": [9, 9]}).sizes({}, n_items=60_000, n_classes=10)
    assert others["train"] == 45_000
    assert set(y[parts["train"]].tolist()) == set(range(8))
    assert protocol.is_fixed("query")
    assert not protocol.with_options({"unseen": 2}).is_fixed("query")


@pytest.mark.parametrize(("imbalance", "sizes"), [(10, [54, 37, 25, 17, 12, 8, 5]), (50, None), (100, None)])
def test_a_long_tail_falls_geometrically_and_leaves_the_rest_as_it_was(imbalance, sizes):
    for seed in range(200):
        _, parts = drawn("long_tail", ONE, seed, imbalance=imbalance)
        reference = registry.get("split", "standard").split(280, ONE, seed=seed, sizes=SIZES)
        counts = np.bincount(ONE[reference["train"]], minlength=7).tolist()
        expected = [max(1, round(count / imbalance ** (i / 6))) for i, count in enumerate(counts)]
        assert np.bincount(ONE[parts["train"]], minlength=7).tolist() == expected
        assert set(parts["train"].tolist()) <= set(reference["train"].tolist())
        for part in set(PARTITIONS) - {"train"}:
            np.testing.assert_array_equal(parts[part], reference[part])
    if sizes:
        y = np.repeat(np.arange(7), 60)
        protocol = registry.get("split", "long_tail").with_options({"imbalance": 10})
        parts = protocol.split(420, y, seed=0, sizes={"query": 7, "train": 54 * 7})
        assert np.bincount(y[parts["train"]]).tolist() == sizes


def test_only_declared_options_are_changed():
    protocol = registry.get("split", "standard")
    assert protocol.options == {}
    assert protocol.with_options({"unseen": 3, "imbalance": 2, "other": 1}).unseen == 0
    changed = registry.get("split", "unseen_at_all").with_options({"unseen": 3, "imbalance": 2})
    assert (changed.options, changed.imbalance) == ({"unseen": 3}, 1)
    assert dataclasses.replace(changed, unseen=2).options == {"unseen": 2}
