"""The pictures of a split show what is in it, and say it in words."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.report.sections.data import boxes_of

SIZES = {"query": 10, "validation_query": 5, "validation_database": 30, "train": 25}
Y = np.arange(200) % 5
SPLITS = {name: registry.get("split", name).split(200, Y, sizes=SIZES, seed=0) for name in ("standard", "improved")}
IN, OUT = "ranked", "not ranked"


def drawn(boxes):
    return {(box["row"], box["start"], box["end"], box["role"]) for box in boxes}


@pytest.mark.parametrize(("split", "role", "end"), [("standard", IN, 200), ("improved", OUT, 140)])
def test_training_items_lie_below_the_database_or_next_to_it(split, role, end):
    rest = set() if role == IN else {("whole dataset · 200", 140, 200, OUT)}
    assert drawn(boxes_of(SPLITS[split], 200)) == rest | {
        ("whole dataset · 200", 0, 10, OUT),
        ("whole dataset · 200", 10, end, IN),
        ("test queries · 10", 0, 10, OUT),
        (f"database · {end - 10}", 10, end, IN),
        ("validation queries · 5", 140, 145, role),
        ("validation database · 30", 145, 175, role),
        ("training set · 25", 175, 200, role),
    }


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 30), st.lists(st.sets(st.integers(0, 29)), min_size=5, max_size=5))
def test_boxes_hold_as_many_items_as_their_partition_and_lie_above_those_they_share(n_items, sets):
    """Whatever partitions overlap: two rows cover a stretch together exactly as long as the items they share."""
    parts = {
        name: np.array(sorted(item for item in own if item < n_items), dtype=int)
        for name, own in zip(
            ("query", "database", "train", "validation_query", "validation_database"), sets, strict=True
        )
    }
    rows = {}
    for box in boxes_of(parts, n_items):
        rows.setdefault(box["row"].split(" · ")[0], set()).update(range(box["start"], box["end"]))
    names = {"query": "test queries", "database": "database", "train": "training set"}
    names |= {"validation_query": "validation queries", "validation_database": "validation database"}
    assert rows["whole dataset"] == set(range(n_items))
    for a, b in itertools.product(parts, repeat=2):
        both = rows.get(names[a], set()) & rows.get(names[b], set())
        assert len(both) == len(set(parts[a].tolist()) & set(parts[b].tolist()))
