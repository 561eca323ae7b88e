"""Each shipped protocol against the description in its paper, checked with sets and counters."""

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.checks import ProtocolError
from protocol.splits import (
    DRAWN,
    PARTITIONS,
    Drawn,
    Listed,
    Official,
    Rest,
    SameAs,
    SplitProtocol,
    draw_of,
    drawing_split,
)

GIVEN = {"query": 50, "validation_query": 30, "validation_database": 100, "train": 200}
RNG = np.random.default_rng(0)
CIFAR = RNG.permutation(np.arange(60_000) % 10)
# As many images as in NUS-WIDE, with 1 to 6 concepts each, some of which are five times as frequent as others.
CONCEPTS = np.zeros((195_834, 21), dtype=bool)
for _ in range(6):
    weights = np.linspace(1, 5, 21)
    CONCEPTS[np.arange(195_834), RNG.choice(21, 195_834, p=weights / weights.sum())] = True


def ranges(**sizes):
    bounds = np.cumsum([0, *sizes.values()])
    return {name: np.arange(*bounds[i : i + 2]) for i, name in enumerate(sizes)}


def several(n_items, n_classes):
    """Return labels with about three per item."""
    return np.random.default_rng(0).random((n_items, n_classes)) < 3 / n_classes


CIFAR100 = np.hstack([np.eye(n, dtype=bool)[np.arange(60_000) % n] for n in (20, 100)])
IMAGENET = ranges(database=128_503, test=5_000)
# By protocol: items, labels, official parts, and the sizes in its paper.
CASES = {
    "standard": (2_000, np.arange(2_000) % 7, {}, {**GIVEN, "database": 1_950}),
    "improved": (2_000, np.arange(2_000) % 7, {}, {**GIVEN, "database": 1_620}),
    "cifar10_s1": (60_000, CIFAR, {}, {"query": 1_000, "train": 5_000, "database": 59_000}),
    "cifar10_54k": (60_000, CIFAR, {}, {"query": 1_000, "train": 5_000, "database": 54_000}),
    "cifar10_5k": (60_000, CIFAR, {}, {"query": 1_000, "train": 5_000, "database": 5_000}),
    "cifar10_s2": (
        60_000,
        CIFAR,
        ranges(train=50_000, test=10_000),
        {"query": 10_000, "train": 50_000, "database": 50_000},
    ),
    "cifar100_mlgap": (
        60_000,
        CIFAR100,
        ranges(train=50_000, test=10_000),
        {"query": 10_000, "train": 50_000, "database": 50_000},
    ),
    "nuswide_21": (195_834, CONCEPTS, {}, {"query": 2_100, "train": 10_500, "database": 193_734}),
    "labelme_2k": (
        22_019,
        None,
        ranges(train=20_019, test=2_000),
        {"query": 2_000, "train": 5_000, "database": 20_019},
    ),
    "imagenet100": (
        133_503,
        np.arange(133_503) % 100,
        IMAGENET | {"train": RNG.permutation(128_503)[:13_000]},
        {"query": 5_000, "train": 13_000, "database": 128_503},
    ),
    "wiki_official": (
        2_866,
        np.arange(2_866) % 10,
        ranges(train=2_173, test=693),
        {"query": 693, "train": 2_173, "database": 2_173},
    ),
    "sift1m": (
        1_110_000,
        None,
        ranges(base=1_000_000, learn=100_000, query=10_000),
        {"query": 10_000, "train": 100_000, "database": 1_000_000},
    ),
    "cifar10_10k": (60_000, CIFAR, {}, {"query": 10_000, "train": 50_000, "database": 50_000}),
    "coco_5k": (122_218, several(122_218, 80), {}, {"query": 5_000, "train": 10_000, "database": 117_218}),
    "nuswide_81": (30_000, several(30_000, 81), {}, {"query": 5_000, "train": 10_000, "database": 25_000}),
    "mirflickr_2k": (20_015, several(20_015, 24), {}, {"query": 2_000, "train": 10_000, "database": 18_015}),
    "mirflickr_1k": (25_000, several(25_000, 38), {}, {"query": 1_000, "train": 4_000, "database": 20_000}),
    "voc2012_1k": (11_540, several(11_540, 20), {}, {"query": 1_000, "train": 4_000, "database": 6_540}),
}
# The partitions that the database contains; all other partitions are disjoint from it.
IN_DATABASE = {
    name: {"train"}
    for name in (
        "cifar10_s1",
        "cifar10_5k",
        "cifar10_s2",
        "cifar10_10k",
        "cifar100_mlgap",
        "nuswide_21",
        "nuswide_81",
        "labelme_2k",
        "imagenet100",
        "wiki_official",
        "coco_5k",
        "mirflickr_2k",
    )
}
IN_DATABASE["standard"] = {"train", "validation_query", "validation_database"}
FROM_SEED = ["standard", "improved", "cifar10_s1", "cifar10_54k", "cifar10_10k", "nuswide_21", "labelme_2k"]
FROM_SEED += ["cifar10_5k", "coco_5k", "nuswide_81", "mirflickr_2k", "mirflickr_1k", "voc2012_1k"]


