"""Each shipped protocol against its paper, and their common sampling, checked with sets and counters."""

import contextlib
import functools
import hashlib
import itertools

import numpy as np
import pytest
from encoded import message_of, refuses, yaml_of
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.checks import ProtocolError
from protocol.provenance.storage import array_digest
from protocol.splits import (
    DRAWN,
    PARTITIONS,
    Drawn,
    Items,
    Listed,
    Official,
    Rest,
    SameAs,
    SplitProtocol,
    sample_of,
    sampling_split,
)
from protocol.splits._protocol import drawn_of_each_class

GIVEN = {"query": 50, "validation_query": 30, "validation_database": 100, "train": 200}
CASES = yaml_of("splits/protocols.yaml")
DIVIDING = {name for name in registry.names("split") if "seen" in name or name == "long_tail"}
"""The protocols whose partitions depend on the classes of the items: test_classes.py."""


def ranges(of):
    """Return the rows of parts by name, given as ranges."""
    return {part: np.arange(*bounds) for part, bounds in of.items()}


def made(case):
    """Return the number of items of a dataset, its labels and its official splits."""
    rng, n_items, classes, y = np.random.default_rng(0), case["items"], case.get("classes"), None
    if classes:
        own = np.repeat(np.arange(len(classes)), classes) if isinstance(classes, list) else np.arange(n_items) % classes
        y = rng.permutation(own)
    elif "several" in case:
        y = rng.random((n_items, case["several"])) < 3 / case["several"]
    return n_items, y, ranges(case.get("official", {}))


@functools.cache
def dataset(name):
    return made(CASES[name])


@functools.cache
def draw(name, *, seed=0):
    n_items, y, official = dataset(name)
    protocol = registry.get("split", name)
    return protocol.split(n_items, y, sizes=GIVEN if protocol.open else {}, official=official, seed=seed)


def test_every_protocol_has_a_case():
    assert {*CASES, *DIVIDING, "from_lists"} == set(registry.names("split"))


@pytest.mark.parametrize("name", CASES)
def test_sizes_and_overlaps_are_those_of_the_paper(name):
    n_items, y, _ = dataset(name)
    protocol, sizes = registry.get("split", name), CASES[name]["sizes"]
    parts = {part: set(rows.tolist()) for part, rows in draw(name).items()}
    assert {part: len(rows) for part, rows in parts.items()} == {part: sizes.get(part, 0) for part in PARTITIONS}
    assert all(rows.dtype == np.int64 and (np.diff(rows) > 0).all() for rows in draw(name).values())
    for a, b in itertools.combinations(PARTITIONS, 2):
        if b == "database" and a in CASES[name].get("inside", ["train"]):
            assert parts[a] <= parts[b]
        else:
            assert not parts[a] & parts[b]
    n_classes = None if y is None else y.shape[1] if y.ndim == 2 else len(np.unique(y))
    assert protocol.sizes(GIVEN, n_items=n_items, n_classes=n_classes) == sizes


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_bytes_another_seed_another_draw(name):
    first, again, other = draw(name, seed=0), draw.__wrapped__(name, seed=0), draw(name, seed=2)
    assert {part: rows.tobytes() for part, rows in first.items()} == {p: rows.tobytes() for p, rows in again.items()}
    differ = [part for part, rows in first.items() if not np.array_equal(rows, other[part])]
    assert differ == CASES[name].get("seeded", [])


def test_a_database_may_be_declared_to_be_the_training_set():
    parts = draw("cifar10_5k")
    assert parts["database"].tolist() == parts["train"].tolist()
    assert not np.shares_memory(parts["database"], parts["train"])
    of_train = {"train": Official("train", 3), "database": SameAs("train")}
    assert SplitProtocol({"query": Official("test", 2), **of_train}).is_fixed("database")
    assert not registry.get("split", "cifar10_5k").is_fixed("database")
    with pytest.raises(ProtocolError, match=r"7 items are needed \(query 3 \+ train 4\), but the dataset has 6\."):
        SplitProtocol({"query": Drawn(3), "train": Drawn(4), "database": SameAs("train")}).split(6, None, seed=0)


SHARED = {
    name: [split for split in registry.names("split") if registry.get("split", split).sample == name]
    for name in sorted({registry.get("split", split).sample for split in registry.names("split")} - {""})
}


