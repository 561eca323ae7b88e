import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.checks import ProtocolError
from protocol.splits import DRAWN, PARTITIONS

SIZES = {"query": 20, "validation_query": 10, "validation_database": 30, "train": 40}
Y = np.random.default_rng(0).integers(0, 5, 400)


def draw(name, *, seed=0, sizes=SIZES, y=Y, n=400):
    return registry.get("split", name).split(n, y, sizes=sizes, seed=seed)


@pytest.mark.parametrize("name", ["standard", "improved"])
@pytest.mark.parametrize("y", [Y, None], ids=["labels", "no labels"])
def test_sizes_are_exact_and_drawn_partitions_disjoint(name, y):
    parts = draw(name, y=y)
    assert set(parts) == set(PARTITIONS)
    assert {part: len(parts[part]) for part in DRAWN} == SIZES
    for a, b in itertools.combinations(DRAWN, 2):
        assert not set(parts[a]) & set(parts[b])
    for rows in parts.values():
        assert rows.dtype == np.int64
        assert (np.diff(rows) > 0).all()


def test_standard_database_is_all_but_the_queries():
    parts = draw("standard")
    assert set(parts["database"]) == set(range(400)) - set(parts["query"])


def test_improved_database_is_held_out_from_everything():
    parts = draw("improved")
    assert set(parts["database"]) == set(range(400)) - set().union(*(parts[name] for name in DRAWN))


def test_both_protocols_share_a_draw_and_differ_only_in_the_database():
    standard, improved = draw("standard", seed=3), draw("improved", seed=3)
    for name in DRAWN:
        assert (standard[name] == improved[name]).all()
    assert set(improved["database"]) < set(standard["database"])


def test_the_split_depends_on_the_seed():
    assert (draw("improved", seed=1)["train"] == draw("improved", seed=1)["train"]).all()
    assert (draw("improved", seed=1)["train"] != draw("improved", seed=2)["train"]).any()


@settings(max_examples=50, deadline=None)
@given(
    n_classes=st.integers(1, 7),
    sizes=st.fixed_dictionaries({name: st.integers(1, 30) for name in DRAWN}),
    seed=st.integers(0, 2**32 - 1),
)
def test_class_counts_of_drawn_partitions_differ_by_at_most_one(n_classes, sizes, seed):
    y = np.random.default_rng(seed).permutation(np.arange(130 * n_classes) % n_classes)
    parts = draw("improved", y=y, n=len(y), sizes=sizes, seed=seed)
    for name in DRAWN:
        counts = np.bincount(y[parts[name]], minlength=n_classes)
        assert counts.max() - counts.min() <= (0 if sizes[name] % n_classes == 0 else 1)


def test_items_of_one_class_are_drawn_at_random():
    """Each item of a class is equally likely to be a query."""
    hits = sum(np.bincount(draw("standard", seed=seed)["query"], minlength=400) for seed in range(300))
    for value in range(5):
        own = hits[value == Y]
        expected = 300 * 4 / len(own)
        assert abs(own.mean() - expected) < 1e-9
        assert own.std() < 2 * np.sqrt(expected)


def test_a_class_that_runs_out_leaves_the_others_balanced():
    y = np.array([0] * 3 + [1] * 50 + [2] * 50)
    parts = draw("improved", y=y, n=103, sizes=dict.fromkeys(DRAWN, 20))
    totals = sum(np.bincount(y[parts[name]], minlength=3) for name in DRAWN)
    assert totals[0] == 3
    assert abs(totals[1] - totals[2]) <= 1


def test_drawing_more_items_than_exist_is_refused_with_the_sum():
    message = r"at least 100 items \(query 20 \+ validation_query 10 \+ validation_database 30 \+ train 40\), got 99\."
    with pytest.raises(ProtocolError, match=message):
        draw("standard", y=Y[:99], n=99)


def test_an_empty_database_is_refused():
    with pytest.raises(ProtocolError, match=r"the database is empty: .* use all 100 items"):
        draw("improved", y=Y[:100], n=100)
    assert len(draw("standard", y=Y[:100], n=100)["database"]) == 80


@pytest.mark.parametrize("sizes", [{**SIZES, "train": 0}, {"query": 5}, {}])
def test_queries_and_training_set_must_have_sizes(sizes):
    with pytest.raises(ProtocolError, match="expected at least 1 for each of query, train, got"):
        draw("standard", sizes=sizes)


def test_labels_of_another_length_are_refused():
    with pytest.raises(ProtocolError, match="399 labels for 400 items"):
        draw("standard", y=Y[:-1])


def test_items_with_several_labels_are_drawn_at_random_like_those_without():
    several, none = draw("standard", y=np.eye(400, 2, dtype=bool)), draw("standard", y=None)
    for name, part in several.items():
        np.testing.assert_array_equal(part, none[name])