@functools.cache
def draw(name, *, seed=0):
    n_items, y, official, _ = CASES[name]
    protocol = registry.get("split", name)
    return protocol.split(n_items, y, sizes=GIVEN if protocol.open else {}, official=official, seed=seed)


def test_every_protocol_has_a_case():
    assert {*CASES, "from_lists"} == set(registry.names("split"))


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_those_of_the_paper(name):
    parts, sizes = draw(name), CASES[name][3]
    assert {part: len(rows) for part, rows in parts.items()} == {part: sizes.get(part, 0) for part in PARTITIONS}
    for rows in parts.values():
        assert rows.dtype == np.int64
        assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("name", CASES)
def test_partitions_share_items_only_with_the_database_and_only_as_declared(name):
    parts = {part: set(rows.tolist()) for part, rows in draw(name).items()}
    inside = IN_DATABASE.get(name, set())
    for a, b in itertools.combinations(PARTITIONS, 2):
        if b == "database" and a in inside:
            assert parts[a] <= parts[b]
        else:
            assert not parts[a] & parts[b]


@pytest.mark.parametrize("name", CASES)
def test_the_sizes_returned_before_drawing_are_those_that_are_drawn(name):
    n_items, y, _, sizes = CASES[name]
    n_classes = None if y is None else y.shape[1] if y.ndim == 2 else len(set(y.tolist()))
    sizes_before = registry.get("split", name).sizes(GIVEN, n_items=n_items, n_classes=n_classes)
    assert sizes_before == {part: sizes[part] for part in sizes_before}
    assert set(sizes_before) == set(sizes)


@pytest.mark.parametrize(("name", "part", "number"), [("query", "query", 100), ("train", "train", 500)])
@pytest.mark.parametrize("protocol", ["cifar10_s1", "cifar10_54k", "cifar10_5k"])
def test_cifar10_has_as_many_items_of_each_class_as_in_the_papers(protocol, name, part, number):
    assert Counter(CIFAR[draw(protocol)[part]].tolist()) == dict.fromkeys(range(10), number)


@pytest.mark.parametrize(("part", "number"), [("query", 1_000), ("train", 5_000)])
def test_the_large_draw_of_cifar10_has_as_many_items_of_each_class_as_in_the_toolkit(part, number):
    assert Counter(CIFAR[draw("cifar10_10k")[part]].tolist()) == dict.fromkeys(range(10), number)


@pytest.mark.parametrize("name", ["cifar10_s2", "cifar100_mlgap"])
def test_cifar_has_the_official_test_images_as_queries_and_the_whole_database_as_training_set(name):
    parts = draw(name)
    assert parts["query"].tolist() == list(range(50_000, 60_000))
    assert parts["train"].tolist() == parts["database"].tolist() == list(range(50_000))