def test_protocols_that_share_a_draw_differ_in_the_database_only():
    of_database = {name: splits for name, splits in SHARED.items() if not DIVIDING & {*splits}}
    cifar10 = ["cifar10_54k", "cifar10_5k", "cifar10_s1"]
    natural = ["improved_natural", "standard_natural"]
    assert of_database == {"random": ["improved", "standard"], "cifar10_1k_5k": cifar10, "natural": natural}
    for splits in of_database.values():
        drawn = [draw(split, seed=2) for split in splits]
        for other, part in itertools.product(drawn[1:], DRAWN):
            np.testing.assert_array_equal(drawn[0][part], other[part])
    assert set(draw("improved")["database"].tolist()) < set(draw("standard")["database"].tolist())
    assert [sample_of(split) for split in ("improved", "standard", "sift1m")] == ["random", "random", "sift1m"]
    assert [sampling_split(sample) for sample in ("random", "sift1m")] == ["improved", "sift1m"]
    assert not set(SHARED) & set(registry.names("split"))


def test_a_protocol_draws_even_if_its_own_database_would_be_empty():
    sizes = {"query": 50, "train": 50}
    refuses("the database would be empty", registry.get("split", "improved").split, 100, None, sizes=sizes, seed=0)
    parts = registry.get("split", sampling_split("random")).drawn(Items(100), sizes=sizes, seed=0)
    assert len(registry.get("split", "standard").completed(parts, Items(100), seed=0)["database"]) == 50


def test_items_of_one_class_are_drawn_at_random():
    """Each item of a class is equally likely to be a query."""
    y = np.random.default_rng(0).integers(0, 5, 400)
    standard = registry.get("split", "standard")
    queries = [standard.split(400, y, sizes=GIVEN, seed=seed)["query"] for seed in range(100)]
    hits = np.bincount(np.concatenate(queries), minlength=400)
    for value in range(5):
        own = hits[value == y]
        expected = 100 * 10 / len(own)
        assert abs(own.mean() - expected) < 1e-9
        assert own.std() < 2 * np.sqrt(expected)


def test_natural_splits_have_the_frequencies_of_the_dataset():
    """The numbers of a class in 200 draws of 100 of 1,000 items are hypergeometric."""
    y, sizes = np.repeat([0, 1, 2], [700, 290, 10]), {"query": 100, "train": 100}
    split = registry.get("split", "standard_natural").split
    of_class = [np.bincount(y[split(1000, y, sizes=sizes, seed=seed)["query"]], minlength=3) for seed in range(200)]
    for value, share in enumerate((0.7, 0.29, 0.01)):
        deviation = (100 * share * (1 - share) * 900 / 999) ** 0.5
        own = np.array(of_class)[:, value]
        assert abs(own.mean() - 100 * share) < 4 * deviation / 200**0.5
        assert own.std() == pytest.approx(deviation, rel=0.2)


def test_a_class_that_runs_out_leaves_the_others_balanced():
    y = np.array([0] * 3 + [1] * 50 + [2] * 50)
    parts = registry.get("split", "improved").split(103, y, sizes=dict.fromkeys(DRAWN, 20), seed=0)
    totals = sum(np.bincount(y[parts[name]], minlength=3) for name in DRAWN)
    assert totals[0] == 3
    assert abs(totals[1] - totals[2]) <= 1


def test_items_with_several_labels_are_drawn_like_those_without():
    several, none = (
        registry.get("split", "standard").split(400, y, sizes=GIVEN, seed=0) for y in (np.eye(400, 2, dtype=bool), None)
    )
    for name, part in several.items():
        np.testing.assert_array_equal(part, none[name])


SMALL = st.integers(0, 2**32 - 1)


@settings(max_examples=30, deadline=None)
@given(
    per_class=st.fixed_dictionaries({name: st.integers(0, 4) for name in DRAWN}),
    sizes=st.fixed_dictionaries({name: st.integers(1, 9) for name in DRAWN}),
    overlap=st.sets(st.sampled_from(DRAWN)),
    n_classes=st.integers(1, 6),
    seed=SMALL,
)
def test_any_declaration_is_fulfilled(per_class, sizes, overlap, n_classes, seed):
    """Mix numbers per class and sizes at random: partitions are exact, disjoint where declared, and balanced."""
    partitions = {name: Drawn(per_class=per_class[name]) if per_class[name] else Drawn() for name in DRAWN}
    protocol = SplitProtocol({**partitions, "database": Rest()}, may_overlap={"database": tuple(overlap)})
    y = np.random.default_rng(seed).permutation(np.arange(60 * n_classes) % n_classes)
    parts = protocol.split(len(y), y, sizes=sizes, seed=seed)
    for name in DRAWN:
        counts = [int((y[parts[name]] == label).sum()) for label in range(n_classes)]
        if per_class[name]:
            assert counts == [per_class[name]] * n_classes
        else:
            assert sum(counts) == sizes[name]
            assert max(counts) - min(counts) <= (0 if sizes[name] % n_classes == 0 else 1)
    excluded = set().union(*(parts[name].tolist() for name in DRAWN if name not in overlap))
    assert set(parts["database"].tolist()) == set(range(len(y))) - excluded
    assert sum(len(parts[name]) for name in DRAWN) == len(set().union(*(parts[name].tolist() for name in DRAWN)))


