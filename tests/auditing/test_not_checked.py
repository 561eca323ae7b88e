"""The sentence about a clean split lists exactly the checks that were not possible, for all options."""

import numpy as np
import pytest
from audited import audit
from encoded import refuses, yaml_of


def test_findings_are_first_and_the_number_of_missing_checks_is_last():
    found = audit(query=["a"], database=["a", "b"])
    lines = found.to_text().splitlines()
    assert lines[:2] == ["query database", "  error    query-in-database: 1"]
    assert lines.index("  query 1, database 2; no protocol declared") > 1
    checks = found.not_checked["query database"]
    assert lines[-1] == f"{len(checks)} checks need more data: --why lists them (in Python, `not_checked`)"
    lines = [f"{len(checks)} checks need more data:", *(f"  {check}" for check in checks)]
    assert found.to_text(why=True).splitlines()[-len(lines) :] == lines
    several = audit({"query": [0], "database": [0, 1]}, {"query": [1], "database": [0, 2], "train": [0]})
    assert several.to_text().count("more data") == 1
    assert ", train): split 1\n" in several.to_text(why=True)


def test_items_per_class_and_nearly_equal_features_are_mentioned_without_a_protocol():
    features = np.array([0.0, 1.0, 2.0, 1e-7])[:, None]
    found = audit(query=[0], database=[1, 2, 3], labels=[7, 7, 8, 8], features=features)
    assert "query 1 (0 to 1 per class), database 3 (1 to 2 per class); no protocol declared" in found.to_text()
    assert "known-near-duplicate (needs known pairs: `protocol find-duplicates`)" in found.not_checked["query database"]


# One input is removed at a time.


@pytest.mark.parametrize("protocol", ["improved", "standard", "cifar10_s1"])
@pytest.mark.parametrize("n_queries", [4, 20])
def test_a_protocol_only_adds_checks(protocol, n_queries):
    """The queries have four of seven classes, most items are in no list, and there are no validation sets."""
    y = np.arange(210) % 7
    lists = {"query": np.flatnonzero(y[:70] < 4)[:n_queries], "database": range(70, 120), "train": range(100, 120)}
    both = [audit(**lists, labels=y, protocol=name) for name in (None, protocol)]
    items, more = ({(one.name, one.items) for one in made.findings["query database train"]} for made in both)
    assert {"class-missing", "unused-items"} <= {name for name, _ in items}
    assert items <= more
    needs, fewer = (set(made.not_checked["query database train"]) for made in both)
    assert [need for need in fewer - needs if "size" not in need] == []
    assert "query 20 (0 to 5 per class)" in str(both[1]) or n_queries == 4


def names_of(audited):
    """Return the kinds of findings, and the sentences about checks that were not possible."""
    kinds = {one.name for of_file in audited.findings.values() for one in of_file}
    return kinds, " ".join(check for checks in audited.not_checked.values() for check in checks)


def check_removal(complete, removed, name):
    """Each kind that was found is found again, or its check is listed, also by the partition that is missing."""
    (before, _), (after, listed) = names_of(complete), names_of(removed)
    missing = listed.partition("all checks of missing partitions (")[2].partition(")")[0].split(", ")
    if name not in missing:
        assert {kind for kind in before - after if kind not in listed} == set(), name


IDS = [f"i{row:03d}" for row in range(400)]
CLASSES = np.where(np.arange(400) == 9, 4, np.arange(400) % 4)  # query 9 is alone in its class
PARTS = {
    "query": [*range(20), 0],
    "validation_query": [2, 21, *range(360, 370)],
    "validation_database": [360],
    "train": [1, 20, *range(300, 360)],
    "database": [0, *range(20, 300)],
}


@pytest.fixture
def everything(tmp_path):
    """The arguments of an audit in which almost every kind of finding is made."""
    one_hot = np.eye(5, dtype=int)[CLASSES]
    one_hot[3] = [0, 1, 0, 0, 0]  # another label than in the dataset
    arguments = {}
    for part, rows in PARTS.items():
        arguments[part] = tmp_path / f"{part}.txt"
        arguments[part].write_text("".join(f"{IDS[row]} {' '.join(map(str, one_hot[row]))}\n" for row in rows))
    log = tmp_path / "log.csv"
    log.write_text("epoch,mAP\n1,0.5\n2,0.7\n3,0.6\n")
    judged = tmp_path / "judged.csv"
    judged.write_text("query,database,judgement\ni005,i023,1\n")
    features, groups = np.arange(400.0)[:, None], np.arange(400)
    features[4], groups[7] = features[22], groups[25]
    codes = CLASSES[:, None] >> np.arange(3) & 1
    codes = np.column_stack([codes, np.zeros((400, 1), dtype=int)])
    return arguments | {
        "ids": IDS,
        "labels": CLASSES,
        "features": features,
        "known_pairs": judged,
        "groups": groups,
        "training_log": log,
        "reported": 0.7,
        "protocol": "standard",
        "against": {"query": [0], "database": [1]},
        "query_codes": codes[PARTS["query"]],
        "database_codes": codes[PARTS["database"]],
    }


TOGETHER = {"training_log": ("training_log", "reported"), "query_codes": ("query_codes", "database_codes")}
TOGETHER |= {"labels": ("labels", "query_codes", "database_codes")}
REMOVED = [*PARTS, "ids", "labels", "features", "known_pairs", "groups", "training_log"]
REMOVED += ["protocol", "against", "query_codes"]


def test_all_inputs_together_lead_to_all_findings(everything):
    assert names_of(audit(**everything))[0] == set(yaml_of("auditing/found.yaml")["with_all"])


@pytest.mark.parametrize("name", REMOVED)
def test_without_one_input_every_check_is_made_or_listed(name, everything):
    complete = audit(**everything)
    rest = {key: value for key, value in everything.items() if key not in TOGETHER.get(name, (name,))}
    if name in ("query", "database", "ids"):
        refuses(f"{name}|ids", audit, **rest)
        rest = {key: value for key, value in rest.items() if key in ("train", "validation_query")}
        if name != "ids":
            return
        rest = {part: everything[part] for part in PARTS} | {"protocol": "standard"}
    check_removal(complete, audit(**rest), name)


def test_without_folders_that_tell_equal_names_apart_every_check_is_made_or_listed():
    lists = {"query": ["a/1.jpg", "a/2.jpg", "b.jpg"], "database": ["c/1.jpg", "c/9.jpg", "B.jpg"]}
    complete = audit(**lists)
    assert names_of(complete)[0] == {"ids-differ-in-form", "equal-file-names"}
    check_removal(complete, audit(**lists, train=["a/8.jpg", "c/8.jpg"]), "")
    rows = {part: [f"{part}-{row}" for row in range(3)] for part in lists}
    assert "equal-file-names" not in names_of(audit(**rows))[1]