def test_a_database_may_be_declared_to_be_the_training_set():
    parts = draw("cifar10_5k")
    assert parts["database"].tolist() == parts["train"].tolist()
    assert not np.shares_memory(parts["database"], parts["train"])
    same = SplitProtocol(
        {"query": Official("test", 2), "train": Official("train", 3), "database": SameAs("train")},
        may_overlap={"database": ("train",)},
    )
    assert same.is_fixed("database")
    assert not registry.get("split", "cifar10_5k").is_fixed("database")
    with pytest.raises(ProtocolError, match=r"expected at least 7 items \(query 3 \+ train 4\), got 6\."):
        SplitProtocol(
            {"query": Drawn(3), "train": Drawn(4), "database": SameAs("train")}, may_overlap={"database": ("train",)}
        ).split(6, None, seed=0)


@pytest.mark.parametrize(("part", "number"), [("query", 100), ("train", 500)])
def test_nuswide_has_at_least_as_many_of_each_concept_as_are_drawn_for_it(part, number):
    counts = CONCEPTS[draw("nuswide_21")[part]].sum(axis=0)
    assert counts.min() >= number
    assert counts.max() > number  # an image drawn for one concept shows others too


def test_sift1m_keeps_the_parts_of_its_corpus():
    parts, official = draw("sift1m"), CASES["sift1m"][2]
    for part, name in {"query": "query", "train": "learn", "database": "base"}.items():
        np.testing.assert_array_equal(parts[part], official[name])


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_bytes_another_seed_another_draw(name):
    first, again, other = draw(name, seed=0), draw.__wrapped__(name, seed=0), draw(name, seed=2)
    assert {part: rows.tobytes() for part, rows in first.items()} == {p: rows.tobytes() for p, rows in again.items()}
    differ = {part for part, rows in first.items() if not np.array_equal(rows, other[part])}
    assert (differ >= {"query", "train"}) == (name in FROM_SEED)
    assert bool(differ) == (name in FROM_SEED)


SHARED = {
    name: [split for split in registry.names("split") if registry.get("split", split).draw == name]
    for name in sorted({registry.get("split", split).draw for split in registry.names("split")} - {""})
}


def test_which_protocols_share_a_draw():
    assert SHARED == {"thesis": ["improved", "standard"], "cifar10_1k_5k": ["cifar10_54k", "cifar10_5k", "cifar10_s1"]}


@pytest.mark.parametrize("name", SHARED)
def test_protocols_that_share_a_draw_differ_in_the_database_only(name):
    drawn = [
        registry.get("split", split).drawn(
            CASES[split][0], CASES[split][1], sizes=GIVEN, official=CASES[split][2], seed=3
        )
        for split in SHARED[name]
    ]
    for part in DRAWN:
        for other in drawn[1:]:
            np.testing.assert_array_equal(drawn[0][part], other[part])
    declared = [registry.get("split", split) for split in SHARED[name]]
    for other in declared[1:]:
        assert (other.n_items, other.n_classes) == (declared[0].n_items, declared[0].n_classes)
        for a, b in itertools.combinations(DRAWN, 2):
            assert other.overlaps(a, b) == declared[0].overlaps(a, b)


def test_no_draw_has_the_name_of_a_protocol():
    assert not set(SHARED) & set(registry.names("split"))


@pytest.mark.parametrize("name", CASES)
def test_a_split_is_the_draw_and_the_database(name):
    n_items, y, official, _ = CASES[name]
    protocol = registry.get("split", name)
    parts = protocol.drawn(n_items, y, sizes=GIVEN if protocol.open else {}, official=official, seed=0)
    assert set(parts) == set(DRAWN)
    complete = parts | {"database": protocol.database(parts, n_items, official=official)}
    for part, rows in draw(name).items():
        np.testing.assert_array_equal(rows, complete[part])


def test_a_protocol_draws_even_if_its_own_database_would_be_empty():
    sizes = {"query": 50, "train": 50}
    with pytest.raises(ProtocolError, match="the database is empty"):
        registry.get("split", "improved").split(100, None, sizes=sizes, seed=0)
    parts = registry.get("split", drawing_split("thesis")).drawn(100, None, sizes=sizes, seed=0)
    assert len(registry.get("split", "standard").database(parts, 100)) == 50