@settings(max_examples=100, deadline=None)
@given(
    n_items=st.integers(4, 14), n_classes=st.integers(1, 4), number=st.integers(1, 3), density=st.floats(0.1, 0.9),
    seed=SMALL,
)  # fmt: skip
def test_several_labels_are_drawn_class_by_class_and_none_twice(n_items, n_classes, number, density, seed):
    members = np.random.default_rng(seed).random((n_items, n_classes)) < density
    with contextlib.suppress(ProtocolError):  # a class has too few items that were not drawn for another one
        drawn = drawn_of_each_class(members, number, np.random.default_rng(seed))
        assert len(np.unique(drawn)) == n_classes * number
        assert all(members[rows, label].all() for label, rows in enumerate(drawn))


def test_items_with_several_labels_are_drawn_at_random():
    """Every item of a concept is as likely to be drawn as any other with the same labels."""
    members = np.repeat([[True, False], [False, True], [True, True]], 40, axis=0)
    protocol = SplitProtocol({"query": Drawn(per_class=5)})
    hits = sum(np.bincount(protocol.split(120, members, seed=seed)["query"], minlength=120) for seed in range(200))
    for start in (0, 40, 80):
        own = hits[start : start + 40]
        assert own.std() < 2 * np.sqrt(own.mean())
        assert own.min() > 0
    shared = 200 * (5 * 40 / 80 + 5 * 37.5 / 77.5)  # half of the items of class 0, and half of the rest of class 1
    assert abs(hits[80:].sum() - shared) < 70, "items of both classes are drawn for the second one, too"


DECLARED = {
    "disjoint": SplitProtocol({"query": Official("a", 2), "database": Official("b", 3)}),
    "three of each class": SplitProtocol({"query": Drawn(per_class=3)}),
}
REFUSED = yaml_of("splits/refused.yaml")


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["message"])
def test_what_can_not_be_drawn_is_refused(case):
    protocol = DECLARED.get(case["protocol"]) or registry.get("split", case["protocol"])
    (n_items, y, official), lists, sizes = made(case), ranges(case.get("lists", {})), case.get("sizes", GIVEN)

    def drawn():
        changed = protocol.with_options(case.get("options", {}))
        changed.split(n_items, y, official=official, lists=lists, sizes=sizes, seed=0)

    assert message_of(drawn) == case["message"]


@pytest.mark.parametrize("drawn", [Drawn(size=8), Drawn(per_class=4)])
def test_drawn_items_are_outside_official_parts_that_they_may_not_overlap(drawn):
    partitions = {"query": Official("test", 6), "train": drawn, "database": Official("rest", 14)}
    protocol = SplitProtocol(partitions, may_overlap={"database": ("train",)})
    official = {"test": np.arange(0, 12, 2), "rest": np.setdiff1d(np.arange(20), np.arange(0, 12, 2))}
    for seed in range(20):
        parts = protocol.split(20, np.arange(20) % 2, official=official, seed=seed)
        assert set(parts["train"]) <= set(official["rest"])
        assert len(parts["train"]) == 8


def test_lists_are_used_unchanged_and_required_ones_must_exist():
    protocol = registry.get("split", "from_lists")
    lists = {"query": np.array([3, 1]), "train": np.array([1]), "database": np.array([0, 1, 2])}
    parts = protocol.split(5, None, lists=lists, seed=0)
    expected = {name: [] for name in PARTITIONS} | {"query": [1, 3], "train": [1], "database": [0, 1, 2]}
    assert {name: rows.tolist() for name, rows in parts.items()} == expected
    assert protocol.listed["query"] == Listed()


# The digests of the first protocols, from before others were declared: these splits must not change.
@pytest.mark.parametrize(
    ("name", "labelled", "digest"), [("standard", True, "99d6eb5ee8c2f5a3"), ("improved", False, "28144b034b2e1876")]
)
def test_the_draws_of_the_thesis_protocols_have_not_changed(name, labelled, digest):
    sizes = {"query": 100, "validation_query": 100, "validation_database": 300, "train": 500}
    y = np.arange(1797) % 10 if labelled else None
    parts = registry.get("split", name).split(1797, y, sizes=sizes, seed=7)
    whole = "".join(array_digest(parts[part]) for part in sorted(parts))
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == digest
