"""The guarantees of every split protocol; `tests/splits/test_protocols.py` compares protocols with their papers."""

import dataclasses
import itertools

import numpy as np
import pytest

from protocol import registry
from protocol.splits import PARTITIONS, Drawn, Official, Rest, SplitProtocol

SIZES = {"query": 50, "validation_query": 30, "validation_database": 100, "train": 200}


def drawable(protocol):
    """Return whether a dataset of some size with one label for each item and no official splits suffices."""
    official = any(isinstance(part, Official) for part in protocol.partitions.values())
    return not protocol.listed and not official and protocol.n_items in (None, 60_000, 1_797)


def check_facts(record):
    assert isinstance(record.plugin, SplitProtocol)
    assert {"query", "train", "database"} <= set(record.plugin.partitions) <= set(PARTITIONS)


def drawn(protocol, seed=0):
    n_items = protocol.n_items or 20_000
    labels = np.arange(n_items) % (protocol.n_classes or 10)
    return protocol.split(n_items, labels, seed=seed, sizes=SIZES if protocol.open else {})


def check_classes(protocol, classes):
    """Check that training and unseen classes are disjoint; `classes` are those that occur in each partition."""
    for name, part in protocol.partitions.items():
        if part.classes == "unseen":
            assert not classes[name] & classes["train"]
        if part.classes == "seen":
            assert classes[name] <= classes["train"]


def check_draw(protocol):
    parts = drawn(protocol)
    sizes = protocol.sizes(SIZES, n_items=protocol.n_items or 20_000, n_classes=protocol.n_classes or 10)
    # The labels decide how many items a partition of some classes has, or one with a long tail.
    reduced = {name: len(rows) for name, rows in parts.items() if protocol.is_reduced(name)}
    assert {name: len(rows) for name, rows in parts.items() if len(rows)} == reduced | sizes
    check_classes(protocol, {name: set((rows % (protocol.n_classes or 10)).tolist()) for name, rows in parts.items()})
    for a, b in itertools.combinations(parts, 2):
        assert protocol.overlaps(a, b) or not np.intersect1d(parts[a], parts[b]).size
    again, other = drawn(protocol), drawn(protocol, seed=1)
    assert all(np.array_equal(parts[name], again[name]) for name in parts)
    assert not np.array_equal(parts["query"], other["query"])


@pytest.mark.parametrize("name", [*registry.names("split"), "how-to/add-a-split"])
def test_every_protocol(name, find):
    record = find("split", name)
    check_facts(record)
    if drawable(record.plugin):
        check_draw(record.plugin)


@dataclasses.dataclass(frozen=True)
class Overlapping(SplitProtocol):
    """A protocol whose database contains the queries that it declares to exclude."""

    def completed(self, parts, items, *, seed):
        return {**parts, "database": np.arange(items.n)}


def test_a_wrong_protocol_is_rejected():
    partitions = {"query": Drawn(size=10), "train": Drawn(size=10), "database": Rest()}
    check_draw(SplitProtocol(partitions))
    with pytest.raises(AssertionError):
        check_draw(Overlapping(partitions))


@dataclasses.dataclass(frozen=True)
class Trained(SplitProtocol):
    """A protocol that trains on an item of each unseen class."""

    def drawn(self, items, *, seed, sizes=None):
        parts = super().drawn(items, seed=seed, sizes=sizes)
        unseen = np.flatnonzero(items.of_classes(self.unseen_classes(items, seed=seed)))
        return parts | {"train": np.union1d(parts["train"], unseen[:1])}


@pytest.mark.parametrize("name", ["unseen_at_all", "unseen_at_unseen"])
def test_training_on_an_unseen_class_is_rejected(name):
    right = registry.get("split", name)
    check_draw(right)
    with pytest.raises(AssertionError):
        check_draw(Trained(**vars(right)))