def test_a_draw_that_is_not_shared_has_the_name_of_its_protocol():
    assert [draw_of(split) for split in ("improved", "standard", "sift1m")] == ["thesis", "thesis", "sift1m"]
    assert [drawing_split(draw) for draw in ("thesis", "sift1m")] == ["improved", "sift1m"]


def test_validation_partitions_without_sizes_are_empty():
    protocol, sizes = registry.get("split", "improved"), {"query": 50, "train": 200}
    parts = protocol.split(2_000, None, sizes=sizes, seed=0)
    assert {part: len(rows) for part, rows in parts.items()} == {
        "query": 50, "validation_query": 0, "validation_database": 0, "train": 200, "database": 1_750,
    }  # fmt: skip
    assert protocol.sizes(sizes, n_items=2_000) == {part: len(rows) for part, rows in parts.items()}


SMALL = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
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


def drawable(members, number):
    """Hall's condition: every set of classes has enough items among them."""
    return all(
        members[:, list(chosen)].any(axis=1).sum() >= number * size
        for size in range(1, members.shape[1] + 1)
        for chosen in itertools.combinations(range(members.shape[1]), size)
    )


def assigned(members, rows, number):
    """Return whether `rows` can be dealt to the classes, `number` each: Hall's condition within them."""
    return len(rows) == number * members.shape[1] and drawable(members[rows], number)


@settings(max_examples=300, deadline=None)
@given(
    n_items=st.integers(4, 14), n_classes=st.integers(1, 4), number=st.integers(1, 3), density=st.floats(0.1, 0.9),
    seed=SMALL,
)  # fmt: skip
def test_several_labels_are_balanced_wherever_that_is_possible(n_items, n_classes, number, density, seed):
    members = np.random.default_rng(seed).random((n_items, n_classes)) < density
    protocol = SplitProtocol({"train": Drawn(per_class=number)})
    if not drawable(members, number):
        with pytest.raises(
            ProtocolError, match=r"items for each class, none of them drawn for two classes|expected at least .* items"
        ):
            protocol.split(n_items, members, seed=seed)
        return
    parts = protocol.split(n_items, members, seed=seed)
    assert assigned(members, parts["train"], number)


def test_items_that_a_later_class_needs_are_reassigned():
    """Class 0 may take any item, class 1 only the first two, so a greedy draw would often leave class 1 with none."""
    members = np.array([[True, True], [True, True], [True, False], [True, False]])
    protocol = SplitProtocol({"query": Drawn(per_class=1), "train": Drawn(per_class=1)})
    for seed in range(30):
        parts = protocol.split(4, members, seed=seed)
        for name in ("query", "train"):
            assert assigned(members, parts[name], 1)


def test_items_with_several_labels_are_drawn_at_random():
    """Every item of a concept is as likely to be drawn as any other with the same labels."""
    members = np.repeat([[True, False], [False, True], [True, True]], 40, axis=0)
    protocol = SplitProtocol({"query": Drawn(per_class=5)})
    hits = sum(np.bincount(protocol.split(120, members, seed=seed)["query"], minlength=120) for seed in range(400))
    for start in (0, 40, 80):
        own = hits[start : start + 40]
        assert own.std() < 2 * np.sqrt(own.mean())
        assert own.min() > 0
    shared = 400 * (5 * 40 / 80 + 5 * 37.5 / 77.5)  # half of the items of class 0, and half of the rest of class 1
    assert abs(hits[80:].sum() - shared) < 100, "items of both classes are drawn for the second one, too"


def test_numbers_for_each_class_need_labels_and_enough_of_each():
    protocol = SplitProtocol({"query": Drawn(per_class=3)})
    with pytest.raises(ProtocolError, match=r"expected labels, by which query must be drawn. The dataset has none"):
        protocol.split(20, None, seed=0)
    message = "expected 3 items for each class, .* got 2 for class 1 of 2, which has 2 items"
    with pytest.raises(ProtocolError, match=message):
        protocol.split(20, np.array([0] * 18 + [1] * 2), seed=0)


