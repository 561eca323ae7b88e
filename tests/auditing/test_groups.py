"""Groups divided between partitions are found, with groups from files."""

import itertools
from collections import Counter

import numpy as np
from audited import audit
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.auditing import Split
from protocol.auditing.checks.overlaps import audit_pairs
from protocol.auditing.evidence import Groups
from protocol.auditing.items import Dataset
from protocol.auditing.runs import Run
from protocol.splits import PARTITIONS

LISTS = {"query": [0, 1, 2], "train": [3, 4, 5], "database": [6, 7, 8, 9]}
GROUPS = ["a", "b", "c", "a", "d", "d", "b", "b", "e", "e"]
EXPECTED = [("error", 1, ("a (query 1, train 1)",)), ("warning", 1, ("b (query 1, database 2)",))]


def found(audited):
    (made,) = audited.findings.values()
    return [one for one in made if one.name == "group-split"]


def splits_of(audited):
    return [(one.severity, one.count, one.items) for one in found(audited)]


def sentence_about(audited):
    return next(line for lines in audited.about.values() for line in lines if line.startswith("Groups"))


# Findings


def test_a_group_in_the_training_set_is_an_error_and_one_in_the_database_a_warning():
    audited = audit(**LISTS, groups=[*GROUPS[:4], "", *GROUPS[5:]])
    assert splits_of(audited) == EXPECTED
    without = "groups.csv): 5 groups of 10 items; 1 have none, so they are not checked."
    assert sentence_about(audited).endswith(without)
    finding = found(audited)[0]
    sizes = "The query partition has 1 item of these groups and the train partition has 1 item"
    assert finding.consequence.startswith(f"{sizes}, so items that belong together are in both (groups: ")


PAIRS = [
    ("query", "train", "error"),
    *(("query", part, "warning") for part in ("database", "validation_query", "validation_database")),
    *(("validation_query", part, "warning") for part in ("validation_database", "train")),
]


def slow_divided(parts, codes, a, b):
    """Return the groups that two partitions divide, by loops."""
    found = []
    for group in range(max(codes) + 1):
        in_a, in_b = ([item for item in parts[part] if codes[item] == group] for part in (a, b))
        others = [item for item in in_b if b != "database" or item not in parts["train"]]
        if others and any(x != y for x, y in itertools.product(in_a, in_b)):
            found.append(group)
    return found


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_findings_match_naive_loops(data):
    n_items = 12
    items = st.lists(st.integers(0, n_items - 1), max_size=6, unique=True).map(sorted)
    parts = {part: data.draw(items) for part in PARTITIONS}
    codes = data.draw(st.lists(st.integers(-1, 4), min_size=n_items, max_size=n_items))
    groups = Groups(np.array(codes), [str(code) for code in range(5)], "x")
    split = Split({part: np.array(own, dtype=np.int64) for part, own in parts.items()}, Dataset())
    made = iter([one for one in audit_pairs(Run("x", split, groups=groups)) if one.name == "group-split"])
    for a, b, severity in PAIRS:
        expected = slow_divided(parts, codes, a, b)
        if expected:
            one = next(made)
            assert (one.severity, one.count) == (severity, len(expected))
            sizes = [Counter(codes[item] for item in parts[part]) for part in (a, b)]
            assert one.items == tuple(f"{code} ({a} {sizes[0][code]}, {b} {sizes[1][code]})" for code in expected)
    assert next(made, None) is None