def test_a_dataset_of_another_size_or_without_the_part_is_refused_in_one_line():
    with pytest.raises(ProtocolError, match=r"expected a dataset with 60,000 items, got 1,000.$"):
        registry.get("split", "cifar10_s1").split(1_000, np.arange(1_000) % 10, seed=0)
    with pytest.raises(ProtocolError, match=r"expected a dataset with 10 classes, got 100.$"):
        registry.get("split", "cifar10_s1").split(60_000, np.arange(60_000) % 100, seed=0)
    with pytest.raises(ProtocolError, match=r"expected a dataset with 120 classes, got 20.$"):
        registry.get("split", "cifar100_mlgap").split(60_000, CIFAR100[:, :20], official=ranges(test=10_000), seed=0)
    with pytest.raises(ProtocolError, match=r"expected an official part 'test' with 10,000 items, got train 50,000\.$"):
        registry.get("split", "cifar10_s2").split(60_000, CIFAR, official=ranges(train=50_000), seed=0)


def test_official_parts_with_forbidden_overlaps_are_refused():
    protocol = SplitProtocol({"query": Official("a", 2), "database": Official("b", 3)})
    official = {"a": np.array([0, 4]), "b": np.array([1, 2, 4])}
    with pytest.raises(
        ProtocolError,
        match=r"expected disjoint official parts for query and database, got 1 shared items, the first is row 4\.$",
    ):
        protocol.split(5, None, official=official, seed=0)


def test_drawn_items_are_outside_official_parts_that_they_may_not_overlap():
    protocol = SplitProtocol(
        {"query": Official("test", 6), "train": Drawn(size=8), "database": Official("rest", 14)},
        may_overlap={"database": ("train",)},
    )
    official = {"test": np.arange(0, 12, 2), "rest": np.setdiff1d(np.arange(20), np.arange(0, 12, 2))}
    for seed in range(20):
        parts = protocol.split(20, np.arange(20) % 2, official=official, seed=seed)
        assert set(parts["train"]) <= set(official["rest"])
        assert len(parts["train"]) == 8


def test_lists_are_used_unchanged_and_required_ones_must_exist():
    protocol = registry.get("split", "from_lists")
    lists = {"query": np.array([3, 1]), "train": np.array([1]), "database": np.array([0, 1, 2])}
    parts = protocol.split(5, None, lists=lists, seed=0)
    assert {name: rows.tolist() for name, rows in parts.items()} == {
        "query": [1, 3],
        "validation_query": [],
        "validation_database": [],
        "train": [1],
        "database": [0, 1, 2],
    }
    with pytest.raises(ProtocolError, match=r"expected a list for database, got query, train\.$"):
        protocol.split(5, None, lists={name: lists[name] for name in ("query", "train")}, seed=0)
    assert protocol.listed["query"] == Listed()


def test_the_properties_of_a_protocol():
    standard, improved, lists = (registry.get("split", name) for name in ("standard", "improved", "from_lists"))
    assert (standard.database_without, improved.database_without) == (("query",), DRAWN)
    assert standard.open == standard.balanced == DRAWN
    assert registry.get("split", "cifar10_s1").open == ()
    assert lists.database_without == ()
    assert set(lists.listed) == set(PARTITIONS)


# The digests of the first protocols, from before others were declared: these draws must not change.
@pytest.mark.parametrize(
    ("name", "labelled", "digest"),
    [
        ("standard", True, "99d6eb5ee8c2f5a3"),
        ("standard", False, "b12f5b617eff5dbd"),
        ("improved", True, "1d086a2f9e81a93d"),
        ("improved", False, "28144b034b2e1876"),
    ],
)
def test_the_draws_of_the_thesis_protocols_have_not_changed(name, labelled, digest):
    import hashlib

    from protocol.provenance.storage import array_digest

    sizes = {"query": 100, "validation_query": 100, "validation_database": 300, "train": 500}
    y = np.arange(1797) % 10 if labelled else None
    parts = registry.get("split", name).split(1797, y, sizes=sizes, seed=7)
    whole = "".join(array_digest(parts[part]) for part in sorted(parts))
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == digest
